"""OLIVE's hard step with deterministic hidden dynamics: the setting of VALOR.

Each action leads from a hidden state to one hidden state, but a hidden state is seen as
one of several observations. A policy that acts by what it sees so rolls in to a mixture
of hidden states, and that is all that the hardness needs (docs/complexity.md, V). Of a
formula in 3-SAT form with n variables, m clauses and total weight W:

- level 1: s0, one observation; [solve] leads to S and [try x_i] to T_i;
- level 2: S is seen as C_j with probability w_j/W. Action l, one of the 2n literals,
  leads to the state of l, and pays ρ = 7/32 if l is in clause j, else nothing. T_i is
  seen as t_i^0 or t_i^1, each half of the time; bit b leads to x_i^b, and pays β = 1/4
  at t_i^b, else nothing;
- level 3: the state x_i^b, one observation, pays c = 1/8 in the member M_y if y_i = b.

>>> hidden = HiddenFamily(Formula.from_clauses([[1, 2], [-1, -2]]))
>>> hidden.optimum(0), hidden.environment([True, False]).truth.optimal_value
(Fraction(11, 32), Fraction(11, 32))
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..algorithms.environments import State, from_lists
from ..algorithms.environments.finite import FiniteEnvironment
from ..algorithms.mdp.planning import Distribution, Pair
from ..algorithms.mdp.tabular import TabularMDP
from ..algorithms.olive_program.program import OliveProgram
from .formula.formula import Formula, checked_assignment

LITERAL, CLAUSE, PAIR = Fraction(1, 8), Fraction(7, 32), Fraction(1, 4)
"""c, ρ and β: what a literal's state, a literal of the clause and the right bit pay."""
BEST = CLAUSE + LITERAL
"""Optimum of OLIVE's program for satisfiable formulas, 11/32."""
_HALF = Fraction(1, 2)
_MOST = 2**31 - 1


