"""The LP oracle: linear programs on value functions (paper, section 2).

Optimise Σ_i α_i g(x_i) over g in G subject to constraints on other such functionals.
The answer is within ε_sub of the optimum and violates no constraint by more than
ε_feas, both certified; or the program is infeasible, proved. Tabular and linear
classes: HiGHS in float64, certified by weak duality, or rationals where that
certificate misses what was asked, or on demand. Members of a finite class are
evaluated; one is feasible if it meets the constraints up to the rounding of the sums,
or in rationals where that exceeds the accuracies. Over the unit ball of a kernel's
space Σ_i α_i f(x_i) = ⟨f, Σ_i α_i k(x_i, ·)⟩ is at most √(αᵀKα), attained (Gretton et
al. 2012): O(n²) kernel evaluations, in blocks; constraints would make it a second-order
cone program, and are refused.

>>> from olivine.algorithms.classes import TabularValueClass
>>> from olivine.algorithms.exact.data import EmpiricalMeasure
>>> seen = Functional.expectation(EmpiricalMeasure([0, 1]))
>>> new = Functional.expectation(EmpiricalMeasure([1, 1, 1, 2]))
>>> found = lp(TabularValueClass(3), new, [Constraint.near(seen, 0.25, 0.0)],
...            epsilon_sub=1e-6, epsilon_feas=1e-6)
>>> found.status.value, round(found.value, 6)
('optimal', 0.625)
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import singledispatch
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..classes.features import LearnedValueClass, LinearValueClass
from ..classes.finite import (
    FiniteValueClass,
    KernelBall,
    KernelFunction,
    TabularValueClass,
)
from ..classes.protocols import Observations, ValueClass, ValueFunction
from ..exact.arrays import check_reals
from ..exact.data import EmpiricalMeasure, Field
from . import (
    Attained,
    Constraint,
    Functional,
    Number,
    answer_of,
    check_accuracy,
    summation_bound,
)
from .ledger import OracleOnly, oracle, unguard
from .lp_polyhedral import (
    LinearForm,
    LpQuestion,
    LpResult,
    LpStatus,
    PolyhedralProgram,
    TabularForm,
)

__all__ = [
    "Constraint",
    "Discrepancy",
    "Functional",
    "LpResult",
    "LpStatus",
    "Number",
    "ValueProgram",
    "lp",
    "mean_discrepancy",
    "open_program",
    "solve_lp",
]


_CHUNK = 1 << 22  # entries of the members × observations table held at a time
_BLOCK = 1024  # rows of the kernel matrix held at a time


class Backend(Protocol):
    """A program over one kind of class: constraints come, objectives change."""

    def add(self, constraint: Constraint) -> None:
        """Add a constraint."""

    def optimise(self, asked: LpQuestion) -> LpResult:
        """Solve with the constraints added so far."""


class EnumeratedProgram:
    """A program over a finite class; results are kept, one number a member."""

    def __init__(self, value_class: FiniteValueClass) -> None:
        self._class = value_class
        self._constraints: list[Constraint] = []
        self._excess = np.full(len(value_class), -np.inf)
        self._rounding = 0.0

    def add(self, constraint: Constraint) -> None:
        """Add a constraint and note by how much each member violates it."""
        values, rounding = self._values(constraint.functional)
        lower, upper = constraint.interval
        self._excess = np.maximum(
            self._excess, np.maximum(lower - values, values - upper)
        )
        limits = [abs(b) for b in (lower, upper) if np.isfinite(b)]
        self._rounding = max(self._rounding, rounding + summation_bound(1, max(limits)))
        self._constraints.append(constraint)

    def optimise(self, asked: LpQuestion) -> LpResult:
        """Best member among the feasible ones, the lowest number at ties."""
        values, rounding = self._values(asked.objective)
        within = 2 * self._rounding <= asked.epsilon_feas
        if asked.exact or not (within and 2 * rounding <= asked.epsilon_sub):
            return self._compare_exactly(asked)
        feasible = self._excess <= self._rounding
        members = len(self._class)
        if not feasible.any():
            return asked.infeasible(members)
        best = int(np.argmax(np.where(feasible, asked.sign * values, -np.inf)))
        member: Any = self._class.members[best]
        violation = max(0.0, float(self._excess[best]) + self._rounding)
        value = float(values[best])
        return asked.optimum(member, value, members, 2 * rounding, violation)

    def _values(self, functional: Functional) -> tuple[NDArray[np.float64], float]:
        """Values of a functional at every member, and a bound on their rounding."""
        size = max(1, len(functional))
        step = max(1, _CHUNK // size)
        evaluate = self._class.evaluate_all
        parts = [
            evaluate(functional.observations, i, i + step) @ functional.coefficients
            for i in range(0, len(self._class), step)
        ]
        return np.concatenate(parts), summation_bound(size, functional.size)

    def _compare_exactly(self, asked: LpQuestion) -> LpResult:
        best: Any = None
        best_value, sign = Fraction(0), int(asked.sign)
        for member in self._class.members:
            if not all(_meets(member, c) for c in self._constraints):
                continue
            value = exact_value(asked.objective, member)
            if best is None or sign * (value - best_value) > 0:
                best, best_value = member, value
        if best is None:
            return asked.infeasible(len(self._class), exact=True)
        return asked.optimum(best, best_value, len(self._class))


def exact_value(functional: Functional, member: Any) -> Fraction:
    """Evaluate in rationals, at a member's exact table or at its floats."""
    table = getattr(member, "exact", None)
    if table is None:
        values = [Fraction(v) for v in member(functional.observations).tolist()]
    else:
        values = [table[code] for code in functional.observations.tolist()]
    integers, unit = functional.rational
    pairs = zip(integers.tolist(), values, strict=True)
    return sum((a * v for a, v in pairs), Fraction(0)) * unit


