"""The run of OLIVE that leaves the hard program: what each round chooses.

The choices, made against OLIVE, collect exactly the constraints of its program over the
family and none over literals behind a clause; they depend on the formula alone. A
`Move` has the states that change against the round before and the level. In `paper`:

- round t = 1..m, *clause*: s0 takes [try C_t]; f(C_t, b) = 1 for every b; the
  clauses before it and all literals are 0. Level 2 binds {C_t}.
- round m + i, *literal*: s0 takes [try x_i], whose two literals are worth 1, the
  earlier pairs 1/2 each. Level 2 binds {x_i^0, x_i^1}.
- round m + n + 1, *start*: s0 takes [try x_1], all literals 1/2; level 1 binds s0.

With X_i before the pair level 3 binds the pair, and a *variable* round binds {X_i}. In
`all-levels` C_t is tried with [quit] and m + n rounds bind everything. Both literals of
a pair have one value, so all actions of a bound clause have the same backup and its
constraint holds whichever is taken (not so in the paper: docs/errata.md, 5).

In `strict` (Theorem T) and `forced` (Theorem R, docs/ties.md) any run comes to the same
program; this is one of them. `strict`: s0, then variables, clauses (each worth 2/5) and
pairs at the top, all else half of the top. `forced`: s0, each try and [rest], [solve].
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ...algorithms.mdp.planning import Pair
from ..family.family import Family
from ..family.layout import QUIT
from ..family.variants import Sides, Variant

Kind = Literal["clause", "literal", "variable", "side", "start"]


@dataclass(frozen=True)
class Setting:
    """What a round sets in one state."""

    action: int  # Local index of π(x), a greedy action of f
    value: Fraction  # g(x) = f(x, π(x))
    q: tuple[Fraction, ...] | None = None  # f(x, ·); None: 0 but for π(x)


@dataclass(frozen=True)
class Move:
    """What a round chooses."""

    kind: Kind  # what the round binds, with its index from 0
    index: int
    level: int  # The level chosen for its positive average Bellman error
    changes: Mapping[int, Setting]  # what differs from the round before
    stated: tuple[int, ...]  # constraints to add, of ``family.distributions()``


def n_rounds(family: Family) -> int:
    """Count the rounds of `schedule`: one a constraint, m + n in `all-levels`."""
    if family.layout.declaration.every_level:
        return family.n_clauses + family.n_variables
    return len(family.distributions())


def schedule(family: Family) -> Iterator[Move]:
    """Yield the moves of the run; all together change O(m + n) states."""
    if family.variant not in _SCHEDULES:
        raise ValueError(f"no run is stated for variant {family.variant}")
    return _SCHEDULES[family.variant](family).moves()


class _Schedule:
    def __init__(self, family: Family) -> None:
        self.family = family
        self.layout = family.layout
        self.declared = family.layout.declaration
        self.every_level = self.declared.every_level
        self.top = family.top
        n, m = family.n_variables, family.n_clauses
        self.pair_constraint, self.variable_constraint = 1 + m, 1 + m + n
        self.bottom_constraint = 1 + m + 2 * n
        self.pairs = [Fraction(0)] * n
        variables = np.abs(family.clauses) - 1
        self.variables = variables.tolist()
        order = np.argsort(variables.ravel(), kind="stable")
        bounds = np.searchsorted(variables.ravel()[order], np.arange(n + 1))
        clauses = order // 3
        self.clauses_of = [
            sorted(set(clauses[low:high].tolist())) for low, high in pairwise(bounds)
        ]

    def moves(self) -> Iterator[Move]:
        for j in range(self.family.n_clauses):
            yield self.clause_round(j)
        for i in range(self.family.n_variables):
            yield self.literal_round(i)
            if self.declared.variable_states and not self.every_level:
                yield self.variable_round(i)
        if not self.every_level:
            yield self.start_round()

    def clause_round(self, j: int) -> Move:
        changes = self.start(self.layout.try_clause(j))
        if j:
            changes |= self.bound_clause(j - 1)
        one = self.declared.ranges.middle
        state = self.layout.clause_state(j)
        stated = [1 + j]
        level = 2
        if self.every_level:
            changes[state] = Setting(QUIT, one)
            if j < 2:  # worth 1 in the first round, 0 from then on
                changes[self.layout.bottom_state] = Setting(0, Fraction(1 - j))
            if j == 0:
                stated = [0, 1, self.bottom_constraint]
                level = 3
        else:
            changes[state] = Setting(0, one, (one,) * 7)
        return Move("clause", j, level, changes, tuple(stated))

    def literal_round(self, i: int) -> Move:
        changes = self.start(self.layout.try_variable(i))
        if i == 0:
            changes |= self.bound_clause(self.family.n_clauses - 1)
            if self.every_level and self.family.n_clauses == 1:
                changes[self.layout.bottom_state] = Setting(0, Fraction(0))
        elif self.every_level or not self.declared.variable_states:
            changes |= self.set_pair(i - 1, self.top / 2)
        changes |= self.set_pair(i, self.top)
        stated = [self.pair_constraint + i]
        if self.declared.variable_states:
            changes |= self.set_variable(i, self.top)
            if i:
                changes |= self.set_variable(i - 1, self.top / 2)
        if self.every_level:
            stated.append(self.variable_constraint + i)
        return Move("literal", i, self.layout.literal_level, changes, tuple(stated))

    def variable_round(self, i: int) -> Move:
        changes = self.set_pair(i, self.top / 2)
        return Move("variable", i, 2, changes, (self.variable_constraint + i,))

    def start_round(self) -> Move:
        changes = self.start(self.layout.try_variable(0))
        last = self.family.n_variables - 1
        if not self.declared.variable_states:
            changes |= self.set_pair(last, self.top / 2)
        else:
            changes |= self.set_variable(last, self.top / 2)
        return Move("start", 0, 1, changes, (0,))

    def start(self, action: int, value: Fraction | None = None) -> dict[int, Setting]:
        """f(s0, ·) has a value, by default the most, at one action, 0 elsewhere."""
        value = self.declared.ranges.start if value is None else value
        return {self.layout.start: Setting(action, value)}

    def bound_clause(self, j: int) -> dict[int, Setting]:
        """Give a clause state, bound by its constraint, the mean of its pairs."""
        value = sum((self.pairs[v] for v in self.variables[j]), Fraction(0)) / 3
        q = [value] * 7
        if self.every_level:
            q.append(Fraction(0))  # [quit], to a bottom state worth 0 by now
        return {self.layout.clause_state(j): Setting(0, value, tuple(q))}

    def set_pair(self, i: int, value: Fraction) -> dict[int, Setting]:
        self.pairs[i] = value
        changes = {
            self.layout.literal_state(i, b): Setting(0, value, (value,)) for b in (0, 1)
        }
        for j in self.clauses_of[i]:
            changes |= self.bound_clause(j)
        return changes

    def set_variable(self, i: int, value: Fraction) -> dict[int, Setting]:
        return {self.layout.variable_state(i): Setting(0, value, (value,))}


class _StrictSchedule(_Schedule):
    def moves(self) -> Iterator[Move]:
        for i in range(self.family.n_variables):
            self.pairs[i] = self.top / 2
        yield self.first_round()
        for i in range(self.family.n_variables):
            yield self.unbound_variable_round(i)
        for j in range(self.family.n_clauses):
            yield self.unbound_clause_round(j)
        for i in range(self.family.n_variables):
            yield self.unbound_pair_round(i)

    @property
    def most(self) -> Fraction:
        return self.declared.ranges.middle

    def first_round(self) -> Move:
        changes = self.start(self.layout.try_variable(0))
        for i in range(self.family.n_variables):
            changes |= self.set_pair(i, self.top / 2)
            changes |= self.set_variable(i, self.top / 2)
        return Move("start", 0, 1, changes, (0,))

    def unbound_variable_round(self, i: int) -> Move:
        value = self.family.try_variable_reward + self.most
        changes = self.start(self.layout.try_variable(i), value)
        changes |= self.set_variable(i, self.most)
        if i:
            changes |= self.set_variable(i - 1, self.top / 2)
        return Move("variable", i, 2, changes, (self.variable_constraint + i,))

    def unbound_clause_round(self, j: int) -> Move:
        value = self.family.try_clause_reward + self.most
        changes = self.start(self.layout.try_clause(j), value)
        if j:
            changes |= self.bound_clause(j - 1)
        else:
            last = self.family.n_variables - 1
            changes |= self.set_variable(last, self.top / 2)
        state = self.layout.clause_state(j)
        changes[state] = Setting(0, self.most, (self.most,) * 7)
        return Move("clause", j, 2, changes, (1 + j,))

    def unbound_pair_round(self, i: int) -> Move:
        value = self.family.try_variable_reward + self.top
        changes = self.start(self.layout.try_variable(i), value)
        if i:
            changes |= self.set_pair(i - 1, self.top / 2)
            changes |= self.set_variable(i - 1, self.top / 2)
        else:
            changes |= self.bound_clause(self.family.n_clauses - 1)
        changes |= self.set_pair(i, self.top)
        changes |= self.set_variable(i, self.top)
        return Move("literal", i, 3, changes, (self.pair_constraint + i,))


class _ForcedSchedule(_Schedule):
    """A run in `forced`: s0, then each try and [rest] by levels, [solve] last.

    Values are 0 but on the way of s0's action; what is bound has that of `_settled`.
    """

    def moves(self) -> Iterator[Move]:
        layout = self.layout
        rest, tries = layout.solve + 1, range(layout.solve)
        everything = self._settled(range(layout.n_states))
        yield Move("start", 0, 1, everything | self.start(0), (0,))
        # Constraints: s0, S; then behind each try and [rest] level 2, level 3.
        before: dict[int, Setting] = {}
        for index, action in enumerate([*tries, rest]):
            kind: Kind = "literal" if action < self.family.n_variables else "side"
            middle, ends = self._behind(action)
            high = self.start(action) | self._set([middle], self._most(action))
            yield Move(kind, index, 2, before | high, (2 + index,))
            raised = self._set(ends, self._most(action))
            yield Move(kind, index, 3, raised, (3 + layout.solve + index,))
            before = self._settled([middle, *ends])
        value = self._solved()
        clauses = range(1, 1 + self.family.n_clauses)
        high = self._set(clauses, self.declared.ranges.middle)
        start = self.start(layout.solve, value)
        yield Move("start", 0, 2, before | high | start, (1,))

    def _most(self, action: int) -> Fraction:
        """Value of what an action of s0 leads to where g(s0) is the most there is."""
        rest = action > self.layout.solve
        return self.declared.ranges.start - (self._sides.rest if rest else 0)

    def _solved(self) -> Fraction:
        reach = self.declared.reach
        most = reach * self.declared.ranges.middle + (1 - reach) * self._sides.end
        return self.family.solve_reward + most

    @property
    def _sides(self) -> Sides:
        sides = self.declared.sides
        assert sides is not None  # for the variant that has them
        return sides

    def _behind(self, action: int) -> tuple[int, list[int]]:
        layout, n, k = self.layout, self.family.n_variables, self.layout.n_sides
        if action < n:
            pair = [layout.literal_state(action, b) for b in (0, 1)]
            spare = layout.first_spare_state + action
            return layout.variable_state(action), [*pair, spare]
        if action < layout.solve:
            side = layout.first_side_state + action - n
            return side - k, [side, side + k]
        return layout.bottom_state + 1, [layout.bottom_state]

    def _set(self, states: Iterable[int], value: Fraction) -> dict[int, Setting]:
        return {state: Setting(0, value) for state in states}

    def _settled(self, states: Iterable[int]) -> dict[int, Setting]:
        """Values that meet all equations: no spare state is worth anything."""
        layout, k, sides = self.layout, self.layout.n_sides, self._sides
        first, side = layout.first_side_state, sides.reward + sides.beside * self.top
        found: dict[int, Setting] = {}
        for state in states:
            value = Fraction(0)
            if layout.first_variable_state <= state < layout.first_literal_state:
                value = self.top / 4
            elif layout.first_literal_state <= state < layout.bottom_state:
                value = self.top / 2
            elif layout.bottom_state <= state < layout.first_spare_state:
                value = sides.end
            elif first - k <= state < first:
                value = side / 2
            elif first <= state < first + k:
                value = side
            found |= self._set([state], value)
        return found


_SCHEDULES = {
    Variant.PAPER: _Schedule,
    Variant.NORMALIZED: _Schedule,
    Variant.GAP: _Schedule,
    Variant.ALL_LEVELS: _Schedule,
    Variant.STRICT: _StrictSchedule,
    Variant.FORCED: _ForcedSchedule,
}


@dataclass(frozen=True, eq=False)
class QFunction:
    """The Q-function of a round in full, with its greedy policy."""

    values: tuple[Fraction, ...]  # f of every action; 0 where left free
    policy: NDArray[np.int32]  # local action of each state

    def pair(self, family: Family) -> Pair:
        """Induce (g, π): g(x) = f(x, π(x))."""
        actions = family.mdp().global_actions(self.policy)
        return Pair.from_fractions((self.values[a] for a in actions), self.policy)


def q_functions(family: Family) -> Iterator[tuple[Move, QFunction]]:
    """Each round's move with its whole Q-function, in time of the number of actions."""
    mdp = family.mdp()
    values = [Fraction(0)] * mdp.n_actions
    policy = np.zeros(mdp.n_states, dtype=np.int32)
    for move in schedule(family):
        for state, setting in move.changes.items():
            actions = mdp.actions(state)
            q = setting.q
            if q is None:
                row = [Fraction(0)] * len(actions)
                row[setting.action] = setting.value
                q = tuple(row)
            values[actions.start : actions.stop] = q
            policy[state] = setting.action
        yield move, QFunction(tuple(values), policy.copy())
