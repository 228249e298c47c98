"""A run of OLIVE on a member that never meets the hard program.

The choices here (Theorem K, docs/ties.md) bind s0 last: until then g(s0) = 1 is a
maximiser whatever else g is, and the rounds before pin g down until g = V^π for every
feasible pair, so that planning finds V*. The rule knows the member. In `forced` it is
the theorem's own (`benign_rounds`); else g = V^π but for what each round of `_Moves`
changes: *pair*, *behind a clause* (which tells the members apart), *clause*,
*variable*, *start*.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...algorithms.mdp.planning import Distribution, Pair
from ...algorithms.olive_program.tiebreak import benign_rounds
from ..family.family import Family, Variant
from ..family.layout import CLAUSE_BITS
from .replay import Replay
from .run import CheckedRun, Round, judged, not_maximiser
from .schedule import Setting

__all__ = ["BenignRun", "benign_run"]


@dataclass(frozen=True, eq=False)
class BenignRun(CheckedRun):
    """The run on one member; the optimum of each program but the last is 1."""

    constraints: tuple[Distribution, ...]  # The distributions collected
    # (V*, π*) of the member: a maximiser of the last program, or there is a
    # `difference`
    last: Pair

    @property
    def optimal_value(self) -> Fraction:
        """V* of the member, the optimum of the last program."""
        return self.last.value(self.family.start)


def benign_run(family: Family, y: ArrayLike | None = None) -> BenignRun:
    """Run OLIVE on the member M_y with ties and levels broken in its favour."""
    if family.layout.declaration.every_level:
        raise ValueError(
            f"variant {family.variant} binds all levels in each round, and the benign "
            "rule binds one; it runs in the other variants: "
            + ", ".join(v for v in Variant if not v.declaration.every_level)
        )
    member = family.assignment_of(y)
    mdp = family.mdp(member)
    replay = Replay(mdp, 0, family.program().upper_given)
    moves: Iterator[tuple[dict[int, Setting], int]]
    if family.layout.n_sides:  # Theorem K's own rule, for values inside (0, 1)
        moves = ((_settings(pair), level) for pair, level in benign_rounds(mdp))
    else:
        moves = _Moves(family, member).moves()
    rounds = tuple(
        _checked(family, replay, number, changes, level)
        for number, (changes, level) in enumerate(moves, 1)
    )
    last = mdp.optimal_values()
    final = _settings(last)
    collected = tuple(replay.constraints)
    wrong = ("(V*, π*) does not meet its constraints",)
    difference = wrong if replay.play(final, 1).broken else ()
    return BenignRun(family, member, rounds, difference, collected, last)


def _settings(pair: Pair) -> dict[int, Setting]:
    both = zip(pair.policy.tolist(), pair.values(), strict=True)
    return {state: Setting(a, value) for state, (a, value) in enumerate(both)}


def _checked(
    family: Family,
    replay: Replay,
    number: int,
    changes: Mapping[int, Setting],
    level: int,
) -> Round:
    played = replay.play(changes, level)
    error = played.errors[level - 1]
    wrong = f"the average Bellman error at level {level} is {error}"
    # s0 is bound last, so the end of its range is the optimum.
    failures = {
        "maximiser": not_maximiser(played, family.layout.declaration.ranges.start),
        "positive_error": [wrong] if error <= 0 else [],
        "constraint_as_stated": [] if played.added else ["it adds no new constraint"],
    }
    return judged(family, replay, number, level, played, failures)


class _Moves:
    def __init__(self, family: Family, member: NDArray[np.bool_]) -> None:
        self.family, self.layout, self.member = family, family.layout, member
        self.top, self.size = family.top, family.top / 2
        self.most = self.layout.declaration.ranges.start
        self.truth = (family.clauses > 0) == member[np.abs(family.clauses) - 1]
        self.variables: list[list[int]] = (np.abs(family.clauses) - 1).tolist()
        # The actions of the clauses, all bits to the worthless states if possible.
        self.actions = [self._worst(bits) for bits in self.truth.tolist()]

    def moves(self) -> Iterator[tuple[dict[int, Setting], int]]:
        n, m = self.family.n_variables, self.family.n_clauses
        at_literals = self.layout.literal_level
        changes = self._everything()
        for i in range(n):
            state = self._worthless(i)
            changes |= self._try_variable(i) | self._set(state, self.size)
            yield changes, at_literals
            changes = self._set(state, Fraction(0))
        determined = [False] * n
        for j in range(m):
            for action, raised in self._behind(j, determined):
                lifted: dict[int, Setting] = {}
                for i, amount in raised.items():
                    lifted |= self._pair(i, amount)
                lifted |= self._clause(j, action) | self._try_clause(j)
                yield changes | lifted, 3
                changes = {}
                for i in raised:
                    changes |= self._pair(i, Fraction(0))
                changes |= self._clause(j, self.actions[j])
            for i in self.variables[j]:
                determined[i] = True
        for j in range(m):
            raised_clause = self._clause(j, self.actions[j], self.top / 3)
            yield changes | self._try_clause(j) | raised_clause, 2
            changes = self._clause(j, self.actions[j])
        if self.layout.declaration.variable_states:
            for i in range(n):
                state = self.layout.variable_state(i)
                yield changes | self._try_variable(i) | self._set(state, self.top), 2
                changes = self._set(state, self.size)
        yield changes | self._try_variable(0), 1

    def _behind(
        self, j: int, determined: list[bool]
    ) -> Iterator[tuple[int, dict[int, Fraction]]]:
        """Actions of C_j, each with how far it may raise its worthless literals.

        Bound one after the other, they leave no shortfall >= 0 of a literal but 0.
        """
        own = sorted({i for i in self.variables[j] if not determined[i]})
        truth = self.truth[j].tolist()
        actions = [self.actions[j]] if not all(truth) else [0, 1, 3]
        bound: list[list[int]] = []
        for action in actions:
            # +1 for a worthless state, -1 for a rewarded one, by variable.
            row = [0] * len(own)
            for i, bit, true in zip(
                self.variables[j], CLAUSE_BITS[action].tolist(), truth, strict=True
            ):
                if i in own:
                    row[own.index(i)] += 1 if bool(bit) != true else -1
            for c in itertools.product((2, 1, 0), repeat=len(own)):
                kept = all(_dot(b, c) == 0 for b in bound)
                if kept and _dot(row, c) > 0:
                    raised = {
                        i: self.size * amount / 2
                        for i, amount in zip(own, c, strict=True)
                    }
                    bound.append(row)
                    yield action, raised
                    break

    def _everything(self) -> dict[int, Setting]:
        """G = V^π of the policy that the rounds share, and g(s0) the most there is."""
        changes: dict[int, Setting] = {}
        for i in range(self.family.n_variables):
            changes |= self._pair(i, Fraction(0))
            if self.layout.declaration.variable_states:
                changes |= self._set(self.layout.variable_state(i), self.size)
        for j in range(self.family.n_clauses):
            changes |= self._clause(j, self.actions[j])
        return changes

    def _set(self, state: int, value: Fraction) -> dict[int, Setting]:
        return {state: Setting(0, value, (value,))}

    def _worthless(self, i: int) -> int:
        return self.layout.literal_state(i, int(not self.member[i]))

    def _pair(self, i: int, raised: Fraction) -> dict[int, Setting]:
        """Literal values of x_i: the worthless one raised, the other lowered."""
        rewarded = self.layout.literal_state(i, int(self.member[i]))
        return self._set(self._worthless(i), raised) | self._set(
            rewarded, self.top - raised
        )

    def _clause(
        self, j: int, action: int, above: Fraction = Fraction(0)
    ) -> dict[int, Setting]:
        """C_j takes an action and has its value in the member, or more."""
        bits = CLAUSE_BITS[action].astype(bool)
        value = self.top * int((bits == self.truth[j]).sum()) / 3 + above
        return {self.layout.clause_state(j): Setting(action, value)}

    def _try_variable(self, i: int) -> dict[int, Setting]:
        return {self.layout.start: Setting(self.layout.try_variable(i), self.most)}

    def _try_clause(self, j: int) -> dict[int, Setting]:
        return {self.layout.start: Setting(self.layout.try_clause(j), self.most)}

    @staticmethod
    def _worst(truth: list[bool]) -> int:
        a, b, c = (not true for true in truth)
        return max(4 * a + 2 * b + c - 1, 0)


def _dot(row: list[int], c: tuple[int, ...]) -> int:
    return sum(x * y for x, y in zip(row, c, strict=True))
