"""3-SAT as multi-data-set classification: why one policy is too much to ask.

Definition "multi data set classification oracle" (paper, appendix "Additional oracles")
asks for one policy of Π within U_j + ε_feas on every data set. Observations are the
variables, actions the truth values: a policy is an assignment. Clause j is a data set
of its three literals, each an example of its variable, cost 1 for the value that
falsifies it, and U_j = 2/3: feasible, for any ε_feas < 1/3, exactly if the formula is
satisfiable. So it cannot be done by polynomially many CSC calls unless P = NP
(docs/errata.md, 7). Any policy and its complement, half each, cost 1/2 on every data
set, so the mixture form answers "feasible" on all formulas. `verify_multi_hardness`
has a SAT solver, the oracle and, for few variables, all 2^n policies agree.

>>> from olivine.reduction.formula.formula import Formula
>>> instance = MultiInstance(Formula.from_clauses([[1, 2], [-1]]).three_sat())
>>> found = instance.solve("deterministic")
>>> instance.assignment(found.policy.members[0]).tolist()
[False, True]
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..algorithms.classes.finite import TabularPolicy, TabularPolicyClass
from ..algorithms.classes.protocols import Policy
from ..algorithms.exact.data import EmpiricalMeasure
from ..algorithms.oracles.multi import (
    ClassificationSet,
    Method,
    MultiResult,
    MultiStatus,
    multi,
)
from ..solvers.outcome import SatStatus
from ..solvers.sat.sat import solve_sat
from .formula.formula import Formula, ThreeSat, checked_assignment, literal_truth
from .formula.prepare import Used, without_unused
from .verify.route import RouteResult

LIMIT = Fraction(2, 3)
"""U_j."""

LARGEST_TOLERANCE = Fraction(1, 3)
"""The reduction holds for every ε_feas below this."""

TOLERANCE = 0.25


@dataclass(frozen=True)
class MultiSizes:
    """Size of an instance."""

    data_sets: int
    examples: int  # rows of all data sets together
    observations: int
    actions: int


def _data_set(clause: NDArray[np.int32]) -> ClassificationSet:
    """Build the data set of a clause; costs in rationals, so that it is exact."""
    # Action 0, false, falsifies a positive literal.
    falsified = np.stack([clause > 0, clause < 0], axis=1)
    costs = falsified * np.array(Fraction(1), dtype=object)
    variables = np.abs(clause).astype(np.int64) - 1
    return ClassificationSet(EmpiricalMeasure(variables), costs, LIMIT)


@dataclass(frozen=True, eq=False)
class MultiInstance:
    """The multi-data-set problem of a 3-SAT formula."""

    three_sat: ThreeSat  # The formula. Weights are not looked at.

    @property
    def policy_class(self) -> TabularPolicyClass:
        """All assignments: X = {0..n-1}, action 1 for true."""
        return TabularPolicyClass(self.three_sat.n_variables, 2)

    @cached_property
    def sets(self) -> tuple[ClassificationSet, ...]:
        """The instance forward: a data set for each clause."""
        return tuple(map(_data_set, self.three_sat.clauses))

    def policy(self, assignment: ArrayLike) -> TabularPolicy:
        """Certificate forward: an assignment (booleans, shape (n,)) as a policy."""
        values = checked_assignment(assignment, self.three_sat.n_variables)
        return TabularPolicy(values.astype(np.int64))

    def assignment(self, policy: Policy) -> NDArray[np.bool_]:
        """Certificate back: a deterministic policy, whoever found it."""
        values: NDArray[np.bool_] = policy(np.arange(self.three_sat.n_variables)) == 1
        return values

    def violation(self, policy: Policy) -> Fraction:
        """Largest excess over a limit, at least 0: 0 or 1/3."""
        truth = literal_truth(self.three_sat.clauses, self.assignment(policy))
        most = int((3 - truth.sum(axis=1)).max())
        return max(Fraction(most, 3) - LIMIT, Fraction(0))

    def solve(
        self,
        method: Method,
        *,
        epsilon_feas: float = TOLERANCE,
        time_limit: float | None = None,
    ) -> MultiResult:
        """Ask the oracle."""
        if not 0 < epsilon_feas < LARGEST_TOLERANCE:
            raise ValueError(f"epsilon_feas: {epsilon_feas} is not in (0, 1/3)")
        return multi(
            self.policy_class,
            self.sets,
            epsilon_feas=epsilon_feas,
            method=method,
            time_limit=time_limit,
        )

    def declared_sizes(self) -> MultiSizes:
        """Size as a function of n and m."""
        m = self.three_sat.n_clauses
        return MultiSizes(m, 3 * m, self.three_sat.n_variables, 2)

    def measured_sizes(self) -> MultiSizes:
        """Size counted in the data sets."""
        return MultiSizes(
            len(self.sets),
            sum(len(item.data) for item in self.sets),
            self.policy_class.n_observations,
            self.policy_class.n_actions,
        )


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
