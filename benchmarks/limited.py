"""OLIVE's program by a MILP, with CPU time measured and limited; ties by name."""

from __future__ import annotations

from functools import partial

import numpy as np
from olivine.algorithms.olive_program.optimisers import Milp
from olivine.algorithms.olive_program.tiebreak import (
    LevelRule,
    RandomTiebreak,
    SolverTiebreak,
    Tiebreak,
)
from olivine.reduction.family.family import Family
from olivine.reduction.run.honest import adversarial_tiebreak
from olivine.solvers.child.child import children_seconds, run_in_child
from olivine.solvers.milp import milp
from olivine.solvers.model import LinearModel
from olivine.solvers.outcome import LinearOutcome


class Limited(Milp):
    """A MILP engine, each of whose calls has a limit of CPU time."""

    def __init__(self, limit: float) -> None:
        super().__init__()
        self.limit, self.slowest = limit, 0.0
        milp.run_in_child = partial(run_in_child, cpu_limit=limit)

    def _outcome(self, model: LinearModel) -> tuple[LinearOutcome, float]:
        before = children_seconds()
        outcome, _ = super()._outcome(model)
        seconds = children_seconds() - before
        if "CPU time" in outcome.reason:  # killed at the limit, or just before
            seconds = self.limit
        self.slowest = max(self.slowest, min(seconds, self.limit))
        return outcome, seconds


def tiebreak(
    name: str, family: Family, rng: np.random.Generator, level: LevelRule | None = None
) -> Tiebreak:
    """Break ties by the solver, at random or as the adversary does."""
    if name == "solver":
        return SolverTiebreak(level or "largest")
    return (
        RandomTiebreak(rng, level) if name == "random" else adversarial_tiebreak(family)
    )
