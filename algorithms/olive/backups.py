"""What OLIVE's program is made of: its states, its actions and their backups.

Shared by the mixed-integer models of the program and by the enumeration of its
policies, so that both agree on which states and actions occur in it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from ..exact.arrays import gather

if TYPE_CHECKING:
    from ..mdp.tabular import TabularMDP
    from .program import OliveProgram


@dataclass(frozen=True)
class Affine:
    """An affine function of values: constant + Σ coefficients · g[states].

    `low` and `high` are its range over values in [lower, upper].
    """

    constant: Fraction
    states: tuple[int, ...]
    coefficients: tuple[Fraction, ...]
    low: Fraction
    high: Fraction

    def minus(self) -> list[Fraction]:
        """Negate the coefficients; of one object there comes one object."""
        distinct = {id(c): c for c in self.coefficients}
        negative = {name: -c for name, c in distinct.items()}
        return [negative[id(c)] for c in self.coefficients]

    def at(self, values: Sequence[Fraction]) -> Fraction:
        """Value under values of all states."""
        terms = (
            c * values[s] for s, c in zip(self.states, self.coefficients, strict=True)
        )
        return sum(terms, self.constant)


def backup_of(program: OliveProgram, action: int) -> Affine:
    """E[r + g(x′)] of a global action, with its range in the program."""
    successors = program.mdp.successors(action)
    reward = program.mdp.reward(action)
    future = 1 if successors else 0
    return Affine(
        reward,
        tuple(s for s, _ in successors),
        tuple(p for _, p in successors),
        reward + future * program.lower,
        reward + program.greatest_mean(successors),
    )


def action_classes(mdp: TabularMDP, state: int) -> list[int]:
    """First equal action of each action of a state, as local indices.

    Actions are equal when reward and successors with probabilities are.
    """
    first: dict[object, int] = {}
    return [
        first.setdefault(_action_key(mdp, action), local)
        for local, action in enumerate(mdp.actions(state))
    ]


def _action_key(mdp: TabularMDP, action: int) -> object:
    """Reward, and successors with shares of the least common denominator."""
    low, high = (int(t) for t in mdp.transition_offset[action : action + 2])
    targets = mdp.transition_target[low:high].tolist()
    numerators = mdp.transition_numerator[low:high].tolist()
    divisor = math.gcd(*numerators)
    shares = sorted(
        (target, share // divisor)
        for target, share in zip(targets, numerators, strict=True)
    )
    reward = mdp.reward(action)
    return reward.numerator, reward.denominator, tuple(shares)


def distinct_actions(mdp: TabularMDP, state: int) -> list[int]:
    """Local indices of the first of each group of equal actions of a state."""
    return sorted(set(action_classes(mdp, state)))


def support_states(program: OliveProgram) -> list[int]:
    """States of the distributions, in order: the only ones whose action matters."""
    states: list[int] = np.unique(program.distributions.states).tolist()
    return states


def needed_states(program: OliveProgram) -> list[int]:
    """States whose value occurs in the program, in order.

    The start state, the support, and the successors of the support's actions.
    """
    mdp = program.mdp
    support = np.unique(program.distributions.states)
    actions = gather(mdp.action_offset, support)[0]
    entries = gather(mdp.transition_offset, actions)[0]
    found = [np.array([mdp.start]), support, mdp.transition_target[entries]]
    needed: list[int] = np.unique(np.concatenate(found)).tolist()
    return needed


def backup_range(
    program: OliveProgram,
    state: int,
    ends: tuple[Fraction, Fraction],
    alone: Fraction | None,
) -> tuple[Fraction, Fraction]:
    """Range of the backup of a state, whose actions' backups lie between the ends."""
    low, high = ends
    if alone is not None:
        slack = program.tolerance / alone
        upper = program.upper_of(state)
        tight = max(low, program.lower - slack), min(high, upper + slack)
        if tight[0] <= tight[1]:  # else no policy is feasible; the rows say so
            return tight
    return low, high


def single_state_constraints(program: OliveProgram) -> dict[int, Fraction]:
    """Largest probability of each state in a distribution over it alone."""
    flat = program.distributions
    alone: dict[int, Fraction] = {}
    for i in np.flatnonzero(np.diff(flat.offsets) == 1).tolist():
        entry = int(flat.offsets[i])
        state = int(flat.states[entry])
        share = Fraction(int(flat.numerators[entry]), int(flat.denominators[i]))
        alone[state] = max(share, alone.get(state, Fraction(0)))
    return alone
