"""The calls of a simulator, checked, and compared where one is replayed."""

import inspect
from collections.abc import Callable, Hashable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..exact.own_code import OwnCodeError, calling
from .protocol import STOCHASTIC, ObservationSpace

Determinism = Literal["nothing", "transitions", "rewards", "everything"]
"""What a path of actions fixes: each word includes those before it."""

DETERMINISM: tuple[Determinism, ...] = (
    "nothing",
    "transitions",
    "rewards",
    "everything",
)

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

    def refuse(self, call: str, given: str, expected: str) -> Any:
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
    ) -> None:
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

    def give_up(self, why: str) -> None:
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


def stacked(observations: Sequence[Any]) -> NDArray[Any]:
    """Codes (n,) or features (n, d) of checked observations, at least one."""
    return np.asarray(observations)
