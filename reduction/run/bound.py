"""A bound on g(s0) in the program of a round, from what is bound already.

A state that is bound alone is worth no more than the best of its actions; a pair of
literals that is bound is worth `top` together; any other state no more than its range
allows. In the rounds of the stated runs some pair attains the bound, so that it is the
optimum. (Once all is bound it no longer is: the program is the hard one then.)
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from olivine.reduction.family.family import Family


class StartBound:
    """Keeps the bound on g(s0) while constraints are added.

    Parameters
    ----------
    family
        The family.
    """

    def __init__(self, family: Family) -> None:
        self.family = family
        self.ranges = family.layout.declaration.ranges
        n, m = family.n_variables, family.n_clauses
        weights = [1] * m if family.weights is None else family.weights.tolist()
        self._chances = [
            family.parameters.reach * Fraction(w, family.total_weight) for w in weights
        ]
        self._start = False
        self._clauses = dict.fromkeys(range(m), self.ranges.middle)
        self._variables = [False] * n
        self._pairs = [False] * n
        self._solved = sum(self._chances, Fraction(0)) * self.ranges.middle
        self._free_clauses = m

    def add(self, states: Iterable[int]) -> None:
        """Bind a distribution: one state, or both literals of a variable."""
        layout, met = self.family.layout, [int(s) for s in states]
        first = layout.first_literal_state
        if met == [layout.start]:
            self._start = True
        elif len(met) == 1 and 1 <= met[0] <= layout.n_clauses:
            j = met[0] - 1
            self._solved -= self._chances[j] * (self._clauses[j] - self.ranges.literal)
            self._clauses[j] = min(self._clauses[j], self.ranges.literal)
        elif len(met) == 1 and met[0] < first:
            self._variables[met[0] - 1 - layout.n_clauses] = True
        elif len(met) == 2 and met[1] == met[0] + 1 and (met[0] - first) % 2 == 0:
            self._pairs[(met[0] - first) // 2] = True

    def value(self) -> Fraction:
        """Greatest g(s0) that the ranges and the bound states leave possible."""
        if not self._start:
            return self.ranges.start
        family = self.family
        tried = max(
            self._pair(i) if self._passes(i) else self.ranges.middle
            for i in range(family.n_variables)
        )
        return min(
            self.ranges.start,
            max(
                family.try_variable_reward + tried,
                family.try_clause_reward + max(self._clauses.values()),
                family.solve_reward + self._solved,
            ),
        )

    def _passes(self, i: int) -> bool:
        """Whether [try x_i] is worth what its pair is worth."""
        return self._variables[i] or not self.family.layout.declaration.variable_states

    def _pair(self, i: int) -> Fraction:
        """Greatest mean value of the pair of x_i."""
        return self.family.top / 2 if self._pairs[i] else self.ranges.literal
