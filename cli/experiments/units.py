"""Units of an experiment: a formula to verify, or a run of an algorithm.

A unit has a key of its own and can be sent to another process. Called, it gives a row,
whatever happens; one with "error" is of a failure and no result. A comparison's units
are in cells, of one algorithm on one environment.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Protocol

from ...algorithms.exact import OwnCodeError
from ..common.options import Plan, listed
from ..common.output import ExitStatus
from ..verify import Job
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


CALLS = ("csc", "lp", "ls", "multi")
EARLY = 3  # runs stopped before any is done, after which a cell is left
BUDGET = 30  # a cell begins no run after so many limits of a run


class Cell:
    """The runs of a cell so far."""

    def __init__(self, run: LearningRun, seeds: Sequence[int]) -> None:
        self.run, self.seeds = run, seeds
        self.rows: list[Row] = []  # As they came
        self.left: str | None = None  # Why no run was begun for some seeds
        self._begun = 0
        self._closed = False

    def units(self) -> Iterator[LearningUnit]:
        """Begin runs while that says something."""
        for seed in self.seeds:
            if self.refused is not None or self._leave():
                break
            self._begun += 1
            yield LearningUnit(self.run, seed, curve=False)
        self._closed = True

    @property
    def is_done(self) -> bool:
        """Whether no row is to come."""
        return self._closed and len(self.rows) == self._begun

    @property
    def ended(self) -> list[Row]:
        """Rows of runs that ended, by their seeds."""
        ended = (r for r in self.rows if r["status"] in ("success", "failure"))
        return sorted(ended, key=lambda row: int(row["seed"]))

    @property
    def refused(self) -> str | None:
        """Why the algorithm does not take the task."""
        refusals = (r["reason"] for r in self.rows if r["status"] == "refused")
        return next(refusals, None)

    @property
    def stopped(self) -> int:
        """How many runs their limit stopped."""
        return sum(r["status"] == "unknown" and "error" not in r for r in self.rows)

    def _leave(self) -> bool:
        limit, stopped, ended = self.run.time_limit, self.stopped, self.ended
        failed = next((row for row in self.rows if "error" in row), None)
        if failed is not None:
            self.left = f"seed {failed['seed']}: {failed['error']}"
        elif stopped >= EARLY and not ended:
            self.left = f"{EARLY} runs did not end within {limit:g} s of CPU time"
        elif limit is not None:
            spent = stopped * limit + sum(row["seconds"] for row in ended)
            if spent >= BUDGET * limit:
                self.left = f"the {BUDGET * limit:g} s of CPU time of a pair are over"
        return self.left is not None

    @property
    def status(self) -> ExitStatus:
        """A contradiction, undecided where runs are missing, or done."""
        if any(row["contradictions"] for row in self.ended):
            return ExitStatus.CONTRADICTION
        missing = self.refused is None and len(self.ended) < len(self.seeds)
        return ExitStatus.UNDECIDED if missing else ExitStatus.DONE

    def to_json(self) -> dict[str, Any]:
        """Sum the runs up.

        A success ends with status "success" within ε of V*. Of the runs that ended:
        ``trajectories`` (median), ``calls``, ``enumerated`` (functions evaluated) and
        ``seconds`` (means); ``suboptimality`` (mean), of runs with a policy.
        """
        run, rows = self.run, self.ended
        gaps = [r["suboptimality"] for r in rows if r["suboptimality"] is not None]
        gaps = [float(Fraction(gap)) for gap in gaps]
        spent = [row["trajectories"] for row in rows]
        kinds = dict.fromkeys([*CALLS, *(k for r in rows for k in r["calls"])])
        return {
            "algorithm": run.algorithm,
            "env": run.env,
            "params": run.params,
            "classes": run.kind,
            "epsilon": run.epsilon,
            "seeds": len(self.seeds),
            "runs": len(rows),
            "successes": sum(succeeded(row, run.epsilon) for row in rows),
            "failures": sum(row["status"] == "failure" for row in rows),
            "contradictions": [
                f"seed {row['seed']}: {text}"
                for row in rows
                for text in row["contradictions"]
            ],
            "trajectories": statistics.median_high(spent) if rows else None,
            "calls": {k: _mean([r["calls"].get(k, 0) for r in rows]) for k in kinds},
            "enumerated": _mean([row["enumerated"] for row in rows]),
            "value": _mean([float(r["value"]) for r in rows if _is_estimated(r)]),
            "suboptimality": _mean(gaps),
            "worst": max(gaps, default=None),
            "seconds": _mean([row["seconds"] for row in rows]),
            "timeouts": self.stopped,
            "refused": self.refused,
            "left": self.left,
        }


def _is_estimated(row: Row) -> bool:
    """Whether a run has an estimated value, and no V* to hold it against."""
    return row["value"] is not None and row["optimal_value"] is None


class Comparison:
    """Cells whose runs are begun one cell after the other."""

    def __init__(self, runs: Sequence[LearningRun], seeds: Sequence[int]) -> None:
        self.cells = [Cell(run, seeds) for run in runs]
        self._by_name = {(c.run.algorithm, c.run.env): c for c in self.cells}
        self._told = 0

    def units(self) -> Iterator[LearningUnit]:
        """All runs that are to be begun; what a row says may spare others."""
        for cell in self.cells:
            yield from cell.units()

    def add(self, row: Row) -> None:
        """Take a row."""
        self._by_name[row["algorithm"], row["env"]].rows.append(row)

    def finished(self) -> Iterator[Cell]:
        """Cells that are done by now and not given before, in order."""
        while self._told < len(self.cells) and self.cells[self._told].is_done:
            self._told += 1
            yield self.cells[self._told - 1]


def succeeded(record: Mapping[str, Any], epsilon: float) -> bool:
    """Whether a run ended with status "success" and suboptimality at most ε."""
    if record["status"] != "success" or record["suboptimality"] is None:
        return False
    return Fraction(record["suboptimality"]) <= Fraction(str(epsilon))


def _mean(values: Sequence[float]) -> float | None:
    return round(statistics.fmean(values), 9) if values else None
