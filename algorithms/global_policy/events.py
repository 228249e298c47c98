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
    """One pass of TestLearned's loop over learned paths.

    Attributes
    ----------
    learned
        q; the path is p.
    data, learned_data
        D and D'_q: (x_h, a_h, return to go).
    mean, learned_mean
        Mean returns on D and on D'_q.
    optimum
        V_opt; None where the program is infeasible.
    same
        Whether the test is true for this q.
    policies
        π̂ at the time.
    first
        Whether D is new (it is shared by the loop).
    """

    learned: Path
    data: EmpiricalMeasure
    learned_data: EmpiricalMeasure
    mean: Fraction
    learned_mean: Fraction
    optimum: Fraction | None
    same: bool
    policies: Policies
    first: bool


@dataclass(frozen=True, eq=False)
class Refit(NewPolicies):
    """A new policy of a level.

    Attributes
    ----------
    level
        The level h, 1-based.
    paths
        learned(h), the new path last.
    data
        D_q of each path.
    values
        V̂(q) of each path.
    policies
        π̂ with the new π̂_h; None there where the run fails.
    feasible
        Whether some policy met the constraints.
    """

    level: int
    paths: tuple[Path, ...]
    data: tuple[EmpiricalMeasure, ...]
    values: tuple[Fraction, ...]
    policies: Policies
    feasible: bool


@dataclass(frozen=True, eq=False)
class Return(AtPath):
    """A return from dfslearn.

    Attributes
    ----------
    outcome
        What the path became.
    learned, pruned
        learned(h) and pruned(h) of its level.
    policies
        π̂ at the time.
    """

    outcome: Literal["pruned", "learned"]
    learned: tuple[Path, ...]
    pruned: tuple[Path, ...]
    policies: Policies


class LearnedTest(AtPath):
    """TestLearned is called with the path."""


@dataclass(frozen=True, eq=False)
class Rechecked(AtPath):
    """A pruned path was tested again after a change of policy."""

    passed: bool
