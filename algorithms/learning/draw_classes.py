"""Realizable classes for an environment: tabular, finite or linear, or Q-functions.

An experiment knows the truth, so a finite class can hold g* and π*. A first data set
rules out random functions at once; the finite classes here are *products* of local
functions, the right one among them, so that one hidden state says nothing about the
others. Where observations are features, members are functions of the state that the
decoder reads off.

Of Q-functions the local functions are Q* and wrong ones that a learner finds hard:

- swapped: Q*(s, ·) with the actions turned round: values right, greedy action wrong;
- tempting: one action that is not optimal promises 1;
- blunt: the mean of the state's values at every action: value near, action arbitrary;
- drawn: values from {0, 1/8, ..., 1}.

A class of N Q-functions is the whole product where that is no more, else it holds
members that err in one state (half the class at most) and others at random.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from ..classes import (
    FinitePolicyClass,
    FiniteValueClass,
    LinearPolicyClass,
    LinearValueClass,
    PolicyClassByLevel,
    TabularPolicyClass,
    TabularValueClass,
    ValueClassByLevel,
)
from ..classes.q_functions import Decoder, FiniteQClass
from ..environments.check import as_environment
from ..environments.protocol import Environment, knows_truth
from ..exact.arrays import check_count, check_type, object_array

ClassKind = Literal["tabular", "finite", "linear"]
KINDS: tuple[ClassKind, ...] = ("tabular", "finite", "linear")

MOST_MEMBERS = 1_000_000  # most members of a finite class: they are listed

Classes = tuple[ValueClassByLevel, PolicyClassByLevel]


def make_classes(
    environment: Environment,
    kind: ClassKind,
    rng: np.random.Generator,
    *,
    size: int = 128,
    bound: float | None = None,
) -> Classes:
    """Make G and Π for an environment, by level.

    Parameters
    ----------
    environment
        Finite observations for ``tabular``; features, of codes or as observations, for
        ``linear``; either for ``finite``.
    kind
        Which classes.
    rng
        Draws the other members of finite classes.
    size
        Most members of a finite class of a level, up to 10^6 (at least 2 local
        functions per state are taken nevertheless).
    bound
        Largest |θ_i| of linear values. None: 4 where codes have features; 1 where
        observations are features, enough for the locks, whose states' mean features are
        orthonormal. There values are not clipped: with noise only averages over a
        state's observations can be right.

    Raises
    ------
    ValueError
        If the kind does not go with the environment.
    """
    environment = as_environment(environment)
    check_type("rng", rng, np.random.Generator, "numpy.random.Generator")
    if isinstance(bound, bool) or not isinstance(bound, int | float | None):
        raise ValueError(f"bound: {bound!r} is no number")
    if kind == "tabular":
        return _tabular(environment)
    if kind == "linear":
        return _linear(environment, bound)
    if kind != "finite":
        raise ValueError(f"classes: {kind!r} is none of {', '.join(KINDS)}")
    check_size(size)
    _check_known(environment)
    values, policies = [], []
    for h in range(1, environment.horizon + 1):
        listed = environment.space(h).is_finite
        make_values = _product_values if listed else _decoded_values
        make_policies = _product_policies if listed else _decoded_policies
        values.append(make_values(environment, h, size, rng))
        policies.append(make_policies(environment, h, size, rng))
    return ValueClassByLevel(values), PolicyClassByLevel(policies)


def _check_known(environment: Environment) -> None:
    """Refuse finite classes, which are drawn around the truth, where it is unknown."""
    if not knows_truth(environment):
        raise ValueError(
            f"classes: finite ones are drawn around the true values of "
            f"{environment.name!r}, which are not known; take tabular or linear "
            "classes, or give classes of your own"
        )


def check_size(size: Any) -> None:
    """Refuse what is no size of a class that is listed with a ValueError."""
    check_count("size", size)
    if size > MOST_MEMBERS:
        raise ValueError(f"size: {size} is not in 1..{MOST_MEMBERS}")


def paths_to_states(environment: Environment) -> list[dict[int, tuple[int, ...]]]:
    """Give a path to each reachable state, by level; deterministic dynamics."""
    truth = environment.truth
    found: list[dict[int, tuple[int, ...]]] = [{truth.state(()): ()}]
    for h in range(1, environment.horizon):
        ahead: dict[int, tuple[int, ...]] = {}
        for state, path in found[-1].items():
            for a in range(environment.n_actions):
                ahead.setdefault(truth.successor(h, state, a), (*path, a))
        found.append(dict(sorted(ahead.items())))
    return found


def state_groups(environment: Environment, level: int) -> list[NDArray[np.int64]]:
    """Codes that each reachable state of a level emits; deterministic dynamics."""
    truth = environment.truth
    chances = map(
        truth.observation_probabilities,
        paths_to_states(environment)[level - 1].values(),
    )
    return [np.flatnonzero(chance > 0).astype(np.int64) for chance in chances]


def _codes(environment: Environment, level: int, kind: str) -> int:
    codes = environment.space(level).n_codes
    if codes is None:
        known = knows_truth(environment)
        others = "linear or finite classes" if known else "linear classes, or your own"
        cost = "; finite ones cost less" if known else ""
        raise ValueError(
            f"classes: {kind} needs finitely many observations, but those of "
            f"{environment.name!r} are features (take {others}, with practical "
            f"parameters{cost})"
        )
    return codes


def _tabular(environment: Environment) -> Classes:
    levels = range(1, environment.horizon + 1)
    codes = [_codes(environment, h, "tabular") for h in levels]
    k = environment.n_actions
    return (
        ValueClassByLevel([TabularValueClass(n) for n in codes]),
        PolicyClassByLevel([TabularPolicyClass(n, k) for n in codes]),
    )


def _linear(environment: Environment, bound: float | None) -> Classes:
    values, policies = [], []
    for h in range(1, environment.horizon + 1):
        source: Any = environment.space(h).dimension
        listed = source is None
        if listed:
            if environment.features is None:
                raise ValueError(
                    f"classes: linear needs features, {environment.name!r} has none"
                )
            source = environment.features[h - 1]
        largest = bound if bound is not None else 4.0 if listed else 1.0
        values.append(LinearValueClass(source, bound=largest, clipped=listed))
        policies.append(LinearPolicyClass(source, environment.n_actions))
    return ValueClassByLevel(values), PolicyClassByLevel(policies)


def _local_count(groups: Sequence[Any], size: int) -> int:
    """Largest c ≥ 2 with c^(number of states) ≤ size."""
    count = 2
    while (count + 1) ** len(groups) <= size:
        count += 1
    return count


def _product_values(
    environment: Environment, level: int, size: int, rng: np.random.Generator
) -> FiniteValueClass:
    def others(count: int, codes: int) -> list[Any]:
        bits = object_array(rng.integers(0, 2, codes).tolist())
        return [bits, *rng.random((count - 1, codes)).astype(object)]

    right = environment.truth.values(level)
    groups = state_groups(environment, level)
    return FiniteValueClass(_products(right, groups, size, others, rng))


def _product_policies(
    environment: Environment, level: int, size: int, rng: np.random.Generator
) -> FinitePolicyClass:
    def others(count: int, codes: int) -> list[Any]:
        return list(rng.integers(0, environment.n_actions, (count, codes)))

    right = environment.truth.policy(level)
    groups = state_groups(environment, level)
    table = _products(right, groups, size, others, rng)
    return FinitePolicyClass(table, environment.n_actions)


def _products(
    right: NDArray[Any],
    groups: Sequence[NDArray[np.int64]],
    size: int,
    others: Callable[[int, int], list[Any]],
    rng: np.random.Generator,
) -> NDArray[Any]:
    """Members (members, codes) in random order: the right local function and others."""
    count = _local_count(groups, size)
    choices = [[right[codes], *others(count - 1, len(codes))] for codes in groups]
    members = []
    for chosen in itertools.product(*choices):
        table = np.zeros_like(right)
        for codes, local in zip(groups, chosen, strict=True):
            table[codes] = local
        members.append(table)
    return np.stack([members[i] for i in rng.permutation(len(members))])


class _OnStates:
    """Members that are tables over states; observations are decoded once for all."""

    _rows: NDArray[Any]
    _decode: Decoder

    def evaluate_all(
        self, observations: Any, start: int = 0, stop: int | None = None
    ) -> NDArray[Any]:
        admitted = cast("Any", self).admit(observations)
        return self._rows[start:stop, self._decode(admitted)]


class DecodedValueClass(_OnStates, FiniteValueClass):
    """Finitely many functions of a decoded state, in [0, 1]: (members, states)."""

    def __init__(self, table: NDArray[np.float64], decode: Decoder) -> None:
        super().__init__([_Decoded(row, decode) for row in table])
        self._rows, self._decode = table, decode


class DecodedPolicyClass(_OnStates, FinitePolicyClass):
    """Finitely many policies on a decoded state; as `DecodedValueClass`."""

    def __init__(
        self, table: NDArray[np.int64], decode: Decoder, n_actions: int
    ) -> None:
        super().__init__([_Decoded(row, decode) for row in table], n_actions)
        self._rows, self._decode = table, decode


class _Decoded:
    def __init__(self, table: NDArray[Any], decode: Decoder) -> None:
        self._table, self._decode = table, decode

    def __call__(self, observations: Any, /) -> NDArray[Any]:
        return self._table[self._decode(observations)]


def _decoder(environment: Environment, level: int) -> Decoder:
    emission = getattr(environment.truth, "emission", None)
    if emission is None:
        raise ValueError(f"classes: {environment.name!r} has no decoder for finite")
    return lambda observations: np.asarray(emission.decode(level, observations))


def _decoded_values(
    environment: Environment, level: int, size: int, rng: np.random.Generator
) -> FiniteValueClass:
    """Product over the hidden states: V*(s), and a grid from 0 to 1."""
    truth = environment.truth
    states = range(truth.n_states(level))
    count = _local_count(states, size)
    grid = np.linspace(0, 1, count - 1) if count > 2 else [1.0]
    choices = [[float(truth.state_value(level, s)), *grid] for s in states]
    table = np.array(list(itertools.product(*choices)), dtype=np.float64)
    return DecodedValueClass(rng.permutation(table), _decoder(environment, level))


def _decoded_policies(
    environment: Environment, level: int, size: int, rng: np.random.Generator
) -> FinitePolicyClass:
    """Every map from states to actions, or a product with π* of at most `size`."""
    k = environment.n_actions
    right_actions = _state_q_values(environment, level).argmax(axis=1).tolist()
    count = min(k, _local_count(right_actions, size))
    choices = []
    for right in right_actions:
        others = rng.permutation(np.delete(np.arange(k), right))[: count - 1]
        choices.append([right, *others.tolist()])
    table = np.array(list(itertools.product(*choices)), dtype=np.int64)
    shuffled = rng.permutation(table)
    return DecodedPolicyClass(shuffled, _decoder(environment, level), k)


def _state_q_values(environment: Environment, level: int) -> NDArray[Any]:
    """Q* of the hidden states, Fractions (states, K)."""
    truth: Any = environment.truth
    rewards = truth.model.level(level).mean_rewards / truth.model.unit
    table = np.asarray(rewards, dtype=object)
    for s, a in np.ndindex(table.shape):
        table[s, a] += truth.state_value(level + 1, truth.successor(level, s, a))
    return table


MAX_ENTRIES = 5 * 10**6
"""Most values of all members together, exact numbers of about 100 bytes."""


@dataclass(frozen=True, eq=False)
class _State:
    """A hidden state of a level and the local functions a member may have there."""

    level: int
    codes: NDArray[np.int64]
    locals: tuple[NDArray[Any], ...]  # each (codes, K); the first is Q*


def make_q_class(
    environment: Environment, rng: np.random.Generator, *, size: int = 64
) -> FiniteQClass:
    """Make a class of Q-functions that holds Q*."""
    _check_known(environment)
    size = check_count("size", size)
    right, groups, decoders = _optimal(environment)
    states = [
        _State(h, codes, _local_functions(right[h - 1][codes], rng))
        for h, level_groups in enumerate(groups, 1)
        for codes in level_groups
    ]
    counts = [len(state.locals) for state in states]
    members = min(size, math.prod(counts))
    entries = members * sum(table.size for table in right)
    if entries > MAX_ENTRIES:
        raise ValueError(
            f"size: {members} functions have {entries} values, more than {MAX_ENTRIES};"
            " a class that is enumerated must be smaller"
        )
    choices = _choose(counts, size, rng)
    tables = []
    for h, table in enumerate(right, 1):
        listed = np.repeat(table[None], len(choices), axis=0)
        for s, state in enumerate(states):
            if state.level == h:
                listed[:, state.codes] = np.stack(state.locals)[choices[:, s]]
        tables.append(listed)
    return FiniteQClass(tables, decoders)


def optimal_member(functions: FiniteQClass, environment: Environment) -> int | None:
    """Find the number of Q*, exact where states can be observed; None if missing."""
    right, groups, _ = _optimal(environment)
    if functions.horizon != len(right):
        raise ValueError(f"functions: {functions.horizon} levels, H = {len(right)}")
    same = np.ones(len(functions), dtype=np.bool_)
    for h, (table, level_groups) in enumerate(zip(right, groups, strict=True), 1):
        codes = np.concatenate(level_groups)
        values = functions.table(h)[:, codes]
        wanted = table[codes] if functions.exact else table[codes].astype(np.float64)
        same &= np.asarray(values == wanted, dtype=np.bool_).all(axis=(1, 2))
    return int(np.argmax(same)) if same.any() else None


def _optimal(
    environment: Environment,
) -> tuple[list[NDArray[Any]], list[list[NDArray[np.int64]]], list[Decoder] | None]:
    """Q* by level, the codes of each reachable state, and decoders.

    Where observations are features, of the hidden states, each a group of one code.
    """
    truth: Any = environment.truth
    listed = environment.space(1).is_finite
    if not listed and getattr(truth, "emission", None) is None:
        raise ValueError(f"make_q_class: {environment.name!r} has no decoder")
    levels = range(1, environment.horizon + 1)
    if listed:
        right = [np.asarray(truth.q_values(h)) for h in levels]
        return right, [_groups(environment, h) for h in levels], None
    return (
        [_state_q_values(environment, h) for h in levels],
        [[np.array([s]) for s in sorted(truth.reachable(h))] for h in levels],
        [functools.partial(truth.emission.decode, h) for h in levels],
    )


def _groups(environment: Environment, level: int) -> list[NDArray[np.int64]]:
    if environment.deterministic:
        return state_groups(environment, level)
    truth: Any = environment.truth
    emissions = truth.model.level(level).emissions
    reached = sorted(truth.reachable(level))
    return [np.flatnonzero(emissions[s]).astype(np.int64) for s in reached]


def _local_functions(
    right: NDArray[Any], rng: np.random.Generator
) -> tuple[NDArray[Any], ...]:
    """Q* of a state's codes (codes, K) first, then wrong ones, all different."""
    n, k = right.shape
    found = [right, np.roll(right, int(rng.integers(1, k)) if k > 1 else 0, axis=1)]
    tempting = right.copy()
    best = right.argmax(axis=1)
    others = (best + rng.integers(1, k, n)) % k if k > 1 else best
    tempting[np.arange(n), others] = Fraction(1)
    blunt = right.copy()
    blunt[:] = sum(right.flat, Fraction(0)) / right.size
    drawn = right.copy()
    drawn.ravel()[:] = [Fraction(v, 8) for v in rng.integers(0, 9, right.size).tolist()]
    found += [tempting, blunt, drawn]
    different: list[NDArray[Any]] = []
    for candidate in found:
        if not any(np.array_equal(candidate, kept) for kept in different):
            different.append(candidate)
    return tuple(different)


