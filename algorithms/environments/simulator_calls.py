"""The calls of a simulator, checked: replays, which are compared, and episodes."""

import inspect
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, NamedTuple, NoReturn, get_args

import numpy as np
from numpy.typing import NDArray

from ..classes.protocols import (
    action_probabilities,
    check_action,
    check_chances,
    check_rule,
    choose_actions,
)
from ..exact import OwnCodeError, calling, raised
from ..exact.arrays import END
from ..exact.data import EmpiricalMeasure
from .protocol import STOCHASTIC, DrawCall, ObservationSpace, RunCall, Trajectories

Determinism = Literal["nothing", "transitions", "rewards", "everything"]
"""What a path of actions fixes: each word includes those before it."""

DETERMINISM: tuple[Determinism, ...] = get_args(Determinism)

SEEDS = 2**31  # Seeds of episodes are below it

ROUNDING = 1e-9  # How far float64 rewards of an episode may sum above 1

_SCALE = "scale rewards, those of Gymnasium by reward="


@dataclass(frozen=True, eq=False)
class Episode:
    """What a replay of a path of h actions gave."""

    observations: tuple[Any, ...]  # x_1, ..., x_{h+1}, not x_{H+1}
    rewards: tuple[Fraction, ...]  # r_1, ..., r_h, exactly
    states: tuple[Hashable, ...]  # at each observation, if known


class ReplayError(ValueError):
    """Raised for a process that plays show to differ from what was declared."""


