"""The variants of the MDP family: one declaration each, and the numbers that follow.

A variant fixes the shape of the MDPs (see `olivine.reduction.family.layout`), the
ranges of g and how the penalty ``p`` enters the rewards:

============  ================  ========  =====  ===========  ======================
variant       [try x]           [try C]   top    [solve]      penalty
============  ================  ========  =====  ===========  ======================
paper         0                 -p        1      0            0 < p <= 1, default 1/m
normalized    p                 0         1 - p  p            0 < p < 1, default
                                                              min(1/m, 1/2)
gap           1/4               0         3/4    1/4          1/4, no choice
all-levels    p                 0         1 - p  p            as normalized
strict        7/100             0         1/10   1/10         1/20, no choice
============  ================  ========  =====  ===========  ======================

`paper` is the construction of the paper's proof; `normalized` its equivalent
with rewards in [0, 1], returns at most 1 and strict levels; `gap` is
`normalized` with a constant penalty, so that the optimum is an affine image of
MAX-3SAT; `all-levels` is for an OLIVE that adds the constraints of every level
at once. In `strict` half of [solve] leads to a worthless state and g has ranges
by level; there every run of OLIVE that binds the lowest level with a positive
error meets the hard program, whatever its ties (docs/ties.md).
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

MAX_TOTAL_WEIGHT = 2**63 - 1
"""Greatest total weight of a formula: [solve]'s probabilities are int64 ratios."""


class Variant(enum.StrEnum):
    """Which construction of the family is meant."""

    PAPER = "paper"
    NORMALIZED = "normalized"
    GAP = "gap"
    ALL_LEVELS = "all-levels"
    STRICT = "strict"

    @property
    def declaration(self) -> Declaration:
        """What sets the variant apart."""
        return DECLARATIONS[self]


class Rewards(NamedTuple):
    """Rewards of a family.

    Attributes
    ----------
    top
        Of the one rewarding literal state of each pair.
    solve, try_variable, try_clause
        Of [solve], each [try x_i] and each [try C_j].
    """

    top: Fraction
    solve: Fraction
    try_variable: Fraction
    try_clause: Fraction


class Ranges(NamedTuple):
    """Upper ends of the ranges of g by kind of state; the lower end is 0.

    Attributes
    ----------
    start, middle, literal, bottom
        At s0; at C_j and X_i; at x_i^b; at the worthless states.
    """

    start: Fraction = Fraction(1)
    middle: Fraction = Fraction(1)
    literal: Fraction = Fraction(1)
    bottom: Fraction = Fraction(1)


_WHOLE = Ranges()


class Declaration(NamedTuple):
    """All that sets a variant apart: no other module asks for a variant's name.

    Attributes
    ----------
    summary
        What it is for, in a few words.
    rewards
        Rewards as a function of the penalty p.
    default_penalty
        The penalty when none is chosen, as a function of m.
    fixed_penalty
        The only penalty, or None where there is a choice.
    largest_penalty_fits
        Whether p = 1 is allowed; else p < 1.
    variable_states
        Whether a state X_i stands between [try x_i] and the literals of x_i.
    quit
        Whether each clause state has the action [quit] to a worthless state.
    reach
        Chance that [solve] leads to a clause state; else to a worthless one.
    every_level
        Whether the run is one that adds the constraints of every level.
    ranges
        Ranges of g.
    """

    summary: str
    rewards: Callable[[Fraction], Rewards]
    default_penalty: Callable[[int], Fraction]
    fixed_penalty: Fraction | None = None
    largest_penalty_fits: bool = False
    variable_states: bool = True
    quit: bool = False
    reach: Fraction = Fraction(1)
    every_level: bool = False
    ranges: Ranges = _WHOLE

    @property
    def n_bottom(self) -> int:
        """Number of worthless states: one below each level that leads there."""
        return 2 if self.reach < 1 else int(self.quit)


def _layered(p: Fraction) -> Rewards:
    return Rewards(top=1 - p, solve=p, try_variable=p, try_clause=Fraction(0))


def _strict(_: Fraction) -> Rewards:
    tenth = Fraction(1, 10)
    return Rewards(tenth, tenth, Fraction(7, 100), Fraction(0))


def _at_most_half(m: int) -> Fraction:
    return Fraction(1, max(m, 2))


