"""``olivine compare``: cells of one algorithm on one environment, over many seeds."""

import statistics
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from ..common.console import print_table, tell
from ..common.output import ExitStatus
from .runs import LearningRun
from .units import LearningUnit, Row

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


def show(records: Sequence[Mapping[str, Any]]) -> None:
    """Print one table for each environment, and below what was refused."""
    for env in dict.fromkeys(record["env"] for record in records):
        own = [record for record in records if record["env"] == env]
        tell(str(env))
        print_table(
            (
                "algorithm",
                "constants, classes",
                "ε-optimal",
                "trajectories",
                "calls",
                "V* − V^π",
                "seconds",
            ),
            [cells(record) for record in own if record["refused"] is None],
            spare=("constants, classes", "calls", "seconds"),
        )
        for line in remarks(own):
            tell(f"  {line}")
        tell()


def remarks(records: Sequence[Mapping[str, Any]]) -> list[str]:
    """Say what was refused and what is missing, each reason once."""
    found: dict[str, list[str]] = {}
    for record in records:
        name = record["algorithm"]
        for reason in (record["refused"], record["left"]):
            if reason:
                found.setdefault(reason.removeprefix(f"{name}: "), []).append(name)
        if record["timeouts"]:
            late = f"runs stopped by the limit of CPU time: {record['timeouts']}"
            if record["runs"]:
                late += "; what else stands there is of the runs that ended"
            found.setdefault(late, []).append(name)
    return [f"{', '.join(names)}: {reason}" for reason, names in found.items()]


def cells(record: Mapping[str, Any]) -> list[str]:
    """Give a record's row in a table."""
    counts = dict(record["calls"]) | {"functions": record["enumerated"]}
    calls = ", ".join(f"{n:.3g} {kind}" for kind, n in counts.items() if n)
    trajectories, gap = record["trajectories"], record["suboptimality"]
    lost = "" if gap is None else f"{gap:.3g} (≤ {record['worst']:.3g})"
    if record.get("value") is not None:
        lost = f"unknown; V^π ≈ {record['value']:.3g}"
    return [
        str(record["algorithm"]),
        f"{record['params']}, {record['classes']}",
        score(record),
        "" if trajectories is None else f"{trajectories:.2e}",
        calls,
        lost,
        "" if record["seconds"] is None else f"{record['seconds']:.3g}",
    ]


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
    if record.get("value") is not None:
        return ", ".join([f"V* unknown, {record['runs']} ended", *missing])
    return ", ".join([f"{record['successes']} of {record['seeds']}", *missing])


def succeeded(record: Mapping[str, Any], epsilon: float) -> bool:
    """Whether a run ended with status "success" and suboptimality at most ε."""
    if record["status"] != "success" or record["suboptimality"] is None:
        return False
    return Fraction(record["suboptimality"]) <= Fraction(str(epsilon))


def _mean(values: Sequence[float]) -> float | None:
    return round(statistics.fmean(values), 9) if values else None
