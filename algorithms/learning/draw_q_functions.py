"""A finite class of Q-functions for an environment: Q* among hard distractors.

As in `draw_classes`, a member is put together from *local* functions, one for each
reachable hidden state, the right one or a wrong one that a learner finds hard:

- swapped: Q*(s, ·) with the actions turned round: values right, greedy action wrong;
- tempting: one action that is not optimal promises 1;
- blunt: the mean of the state's values at every action: value near, action arbitrary;
- drawn: values from {0, 1/8, ..., 1}.

A class of N members is the whole product where that is no more, else it holds members
that err in one state (half the class at most) and others at random.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..classes.q_functions import Decoder, FiniteQClass
from ..environments.protocol import Environment
from ..exact.arrays import check_count
from .draw_classes import check_known, state_groups

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
    check_known(environment)
    size = check_count("size", size)
    if environment.space(1).is_finite:
        right, groups, decoders = _of_codes(environment)
    else:
        right, groups, decoders = _of_features(environment)
    states = [
        _State(h, codes, _local_functions(right[h - 1][codes], rng))
        for h, level_groups in enumerate(groups, 1)
        for codes in level_groups
    ]
    counts = [len(state.locals) for state in states]
    _check_entries(min(size, math.prod(counts)), right)
    choices = _choose(counts, size, rng)
    tables = []
    for h, table in enumerate(right, 1):
        members = np.repeat(table[None], len(choices), axis=0)
        for s, state in enumerate(states):
            if state.level == h:
                members[:, state.codes] = np.stack(state.locals)[choices[:, s]]
        tables.append(members)
    return FiniteQClass(tables, decoders)


def optimal_member(functions: FiniteQClass, environment: Environment) -> int | None:
    """Find the number of Q*, exact where states can be observed; None if missing."""
    if environment.space(1).is_finite:
        right, groups, _ = _of_codes(environment)
    else:
        right, groups, _ = _of_features(environment)
    if functions.horizon != len(right):
        raise ValueError(f"functions: {functions.horizon} levels, H = {len(right)}")
    same = np.ones(len(functions), dtype=np.bool_)
    for h, (table, level_groups) in enumerate(zip(right, groups, strict=True), 1):
        codes = np.concatenate(level_groups)
        values = functions.table(h)[:, codes]
        wanted = table[codes] if functions.exact else table[codes].astype(np.float64)
        same &= np.asarray(values == wanted, dtype=np.bool_).all(axis=(1, 2))
    return int(np.argmax(same)) if same.any() else None


def _check_entries(size: int, right: Sequence[NDArray[Any]]) -> None:
    entries = size * sum(table.size for table in right)
    if entries > MAX_ENTRIES:
        raise ValueError(
            f"size: {size} functions have {entries} values, more than {MAX_ENTRIES}; "
            "a class that is enumerated must be smaller"
        )


_Q = list[NDArray[Any]]
_Groups = list[list[NDArray[np.int64]]]


def _of_codes(environment: Environment) -> tuple[_Q, _Groups, None]:
    levels = range(1, environment.horizon + 1)
    right = [np.asarray(environment.truth.q_values(h)) for h in levels]
    return right, [_groups(environment, h) for h in levels], None


def _groups(environment: Environment, level: int) -> list[NDArray[np.int64]]:
    if environment.deterministic:
        return state_groups(environment, level)
    truth: Any = environment.truth
    emissions = truth.model.level(level).emissions
    reached = sorted(truth.reachable(level))
    return [np.flatnonzero(emissions[s]).astype(np.int64) for s in reached]


def _of_features(environment: Environment) -> tuple[_Q, _Groups, list[Decoder]]:
    """Q* of the hidden states; each state a group of one code."""
    truth: Any = environment.truth
    if getattr(truth, "emission", None) is None:
        raise ValueError(f"make_q_class: {environment.name!r} has no decoder")
    right: _Q = []
    groups: _Groups = []
    decoders: list[Decoder] = []
    for h in range(1, environment.horizon + 1):
        level = truth.model.level(h)
        table = np.asarray(level.mean_rewards / truth.model.unit, dtype=object)
        for s, a in np.ndindex(table.shape):
            table[s, a] += truth.state_value(h + 1, truth.successor(h, s, a))
        right.append(table)
        groups.append([np.array([s]) for s in sorted(truth.reachable(h))])
        decoders.append(functools.partial(truth.emission.decode, h))
    return right, groups, decoders


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
    for candidate in (tempting, blunt, drawn):
        found.append(candidate)
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
        more = _all_drawn if total <= 8 * size else _some_drawn
        kept = list(dict.fromkeys([*first, *more(counts, size, rng)]))[:size]
    chosen = np.array(kept, dtype=np.int64).reshape(len(kept), len(counts))
    return chosen[rng.permutation(len(chosen))]


def _all_drawn(
    counts: Sequence[int], size: int, rng: np.random.Generator
) -> list[tuple[int, ...]]:
    product = list(itertools.product(*map(range, counts)))
    return [product[i] for i in rng.permutation(len(product))]


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


__all__ = ["make_q_class", "optimal_member"]
