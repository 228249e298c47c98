"""Your own process, from ``reset`` and ``step`` or Gymnasium (docs/own-process.md)."""

import inspect
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..classes.features import FeatureMap
from ..exact import OwnCodeError, calling
from ..exact.arrays import MOST_NUMBERS, check_count, check_type
from .protocol import ObservationSpace
from .simulator import SimulatorEnvironment
from .simulator_calls import DETERMINISM, SEEDS, Determinism, ReplayError, Simulator


def from_simulator(
    reset: Callable[..., Any],
    step: Callable[[int], Any],
    n_actions: int,
    horizon: int,
    *,
    codes: int | Sequence[int] | None = None,
    dimension: int | None = None,
    deterministic: Determinism = "nothing",
    state: Callable[[], Hashable] | str | None = None,
    states: int | None = None,
    features: ArrayLike | None = None,
    name: str = "simulator",
    replays: int = 100,
    seed: int = 0,
) -> SimulatorEnvironment:
    """Make an environment of a ``reset`` and a ``step``.

    Parameters
    ----------
    reset
        ``reset(seed)`` or ``reset()`` begins an episode and returns x_1. Seeds are
        integers in 0..2^31-1, drawn anew for each episode.
    step
        ``step(action)`` returns (observation, reward) or (observation, reward, over).
        Rewards are in [0, 1] and sum to at most 1 in an episode; every episode has
        ``horizon`` actions. The observation after the last one is not looked at.
    n_actions, horizon
        K and H.
    codes
        Observations are integers 0..codes-1; a sequence has one number per level.
    dimension
        Observations are vectors of so many features. Give ``codes`` or this.
    deterministic
        What a path of actions fixes: ``"nothing"``; hidden ``"transitions"`` (what
        VALOR needs: observations and rewards may be drawn); ``"rewards"`` too; or
        ``"everything"``, where samples of any size cost no more than the places
        visited. It is checked by replay, transitions only where ``state`` is given.
    state
        A function that gives the hidden state now (hashable), for these checks and
        so that places are known again; or ``"observation"``: it is the state.
    states
        M, the largest number of hidden states of a level. Default: counted where
        everything is deterministic and states are known, else the most codes.
    features
        Features of the codes, (codes, d), for linear and learned classes.
    name
        In messages and results.
    replays
        How many random episodes are played twice at the start, and how many are played
        again whenever policies are run, to find out a process that is not as declared.
        Slips in a share p of episodes are overlooked with probability (1 - p)^replays.
    seed
        Of the replays that check the declaration.

    Returns
    -------
    SimulatorEnvironment

    Raises
    ------
    ValueError
        For arguments out of range, and, naming the call, for a return value that is
        not as above or a replay that differs in what was declared deterministic.
    """
    n_actions = check_count("n_actions", n_actions, most=MOST_NUMBERS)
    horizon = check_count("horizon", horizon, most=MOST_LEVELS)
    states = None if states is None else check_count("states", states)
    replays = check_count("replays", replays, most=MOST_NUMBERS)
    seed = check_count("seed", seed, least=0)
    if deterministic not in DETERMINISM:
        known = ", ".join(DETERMINISM)
        raise ValueError(f"deterministic: {deterministic!r} is none of {known}")
    if state is not None and not callable(state) and state != "observation":
        raise ValueError(f"state: {state!r:.60} is no function and not 'observation'")
    spaces = _spaces(codes, dimension, horizon)
    asked = state if callable(state) else None
    simulator = Simulator(reset, step, n_actions, horizon, spaces, asked, name)
    if state == "observation" and deterministic in ("transitions", "rewards"):
        raise ValueError(
            "state: where the observation is the state and transitions are "
            "deterministic, observations are; declare 'everything', or with drawn "
            "rewards give a function"
        )
    return SimulatorEnvironment(
        simulator,
        deterministic,
        by_observation=state == "observation",
        states=states,
        features=_tables(features, spaces),
        replays=replays,
        rng=np.random.default_rng(seed),
    )


_NUMBER = (int, float, Fraction, np.number)
MOST_LEVELS = 10**5  # Longest horizon of a simulator


