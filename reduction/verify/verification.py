"""Verify that the optimum of OLIVE's program equals satisfiability.

The routes of `olivine.reduction.verify.routes` answer independently; this module
chooses which of them run, holds their answers against each other and says what is
proved. Unless routes are named (m, n: sizes of the 3-SAT form):

=========  ===================================================================
sat        always
maxsat     m <= 20,000, or the SAT solver has not found the formula satisfiable
           (a model already proves u = 0)
milp       m <= 1,000 and n <= 3,000
brute      2^n m <= 20,000
treewidth  never: it is run where it is named
witness    always, last, from the best assignment of the others
=========  ===================================================================

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
from itertools import combinations
from typing import TYPE_CHECKING, Any

from ...algorithms.exact.arrays import check_choice, check_count, check_type
from ...algorithms.exact.multinomial import generator
from ..family.family import Family, Instance
from ..family.variants import Parameters, Variant
from ..formula.formula import Formula
from ..program.optimum import optimum as theorem_o
from ..program.optimum import unsatisfied_from_optimum
from .route import ROUTES, Results, Route, RouteResult, Settings
from .routes import run_route

if TYPE_CHECKING:
    from pysat.formula import CNF, WCNF


@dataclass(frozen=True)
class Combined:
    """What answers imply together; see `Verification`."""

    satisfiable: bool | None
    unsatisfied: int | None
    optimum: Fraction | None
    optimum_by: tuple[Route, ...]
    contradictions: tuple[str, ...]


def combine(parameters: Parameters, results: Results) -> Combined:
    """Hold answers against each other and against Theorem O."""
    contradictions = tuple(_contradictions(parameters, results))
    best = parameters.best
    proofs = {n: r for n, r in results.items() if n != "milp" or r.lower == best}
    if contradictions and any(_contradictions(parameters, proofs)):
        return Combined(None, None, None, (), contradictions)
    lower, upper = _bounds(proofs, best)
    optimum = lower if lower == upper else None
    satisfiable = True if lower == best else False if upper < best else None
    unsatisfied = _first(r.unsatisfied for r in proofs.values())
    if unsatisfied is None and optimum is not None:
        implied = unsatisfied_from_optimum(parameters, optimum)
        attained = [r.attained for r in results.values() if r.attained is not None]
        # Under the cap it only bounds u from below; an assignment may settle it.
        if implied.exact or implied.at_least in attained:
            unsatisfied = implied.at_least
    by = () if optimum is None else _provers(proofs, optimum, best)
    return Combined(satisfiable, unsatisfied, optimum, by, contradictions)


def _bounds(results: Results, best: Fraction) -> tuple[Fraction, Fraction]:
    lowers = [r.lower for r in results.values() if r.lower is not None]
    uppers = [r.upper for r in results.values() if r.upper is not None]
    return max(lowers, default=Fraction(0)), min(uppers, default=best)


def _provers(results: Results, optimum: Fraction, best: Fraction) -> tuple[Route, ...]:
    """Routes that prove the optimum: alone, or from above with one from below."""
    below = {name for name, r in results.items() if r.lower == optimum}
    above = {name for name, r in results.items() if r.upper == optimum}
    alone = below if optimum == best else below & above
    halves = (below | above) - alone
    if not (halves & below and halves & above):
        halves = set()
    return tuple(route for route in ROUTES if route in alone | halves)


def _contradictions(parameters: Parameters, results: Results) -> Iterable[str]:
    for name, r in results.items():
        if r.lower is not None and r.value is not None and r.lower > r.value:
            yield f"{name} says {r.value} but attains {r.lower}"
        if r.status == "infeasible":
            yield f"{name} calls the program infeasible; the witness is feasible"
        if r.finished and r.unsatisfied is not None and r.value is not None:
            stated = theorem_o(parameters, r.unsatisfied)
            if stated != r.value:
                yield (
                    f"{name}: {r.unsatisfied} unsatisfied mean an optimum of "
                    f"{stated} by Theorem O, not {r.value}"
                )
    for (a, x), (b, y) in combinations(results.items(), 2):
        yield from _exclusions(a, x, b, y)


def _exclusions(a: Route, x: RouteResult, b: Route, y: RouteResult) -> Iterable[str]:
    if x.finished and y.finished:
        for what, mine, theirs in (
            ("satisfiable", x.satisfiable, y.satisfiable),
            ("least unsatisfied", x.unsatisfied, y.unsatisfied),
            ("optimum", x.value, y.value),
        ):
            if mine is not None and theirs is not None and mine != theirs:
                yield f"{what}: {a} says {mine}, {b} says {theirs}"
    for one, r, other, s in ((a, x, b, y), (b, y, a, x)):
        # A finished answer is held against bounds too: that is what tells a
        # MILP's vote from an unsatisfiability verdict.
        least = r.value if r.finished and r.value is not None else r.lower
        most = s.value if s.finished and s.value is not None else s.upper
        if least is not None and most is not None and least > most:
            both_values = least == r.value and most == s.value
            if not (r.finished and s.finished and both_values):
                yield f"optimum: {one} says at least {least}, {other} at most {most}"


def _first(values: Iterable[Any]) -> Any:
    return next((v for v in values if v is not None), None)


MAXSAT_CLAUSES = 20_000
MILP_CLAUSES, MILP_VARIABLES = 1_000, 3_000
BRUTE_WORK = 20_000


@dataclass(frozen=True)
class Verification(Combined):
    """What the routes found, together.

    Attributes
    ----------
    variables, clauses, three_sat_variables, three_sat_clauses
        Of the formula as given, and of its 3-SAT form.
    variant, penalty
        Of the family.
    satisfiable
        Verdict, or None where nothing proves one.
    unsatisfied
        Least unsatisfied weight (number of clauses, when unweighted) of the 3-SAT form,
        or None where it is not proved.
    optimum
        Exact optimum of OLIVE's program, or None where it is not proved.
    optimum_by
        Routes that proved it: each by itself, or one from above and one from below.
    routes
        What each route found.
    contradictions
        Answers that exclude each other.
    seed, seconds
        Of the local search; wall time.
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
    seed = check_count("seed", seed, least=0)
    named = None if routes is None else _known(routes)
    settings = Settings(formulation, time_limit, generator(seed), engine)
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
    check_type("routes", routes, Iterable, "route and no list of routes")
    # A text is iterable, too: its letters are no routes.
    named = frozenset([routes] if isinstance(routes, str) else routes)
    for route in named:
        check_choice("route", route, ROUTES)
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
