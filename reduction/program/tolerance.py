"""How much tolerance φ, or sampling, the decision by OLIVE's program stands.

With φ > 0 a pair need meet the average Bellman equations up to φ only, and the
optimum of an unsatisfiable formula rises. Its *critical tolerance* is the least
φ at which it reaches `best`, the optimum of a satisfiable formula at φ = 0 (1 but in
`strict` and `forced`): below it the optimum still decides the formula. With u
the least unsatisfied weight, W the total weight, p the penalty:

- `normalized`, `gap`, `all-levels`: it is exactly

      min( u(1−p) / (12 W − 2u),  p/4,  (1−p)/6 ),

  by [solve], [try C_j], [try x_i] in turn. Each equation on the way is bent by
  φ in the pair's favour, no value in the way reaches 1 before, and the value of
  [solve] is linear in the literal values, so a vertex is optimal.
- `strict`: u/(90 W + 20 u), by [solve] as above, but that no literal is worth more
  than `top`: a satisfied clause state gains φ, an unsatisfied one φ + 2φ/3. It is at
  most 1/200, and [try x_i] needs 1/100, [try C_j] 1/40.
- `forced`: u/(19200 W − 400 u), by [solve]: φ at s0 and at S each, 9φ/10 at ⊥′, φ/10
  by the sides, which are worth R + T + 2φ, and by the literals, T + 4φ a pair. It is at
  most 1/38000, and [rest] needs p/3 = 3/20000.
- `paper`: at least min(u/(3W + 8u), p, 1/4) and at most min(p, 1/4). There the
  range of g cuts: a satisfied clause state is worth 1 without any tolerance, and
  [try C_j] needs φ ≥ p. The bound for [solve] is attained by some formulas (all
  eight clauses on three variables: 1/32) but not by all.

Proof of u/(3W + 8u) (ours; φ < 1/8, else there is nothing to show). Let g be feasible
with [solve] and g(s0) = 1, t the value of a literal's own state, t′ that of its
negation: t + t′ ≤ 1 + 2φ. A clause state is worth at most 1; let ℓ_j be what C_j lacks,
so Σ w_j ℓ_j ≤ φW. Its action leads to at least one own state of a literal, and nothing
is worth more than 1, so 3ℓ_j ≥ 1 − 3φ − t for the largest t of the clause. Put r(t) = 1
− max(0, 1 − 3φ − t)/(1 − 8φ); then r(t) + r(t′) ≤ 1, so an assignment can be drawn that
makes each literal true with probability at least r(t). It leaves C_j unsatisfied with
probability at most 1 − r(t) ≤ 3ℓ_j/(1 − 8φ), hence u ≤ 3φW/(1 − 8φ). ∎

Both hold for u ≥ 1; for u = 0 it is 0. docs/reduction.md, tolerances, has the form
for the other variants, and for `paper` with p = 1/m the weaker φ < 1/(6m+2).
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
    """Tolerance at which the optimum is `best` or more whatever the formula.

    By [try C_j] or [try x_i] alone.
    """
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
