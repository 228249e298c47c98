"""What the global policy algorithm tells those who watch it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from olivine.algorithms.exact.data import EmpiricalMeasure
from olivine.algorithms.learning.events import Observer, Path

Policies = tuple[Any, ...]
"""π̂_1, ..., π̂_H at some time; None where there is none yet."""


@dataclass(frozen=True, eq=False)
class Comparison:
    """One pass of TestLearned's loop over learned paths.

    Attributes
    ----------
    path, learned
        p and q.
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

    path: Path
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
class Fit:
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
class Return:
    """A return from dfslearn.

    Attributes
    ----------
    path
        What it was called with.
    outcome
        What the path became.
    learned, pruned
        learned(h) and pruned(h) of its level.
    policies
        π̂ at the time.
    """

    path: Path
    outcome: Literal["pruned", "learned"]
    learned: tuple[Path, ...]
    pruned: tuple[Path, ...]
    policies: Policies


class GlobalPolicyObserver(Observer):
    """Watches a run; every method does nothing unless overridden.

    Of the methods of `Observer` the algorithm calls `entered`, for every call of
    dfslearn at a level 1..H, and `descending`, when the path is to be learned.
    """

    def testing(self, path: Path) -> None:
        """Note that TestLearned is called with the path."""

    def compared(self, comparison: Comparison) -> None:
        """Note that a path was compared with a learned one."""

    def rechecked(self, path: Path, passed: bool) -> None:
        """Note that a pruned path was tested again after a change of policy."""

    def fitted(self, fit: Fit) -> None:
        """Note that a level has a new policy."""

    def returned(self, step: Return) -> None:
        """Note that dfslearn returns."""


def watchers(observers: Sequence[Observer]) -> list[GlobalPolicyObserver]:
    """Those who want to know more than calls of dfslearn."""
    return [o for o in observers if isinstance(o, GlobalPolicyObserver)]
