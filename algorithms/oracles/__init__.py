"""Optimisation oracles over function classes: what they are asked and return.

=================  ===========================================================
`csc`              cost-sensitive classification on policies; `csc_hard`
`least_squares`    regression on value functions
`lp`               linear programs on value functions; `ValueProgram`; the
                   two-sample test, sup_g |E_D[g] - E_D'[g]|
`multi`            classification on several data sets at once; mixtures
`ledger`           who called what, and operations counted; the guard for
                   algorithms
`testing`          property tests for oracles, yours too (docs/oracles.md)
=================  ===========================================================

``suboptimality`` and ``violation`` are certified bounds, rounding included;
``honoured`` compares them with what was asked for, always true of tabular and finite
classes. A sum of k terms, each with a relative error of a few units, is within (k + 4)
u Σ|terms| of the truth, u = 2^-53 (Higham 2002, section 4.2; a factor 1.01 covers
higher orders); where that exceeds the accuracy asked for, sums are done in integers.
Linear programs have functionals Σ_i α_i g(x_i) of a value function. Random problems,
and their optima in rationals without the oracles, are what these are judged by.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol, TypeVar

import numpy as np
import scipy  # loads scipy.sparse where it is first used
from numpy.typing import ArrayLike, NDArray

from ..classes.protocols import Observations, Policy, ValueFunction
from ..exact import OwnCodeError, calling, check_returned
from ..exact.arrays import (
    END,
    check_actions,
    check_observations,
    check_reals,
    frozen,
    object_array,
)
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
    indicator = scipy.sparse.csc_matrix(
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


@dataclass(frozen=True, eq=False)
class CscProblem:
    """Cost-sensitive classification over codes."""

    # n_observations, n_actions: |X| and K
    n_observations: int
    n_actions: int
    data: EmpiricalMeasure  # Observations below |X|, weighted
    costs: NDArray[np.float64]  # float64, shape (n, K)


@dataclass(frozen=True, eq=False)
class LeastSquaresProblem:
    """Least squares over codes."""

    n_observations: int  # |X|
    data: EmpiricalMeasure  # Observations below |X|, weighted
    targets: NDArray[np.float64]  # float64, shape (n,)


@dataclass(frozen=True)
class LpProblem:
    """A linear program over functions of codes."""

    n_observations: int  # |X|
    # objective, constraints, maximise: as for `olivine.algorithms.oracles.lp.lp`
    objective: Functional
    constraints: tuple[Constraint, ...]
    maximise: bool


def random_csc(
    rng: np.random.Generator, n: int, n_observations: int, n_actions: int
) -> CscProblem:
    """Draw observations uniformly, weights from 1 to 9, costs from [-1, 1]."""
    data = EmpiricalMeasure(
        rng.integers(0, n_observations, n), weights=rng.integers(1, 10, n)
    )
    costs = rng.uniform(-1, 1, (n, n_actions))
    return CscProblem(n_observations, n_actions, data, costs)


def random_least_squares(
    rng: np.random.Generator, n: int, n_observations: int
) -> LeastSquaresProblem:
    """Draw observations uniformly, weights from 1 to 9, targets from [-1/2, 3/2]."""
    data = EmpiricalMeasure(
        rng.integers(0, n_observations, n), weights=rng.integers(1, 10, n)
    )
    return LeastSquaresProblem(n_observations, data, rng.uniform(-0.5, 1.5, n))


def random_lp(
    rng: np.random.Generator, n_observations: int, n_constraints: int
) -> LpProblem:
    """Draw a program like VALOR's: |V - E_D[g]| ≤ 1/100 around a hidden g."""
    hidden = rng.random(n_observations)
    codes = np.arange(n_observations)

    def expectation() -> Functional:
        weights = rng.integers(1, 100, n_observations)
        return Functional.expectation(EmpiricalMeasure(codes, weights=weights))

    constraints = []
    for _ in range(n_constraints):
        functional = expectation()
        value = float(functional.coefficients @ hidden)
        constraints.append(Constraint.near(functional, value, 0.01))
    return LpProblem(n_observations, expectation(), tuple(constraints), True)


def fitted_exponent(sizes: Sequence[int], counts: Sequence[int]) -> float:
    """Slope of a least-squares line through log counts over log sizes."""
    slope: Any = np.polyfit(np.log(sizes), np.log(counts), 1)[0]
    return float(slope)


def exact_cost(
    policy: Policy, data: EmpiricalMeasure, costs: NDArray[Any] | Sequence[Any]
) -> Fraction:
    """Average cost in rationals; ValueError for an action beyond the costs."""
    table = np.asarray(costs)
    actions = check_actions(policy(data.observations), table.shape[1])
    picked = table[np.arange(len(data)), actions]
    return data.expectation_exact(picked)


def exact_loss(
    function: ValueFunction, data: EmpiricalMeasure, targets: NDArray[Any]
) -> Fraction:
    """Average squared loss in rationals, at the function's float values."""
    values = function(data.observations).tolist()
    pairs = zip(values, targets.tolist(), strict=True)
    return data.expectation_exact([(Fraction(g) - Fraction(v)) ** 2 for g, v in pairs])


def _keys(data: EmpiricalMeasure) -> list[Any]:
    """Give one hashable value for each row: a code, or its features."""
    rows = data.observations.tolist()
    return rows if data.is_finite else list(map(tuple, rows))


def least_cost(data: EmpiricalMeasure, costs: NDArray[Any]) -> Fraction:
    """Least average cost over all functions of the observations, in rationals."""
    totals: dict[Any, list[Fraction]] = {}
    rows = zip(_keys(data), data.weights.tolist(), costs.tolist(), strict=True)
    for code, weight, vector in rows:
        sums = totals.setdefault(code, [Fraction(0)] * len(vector))
        totals[code] = [
            s + weight * Fraction(c) for s, c in zip(sums, vector, strict=True)
        ]
    return sum(map(min, totals.values()), Fraction(0)) / data.total_weight


def least_loss(data: EmpiricalMeasure, targets: NDArray[Any]) -> Fraction:
    """Least average squared loss over all functions to [0, 1], in rationals."""
    groups: dict[Any, list[tuple[int, Fraction]]] = {}
    rows = zip(_keys(data), data.weights.tolist(), targets.tolist(), strict=True)
    for code, weight, target in rows:
        groups.setdefault(code, []).append((weight, Fraction(target)))
    total = Fraction(0)
    for pairs in groups.values():
        mass = sum(w for w, _ in pairs)
        if mass:
            mean = sum((w * v for w, v in pairs), Fraction(0)) / mass
            best = min(max(mean, Fraction(0)), Fraction(1))
            total += sum((w * (best - v) ** 2 for w, v in pairs), Fraction(0))
    return total / data.total_weight
