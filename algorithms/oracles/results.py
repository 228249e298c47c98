"""What the oracles return, how exact it is, and the rounding bounds behind that.

``suboptimality`` and ``violation`` are certified bounds, rounding included;
``honoured`` compares them with what was asked for, always true of tabular and finite
classes. A sum of k terms, each with a relative error of a few units, is within (k + 4)
u Σ|terms| of the truth, u = 2^-53 (Higham 2002, section 4.2; a factor 1.01 covers
higher orders); where that exceeds the accuracy asked for, sums are done in integers.
"""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_matrix

from ..classes.protocols import Observations, Policy, ValueFunction
from ..exact.data import EmpiricalMeasure

UNIT = 2.0**-53


def summation_bound(terms: int, magnitude: float) -> float:
    """Bound the error of a float64 sum of products of two rounded factors.

    `terms` is the most in one sum, `magnitude` bounds the sum of their absolute values.
    """
    return 1.01 * (terms + 4) * UNIT * magnitude


def check_accuracy(name: str, value: float) -> None:
    """Refuse an accuracy that is not positive and finite (ValueError)."""
    if not 0 < value < math.inf:
        raise ValueError(f"{name}: {value} is not positive and finite")


def scaled_integers(values: NDArray[Any]) -> tuple[NDArray[Any], Fraction]:
    """Finite floats, Fractions or integers as integers (object) times one rational."""
    if values.dtype == object:
        flat = [Fraction(v) for v in values.ravel().tolist()]
        denominator = math.lcm(*(v.denominator for v in flat))
        numbers = [int(v * denominator) for v in flat]
        return _shaped(numbers, values.shape), Fraction(1, denominator)
    mantissas, exponents = np.frexp(np.asarray(values, dtype=np.float64))
    whole = np.ldexp(mantissas, 53).astype(np.int64)
    nonzero = whole != 0
    least = int(exponents[nonzero].min()) if nonzero.any() else 53
    shifts = np.where(nonzero, exponents - least, 0)
    pairs = zip(whole.ravel().tolist(), shifts.ravel().tolist(), strict=True)
    numbers = [w << s for w, s in pairs]
    return _shaped(numbers, values.shape), Fraction(2) ** (least - 53)


def _shaped(numbers: list[int], shape: tuple[int, ...]) -> NDArray[Any]:
    array = np.empty(len(numbers), dtype=object)
    array[:] = numbers
    return array.reshape(shape)


def group_costs(
    groups: NDArray[np.int64], n_groups: int, data: EmpiricalMeasure, costs: Any
) -> NDArray[np.float64]:
    """Weighted sums of cost vectors by group: float64, shape (n_groups, K)."""
    n = len(data)
    # One column an observation: the product walks the data once, row by row.
    indicator = csc_matrix(
        (data.probabilities, groups, np.arange(n + 1)), shape=(n_groups, n)
    )
    totals: NDArray[np.float64] = indicator @ costs
    return totals


def group_costs_exactly(
    groups: NDArray[np.int64], n_groups: int, data: EmpiricalMeasure, costs: Any
) -> tuple[NDArray[Any], Fraction]:
    """As `group_costs`, as Python integers times the rational returned."""
    integers, scale = scaled_integers(costs)
    totals: NDArray[Any] = np.zeros((n_groups, costs.shape[1]), dtype=object)
    np.add.at(totals, groups, data.weights.astype(object)[:, None] * integers)
    return totals, scale / data.total_weight


def largest_group(groups: NDArray[np.int64]) -> int:
    """Size of the largest group."""
    return int(np.bincount(groups).max())


def magnitude(costs: NDArray[Any]) -> float:
    """Largest absolute cost."""
    return max(float(costs.max()), -float(costs.min()))


def support(data: EmpiricalMeasure) -> tuple[Observations, NDArray[np.int64]]:
    """Distinct observations, and each row's one; feature vectors are not compared."""
    if data.is_finite:
        distinct, groups = np.unique(data.observations, return_inverse=True)
        return distinct, groups.reshape(-1)
    return data.observations, np.arange(len(data))


class _Certified:
    suboptimality: float
    epsilon_sub: float

    @property
    def honoured(self) -> bool:
        return self.suboptimality <= self.epsilon_sub


@dataclass(frozen=True)
class CscResult(_Certified):
    """Result of cost-sensitive classification.

    Attributes
    ----------
    policy, cost
        A policy of the class and its average cost.
    suboptimality
        Certified bound on `cost` minus the least average cost in the class.
    epsilon_sub
        What was asked for.
    operations
        Multiply-adds and comparisons done.
    exact_cost
        The average cost as a rational where it was computed exactly.
    """

    policy: Policy
    cost: float
    suboptimality: float
    epsilon_sub: float
    operations: int
    exact_cost: Fraction | None = None


@dataclass(frozen=True)
class LeastSquaresResult(_Certified):
    """Result of least-squares regression.

    Attributes
    ----------
    function, loss
        A value function of the class and its average squared loss.
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
    function, value
        A value function and the objective there; None when infeasible.
    suboptimality
        Certified bound on the distance of `value` from the optimum; 0 when infeasible.
    violation
        Certified bound on the largest violation of a constraint.
    epsilon_sub, epsilon_feas
        What was asked for.
    iterations
        Simplex or ellipsoid iterations, or members enumerated.
    operations
        Basic operations, where the method counts them, else None.
    exact, exact_value
        Whether found and checked in rationals, and `value` there; then `suboptimality`
        and `violation` are 0 for the function's ``exact`` values.
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

    @classmethod
    def infeasible(
        cls, epsilon_sub: float, epsilon_feas: float, iterations: int, **more: Any
    ) -> Self:
        """Answer that no function of the class meets the constraints."""
        asked = epsilon_sub, epsilon_feas
        none = LpStatus.INFEASIBLE, None, None, 0.0, 0.0
        return cls(*none, *asked, iterations, **more)

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
