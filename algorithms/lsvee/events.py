"""What happens in a run of LSVEE, and who may watch it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from olivine.algorithms.exact.data import EmpiricalMeasure
from olivine.algorithms.learning.events import Observer, Path
from olivine.algorithms.lsvee.averages import Cells
from olivine.algorithms.lsvee.parameters import Sizes


@dataclass(frozen=True, eq=False)
class Comparison:
    """A consensus test.

    Attributes
    ----------
    path
        p∘a.
    data
        n_test observations at its end.
    members
        Numbers of the functions compared, those that survive so far.
    values
        V̂^f(p∘a) of each: Fractions, shape (members,).
    agreed
        Whether they differ by no more than the tolerance.
    sizes
        Sample sizes that were in force.
    """

    path: Path
    data: EmpiricalMeasure
    members: NDArray[np.int64]
    values: NDArray[Any]
    agreed: bool
    sizes: Sizes


@dataclass(frozen=True, eq=False)
class Elimination:
    """A TD elimination, after which the state at the end of the path is learned.

    Attributes
    ----------
    path
        p, which ends at level len(p) + 1.
    cells
        The data set, n_train draws of (x, a, r), sorted.
    members
        Numbers of the functions that competed.
    futures
        V̂^f(p∘a) of each: Fractions, shape (members, K).
    risks
        R̂(f) of each: Fractions, shape (members,).
    kept
        Whether each stays: bool, shape (members,).
    sizes
        Sample sizes and slack that were in force.
    """

    path: Path
    cells: Cells
    members: NDArray[np.int64]
    futures: NDArray[Any]
    risks: NDArray[Any]
    kept: NDArray[np.bool_]
    sizes: Sizes

    @property
    def survivors(self) -> NDArray[np.int64]:
        """Numbers of the functions that stay."""
        return self.members[self.kept]


class LsveeObserver(Observer):
    """Watches a run of LSVEE; every method does nothing unless overridden."""

    def compared(self, comparison: Comparison) -> None:
        """Note a consensus test."""

    def eliminated(self, elimination: Elimination) -> None:
        """Note an elimination."""

    def started(self, member: int, estimate: Any) -> None:
        """Note V̂*, estimated by the value of a surviving member at the root."""


__all__ = ["Comparison", "Elimination", "LsveeObserver"]
