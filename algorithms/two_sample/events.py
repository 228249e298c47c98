"""What happens in a run of the two-sample algorithm beside calls and iterations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from olivine.algorithms.exact.data import EmpiricalMeasure
from olivine.algorithms.learning.events import AtPath


@dataclass(frozen=True, eq=False)
class Visit(AtPath):
    """A call of dfslearn, after its identity test.

    Attributes
    ----------
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

    data: EmpiricalMeasure
    distances: tuple[float | Fraction, ...]
    recursive: bool
    new: bool
    learned: bool


@dataclass(frozen=True, eq=False)
class Regression:
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
