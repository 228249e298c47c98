"""What happens in a run, as values, and who is told.

An observer is any callable that takes an event; a recorder is ``[].append``.
Observers never answer back.

>>> seen = []
>>> notify([seen.append], Entered((0, 1)))
>>> seen[0].level
3
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from olivine.algorithms.exact.data import EmpiricalMeasure

Path = tuple[int, ...]
Observer = Callable[[Any], object]
"""Is told of every event of a run."""


def notify(observers: Iterable[Observer], event: object) -> None:
    """Tell observers of an event."""
    for observer in observers:
        observer(event)


class EventFailedError(Exception):
    """Raised in a run that met what cannot happen inside the good event.

    Algorithms catch it and return a result with status "failure"; it travels
    through the recursion of dfslearn, which is why it is an exception.
    """


@dataclass(frozen=True, eq=False)
class AtPath:
    """Something at the end of a path.

    Attributes
    ----------
    path
        p, actions from the start.
    """

    path: Path

    @property
    def level(self) -> int:
        """The level h = len(p) + 1 where the path ends, 1-based."""
        return len(self.path) + 1


class Entered(AtPath):
    """A call of dfslearn with the path."""


class Descending(AtPath):
    """The path's state is about to be learned by a recursive call."""


@dataclass(frozen=True, eq=False)
class Sampled(AtPath):
    """D' was sampled at the end of p∘a, the path, for a consensus test."""

    data: EmpiricalMeasure


@dataclass(frozen=True, eq=False)
class ConsensusTest(AtPath):
    """One pass of dfslearn's loop over actions; the path is p∘a.

    Attributes
    ----------
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

    data: EmpiricalMeasure | None
    optimistic: Fraction | None
    pessimistic: Fraction | None
    value: Fraction
    outcome: Literal["end", "consensus", "descent"]
    relaxed: bool = False


@dataclass(frozen=True, eq=False)
class Triple(AtPath):
    """A learned state, (D, V, {V_a}), added to its level's data sets.

    Attributes
    ----------
    data
        D: (x_h, a_h, r_h) with a_h uniform.
    value
        V, which estimates V*(p).
    futures
        V_a for each action, which estimate V*(p∘a).
    tests
        The consensus tests behind them, one per action.
    """

    data: EmpiricalMeasure
    value: Fraction
    futures: tuple[Fraction, ...]
    tests: tuple[ConsensusTest, ...] = ()


class NewPolicies:
    """An event after which a stopped run would have other policies to return.

    Attributes
    ----------
    policies
        One per level; None where there is none yet.
    """

    policies: Sequence[Any]

    @property
    def by_level(self) -> Mapping[int, Any]:
        """The new policies by their level, 1-based."""
        return {h: p for h, p in enumerate(self.policies, 1) if p is not None}


@dataclass(frozen=True, eq=False)
class Iteration(NewPolicies):
    """An iteration of MetaAlg, after its policy was evaluated.

    Attributes
    ----------
    number
        k, 1-based.
    policies
        π̂^(k), one policy per level.
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
