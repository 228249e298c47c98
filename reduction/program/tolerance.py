"""How much tolerance φ, sampling, or which ε the decision by OLIVE's program stands.

With φ > 0 a pair need meet the average Bellman equations up to φ only, and the optimum
of an unsatisfiable formula rises. Its *critical tolerance* is the least φ at which it
reaches `best`, the optimum of a satisfiable formula at φ = 0: below it the optimum
still decides the formula. docs/reduction.md has the closed forms, in u, the least
unsatisfied weight, W, the total weight, and the penalty p, with their proofs. They hold
for u ≥ 1; for u = 0 it is 0.

`accuracy` is L of docs/complexity.md: with tolerance τ the optimum of `strict` is v(σ,
τ), σ the least share of the weight that is left unsatisfied. With OLIVE's own φ =
ε/(12H√M) and estimates within η of the expectations the optimum then tells satisfiable
formulas from others (N1, N2).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from ...algorithms.mdp.planning import Pair
from ...algorithms.olive_program.optimisers import least_tolerance
from ..family.family import Family
from ..family.variants import Parameters, Variant

Reason = Literal["closed form", "branch and bound", "numerical"]


@dataclass(frozen=True)
class CriticalTolerance:
    """The critical tolerance of a family."""

    # Least tolerance found at which g(s0) = best, attained by `pair`; None: out of time
    value: Fraction | None
    exact: bool  # Whether it is proved to be the least
    by: Reason  # What proves it; "numerical": the engine's word
    lower: Fraction  # what the closed forms say
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


EXACT_EPSILON = Fraction(2, 25)
"""Up to this every run of `strict` meets the hard program, with exact expectations."""
SAMPLED_EPSILON = Fraction(1, 15)
"""Below this every run does on OLIVE's own samples."""


def optimum_within(variant: Variant, share: Fraction, tolerance: Fraction) -> Fraction:
    """v(σ, τ): the optimum of `strict` for τ up to 13/800, of `gap` for small τ."""
    if variant is Variant.STRICT:
        slope = Fraction(3, 2) + share / 3
        return Fraction(3, 20) - share / 60 + slope * tolerance
    if variant is Variant.GAP:
        lost = share * (Fraction(1, 4) + 2 * tolerance / 3)
        return min(Fraction(1), 1 + 4 * tolerance - lost)
    raise ValueError(
        f"the optimum with a tolerance is known for strict and gap, not for {variant}"
    )


def decides(share: Fraction, phi: Fraction, eta: Fraction) -> bool:
    """Whether the optimum of `strict` reveals a share σ, whatever the estimates."""
    worst = optimum_within(Variant.STRICT, share, phi + eta)
    return optimum_within(Variant.STRICT, Fraction(0), phi - eta) > worst


@dataclass(frozen=True)
class Accuracy:
    """Up to which ε OLIVE's runs decide a formula by `strict`."""

    # Least σ of the formula if unsatisfiable: the lightest clause over the total weight
    share: Fraction
    rank: int  # M, the greatest number of states of a level
    exact: Fraction  # With exact expectations: at every ε up to this
    sampled: float  # With own samples, with probability 1 − δ: at every ε below this
    # Unused variables that lift the latter to 1/15, without weights; 0 where it is
    unused: int


def accuracy(family: Family) -> Accuracy:
    """Say at which ε OLIVE's program decides the formula of a `strict` family.

    Raises ValueError for another variant.
    """
    if family.variant is not Variant.STRICT:
        raise ValueError(
            f"at which ε OLIVE's runs decide is known for strict, not {family.variant}"
        )
    n, m = family.n_variables, family.n_clauses
    lightest = 1 if family.weights is None else int(family.weights.min())
    share = Fraction(lightest, family.total_weight)
    rank = max(m + n + 1, 2 * n + 1)
    # φ = ε/(36 √M) must stay below σ/(180 + 40σ).
    most = 36 * math.sqrt(rank) * float(share / (180 + 40 * share))
    sampled = min(float(SAMPLED_EPSILON), most)
    needed = math.ceil((1 / (3 * share) + Fraction(2, 27)) ** 2) - (m + n)
    return Accuracy(share, rank, EXACT_EPSILON, sampled, max(0, needed))
