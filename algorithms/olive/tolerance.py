"""The least tolerance at which a program of OLIVE reaches a predicted value.

For a program with tolerance φ as a variable,

    min φ  subject to  |average Bellman errors of (g, π)| ≤ φ,  objective ≥ v,

is again a mixed-integer linear program. The policy of its solution is fixed and
the remaining linear program solved exactly, so the tolerance found is attained
by an exact pair. That nothing smaller will do is the engine's word, unless it is
proved by branch and bound or by knowledge from elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from ...solvers.lp.branch_and_bound import branch_and_bound
from ...solvers.milp.milp import confirm
from ...solvers.milp.scaled_milp import propose
from ...solvers.model.model import LinearModel
from ...solvers.outcome import LinearOutcome, Status
from ..mdp.bellman import Pair
from .model import program_model
from .program import OliveProgram
from .sampled_program import SampledProgram


@dataclass(frozen=True)
class LeastTolerance:
    """What `least_tolerance` found."""

    # The tolerance, exact for the pair; None if none up to the ceiling was found
    tolerance: Fraction | None
    pair: Pair | None  # A pair with the demanded objective that needs this tolerance
    # Whether it is proved that no smaller tolerance will do (without a tolerance: that
    # none up to the ceiling will)
    proved: bool
    seconds: float  # Wall time in the engine
    # Why there is no tolerance, where a limit or the engine is to blame
    reason: str = ""


def least_tolerance(
    program: OliveProgram | SampledProgram,
    value: Fraction | int,
    ceiling: Fraction | int,
    *,
    prove: bool = False,
    engine: str = "highs",
    time_limit: float | None = None,
) -> LeastTolerance:
    """Find the least φ at which some feasible pair has objective at least `value`.

    Raises ValueError if the ceiling is not positive.
    """
    if not ceiling > 0:
        raise ValueError(f"ceiling {ceiling} is not positive")
    model, variable, relaxed = _model(program, Fraction(value), Fraction(ceiling))
    if prove:
        outcome = branch_and_bound(model, time_limit=time_limit)
        seconds = outcome.seconds
    else:
        outcome = propose(model, engine, time_limit)
        seconds = outcome.seconds
        if outcome.status is not Status.FEASIBLE:
            outcome = confirm(model, outcome)
    found = _exact_point(outcome)
    if found is None:
        proved = outcome.exact and outcome.status is Status.INFEASIBLE
        reason = outcome.reason or f"the engine says {outcome.status.value}"
        return LeastTolerance(None, None, proved, seconds, "" if proved else reason)
    tolerance = found[variable]
    proved = outcome.status is Status.OPTIMAL or tolerance == 0
    return LeastTolerance(
        tolerance, program_model(relaxed).pair(found[:variable]), proved, seconds
    )


def _exact_point(outcome: LinearOutcome) -> list[Fraction] | None:
    """Values of an outcome that is exact and was not cut short."""
    if outcome.values is None or not outcome.exact or outcome.reason:
        return None
    return [Fraction(v) for v in outcome.values]


def _model(
    program: OliveProgram | SampledProgram, value: Fraction, ceiling: Fraction
) -> tuple[LinearModel, int, OliveProgram | SampledProgram]:
    """Write the model, with its variable φ and the program at the ceiling.

    The program's own model at the ceiling has two rows a constraint, error ≤
    ceiling and error ≥ −ceiling; φ takes the place of the ceiling in them. All
    other rows hold for every tolerance up to the ceiling.
    """
    relaxed: OliveProgram | SampledProgram
    if isinstance(program, OliveProgram):
        relaxed = OliveProgram(
            program.mdp,
            program.distributions,
            ceiling,
            program.lower,
            program.upper_given,
        )
    else:
        relaxed = SampledProgram(
            program.action_counts,
            program.starts,
            program.constraints,
            ceiling,
            program.lower,
            program.upper_given,
        )
    built = program_model(relaxed).model
    model = LinearModel("least tolerance", variables=list(built.variables))
    phi = model.add_variable("tolerance", 0, ceiling)
    for row in built.rows:
        if row.name.startswith("bellman("):
            sign = -1 if row.sense == "<=" else 1
            row = replace(
                row,
                indices=(*row.indices, phi),
                coefficients=(*row.coefficients, Fraction(sign)),
                rhs=row.rhs + sign * ceiling,
            )
        model.rows.append(row)
    objective = built.objective
    demanded = value - built.objective_constant
    model.add_row(list(objective), list(objective.values()), ">=", demanded, "value")
    model.set_objective([phi], [1], maximise=False)
    return model, phi, relaxed