class HiddenFamily:
    """The MDPs of a formula with deterministic hidden dynamics, and OLIVE's program.

    Parameters
    ----------
    formula
        Without hard clauses; its 3-SAT form is used.

    Raises
    ------
    ValueError
        For a hard clause, or weights that add up to more than 2³¹ − 1.

    Attributes
    ----------
    three_sat
        That form; members have a truth value for each of its variables.
    total_weight
        W, or m without weights.
    """

    def __init__(self, formula: Formula) -> None:
        self.three_sat = formula.three_sat()
        self._clauses: list[list[int]] = self.three_sat.clauses.tolist()
        weights = self.three_sat.weights
        m = len(self._clauses)
        self._weights = [1] * m if weights is None else weights.tolist()
        self.total_weight: int = self.three_sat.total_weight
        if self.total_weight > _MOST:
            raise ValueError(
                f"the clause weights of the 3-SAT form add up to {self.total_weight}; "
                f"probabilities hold at most {_MOST}"
            )
        n = self.three_sat.n_variables
        self._literals = [f"x{i}^{b}" for i in range(1, n + 1) for b in (0, 1)]

    def environment(self, y: ArrayLike) -> FiniteEnvironment:
        """Make the member M_y, for `y` of n booleans, as algorithms play it."""
        return from_lists(self._levels(y), "threesat-hidden")

    def mdp(self, y: ArrayLike) -> TabularMDP:
        """Make the member M_y as an MDP whose states are the observations.

        Of the actions of an observation that lead to the same state one is kept.
        """
        levels = self._levels(y)
        seen = {state: law for level in levels for state, law, _, _ in level}
        observed = []
        for h, level in enumerate(levels, 1):
            for _, law, rewards, targets in level:
                for x in law:
                    ways = zip(map(str, targets or ("end",)), rewards[x], strict=False)
                    actions = {
                        way: (way, reward, seen.get(way, {})) for way, reward in ways
                    }
                    observed.append((x, h, list(actions.values())))
        return TabularMDP.from_lists(observed)  # type: ignore[arg-type]

    def _levels(self, y: ArrayLike) -> list[list[State]]:
        bits = checked_assignment(y, self.three_sat.n_variables).tolist()
        n, literals = len(bits), self._literals
        nothing = [Fraction(0)] * 2 * n
        first = ["S", *(f"T{i}" for i in range(1, n + 1)), *["S"] * (n - 1)]
        law, rewards = {}, {}
        for j, clause in enumerate(self._clauses, 1):
            law[f"C{j}"] = Fraction(self._weights[j - 1], self.total_weight)
            own = {_place(literal) for literal in clause}
            rewards[f"C{j}"] = [CLAUSE * (a in own) for a in range(2 * n)]
        second: list[State] = [("S", law, rewards, literals)]
        for i in range(1, n + 1):
            pair = {f"t{i}^{b}": _HALF for b in (0, 1)}
            paid = {f"t{i}^{b}": [PAIR * (1 - b), PAIR * b] * n for b in (0, 1)}
            second.append((f"T{i}", pair, paid, literals[2 * i - 2 : 2 * i] * n))
        third: list[State] = [
            (x, {x: 1}, {x: [LITERAL * (a % 2 == bits[a // 2])] * 2 * n}, [])
            for a, x in enumerate(literals)
        ]
        return [[("s0", {"s0": 1}, {"s0": nothing}, first)], second, third]

    def ranges(self) -> list[Fraction]:
        """Upper ends of the range of g at each state of `mdp`: 1, at level 3 c."""
        levels = self._any.state_level.tolist()
        return [LITERAL if level == 3 else Fraction(1) for level in levels]

    def distributions(self) -> list[Distribution]:
        """List what the hard program binds: s0, S, the T_i, the pairs of literals."""
        place = {name: s for s, name in enumerate(self._any.state_names)}
        law = dict(self._any.successors(0))  # of [solve]
        laws: list[tuple[dict[int, Fraction], int]] = [({0: Fraction(1)}, 1), (law, 2)]
        for letter, level in (("t", 2), ("x", 3)):
            for i in range(1, self.three_sat.n_variables + 1):
                pair = {place[f"{letter}{i}^{b}"]: _HALF for b in (0, 1)}
                laws.append((pair, level))
        return [Distribution.from_fractions(*each) for each in laws]

    @cached_property
    def _any(self) -> TabularMDP:
        return self.mdp(np.zeros(self.three_sat.n_variables, dtype=np.bool_))

    def program(self) -> OliveProgram:
        """Return OLIVE's program with these constraints, the same for all members."""
        return OliveProgram(self._any, self.distributions(), upper=self.ranges())

    def optimum(self, unsatisfied: int) -> Fraction:
        """Return the program's optimum, 11/32 − min(u/W, 1/4)/8.

        `unsatisfied`: u, the least weight of clauses that an assignment falsifies.
        """
        share = Fraction(unsatisfied, self.total_weight)
        return BEST - LITERAL * min(share, Fraction(1, 4))

    def forward(self, assignment: ArrayLike) -> Pair:
        """Return the pair of an assignment; its value is ρ + c(1 − u/W), u its own."""
        bits = checked_assignment(assignment, self.three_sat.n_variables).tolist()
        policy = [0]
        for clause in self._clauses:
            own = list(map(_place, clause))
            true = [a for a in own if a % 2 == bits[a // 2]]
            policy.append((true or own)[0])
        n = len(bits)
        return self.mdp(bits).evaluate([*policy, *[0, 1] * n, *[0] * 2 * n])

    def back(self, pair: Pair) -> NDArray[np.bool_]:
        """Return an assignment that is worth as much, of a pair that [solve]s.

        For fixed literals of the clauses a pair's value is affine in g: each variable
        takes the value that more weight of clauses has chosen.
        """
        votes = np.zeros(self.three_sat.n_variables, dtype=object)
        chosen: Sequence[int] = pair.policy[1 : len(self._clauses) + 1].tolist()
        for a, clause, weight in zip(chosen, self._clauses, self._weights, strict=True):
            if a in map(_place, clause):  # any other literal is worth less than ρ
                votes[a // 2] += weight if a % 2 else -weight
        return np.array(votes > 0, dtype=np.bool_)


def _place(literal: int) -> int:
    """Give the number of the action that leads to a literal's state."""
    return 2 * (abs(literal) - 1) + (literal > 0)