def _meets(member: Any, constraint: Constraint) -> bool:
    value = exact_value(constraint.functional, member)
    above = constraint.lower is None or value >= Fraction(constraint.lower)
    return above and (constraint.upper is None or value <= Fraction(constraint.upper))


class KernelProgram:
    """A program over a ball; it takes objectives and no constraints."""

    def __init__(self, value_class: KernelBall) -> None:
        self._class = value_class
        self._last: tuple[Functional, float] | None = None

    def add(self, constraint: Constraint) -> None:
        """Refuse (ValueError)."""
        raise ValueError("constraint: a kernel ball takes objectives only")

    def optimise(self, asked: LpQuestion) -> LpResult:
        """Optimum in closed form; ValueError if ``exact``: norms are irrational."""
        if asked.exact:
            raise ValueError("exact: the optimum over a kernel ball is irrational")
        ball = self._class
        points, coefficients = merged(asked.objective)
        square = self._square(asked.objective, points, coefficients)
        mass = float(np.abs(coefficients).sum())
        off = 2 * summation_bound(2 * max(1, len(points)), mass**2)
        # √(square + off) bounds the true norm; scaled by it, f has norm ≤ 1.
        norm = math.sqrt(square + off)
        scale = 0.0 if square <= off else asked.sign * ball.radius / norm
        gain = scale * square
        lost = ball.radius * norm - abs(gain) + abs(scale) * off
        value = ball.centre * float(coefficients.sum()) + gain
        function = KernelFunction(
            points, scale * coefficients, ball.kernel, ball.centre
        )
        operations = len(points) ** 2
        return asked.optimum(function, value, 1, lost, 0.0, operations=operations)

    def _square(
        self,
        objective: Functional,
        points: Observations,
        coefficients: NDArray[np.float64],
    ) -> float:
        """αᵀKα, kept for the minimum of the same objective."""
        if self._last is None or self._last[0] is not objective:
            square = _quadratic_form(self._class, points, coefficients)
            self._last = (objective, square)
        return self._last[1]


def merged(functional: Functional) -> tuple[Observations, NDArray[np.float64]]:
    """Distinct codes with exactly summed coefficients, without zeros."""
    if functional.observations.ndim == 2:
        return functional.observations, functional.coefficients
    codes, groups = np.unique(functional.observations, return_inverse=True)
    integers, unit = functional.rational
    sums: NDArray[Any] = np.zeros(len(codes), dtype=object)
    np.add.at(sums, groups.reshape(-1), integers)
    kept = np.flatnonzero(sums != 0)
    coefficients = np.array([float(s * unit) for s in sums[kept].tolist()])
    return codes[kept], coefficients


def _quadratic_form(
    ball: KernelBall, points: Observations, coefficients: NDArray[np.float64]
) -> float:
    total = 0.0
    for start in range(0, len(points), _BLOCK):
        block = slice(start, start + _BLOCK)
        matrix = ball.kernel(points[block], points)
        total += float(coefficients[block] @ (matrix @ coefficients))
    return max(0.0, total)


@singledispatch
def solve_lp(
    value_class: Any,
    objective: Functional,
    constraints: Sequence[Constraint],
    *,
    maximise: bool,
    epsilon_sub: float,
    epsilon_feas: float,
    exact: bool,
) -> LpResult:
    """Solve an LP as `lp` does for a kind of class; ``solve_lp.register`` adds one."""
    raise ValueError(_no_oracle(value_class))


def _no_oracle(value_class: Any) -> str:
    return (
        f"value_class: no LP oracle for {type(value_class).__name__}; register one "
        "with olivine.algorithms.oracles.lp.solve_lp.register"
    )


class _Restarted:
    """A program that a registered solver solves from the beginning each time."""

    def __init__(self, value_class: Any) -> None:
        self._class = value_class
        self._constraints: list[Constraint] = []

    def add(self, constraint: Constraint) -> None:
        self._constraints.append(constraint)

    def optimise(self, asked: LpQuestion) -> LpResult:
        options = dict(vars(asked))
        objective = options.pop("objective")

        def judge(found: LpResult) -> Attained:
            if found.function is None or found.value is None:
                return 0.0, objective.coefficients[:0], objective.coefficients[:0]
            values = found.function(objective.observations)
            values = check_reals(values, "values", (len(objective),))
            return found.value, objective.coefficients, values

        given = self._class, objective, tuple(self._constraints)
        return answer_of(solve_lp, LpResult, given, judge, **options)


