"""What the oracles return, how exact it is, and the rounding bounds behind that.

Every result says how close to optimal it is *known* to be: ``suboptimality``
and ``violation`` are certified bounds, rounding included, not estimates.
``honoured`` compares them with what was asked for. For tabular and finite
classes it is always true. Over linear policies, CSC is NP-hard, and a result
may fall short of what was asked, or be better than can be certified.

In float64 rounding is bounded a priori; where the bound exceeds the accuracy asked
for, the sums are done over, in integers. The bound: a sum of k terms each with a
relative error of a few units is within (k + 4) u Σ|terms| of the truth, u = 2^-53
(Higham 2002, section 4.2; the factor 1.01 covers higher orders for k up to 10^13).
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
    """Bound the error of a float64 sum.

    Parameters
    ----------
    terms
        Largest number of terms in one sum; each term may be a product of two
        rounded factors.
    magnitude
        Bound on the sum of the terms' absolute values.
    """
    return 1.01 * (terms + 4) * UNIT * magnitude


def check_accuracy(name: str, value: float) -> None:
    """Refuse an accuracy that is not positive and finite (ValueError)."""
    if not 0 < value < math.inf:
        raise ValueError(f"{name}: {value} is not positive and finite")


def scaled_integers(values: NDArray[Any]) -> tuple[NDArray[Any], Fraction]:
    """Write an array as integers times one positive rational, exactly.

    Parameters
    ----------
    values
        Finite floats, or Fractions and integers (object array); any shape.

    Returns
    -------
    integers, scale
        Object array of Python integers of the same shape; values = integers ·
        scale.
    """
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
    """Distinct observations, and the index of each row's one.

    Feature vectors are not compared: every row is its own observation.
    """
    if data.is_finite:
        distinct, groups = np.unique(data.observations, return_inverse=True)
        return distinct, groups.reshape(-1)
    return data.observations, np.arange(len(data))


class _Certified:
    """A result with a certified bound on its suboptimality."""

    suboptimality: float
    epsilon_sub: float

    @property
    def honoured(self) -> bool:
        """Whether the suboptimality is certified to be as asked."""
        return self.suboptimality <= self.epsilon_sub


@dataclass(frozen=True)
class CscResult(_Certified):
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


@dataclass(frozen=True)
class LeastSquaresResult(_Certified):
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
