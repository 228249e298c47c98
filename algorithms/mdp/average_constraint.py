"""A constraint of OLIVE's program in a normal form, so that two can be compared.

The average Bellman error under a distribution D is a function of (g, π),

    E(g, π) = Σ_x D(x) (g(x) − r(x, π(x)) − Σ_x′ P(x′ | x, π(x)) g(x′)),

affine in g once the actions in the support of D are fixed. It is the same
function for two MDPs with the same states and actions exactly if it has the same
normal form: its affine function when every state takes its first action, and,
for each other action, what taking it there changes. Rewards of states with one
action merge into the first part: that is why members of the family of
`olivine.reduction.family.family`, which pay differently, give the same constraints.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .bellman import denominators

if TYPE_CHECKING:
    from .distributions import Distribution
    from .tabular import TabularMDP


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
    # Triples (state, local action, affine function) in order: what taking the action
    # instead of action 0 adds; functions that are 0 are left out
    changes: tuple[tuple[int, int, Affine], ...]


def average_constraint(
    mdp: TabularMDP, distribution: Distribution
) -> AverageConstraint:
    """Bring the average Bellman error of an MDP under a distribution to normal form.

    Takes time in proportion to the number of actions and transitions of the
    distribution's support (times the size of the first action of each state).
    """
    support = [int(state) for state in distribution.states]
    actions = [action for state in support for action in mdp.actions(state)]
    scale = math.lcm(*denominators(mdp, np.array(actions, dtype=np.int64)))
    base = _Sum()
    changes: list[tuple[int, int, _Sum]] = []
    for state, share in zip(support, distribution.numerators.tolist(), strict=True):
        first, *others = mdp.actions(state)
        own = _backup(mdp, first, -share, scale)
        base.add(own)
        base.terms[state] += share * scale
        for local, action in enumerate(others, start=1):
            change = _backup(mdp, action, -share, scale)
            change.add(own, -1)
            changes.append((state, local, change))
    denominator = scale * distribution.denominator
    divisor = math.gcd(
        denominator, base.divisor(), *(change.divisor() for *_, change in changes)
    )
    return AverageConstraint(
        denominator // divisor,
        base.affine(divisor),
        tuple(
            (state, local, change.affine(divisor))
            for state, local, change in changes
            if change.divisor()
        ),
    )


class _Sum:
    """An affine function under construction."""

    def __init__(self) -> None:
        self.constant = 0
        self.terms: defaultdict[int, int] = defaultdict(int)

    def add(self, other: _Sum, factor: int = 1) -> None:
        self.constant += factor * other.constant
        for state, coefficient in other.terms.items():
            self.terms[state] += factor * coefficient

    def divisor(self) -> int:
        """Greatest common divisor of all numbers; 0 for the function 0."""
        return math.gcd(self.constant, *self.terms.values())

    def affine(self, divisor: int) -> Affine:
        terms = sorted((s, c // divisor) for s, c in self.terms.items() if c)
        return Affine(self.constant // divisor, tuple(terms))


def _backup(mdp: TabularMDP, action: int, factor: int, scale: int) -> _Sum:
    """E[r + g(x′)] of a global action, times factor · scale, in integers."""
    total = _Sum()
    reward = mdp.reward(action)
    total.constant = factor * (scale // reward.denominator) * reward.numerator
    low, high = (int(t) for t in mdp.transition_offset[action : action + 2])
    share = factor * (scale // int(mdp.transition_denominator[action]))
    targets = mdp.transition_target[low:high].tolist()
    numerators = mdp.transition_numerator[low:high].tolist()
    for target, numerator in zip(targets, numerators, strict=True):
        total.terms[target] += share * numerator
    return total
