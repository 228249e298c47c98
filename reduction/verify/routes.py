"""Independent routes to the optimum of OLIVE's program over a formula's family.

Each route answers on its own, within its own time limit, and says what it vouches for:

=========  ===================================================================
route      what it does, and what that proves
=========  ===================================================================
sat        a SAT solver on the formula as read. Satisfiable: the optimum is 1.
           Unsatisfiable: it is at most the greatest possible optimum below 1.
maxsat     MaxSAT on the formula as read finds the least unsatisfied weight u, or
           bounds of it; Theorem O turns it into the optimum.
milp       a formulation of the program itself in floating point, which gets nothing
           that other routes found. Its answer is rounded to the possible optima and
           must be attained exactly by the certificate back of its solution. That
           proves a lower bound, so an optimum of 1; anything below stays a vote.
brute      the best of all 2^n members, max over y of V*(M_y) at s0, by exact backward
           induction for all y at once: no theorem about u, and not the formula.
treewidth  dynamic programming over a tree decomposition of the 3-SAT form finds u,
           in time exponential in the width alone; Theorem O does the rest.
witness    the certificate forward of the best assignment known (a local search
           improves it), checked against every constraint in exact arithmetic:
           a lower bound, and the optimum where an upper bound meets it.
=========  ===================================================================

Routes `sat` and `maxsat` see the original clauses, the others the 3-SAT form,
so that their agreement checks Lemma 1 as well.
"""

from __future__ import annotations

import math
import time
import traceback
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...algorithms.exact.arrays import IntArray, fits_int64
from ...algorithms.mdp.tabular import TabularMDP
from ...solvers.child.child import run_in_child
from ...solvers.outcome import LinearOutcome, SatStatus, Status
from ...solvers.sat.sat import solve_sat
from ...solvers.treewidth import Elimination, TooWideError, solve_by_treewidth
from ..family.family import Family, Instance
from ..family.variants import refuse_sides
from ..formula.formula import ThreeSat
from ..formula.local_search import walksat
from ..program.optimum import back, certify, round_to_possible, unsatisfied_from_optimum
from ..program.optimum import optimum as theorem_o
from ..program.program import build, solve_program
from .optimise import maxsat_route
from .route import Results, Route, RouteResult, Settings

FLIPS = 100_000
"""Flips of the local search, and 20 more a variable."""

FAITHFUL_SIZE = 12
STRENGTHENED_SIZE = 80
"""Up to these n + m the MILP is faithful, strengthened; then projected."""

_Solved = tuple[LinearOutcome, NDArray[np.bool_] | None, str]

MAX_VARIABLES = 20
_CHUNK_BITS = 13  # members at a time: their values of one state fit a cache


def run_route(
    route: Route, instance: Instance, settings: Settings, earlier: Results
) -> RouteResult:
    """Run one route."""
    start = time.perf_counter()
    try:
        if route == "witness":
            return witness_route(instance, settings, earlier)
        others = {
            "sat": sat_route,
            "maxsat": maxsat_route,
            "milp": milp_route,
            "brute": brute_route,
            "treewidth": treewidth_route,
        }
        return others[route](instance, settings)
    except (MemoryError, OSError) as error:
        reason = str(error) or "out of memory"
        return RouteResult("unknown", time.perf_counter() - start, reason=reason)
    except Exception as error:
        return RouteResult(
            "error",
            time.perf_counter() - start,
            reason=f"{type(error).__name__}: {error}",
            details={"traceback": "".join(traceback.format_exception(error))},
        )


def sat_route(instance: Instance, settings: Settings) -> RouteResult:
    """Decide the formula as read, but for variables left out."""
    family = instance.family
    formula, best = family.three_sat.original, family.parameters.best
    outcome = solve_sat(formula, formula.n_variables, time_limit=settings.limit("sat"))
    if outcome.status is SatStatus.UNKNOWN:
        return RouteResult("unknown", outcome.seconds, reason=outcome.reason)
    if outcome.model is not None:
        return _proved(
            "satisfiable",
            outcome.seconds,
            instance,
            best,
            family.three_sat.extend(outcome.model),
            0,
            unsatisfied=0,
        )
    # Some clause stays unsatisfied, at best the lightest; and the penalty keeps
    # the optimum from falling further.
    lightest = 1 if family.weights is None else int(family.weights.min())
    upper = theorem_o(family.parameters, lightest)
    lower = best - family.penalty
    return RouteResult(
        "unsatisfiable",
        outcome.seconds,
        finished=True,
        value=upper if lower == upper else None,
        satisfiable=False,
        lower=lower,
        upper=upper,
    )