DECLARATIONS = {
    Variant.PAPER: Declaration(
        "the paper's construction",
        lambda p: Rewards(Fraction(1), Fraction(0), Fraction(0), -p),
        lambda m: Fraction(1, m),
        largest_penalty_fits=True,
        variable_states=False,
    ),
    Variant.NORMALIZED: Declaration(
        "strictly layered, rewards and returns in [0, 1]", _layered, _at_most_half
    ),
    Variant.GAP: Declaration(
        "p = 1/4: an affine image of MAX-3SAT, hard to approximate",
        _layered,
        lambda _: Fraction(1, 4),
        fixed_penalty=Fraction(1, 4),
    ),
    Variant.ALL_LEVELS: Declaration(
        "for an OLIVE that adds the constraints of all levels",
        _layered,
        _at_most_half,
        quit=True,
        every_level=True,
    ),
    Variant.STRICT: Declaration(
        "met by every run that binds the lowest level, whatever its ties",
        _strict,
        lambda _: Fraction(1, 20),
        fixed_penalty=Fraction(1, 20),
        reach=Fraction(1, 2),
        ranges=Ranges(
            middle=Fraction(2, 5), literal=Fraction(1, 10), bottom=Fraction(0)
        ),
    ),
}
"""The variants; a test demands one declaration for each name."""


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
    if n_clauses < 1:
        raise ValueError(f"the family needs at least one clause, got {n_clauses}")
    return as_variant(variant).declaration.default_penalty(n_clauses)


def check_penalty(variant: Variant | str, penalty: Fraction | int) -> Fraction:
    """Return an exact penalty of the variant's range.

    Raises
    ------
    ValueError
        If the penalty is not exact or lies outside the range, which the
        message states.
    """
    # Here, as it loads numpy, which the command line's options do without.
    from ...algorithms.exact.numbers import as_rational

    variant = as_variant(variant)
    declared = variant.declaration
    try:
        penalty = as_rational("penalty", penalty)
    except ValueError:
        raise ValueError(
            f"penalty must be an exact number (Fraction or int), got {penalty!r}"
        ) from None
    if declared.fixed_penalty is not None:
        if penalty != declared.fixed_penalty:
            raise ValueError(
                f"penalty of variant {variant} is {declared.fixed_penalty}, "
                f"got {penalty}"
            )
    elif not (0 < penalty < 1 or (penalty == 1 and declared.largest_penalty_fits)):
        end = "p <= 1" if declared.largest_penalty_fits else "p < 1"
        raise ValueError(
            f"penalty of variant {variant} must satisfy 0 < {end}, got {penalty}"
        )
    return penalty


def chosen_penalty(
    variant: Variant | str, penalty: Fraction | int | None, n_clauses: int
) -> Fraction:
    """Return the penalty that a user chose, or the default where none was.

    Raises
    ------
    ValueError
        If the variant fixes its penalty and one was chosen, or `check_penalty`
        refuses it.
    """
    variant = as_variant(variant)
    if penalty is None:
        return default_penalty(variant, n_clauses)
    fixed = variant.declaration.fixed_penalty
    if fixed is not None:
        raise ValueError(
            f"variant {variant} fixes the penalty at {fixed} and takes none"
        )
    return check_penalty(variant, penalty)


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
        self._check_theorem()

    def _check_theorem(self) -> None:
        """Hold the declaration against what the proof of Theorem O uses.

        See `olivine.reduction.program.optimum`; a declaration that does not fit is
        not taken for one that does.
        """
        r, best, ends = self.rewards, self.best, self.variant.declaration.ranges
        fits = {
            "[try C] is to lose p": r.try_clause + r.top == best - self.penalty,
            "[try x] is not to beat [solve]": r.try_variable + r.top / 2
            <= r.solve + Fraction(5, 6) * self.reach * r.top,
            "its values are to be in the ranges of g": min(ends.middle, ends.literal)
            >= r.top
            >= 0
            and max(best, r.solve) <= ends.start,
        }
        for demand, met in fits.items():
            if not met:
                raise ValueError(
                    f"variant {self.variant} with penalty {self.penalty} is none that "
                    f"Theorem O covers: {demand}"
                )

    @property
    def rewards(self) -> Rewards:
        """The rewards of every member, but for which literal pays."""
        return self.variant.declaration.rewards(self.penalty)

    @property
    def top(self) -> Fraction:
        """Reward of the one rewarding literal state of each pair."""
        return self.rewards.top

    @property
    def reach(self) -> Fraction:
        """Chance that [solve] leads to a clause state."""
        return self.variant.declaration.reach

    @property
    def best(self) -> Fraction:
        """Optimum of OLIVE's program for a satisfiable formula; 1 but in `strict`."""
        return self.rewards.solve + self.reach * self.top
