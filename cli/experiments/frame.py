"""What sweeps, curves and comparisons share: doing units, keeping rows, writing."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..common.console import progress_bar
from ..common.output import ExitStatus, describe, say
from . import workers
from .units import Row, Unit

if TYPE_CHECKING:
    from .plan import Plan
    from .runs import LearningRun


def work(
    units: Iterable[Unit],
    keep: Callable[[Row], object],
    what: str,
    total: int,
    *,
    begun: int = 0,
    jobs: int = 1,
    address: str | None = None,
    json_lines: bool = False,
) -> list[ExitStatus]:
    """Do units, say what goes wrong, hand each row on; statuses of what failed."""
    statuses = []
    with progress_bar(what, total, json_lines) as progress:
        task = progress.task_ids[0]
        progress.update(task, completed=begun)
        try:
            for row in workers.rows_of(units, jobs, address):
                tell_trouble(row)
                if "error" in row:
                    statuses.append(ExitStatus(row["exit"]))
                keep(row)
                progress.advance(task)
        except workers.WorkersError as error:
            say(f"olivine: {error}")
            lost = isinstance(error, workers.LostWorkersError)
            statuses.append(ExitStatus.UNDECIDED if lost else ExitStatus.BAD_INPUT)
    return statuses


def tell_trouble(row: Row) -> None:
    """Say contradictions, warnings and errors on standard error."""
    name = row.get("file", row["key"])
    for text in row.get("contradictions", ()):
        say(f"olivine: {name}: contradiction: {text}")
    if "error" in row:
        said = row["error"]
        say(f"olivine: {said if said.startswith(name) else f'{name}: {said}'}")
    if "traceback" in row:
        print(row["traceback"], end="", file=sys.stderr)


def checked(
    plan: Plan, figure: Path | None, rows: Path | None
) -> Sequence[LearningRun]:
    """Give the cells of a plan; refuse it, and files that cannot be written."""
    from ..common.outputs import check_outputs
    from ..figures.files import check_suffix
    from .export import check_results

    if figure is not None:
        check_suffix(figure)
    if rows is not None:
        check_results(rows)
    check_outputs([figure, rows])
    return plan.cells()


def written(files: Sequence[tuple[Path | None, Callable[[Path], object]]]) -> bool:
    """Write the files that are wanted; False, and a message, where one cannot be."""
    good = True
    for path, write in files:
        try:
            if path is not None:
                write(path)
        except (ValueError, OSError) as error:
            say(f"olivine: {describe(error, str(path))}")
            good = False
    return good


def draw(kind: str, figure: Path, rows: Sequence[Row]) -> None:
    """Draw what rows of this kind are drawn as; errors as `save_curves`."""
    from ..figures.sweep import save_curves, save_phases
    from .summaries import curves_of, phases_of

    if kind == "learning":
        save_curves(figure, curves_of(rows))
    else:
        save_phases(figure, phases_of(rows))
