"""Linear programs over value classes: question, result; tabular and linear classes.

HiGHS proposes a point and multipliers in float64. The violation is recomputed here, and
weak duality over the box bounds the optimum, rounding included,

    max c·z  ≤  Σ_i y_i b_i + Σ_j max over the box of (c - Aᵀy)_j z_j,

with y_i ≥ 0 at upper limits and ≤ 0 at lower ones; a negative bound for c = 0 proves
infeasibility. Where a certificate misses what was asked, rationals decide.
"""

import enum
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, hstack, vstack

from ...solvers.lp import LpSession
from ...solvers.lp.highs import ArrayLp
from ...solvers.model import LinearModel
from ...solvers.outcome import Status
from ..classes.features import FeatureMap, LinearValue, LinearValueClass
from ..classes.finite import TabularValue, TabularValueClass
from ..classes.protocols import ValueFunction
from . import Constraint, Functional, summation_bound


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
        return LpResult.infeasible(
            self.epsilon_sub, self.epsilon_feas, iterations, exact=exact
        )


ExactRow = tuple[list[int], list[Fraction]]  # indices and coefficients of a row over z


class TabularForm:
    """Values in [0, 1] at codes: z is the table."""

    def __init__(self, value_class: TabularValueClass) -> None:
        self._size = value_class.n_observations
        self.lower = np.zeros(self._size)
        self.upper = np.ones(self._size)

    def rows(self, functionals: Sequence[Functional]) -> csr_matrix:
        """Coefficients at the codes, repeated ones added up."""
        none = np.zeros(0)
        codes = [none.astype(np.int64), *(f.observations for f in functionals)]
        data = np.concatenate([none, *(f.coefficients for f in functionals)])
        pointers = np.cumsum([0, *map(len, functionals)])
        entries = data, np.concatenate(codes), pointers
        matrix = csr_matrix(entries, shape=(len(functionals), self._size))
        matrix.sum_duplicates()
        return matrix

    def exact_row(self, functional: Functional) -> ExactRow:
        """Coefficients at the codes, in rationals."""
        integers, unit = functional.rational
        return functional.observations.tolist(), [i * unit for i in integers.tolist()]

    def range_rows(self, functionals: Sequence[Functional]) -> csr_matrix:
        """None: the box is the range."""
        return csr_matrix((0, self._size))

    def exact_range_rows(self) -> list[ExactRow]:
        """None: the box is the range."""
        return []

    def member(self, z: NDArray[np.float64]) -> TabularValue:
        """Return the table."""
        return TabularValue(z)

    def exact_member(self, z: Sequence[Fraction]) -> TabularValue:
        """Return the table, exact."""
        return TabularValue.from_fractions(z)


class LinearForm:
    """z is θ; unless unclipped, values at the observations are rows within [0, 1].

    `rows` are of functionals over z, `range_rows` those that must lie in [0, 1] besides
    those given out before, `exact_range_rows` all of them, in the same order.
    """

    def __init__(self, value_class: LinearValueClass) -> None:
        self._clipped = value_class.clipped
        self._features: FeatureMap = value_class.features
        size = self._features.dimension
        self.lower = np.full(size, -value_class.bound)
        self.upper = np.full(size, value_class.bound)
        self._ranged = np.zeros((0, size))
        self._given_out: set[bytes] = set()

    def rows(self, functionals: Sequence[Functional]) -> csr_matrix:
        """Σ_i α_i φ(x_i), one row a functional."""
        if not functionals:
            return csr_matrix((0, len(self.lower)))
        return csr_matrix(
            np.stack(
                [f.coefficients @ self._features(f.observations) for f in functionals]
            )
        )

    def exact_row(self, functional: Functional) -> ExactRow:
        """Σ_i α_i φ(x_i) in rationals; features stand for their float values."""
        integers, unit = functional.rational
        sums = [Fraction(0)] * len(self.lower)
        features = self._features(functional.observations).tolist()
        for weight, row in zip(integers.tolist(), features, strict=True):
            sums = [s + weight * Fraction(v) for s, v in zip(sums, row, strict=True)]
        return list(range(len(sums))), [s * unit for s in sums]

    def range_rows(self, functionals: Sequence[Functional]) -> csr_matrix:
        """Features: the whole table once, or those of new observations."""
        size = len(self.lower)
        if not self._clipped:
            return csr_matrix((0, size))
        if self._features.table is None:
            fresh = [self._features(f.observations) for f in functionals]
            rows = np.concatenate([np.zeros((0, size)), *fresh])
        elif len(self._ranged):
            return csr_matrix((0, size))
        else:
            rows = self._features.table
        # Bytes as keys only save repetition; two forms of zero would do no harm.
        keys = [row.tobytes() for row in rows]
        new = [i for i, key in enumerate(keys) if not self._known(key)]
        self._ranged = np.concatenate([self._ranged, rows[new]])
        return csr_matrix(rows[new])

    def _known(self, key: bytes) -> bool:
        known = key in self._given_out
        self._given_out.add(key)
        return known

    def exact_range_rows(self) -> list[ExactRow]:
        """Features of all observations so far."""
        columns = list(range(len(self.lower)))
        return [(columns, list(map(Fraction, row))) for row in self._ranged.tolist()]

    def member(self, z: NDArray[np.float64]) -> LinearValue:
        """Return the function with θ = z."""
        return LinearValue(z, self._features, clipped=self._clipped)

    def exact_member(self, z: Sequence[Fraction]) -> LinearValue:
        """Return the function with θ = z, exact."""
        theta = np.array([float(v) for v in z], dtype=np.float64)
        return LinearValue(theta, self._features, tuple(z), self._clipped)


