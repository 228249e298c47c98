"""Verify that the optimum of OLIVE's program equals satisfiability.

The routes of `olivine.reduction.verify.routes` answer independently; this module
chooses which of them run, holds their answers against each other and says what is
proved.

Choice of routes, unless they are named (m, n: sizes of the 3-SAT form):

=========  ===================================================================
sat        always
maxsat     m <= 20,000, or the SAT solver has not found the formula satisfiable
           (a model already proves u = 0)
milp       m <= 1,000 and n <= 3,000
brute      2^n m <= 20,000
treewidth  never: it is run where it is named
witness    always, last, from the best assignment of the others
=========  ===================================================================

Examples
--------
>>> from olivine.reduction.formula.formula import Formula
>>> from olivine.reduction.verify.verification import verify
>>> answer = verify(Formula.from_clauses([[1], [-1]]), variant="paper")
>>> answer.satisfiable, answer.unsatisfied, str(answer.optimum), answer.agree
(False, 1, '5/6', True)
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from ..family.family import Family
from ..family.instance import Instance
from ..family.variants import Variant
from ..formula.formula import Formula
from .agreement import Combined, combine
from .route import ROUTES, Route, RouteResult, Settings
from .routes import run_route

if TYPE_CHECKING:
    from pysat.formula import CNF, WCNF

MAXSAT_CLAUSES = 20_000
MILP_CLAUSES, MILP_VARIABLES = 1_000, 3_000
BRUTE_WORK = 20_000


@dataclass(frozen=True)
class Verification(Combined):
    """What the routes found, together.

    Attributes
    ----------
    variables, clauses
        Of the formula as given.
    three_sat_variables, three_sat_clauses
        Of its 3-SAT form.
    variant, penalty
        Of the family.
    satisfiable
        Verdict, or None where nothing proves one.
    unsatisfied
        Least unsatisfied weight (number of clauses, when unweighted) of the
        3-SAT form, or None where it is not proved.
    optimum
        Exact optimum of OLIVE's program, or None where it is not proved.
    optimum_by
        Routes that proved it: each by itself, or one from above and one from below.
    routes
        What each route found.
    contradictions
        Answers that exclude each other; see `combine`.
    seed
        Of the local search.
    seconds
        Wall time.
    """

    variables: int
    clauses: int
    three_sat_variables: int
    three_sat_clauses: int
    variant: Variant
    penalty: Fraction
    routes: Mapping[Route, RouteResult]
    seed: int
    seconds: float

    @property
    def agree(self) -> bool | None:
        """Whether all finished routes agree; None when fewer than two finished."""
        if self.contradictions:
            return False
        finished = sum(result.finished for result in self.routes.values())
        return True if finished >= 2 else None

    @property
    def decided(self) -> bool:
        """Whether both verdict and optimum are proved."""
        return self.satisfiable is not None and self.optimum is not None

    def to_json(self) -> dict[str, Any]:
        """Build the record that ``olivine verify --json`` prints."""
        record: dict[str, Any] = {
            "variables": self.variables,
            "clauses": self.clauses,
            "three_sat": {
                "variables": self.three_sat_variables,
                "clauses": self.three_sat_clauses,
            },
            "variant": str(self.variant),
            "penalty": str(self.penalty),
            "satisfiable": self.satisfiable,
            "unsatisfied": self.unsatisfied,
            "optimum": None if self.optimum is None else str(self.optimum),
            "optimum_by": list(self.optimum_by),
            "routes": {name: r.to_json() for name, r in self.routes.items()},
            "agree": self.agree,
        }
        if self.contradictions:
            record["contradictions"] = list(self.contradictions)
        return record | {"seed": self.seed, "seconds": round(self.seconds, 6)}


def verify(
    formula: Formula | CNF | WCNF,
    variant: Variant | str = Variant.PAPER,
    penalty: Fraction | int | None = None,
    *,
    formulation: str | None = None,
    routes: Iterable[Route] | Route | None = None,
    time_limit: float | None = None,
    seed: int = 0,
    engine: str = "highs",
) -> Verification:
    """Compute the optimum of OLIVE's program by independent routes.

    Parameters
    ----------
    formula
        Any formula without hard clauses, weighted or not; PySAT's, too.
    variant, penalty
        Of the family; the penalty is the variant's default when None.
    formulation
        Of the MILP route: "faithful", "strengthened" or "projected"; by size when None.
    routes
        The routes to run, or the name of one; when None, chosen by size (see the
        module).
    time_limit
        Seconds for each route; when None, 60, and 5 for the MILP.
    seed
        Of the local search of the witness route.
    engine
        Of the MILP route, one of `olivine.solvers.milp.milp.available_engines()`.

    Raises
    ------
    ValueError
        If the formula has hard clauses, a parameter is out of range, a route is
        unknown or the engine is not installed.
    """
    return verify_instance(
        Instance.of(formula, variant, penalty),
        formulation=formulation,
        routes=routes,
        time_limit=time_limit,
        seed=seed,
        engine=engine,
    )


def verify_instance(
    instance: Instance,
    *,
    formulation: str | None = None,
    routes: Iterable[Route] | Route | None = None,
    time_limit: float | None = None,
    seed: int = 0,
    engine: str = "highs",
) -> Verification:
    """Do the same for a family that is built already; see `verify`."""
    start = time.perf_counter()
    named = None if routes is None else _known(routes)
    settings = Settings(formulation, time_limit, np.random.default_rng(seed), engine)
    formula, family = instance.formula, instance.family
    results: dict[Route, RouteResult] = {}
    for route in ROUTES:
        if route in named if named is not None else _worth(route, family, results):
            results[route] = run_route(route, instance, settings, results)
    found = combine(family.parameters, results)
    return Verification(
        **vars(found),
        variables=formula.n_variables,
        clauses=formula.n_clauses,
        three_sat_variables=family.n_variables,
        three_sat_clauses=family.n_clauses,
        variant=family.variant,
        penalty=family.penalty,
        routes=results,
        seed=seed,
        seconds=time.perf_counter() - start,
    )


def _known(routes: Iterable[Route] | Route) -> frozenset[Route]:
    # A text is iterable, too: its letters are no routes.
    named = frozenset([routes] if isinstance(routes, str) else routes)
    for route in named:
        if route not in ROUTES:
            raise ValueError(
                f"unknown route {route!r}: choose from {', '.join(ROUTES)}"
            )
    return named


def _worth(route: Route, family: Family, results: Mapping[Route, RouteResult]) -> bool:
    m, n = family.n_clauses, family.n_variables
    if route == "maxsat":
        known = "sat" in results and results["sat"].satisfiable is True
        return m <= MAXSAT_CLAUSES or not known
    if route == "milp":
        return m <= MILP_CLAUSES and n <= MILP_VARIABLES
    if route == "brute":
        if family.layout.n_sides:  # no member attains the optimum
            return False
        return n < BRUTE_WORK.bit_length() and m << n <= BRUTE_WORK
    return route != "treewidth"
