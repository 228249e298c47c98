"""How much tolerance φ, or sampling, the decision by OLIVE's program stands.

With φ > 0 a pair need meet the average Bellman equations up to φ only, and the optimum
of an unsatisfiable formula rises. Its *critical tolerance* is the least φ at which it
reaches `best`, the optimum of a satisfiable formula at φ = 0: below it the optimum
still decides the formula. docs/reduction.md has the closed forms, in u, the least
unsatisfied weight, W, the total weight, and the penalty p, with their proofs. They hold
for u ≥ 1; for u = 0 it is 0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from ...algorithms.mdp.bellman import Pair
from ...algorithms.olive_program.optimisers import least_tolerance
from ..family.family import Family
from ..family.variants import Parameters, Variant

Reason = Literal["closed form", "branch and bound", "numerical"]


@dataclass(frozen=True)
class CriticalTolerance:
    """The critical tolerance of a family."""

    # The least tolerance found at which g(s0) = best, attained by `pair`; None if time
    # ran out
    value: Fraction | None
    exact: bool  # Whether it is proved to be the least
    by: Reason  # What proves it; "numerical": the engine's word
    # lower, upper: what the closed forms say
    lower: Fraction
    upper: Fraction
    pair: Pair | None  # A pair with g(s0) = best that needs the tolerance
    seconds: float  # Wall time in the engine


def tolerance_bounds(
    parameters: Parameters, unsatisfied: int
) -> tuple[Fraction, Fraction]:
    """Bounds on the critical tolerance by the closed forms; equal but in `paper`."""
    u, total = unsatisfied, parameters.total_weight
    if not 0 <= u <= total // 2:
        raise ValueError(f"least unsatisfied weight {u} is outside 0..{total // 2}")
    ceiling = tolerance_ceiling(parameters)
    if u == 0:
        return Fraction(0), Fraction(0)
    least = min(_closed_form(parameters).solve(parameters, u), ceiling)
    return least, ceiling if parameters.variant is Variant.PAPER else least


def tolerance_ceiling(parameters: Parameters) -> Fraction:
    """Tolerance at which [try C_j] or [try x_i] alone reaches `best`."""
    return _closed_form(parameters).ceiling(parameters.penalty)


@dataclass(frozen=True)
class _ClosedForm:
    """Tolerances by [solve], from the parameters and u, and by the tries, from p."""

    solve: Callable[[Parameters, int], Fraction]
    ceiling: Callable[[Fraction], Fraction]


_LAYERED = _ClosedForm(
    lambda f, u: u * f.top / (12 * f.total_weight - 2 * u),
    lambda p: min(p / 4, (1 - p) / 6),
)
_CLOSED_FORMS = {
    Variant.PAPER: _ClosedForm(
        lambda f, u: Fraction(u, 3 * f.total_weight + 8 * u),
        lambda p: min(p, Fraction(1, 4)),
    ),
    Variant.NORMALIZED: _LAYERED,
    Variant.GAP: _LAYERED,
    Variant.ALL_LEVELS: _LAYERED,
    Variant.STRICT: _ClosedForm(
        lambda f, u: Fraction(u, 90 * f.total_weight + 20 * u),
        lambda _: Fraction(1, 100),
    ),
    Variant.FORCED: _ClosedForm(
        lambda f, u: Fraction(u, 19_200 * f.total_weight - 400 * u), lambda p: p / 3
    ),
}


def _closed_form(parameters: Parameters) -> _ClosedForm:
    """Return the closed forms of a variant; ValueError if none has been derived."""
    if parameters.variant not in _CLOSED_FORMS:
        raise ValueError(f"no tolerance is known for variant {parameters.variant}")
    return _CLOSED_FORMS[parameters.variant]


def critical_tolerance(
    family: Family,
    unsatisfied: int,
    *,
    prove: bool = False,
    time_limit: float | None = None,
) -> CriticalTolerance:
    """Compute the critical tolerance by a MILP: least φ with g(s0) = best."""
    lower, upper = tolerance_bounds(family.parameters, unsatisfied)
    ceiling = tolerance_ceiling(family.parameters)
    found = least_tolerance(
        family.program(),
        family.parameters.best,
        ceiling,
        prove=prove,
        time_limit=time_limit,
    )
    value = found.tolerance
    if value is not None and value < lower:
        raise RuntimeError(
            f"{family}: tolerance {value} suffices, below the closed form's {lower} "
            f"for u = {unsatisfied}"
        )
    if found.proved and (value is None or value > upper):
        raise RuntimeError(
            f"{family}: the least tolerance, {value}, exceeds the closed form's {upper}"
        )
    by: Reason = "numerical"
    if value is not None and value == lower:
        by = "closed form"
    elif found.proved:
        by = "branch and bound"
    return CriticalTolerance(
        value, by != "numerical", by, lower, upper, found.pair, found.seconds
    )