def formulation_for(family: Family) -> str:
    """Choose the formulation by size: `faithful` where HiGHS solves it in a moment.

    Then `strengthened` for some dozens of clauses, and `projected` above.
    """
    size = family.n_variables + family.n_clauses
    if family.layout.n_sides:
        return "projected"
    if size <= FAITHFUL_SIZE:
        return "faithful"
    return "strengthened" if size <= STRENGTHENED_SIZE else "projected"


def milp_route(instance: Instance, settings: Settings) -> RouteResult:
    """Solve a formulation of the program; believe what its solution attains."""
    start = time.perf_counter()
    family = instance.family
    formulation = settings.formulation or formulation_for(family)
    details = {"engine": settings.engine, "formulation": formulation}

    def result(status: str, **found: Any) -> RouteResult:
        seconds = time.perf_counter() - start
        return RouteResult(status, seconds, details=details, **found)

    limit = settings.limit("milp")
    # A large model takes longer to build than to solve, so that is limited too;
    # the engine needs a moment more to stop in time.
    child = run_in_child(
        _solve,
        family,
        formulation,
        settings.engine,
        limit,
        time_limit=None if limit is None else 1.1 * limit + 1.5,
    )
    child.raise_error("the MILP route")
    if child.value is None:
        return result("unknown", reason=child.message)
    outcome, assignment, fault = child.value
    if assignment is None:
        # Infeasible is a finished answer, and a false one.
        infeasible = outcome.status is Status.INFEASIBLE
        status = "infeasible" if infeasible else "unknown"
        return result(status, finished=infeasible, reason=outcome.reason or fault)
    exact = certify(family, assignment)
    attained = family.three_sat.unsatisfied_weight(assignment)
    lower = {"lower": exact, "assignment": assignment, "attained": attained}
    if exact == family.parameters.best:
        # Nothing is above it: the witness is a proof, whatever the engine says.
        one = {"value": exact, "satisfiable": True, "upper": exact}
        return result("optimal", finished=True, **one, **lower)
    if outcome.status is not Status.OPTIMAL:
        return result("feasible", value=exact, reason=outcome.reason, **lower)
    try:
        value, _ = round_to_possible(family.parameters, outcome.objective or math.nan)
    except ValueError as error:
        return result("unknown", reason=str(error), **lower)
    if exact < value:
        reason = f"claims {value}, but its solution attains {exact} exactly"
        return result("unknown", reason=reason, **lower)
    return result("optimal", finished=True, value=value, **lower)


def milp_remark(
    instance: Instance, formulation: str | None, time_limit: float | None
) -> str:
    """Say in a few words what the MILP finds, whose word proves no optimum below."""
    limit = math.inf if time_limit is None else time_limit
    found = milp_route(instance, Settings(formulation, limit, np.random.default_rng(0)))
    told = f"optimum {found.value}" if found.finished else found.reason or found.status
    return f"milp ({found.details['formulation']}): {told}, held against MaxSAT below"


def _solve(
    family: Family, formulation: str, engine: str, limit: float | None
) -> _Solved:
    """Build and solve, in the child; a solution comes back as an assignment."""
    start = time.perf_counter()
    built = build(family, formulation)
    if limit is not None:
        limit = max(0.0, limit - (time.perf_counter() - start))
    try:
        outcome = solve_program(built, engine=engine, time_limit=limit)
    except OSError as error:  # no room for temporary files, no more processes
        return LinearOutcome(Status.UNKNOWN, None, None, 0.0, ""), None, str(error)
    if outcome.values is None:
        return outcome, None, ""
    try:
        # A point of the model is a pair up to rounding; made exact, it is
        # checked against the program.
        assignment = back(family, built.pair(outcome.values))
    except ValueError as error:
        return outcome, None, f"its solution is no pair: {error}"
    return outcome, assignment, ""


