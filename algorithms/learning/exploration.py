"""What dfslearn does alike in VALOR and in the two-sample algorithm."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from olivine.algorithms.environments.protocol import Environment
from olivine.algorithms.exact.data import EmpiricalMeasure, pool
from olivine.algorithms.learning.events import EventFailedError, Observer, Path


class TrainingSets(Protocol):
    """What a data set D̃ asks of an algorithm's parameters."""

    @property
    def n_train(self) -> int:
        """Draws of a data set."""

    @property
    def K(self) -> int:  # noqa: N802
        """Actions."""

    @property
    def balanced(self) -> bool:
        """Whether each action is taken equally often."""


def enter(
    path: Path, calls: list[int], most: int, observers: Sequence[Observer]
) -> None:
    """Count a call of dfslearn at the end of a path, and tell observers.

    Observers hear of the call too many as well, or none could see it.

    Raises
    ------
    EventFailedError
        After more than ``most`` calls at the path's level.
    """
    calls[len(path)] += 1
    for observer in observers:
        observer.entered(path)
    if calls[len(path)] > most:
        raise EventFailedError(
            f"dfslearn was called more than T_max = {most} times "
            f"at level {len(path) + 1}, impossible in event E"
        )


def training_set(
    environment: Environment,
    path: Path,
    parameters: TrainingSets,
    rng: np.random.Generator,
    *,
    successors: bool,
) -> EmpiricalMeasure:
    """Draw D̃: n_train of (x_h, a_h, r_h), and x_{h+1} if wanted, after a path.

    a_h is uniform; or, if parameters are balanced, each action is taken equally
    often, n_train being rounded up to a multiple of K.
    """
    p = parameters
    if not p.balanced:
        return environment.sample(path, p.n_train, rng, successors=successors)
    each = -(-p.n_train // p.K)
    return pool(
        [
            environment.sample(path, each, rng, action=a, successors=successors)
            for a in range(p.K)
        ]
    )