def _spaces(
    codes: int | Sequence[int] | None, dimension: int | None, horizon: int
) -> tuple[ObservationSpace, ...]:
    if (codes is None) == (dimension is None):
        raise ValueError("codes, dimension: give exactly one of them")
    if dimension is not None:
        width = check_count("dimension", dimension)
        return (ObservationSpace(dimension=width),) * horizon
    sizes = list(codes) if np.ndim(codes) == 1 else [codes] * horizon  # type: ignore[arg-type]
    if len(sizes) != horizon:
        raise ValueError(f"codes: {len(sizes)} numbers for {horizon} levels")
    return tuple(ObservationSpace(check_count("codes", size)) for size in sizes)


def _tables(
    features: ArrayLike | None, spaces: Sequence[ObservationSpace]
) -> tuple[NDArray[np.float64], ...] | None:
    if features is None:
        return None
    table = FeatureMap(features).table
    sizes = [space.n_codes for space in spaces]
    if table is None or None in sizes:
        raise ValueError("features: an array (codes, d), where observations are codes")
    if any(size != len(table) for size in sizes):
        raise ValueError(f"features: {len(table)} rows for {sizes} codes")
    return (table,) * len(spaces)


_REPLAYS = 3


class _Player:
    """The ``reset`` and ``step`` of a Gymnasium environment, made H steps long.

    After an early end one last observation stays: a code of its own, or zeros and a 1.
    """

    def __init__(
        self,
        env: Any,
        name: str,
        seed: int | None,
        reward: Callable[[float], float] | None,
        after_end: float | None,
        chosen: Sequence[int] | None,
    ) -> None:
        self.env, self._seed, self._pay, self.name = env, seed, reward, name
        self._over, self._path = False, list[int]()
        if reward is not None:
            check_type("reward", reward, Callable, "function")
        if seed is not None:
            self._seed = check_count("episode_seed", seed, least=0)
        if after_end is not None and not (
            isinstance(after_end, _NUMBER) and 0 <= after_end <= 1
        ):
            raise ValueError(f"after_end: {after_end!r} is not in [0, 1]")
        self._after = after_end
        self._actions = self._some(chosen)
        self.n_actions = len(self._actions)
        self.codes: int | None = None
        self.dimension: int | None = None
        self._see(env.observation_space)

    def _padding(self) -> float:
        """Reward of a step after the end: what a native reward of 0 is mapped to."""
        if self._after is None:
            note = "; it pays the steps after an early end unless `after_end` is given"
            with calling(f"gymnasium {self.name!r}: reward(0.0)", note):
                self._after = 0.0 if self._pay is None else self._pay(0.0)
            if np.ndim(self._after) or not 0 <= self._after <= 1:
                raise OwnCodeError(
                    f"gymnasium {self.name}: an episode ended early, and reward(0.0) "
                    f"gave {self._after!r} for each step after it; give `after_end`, a "
                    "number in [0, 1]"
                )
        return self._after

    def _some(self, chosen: Sequence[int] | None) -> list[int]:
        from gymnasium import spaces

        actions = self.env.action_space
        if not isinstance(actions, spaces.Discrete):
            raise ValueError(
                f"gymnasium {self.name}: action space {actions}; only Discrete has "
                "finitely many actions; wrap it"
            )
        every = range(int(actions.start), int(actions.start + actions.n))
        if chosen is not None:
            check_type("actions", chosen, Iterable, "list of actions")
        found = list(every if chosen is None else chosen)
        if not found or not set(found) <= set(every):
            raise ValueError(f"actions: {chosen!r} are not some of {list(every)}")
        return found

    def _see(self, seen: Any) -> None:
        from gymnasium import spaces

        if isinstance(seen, spaces.Discrete):
            self.codes, least = int(seen.n) + 1, int(seen.start)
            self._read: Callable[[Any], Any] = lambda x: int(x) - least
            self._end: Any = self.codes - 1
            return
        for part, space in _parts("", seen):
            if not _flattens(space):
                where = f"part {part!r} of the " if part else ""
                raise ValueError(
                    f"gymnasium {self.name}: {where}observation space, a "
                    f"{type(space).__name__}, has no vector of fixed length; wrap the "
                    "environment so that observations are numbers, for example by "
                    "gymnasium.wrappers.FilterObservation or minigrid.wrappers."
                    "ImgObsWrapper"
                )
        self.dimension = int(spaces.flatdim(seen)) + 1
        self._end = np.zeros(self.dimension)
        self._end[-1] = 1
        flatten: Callable[..., Any] = spaces.flatten
        self._read = lambda x: np.append(flatten(seen, x), 0.0)

    def reset(self, seed: int) -> Any:
        self._over, self._path = False, []
        given = seed if self._seed is None else self._seed
        found = self.env.reset(seed=given)
        if not isinstance(found, tuple) or len(found) != 2:
            self._old(f"reset(seed={given}) gave {type(found).__name__}", 2)
        return self._seen(found[0], f"reset(seed={given})")

    def step(self, action: int) -> tuple[Any, Any]:
        if self._over:
            return self._end, self._padding()
        found = self.env.step(self._actions[action])
        if not isinstance(found, tuple) or len(found) != 5:
            size = f" of {len(found)}" if isinstance(found, tuple) else ""
            self._old(f"step({action}) gave {type(found).__name__}{size}", 5)
        x, reward, ended, cut, _ = found
        self._over = bool(ended or cut)
        if self._pay is not None:
            with calling(f"gymnasium {self.name!r}: reward({reward!r})"):
                reward = self._pay(reward)
        self._path.append(action)
        seen = self._end if self._over else self._seen(x, f"step({action})")
        return seen, self._number(reward)

    def _seen(self, x: Any, call: str) -> Any:
        try:
            return self._read(x)
        except (TypeError, ValueError, LookupError) as error:
            raise OwnCodeError(
                f"gymnasium {self.name}: {call} gave observation {x!r:.60}; expected "
                f"one of the observation space, {self.env.observation_space}"
            ) from error

    def _old(self, gave: str, expected: int) -> None:
        raise OwnCodeError(
            f"gymnasium {self.name}: {gave}; expected a tuple of {expected}, as since "
            "Gym 0.26; wrap an older environment, for example by "
            "shimmy.GymV21CompatibilityV0(env=env)"
        )

    def _number(self, reward: Any) -> Any:
        """One finite reward; `from_simulator` checks its range."""
        if np.ndim(reward) or np.asarray(reward).dtype.kind not in "biuf":
            what = "one number; give `reward`, a function that makes one of it"
        elif not np.isfinite(reward):
            what = "a finite number"
        else:
            return reward
        raise OwnCodeError(
            f"gymnasium {self.name}: after actions {self._path[:-1]}, "
            f"step({self._path[-1]}) gave reward {reward!r:.60}; expected {what}"
        )

    def state(self, inner: Callable[[Any], Hashable]) -> Callable[[], Hashable]:
        return lambda: "over" if self._over else inner(self.env)

    def check_replay(self, horizon: int, rng: np.random.Generator) -> None:
        """Refuse an environment that a seed and actions do not fix."""
        for _ in range(_REPLAYS):
            seed = int(rng.integers(SEEDS))
            actions = rng.integers(self.n_actions, size=horizon).tolist()
            one, two = self._played(seed, actions), self._played(seed, actions)
            for h, (a, b) in enumerate(zip(one, two, strict=True)):
                call = f"step({actions[h - 1]})" if h else "reset"
                after = (
                    f"after reset(seed={seed}) and actions {actions[: max(h - 1, 0)]}"
                )
                if not np.isfinite(a[0]).all():
                    raise ValueError(
                        f"gymnasium {self.name}: {after}, {call} gave observation "
                        f"{a[0]!s:.80}; expected finite numbers"
                    )
                if not (np.array_equal(a[0], b[0]) and a[1] == b[1]):
                    raise ValueError(
                        f"gymnasium {self.name}: cannot be replayed: {after}, {call} "
                        f"gave {a!s:.80}, and the second time {b!s:.80}; it draws from "
                        "something that the seed does not set; draw from "
                        "`self.np_random` in the environment"
                    )

    def _played(self, seed: int, actions: list[int]) -> list[tuple[Any, Any]]:
        return [(self.reset(seed), 0.0), *map(self.step, actions)]


