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
forced        0                 none      1/100  6/100        3/6250, no choice
============  ================  ========  =====  ===========  ======================

`paper` is the construction of the paper's proof; `normalized` its equivalent
with rewards in [0, 1], returns at most 1 and strict levels; `gap` is
`normalized` with a constant penalty, so that the optimum is an affine image of
MAX-3SAT; `all-levels` is for an OLIVE that adds the constraints of every level
at once. In `strict` half of [solve] leads to a worthless state and g has ranges
by level; there every run of OLIVE that binds the lowest level with a positive
error meets the hard program, whatever its ties. In `forced` the same is true with all
ranges [0, 1], and where all levels are bound in each round (docs/ties.md).
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

MAX_TOTAL_WEIGHT = 2**63 - 1  # [solve]'s probabilities are int64 ratios


class Variant(enum.StrEnum):
    """Which construction of the family is meant."""

    PAPER = "paper"
    NORMALIZED = "normalized"
    GAP = "gap"
    ALL_LEVELS = "all-levels"
    STRICT = "strict"
    FORCED = "forced"

    @property
    def declaration(self) -> Declaration:
        """What sets the variant apart."""
        return DECLARATIONS[self]


class Rewards(NamedTuple):
    """Rewards of a rewarding literal, [solve], each [try x_i] and [try C_j]."""

    top: Fraction
    solve: Fraction
    try_variable: Fraction
    try_clause: Fraction


class Ranges(NamedTuple):
    """Upper ends of g's ranges, from 0: s0; C_j, X_i; x_i^b; the worthless states."""

    start: Fraction = Fraction(1)
    middle: Fraction = Fraction(1)
    literal: Fraction = Fraction(1)
    bottom: Fraction = Fraction(1)


_WHOLE = Ranges()


class Sides(NamedTuple):
    """The states of `forced` that keep equations behind clauses void (Theorem R).

    Each action of C_j is there in `copies`, which lead with probability 1/2 to a *side
    state*. s0 tries sides as it does variables, beside each stands a spare state that
    only tries meet, and [rest] leads where [solve] leads if not to a clause.
    """

    reward: Fraction  # R, of a side state
    rest: Fraction  # of [rest], a + q(R + T)/2
    end: Fraction  # ρ, of the last state behind [rest]
    # The rest in parts of T, the top: of a false literal and a true one; of the spare
    # state beside a variable's literals, and beside a side. A pair and its spare state,
    # 1/4, 1/4 and 1/2, are worth T/4; so the pair may be worth T.
    false: Fraction = Fraction(1, 4)
    true: Fraction = Fraction(1, 2)
    spare: Fraction = Fraction(1, 8)
    beside: Fraction = Fraction(1)
    copies: int = 2
    shared: bool = True  # Whether the actions of a copy share a side state

    @property
    def per_clause(self) -> int:
        """Number of side states of a clause."""
        return self.copies if self.shared else 7 * self.copies


class Declaration(NamedTuple):
    """All that sets a variant apart: no other module asks for a variant's name.

    Attributes
    ----------
    summary
        What it is for, in a few words.
    optimum
        Theorem O's optimum in words, with p, m and u.
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
    sides
        The states of `forced`; then s0 tries these in place of clauses.
    """

    summary: str
    optimum: str
    rewards: Callable[[Fraction], Rewards]
    default_penalty: Callable[[int], Fraction]
    fixed_penalty: Fraction | None = None
    largest_penalty_fits: bool = False
    variable_states: bool = True
    quit: bool = False
    reach: Fraction = Fraction(1)
    every_level: bool = False
    ranges: Ranges = _WHOLE
    sides: Sides | None = None

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


def forced(
    *,
    top: Fraction = Fraction(1, 100),
    side: Fraction = Fraction(1, 10),
    reach: Fraction = Fraction(1, 10),
    solve: Fraction = Fraction(6, 100),
    end: Fraction = Fraction(1, 5000),
    copies: int = 2,
    shared: bool = True,
) -> Declaration:
    """Declare the family of Theorem R: T, R, q, a and ρ, and how clauses are copied."""
    rest = solve + reach * (side + top) / 2
    best = rest + reach * top / 2 + (1 - reach) * end
    return Declaration(
        "met by every run that binds the lowest level or all, with all ranges [0, 1]",
        f"{best} − u/({6 / (reach * top)}m)",
        lambda _: Rewards(top, solve, Fraction(0), Fraction(0)),
        lambda _: best - rest - end,
        fixed_penalty=best - rest - end,
        reach=reach,
        sides=Sides(side, rest, end, copies=copies, shared=shared),
    )