Form = TabularForm | LinearForm


def stack(parts: Sequence[csr_matrix]) -> csr_matrix:
    """Stack sparse matrices on top of each other."""
    return csr_matrix(vstack(parts, format="csr"))


class PolyhedralProgram:
    """A program over a polyhedron; the engine keeps model and basis."""

    def __init__(self, form: Form) -> None:
        self._form = form
        self._box = np.maximum(np.abs(form.lower), np.abs(form.upper))
        self._constraints: list[Constraint] = []
        self._pending: list[Constraint] = []
        self._matrix = csr_matrix((0, len(form.lower)))
        self._low = np.zeros(0)
        self._high = np.zeros(0)
        self._is_range = np.zeros(0, dtype=np.bool_)
        self._engine: ArrayLp | None = None
        self._session: LpSession | None = None
        self._in_session = [0, 0]

    def add(self, constraint: Constraint) -> None:
        """Add a constraint; it reaches the engine with the next solve."""
        self._constraints.append(constraint)
        self._pending.append(constraint)

    def optimise(self, asked: LpQuestion) -> LpResult:
        """Solve, certify, and go over to rationals where that is not enough."""
        self._flush(asked.objective)
        if asked.exact:
            return self._solve_exactly(asked)
        costs = asked.sign * self._form.rows([asked.objective]).toarray()[0]
        if self._engine is None:
            self._engine = ArrayLp(self._form.lower, self._form.upper)
            if self._matrix.shape[0]:
                self._engine.add_rows(self._matrix, self._low, self._high)
        outcome = self._engine.solve(costs, maximise=True)
        if outcome.values is not None and outcome.multipliers is not None:
            z = np.clip(outcome.values, self._form.lower, self._form.upper)
            value, lost, off = self._certify(
                costs, z, outcome.multipliers, asked.objective
            )
            value, member = asked.sign * value, self._form.member(z)
            answer = asked.optimum(member, value, outcome.iterations, lost, off)
            if answer.honoured:
                return answer
        elif outcome.status is Status.INFEASIBLE and self._refuted():
            return asked.infeasible(outcome.iterations)
        return self._solve_exactly(asked)

    def _flush(self, objective: Functional) -> None:
        functionals = [c.functional for c in self._pending]
        ranges = self._form.range_rows([*functionals, objective])
        rows = self._form.rows(functionals)
        limits = [c.interval for c in self._pending]
        self._pending = []
        fresh = stack([ranges, rows])
        n_ranges = ranges.shape[0]
        low = np.r_[np.zeros(n_ranges), [lower for lower, _ in limits]]
        high = np.r_[np.ones(n_ranges), [upper for _, upper in limits]]
        if not fresh.shape[0]:
            return
        if self._engine is not None:
            self._engine.add_rows(fresh, low, high)
        self._matrix = stack([self._matrix, fresh])
        self._low = np.r_[self._low, low]
        self._high = np.r_[self._high, high]
        flags = np.arange(fresh.shape[0]) < n_ranges
        self._is_range = np.r_[self._is_range, flags]

    def _certify(
        self,
        costs: NDArray[np.float64],
        z: NDArray[np.float64],
        multipliers: NDArray[np.float64],
        objective: Functional,
    ) -> tuple[float, float, float]:
        """Value, suboptimality, violation of a point, for maximisation of ``costs``."""
        activity = self._matrix @ z
        excess = np.maximum(self._low - activity, activity - self._high)
        width = abs(self._matrix) @ self._box
        limits = np.abs(np.stack([self._low, self._high]))
        limits = np.where(np.isfinite(limits), limits, 0.0).max(axis=0)
        rounding = summation_bound(len(z), 1.0) * (width + limits)
        excess = np.maximum(excess + rounding, 0.0)
        # Members clip what leaves [0, 1]; that moves every functional a little.
        clipped = float(excess[self._is_range].max(initial=0.0))
        sizes = [c.functional.size for c in self._constraints]
        moved = clipped * max([0.0, *sizes])
        violation = float(excess[~self._is_range].max(initial=0.0)) + moved
        bound, doubt = self._dual_bound(costs, multipliers)
        value = float(costs @ z)
        doubt += summation_bound(len(z), float(np.abs(costs) @ self._box))
        lost = max(0.0, bound - value) + doubt + clipped * objective.size
        return value, lost, violation

    def _dual_bound(
        self, costs: NDArray[np.float64], multipliers: NDArray[np.float64]
    ) -> tuple[float, float]:
        """Weak-duality bound on the maximum of ``costs``, and its rounding."""
        side = np.where(multipliers > 0, self._high, self._low)
        y = np.where(np.isfinite(side), multipliers, 0.0)
        side = np.where(np.isfinite(side), side, 0.0)
        reduced = costs - self._matrix.T @ y
        low, high = self._form.lower, self._form.upper
        bound = float(y @ side) + float(np.maximum(reduced * low, reduced * high).sum())
        mass = float(np.abs(y) @ np.abs(side))
        mass += float((np.abs(costs) + abs(self._matrix).T @ np.abs(y)) @ self._box)
        return bound, summation_bound(len(y) + len(costs), mass)

    def _refuted(self) -> bool:
        """Whether float64 multipliers, of the elastic program, prove infeasibility."""
        columns = len(self._form.lower)
        has_high = np.flatnonzero(np.isfinite(self._high))
        has_low = np.flatnonzero(np.isfinite(self._low))
        rows = stack([self._matrix[has_high], self._matrix[has_low]])
        relax = np.r_[-np.ones(len(has_high)), np.ones(len(has_low))]
        low = np.r_[np.full(len(has_high), -np.inf), self._low[has_low]]
        high = np.r_[self._high[has_high], np.full(len(has_low), np.inf)]
        elastic = csr_matrix(hstack([rows, csr_matrix(relax[:, None])], format="csr"))
        limits = np.r_[self._high[has_high], self._low[has_low]]
        most = float((abs(rows) @ self._box + np.abs(limits)).max()) + 1.0
        engine = ArrayLp(np.r_[self._form.lower, 0.0], np.r_[self._form.upper, most])
        engine.add_rows(elastic, low, high)
        outcome = engine.solve(np.r_[np.zeros(columns), 1.0], maximise=False)
        if outcome.multipliers is None:
            return False
        y = np.zeros(len(self._high))
        # Shadow prices of a minimisation: for a maximisation of -t signs change.
        np.add.at(y, has_high, -outcome.multipliers[: len(has_high)])
        np.add.at(y, has_low, -outcome.multipliers[len(has_high) :])
        bound, doubt = self._dual_bound(np.zeros(columns), y)
        return bound + doubt < 0

    def _solve_exactly(self, asked: LpQuestion) -> LpResult:
        session = self._exact_session()
        row = self._form.exact_row(asked.objective)
        session.set_objective(*row, maximise=asked.maximise)
        outcome = session.solve(exact=True)
        if outcome.status is Status.INFEASIBLE:
            return asked.infeasible(0, exact=True)
        if outcome.status is not Status.OPTIMAL or outcome.values is None:
            raise RuntimeError(f"exact LP ended {outcome.status}: {outcome.reason}")
        member = self._form.exact_member([Fraction(v) for v in outcome.values])
        return asked.optimum(member, Fraction(outcome.objective or 0), 0)

    def _exact_session(self) -> LpSession:
        if self._session is None:
            model = LinearModel(name="value program")
            for j, (low, high) in enumerate(
                zip(self._form.lower.tolist(), self._form.upper.tolist(), strict=True)
            ):
                model.add_variable(f"z{j}", Fraction(low), Fraction(high))
            self._session = LpSession(model)
        session, (ranges, constraints) = self._session, self._in_session
        rows = self._form.exact_range_rows()
        for indices, coefficients in rows[ranges:]:
            session.add_row(indices, coefficients, ">=", 0)
            session.add_row(indices, coefficients, "<=", 1)
        for constraint in self._constraints[constraints:]:
            row = self._form.exact_row(constraint.functional)
            lower, upper = constraint.lower, constraint.upper
            if lower is not None and lower == upper:
                session.add_row(*row, "==", Fraction(lower))
                continue
            if lower is not None:
                session.add_row(*row, ">=", Fraction(lower))
            if upper is not None:
                session.add_row(*row, "<=", Fraction(upper))
        self._in_session = [len(rows), len(self._constraints)]
        return session
