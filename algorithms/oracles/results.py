"""What the oracles return: a function, what it achieves, and what that cost.

Every result says how close to optimal it is *known* to be: ``suboptimality``
and ``violation`` are certified bounds, rounding included, not estimates.
``honoured`` compares them with what was asked for. For tabular and finite
classes it is always true. Over linear policies, CSC is NP-hard, and a result
may fall short of what was asked, or be better than can be certified.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from fractions import Fraction

from olivine.algorithms.classes.protocols import Policy, ValueFunction


@dataclass(frozen=True)
class CscResult:
    """Result of cost-sensitive classification.

    Attributes
    ----------
    policy
        A policy of the class.
    cost
        Its average cost.
    suboptimality
        Certified bound on `cost` minus the least average cost in the class.
    epsilon_sub
        What was asked for.
    operations
        Basic operations done: multiply-adds and comparisons.
    exact_cost
        The average cost as a rational where it was computed exactly.
    """

    policy: Policy
    cost: float
    suboptimality: float
    epsilon_sub: float
    operations: int
    exact_cost: Fraction | None = None

    @property
    def honoured(self) -> bool:
        """Whether the suboptimality is certified to be as asked."""
        return self.suboptimality <= self.epsilon_sub


@dataclass(frozen=True)
class LeastSquaresResult:
    """Result of least-squares regression.

    Attributes
    ----------
    function
        A value function of the class.
    loss
        Its average squared loss.
    suboptimality
        Certified bound on `loss` minus the least average loss in the class.
    epsilon_sub
        What was asked for.
    operations
        Basic operations done.
    """

    function: ValueFunction
    loss: float
    suboptimality: float
    epsilon_sub: float
    operations: int

    @property
    def honoured(self) -> bool:
        """Whether the suboptimality is certified to be as asked."""
        return self.suboptimality <= self.epsilon_sub


class LpStatus(enum.Enum):
    """Whether a linear program over a class has a solution."""

    OPTIMAL = "optimal"
    INFEASIBLE = "infeasible"
    """No function of the class meets the constraints; proved."""


@dataclass(frozen=True)
class LpResult:
    """Result of a linear program over value functions.

    Attributes
    ----------
    status
        OPTIMAL, or INFEASIBLE as an answer of its own.
    function
        A value function of the class; None when infeasible.
    value
        The objective's value at it.
    suboptimality
        Certified bound on how far `value` is from the optimum over the
        functions that meet every constraint; 0 when infeasible.
    violation
        Certified bound on the largest violation of a constraint.
    epsilon_sub, epsilon_feas
        What was asked for.
    iterations
        Simplex or ellipsoid iterations, or members enumerated.
    operations
        Basic operations, where the method counts them, else None.
    exact
        Whether the answer was found and checked in rationals. Then
        `suboptimality` and `violation` are 0 for the function's ``exact``
        values, of which its float64 values are the rounding.
    exact_value
        `value` as a rational, when exact.
    """

    status: LpStatus
    function: ValueFunction | None
    value: float | None
    suboptimality: float
    violation: float
    epsilon_sub: float
    epsilon_feas: float
    iterations: int
    operations: int | None = None
    exact: bool = False
    exact_value: Fraction | None = None

    @property
    def feasible(self) -> bool:
        """Whether a function was found."""
        return self.status is LpStatus.OPTIMAL

    @property
    def honoured(self) -> bool:
        """Whether both accuracies are certified to be as asked."""
        return (
            self.suboptimality <= self.epsilon_sub
            and self.violation <= self.epsilon_feas
        )