@dataclass(eq=False)
class Simulator:
    """A process that is played one step at a time."""

    reset: Callable[..., Any]  # returns x_1; takes a seed or nothing
    step: Callable[[int], Any]  # (observation, reward), or with over
    n_actions: int  # K
    horizon: int
    spaces: tuple[ObservationSpace, ...]  # Observations of each level
    state: Callable[[], Hashable] | None  # hidden state now; None: unknown
    name: str  # In messages
    refusal: str = ""  # Why it is refused for good

    @property
    def takes_seed(self) -> bool:
        """Whether ``reset`` can be told a seed, so that an episode can be repeated."""
        try:
            parameters = inspect.signature(self.reset).parameters.values()
        except (TypeError, ValueError):  # a builtin without a signature
            return False
        return any(
            p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD, p.VAR_POSITIONAL)
            for p in parameters
        )

    def play(self, actions: Sequence[int], rng: np.random.Generator) -> Episode:
        """Play a path from the start; ValueError names the first bad call."""
        seed = int(rng.integers(SEEDS))
        call = f"reset({seed})" if self.takes_seed else "reset()"
        with self.calling(call):
            x = self.reset(seed) if self.takes_seed else self.reset()
        observations = [self.observation(1, x, call)]
        states = [] if self.state is None else [self.hidden(call)]
        rewards: list[Fraction] = []
        for h, action in enumerate(actions, 1):
            call = f"step({action}) after actions {list(actions[: h - 1])}"
            known = f" in state {states[-1]!r:.60}" if states else ""
            with self.calling(call + known):
                found = self.step(action)
            x, reward = self.unpack(found, h, call)
            rewards.append(self.reward(reward, call))
            if sum(rewards) > 1 + Fraction(ROUNDING):
                self.refuse(call, f"reward {reward!r}", self._too_much(rewards))
            if h < self.horizon:
                observations.append(self.observation(h + 1, x, call))
                if self.state is not None:
                    states.append(self.hidden(call))
        return Episode(tuple(observations), tuple(rewards), tuple(states))

    def calling(self, call: str) -> AbstractContextManager[None]:
        """Name a call in what it raises."""
        return calling(f"simulator {self.name!r}: {call}")

    def hidden(self, call: str) -> Hashable:
        """Ask for the hidden state after a call."""
        assert self.state is not None
        with self.calling(f"state() after {call}"):
            found = self.state()
        try:
            hash(found)
        except TypeError:
            self.refuse(
                f"state() after {call}",
                f"{type(found).__name__} {found!r:.60}",
                "something hashable, such as a number or a tuple",
            )
        if not _equals_itself(found):
            given = f"{type(found).__name__} {found!r:.60}"
            self.refuse(f"state() after {call}", given, "no NaN: states are compared")
        return found

    def _too_much(self, rewards: Sequence[Fraction]) -> str:
        return (
            f"rewards of an episode that sum to at most 1 (this is "
            f"{float(sum(rewards)):g}); {_SCALE}"
        )

    def unpack(self, found: Any, h: int, call: str) -> tuple[Any, Any]:
        """Give observation and reward of what ``step`` returned at level h."""
        if not isinstance(found, tuple) or len(found) not in (2, 3):
            self.refuse(
                call,
                f"{type(found).__name__} {found!r:.60}",
                "a tuple (observation, reward) or (observation, reward, over)",
            )
        if len(found) == 3 and bool(found[2]) != (h == self.horizon):
            end = "did not end" if h == self.horizon else "ended"
            self.refuse(
                call,
                f"over={found[2]!r}: the episode {end} after {h} actions",
                f"a horizon of {self.horizon}",
            )
        return found[0], found[1]

    def reward(self, value: Any, call: str) -> Fraction:
        """Give a reward in [0, 1]; a float counts as n/d, d <= 10^6, where it can."""
        try:
            if isinstance(value, str):  # "1" would do for Fraction
                raise TypeError
            value = value.item() if isinstance(value, np.generic) else value
            exact = Fraction(value)
        except (TypeError, ValueError, OverflowError):
            self.refuse(call, f"reward {value!r}", "a number in [0, 1]")
        if not 0 <= exact <= 1:
            self.refuse(call, f"reward {value!r}", f"a number in [0, 1]; {_SCALE}")
        near = exact.limit_denominator(10**6)
        return near if float(near) == float(exact) else exact

    def observation(self, level: int, value: Any, call: str) -> Any:
        """Give a code as an int, or features as a new float64 array (d,)."""
        space = self.spaces[level - 1]
        given = f"observation {value!r:.80}"
        if space.n_codes is not None:
            expected = f"a code, an integer in 0..{space.n_codes - 1}"
            array = np.asarray(value)
            if array.shape != () or not np.issubdtype(array.dtype, np.integer):
                self.refuse(call, given, expected)
            if not 0 <= int(array) < space.n_codes:
                self.refuse(call, given, expected)
            return int(array)
        expected = f"{space.dimension} finite features"
        try:
            features = np.array(value, dtype=np.float64)
        except (TypeError, ValueError):
            self.refuse(call, given, expected)
        if features.shape != (space.dimension,):
            self.refuse(call, f"observation of shape {features.shape}", expected)
        if not np.isfinite(features).all():
            self.refuse(call, given, expected)
        return features

    def refuse(self, call: str, given: str, expected: str) -> NoReturn:
        """Raise the error for a call."""
        raise OwnCodeError(
            f"simulator {self.name!r}: {call} gave {given}; expected {expected}"
        )

    def compare(
        self, path: Sequence[int], one: Episode, two: Episode, declared: Determinism
    ) -> None:
        """Refuse two replays that differ in what was declared deterministic."""
        fixed = DETERMINISM.index(declared)
        for h in range(len(path) + 1):
            call = "reset()"
            if h:
                call = f"step({path[h - 1]}) after actions {list(path[: h - 1])}"
            columns = [("hidden state", one.states, two.states, h, 1)]
            columns.append(("reward", one.rewards, two.rewards, h - 1, 2))
            columns.append(("observation", one.observations, two.observations, h, 3))
            for what, first, second, i, least in columns:
                if fixed < least or not 0 <= i < min(len(first), len(second)):
                    continue
                if not _same(first[i], second[i]):
                    self.differs(declared, call, least, what, first[i], second[i])

    def differs(
        self, declared: Determinism, call: str, least: int, what: str, a: Any, b: Any
    ) -> NoReturn:
        """Refuse for good, as a call gave something else the second time."""
        less = f"deterministic={DETERMINISM[least - 1]!r}"
        advice = f"declare {less}"
        if least > 1:
            advice += (
                " if the hidden state is the same both times; if it is drawn, "
                "deterministic='nothing'"
            )
        self.give_up(
            f"taken to be deterministic in {declared!r}, but {call} gave {what} "
            f"{a!s:.80}, and on replay {b!s:.80}; {advice} ({STOCHASTIC} learn there)"
        )

    def give_up(self, why: str) -> NoReturn:
        """Refuse the process, now and whenever it is asked again."""
        self.refusal = f"simulator {self.name!r}: {why}"
        raise ReplayError(self.refusal)

    def check_kept(self) -> None:
        """Refuse a process that a play has shown to differ from its declaration."""
        if self.refusal:
            raise ReplayError(self.refusal)

    def replay(
        self, path: Sequence[int], declared: Determinism, rng: np.random.Generator
    ) -> Episode:
        """Play a path twice, refuse what differs, and give the first."""
        one, two = self.play(path, rng), self.play(path, rng)
        self.compare(path, one, two, declared)
        return one


def _equals_itself(state: Any) -> bool:
    parts = isinstance(state, tuple)
    return all(map(_equals_itself, state)) if parts else bool(state == state)


def _same(a: Any, b: Any) -> bool:
    arrays = isinstance(a, np.ndarray) and isinstance(b, np.ndarray)
    return np.array_equal(a, b) if arrays else bool(a == b)


MOST_EPISODES = 10**7
MAX_BYTES = 2**31  # Largest sample of features, in bytes

_BLOCK = 2**12