def brute_route(instance: Instance, settings: Settings) -> RouteResult:
    """Plan exactly in every member and take the best."""
    family = instance.family
    if family.layout.n_sides:
        reason = f"no member of variant {family.variant} attains the optimum"
        return RouteResult("unknown", 0.0, reason=reason)
    if family.n_variables > MAX_VARIABLES:
        reason = f"2^{family.n_variables} members; at most 2^{MAX_VARIABLES} are tried"
        return RouteResult("unknown", 0.0, reason=reason)
    result = run_in_child(best_member, family, time_limit=settings.limit("brute"))
    result.raise_error("the brute-force route")
    if result.value is None:
        return RouteResult("unknown", result.seconds, reason=result.message)
    value, y = result.value
    attained = family.three_sat.unsatisfied_weight(y)
    return _proved("optimal", result.seconds, instance, value, y, attained)


class BestMember(NamedTuple):
    """The best optimal value of any member, and the first member with it."""

    value: Fraction
    y: NDArray[np.bool_]


def best_member(family: Family, max_variables: int = MAX_VARIABLES) -> BestMember:
    """Find the member with the largest optimal value."""
    refuse_sides(family.variant, "going through the members")
    n = family.n_variables
    if n > max_variables:
        raise ValueError(
            f"{n} variables give 2**{n} members; going through them all is limited "
            f"to {max_variables} variables"
        )
    mdp = family.mdp()
    scale = _common_scale(mdp, family)
    best, best_y = -1, 0
    chunk = 1 << min(n, _CHUNK_BITS)
    for low in range(0, 1 << n, chunk):
        codes = np.arange(low, low + chunk, dtype=np.int64)
        values = _start_values(mdp, family, codes, scale)
        found = int(np.argmax(values))
        if int(values[found]) > best:
            best, best_y = int(values[found]), low + found
    y = (best_y >> np.arange(n) & 1).astype(np.bool_)
    return BestMember(Fraction(best, scale), y)


def _common_scale(mdp: TabularMDP, family: Family) -> int:
    """Find an integer that turns every value met on the way into an integer.

    Denominators divide the product, over the depths, of the lcm of those at that depth.
    """
    rewards = math.lcm(*(r.denominator for r in mdp.reward_table))
    layout = family.layout
    # By the kind of state: s0; clause and X states, which do not follow each
    # other; the rest has no successors.
    outer = mdp.transition_denominator[: layout.solve + 1]
    inner = mdp.transition_denominator[layout.solve + 1 :]
    return rewards * _lcm(outer) * _lcm(inner)


def _lcm(values: NDArray[np.int64]) -> int:
    return math.lcm(*(int(v) for v in np.unique(values)))


def _start_values(
    mdp: TabularMDP, family: Family, codes: NDArray[np.int64], scale: int
) -> IntArray:
    """V*(M_y) at s0 times `scale`, for each y given as a bit code."""
    largest = scale * int(mdp.transition_denominator.max()) * 2
    dtype = np.int64 if fits_int64(largest) else object
    rewards = [int(r * scale) for r in mdp.reward_table]
    values = np.zeros((mdp.n_states, len(codes)), dtype=dtype)
    first = family.layout.first_literal_state
    top = int(family.top * scale)
    for i in range(family.n_variables):
        truth = (codes >> i & 1).astype(dtype)
        values[first + 2 * i] = (1 - truth) * top
        values[first + 2 * i + 1] = truth * top
    literals = range(first, first + 2 * family.n_variables)
    for state in mdp.topological_order()[::-1]:
        if int(state) not in literals:
            values[state] = _best_action(mdp, int(state), rewards, values)
    at_start: IntArray = values[mdp.start]
    return at_start


