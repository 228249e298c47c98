"""``olivine learn all``: the comparison, as a table, as JSON and as a figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..common.console import (
    print_table,
    progress_bar,
    tell,
)
from ..common.output import (
    ExitStatus,
    describe,
    print_json,
    say,
    worst,
)
from .comparison import score

if TYPE_CHECKING:
    from .comparison import Plan

Record = dict[str, Any]

_ON = " on "


def learn_all(
    plan: Plan, output: Path | None, jobs: int, *, json_lines: bool
) -> ExitStatus:
    """Compare all algorithms; print each cell as it is done."""
    from ..common.parallel import in_parallel
    from ..figures.comparison import save_figure
    from ..figures.files import check_figure

    if output is not None:
        try:
            check_figure(output)
        except OSError as error:
            raise ValueError(describe(error)) from None
    keys = [f"{cell.algorithm}{_ON}{cell.env}" for cell in plan.cells()]
    job = partial(_job, plan)
    results = in_parallel(job, keys, jobs) if jobs > 1 else map(job, keys)
    records, statuses = [], []
    with progress_bar("algorithms on environments", len(keys), json_lines) as progress:
        for record, status in results:
            progress.update(progress.task_ids[0], advance=1)
            records.append(record)
            statuses.append(status)
            if json_lines:
                print_json(record)
            for text in record.get("contradictions", ()):
                say(
                    f"olivine: contradiction: {record['algorithm']} on "
                    f"{record['env']}, {text}"
                )
    if not json_lines:
        show(records)
    if output is not None:
        try:
            save_figure(output, plan, [r for r in records if "error" not in r])
        except OSError as error:
            say(f"olivine: {describe(error, str(output))}")
            statuses.append(ExitStatus.BAD_INPUT)
    return worst(statuses)


def _job(plan: Plan, key: str) -> tuple[Record, ExitStatus]:
    """Run the cell of a name: names are what workers are sent."""
    from .comparison import run_cell

    algorithm, _, environment = key.partition(_ON)
    return run_cell(plan.cell(algorithm, environment), plan)


def show(records: Sequence[Mapping[str, Any]]) -> None:
    """Print one table for each environment, and below what was refused."""
    for env in dict.fromkeys(r["env"] for r in records if "error" not in r):
        own = [r for r in records if r.get("env") == env]
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
            [row(record) for record in own if record["refused"] is None],
            spare=("constants, classes", "calls", "seconds"),
        )
        for line in remarks(own):
            tell(f"  {line}")
        tell()
    for record in records:
        if "error" in record:
            tell(record["error"])


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


def row(record: Mapping[str, Any]) -> list[str]:
    """Cells of a record's row in a table."""
    counts = dict(record["calls"]) | {"functions": record["enumerated"]}
    calls = ", ".join(f"{n:.3g} {kind}" for kind, n in counts.items() if n)
    trajectories, gap = record["trajectories"], record["suboptimality"]
    return [
        str(record["algorithm"]),
        f"{record['params']}, {record['classes']}",
        score(record),
        "" if trajectories is None else f"{trajectories:.2e}",
        calls,
        "" if gap is None else f"{gap:.3g} (≤ {record['worst']:.3g})",
        "" if record["seconds"] is None else f"{record['seconds']:.3g}",
    ]
