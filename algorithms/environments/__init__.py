"""Contextual decision processes: `make` one by name, or `from_lists` of your own.

Random finite ones have deterministic dynamics, every state reachable, and distinct
optimal values in a level, so that most states have to be learned. Tabular ones have
X = S; that of a layered `TabularMDP` may be stochastic.

>>> make("random-finite", 0, states=3, actions=3, horizon=4).horizon
4
"""

import difflib
import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..exact.arrays import INT64_MAX, MOST_NUMBERS, check_table, check_type
from ..exact.multinomial import generator
from ..mdp.tabular import TabularMDP
from .check import as_environment
from .finite import FiniteEnvironment, FiniteTruth
from .finite_model import FiniteLevel, FiniteModel
from .protocol import Environment
from .worlds import diabolical_lock, grid, lock, lock_gaussian

__all__ = ["from_lists", "from_mdp", "make", "names", "random_finite", "register"]

Number = int | Fraction
Reward = Number | Mapping[Number, Number]
"""A certain reward, or its values with their probabilities."""

Target = str | Mapping[str, Number]
"""A certain next state, or next states with their probabilities."""

State = tuple[
    str, Mapping[str, Number], Mapping[str, Sequence[Reward]], Sequence[Target]
]
"""(name, {observation: probability}, {observation: reward of each action},
next state of each action; empty at the last level)."""


def from_lists(
    levels: Sequence[Sequence[State]],
    name: str = "finite",
    *,
    start: Mapping[str, Number] | None = None,
) -> FiniteEnvironment:
    """Build a finite environment from nested Python data.

    Parameters
    ----------
    levels
        The states of each level. Codes of observations, and indices of hidden
        states, follow their order of appearance.
    name
        Name of the environment.
    start
        Probabilities of the states of level 1; by default its first one.

    Raises
    ------
    ValueError
        Naming the state or observation at fault: probabilities that are
        negative or do not sum to 1, unknown names, an observation of two
        states, numbers of actions that differ, a return above 1.

    Examples
    --------
    >>> env = from_lists([
    ...     [("s", {"x": 1}, {"x": [0, Fraction(1, 3)]}, ["t", "u"])],
    ...     [("t", {"y": 1}, {"y": [{0: Fraction(1, 2), 1: Fraction(1, 2)}, 0]}, []),
    ...      ("u", {"z": 1}, {"z": [0, 0]}, [])],
    ... ])
    >>> env.truth.optimal_value
    Fraction(1, 2)
    """
    check_type("levels", levels, Sequence, "list of levels")
    for h, states in enumerate(levels, start=1):
        check_type(f"levels, level {h}", states, Sequence, "list of states")
        for state in states:
            if not isinstance(state, Sequence) or len(state) != 4:
                raise TypeError(
                    f"levels, level {h}: {state!r:.60} is no state (name, "
                    "observations, rewards, next states)"
                )
    if not levels or not all(levels):
        raise ValueError("levels: there is none, or one without states")
    unit = math.lcm(
        *(
            Fraction(value).denominator
            for states in levels
            for state in states
            for rewards in state[2].values()
            for reward in rewards
            for value in _distribution(reward, state[0])
        )
    )
    n_actions = len(next(iter(levels[0][0][2].values()), ()))
    built = []
    for h, states in enumerate(levels):
        following = levels[h + 1] if h + 1 < len(levels) else ()
        built.append(_level(states, [s[0] for s in following], unit, n_actions))
    first = [state[0] for state in levels[0]]
    weights = _weights({first[0]: 1} if start is None else start, first, "start")
    return FiniteEnvironment(FiniteModel(tuple(built), unit, np.array(weights)), name)


