"""Every algorithm on every environment, over many seeds: ``olivine learn all``.

A cell is one algorithm on one environment. Its runs are made one after another
in child processes, so that none can hang or exhaust the others, until all seeds
are done or the cell's time is up; what is not done is counted, never guessed.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from ..common.output import ExitStatus
from .learn_run import LearningRun, prepare, register_environments

CALLS = ("csc", "lp", "ls", "multi")
EARLY = 3
"""Runs stopped by their limit before any is done, after which a cell is left."""
PATIENCE = 10
"""Wall seconds for each second of CPU time: what waits for ever ends, too."""


@dataclass(frozen=True)
class Plan:
    """What to compare."""

    environments: tuple[str, ...] = ()  # Their names; all if there are none
    # Constants for all; None: the theorem's where observations are finite, else
    # practical ones
    params: str | None = None
    # epsilon, delta: accuracy and failure probability
    epsilon: float = 0.3
    delta: float = 0.1
    seeds: int = 50  # Runs of a cell: seeds first, first + 1,
    first: int = 0  # The first seed
    # run_limit, cell_limit: seconds of CPU time of one run, and those after which a
    # cell begins no other; at most `PATIENCE` times as much wall time
    run_limit: float = 10.0
    cell_limit: float = 300.0
    algorithms: tuple[str, ...] = ()  # Their names; all if there are none
    classes: str | None = None  # Kind of the classes; None: each algorithm's own
    # KEY=VALUE, each for the environments and algorithms that have it
    settings: tuple[str, ...] = ()

    def cells(self) -> list[LearningRun]:
        """All cells, by environment."""
        from ...algorithms.environments import registry as environments
        from ...algorithms.learning import registry

        register_environments()
        names = self.environments or tuple(environments.names())
        algorithms = self.algorithms or registry.names()
        self._check_settings(algorithms, names)
        return [
            self.cell(algorithm, environment)
            for environment in dict.fromkeys(names)
            for algorithm in dict.fromkeys(algorithms)
        ]

    def _check_settings(
        self, algorithms: Sequence[str], environments: Sequence[str]
    ) -> None:
        """Refuse, with a ValueError, a setting that nothing here has."""
        from ...algorithms.environments.registry import options
        from ...algorithms.learning import registry

        known = {k for a in algorithms for k in registry.get(a).settings}
        known |= {k for e in environments for k in options(e)}
        for text in self.settings:
            key, equals, _ = text.partition("=")
            if not equals:
                raise ValueError(f"--set: {text!r} is not KEY=VALUE")
            if key not in known:
                raise ValueError(
                    f"--set: unknown {key!r}{registry.suggestion(key, known)}"
                )

    def cell(self, algorithm: str, environment: str) -> LearningRun:
        """One of the cells; errors as for `cells`."""
        from ...algorithms.environments import make
        from ...algorithms.environments.registry import options
        from ...algorithms.learning import registry

        register_environments()
        own = registry.get(algorithm).settings.keys() | options(environment).keys()
        settings = [s for s in self.settings if s.partition("=")[0] in own]
        params, classes = self.params or "theorem", self.classes
        cell = prepare(
            algorithm, environment, params, classes, self.epsilon, self.delta, settings
        )
        world = make(environment, self.first, **cell.for_env)
        if not all(world.space(h).is_finite for h in range(1, world.horizon + 1)):
            # Nothing tabular there, and no theorem's sample fits into memory.
            default = registry.get(algorithm).default_classes
            cell = replace(
                cell,
                params=self.params or "practical",
                classes=classes or ("finite" if default == "tabular" else default),
            )
        return cell


def run_cell(cell: LearningRun, plan: Plan) -> tuple[dict[str, Any], ExitStatus]:
    """Run a cell and sum it up.

    Gives ``algorithm``, ``env``, ``params``, ``classes``, ``epsilon``, ``seeds``
    (wanted), ``runs`` (that ended), ``successes`` (status "success" and suboptimality
    at most ε), ``failures`` (status "failure"), ``timeouts`` (stopped by the limit),
    ``contradictions``, ``trajectories`` (median, an integer), ``calls``, ``enumerated``
    (functions evaluated) and ``seconds`` (means), ``suboptimality`` (mean, over runs
    with a policy) and ``worst``, ``refused`` (why the algorithm does not take the task,
    or null), ``left`` (why no run was begun for some seeds, or null). Medians and means
    are those of the runs that ended. A contradiction, undecided where runs are missing,
    or done.
    """
    from ...solvers.child.child import children_seconds, run_in_child

    wall, cpu = time.monotonic(), children_seconds()
    records: list[dict[str, Any]] = []
    timeouts, refused, left = 0, None, None
    for seed in range(plan.first, plan.first + plan.seeds):
        spent = children_seconds() - cpu
        waited = (time.monotonic() - wall) / PATIENCE
        if max(spent, waited) >= plan.cell_limit:
            left = f"the {plan.cell_limit:g} s of CPU time of a pair are over"
            break
        child = run_in_child(
            _record_or_refusal,
            cell,
            seed,
            time_limit=PATIENCE * plan.run_limit,
            cpu_limit=plan.run_limit,
        )
        if child.status == "timeout":
            timeouts += 1
            if timeouts >= EARLY and not records:
                left = (
                    f"{EARLY} runs did not end within {plan.run_limit:g} s of CPU time"
                )
                break
            continue
        if child.status != "done" or child.value is None:
            left = f"seed {seed}: {child.message}"
            break
        if isinstance(child.value, str):
            refused = child.value
            break
        records.append(child.value)
    record = _summary(cell, plan, records) | {
        "timeouts": timeouts,
        "refused": refused,
        "left": left,
    }
    if record["contradictions"]:
        return record, ExitStatus.CONTRADICTION
    undecided = refused is None and len(records) < plan.seeds
    return record, ExitStatus.UNDECIDED if undecided else ExitStatus.DONE


def _record_or_refusal(cell: LearningRun, seed: int) -> dict[str, Any] | str:
    try:
        record, _ = cell.with_seed(seed)
    except ValueError as error:
        return " ".join(str(error).split())
    return record


def _summary(
    cell: LearningRun, plan: Plan, records: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    gaps = [
        Fraction(r["suboptimality"]) for r in records if r["suboptimality"] is not None
    ]
    successes = sum(succeeded(record, plan.epsilon) for record in records)
    contradicted = [r for r in records if r["contradictions"]]
    return {
        "algorithm": cell.algorithm,
        "env": cell.env,
        "params": cell.params,
        "classes": cell.classes,
        "epsilon": plan.epsilon,
        "seeds": plan.seeds,
        "runs": len(records),
        "successes": successes,
        "failures": sum(record["status"] == "failure" for record in records),
        "contradictions": [
            f"seed {r['seed']}: {text}"
            for r in contradicted
            for text in r["contradictions"]
        ],
        "trajectories": statistics.median_high([r["trajectories"] for r in records])
        if records
        else None,
        "calls": {
            kind: _mean([record["calls"].get(kind, 0) for record in records])
            for kind in dict.fromkeys(
                [*CALLS, *(k for r in records for k in r["calls"])]
            )
        },
        "enumerated": _mean([record["enumerated"] for record in records]),
        "suboptimality": _mean([float(gap) for gap in gaps]),
        "worst": float(max(gaps)) if gaps else None,
        "seconds": _mean([record["seconds"] for record in records]),
    }


def score(record: Mapping[str, Any]) -> str:
    """Say how many runs of a cell end ε-optimal, of all seeds that were wanted.

    >>> score({"successes": 1, "seeds": 5, "runs": 1, "timeouts": 3})
    '1 of 5, 3 stopped, 1 not begun'
    """
    stopped = record["timeouts"]
    counts = {
        "stopped": stopped,
        "not begun": record["seeds"] - record["runs"] - stopped,
    }
    missing = [f"{count} {what}" for what, count in counts.items() if count]
    return ", ".join([f"{record['successes']} of {record['seeds']}", *missing])


def succeeded(record: Mapping[str, Any], epsilon: float) -> bool:
    """Whether a run ended with status "success" and suboptimality at most ε."""
    if record["status"] != "success" or record["suboptimality"] is None:
        return False
    return Fraction(record["suboptimality"]) <= Fraction(str(epsilon))


def _mean(values: Sequence[float]) -> float | None:
    return round(statistics.fmean(values), 9) if values else None
