"""What happens in a run of the two-sample algorithm, for those who watch it.

Observers of any kind are told of dfslearn's calls and of data sets; a
`TwoSampleObserver` is also told of each identity test and of each regression.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from olivine.algorithms.exact.data import EmpiricalMeasure
from olivine.algorithms.learning.events import Observer, Path


@dataclass(frozen=True, eq=False)
class Visit:
    """One call of dfslearn, after its identity test.

    Attributes
    ----------
    path
        p, which ends at level h = len(p) + 1.
    data
        D̃: (x_h, a_h, r_h, x_{h+1}) with a_h uniform.
    distances
        Discrepancy of D̃ from each data set of D^val_h, in the order in which
        they were added; d_MMD is the least, infinite if there is none.
    recursive
        Whether dfslearn was called by itself.
    new
        Whether D̃ was added to D^val_h, for d_MMD > 2τ.
    learned
        Whether D̃ was added to D^learned_h, and dfslearn goes on to the children.
    """

    path: Path
    data: EmpiricalMeasure
    distances: tuple[float | Fraction, ...]
    recursive: bool
    new: bool
    learned: bool

    @property
    def level(self) -> int:
        """Return h, 1-based."""
        return len(self.path) + 1


@dataclass(frozen=True, eq=False)
class Fit:
    """What polvalfun returned, and the value functions it went through.

    Attributes
    ----------
    policies, values
        π̂_h and ĝ_h for h = 1..H.
    estimate
        V̂*.
    """

    policies: Sequence[Any]
    values: Sequence[Any]
    estimate: Fraction


class TwoSampleObserver(Observer):
    """Watches a run; every method does nothing unless overridden."""

    def visited(self, visit: Visit) -> None:
        """Note that dfslearn has sampled and tested D̃."""

    def fitted(self, fit: Fit) -> None:
        """Note that polvalfun has found policies and values."""