@singledispatch
def open_program(value_class: Any) -> Backend:
    """Open a program kept between solves; ``open_program.register`` adds a kind."""
    if solve_lp.dispatch(type(value_class)) is solve_lp.dispatch(object):
        raise ValueError(_no_oracle(value_class))
    return _Restarted(value_class)


@open_program.register
def _(value_class: LearnedValueClass) -> Backend:
    raise ValueError(
        "value_class: a regressor has no LP oracle, for it fits and cannot be "
        "maximised over; take an algorithm that asks for least squares only, such as "
        "fqi, or a tabular, finite or linear class"
    )


@open_program.register
def _(value_class: TabularValueClass) -> Backend:
    return PolyhedralProgram(TabularForm(value_class))


@open_program.register
def _(value_class: LinearValueClass) -> Backend:
    return PolyhedralProgram(LinearForm(value_class))


open_program.register(FiniteValueClass, EnumeratedProgram)
open_program.register(KernelBall, KernelProgram)


class ValueProgram:
    """A linear program over a value class, kept warm as it grows."""

    def __init__(
        self, value_class: ValueClass, constraints: Sequence[Constraint] = ()
    ) -> None:
        self.guards_function = isinstance(value_class, OracleOnly)
        self._value_class: ValueClass = unguard(value_class)
        self._backend = open_program(self._value_class)
        self.rows = 0
        for constraint in constraints:
            self.add(constraint)

    def add(self, constraint: Constraint) -> None:
        """Add a constraint; ValueError if it evaluates the class outside of it."""
        self._value_class.admit(constraint.functional.observations)
        self._backend.add(constraint)
        self.rows += len(constraint.functional)

    def optimise(
        self,
        objective: Functional,
        *,
        maximise: bool = True,
        epsilon_sub: float,
        epsilon_feas: float,
        exact: bool = False,
    ) -> LpResult:
        """Solve with the constraints added so far; one call of the oracle.

        Raises ValueError for accuracies that are not positive, or an objective that
        evaluates the class outside.

        Parameters
        ----------
        objective
            What to maximise (or minimise: `maximise`).
        epsilon_sub, epsilon_feas
            Accuracies asked for, positive.
        exact
            Answer in rationals whatever the accuracies are.
        """
        check_accuracy("epsilon_sub", epsilon_sub)
        check_accuracy("epsilon_feas", epsilon_feas)
        self._value_class.admit(objective.observations, "objective")
        asked = LpQuestion(objective, maximise, epsilon_sub, epsilon_feas, exact)
        return _optimise(self, asked)


def _rows(program: ValueProgram, asked: LpQuestion) -> int:
    return program.rows + len(asked.objective)


@oracle("lp", rows=_rows, function="function")
def _optimise(program: ValueProgram, asked: LpQuestion) -> LpResult:
    return program._backend.optimise(asked)


def lp(
    value_class: ValueClass,
    objective: Functional,
    constraints: Sequence[Constraint] = (),
    *,
    maximise: bool = True,
    epsilon_sub: float,
    epsilon_feas: float,
    exact: bool = False,
) -> LpResult:
    """Solve one linear program; parameters as of `ValueProgram.optimise`."""
    return ValueProgram(value_class, constraints).optimise(
        objective,
        maximise=maximise,
        epsilon_sub=epsilon_sub,
        epsilon_feas=epsilon_feas,
        exact=exact,
    )


@dataclass(frozen=True)
class Discrepancy:
    """A largest difference of means."""

    value: float  # |E_D[g] - E_D'[g]| at `function`, not negative
    suboptimality: float  # Certified bound on the supremum minus `value`
    function: ValueFunction  # The function that tells the measures apart


def mean_discrepancy(
    value_class: ValueClass,
    first: EmpiricalMeasure,
    second: EmpiricalMeasure,
    *,
    epsilon_sub: float,
    field: Field = "observations",
) -> Discrepancy:
    """Find the function of a class whose means differ most."""
    difference = Functional.expectation(first, field=field).minus(
        Functional.expectation(second, field=field)
    )
    program = ValueProgram(value_class)
    accuracy: dict[str, Any] = {"epsilon_sub": epsilon_sub, "epsilon_feas": epsilon_sub}
    above = program.optimise(difference, maximise=True, **accuracy)
    below = program.optimise(difference, maximise=False, **accuracy)
    if above.value is None or below.value is None:
        raise ValueError("value_class: it is empty on these observations")
    # Keep the larger value; either direction bounds the supremum from above.
    best = above if above.value >= -below.value else below
    if best.function is None:
        raise AssertionError("an optimal program has a function")
    value = max(above.value, -below.value, 0.0)
    ceiling = max(above.value + above.suboptimality, -below.value + below.suboptimality)
    return Discrepancy(value, max(0.0, ceiling - value), best.function)
