"""Which level OLIVE constrains when several have a positive average Bellman error."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Literal, get_args

from ...algorithms.exact.arrays import check_choice

LevelRule = Literal["lowest", "largest", "any"]
LEVEL_RULES: tuple[LevelRule, ...] = get_args(LevelRule)
Levels = LevelRule | Literal["all"]
"""A rule, or that a round binds every level."""
LEVELS: tuple[Levels, ...] = (*LEVEL_RULES, "all")


def allowed_levels(rule: LevelRule, errors: Sequence[Fraction]) -> list[int]:
    """Levels that a rule allows, 1-based, rising; none if no error is positive."""
    positive = [h for h, error in enumerate(errors, start=1) if error > 0]
    if rule == "any":
        return positive
    if rule == "lowest":
        return positive[:1]
    check_choice("level rule", rule, LEVEL_RULES)
    return [h for h in positive if errors[h - 1] == max(errors)]


def chosen_level(rule: LevelRule, errors: Sequence[Fraction]) -> int | None:
    """Return the level that a rule chooses, None if it leaves a choice or has none."""
    allowed = allowed_levels(rule, errors)
    return allowed[0] if len(allowed) == 1 else None
