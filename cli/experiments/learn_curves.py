"""``olivine learn --algorithms``: learning curves over seeds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ..common.console import (
    progress_bar,
)
from ..common.output import (
    ExitStatus,
    describe,
    print_json,
    say,
    worst,
)

if TYPE_CHECKING:
    from .comparison import Plan
    from .units import Row


def learn_curves(
    plan: Plan,
    figure: Path | None,
    results: Path | None,
    jobs: int,
    *,
    json_lines: bool,
) -> ExitStatus:
    """Run algorithms over seeds; print, write and draw the value on the way."""
    from ..common.outputs import check_outputs
    from ..figures.files import check_suffix
    from ..sweep import draw, show, tell_trouble
    from .parquet import check_results, write_results
    from .units import learning_units
    from .workers import WorkersError, rows_of

    units = learning_units(plan)
    try:
        if figure is not None:
            check_suffix(figure)
        if results is not None:
            check_results(results)
        check_outputs([figure, results])
    except OSError as error:
        raise ValueError(describe(error)) from None
    found: dict[str, Row] = {}
    statuses = []
    with progress_bar("learning", len(units), json_lines) as progress:
        try:
            for row in rows_of(units, jobs, None):
                found[row["key"]] = row
                tell_trouble(row)
                if json_lines:
                    print_json(row)
                progress.advance(progress.task_ids[0])
        except WorkersError as error:
            say(f"olivine: {error}")
            statuses.append(ExitStatus.UNDECIDED)
    rows = [found[unit.key] for unit in units if unit.key in found]
    if not json_lines:
        show("learning", rows, json_lines=False)
    try:
        if results is not None:
            write_results(results, rows)
        if figure is not None:
            draw("learning", figure, rows)
    except (ValueError, OSError) as error:
        say(f"olivine: {describe(error)}")
        statuses.append(ExitStatus.BAD_INPUT)
    return worst([*statuses, *(ExitStatus(row["exit"]) for row in rows)])
