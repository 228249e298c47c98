"""What happens in a run of a baseline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from olivine.algorithms.exact.data import EmpiricalMeasure
from olivine.algorithms.learning.events import NewPolicies

if TYPE_CHECKING:
    from olivine.algorithms.baselines.rmax_model import RmaxModel


@dataclass(frozen=True, eq=False)
class LevelFit(NewPolicies):
    """What a backward pass found at a level.

    Attributes
    ----------
    level
        h, 1-based; levels come from H down to 1.
    data
        The data of the level.
    policy
        π̂_h.
    functions
        ĝ_h (backup), Q̂_h(·, a) for each action a (fitted Q iteration), or none
        (PSDP).
    losses
        Average squared losses that the LS oracle reported, one for each function.
    """

    level: int
    data: EmpiricalMeasure
    policy: Any
    functions: tuple[Any, ...] = ()
    losses: tuple[float, ...] = ()

    @property
    def by_level(self) -> Mapping[int, Any]:
        """π̂_h alone: levels before h have no policy yet."""
        return {self.level: self.policy}


@dataclass(frozen=True, eq=False)
class Batch(NewPolicies):
    """A batch of R-max.

    Attributes
    ----------
    number
        1-based.
    model
        The model that was planned with, as it stands: it is changed after the
        batch unless the run ends.
    policies
        What was played, one per level.
    unknown
        Visits to pairs that were not known.
    n
        Episodes.
    """

    number: int
    model: RmaxModel
    policies: Sequence[Any]
    unknown: int
    n: int