class Block(NamedTuple):
    """Some episodes."""

    observations: list[NDArray[Any]]  # (n,) or (n, d), by kept level
    actions: NDArray[np.int64]  # shape (n, L'), as rewards
    rewards: NDArray[np.float64]


class Episodes:
    """Plays a simulator."""

    def __init__(self, simulator: Simulator) -> None:
        self._simulator = simulator
        self._seeded = simulator.takes_seed

    def draw(self, call: DrawCall) -> EmpiricalMeasure:
        """Give the data of a level, as the protocol's ``draw``."""
        rules, n, rng, h, successors, _ = call
        more = successors and h < self._simulator.horizon
        blocks = list(self.play(rules, n, rng, range(h, h + more + 1)))
        if h > len(rules):
            return _merged(_joined(blocks, 0))
        return self._level(blocks, 0, range(h, len(rules) + 1), successors)

    def run(self, call: RunCall) -> Trajectories:
        """Whole episodes."""
        rules, n, rng, first, transitions = call
        levels = range(1, self._simulator.horizon + 1 if transitions else 1)
        total, left = Fraction(0), first
        paths, returns, blocks = [], [], []
        for block in self.play(rules, n, rng, levels):
            values, counts = np.unique(block.rewards, return_counts=True)
            pairs = zip(values.tolist(), counts.tolist(), strict=True)
            total += sum((Fraction(v) * c for v, c in pairs), Fraction(0))
            paths.append(block.actions[:left])
            returns.append(block.rewards[:left].sum(axis=1))
            left -= len(paths[-1])
            blocks += [block] if transitions else []
        kept = [self._level(blocks, h - 1, range(h, h + 1), True) for h in levels]
        firsts = np.concatenate(paths), np.concatenate(returns)
        return Trajectories(n, total / n, *firsts, tuple(kept))

    def _level(
        self, blocks: Sequence[Block], i: int, levels: range, successors: bool
    ) -> EmpiricalMeasure:
        """Give the data of the first of some levels, with what all of them pay."""
        x, after, first = _joined(blocks, i), None, levels.start - 1
        if successors and levels.start < self._simulator.horizon:
            after = _joined(blocks, i + 1)
        elif successors and x.ndim == 1:
            after = np.full(len(x), END)
        actions = np.concatenate([b.actions[:, first] for b in blocks])
        paid = [b.rewards[:, first : levels.stop - 1].sum(axis=1) for b in blocks]
        rewards = np.minimum(np.concatenate(paid), 1)
        return _merged(x, actions=actions, rewards=rewards, next_observations=after)

    def play(
        self, rules: Sequence[Any], n: int, rng: np.random.Generator, kept: range
    ) -> Iterator[Block]:
        """Play n episodes, a rule a level; keep observations of some levels."""
        sim = self._simulator
        width = sim.spaces[0].dimension or 1
        if n > MOST_EPISODES or n * width * 8 * max(1, len(kept)) > MAX_BYTES:
            raise ValueError(
                f"n: {n} episodes of simulator {sim.name!r} one by one are too many "
                f"(at most {MOST_EPISODES}, or {MAX_BYTES} bytes of features); take "
                "practical parameters, or declare what is deterministic"
            )
        for start in range(0, n, _BLOCK):
            yield self._block(rules, min(_BLOCK, n - start), rng, kept)

    def _block(
        self, rules: Sequence[Any], n: int, rng: np.random.Generator, kept: range
    ) -> Block:
        sim, seeded = self._simulator, self._seeded
        reset, step, finite = sim.reset, sim.step, sim.spaces[0].is_finite
        seeds = rng.integers(SEEDS, size=n).tolist() if seeded else []
        plan = [(h, *self._chooser(h, rule, n, rng)) for h, rule in enumerate(rules, 1)]
        spaces = [] if finite else sim.spaces[kept.start - 1 : kept.stop - 1]
        buffers = [np.empty((n, space.dimension or 0)) for space in spaces]
        seen: list[Any] = []
        actions: list[int] = []
        rewards: list[Any] = []
        see = seen.append
        act, pay = actions.append, rewards.append
        horizon, h, i, a = sim.horizon, 0, 0, 0
        try:
            for i in range(n):
                h = 0
                x = reset(seeds[i]) if seeded else reset()
                for h, column, choose in plan:
                    if finite:
                        see(x)
                    elif h in kept:
                        self._keep(buffers[h - kept.start], i, x)
                    a = column[i] if choose is None else choose(x)
                    found = step(a)
                    if len(found) == 2:
                        x, r = found
                    else:
                        x, r = sim.unpack(found, h, f"step({a}) at level {h}")
                    act(a)
                    pay(r)
                if h < horizon:
                    if finite:
                        see(x)
                    elif h + 1 in kept:
                        self._keep(buffers[h + 1 - kept.start], i, x)
        except (MemoryError, OwnCodeError):
            raise
        except Exception as error:
            call = f"step({a}) at level {h}" if h else "reset"
            raise OwnCodeError(
                f"simulator {sim.name!r}: in episode {i} of a sample, {call} "
                f"raised {raised(error)}"
            ) from error
        table = self._rewards(rewards, actions, (n, len(plan)))
        taken = np.array(actions, dtype=np.int64).reshape(n, len(plan))
        if finite:
            levels = min(len(plan) + 1, horizon)
            codes = self._codes(seen, (n, levels))
            return Block([codes[:, h - 1].copy() for h in kept], taken, table)
        for h, buffer in enumerate(buffers, kept.start):
            if not np.isfinite(buffer).all():
                row = int(np.argmin(np.isfinite(buffer).all(axis=1)))
                sim.observation(h, buffer[row], f"episode {row} of a sample, level {h}")
        return Block(buffers, taken, table)

    def _keep(self, buffer: NDArray[Any], i: int, x: Any) -> None:
        """Copy features: a simulator may change its array in place."""
        if getattr(x, "shape", None) != buffer.shape[1:]:
            x = self._simulator.observation(1, x, f"episode {i} of a sample")
        buffer[i] = x

    def _chooser(
        self, level: int, rule: Any, n: int, rng: np.random.Generator
    ) -> tuple[list[int], Callable[[Any], int] | None]:
        sim = self._simulator
        k = sim.n_actions
        if isinstance(rule, str):
            return rng.integers(check_rule(rule, k), size=n).tolist(), None
        if isinstance(rule, (int, np.integer)):
            return [check_action(int(rule), k)] * n, None
        size = sim.spaces[level - 1].n_codes
        if size is None:
            return [], lambda x: int(
                choose_actions(rule, np.asarray(x, dtype=np.float64)[None], k, rng)[0]
            )
        chances = action_probabilities(rule, np.arange(size), k)
        check_chances(chances)
        if np.isin(chances, (0.0, 1.0)).all():
            table = dict(enumerate(chances.argmax(axis=1).tolist()))
            return [], lambda x: table[x] if x in table else self._bad_code(level, x)
        heights = np.cumsum(chances, axis=1)

        def draw(x: Any) -> int:
            self._simulator.observation(level, x, f"level {level}")
            row = heights[x]
            return int((row <= rng.random() * row[-1]).sum())

        return [], draw

    def _bad_code(self, level: int, x: Any) -> Any:
        sim = self._simulator
        sim.observation(level, x, f"an episode of a sample, at level {level},")
        sim.refuse(f"level {level}", f"observation {x!r}", "a code")

    def _rewards(
        self, rewards: list[Any], actions: list[int], shape: tuple[int, int]
    ) -> NDArray[np.float64]:
        sim = self._simulator
        try:
            found = np.array(rewards)
            if found.dtype.kind in "USO" and any(isinstance(r, str) for r in rewards):
                raise TypeError
            table = found.astype(np.float64).reshape(shape)
            good = (table >= 0) & (table <= 1)  # false for NaN
        except (TypeError, ValueError):
            good = np.zeros(shape, dtype=np.bool_)
        if not good.all():
            for i in np.flatnonzero(~good).tolist():
                episode, h = divmod(i, shape[1])
                call = f"step({actions[i]}) at level {h + 1} of episode {episode}"
                sim.reward(rewards[i], call)
        sums = table.sum(axis=1)
        if sums.size and sums.max() > 1 + ROUNDING:
            row = int(sums.argmax())
            sim.refuse(
                f"episode {row} of a sample",
                f"rewards {table[row].tolist()} with sum {sums[row]:g}",
                "at most 1",
            )
        return table

    def _codes(self, seen: list[Any], shape: tuple[int, int]) -> NDArray[np.int64]:
        sim = self._simulator
        sizes = np.array([space.n_codes for space in sim.spaces[: shape[1]]])
        try:
            codes = np.array(seen)
            whole = codes.ndim == 1 and np.issubdtype(codes.dtype, np.integer)
        except ValueError:
            whole = False
        if whole:
            codes = codes.reshape(shape)
            if ((codes >= 0) & (codes < sizes)).all():
                return codes.astype(np.int64, copy=False)
        for i, x in enumerate(seen):
            episode, h = divmod(i, shape[1])
            sim.observation(h + 1, x, f"level {h + 1} of episode {episode} of a sample")
        return np.array([int(x) for x in seen], dtype=np.int64).reshape(shape)


def _joined(blocks: Sequence[Block], i: int) -> NDArray[Any]:
    return np.concatenate([block.observations[i] for block in blocks])


def _merged(x: NDArray[Any], **columns: Any) -> EmpiricalMeasure:
    whole = EmpiricalMeasure(x, **columns)
    return whole.merged() if whole.is_finite else whole