def _level(
    states: Sequence[State], following: Sequence[str], unit: int, n_actions: int
) -> FiniteLevel:
    names = [name for _, emitted, _, _ in states for name in emitted]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"observation {twice!r}: emitted by two hidden states")
    emissions = [_weights(s[1], names, f"state {s[0]!r}") for s in states]
    rewards = [(s[2].get(x, ()), f"observation {x!r}") for s in states for x in s[1]]
    laws = []
    for values, where in rewards:
        if len(values) != n_actions:
            raise ValueError(f"{where}: {len(values)} rewards for {n_actions} actions")
        laws.append([_distribution(value, where) for value in values])
    support = max((len(law) for row in laws for law in row), default=1)
    units = np.zeros((len(names), n_actions, support), dtype=np.int64)
    weights = np.zeros_like(units)
    for (x, a), _ in np.ndenumerate(units[:, :, 0]):
        law = laws[x][a]
        points = list(law)
        units[x, a, : len(points)] = [int(Fraction(v) * unit) for v in points]
        weights[x, a, : len(points)] = _weights(law, points, rewards[x][1])
    moves = np.zeros((len(states), n_actions, len(following)), dtype=np.int64)
    for s, (name, _, _, targets) in enumerate(states):
        if len(targets) != (n_actions if following else 0):
            raise ValueError(f"state {name!r}: {len(targets)} next states")
        for a, target in enumerate(targets):
            chances = {target: 1} if isinstance(target, str) else target
            moves[s, a] = _weights(chances, following, f"state {name!r}")
    return FiniteLevel(np.array(emissions), units, weights, moves)


def _distribution(reward: Reward, where: str) -> Mapping[Number, Number]:
    if isinstance(reward, Mapping):
        if not reward:
            raise ValueError(f"{where}: a reward without values")
        return reward
    return {reward: 1}


def _weights(
    chances: Mapping[Any, Number], among: Sequence[Any], where: str
) -> list[int]:
    unknown = [key for key in chances if key not in among]
    if unknown:
        raise ValueError(f"{where}: unknown {unknown[0]!r}")
    exact = [Fraction(chances.get(key, 0)) for key in among]
    if min(exact) < 0 or sum(exact) != 1:
        raise ValueError(f"{where}: probabilities sum to {sum(exact)}, not to 1")
    scale = math.lcm(*(p.denominator for p in exact))
    return [int(p * scale) for p in exact]


_ATTEMPTS = 1000
_FINEST = 10**9
_MOST_WEIGHTS = 10**8


def random_finite(
    rng: np.random.Generator,
    *,
    states: int = 2,
    actions: int = 2,
    horizon: int = 3,
    observations: int = 2,
    support: int = 2,
    denominator: int = 12,
    distinct: bool = True,
) -> FiniteEnvironment:
    """Draw a random finite environment; ValueError where 1000 attempts find none.

    Level 1 has one state, others `states` (fewer where K paths cannot reach as many). A
    state emits `observations` codes with weights 1..`denominator`; (x, a) has `support`
    rewards, multiples of 1/(`denominator`·H) in [0, 1/H].
    """
    sizes = {
        "states": states,
        "actions": actions,
        "horizon": horizon,
        "observations": observations,
        "support": support,
        "denominator": denominator,
    }
    for name, value in sizes.items():
        if value < 1:
            raise ValueError(f"{name}: {value} is below 1")
        if value > MOST_NUMBERS and name not in ("states", "denominator"):
            raise ValueError(f"{name}: {value} is not in 1..{MOST_NUMBERS}")
    if denominator > _FINEST:
        raise ValueError(f"denominator: {denominator} is above {_FINEST}")
    each = actions * observations * support
    tables = {k: sizes[k] for k in ("horizon", "actions", "observations", "support")}
    check_table(each * horizon, **tables)
    counts = [1]
    for _ in range(horizon - 1):
        counts.append(min(states, counts[-1] * actions))
    tables["states"] = max(counts)
    check_table(each * sum(counts), **tables)
    widest = max(counts) ** 2 * max(actions, observations)  # moves, emissions
    check_table(widest, _MOST_WEIGHTS, **tables)
    for _ in range(_ATTEMPTS):
        model = _draw(rng, counts, sizes)
        if not distinct or _has_distinct_values(model):
            return FiniteEnvironment(model, "random-finite")
    raise ValueError(
        f"distinct: no instance with distinct values in {_ATTEMPTS} attempts; take "
        f"a larger denominator than {denominator}"
    )


