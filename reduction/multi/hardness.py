"""3-SAT as multi-data-set classification: why one policy is too much to ask.

Definition "multi data set classification oracle" (paper, appendix "Additional oracles")
asks for one policy of Π within U_j + ε_feas on every data set. Observations are the
variables, actions the truth values: a policy is an assignment. Clause j is a data set
of its three literals, each an example of its variable, cost 1 for the value that
falsifies it, and U_j = 2/3: feasible, for any ε_feas < 1/3, exactly if the formula is
satisfiable. So it cannot be done by polynomially many CSC calls unless P = NP
(docs/errata.md, 7). Any policy and its complement, half each, cost 1/2 on every data
set, so the mixture form answers "feasible" on all formulas.

>>> from olivine.reduction.formula.formula import Formula
>>> instance = MultiInstance(Formula.from_clauses([[1, 2], [-1]]).three_sat())
>>> found = instance.solve("deterministic")
>>> instance.assignment(found.policy.members[0]).tolist()
[False, True]
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...algorithms.classes.finite import TabularPolicy, TabularPolicyClass
from ...algorithms.classes.protocols import Policy
from ...algorithms.exact.data import EmpiricalMeasure
from ...algorithms.oracles.multi import ClassificationSet, Method, MultiResult, multi
from ..formula.formula import ThreeSat, checked_assignment, literal_truth

LIMIT = Fraction(2, 3)
"""U_j."""

LARGEST_TOLERANCE = Fraction(1, 3)
"""The reduction holds for every ε_feas below this."""

TOLERANCE = 0.25


@dataclass(frozen=True)
class MultiSizes:
    """Size of an instance."""

    data_sets: int
    examples: int  # rows of all data sets together
    observations: int
    actions: int


def _data_set(clause: NDArray[np.int32]) -> ClassificationSet:
    """Build the data set of a clause; costs in rationals, so that it is exact."""
    # Action 0, false, falsifies a positive literal.
    falsified = np.stack([clause > 0, clause < 0], axis=1)
    costs = falsified * np.array(Fraction(1), dtype=object)
    variables = np.abs(clause).astype(np.int64) - 1
    return ClassificationSet(EmpiricalMeasure(variables), costs, LIMIT)


@dataclass(frozen=True, eq=False)
class MultiInstance:
    """The multi-data-set problem of a 3-SAT formula."""

    three_sat: ThreeSat  # The formula. Weights are not looked at.

    @property
    def policy_class(self) -> TabularPolicyClass:
        """All assignments: X = {0..n-1}, action 1 for true."""
        return TabularPolicyClass(self.three_sat.n_variables, 2)

    @cached_property
    def sets(self) -> tuple[ClassificationSet, ...]:
        """The instance forward: a data set for each clause."""
        return tuple(map(_data_set, self.three_sat.clauses))

    def policy(self, assignment: ArrayLike) -> TabularPolicy:
        """Certificate forward: an assignment (booleans, shape (n,)) as a policy."""
        values = checked_assignment(assignment, self.three_sat.n_variables)
        return TabularPolicy(values.astype(np.int64))

    def assignment(self, policy: Policy) -> NDArray[np.bool_]:
        """Certificate back: a deterministic policy, whoever found it."""
        values: NDArray[np.bool_] = policy(np.arange(self.three_sat.n_variables)) == 1
        return values

    def violation(self, policy: Policy) -> Fraction:
        """Largest excess over a limit, at least 0: 0 or 1/3."""
        truth = literal_truth(self.three_sat.clauses, self.assignment(policy))
        most = int((3 - truth.sum(axis=1)).max())
        return max(Fraction(most, 3) - LIMIT, Fraction(0))

    def solve(
        self,
        method: Method,
        *,
        epsilon_feas: float = TOLERANCE,
        time_limit: float | None = None,
    ) -> MultiResult:
        """Ask the oracle."""
        if not 0 < epsilon_feas < LARGEST_TOLERANCE:
            raise ValueError(f"epsilon_feas: {epsilon_feas} is not in (0, 1/3)")
        return multi(
            self.policy_class,
            self.sets,
            epsilon_feas=epsilon_feas,
            method=method,
            time_limit=time_limit,
        )

    def declared_sizes(self) -> MultiSizes:
        """Size as a function of n and m."""
        m = self.three_sat.n_clauses
        return MultiSizes(m, 3 * m, self.three_sat.n_variables, 2)

    def measured_sizes(self) -> MultiSizes:
        """Size counted in the data sets."""
        return MultiSizes(
            len(self.sets),
            sum(len(item.data) for item in self.sets),
            self.policy_class.n_observations,
            self.policy_class.n_actions,
        )
