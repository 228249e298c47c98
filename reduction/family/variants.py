"""The four variants of the MDP family and the numbers that set them apart.

A variant fixes the shape of the MDPs (see `olivine.reduction.family.layout`) and how
the penalty ``p`` enters the rewards:

============  =================  ==============  ============  ======================
variant       [try x], [solve]   [try C]         literal top   penalty
============  =================  ==============  ============  ======================
paper         0                  -p              1             0 < p <= 1, default 1/m
normalized    p                  0               1 - p         0 < p < 1, default
                                                               min(1/m, 1/2)
gap           1/4                0               3/4           1/4, no choice
all-levels    p                  0               1 - p         as normalized
============  =================  ==============  ============  ======================

`paper` is the construction of the paper's proof; `normalized` its equivalent
with rewards in [0, 1], returns at most 1 and strict levels; `gap` is
`normalized` with a constant penalty, so that the optimum is an affine image of
MAX-3SAT; `all-levels` is for an OLIVE that adds the constraints of every level
at once.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from fractions import Fraction

from olivine.algorithms.exact.numbers import as_rational

MAX_TOTAL_WEIGHT = 2**63 - 1
"""Greatest total weight of a formula: [solve]'s probabilities are int64 ratios."""


class Variant(enum.StrEnum):
    """Which construction of the family is meant."""

    PAPER = "paper"
    NORMALIZED = "normalized"
    GAP = "gap"
    ALL_LEVELS = "all-levels"

    @property
    def has_variable_states(self) -> bool:
        """Whether a state X_i stands between [try x_i] and the literals of x_i."""
        return self is not Variant.PAPER

    @property
    def has_bottom(self) -> bool:
        """Whether each clause state has the action [quit] to a worthless state."""
        return self is Variant.ALL_LEVELS


def as_variant(variant: Variant | str) -> Variant:
    """Turn a name into a `Variant`.

    Raises
    ------
    ValueError
        If there is no variant of that name; the message lists the names.
    """
    try:
        return Variant(variant)
    except ValueError:
        names = ", ".join(v.value for v in Variant)
        raise ValueError(f"unknown variant {variant!r}: choose from {names}") from None


def default_penalty(variant: Variant | str, n_clauses: int) -> Fraction:
    """Penalty of [try C_j] when none is chosen.

    Parameters
    ----------
    variant
        The variant or its name.
    n_clauses
        Number m >= 1 of clauses of the 3-SAT form.
    """
    variant = as_variant(variant)
    if n_clauses < 1:
        raise ValueError(f"the family needs at least one clause, got {n_clauses}")
    if variant is Variant.GAP:
        return Fraction(1, 4)
    if variant is Variant.PAPER:
        return Fraction(1, n_clauses)
    return Fraction(1, max(n_clauses, 2))


def check_penalty(variant: Variant | str, penalty: Fraction | int) -> Fraction:
    """Return an exact penalty of the variant's range.

    Raises
    ------
    ValueError
        If the penalty is not exact or lies outside the range, which the
        message states.
    """
    variant = as_variant(variant)
    try:
        penalty = as_rational("penalty", penalty)
    except ValueError:
        raise ValueError(
            f"penalty must be an exact number (Fraction or int), got {penalty!r}"
        ) from None
    if variant is Variant.GAP:
        if penalty != Fraction(1, 4):
            raise ValueError(f"penalty of variant gap is 1/4, got {penalty}")
    elif variant is Variant.PAPER:
        if not 0 < penalty <= 1:
            raise ValueError(
                f"penalty of variant paper must satisfy 0 < p <= 1, got {penalty}"
            )
    elif not 0 < penalty < 1:
        raise ValueError(
            f"penalty of variant {variant} must satisfy 0 < p < 1, got {penalty}"
        )
    return penalty


@dataclass(frozen=True)
class Parameters:
    """All that the optimum depends on beside the formula's unsatisfied weight.

    Attributes
    ----------
    variant
        The variant.
    penalty
        The penalty p, in the variant's range.
    total_weight
        W, the total weight of the clauses of the 3-SAT form (their number m
        when the formula has no weights), at least 1.
    """

    variant: Variant
    penalty: Fraction
    total_weight: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "variant", as_variant(self.variant))
        object.__setattr__(self, "penalty", check_penalty(self.variant, self.penalty))
        if self.total_weight < 1:
            raise ValueError(f"total weight must be positive, got {self.total_weight}")

    @property
    def top(self) -> Fraction:
        """Reward of the one rewarding literal state of each pair."""
        if self.variant is Variant.PAPER:
            return Fraction(1)
        return 1 - self.penalty

    @property
    def solve_reward(self) -> Fraction:
        """Reward of [solve], and of every [try x_i]."""
        return Fraction(0) if self.variant is Variant.PAPER else self.penalty

    @property
    def try_variable_reward(self) -> Fraction:
        """Reward of every [try x_i]."""
        return self.solve_reward

    @property
    def try_clause_reward(self) -> Fraction:
        """Reward of every [try C_j]."""
        return -self.penalty if self.variant is Variant.PAPER else Fraction(0)
