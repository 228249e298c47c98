"""Units of an experiment: a formula to verify, or a run of an algorithm.

A unit has a key, which no other of its experiment has, and can be sent to another
process. Called, it gives a row, whatever happens.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from ..common.output import ExitStatus
from ..verify import Job
from .learn_run import MONTE_CARLO, PATIENCE, LearningRun, OutOfTimeError

if TYPE_CHECKING:
    from ...reduction.family.instance import Instance
    from .comparison import Plan

Row = dict[str, Any]
"""``key``, ``exit`` (an exit status), and what is found."""


class Unit(Protocol):
    """A piece of work with a row for a result."""

    @property
    def key(self) -> str:
        """What tells it from the others."""

    def __call__(self) -> Row:
        """Do it."""


@dataclass(frozen=True)
class RandomJob(Job):
    """Verifies the random formulas of given sizes, named by their numbers."""

    # variables, clauses, width: of each formula
    variables: int = 3
    clauses: int = 1
    width: int = 3
    draw: int = 0  # Seed of all formulas; each has a generator of its own

    def instance(self, file: str) -> tuple[None, Instance]:
        """Draw the formula whose name ends in its number."""
        import numpy as np

        from ...reduction.family.instance import Instance
        from ...reduction.formula.random_formula import random_ksat

        sizes = self.variables, self.clauses, self.width
        number = int(file.rpartition(" ")[2])
        rng = np.random.default_rng([self.draw, *sizes, number])
        formula = random_ksat(*sizes, rng)
        return None, Instance.of(formula, self.variant, self.penalty)


@dataclass(frozen=True)
class FormulaUnit:
    """A formula in a variant, by some routes: the row has the record of ``verify``."""

    job: Job
    file: str

    @property
    def key(self) -> str:
        """Variant and file."""
        return f"{self.job.variant}: {self.file}"

    def __call__(self) -> Row:
        """Verify it."""
        # Imported here, once, and not by each child.
        from ...reduction.verify import verification  # noqa: F401

        record, status = self.job(self.file)
        return {"key": self.key, "exit": int(status)} | record


@dataclass(frozen=True)
class LearningUnit:
    """A run of an algorithm with a seed: the row has the record of ``learn``.

    Beside it stand ``curve`` (``trajectories`` and ``values``: V^π of what the run
    would return if it were stopped then, the last entries at its end) and ``exact``
    (whether values are). The status is "unknown" where the limit stopped the run,
    "refused" where the algorithm does not take the task.
    """

    run: LearningRun
    seed: int

    @property
    def key(self) -> str:
        """Algorithm, environment and seed."""
        return f"{self.run.algorithm} on {self.run.env}, seed {self.seed}"

    def __call__(self) -> Row:
        """Run it in a child process, which cannot hang or exhaust this one."""
        # Imported here, once, and not by each child.
        from ...algorithms.learning import registry
        from ...solvers.child.child import run_in_child

        registry.get(self.run.algorithm)
        limit = self.run.time_limit
        wall = None if limit is None else 2 * PATIENCE * limit + 60
        child = run_in_child(_with_curve, self.run, self.seed, time_limit=wall)
        if child.value is not None:
            row, status = child.value
        elif child.status == "error":
            row = self._unknown("error", child.message) | {"traceback": child.details}
            status = ExitStatus.FAILED
        else:
            row = self._unknown("unknown", f"{child.status}: {child.message}")
            status = ExitStatus.UNDECIDED
        return {"key": self.key, "exit": int(status)} | row

    def _unknown(self, status: str, reason: str) -> Row:
        return _failed(self.run, self.seed, status, reason)


def _failed(run: LearningRun, seed: int, status: str, reason: str) -> Row:
    return {
        "algorithm": run.algorithm,
        "env": run.env,
        "status": status,
        "reason": reason,
        "params": run.params,
        "classes": run.classes,
        "seed": seed,
    }


def _with_curve(run: LearningRun, seed: int) -> tuple[Row, ExitStatus]:
    """Run, and evaluate the policies on the way, up to the limit if it is reached."""
    from ...algorithms.learning.events import Recorder

    recorder, status = Recorder(), ExitStatus.DONE
    try:
        record, _ = run.with_seed(seed, recorder=recorder)
        if record["contradictions"]:
            status = ExitStatus.CONTRADICTION
    except OutOfTimeError as error:
        record, status = _failed(run, seed, "unknown", str(error)), ExitStatus.UNDECIDED
        if recorder.points:
            recorder.end()
    except ValueError as error:
        return _failed(run, seed, "refused", " ".join(str(error).split())), status
    record["epsilon"] = run.epsilon
    if not recorder.points:  # stopped before it began
        return record, status
    values = recorder.values(MONTE_CARLO, [seed, 2])
    record["exact"] = recorder.truth.exact
    record["optimal_value"] = str(recorder.truth.optimal_value)
    record["curve"] = {
        "trajectories": [point.trajectories for point in recorder.points],
        "values": [float(value) for value in values],
    }
    return record, status


def learning_units(plan: Plan) -> list[LearningUnit]:
    """All runs of a plan, seed by seed, so that each seed's rows come together."""
    from dataclasses import replace

    cells = [replace(cell, time_limit=plan.run_limit) for cell in plan.cells()]
    seeds = range(plan.first, plan.first + plan.seeds)
    return [LearningUnit(cell, seed) for seed in seeds for cell in cells]
