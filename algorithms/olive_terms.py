"""What OLIVE's program is made of: its states, its actions and their backups.

Shared by the mixed-integer models of the program and by the enumeration of its
policies, so that both agree on which states and actions occur in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from algorithms.ragged import gather

if TYPE_CHECKING:
    from algorithms.mdp import TabularMDP
    from algorithms.olive_program import OliveProgram


@dataclass(frozen=True)
class Backup:
    """E[r + g(x′)] of one action: constant + Σ coefficients · g[states].

    `low` and `high` are its range over values in [lower, upper].
    """

    constant: Fraction
    states: tuple[int, ...]
    coefficients: tuple[Fraction, ...]
    low: Fraction
    high: Fraction

    @classmethod
    def of(cls, program: OliveProgram, action: int) -> Backup:
        """Backup of a global action, with its range in the program."""
        successors = program.mdp.successors(action)
        reward = program.mdp.reward(action)
        future = 1 if successors else 0
        return cls(
            reward,
            tuple(s for s, _ in successors),
            tuple(p for _, p in successors),
            reward + future * program.lower,
            reward + future * program.upper,
        )

    def at(self, values: Sequence[Fraction]) -> Fraction:
        """Backup under values of all states."""
        terms = (
            c * values[s] for s, c in zip(self.states, self.coefficients, strict=True)
        )
        return sum(terms, self.constant)


def distinct_actions(mdp: TabularMDP, state: int) -> list[int]:
    """Local indices of the first of each group of equal actions of a state.

    Actions are equal when reward and successors with probabilities are.
    """
    first: dict[object, int] = {}
    for local, action in enumerate(mdp.actions(state)):
        first.setdefault(_action_key(mdp, action), local)
    return list(first.values())


def first_equal(mdp: TabularMDP, state: int, local: int) -> int:
    """First action of a state that is equal to the given one."""
    action = mdp.actions(state)[local]
    key = _action_key(mdp, action)
    return next(
        other
        for other, candidate in enumerate(mdp.actions(state))
        if _action_key(mdp, candidate) == key
    )


def _action_key(mdp: TabularMDP, action: int) -> object:
    return mdp.reward(action), frozenset(mdp.successors(action))


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
    program: OliveProgram, backups: Sequence[Backup], alone: Fraction | None
) -> tuple[Fraction, Fraction]:
    """Range of the backup of a state over its actions and all values.

    Parameters
    ----------
    program, backups
        The program and the backups of the state's actions.
    alone
        The largest probability of the state in a distribution over it alone,
        or None. Such a constraint, P·|g(x) − b(x)| ≤ φ, keeps the backup within
        φ/P of the range of g.
    """
    low = min(backup.low for backup in backups)
    high = max(backup.high for backup in backups)
    if alone is not None:
        slack = program.tolerance / alone
        tight = max(low, program.lower - slack), min(high, program.upper + slack)
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
