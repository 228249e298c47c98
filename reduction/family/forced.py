"""A family on which every run of OLIVE that binds all levels meets the hard program.

It is `strict` without [try C_j], and with two changes:

- [solve] pays nothing and leads to a uniform (or weighted) clause state;
- each of the seven actions of C_j is there three times. Each copy leads with
  probability 1/2 to the literals of the action, 1/6 each, and with 1/2 to a side state
  of its own. A side state pays `TOP`, and g may be anything up to twice that there.

A round that goes through a clause binds an equation over literals *and* side states,
which the side states can meet whatever the literals are worth. At most two such rounds
come before the hard program, so of three copies one stays free (docs/ties.md).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...algorithms.mdp.bellman import Pair
from ...algorithms.mdp.distributions import Distribution
from ...algorithms.mdp.tabular import TabularMDP
from ...algorithms.olive_program.program import OliveProgram
from .family import as_assignment
from .layout import CLAUSE_BITS

if TYPE_CHECKING:
    from ...algorithms.mdp.tabular import StateData
    from ..formula.formula import ThreeSat

TOP = Fraction(1, 10)
"""Reward of the rewarding literal of a pair, and of each side state."""
TRY = Fraction(7, 100)
"""Reward of [try x_i]."""
MIDDLE = Fraction(2, 5)
"""Upper end of the range of g at C_j and X_i."""
COPIES = 3
"""Copies of each clause action: one more than rounds that can go through a clause."""


class ForcedFamily:
    """The MDPs M_y of one formula.

    States, in order: s0; C_1..C_m; X_1..X_n; x_1^0, x_1^1, x_2^0, ...; a side
    state for each action of each clause. Actions of s0: [try x_1]..[try x_n], [solve].
    """

    def __init__(self, three_sat: ThreeSat, copies: int = COPIES) -> None:
        if copies < 1:
            raise ValueError(f"copies must be at least 1, got {copies}")
        self._actions = [
            f"{v:03b}.{k}" for v in range(1, 8) for k in range(1, copies + 1)
        ]
        self._n_copies = copies
        self.clauses: list[list[int]] = np.asarray(three_sat.clauses).tolist()
        self.n_variables, self.n_clauses = three_sat.n_variables, len(self.clauses)
        weights = three_sat.weights
        self.weights = [1] * self.n_clauses if weights is None else weights.tolist()
        self.total_weight = sum(self.weights)
        self.solve = self.n_variables
        """Local index of [solve] at s0."""
        self._first_literal = 1 + self.n_clauses + self.n_variables
        self._first_side = self._first_literal + 2 * self.n_variables

    def mdp(self, y: ArrayLike | None = None) -> TabularMDP:
        """Build the member M_y; None is the all-zero one."""
        n, m = self.n_variables, self.n_clauses
        member = as_assignment([0] * n if y is None else y, n)
        solved = {
            f"C{j + 1}": Fraction(w, self.total_weight)
            for j, w in enumerate(self.weights)
        }
        tries = [(f"[try x{i + 1}]", TRY, {f"X{i + 1}": 1}) for i in range(n)]
        states: list[StateData] = [("s0", 1, [*tries, ("[solve]", 0, solved)])]
        states += [self._clause(j) for j in range(m)]
        for i in range(1, n + 1):
            pair = {f"x{i}^{b}": Fraction(1, 2) for b in (0, 1)}
            states.append((f"X{i}", 2, [("[go]", 0, pair)]))
        for i, bit in enumerate(member, 1):
            states += [
                (f"x{i}^{b}", 3, [("[go]", TOP if b == bit else 0, {})]) for b in (0, 1)
            ]
        states += [
            (f"C{j + 1}.{name}", 3, [("[go]", TOP, {})])
            for j in range(m)
            for name in self._actions
        ]
        return TabularMDP.from_lists(states)

    def ranges(self) -> tuple[Fraction, ...]:
        """Upper ends of the ranges of g, state by state; the lower ends are 0."""
        n, m = self.n_variables, self.n_clauses
        sides = [2 * TOP] * (m * len(self._actions))
        return (Fraction(1), *[MIDDLE] * (m + n), *[TOP] * (2 * n), *sides)

    def distributions(self) -> tuple[Distribution, ...]:
        """Give the hard program's: {s0}; the clauses behind [solve]; {X_i}; pairs."""
        n, m = self.n_variables, self.n_clauses
        solved = {
            1 + j: Fraction(w, self.total_weight) for j, w in enumerate(self.weights)
        }
        half = Fraction(1, 2)
        first = self._first_literal
        pairs = [{s: half, s + 1: half} for s in range(first, first + 2 * n, 2)]
        return (
            Distribution.from_fractions({0: 1}, 1),
            Distribution.from_fractions(solved, 2),
            *(Distribution.from_fractions({1 + m + i: 1}, 2) for i in range(n)),
            *(Distribution.from_fractions(pair, 3) for pair in pairs),
        )

    def program(self) -> OliveProgram:
        """Build the hard program: φ = 0, written with the all-zero member."""
        return OliveProgram(self.mdp(), self.distributions(), upper=self.ranges())

    def optimum(self, unsatisfied: int) -> Fraction:
        """Optimum of the hard program, by the least weight of unsatisfied clauses."""
        lost = Fraction(unsatisfied, 6 * self.total_weight)
        return TOP + TOP / 2 - TOP * lost

    def side_states(self) -> range:
        """Side states, clause by clause."""
        first = self._first_side
        return range(first, first + self.n_clauses * len(self._actions))

    def copies(self) -> list[range]:
        """Local indices at a clause state of the copies of each of seven actions."""
        size = self._n_copies
        return [range(k, k + size) for k in range(0, 7 * size, size)]

    def side_state(self, j: int, action: int) -> int:
        """Side state of a local action of C_{j+1}."""
        return self._first_side + j * len(self._actions) + action

    def witness(
        self,
        assignment: ArrayLike,
        visited: Collection[int] = (),
        y: ArrayLike | None = None,
    ) -> Pair:
        """Give a pair of the value that an assignment reaches.

        It meets the hard program, and at level 3 the equation of each roll-in through
        clauses whose side states are among those visited.
        """
        n, m, mdp = self.n_variables, self.n_clauses, self.mdp(y)
        truth = as_assignment(assignment, n)
        values = [Fraction(0)] * mdp.n_states
        policy = np.zeros(mdp.n_states, dtype=np.int32)
        for i, bit in enumerate(truth):
            values[self._first_literal + 2 * i + int(bit)] = TOP
            values[1 + m + i] = TOP / 2
        taken, policy[0] = set(visited), self.solve
        for j, weight in enumerate(self.weights):
            best, action = self._best(mdp, values, j, taken)
            values[1 + j], policy[1 + j] = best + TOP, action
            values[0] += Fraction(weight, self.total_weight) * values[1 + j]
        for state in self.side_states():
            values[state] = 2 * TOP
        for state in taken:
            j, action = divmod(state - self._first_side, len(self._actions))
            errors = (
                p * (mdp.reward(mdp.actions(s)[0]) - values[s])
                for s, p in mdp.successors(mdp.actions(1 + j)[action])
                if s < self._first_side
            )
            values[state] = TOP + 2 * sum(errors, Fraction())
        return Pair.from_fractions(values, policy)

    def _best(
        self, mdp: TabularMDP, values: list[Fraction], j: int, taken: set[int]
    ) -> tuple[Fraction, int]:
        """Best part of the literals' values at C_{j+1}, with a free copy's index."""
        found = []
        for copies in self.copies():
            free = [k for k in copies if self.side_state(j, k) not in taken]
            if not free:
                raise ValueError(f"no free copy of an action of C{j + 1}")
            successors = mdp.successors(mdp.actions(1 + j)[free[0]])
            ahead = (p * values[s] for s, p in successors if s < self._first_side)
            found.append((sum(ahead, Fraction()), -free[0]))
        best, action = max(found)
        return best, -action

    def _clause(self, j: int) -> StateData:
        actions: list[tuple[str, int, dict[str, Fraction]]] = []
        for k, name in enumerate(self._actions):
            chances: defaultdict[str, Fraction] = defaultdict(Fraction)
            chances[f"C{j + 1}.{name}"] = Fraction(1, 2)
            bits: NDArray[np.int8] = CLAUSE_BITS[k // self._n_copies]
            for literal, bit in zip(self.clauses[j], bits, strict=True):
                true = int(bit) if literal > 0 else 1 - int(bit)
                chances[f"x{abs(literal)}^{true}"] += Fraction(1, 6)
            actions.append((name, 0, dict(chances)))
        return (f"C{j + 1}", 2, actions)
