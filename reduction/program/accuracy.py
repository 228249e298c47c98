"""At which accuracy ε OLIVE's program over `strict` decides a formula.

L of docs/complexity.md: with tolerance τ the optimum is v(σ, τ), σ the least share of
the weight that is left unsatisfied. With OLIVE's own φ = ε/(12H√M) and estimates within
η of the expectations the optimum then tells satisfiable formulas from others (N1, N2).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from ..family.family import Family
from ..family.variants import Variant

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
    """Whether the optimum of `strict` tells a share σ, whatever the estimates."""
    worst = optimum_within(Variant.STRICT, share, phi + eta)
    return optimum_within(Variant.STRICT, Fraction(0), phi - eta) > worst


@dataclass(frozen=True)
class Accuracy:
    """Up to which ε OLIVE's runs decide a formula by `strict`."""

    # The least σ that the formula can have if it is unsatisfiable: the lightest clause
    # over the total weight
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