def _best_action(
    mdp: TabularMDP, state: int, rewards: list[int], values: IntArray
) -> IntArray:
    best: IntArray | None = None
    for action in mdp.actions(state):
        entries = slice(
            int(mdp.transition_offset[action]), int(mdp.transition_offset[action + 1])
        )
        targets = mdp.transition_target[entries]
        total = np.zeros(values.shape[1], dtype=values.dtype)
        for target, numerator in zip(
            targets, mdp.transition_numerator[entries], strict=True
        ):
            total += values[target] * int(numerator)
        total //= int(mdp.transition_denominator[action])  # exact, by the scale
        total += rewards[int(mdp.reward_index[action])]
        best = total if best is None else np.maximum(best, total)
    assert best is not None  # every state has an action
    return best


def treewidth_route(instance: Instance, settings: Settings) -> RouteResult:
    """Find the least unsatisfied weight of the 3-SAT form, if it is narrow."""
    family = instance.family
    child = run_in_child(
        _over_tree, family.three_sat, time_limit=settings.limit("treewidth")
    )
    child.raise_error("the treewidth route")
    if child.value is None:
        return RouteResult("unknown", child.seconds, reason=child.message)
    if isinstance(child.value, str):
        return RouteResult("unknown", child.seconds, reason=child.value)
    u, assignment, width, _ = child.value
    attained = family.three_sat.unsatisfied_weight(assignment)
    if attained != u:
        raise RuntimeError(f"claims {u} unsatisfied, its assignment leaves {attained}")
    return _proved(
        "optimal",
        child.seconds,
        instance,
        theorem_o(family.parameters, u),
        assignment,
        attained,
        unsatisfied=u,
        details={"width": width},
    )


def _proved(
    status: str,
    seconds: float,
    instance: Instance,
    value: Fraction,
    assignment: NDArray[np.bool_],
    attained: int,
    **found: Any,
) -> RouteResult:
    return RouteResult(
        status,
        seconds,
        finished=True,
        value=value,
        satisfiable=value == instance.family.parameters.best,
        lower=value,
        upper=value,
        assignment=assignment,
        attained=attained,
        **found,
    )


def _over_tree(three_sat: ThreeSat) -> Elimination | str:
    """Solve, in the child; a refusal comes back as its reason."""
    weights = None if three_sat.weights is None else three_sat.weights.tolist()
    try:
        return solve_by_treewidth(
            three_sat.clauses.tolist(), three_sat.n_variables, weights
        )
    except TooWideError as error:
        return str(error)


def witness_route(
    instance: Instance, settings: Settings, earlier: Results
) -> RouteResult:
    """Certify the best assignment known, searching for a better one if needed."""
    start = time.perf_counter()
    family = instance.family
    best = family.parameters.best
    upper = min(
        (r.upper for r in earlier.values() if r.upper is not None), default=best
    )
    known = best_assignment(earlier)
    assignment = (
        np.zeros(family.n_variables, dtype=np.bool_) if known is None else known
    )
    value = certify(family, assignment)
    details: dict[str, Any] = {}
    if value < upper:
        search = walksat(
            family.three_sat,
            settings.rng,
            start=known,
            target=unsatisfied_from_optimum(family.parameters, upper).at_least,
            max_flips=FLIPS + 20 * family.n_variables,
            time_limit=settings.limit("witness"),
        )
        details["flips"] = search.flips
        # No worse than its start, but for the penalty's cap all the same.
        assignment = search.assignment
        value = certify(family, assignment)
    optimal = value == upper
    return RouteResult(
        "optimal" if optimal else "feasible",
        time.perf_counter() - start,
        finished=optimal,
        value=value,
        satisfiable=True if value == best else None,
        lower=value,
        assignment=assignment,
        attained=family.three_sat.unsatisfied_weight(assignment),
        reason="" if optimal else "a lower bound; no route met it from above",
        details=details,
    )


def best_assignment(results: Results) -> NDArray[np.bool_] | None:
    """Return the assignment that leaves least unsatisfied, None if none is known."""
    known = [
        (r.attained, k)
        for k, r in enumerate(results.values())
        if r.assignment is not None and r.attained is not None
    ]
    return list(results.values())[min(known)[1]].assignment if known else None
