"""Hold the answers of routes against each other, and say what they prove."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any

from ..family.variants import Parameters
from ..program.optimum import optimum as theorem_o
from ..program.optimum import unsatisfied_from_optimum
from .route import ROUTES, Results, Route, RouteResult


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
        # Under the cap the optimum only bounds u from below; an assignment
        # that leaves just that settles it.
        if implied.exact or implied.at_least in attained:
            unsatisfied = implied.at_least
    by = () if optimum is None else _provers(proofs, optimum, best)
    return Combined(satisfiable, unsatisfied, optimum, by, contradictions)


def _bounds(results: Results, best: Fraction) -> tuple[Fraction, Fraction]:
    """Best proved bounds; the optimum lies in [0, best] whatever the formula."""
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
    """Yield, in words, every pair of answers that exclude each other."""
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
    """Compare two routes: verdict, u, optimum, and bounds against both."""
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