def _parts(name: str, space: Any) -> Iterator[tuple[str, Any]]:
    inner = getattr(space, "spaces", None)
    if inner is None:
        yield name, space
        return
    items = inner.items() if hasattr(inner, "items") else enumerate(inner)
    for key, part in items:
        yield from _parts(f"{name}.{key}" if name else str(key), part)


def _flattens(space: Any) -> bool:
    """Whether a space has vectors of a fixed length; some spaces cannot say."""
    from gymnasium import spaces

    try:
        return bool(space.is_np_flattenable) and bool(spaces.flatdim(space))
    except (NotImplementedError, ValueError):
        return False


def _check_gymnasium(env: Any) -> None:
    members = ("action_space", "observation_space", "reset", "step")
    missing = [name for name in members if not hasattr(env, name)]
    if missing:
        raise ValueError(
            f"env: {type(env).__name__} is no Gymnasium environment and no id; it "
            f"lacks {', '.join(missing)}; a `reset` and a `step` of your own go to "
            "olivine.from_simulator"
        )
    taken = inspect.signature(env.reset).parameters.values()
    if not any(p.name == "seed" or p.kind is p.VAR_KEYWORD for p in taken):
        raise ValueError(
            f"env: {type(env).__name__}.reset takes no seed, as since Gym 0.26; wrap "
            "an older environment, for example by "
            "shimmy.GymV21CompatibilityV0(env=env)"
        )


