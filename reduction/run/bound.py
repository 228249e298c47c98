"""A bound on g(s0) in the program of a round, from what is bound already.

A state bound alone is worth no more than the best of its actions, a bound pair of
literals `top`, any other state what its range allows. In the stated runs some pair
attains the bound. Constraints are sorted by what they are over:

============  =================================================================
start         s0
clause        one clause state, as stated by the hard program
clauses       several clause states, after [solve]
variable      X_i, as stated
pair          both literals of a variable, half each, as stated
literals      literal states behind a clause: never stated
bottom        the state behind [quit] alone, as stated
mixed         anything else
============  =================================================================
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import Literal

from ...algorithms.mdp.planning import Distribution
from ..family.family import Family

Kind = Literal[
    "start", "clause", "clauses", "variable", "pair", "literals", "bottom", "mixed"
]


class StartBound:
    """Keeps the bound on g(s0) while constraints are added."""

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
        self.reach = family.layout.declaration.reach
        self._solved = self.reach * self.ranges.middle
        stated = family.distributions() if family.layout.n_sides else ()
        self._open = {_key(d) for d in stated}  # of `forced`, what is not bound yet

    def add(self, distribution: Distribution) -> None:
        """Bind a distribution: one state, or both literals of a variable."""
        layout, states = self.family.layout, distribution.states.tolist()
        if layout.n_sides:
            self._open.discard(_key(distribution))
            return
        match kind_of(self.family, distribution):
            case "start":
                self._start = True
            case "clause":
                self._bind_clause(states[0])
            case "variable":
                i = states[0] - layout.first_variable_state
                self._bind_variable(i, self._passes)
            case "pair":
                i = (states[0] - layout.first_literal_state) // 2
                self._bind_variable(i, self._pairs)

    def value(self) -> Fraction:
        """Greatest g(s0) that the ranges and the bound states leave possible."""
        family, ranges = self.family, self.ranges
        sides = family.layout.declaration.sides
        if sides:
            if self._open - {_key(family.distributions()[1])}:
                return ranges.start
            idle = (1 - self.reach) * sides.end
            high = family.solve_reward + self._solved + idle
            return high if self._open else family.parameters.best
        if not self._start:
            return ranges.start
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
        return min(self.ranges.middle, self.ranges.literal)

    def _bind_clause(self, state: int) -> None:
        if state in self._bound:
            return
        self._bound.add(state)
        family = self.family
        weight = 1 if family.weights is None else int(family.weights[state - 1])
        chance = self.reach * weight / family.total_weight
        self._solved -= chance * (self.ranges.middle - self._clause)

    def _bind_variable(self, i: int, what: list[bool]) -> None:
        before = self._worth(i)
        what[i] = True
        self._tried.subtract({before: 1})
        self._tried[self._worth(i)] += 1
        self._tried = +self._tried  # at most three values

    def _worth(self, i: int) -> Fraction:
        if not self._passes[i]:
            return self.ranges.middle
        return self.family.top / 2 if self._pairs[i] else self.ranges.literal


def _key(distribution: Distribution) -> tuple[tuple[int, Fraction], ...]:
    return tuple(distribution.probabilities().items())


def kind_of(family: Family, distribution: Distribution) -> Kind:
    """Sort a distribution by the states that it is over; see the module."""
    layout, states = family.layout, distribution.states.tolist()
    first = layout.first_literal_state
    last = first + 2 * family.n_variables - 1
    if states == [layout.start]:
        return "start"
    if all(1 <= s <= family.n_clauses for s in states):
        return "clause" if len(states) == 1 else "clauses"
    if len(states) == 1 and family.n_clauses < states[0] < first:
        return "variable"
    if all(s > last for s in states):
        return "bottom"
    if not all(first <= s <= last for s in states):
        return "mixed"
    half = all(p == Fraction(1, 2) for p in distribution.probabilities().values())
    twins = len(states) == 2 and states[1] == states[0] + 1
    if twins and half and (states[0] - first) % 2 == 0:
        return "pair"
    return "literals"