def _draw(
    rng: np.random.Generator, counts: Sequence[int], sizes: dict[str, int]
) -> FiniteModel:
    levels = []
    for h, n_states in enumerate(counts):
        n_codes = n_states * sizes["observations"]
        shape = (n_codes, sizes["actions"], sizes["support"])
        following = counts[h + 1] if h + 1 < len(counts) else 0
        levels.append(
            FiniteLevel(
                _emissions(rng, n_states, sizes),
                rng.integers(sizes["denominator"] + 1, size=shape),
                rng.integers(1, 4, size=shape),
                _transitions(rng, n_states, sizes["actions"], following),
            )
        )
    unit = sizes["denominator"] * sizes["horizon"]
    return FiniteModel(tuple(levels), unit, np.array([1]))


def _emissions(
    rng: np.random.Generator, n_states: int, sizes: dict[str, int]
) -> NDArray[np.int64]:
    per_state = sizes["observations"]
    owners = rng.permutation(np.repeat(np.arange(n_states), per_state))
    weights = rng.integers(1, sizes["denominator"] + 1, size=len(owners))
    emissions = np.zeros((n_states, len(owners)), dtype=np.int64)
    emissions[owners, np.arange(len(owners))] = weights
    return emissions


def _transitions(
    rng: np.random.Generator, n_states: int, n_actions: int, following: int
) -> NDArray[np.int64]:
    """Deterministic, onto the following level's states."""
    weights = np.zeros((n_states, n_actions, following), dtype=np.int64)
    if following:
        cells = n_states * n_actions
        others = rng.integers(following, size=cells - following)
        targets = rng.permutation(np.concatenate([np.arange(following), others]))
        weights.reshape(cells, following)[np.arange(cells), targets] = 1
    return weights


def _has_distinct_values(model: FiniteModel) -> bool:
    truth = FiniteTruth(model)
    for h in range(1, model.horizon + 1):
        values = [truth.state_value(h, s) for s in range(truth.n_states(h))]
        if len(set(values)) < len(values):
            return False
    return True


def tabular(
    rng: np.random.Generator,
    *,
    states: int = 2,
    actions: int = 2,
    horizon: int = 3,
    support: int = 2,
    denominator: int = 12,
    distinct: bool = True,
) -> FiniteEnvironment:
    """Draw a random tabular environment; parameters are those of `random_finite`."""
    drawn = random_finite(
        rng,
        states=states,
        actions=actions,
        horizon=horizon,
        observations=1,
        support=support,
        denominator=denominator,
        distinct=distinct,
    )
    return FiniteEnvironment(drawn.truth.model, "tabular")


def from_mdp(mdp: TabularMDP, name: str = "tabular") -> FiniteEnvironment:
    """Environment of a layered MDP with constant rewards, X = S, codes by rank.

    States with fewer actions than others repeat their last one.
    """
    if not mdp.is_layered:
        raise ValueError("mdp: not layered, a successor is not one level deeper")
    mdp = mdp.padded()
    unit = math.lcm(*(r.denominator for r in mdp.reward_table))
    members = [np.flatnonzero(mdp.state_level == h + 1) for h in range(mdp.horizon)]
    rank = np.zeros(mdp.n_states, dtype=np.int64)
    for states in members:
        rank[states] = np.arange(len(states))
    n_actions = int(mdp.action_counts.max())
    levels = []
    for h, states in enumerate(members):
        following = len(members[h + 1]) if h + 1 < mdp.horizon else 0
        units = np.zeros((len(states), n_actions, 1), dtype=np.int64)
        weights = np.zeros((len(states), n_actions, following), dtype=np.int64)
        for s, state in enumerate(states.tolist()):
            for a, action in enumerate(mdp.actions(state)):
                units[s, a, 0] = int(mdp.reward(action) * unit)
                successors = mdp.successors(action)
                if bool(successors) != bool(following):
                    raise ValueError(
                        f"mdp: {mdp.state_names[state]!r} ends at level {h + 1} "
                        f"of {mdp.horizon}"
                    )
                for target, chance in successors:
                    denominator = int(mdp.transition_denominator[action])
                    weights[s, a, rank[target]] = int(chance * denominator)
        ones = np.ones_like(units)
        levels.append(
            FiniteLevel(np.eye(len(states), dtype=np.int64), units, ones, weights)
        )
    start = (members[0] == mdp.start).astype(np.int64)
    return FiniteEnvironment(FiniteModel(tuple(levels), unit, start), name)


