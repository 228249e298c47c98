"""The route by dynamic programming over a tree decomposition of the 3-SAT form."""

from __future__ import annotations

from olivine.reduction.family.instance import Instance
from olivine.reduction.formula.formula import ThreeSat
from olivine.reduction.program.optimum import optimum as theorem_o
from olivine.reduction.verify.route import RouteResult, Settings
from olivine.solvers.child import run_in_child
from olivine.solvers.treewidth import Elimination, TooWideError, solve_by_treewidth


def treewidth_route(instance: Instance, settings: Settings) -> RouteResult:
    """Find the least unsatisfied weight of the 3-SAT form, if it is narrow.

    Raises
    ------
    RuntimeError
        If the dynamic programming fails, or its assignment leaves another weight
        unsatisfied than it says.
    """
    family = instance.family
    child = run_in_child(
        _solve, family.three_sat, time_limit=settings.limit("treewidth")
    )
    child.raise_error("the treewidth route")
    if child.value is None:
        return RouteResult("unknown", child.seconds, reason=child.message)
    if isinstance(child.value, str):
        return RouteResult("unknown", child.seconds, reason=child.value)
    u, assignment, width = child.value
    attained = family.three_sat.unsatisfied_weight(assignment)
    if attained != u:
        raise RuntimeError(f"claims {u} unsatisfied, its assignment leaves {attained}")
    value = theorem_o(family.parameters, u)
    return RouteResult(
        "optimal",
        child.seconds,
        finished=True,
        value=value,
        satisfiable=u == 0,
        unsatisfied=u,
        lower=value,
        upper=value,
        assignment=assignment,
        attained=attained,
        details={"width": width},
    )


def _solve(three_sat: ThreeSat) -> Elimination | str:
    """Solve, in the child; a refusal comes back as its reason."""
    weights = None if three_sat.weights is None else three_sat.weights.tolist()
    try:
        return solve_by_treewidth(
            three_sat.clauses.tolist(), three_sat.n_variables, weights
        )
    except TooWideError as error:
        return str(error)