DECLARATIONS = {
    Variant.PAPER: Declaration(
        "the paper's construction",
        "1 − min(u/(3m), p)",
        lambda p: Rewards(Fraction(1), Fraction(0), Fraction(0), -p),
        lambda m: Fraction(1, m),
        largest_penalty_fits=True,
        variable_states=False,
    ),
    Variant.NORMALIZED: Declaration(
        "strictly layered, rewards and returns in [0, 1]",
        "1 − min((1−p)u/(3m), p)",
        _layered,
        _at_most_half,
    ),
    Variant.GAP: Declaration(
        "p = 1/4: an affine image of MAX-3SAT, hard to approximate",
        "1 − u/(4m)",
        _layered,
        lambda _: Fraction(1, 4),
        fixed_penalty=Fraction(1, 4),
    ),
    Variant.ALL_LEVELS: Declaration(
        "for an OLIVE that adds the constraints of all levels",
        "1 − min((1−p)u/(3m), p)",
        _layered,
        _at_most_half,
        quit=True,
        every_level=True,
    ),
    Variant.STRICT: Declaration(
        "met by every run that binds the lowest level, whatever its ties",
        "3/20 − u/(60m)",
        _strict,
        lambda _: Fraction(1, 20),
        fixed_penalty=Fraction(1, 20),
        reach=Fraction(1, 2),
        ranges=Ranges(
            middle=Fraction(2, 5), literal=Fraction(1, 10), bottom=Fraction(0)
        ),
    ),
    Variant.FORCED: forced(),
}  # The variants; a test demands one declaration for each name


def as_variant(variant: Variant | str) -> Variant:
    """Turn a name into a `Variant`; the ValueError lists the names."""
    try:
        return Variant(variant)
    except ValueError:
        names = ", ".join(v.value for v in Variant)
        raise ValueError(f"unknown variant {variant!r}: choose from {names}") from None


def without_sides() -> tuple[Variant, ...]:
    """List the variants with no states but those of formulas, and worthless ones."""
    return tuple(v for v in Variant if not v.declaration.sides)


def refuse_sides(variant: Variant, part: str) -> None:
    """Refuse a variant with side states; the ValueError lists those without."""
    if variant.declaration.sides:
        others = ", ".join(without_sides())
        raise ValueError(
            f"{part} has no place for the side states of variant {variant}; it goes "
            f"with {others}"
        )


def default_penalty(variant: Variant | str, n_clauses: int) -> Fraction:
    """Penalty of [try C_j] where none is chosen, with m clauses."""
    if n_clauses < 1:
        raise ValueError(f"the family needs at least one clause, got {n_clauses}")
    return as_variant(variant).declaration.default_penalty(n_clauses)


def check_penalty(variant: Variant | str, penalty: Fraction | int) -> Fraction:
    """Return an exact penalty of the variant's range; the ValueError states it."""
    # Here, as it loads numpy, which the command line's options do without.
    from ...algorithms.exact.arrays import as_rational

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
    """Return the penalty chosen, if the variant leaves a choice, or the default."""
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
    """What the optimum depends on beside the unsatisfied weight: p and W among them."""

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
        r, best, ends = self.rewards, self.best, self.variant.declaration.ranges
        sides, least = self.variant.declaration.sides, best - self.reach * r.top / 6
        second, tried = r.try_clause + r.top, r.try_variable + r.top / 2
        if sides:
            tried = r.try_variable + max(r.top / 2, (sides.reward + r.top) / 2)
            second = sides.rest + sides.end
        fits = {
            "[try C], or [rest], is to lose p": second == best - self.penalty,
            "[try x] is not to beat [solve]": tried <= least,
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
    def literal_rewards(self) -> tuple[Fraction, Fraction]:
        """Reward of a false literal's state and of a true one's."""
        sides = self.variant.declaration.sides
        if sides is None:
            return Fraction(0), self.top
        return sides.false * self.top, sides.true * self.top

    @property
    def reach(self) -> Fraction:
        """Chance that [solve] leads to a clause state and on to its literals."""
        declared = self.variant.declaration
        return declared.reach / 2 if declared.sides else declared.reach

    @property
    def best(self) -> Fraction:
        """Optimum for a satisfiable formula; 1 but in `strict` and `forced`."""
        declared, sides = self.variant.declaration, self.variant.declaration.sides
        best = self.rewards.solve + self.reach * self.top
        if sides:
            best += (1 - declared.reach) * sides.end
            best += declared.reach * (sides.reward + self.top) / 2
        return best
