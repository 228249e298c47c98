"""Units of an experiment: a formula to verify, or a run of an algorithm.

A unit has a key of its own and can be sent to another process. Called, it gives a row,
whatever happens; one with "error" is of a failure and no result.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

from ...algorithms.exact import OwnCodeError
from ..common.output import ExitStatus
from ..verify import Job
from .options import Plan, listed
from .runs import (
    MONTE_CARLO,
    PATIENCE,
    PLAYED,
    LearningRun,
    OutOfTimeError,
    prepare,
    register_environments,
)

if TYPE_CHECKING:
    from ...algorithms.learning.events import Recorder
    from ...reduction.family.family import Instance

Row = dict[str, Any]  # ``key``, ``exit`` (an exit status), and what is found


class Unit(Protocol):
    """A piece of work with a row for a result."""

    @property
    def key(self) -> str:
        """What tells it from the others."""

    def load(self) -> None:
        """Import what it needs, once, and not in each child."""

    def __call__(self) -> Row:
        """Do it."""


@dataclass(frozen=True)
class RandomJob(Job):
    """Verifies the random formulas of given sizes, named by their numbers."""

    variables: int = 3
    clauses: int = 1
    width: int = 3
    draw: int = 0  # Seed of all formulas; each has a generator of its own

    def instance(self, file: str) -> tuple[None, Instance]:
        """Draw the formula whose name ends in its number."""
        import numpy as np

        from ...reduction.family.family import Instance
        from ...reduction.formula.random_formula import random_ksat

        sizes = self.variables, self.clauses, self.width
        number = int(file.rpartition(" ")[2])
        rng = np.random.default_rng([self.draw, *sizes, number])
        formula = random_ksat(*sizes, rng)
        return None, Instance.of(formula, self.variant, self.penalty)


@dataclass(frozen=True)
class FormulaUnit:
    """A formula in a variant, by some routes, known by its content and copy."""

    job: Job
    file: str
    copy: int = 1

    @property
    def key(self) -> str:
        """Variant and content; of a random formula its name."""
        digest = self.job.reading.digest
        content = self.file if digest is None else f"sha256 {digest}"
        again = f", copy {self.copy}" if self.copy > 1 else ""
        return f"{self.job.variant}: {content}{again}"

    def load(self) -> None:
        """Import the routes."""
        from ...reduction.verify import verification  # noqa: F401

    def __call__(self) -> Row:
        """Verify it."""
        record, status = self.job(self.file)
        return {"key": self.key, "exit": int(status)} | record


@dataclass(frozen=True)
class LearningUnit:
    """A run of an algorithm with a seed: the row has the record of ``learn``.

    Beside it stand ``curve`` (``trajectories`` and ``values``, V^π of what the run
    would return if it stopped; of estimates also ``standard_errors``, ``episodes``) and
    ``exact``. The status is "unknown" after the limit, "refused" for a wrong task.
    """

    run: LearningRun
    seed: int
    curve: bool = True  # Whether it is wanted

    @property
    def key(self) -> str:
        """Algorithm, environment and seed."""
        return f"{self.run.algorithm} on {self.run.env}, seed {self.seed}"

    def load(self) -> None:
        """Import the algorithm."""
        from ...algorithms.learning import registry

        registry.get(self.run.algorithm)

    def __call__(self) -> Row:
        """Run it in a child process, which cannot hang or exhaust this one."""
        from ...solvers.child.child import run_in_child

        self.load()
        limit = self.run.time_limit
        wall = None if limit is None else 2 * PATIENCE * limit + 60
        task = _with_curve if self.curve else _alone
        child = run_in_child(task, self.run, self.seed, time_limit=wall)
        if child.value is not None:
            row, status = child.value
        else:
            row = _failed(self.run, self.seed, "unknown", child.message)
            status = ExitStatus.UNDECIDED
            if child.status == "error":
                status = ExitStatus.FAILED
                row |= {"status": "error", "traceback": child.details}
            if child.status != "timeout":
                row["error"] = child.message
        return {"key": self.key, "exit": int(status)} | row


def _failed(run: LearningRun, seed: int, status: str, reason: str) -> Row:
    return {
        "algorithm": run.algorithm,
        "env": run.env,
        "status": status,
        "reason": reason,
        "params": run.params,
        "classes": run.kind,
        "seed": seed,
    }


def _refused(run: LearningRun, seed: int, error: ValueError) -> tuple[Row, ExitStatus]:
    """Give the row of a task that is none, or of an error in one's own code."""
    reason = " ".join(str(error).split())
    if not isinstance(error, OwnCodeError):
        return _failed(run, seed, "refused", reason), ExitStatus.DONE
    failed = _failed(run, seed, "error", reason) | {"error": reason}
    return failed, ExitStatus.BAD_INPUT


