"""What algorithms with local values keep of a run, and who may watch it.

VALOR stores triples (D, V, {V_a}) at each level. Everything that happens in a
run is also told to observers: monitors, which know the truth, and progress bars.
They never answer back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from olivine.algorithms.exact.data import EmpiricalMeasure

Path = tuple[int, ...]


class EventFailedError(Exception):
    """Raised in a run that met what cannot happen inside the good event.

    Algorithms catch it and return a result with status "failure"; it travels
    through the recursion of dfslearn, which is why it is an exception.
    """


@dataclass(frozen=True, eq=False)
class ConsensusTest:
    """One pass of dfslearn's loop over actions.

    Attributes
    ----------
    path
        p∘a.
    data
        D', n_test draws at the end of p∘a; None past the last level.
    optimistic, pessimistic
        V_opt and V_pes; None past the last level.
    value
        V_a.
    outcome
        ``"end"`` (past the last level V_a = 0), ``"consensus"``, ``"descent"``.
    relaxed
        Whether the program was infeasible, and φ had to be doubled.
    """

    path: Path
    data: EmpiricalMeasure | None
    optimistic: Fraction | None
    pessimistic: Fraction | None
    value: Fraction
    outcome: Literal["end", "consensus", "descent"]
    relaxed: bool = False


@dataclass(frozen=True, eq=False)
class Triple:
    """A learned state: (D, V, {V_a}) and where it came from.

    Attributes
    ----------
    path
        p, which ends at level h = len(p) + 1.
    data
        D: (x_h, a_h, r_h) with a_h uniform.
    value
        V, which estimates V*(p).
    futures
        V_a for each action, which estimate V*(p∘a).
    tests
        The consensus tests behind them, one an action.
    """

    path: Path
    data: EmpiricalMeasure
    value: Fraction
    futures: tuple[Fraction, ...]
    tests: tuple[ConsensusTest, ...] = ()

    @property
    def level(self) -> int:
        """H, 1-based."""
        return len(self.path) + 1


@dataclass(frozen=True, eq=False)
class Iteration:
    """One iteration of MetaAlg.

    Attributes
    ----------
    number
        k, 1-based.
    policies
        π̂^(k), one policy a level.
    estimate
        V̂^(k).
    mean_return
        V̂^π̂, over n_eval trajectories.
    accepted
        Whether V̂ ≤ V̂^π̂ + ε/2.
    """

    number: int
    policies: Sequence[Any]
    estimate: Fraction
    mean_return: Fraction
    accepted: bool


class Observer:
    """Watches a run; every method does nothing unless overridden."""

    def entered(self, path: Path) -> None:
        """Note that dfslearn is called with the path."""

    def tested(self, path: Path, data: EmpiricalMeasure) -> None:
        """Note that D' was sampled at the end of p∘a for a consensus test."""

    def descending(self, path: Path) -> None:
        """Note that dfslearn is about to call itself with the path."""

    def stored(self, triple: Triple) -> None:
        """Note that a triple was added to its level's data sets."""

    def iterated(self, iteration: Iteration) -> None:
        """Note that MetaAlg has evaluated a policy."""
