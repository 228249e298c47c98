"""The least unsatisfied weight of a formula, with the exact pair that shows it.

MaxSAT finds the assignment; its pair (g, π) is checked against every constraint of
OLIVE's program, must have the value that Theorem O gives the weight, and the answer is
read back off the pair. That nothing is better is the MaxSAT engine's word.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ...solvers.outcome import SatStatus
from ...solvers.sat.maxsat import Better
from ..family.instance import Instance
from ..formula.hard import Hardened
from ..program.optimum import optimum
from ..program.witness import back, forward
from .maxsat_route import least_unsatisfied
from .route import Settings


@dataclass(frozen=True)
class Optimum:
    """What is known of the least unsatisfied weight."""

    # "optimal"; "feasible", a limit was reached with an assignment known;
    # "unsatisfiable", the hard clauses conflict; or "unknown"
    status: str
    # Weight of the soft clauses that `assignment` leaves unsatisfied; the least where
    # optimal
    cost: int | None = None
    # The best known, of the formula as read, bool, shape (n,)
    assignment: NDArray[np.bool_] | None = None
    value: Fraction | None = None  # Exact g(s0) of its pair
    remarks: tuple[str, ...] = ()  # What happened on the way, for people


def optimise(
    instance: Instance,
    hardened: Hardened | None = None,
    *,
    milp: bool = False,
    formulation: str | None = None,
    better: Better = lambda cost, assignment: None,
    time_limit: float | None = None,
) -> Optimum:
    """Find the least unsatisfied weight.

    `better` is called with each better cost, and its assignment for `shown`.
    """
    remarks: tuple[str, ...] = ()
    if milp:
        remarks = (_ask_milp(instance, formulation, time_limit),)
    outcome = least_unsatisfied(
        instance,
        np.random.default_rng(0),
        hard=None if hardened is None else hardened.original.hard,
        better=better,
        time_limit=time_limit,
    )
    unknown = outcome.status is SatStatus.UNKNOWN
    if unknown:
        reason = f"{outcome.engine}: {outcome.reason}; at least {outcome.lower}"
        remarks = (*remarks, reason)
    if outcome.model is None or outcome.cost is None:
        return Optimum("unknown" if unknown else "unsatisfiable", remarks=remarks)
    status = "feasible" if unknown else "optimal"
    return shown(instance, outcome.cost, outcome.model, status, remarks)


def shown(
    instance: Instance,
    cost: int,
    model: NDArray[np.bool_],
    status: str,
    remarks: tuple[str, ...],
) -> Optimum:
    """Show a cost by an assignment's pair, and read the assignment off the pair."""
    pair = forward(instance.family, instance.family.three_sat.extend(model))
    assignment = instance.restrict(back(instance.family, pair))  # checks the pair
    value = pair.value(instance.family.start)
    if value != optimum(instance.family.parameters, cost):
        raise RuntimeError(f"weight {cost} gives a pair of value {value}")
    attained = instance.formula.unsatisfied_weight(assignment)
    if attained != cost:
        raise RuntimeError(f"the pair's assignment has {attained}, not {cost}")
    return Optimum(status, cost, assignment, value, remarks)


def _ask_milp(
    instance: Instance, formulation: str | None, time_limit: float | None
) -> str:
    # Imported on use: PuLP and HiGHS are slow to load, and seldom asked.
    from .milp_route import milp_route

    limit = math.inf if time_limit is None else time_limit
    found = milp_route(instance, Settings(formulation, limit, np.random.default_rng(0)))
    told = f"optimum {found.value}" if found.finished else found.reason or found.status
    return f"milp ({found.details['formulation']}): {told}, held against MaxSAT below"