def _alone(
    run: LearningRun, seed: int, recorder: Recorder | None = None
) -> tuple[Row, ExitStatus]:
    status = ExitStatus.DONE
    try:
        record, _ = run.with_seed(seed, recorder=recorder)
        if record["contradictions"]:
            status = ExitStatus.CONTRADICTION
    except OutOfTimeError as error:
        record, status = _failed(run, seed, "unknown", str(error)), ExitStatus.UNDECIDED
        if recorder is not None and recorder.points:
            recorder.end()
    except ValueError as error:
        return _refused(run, seed, error)
    record["epsilon"] = run.epsilon
    return record, status


def _with_curve(run: LearningRun, seed: int) -> tuple[Row, ExitStatus]:
    from ...algorithms.learning import registry
    from ...algorithms.learning.events import Recorder

    recorder = Recorder()
    record, status = _alone(run, seed, recorder)
    if not recorder.points or record["status"] in ("refused", "error"):
        return record, status
    best = recorder.optimal_value
    n = MONTE_CARLO
    if best is None:  # what is played may be slow
        n = max(50, min(PLAYED, 20 * PLAYED // len(recorder.points)))
    try:
        with registry.get(run.algorithm).playing():
            measured = recorder.measured(n, [seed, 2])
    except ValueError as error:  # of a simulator, which is played for it
        return _refused(run, seed, error)
    errors = [error for _, error in measured if error is not None]
    record["exact"] = not errors
    record["optimal_value"] = None if best is None else str(best)
    record["curve"] = {
        "trajectories": [point.trajectories for point in recorder.points],
        "values": [float(value) for value, _ in measured],
    } | ({"episodes": n, "standard_errors": errors} if errors else {})
    return record, status


def learning_units(
    cells: Sequence[LearningRun], seeds: Sequence[int]
) -> list[LearningUnit]:
    """All runs of cells, seed by seed, so that each seed's rows come together."""
    return [LearningUnit(cell, seed) for seed in seeds for cell in cells]


MOST_RUNS = 1_000_000


def check_number(units: int) -> None:
    """Refuse, before they are made, more units than fit into memory."""
    if units > MOST_RUNS:
        raise ValueError(f"{units} rows are too many; at most {MOST_RUNS} can be")


def cells_of(plan: Plan) -> list[LearningRun]:
    """All cells of a plan, by environment; at most `MOST_RUNS` runs."""
    from ...algorithms import environments
    from ...algorithms.learning import registry

    named = listed(plan.env)
    register_environments(*named)
    worlds = tuple(dict.fromkeys(named or environments.names()))
    algorithms = tuple(dict.fromkeys(listed(plan.algorithms) or registry.names()))
    _check_settings(plan.setting or (), algorithms, worlds)
    runs = len(worlds) * len(algorithms) * plan.seeds
    check_number(runs)
    return [_cell(plan, algorithm, env) for env in worlds for algorithm in algorithms]


def _check_settings(
    settings: Sequence[str], algorithms: Sequence[str], environments: Sequence[str]
) -> None:
    from ...algorithms.environments import options
    from ...algorithms.learning import registry

    known = {k for a in algorithms for k in registry.get(a).settings}
    known |= {k for e in environments for k in options(e)}
    for text in settings:
        key, equals, _ = text.partition("=")
        if not equals:
            raise ValueError(f"--set: {text!r} is not KEY=VALUE")
        if key not in known:
            hint = registry.suggestion(key, known)
            raise ValueError(f"--set: unknown {key!r}{hint}")


def _cell(plan: Plan, algorithm: str, environment: str) -> LearningRun:
    from ...algorithms.environments import options
    from ...algorithms.learning import registry

    own = registry.get(algorithm).settings.keys() | options(environment).keys()
    cell = prepare(
        algorithm,
        environment,
        plan.params or "theorem",
        plan.classes,
        plan.epsilon,
        plan.delta,
        [s for s in plan.setting or () if s.partition("=")[0] in own],
        plan.time_limit,
    )
    return adapted(cell, plan.params, plan.classes, plan.seed)


def adapted(
    cell: LearningRun, params: str | None, classes: object, seed: int
) -> LearningRun:
    """Choose what was left open; continuous observations take no theorem's sample."""
    from ...algorithms.environments.protocol import knows_truth
    from ...algorithms.learning import registry

    world, algorithm = cell.environment(seed), registry.get(cell.algorithm)
    if classes is None and algorithm.without_truth and not knows_truth(world):
        cell = replace(cell, classes=algorithm.without_truth)
    if all(world.space(h).is_finite for h in range(1, world.horizon + 1)):
        return cell
    default = "finite" if cell.classes == "tabular" else cell.classes
    return replace(
        cell,
        params=params or "practical",
        classes=default if classes is None else classes,
    )
