"""Decide a formula through OLIVE's program.

The fast path: 3-SAT form, family, a SAT solver in place of a search over pairs, and for
a satisfiable formula the optimal pair itself, checked against every constraint of the
program in exact arithmetic. The assignment is read back off the pair.
"""

from __future__ import annotations

import math
import time
from fractions import Fraction
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...algorithms.mdp.planning import Pair
from ...solvers.outcome import SatStatus
from ...solvers.sat.sat import Clauses, solve_sat
from ..family.family import Family, Instance
from ..program.optimum import back, forward

if TYPE_CHECKING:
    from pysat.formula import CNF, WCNF

    from ..formula.formula import Formula

Engine = Literal["sat", "milp"]
ENGINES: tuple[Engine, ...] = ("sat", "milp")


class Decision(NamedTuple):
    """The answer, with its certificate where it is yes.

    Attributes
    ----------
    satisfiable
        The verdict, None when undecided.
    assignment
        Values of the variables of the formula as read, bool, shape (n,), when
        satisfiable. They satisfy it.
    pair
        The optimal pair (g, π) of the family, checked, when satisfiable.
    value
        Its exact g(s0), which is 1.
    decided_by
        "sat" or "milp": the engine whose word it is; "" when undecided.
    remarks
        What happened on the way, for people.
    seconds
        Wall time.
    """

    satisfiable: bool | None
    assignment: NDArray[np.bool_] | None
    pair: Pair | None
    value: Fraction | None
    decided_by: str
    remarks: tuple[str, ...]
    seconds: float


def decide(
    source: Instance | Formula | CNF | WCNF,
    engine: Engine = "sat",
    *,
    formulation: str | None = None,
    time_limit: float | None = None,
) -> Decision:
    """Decide whether the formula is satisfiable.

    Parameters
    ----------
    source
        The formula, PySAT's, too; or a formula with a family of a variant's choice.
    engine
        "sat" runs a SAT solver on the 3-SAT form. "milp" solves a formulation
        of OLIVE's program; the optimum of a satisfiable formula is proved by its
        solution, and one below is confirmed by the SAT solver before it is believed.
    formulation
        Of the MILP; by size when None.
    time_limit
        Seconds for each engine, None for no limit.

    Raises
    ------
    RuntimeError
        If a model of the 3-SAT form makes no pair of the value that it should,
        or the pair no model of the formula: bugs.
    """
    start = time.perf_counter()
    instance = source if isinstance(source, Instance) else Instance.of(source)
    if engine == "milp":
        found, remarks = _ask_milp(instance, formulation, time_limit)
    elif engine == "sat":
        found, remarks = _ask_sat(instance.family, time_limit), ()
    else:
        raise ValueError(f"unknown engine {engine!r}: choose from {', '.join(ENGINES)}")
    pair = assignment = None
    if found.assignment is not None:
        pair, assignment = _confirm(instance, found.assignment)
    return Decision(
        satisfiable=found.satisfiable,
        assignment=assignment,
        pair=pair,
        value=None if pair is None else instance.family.parameters.best,
        decided_by=found.engine,
        remarks=remarks + found.remarks,
        seconds=time.perf_counter() - start,
    )


class _Answer(NamedTuple):
    satisfiable: bool | None
    assignment: NDArray[np.bool_] | None  # of the 3-SAT form
    engine: str
    remarks: tuple[str, ...] = ()


def _ask_sat(family: Family, time_limit: float | None) -> _Answer:
    m = family.n_clauses
    offsets = np.arange(0, 3 * m + 1, 3, dtype=np.int64)
    try:
        outcome = solve_sat(
            Clauses(family.clauses.reshape(-1), offsets),
            family.n_variables,
            time_limit=time_limit,
        )
    except RuntimeError as error:  # it failed, or gave a model that is none
        return _Answer(None, None, "", (f"sat: {error}",))
    if outcome.status is SatStatus.UNKNOWN:
        return _Answer(None, None, "", (f"{outcome.engine}: {outcome.reason}",))
    verdict = outcome.status is SatStatus.SATISFIABLE
    return _Answer(verdict, outcome.model, "sat")


def _ask_milp(
    instance: Instance, formulation: str | None, time_limit: float | None
) -> tuple[_Answer, tuple[str, ...]]:
    # Imported on use: with PuLP and HiGHS it takes longer than a small decision.
    from .route import Settings
    from .routes import run_route

    limit = math.inf if time_limit is None else time_limit
    settings = Settings(formulation, limit, np.random.default_rng(0))
    found = run_route("milp", instance, settings, {})
    name = "milp"
    if found.status != "error":
        name += f" ({found.details['engine']}, {found.details['formulation']})"
    best = instance.family.parameters.best
    if found.lower == best:
        return _Answer(True, found.assignment, "milp"), (f"{name}: optimum {best}",)
    if not found.finished:
        answer = _Answer(None, None, "")
        return answer, (f"{name}: {found.reason or found.status}",)
    claim = f"{name}: optimum {found.value}, which a MILP alone does not prove"
    confirmed = _ask_sat(instance.family, time_limit)
    if confirmed.satisfiable is None:
        return confirmed, (claim, "not confirmed by the SAT solver")
    if confirmed.satisfiable:
        return confirmed, (claim, "the SAT solver's model refutes the MILP engine")
    return confirmed, (claim, "confirmed by the SAT solver")


def _confirm(
    instance: Instance, model: NDArray[np.bool_]
) -> tuple[Pair, NDArray[np.bool_]]:
    family = instance.family
    pair = forward(family, model)
    value = pair.value(family.start)
    if value != family.parameters.best:
        raise RuntimeError(f"a model of the 3-SAT form gives a pair of value {value}")
    assignment = instance.restrict(back(family, pair))  # which checks the pair
    if not instance.formula.satisfied(assignment).all():
        raise RuntimeError("the certificate back does not satisfy the formula")
    return pair, assignment
