"""Verify that the deterministic multi-data-set oracle decides a formula.

A SAT solver, the oracle on the formula's instance and, for few variables, all 2^n
policies must agree; the mixture form must call every formula feasible.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ...algorithms.oracles.multi import MultiResult, MultiStatus
from ...solvers.outcome import SatStatus
from ...solvers.sat.sat import solve_sat
from ..formula.formula import Formula
from ..formula.prepare import Used, without_unused
from ..verify.route import RouteResult
from .hardness import TOLERANCE, MultiInstance

BRUTE_VARIABLES = 10

MultiRoute = Literal["sat", "deterministic", "brute"]


@dataclass(frozen=True, eq=False)
class MultiVerification:
    """What the routes found, together."""

    instance: MultiInstance  # The multi-data-set problem
    variables: int  # of the formula as given
    clauses: int
    satisfiable: bool | None  # The verdict, None where no route has one
    # Of the formula as given, read off the deterministic policy if there is one
    assignment: NDArray[np.bool_] | None
    routes: Mapping[MultiRoute, RouteResult]  # What each route found
    mixture: MultiResult  # The mixture form's answer
    mixture_seconds: float  # Its time
    contradictions: tuple[str, ...]  # What cannot be

    @property
    def agree(self) -> bool | None:
        """Whether all finished routes agree; None when fewer than two finished."""
        if self.contradictions:
            return False
        votes = [r for r in self.routes.values() if r.satisfiable is not None]
        return True if len(votes) >= 2 else None

    def to_json(self) -> dict[str, Any]:
        """One record."""
        sizes = self.instance.declared_sizes()
        mixture = self.mixture.to_json()
        return {
            "variables": self.variables,
            "clauses": self.clauses,
            "data_sets": sizes.data_sets,
            "examples": sizes.examples,
            "observations": sizes.observations,
            "epsilon_feas": TOLERANCE,
            "satisfiable": self.satisfiable,
            "routes": {
                name: {"status": r.status, **r.details, "seconds": round(r.seconds, 6)}
                for name, r in self.routes.items()
            },
            "mixture": mixture | {"seconds": round(self.mixture_seconds, 6)},
            "agree": self.agree,
            "contradictions": list(self.contradictions),
        }


def verify_multi_hardness(
    formula: Formula, *, time_limit: float | None = None
) -> MultiVerification:
    """Decide a formula by its multi-data-set problem and by SAT."""
    used = without_unused(formula)
    clauses_of = formula if used is None else used.formula
    instance = MultiInstance(clauses_of.three_sat())
    routes: dict[MultiRoute, RouteResult] = {"sat": _by_sat(clauses_of, time_limit)}
    found, routes["deterministic"] = _deterministically(instance, time_limit)
    if instance.three_sat.n_variables <= BRUTE_VARIABLES:
        routes["brute"] = _by_brute_force(instance)
    start = time.perf_counter()
    mixture = instance.solve("column-generation")
    seconds = time.perf_counter() - start
    votes = {n: r.satisfiable for n, r in routes.items() if r.satisfiable is not None}
    contradictions = []
    if len(set(votes.values())) > 1:
        contradictions.append(f"satisfiable: {votes}")
    if mixture.status is MultiStatus.INFEASIBLE:
        contradictions.append(f"mixture: {mixture.status.value}")
    return MultiVerification(
        instance=instance,
        variables=formula.n_variables,
        clauses=formula.n_clauses,
        satisfiable=next(iter(votes.values()), None),
        assignment=_certificate_back(formula, used, instance, found),
        routes=routes,
        mixture=mixture,
        mixture_seconds=seconds,
        contradictions=tuple(contradictions),
    )


def _by_sat(formula: Formula, time_limit: float | None) -> RouteResult:
    start = time.perf_counter()
    try:
        outcome = solve_sat(formula, formula.n_variables, time_limit=time_limit)
    except RuntimeError as error:  # it failed, or gave a model that is none
        seconds = time.perf_counter() - start
        return RouteResult("error", seconds, details={"reason": str(error)})
    verdict = {SatStatus.SATISFIABLE: True, SatStatus.UNSATISFIABLE: False}
    satisfiable = verdict.get(outcome.status)
    return RouteResult(outcome.status.value, outcome.seconds, satisfiable=satisfiable)


def _deterministically(
    instance: MultiInstance, time_limit: float | None
) -> tuple[MultiResult, RouteResult]:
    start = time.perf_counter()
    found = instance.solve("deterministic", time_limit=time_limit)
    verdict = {MultiStatus.FEASIBLE: True, MultiStatus.INFEASIBLE: False}
    details: dict[str, Any] = {"nodes": found.nodes, "proved": found.proved}
    if found.reason:
        details["reason"] = found.reason
    return found, RouteResult(
        found.status.value,
        time.perf_counter() - start,
        satisfiable=verdict.get(found.status),
        details=details,
    )


def _by_brute_force(instance: MultiInstance) -> RouteResult:
    start = time.perf_counter()
    n, tried, satisfiable = instance.three_sat.n_variables, 0, False
    for values in itertools.product((False, True), repeat=n):
        tried += 1
        policy = instance.policy(np.array(values, dtype=np.bool_))
        if instance.violation(policy) == 0:
            satisfiable = True
            break
    status = "feasible" if satisfiable else "infeasible"
    return RouteResult(
        status,
        time.perf_counter() - start,
        satisfiable=satisfiable,
        details={"policies": tried},
    )


def _certificate_back(
    formula: Formula, used: Used | None, instance: MultiInstance, found: MultiResult
) -> NDArray[np.bool_] | None:
    if not found.feasible or found.policy is None:
        return None
    (policy,) = found.policy.members
    assignment = instance.assignment(policy)
    restricted = instance.three_sat.restrict(assignment)
    if used is not None:
        restricted = used.extend(restricted)
    if not formula.satisfied(restricted).all():
        raise RuntimeError("a policy within the limits came back as no model")
    return restricted
