"""What the oracles are asked and return, and the rounding bounds behind that.

``suboptimality`` and ``violation`` are certified bounds, rounding included;
``honoured`` compares them with what was asked for, always true of tabular and finite
classes. A sum of k terms, each with a relative error of a few units, is within (k + 4)
u Σ|terms| of the truth, u = 2^-53 (Higham 2002, section 4.2; a factor 1.01 covers
higher orders); where that exceeds the accuracy asked for, sums are done in integers.
Linear programs have functionals Σ_i α_i g(x_i) of a value function.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csc_matrix

from ..classes.protocols import Observations, Policy, ValueFunction
from ..exact import OwnCodeError, calling, check_returned
from ..exact.arrays import END, check_observations, check_reals, frozen, object_array
from ..exact.data import EmpiricalMeasure, Field

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
        return object_array(numbers).reshape(values.shape), Fraction(1, denominator)
    mantissas, exponents = np.frexp(np.asarray(values, dtype=np.float64))
    whole = np.ldexp(mantissas, 53).astype(np.int64)
    nonzero = whole != 0
    least = int(exponents[nonzero].min()) if nonzero.any() else 53
    shifts = np.where(nonzero, exponents - least, 0)
    pairs = zip(whole.ravel().tolist(), shifts.ravel().tolist(), strict=True)
    numbers = [w << s for w, s in pairs]
    return object_array(numbers).reshape(values.shape), Fraction(2) ** (least - 53)


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


Number = int | float | Fraction


class Functional:
    """The functional g ↦ Σ_i α_i g(x_i), α (n,) finite reals or Fractions."""

    def __init__(
        self, observations: ArrayLike, coefficients: ArrayLike | Sequence[Fraction]
    ) -> None:
        self.observations: Observations = frozen(check_observations(observations))
        given = np.asarray(coefficients)
        shape = (len(self.observations),)
        self.coefficients = frozen(check_reals(given, "coefficients", shape))
        self._given: NDArray[Any] = (
            given if given.dtype == object else self.coefficients
        )
        self._rational: tuple[NDArray[Any], Fraction] | None = None

    @classmethod
    def expectation(
        cls, data: EmpiricalMeasure, *, field: Field = "observations"
    ) -> Functional:
        """E_D[g(x)], or E_D[g(x')], exactly; g is 0 where the episode ended."""
        column = getattr(data, field)
        if column is None:
            raise ValueError(f"{field}: this measure has none")
        kept: Any = slice(None) if column.ndim == 2 else column != END
        functional = cls(column[kept], data.probabilities[kept])
        integers = data.weights[kept].astype(object)
        functional._rational = (integers, Fraction(1, data.total_weight))
        return functional

    def __len__(self) -> int:
        return len(self.observations)

    def __call__(self, function: ValueFunction) -> float:
        """Value of the functional at a function."""
        return float(np.dot(self.coefficients, function(self.observations)))

    @property
    def size(self) -> float:
        """Σ_i |α_i|: the functional's largest value on functions into [-1, 1]."""
        return float(np.abs(self.coefficients).sum())

    @property
    def rational(self) -> tuple[NDArray[Any], Fraction]:
        """Coefficients as Python integers (object array) times a rational."""
        if self._rational is None:
            self._rational = scaled_integers(self._given)
        return self._rational

    def minus(self, other: Functional) -> Functional:
        """Subtract exactly; ValueError if one has codes, the other features."""
        if self.observations.shape[1:] != other.observations.shape[1:]:
            raise ValueError("functionals: observations differ in kind")
        points = np.concatenate([self.observations, other.observations])
        joined = Functional(
            points, np.concatenate([self.coefficients, -other.coefficients])
        )
        (a, unit_a), (b, unit_b) = self.rational, other.rational
        unit = Fraction(1, unit_a.denominator * unit_b.denominator)
        integers = np.concatenate([a * int(unit_a / unit), -b * int(unit_b / unit)])
        joined._rational = (integers, unit)
        return joined


@dataclass(frozen=True)
class Constraint:
    """The constraint ``lower <= functional(g) <= upper``."""

    functional: Functional  # The left-hand side
    # lower, upper: finite numbers, or None for no limit; at least one is given
    lower: Number | None = None
    upper: Number | None = None

    def __post_init__(self) -> None:
        if self.lower is None and self.upper is None:
            raise ValueError("constraint: neither a lower nor an upper limit")
        for name, limit in (("lower", self.lower), ("upper", self.upper)):
            if limit is not None and not np.isfinite(float(limit)):
                raise ValueError(f"{name}: {limit} is NaN or infinite")

    @classmethod
    def near(
        cls, functional: Functional, value: Number, tolerance: Number
    ) -> Constraint:
        """|functional(g) - value| ≤ tolerance; limits are rational, not rounded."""
        middle, radius = Fraction(value), Fraction(tolerance)
        return cls(functional, middle - radius, middle + radius)

    @property
    def interval(self) -> tuple[float, float]:
        """Limits as floats, infinite where there is none."""
        lower = -np.inf if self.lower is None else float(self.lower)
        upper = np.inf if self.upper is None else float(self.upper)
        return lower, upper


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


@dataclass(frozen=True)
class LpQuestion:
    """What a linear program over a class is asked, besides its constraints."""

    objective: Functional
    maximise: bool
    epsilon_sub: float  # Accuracies asked for, positive
    epsilon_feas: float
    exact: bool  # Answer in rationals whatever the accuracies are

    @property
    def sign(self) -> float:
        """1 to maximise, -1 to minimise."""
        return 1.0 if self.maximise else -1.0

    def optimum(
        self,
        function: ValueFunction,
        value: float | Fraction,
        iterations: int,
        suboptimality: float = 0.0,
        violation: float = 0.0,
        operations: int | None = None,
    ) -> LpResult:
        """Answer with a function; a Fraction as its value was found exactly."""
        return LpResult(
            LpStatus.OPTIMAL,
            function,
            float(value),
            suboptimality,
            violation,
            self.epsilon_sub,
            self.epsilon_feas,
            iterations,
            operations,
            isinstance(value, Fraction),
            value if isinstance(value, Fraction) else None,
        )

    def infeasible(self, iterations: int, *, exact: bool = False) -> LpResult:
        """Answer that no function of the class meets the constraints."""
        asked = self.epsilon_sub, self.epsilon_feas
        return LpResult.infeasible(*asked, iterations, exact=exact)


class _Answer(Protocol):
    @property
    def suboptimality(self) -> float:
        """Certified bound on the distance from the optimum."""


Answer = TypeVar("Answer", bound=_Answer)
Attained = tuple[float, NDArray[np.float64], NDArray[np.float64]]
_NEAR = 1e-9
_HERE = f"{__name__.partition('.')[0]}."


def answer_of(
    solver: Any,
    kind: type[Answer],
    asked: tuple[Any, ...],
    judge: Callable[[Answer], Attained],
    **options: Any,
) -> Answer:
    """Ask the solver of a class, the first of `asked`; judge a registered one.

    What that one raises is named with its place. `judge` gives the number that the
    answer reports, and the weights and terms of its function on the data; they must
    add up to it.
    """
    solve = solver.dispatch(type(asked[0]))
    if getattr(solve, "__module__", "").startswith(_HERE):
        return solve(*asked, **options)  # type: ignore[no-any-return]
    call = f"{solver.__name__}, registered for {type(asked[0]).__name__},"
    with calling(call):
        found: Answer = solve(*asked, **options)
    check_returned(call, found, kind)
    with calling(f"{call} returned {kind.__name__}, whose function"):
        reported, weights, terms = judge(found)
    attained = float(np.dot(weights, terms))
    scale = 1 + float(np.dot(np.abs(weights), np.abs(terms)))
    if not abs(reported - attained) <= _NEAR * scale:
        raise OwnCodeError(
            f"{call} reports {reported:.6g}, but the function that it returned attains "
            f"{attained:.6g} on the data"
        )
    if not found.suboptimality >= 0:
        raise OwnCodeError(
            f"{call} returned suboptimality {found.suboptimality}; expected a number "
            "of at least 0"
        )
    return found
