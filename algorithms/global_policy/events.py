"""What happens in a run of the global policy algorithm beside calls of dfslearn."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from ..exact.data import EmpiricalMeasure
from ..learning.events import AtPath, NewPolicies, Path

Policies = tuple[Any, ...]
"""π̂_1, ..., π̂_H at some time; None where there is none yet."""


@dataclass(frozen=True, eq=False)
class Comparison(AtPath):
    """One pass of TestLearned's loop over learned paths."""

    learned: Path  # q; the path is p
    # data, learned_data: d and D'_q: (x_h, a_h, return to go)
    data: EmpiricalMeasure
    learned_data: EmpiricalMeasure
    # mean, learned_mean: mean returns on D and on D'_q
    mean: Fraction
    learned_mean: Fraction
    optimum: Fraction | None  # V_opt; None where the program is infeasible
    same: bool  # Whether the test is true for this q
    policies: Policies  # π̂ at the time
    first: bool  # Whether D is new (it is shared by the loop)


@dataclass(frozen=True, eq=False)
class Refit(NewPolicies):
    """A new policy of a level."""

    level: int  # The level h, 1-based
    paths: tuple[Path, ...]  # learned(h), the new path last
    data: tuple[EmpiricalMeasure, ...]  # D_q of each path
    values: tuple[Fraction, ...]  # V̂(q) of each path
    policies: Policies  # π̂ with the new π̂_h; None there where the run fails
    feasible: bool  # Whether some policy met the constraints


@dataclass(frozen=True, eq=False)
class Return(AtPath):
    """A return from dfslearn."""

    outcome: Literal["pruned", "learned"]  # What the path became
    # learned, pruned: learned(h) and pruned(h) of its level
    learned: tuple[Path, ...]
    pruned: tuple[Path, ...]
    policies: Policies  # π̂ at the time


class LearnedTest(AtPath):
    """TestLearned is called with the path."""


@dataclass(frozen=True, eq=False)
class Rechecked(AtPath):
    """A pruned path was tested again after a change of policy."""

    passed: bool
