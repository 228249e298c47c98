"""A bound on g(s0) in the program of a round, from what is bound already.

A state that is bound alone is worth no more than the best of its actions; a pair of
literals that is bound is worth `top` together; any other state no more than its range
allows. In the rounds of the stated runs some pair attains the bound, so that it is the
optimum. (Once all is bound it no longer is: the program is the hard one then.)
"""

from __future__ import annotations

from collections import Counter
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
        n = family.n_variables
        self._start = False
        self._bound = set[int]()  # clauses, by their states
        # Of each variable: whether its pair, and what leads to it, is bound.
        passes = not family.layout.declaration.variable_states
        self._pairs, self._passes = [False] * n, [passes] * n
        self._tried = Counter({self._worth(0): n})
        self._solved = family.parameters.reach * self.ranges.middle

    def add(self, states: Iterable[int]) -> None:
        """Bind a distribution: one state, or both literals of a variable."""
        layout, met = self.family.layout, [int(s) for s in states]
        first = layout.first_literal_state
        if met == [layout.start]:
            self._start = True
        elif len(met) == 1 and 1 <= met[0] <= layout.n_clauses:
            self._bind_clause(met[0])
        elif len(met) == 1 and met[0] < first:
            self._bind_variable(met[0] - 1 - layout.n_clauses, self._passes)
        elif len(met) == 2 and met[1] == met[0] + 1 and (met[0] - first) % 2 == 0:
            self._bind_variable((met[0] - first) // 2, self._pairs)

    def value(self) -> Fraction:
        """Greatest g(s0) that the ranges and the bound states leave possible."""
        if not self._start:
            return self.ranges.start
        family, ranges = self.family, self.ranges
        free = len(self._bound) < family.n_clauses
        return min(
            ranges.start,
            max(
                family.try_variable_reward + max(self._tried),
                family.try_clause_reward + (ranges.middle if free else self._clause),
                family.solve_reward + self._solved,
            ),
        )

    @property
    def _clause(self) -> Fraction:
        """Greatest value of a clause state that is bound."""
        return min(self.ranges.middle, self.ranges.literal)

    def _bind_clause(self, state: int) -> None:
        if state in self._bound:
            return
        self._bound.add(state)
        family = self.family
        weight = 1 if family.weights is None else int(family.weights[state - 1])
        chance = family.parameters.reach * weight / family.total_weight
        self._solved -= chance * (self.ranges.middle - self._clause)

    def _bind_variable(self, i: int, what: list[bool]) -> None:
        before = self._worth(i)
        what[i] = True
        self._tried.subtract({before: 1})
        self._tried[self._worth(i)] += 1
        self._tried = +self._tried  # at most three values

    def _worth(self, i: int) -> Fraction:
        """Greatest value of what [try x_i] leads to."""
        if not self._passes[i]:
            return self.ranges.middle
        return self.family.top / 2 if self._pairs[i] else self.ranges.literal
