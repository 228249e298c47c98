"""The LP oracle: linear programs on value functions (paper, section 2).

Optimise Σ_i α_i g(x_i) over g in G subject to constraints on other such functionals.
The answer is within ε_sub of the optimum and violates no constraint by more than
ε_feas, both certified; or the program is infeasible, proved. Tabular and linear
classes: HiGHS in float64, certified by weak duality, or rationals where that
certificate misses what was asked, or on demand; finite: enumeration; kernel balls: a
closed form, no constraints.

>>> from olivine.algorithms.classes import TabularValueClass
>>> from olivine.algorithms.exact.data import EmpiricalMeasure
>>> seen = Functional.expectation(EmpiricalMeasure([0, 1]))
>>> new = Functional.expectation(EmpiricalMeasure([1, 1, 1, 2]))
>>> found = lp(TabularValueClass(3), new, [Constraint.near(seen, 0.25, 0.0)],
...            epsilon_sub=1e-6, epsilon_feas=1e-6)
>>> found.status.value, round(found.value, 6)
('optimal', 0.625)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import singledispatch
from typing import Any, Protocol

from ..classes.finite import FiniteValueClass
from ..classes.kernel_ball import KernelBall
from ..classes.learned import LearnedValueClass
from ..classes.linear import LinearValueClass
from ..classes.protocols import ValueClass, ValueFunction
from ..classes.tabular import TabularValueClass
from ..exact.data import EmpiricalMeasure, Field
from .functionals import Constraint, Functional, Number
from .ledger import OracleOnly, oracle, unguard
from .lp_polyhedral import LinearForm, PolyhedralProgram, TabularForm
from .lp_special import EnumeratedProgram, KernelProgram
from .results import LpResult, LpStatus, check_accuracy

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


class Backend(Protocol):
    """A program over one kind of class: constraints come, objectives change."""

    def add(self, constraint: Constraint) -> None:
        """Add a constraint."""

    def optimise(
        self,
        objective: Functional,
        *,
        maximise: bool,
        epsilon_sub: float,
        epsilon_feas: float,
        exact: bool,
    ) -> LpResult:
        """Solve with the constraints added so far."""


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

    def optimise(self, objective: Functional, **asked: Any) -> LpResult:
        return solve_lp(self._class, objective, tuple(self._constraints), **asked)


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
        return _optimise(
            self,
            objective,
            maximise=maximise,
            epsilon_sub=epsilon_sub,
            epsilon_feas=epsilon_feas,
            exact=exact,
        )


def _rows(program: ValueProgram, objective: Functional, **options: Any) -> int:
    return program.rows + len(objective)


@oracle("lp", rows=_rows, function="function")
def _optimise(program: ValueProgram, objective: Functional, **asked: Any) -> LpResult:
    return program._backend.optimise(objective, **asked)


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
    above, below = (
        program.optimise(
            difference,
            maximise=maximise,
            epsilon_sub=epsilon_sub,
            epsilon_feas=epsilon_sub,
        )
        for maximise in (True, False)
    )
    if above.value is None or below.value is None:
        raise ValueError("value_class: it is empty on these observations")
    # Keep the larger value; either direction bounds the supremum from above.
    best = above if above.value >= -below.value else below
    if best.function is None:
        raise AssertionError("an optimal program has a function")
    value = max(above.value, -below.value, 0.0)
    ceiling = max(above.value + above.suboptimality, -below.value + below.suboptimality)
    return Discrepancy(value, max(0.0, ceiling - value), best.function)