def _choose(
    counts: Sequence[int], size: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Members as choices of local functions (members, states), Q* (0) among them."""
    right = (0,) * len(counts)
    total = math.prod(counts)
    if total <= size:
        kept = list(itertools.product(*map(range, counts)))
    else:
        singles = [
            (*right[:s], c, *right[s + 1 :])
            for s, count in enumerate(counts)
            for c in range(1, count)
        ]
        order = rng.permutation(len(singles))[: (size - 1) // 2]
        first = [right, *(singles[i] for i in order)]
        if total <= 8 * size:
            product = list(itertools.product(*map(range, counts)))
            more = [product[i] for i in rng.permutation(len(product))]
        else:
            more = _some_drawn(counts, size, rng)
        kept = list(dict.fromkeys([*first, *more]))[:size]
    chosen = np.array(kept, dtype=np.int64).reshape(len(kept), len(counts))
    return chosen[rng.permutation(len(chosen))]


def _some_drawn(
    counts: Sequence[int], size: int, rng: np.random.Generator
) -> list[tuple[int, ...]]:
    """At least 2 ``size`` members of a big product, at first mostly right ones."""
    drawn: dict[tuple[int, ...], None] = {}
    chance = 0.5
    while len(drawn) < 2 * size:
        wrong = rng.random((size, len(counts))) < chance
        rows = np.where(wrong, rng.integers(0, counts, (size, len(counts))), 0)
        drawn |= dict.fromkeys(map(tuple, rows.tolist()))
        chance = min(1.0, chance + 0.1)
    return list(drawn)