Factory = Callable[..., Environment]  # Takes a Generator, then options as keywords

_FACTORIES: dict[str, Factory] = {
    "random-finite": random_finite,
    "tabular": tabular,
    "lock": lock,
    "lock-gaussian": lock_gaussian,
    "diabolical-lock": diabolical_lock,
    "grid": grid,
}


def register(name: str, factory: Factory) -> None:
    """Add an environment, made by ``factory(rng, **options)``, under a free name."""
    if _FACTORIES.setdefault(name, factory) is not factory:
        raise ValueError(f"environment {name!r}: registered already")


def names() -> list[str]:
    """Names of all environments, in order of registration."""
    return list(_FACTORIES)


def options(name: str) -> dict[str, Any]:
    """Options of an environment with their defaults, ValueError as for `make`."""
    parameters = inspect.signature(_factory(name)).parameters.values()
    return {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY}


def make(name: str, seed: int | np.random.Generator = 0, **chosen: Any) -> Environment:
    """Make an environment.

    Parameters
    ----------
    name
        One of `names()`.
    seed
        Fixes everything random about the environment (not its samples); an
        integer or a Generator.
    **chosen
        Options, see `options`.

    Raises
    ------
    ValueError
        For an unknown name or option (the message suggests the nearest one),
        or a value out of range.
    """
    factory = _factory(name)
    known = options(name)
    for option in chosen:
        if option not in known:
            raise ValueError(
                f"environment {name!r}: unknown option {option!r}"
                f"{_suggestion(option, known)}; there are {', '.join(known)}"
            )
    for option, value in chosen.items():
        chosen[option] = _converted(name, option, value, known[option])
    call = f"environment {name!r}"
    return as_environment(factory(generator(seed), **chosen), call)


def _factory(name: str) -> Factory:
    check_type("name", name, str, "name of an environment")
    if name not in _FACTORIES:
        raise ValueError(
            f"unknown environment {name!r}{_suggestion(name, _FACTORIES)}; there are "
            f"{', '.join(_FACTORIES)}"
        )
    return _FACTORIES[name]


def _suggestion(word: str, known: Any) -> str:
    near = difflib.get_close_matches(word, list(known), 1, 0.5)
    return f", did you mean {near[0]!r}?" if near else ""


def _converted(name: str, option: str, value: Any, default: Any) -> Any:
    """Give the value the default's type: a count stays a count, a flag a flag."""
    value = value.item() if isinstance(value, np.generic) else value
    given = f"environment {name!r}: {option}={value!r}"
    if isinstance(default, bool):
        if not isinstance(value, bool):
            raise ValueError(f"{given} is neither true nor false")
        return value
    if not isinstance(default, (int, float)):
        return value  # none or a word: its factory knows what goes
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError(f"{given} is no number")
    if isinstance(default, int):
        if not math.isfinite(value) or value != int(value):
            raise ValueError(f"{given} is no integer")
        if abs(value) > INT64_MAX:
            raise ValueError(f"{given} is beyond 64 bits")
    return type(default)(value)