def from_gymnasium(
    env: Any,
    horizon: int,
    *,
    deterministic: Determinism = "everything",
    state: Callable[[Any], Hashable] | str | None = None,
    states: int | None = None,
    actions: Sequence[int] | None = None,
    episode_seed: int | None = None,
    reward: Callable[[float], float] | None = None,
    after_end: float | None = None,
    replays: int = 100,
    seed: int = 0,
    **options: Any,
) -> SimulatorEnvironment:
    """Make an environment of a Gymnasium environment.

    Discrete observations become codes, others are flattened to features. Episodes
    have ``horizon`` actions: longer ones are cut, shorter ones stay where they ended.

    Parameters
    ----------
    env
        A Gymnasium environment, or its id.
    horizon
        H.
    deterministic, states, replays, seed
        As for `from_simulator`, but everything is taken to be deterministic.
    state
        As for `from_simulator`: ``"observation"``, or a function of ``env``.
    actions
        Those of its actions that the process has, renumbered from 0; None: all.
    episode_seed
        The seed of every episode, which makes any environment deterministic; None: a
        new one for each.
    reward
        Maps rewards into [0, 1], where they are not.
    after_end
        Reward of each step after an episode that ended early. None: what 0 is mapped
        to, so that an increasing linear map of rewards leaves the same policies best.
    **options
        Of ``gymnasium.make``, for an id.

    Raises
    ------
    ModuleNotFoundError
        Without Gymnasium (``pip install gymnasium``).
    ValueError
        For spaces that do not fit, an environment that cannot be replayed, and as
        `from_simulator`.
    """
    import gymnasium

    horizon = check_count("horizon", horizon, most=MOST_LEVELS)
    seed = check_count("seed", seed, least=0)
    if isinstance(env, str):
        env = gymnasium.make(env, **options)
    elif options:
        raise ValueError(f"{next(iter(options))}: an option of gymnasium.make, but "
                         "env is not an id")  # fmt: skip
    _check_gymnasium(env)
    spec = getattr(env, "spec", None)
    name = type(getattr(env, "unwrapped", env)).__name__ if spec is None else spec.id
    player = _Player(env, name, episode_seed, reward, after_end, actions)
    player.check_replay(horizon, np.random.default_rng([seed, 1]))
    try:
        return from_simulator(
            player.reset,
            player.step,
            player.n_actions,
            horizon,
            codes=player.codes,
            dimension=player.dimension,
            deterministic=deterministic,
            state=player.state(state) if callable(state) else state,
            states=states,
            name=name,
            replays=replays,
            seed=seed,
        )
    except ReplayError as error:
        if episode_seed is not None:
            raise
        advice = "or start every episode with the same episode_seed="
        raise ReplayError(f"{error}; {advice}") from None
