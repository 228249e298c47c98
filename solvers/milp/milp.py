"""Mixed-integer linear programs: solve, confirm exactly, write, read back.

Engines are run through PuLP (`olivine.solvers.milp.engines`) on the integer form of the
model, its objective scaled to integers too, in a child process that the limits can
kill, with gap 0 and tolerances of 1e-9. None of their answers is a proof: CBC has
called a feasible program infeasible. `confirm` makes a point exact, or a refutation
where the relaxation already is one. An optimum below what other knowledge allows needs
a proof from elsewhere.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import highspy
import numpy as np

from ..child.child import run_in_child
from ..lp import highs, solve_lp
from ..model import LinearModel, Row, Variable, integer_row
from ..model.integer_form import IntegerForm
from ..model.program_files import write_lp, write_mps
from ..outcome import Answer, LinearOutcome, Status, check_limit
from . import engines
from .engines import PulpModel, available_engines, read_optimum, to_pulp

__all__ = [
    "PulpModel",
    "available_engines",
    "confirm",
    "read_optimum",
    "solve_milp",
    "to_pulp",
    "write_lp",
    "write_mps",
]

SCALED_TOLERANCE = 1e-8
"""Rows of empirical frequencies have integers of eight digits, on which 1e-9 is beyond
floating point: HiGHS has then answered "Solve error", or called points optimal that are
not. Such rows are divided by their largest coefficient."""
LONG = 2**14
"""Rows whose integers are larger count as long."""

_WITH_REASON = (Status.FEASIBLE, Status.UNKNOWN)


def solve_milp(
    model: LinearModel,
    *,
    engine: str = "highs",
    time_limit: float | None = None,
    memory_limit: int | None = None,
    threads: int = 1,
) -> LinearOutcome:
    """Solve a mixed-integer linear program in floating point; never ``exact``.

    `time_limit`: wall seconds in all; an engine that does not stop in time is killed a
    second (and a tenth of the limit) later. `memory_limit`: bytes. `threads`: SCIP uses
    one whatever is said. Values of integer variables are whole, the objective is
    recomputed from the values, OPTIMAL and INFEASIBLE are the engine's word. UNKNOWN,
    with the reason, where a limit was reached without a point, the engine crashed, its
    point misses a row or integrality by more than rounding, or no engine can hold the
    model's numbers. ValueError if the engine is not available or a limit is out of
    range; RuntimeError for an error of ours.
    """
    start = time.monotonic()
    if engine not in (names := available_engines()):
        known = ", ".join(names)
        raise ValueError(f"engine {engine!r} is not available; there is {known}")
    if threads < 1:
        raise ValueError(f"threads {threads} is not positive")
    check_limit(time_limit)
    scaled = scaled_objective(model)
    try:
        form = IntegerForm(scaled.model)
    except ValueError as exc:
        return _unknown(engine, start, str(exc))
    answer = _ask(form, engine, start, time_limit, memory_limit, threads)
    if answer.bound is not None:
        bound = scaled.original(-answer.bound if form.negated else answer.bound)
        answer = answer._replace(bound=bound)
    return _translate(model, form, answer)._replace(
        engine=engine, seconds=time.monotonic() - start
    )


def confirm(
    model: LinearModel,
    outcome: LinearOutcome,
    *,
    bound: Fraction | int | None = None,
    time_limit: float | None = None,
) -> LinearOutcome:
    """Make an outcome exact, as far as arithmetic can.

    The integer variables are fixed at their rounded values and the linear program that
    remains is solved exactly. What comes back has ``exact=True`` if it proves
    something:

    - FEASIBLE: `values` meets every bound, row and integrality, and `objective` is the
      best for these values of the integer variables.
    - OPTIMAL: the same, and the objective equals `bound`, a proved bound on the optimum
      in the model's sense, or the model has no integer variables.
    - INFEASIBLE, of an outcome that says so: the multipliers refute the relaxation.

    Otherwise the outcome comes back unchanged, or UNKNOWN with the reason. ValueError
    if the point is better than `bound`, or has not one value a variable.
    """
    start = time.monotonic()
    if outcome.values is None:
        if outcome.status is not Status.INFEASIBLE:
            return outcome
        relaxed = solve_lp(model, exact=True, time_limit=time_limit)
        if relaxed.status is not Status.INFEASIBLE:
            return outcome
        return relaxed._replace(engine=outcome.engine)
    nothing = "the rounded integers allow no feasible point"
    fixed = _fix(model, outcome.values)
    if fixed is None:
        return _unknown(outcome.engine, start, nothing)
    found = solve_lp(fixed, exact=True, time_limit=time_limit)
    if found.status is not Status.OPTIMAL:
        return _unknown(outcome.engine, start, found.reason or nothing)
    objective = found.objective
    assert isinstance(objective, Fraction)
    if bound is not None and (
        objective > bound if model.maximise else objective < bound
    ):
        raise ValueError(
            f"{model.name}: a point of value {objective} refutes the bound {bound}"
        )
    mixed = any(v.integer for v in model.variables)
    if not mixed or objective == bound:
        status, bound = Status.OPTIMAL, objective
    else:
        status = Status.FEASIBLE
    return found._replace(
        status=status,
        bound=outcome.bound if bound is None else Fraction(bound),
        nodes=outcome.nodes,
        engine=outcome.engine,
        # Those of the remaining program prove nothing about the whole one.
        multipliers=None if mixed else found.multipliers,
    )


def _fix(model: LinearModel, values: Sequence[Fraction | float]) -> LinearModel | None:
    """Copy a model with its integer variables fixed; None if out of bounds."""
    if len(values) != len(model.variables):
        raise ValueError(
            f"{len(values)} values for {len(model.variables)} variables of {model.name}"
        )
    variables = list(model.variables)
    for j, v in enumerate(model.variables):
        if v.integer:
            value = Fraction(round(values[j]))
            if not v.lower <= value <= v.upper:
                return None
            variables[j] = Variable(v.name, value, value, True)
    return replace(model, variables=variables)


def _ask(
    form: IntegerForm,
    engine: str,
    start: float,
    time_limit: float | None,
    memory_limit: int | None,
    threads: int,
) -> Answer:
    soft, hard = math.inf, None
    if time_limit is not None:
        soft = start + time_limit
        hard = max(0.0, soft + 1 + time_limit / 10 - time.monotonic())
    result = run_in_child(
        engines.solve,
        form,
        engine,
        engines.engines()[engine].run,
        soft,
        threads,
        time_limit=hard,
        memory_limit=memory_limit,
    )
    result.raise_error(f"{engine} by PuLP")
    return result.value or Answer(Status.UNKNOWN, reason=result.message)


def _translate(model: LinearModel, form: IntegerForm, answer: Answer) -> LinearOutcome:
    """Turn an answer on the form, its bound translated, into an outcome."""
    outcome = LinearOutcome(
        answer.status,
        bound=answer.bound,
        nodes=answer.nodes,
        reason=answer.reason if answer.status in _WITH_REASON else "",
    )
    if answer.values is None:
        return outcome
    point = np.array(
        [
            float(min(max(0, v.lower), v.upper)) if value is None else value
            for v, value in zip(form.variables, answer.values, strict=True)
        ]
    )
    if fault := form.fault(point):
        reason = f"the engine's point is none: {fault}"
        return outcome._replace(status=Status.UNKNOWN, reason=reason)
    values = tuple(point[: len(model.variables)].tolist())
    return outcome._replace(objective=model.float_objective(values), values=values)


def _unknown(engine: str, start: float, reason: str) -> LinearOutcome:
    seconds = time.monotonic() - start
    return LinearOutcome(Status.UNKNOWN, seconds=seconds, engine=engine, reason=reason)


@dataclass(frozen=True)
class ScaledObjective:
    """A model with the same feasible points and another objective."""

    model: LinearModel  # Its objective has coprime integer coefficients and no constant
    # The original's objective is the scaled one divided by `scale` > 0, plus `constant`
    scale: Fraction
    constant: Fraction

    def original(self, value: float) -> float:
        """Translate a value or bound of the scaled objective."""
        return value / float(self.scale) + float(self.constant)


def scaled_objective(model: LinearModel) -> ScaledObjective:
    """Write a model's objective in coprime integers, its definition put in.

    Coefficients like 1/(3m) cost branch and bound dearly: the engine no longer sees
    that values come in whole steps, by which it closes gaps (MaxSAT models of a few
    hundred clauses took HiGHS 5 to 50 times as long). A variable that merely names the
    objective through an equation hides the same, so it is replaced by what it equals.
    """
    objective, constant = model.objective, model.objective_constant
    definition = _definition(model)
    if definition is not None:
        ((v, cost),) = objective.items()
        terms = dict(zip(definition.indices, definition.coefficients, strict=True))
        factor = cost / terms.pop(v)
        objective = {j: -factor * a for j, a in terms.items()}
        constant += factor * definition.rhs
    bottom = math.lcm(*(c.denominator for c in objective.values()))
    top = math.gcd(*(int(c * bottom) for c in objective.values())) or 1
    scale = Fraction(bottom, top)
    scaled = {j: c * scale for j, c in objective.items()}
    return ScaledObjective(
        replace(model, objective=scaled, objective_constant=Fraction(0)),
        scale,
        constant,
    )


def _definition(model: LinearModel) -> Row | None:
    """Find the equation that defines an objective of one variable, in no other row."""
    if len(model.objective) != 1:
        return None
    (v,) = model.objective
    rows = [row for row in model.rows if v in row.indices]
    if len(rows) == 1 and rows[0].sense == "==" and not model.variables[v].integer:
        return rows[0]
    return None


def has_long_rows(model: LinearModel) -> bool:
    """Whether some row has integers that tight tolerances are too much for."""
    for row in model.rows:
        integers, rhs = integer_row(row)
        if max(abs(rhs), *map(abs, integers), 0) > LONG:
            return True
    return False


def propose(
    model: LinearModel, engine: str = "highs", time_limit: float | None = None
) -> LinearOutcome:
    """Solve by `solve_milp`, or scaled where HiGHS meets long rows."""
    if engine == "highs" and has_long_rows(model):
        return solve_scaled_milp(model, time_limit=time_limit)
    return solve_milp(model, engine=engine, time_limit=time_limit)


def solve_scaled_milp(
    model: LinearModel, *, time_limit: float | None = None
) -> LinearOutcome:
    """Solve a mixed-integer linear program by HiGHS, rows scaled to at most 1."""
    began = time.monotonic()
    check_limit(time_limit)
    hard = None if time_limit is None else 1.1 * time_limit + 1
    child = run_in_child(_solve_scaled, model, time_limit, time_limit=hard)
    child.raise_error("highs")
    outcome = child.value or LinearOutcome(Status.UNKNOWN, reason=child.message)
    return outcome._replace(seconds=time.monotonic() - began, engine="highs")


def _solve_scaled(model: LinearModel, time_limit: float | None) -> LinearOutcome:
    solver = highs.new_highs()
    highs.set_options(
        solver,
        primal_feasibility_tolerance=SCALED_TOLERANCE,
        dual_feasibility_tolerance=SCALED_TOLERANCE,
        mip_feasibility_tolerance=SCALED_TOLERANCE,
    )
    if time_limit is not None:
        highs.set_options(solver, time_limit=float(time_limit))
    highs.load(solver, model, _at_most_one)
    kinds = (highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger)
    size = len(model.variables)
    types = np.array([kinds[v.integer] for v in model.variables])
    highs.demand(
        solver.changeColsIntegrality(size, np.arange(size, dtype=np.int32), types)
    )
    status = highs.run(solver)
    info = solver.getInfo()
    limited = status in (Status.UNKNOWN, Status.FEASIBLE)
    outcome = LinearOutcome(
        status,
        nodes=int(info.mip_node_count),
        reason=highs.verdict(solver) if limited else "",
    )
    if status not in (Status.OPTIMAL, Status.FEASIBLE):
        return outcome
    values = tuple(
        float(round(x) if v.integer else x)
        for x, v in zip(solver.getSolution().col_value, model.variables, strict=True)
    )
    bound = None
    if math.isfinite(info.mip_dual_bound):
        sign = -1 if model.maximise else 1
        bound = sign * info.mip_dual_bound + float(model.objective_constant)
    objective = model.float_objective(values)
    return outcome._replace(objective=objective, values=values, bound=bound)


def _at_most_one(row: Row) -> highs.ScaledRow:
    largest = max(map(abs, row.coefficients), default=1)
    entries = [float(c / largest) for c in row.coefficients]
    return highs.sided(row, entries, float(row.rhs / largest), float(1 / largest))
