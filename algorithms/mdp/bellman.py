"""Exact average Bellman errors of pairs (g, π) that OLIVE optimises over.

The error in a state is g(x) − E[r + g(x′) | x, π(x)], g = 0 once the episode has ended,
in integers over one common denominator: hundreds of thousands of states take
milliseconds.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from ..exact.arrays import (
    IntArray,
    distinct,
    fits_int64,
    gather,
    integer_array,
    integers,
    lcm_of,
    magnitude,
    segment_sums,
)
from .arrays import MdpArrays
from .planning import Distribution, Distributions, Pair, denominators

_BLOCK = 1 << 17
"""Distributions at a time: temporaries take several times what these do."""


def average_errors(
    mdp: MdpArrays,
    distributions: Distributions,
    pair: Pair,
    known: tuple[int, int] | None = None,
) -> tuple[IntArray, int]:
    """Average Bellman error of a pair under each distribution."""
    states = distributions.states
    actions = mdp.action_offset[states] + pair.policy[states]
    chances, rewards = known or denominators(mdp, actions)
    # Values are mostly sums of rewards: their denominator is good for these too.
    scale = math.lcm(chances, rewards // math.gcd(rewards, pair.denominator))
    # with a common denominator c every intermediate result is at most c * unit
    reward = math.ceil(max(map(abs, mdp.reward_table)) * pair.denominator)
    unit = 2 * magnitude(pair.numerators) + reward
    whole, limit = scale * pair.denominator, unit * _largest(distributions.denominators)
    entries = states, distributions.numerators
    if fits_int64(scale * limit):
        errors = _errors(mdp, entries, distributions.offsets, pair, scale, exact=False)
        return errors, whole
    wide, rest = np.arange(len(distributions)), scale
    places: NDArray[np.int64] = np.arange(0)
    found: list[int] = []
    if fits_int64(scale) and fits_int64(limit):
        wide, own, rest = _wide(mdp, distributions, pair, actions, scale, limit)
        errors = _errors(mdp, entries, distributions.offsets, pair, own, exact=False)
        errors[wide] = 0  # wrong, as int64 is not enough: they are made below
        (places,) = errors.nonzero()  # few, or none: Python's integers are slow
        found = [e * (scale // own) for e in errors[places].tolist()]
    exact = not fits_int64(rest * unit * _largest(distributions.denominators[wide]))
    index, offsets = gather(distributions.offsets, wide)
    entries = states[index], distributions.numerators[index]
    errors = _errors(mdp, entries, offsets, pair, rest, exact=exact)
    found += [e * (scale // rest) for e in errors.tolist()]
    values = integer_array(found)
    numerators = np.zeros(len(distributions), dtype=values.dtype)
    numerators[np.concatenate([places, wide])] = values
    return numerators, whole


def _largest(denominators: IntArray) -> int:
    return max(1, magnitude(denominators))


def _wide(
    mdp: MdpArrays,
    distributions: Distributions,
    pair: Pair,
    actions: NDArray[np.int64],
    scale: int,
    unit: int,
) -> tuple[NDArray[np.int64], int, int]:
    """Find the distributions for which int64 is not enough, so that others stay fast.

    Also the others' common denominator, and one of these distributions' actions.
    """
    wholes = [r.denominator for r in mdp.reward_table]
    parts = [d // math.gcd(d, pair.denominator) for d in wholes]
    # Of rewards that no action here has, `scale` need be no multiple.
    left = np.array([1 if scale % d else d for d in parts], dtype=np.int64)

    def own(actions: NDArray[np.int64]) -> NDArray[np.int64]:
        rewards = left[mdp.reward_index[actions]]
        return np.lcm(rewards, mdp.transition_denominator[actions])

    split = np.flatnonzero(mdp.transition_denominator[actions] > 1)
    theirs = own(actions[split])
    shared, large = 1, []
    for candidate in sorted({*left.tolist(), *distinct(theirs).tolist()}):
        common = math.lcm(shared, candidate)
        if fits_int64(common * unit):
            shared = common
        else:
            large.append(candidate)
    entries = split[np.isin(theirs, large)]
    rewards = np.isin(left, large)
    if rewards.any():  # else there is no need to look at all actions
        others = np.flatnonzero(rewards[mdp.reward_index[actions]])
        entries = np.concatenate([entries, others])
    wide = distinct(np.searchsorted(distributions.offsets, entries, side="right") - 1)
    index, _ = gather(distributions.offsets, wide)
    return wide, shared, lcm_of(own(actions[index]))


def _errors(
    mdp: MdpArrays,
    entries: tuple[NDArray[np.int64], IntArray],
    offsets: NDArray[np.int64],
    pair: Pair,
    scale: int,
    *,
    exact: bool,
) -> IntArray:
    """Average errors, of states and numerators from each start, times all scales."""
    if len(offsets) > _BLOCK + 1:
        found = []
        for first in range(0, len(offsets) - 1, _BLOCK):
            ends = offsets[first : first + _BLOCK + 1]
            states, shares = (array[ends[0] : ends[-1]] for array in entries)
            block = states, shares
            found.append(_errors(mdp, block, ends - ends[0], pair, scale, exact=exact))
        return np.concatenate(found)
    states, shares = entries
    actions = mdp.action_offset[states] + pair.policy[states]
    # unused rewards may leave a fraction; truncating those harms nothing
    whole = scale * pair.denominator
    rewards = np.array([int(r * whole) for r in mdp.reward_table], dtype=object)
    table = integers(rewards, exact=exact)
    g = integers(pair.numerators, exact=exact)
    index, bounds = gather(mdp.transition_offset, actions)
    terms = g[mdp.transition_target[index]] * mdp.transition_numerator[index]
    own = integers(mdp.transition_denominator[actions], exact=exact)
    backups = segment_sums(terms, bounds) * (scale // own)
    backups += table[mdp.reward_index[actions]]
    errors = g[states] * scale - backups
    return segment_sums(errors * shares, offsets)


def as_fractions(
    numerators: IntArray, denominator: int, distributions: Distributions
) -> list[Fraction]:
    """Give the result of `average_errors` as Fractions."""
    zero = Fraction(0)
    return [
        Fraction(int(e), denominator * int(d)) if e else zero
        for e, d in zip(numerators, distributions.denominators, strict=True)
    ]


@dataclass(frozen=True)
class Affine:
    """The function constant + Σ coefficient · g(state), in integers."""

    constant: int  # The constant
    # Pairs (state, coefficient of its value), by state, none of them 0
    coefficients: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class AverageConstraint:
    """The normal form of an average Bellman error: equal exactly if the errors are."""

    # Positive; the error is what follows divided by it, in lowest terms
    denominator: int
    base: Affine  # The error when each state of the support takes its action 0
    # (state, local action, affine function): what it adds to action 0, if not 0
    changes: tuple[tuple[int, int, Affine], ...]


def average_constraint(mdp: MdpArrays, distribution: Distribution) -> AverageConstraint:
    """Bring the average error under a distribution to normal form."""
    support = [int(state) for state in distribution.states]
    actions = [action for state in support for action in mdp.actions(state)]
    scale = math.lcm(*denominators(mdp, np.array(actions, dtype=np.int64)))
    base = Counter[int]()
    changes: list[tuple[int, int, Counter[int]]] = []
    for state, share in zip(support, distribution.numerators.tolist(), strict=True):
        first, *others = mdp.actions(state)
        own = _backup(mdp, first, -share, scale)
        base.update(own)
        base[state] += share * scale
        for local, action in enumerate(others, start=1):
            change = _backup(mdp, action, -share, scale)
            change.subtract(own)
            changes.append((state, local, change))
    denominator = scale * distribution.denominator
    all_changes = (change.values() for *_, change in changes)
    divisor = math.gcd(denominator, *base.values(), *chain.from_iterable(all_changes))
    return AverageConstraint(
        denominator // divisor,
        _affine(base, divisor),
        tuple(
            (state, local, _affine(change, divisor))
            for state, local, change in changes
            if any(change.values())
        ),
    )


_CONSTANT = -1  # Its key beside those of states


def _affine(total: Counter[int], divisor: int) -> Affine:
    terms = sorted((s, c // divisor) for s, c in total.items() if c and s != _CONSTANT)
    return Affine(total[_CONSTANT] // divisor, tuple(terms))


def _backup(mdp: MdpArrays, action: int, factor: int, scale: int) -> Counter[int]:
    """E[r + g(x′)] of a global action, times factor · scale, in integers."""
    reward = mdp.reward(action)
    paid = factor * (scale // reward.denominator) * reward.numerator
    total = Counter({_CONSTANT: paid})
    low, high = (int(t) for t in mdp.transition_offset[action : action + 2])
    share = factor * (scale // int(mdp.transition_denominator[action]))
    targets = mdp.transition_target[low:high].tolist()
    numerators = mdp.transition_numerator[low:high].tolist()
    for target, numerator in zip(targets, numerators, strict=True):
        total[target] += share * numerator
    return total
