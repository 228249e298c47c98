"""``olivine sweep``, ``compare`` and ``curves``: many formulas, or many runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .common import options
from .common.command import verb
from .common.output import ExitStatus, FileError, bad_input, print_json, say, worst

if TYPE_CHECKING:
    from .experiments.api import Experiment
    from .experiments.units import Row


@verb
def sweep(
    file: Annotated[
        Path,
        typer.Argument(metavar="SWEEP", help="A TOML file that lists what to run."),
    ],
    output: Annotated[
        Path,
        options.output(
            "ROWS", "JSON Lines file to append rows to; an incomplete one is resumed."
        ),
    ],
    jobs: Annotated[
        int | None,
        typer.Option(
            "--jobs",
            "-j",
            min=1,
            help="Processes on this machine; by default one per processor.",
        ),
    ] = None,
    dask: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Work on the cluster of this Dask scheduler, as tcp://host:8786.",
        ),
    ] = None,
    figure: Annotated[
        Path | None,
        typer.Option(
            metavar="FIGURE",
            help="Draw the phase transition, or learning curves (.svg, .png, .pdf).",
        ),
    ] = None,
    parquet: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Also write all rows as a Parquet table (extra parquet).",
        ),
    ] = None,
    json_lines: options.Json = False,
) -> int:
    """Run a sweep file: verify many formulas, or run many learning algorithms.

    A sweep of formulas verifies files and random formulas in several variants, by
    routes that must agree. A sweep of learning runs algorithms on environments with
    several seeds. Each result is appended to ROWS at once. A sweep is resumable: the
    same command runs what is missing, and once nothing is missing it only
    summarises, draws and exports.

    Exit status, over all rows: 0 done, 1 a contradiction, 2 bad input, 3 some
    result is undecided, or no worker answers any more.

    Example: [bold]olivine sweep examples/phase.toml -o rows.jsonl --figure p.svg[/bold]
    """
    from .common.outputs import check_outputs
    from .common.reading import is_formula_name
    from .experiments.frame import cores, draw, work, written
    from .experiments.rows import check_results, open_rows, write_results
    from .experiments.summaries import show
    from .experiments.sweep_file import read_sweep
    from .figures.files import check_suffix

    with bad_input(str(file)):
        plan = read_sweep(file)
        if figure is not None:
            check_suffix(figure)
        if parquet is not None:
            if parquet.suffix.lower() != ".parquet":
                raise ValueError(f"{parquet}: a Parquet table's name ends in .parquet")
            check_results(parquet)
        if is_formula_name(output.name):
            raise ValueError(f"{output}: by its name a formula, not a file of rows")
        check_outputs([output, figure, parquet], [str(file), *plan.files])
    with (
        bad_input(str(output), str(output)),
        open_rows(output, plan.says, {u.key for u in plan.units}) as stored,
    ):
        if stored.remark:
            say(f"olivine: {stored.remark}")
        missing = [unit for unit in plan.units if unit.key not in stored.rows]
        total, begun = len(plan.units), len(stored.rows)
        if begun:
            say(f"olivine: {begun} of {total} rows are there already")

        def keep(row: Row) -> None:
            if "error" not in row:
                stored.append(row)

        statuses = work(
            missing,
            keep,
            "sweep",
            total,
            begun=begun,
            jobs=jobs or cores(),
            address=dask,
            json_lines=json_lines,
        )
        rows = [stored.rows[u.key] for u in plan.units if u.key in stored.rows]
    if len(rows) < len(plan.units):
        lacking = len(plan.units) - len(rows)
        say(
            f"olivine: {lacking} of {len(plan.units)} are missing; rows so far are in "
            f"{output}, and the same command goes on"
        )
    show(plan.kind, rows, json_lines)
    drawn = figure if rows else None
    if not written(
        [
            (drawn, lambda path: draw(plan.kind, path, rows)),
            (parquet, lambda path: write_results(path, rows)),
        ]
    ):
        statuses.append(ExitStatus.BAD_INPUT)
    return worst([*statuses, *(ExitStatus(row["exit"]) for row in rows)])


@verb
def compare(
    *,
    plan: options.Plan,
    jobs: options.ParallelRuns = 1,
    output: options.Figure = None,
    rows: options.Rows = None,
    json_lines: options.Json = False,
) -> int:
    """Compare algorithms: the cost and success of each on each environment.

    Counts the runs that end ε-optimal, trajectories, oracle calls and seconds. All
    runs of an algorithm on an environment together may take thirty times the limit
    of one run. Runs that are stopped or not begun count among all seeds and are
    reported separately.

    Exit status: 0 done, 1 a contradiction, 2 bad input, 3 runs are missing.

    Example: [bold]olivine compare --env grid --seeds 5 -o compare.svg[/bold]
    """
    from .experiments.api import run_comparison
    from .experiments.summaries import show_comparison

    return _run(plan, run_comparison, show_comparison, jobs, output, rows, json_lines)


_FEW = options.Plan(seeds=5)


@verb
def curves(
    plan: options.Plan = _FEW,
    jobs: options.ParallelRuns = 1,
    output: options.Figure = None,
    rows: options.Rows = None,
    json_lines: options.Json = False,
) -> int:
    """Draw learning curves: the value of each algorithm's policy during its run.

    Each algorithm runs on each environment with each seed. A curve shows the value
    of the policy that the run would return if it stopped, against trajectories, as
    median and range over seeds. A run that its limit stops keeps its curve so far.

    Exit status: 0 done, 1 a contradiction, 2 bad input, 3 runs are missing or were
    stopped.

    Example: [bold]olivine curves --algorithms valor,rmax --env lock -o c.svg[/bold]
    """
    from .experiments.api import run_curves
    from .experiments.summaries import show_curves

    if plan.env is None:
        raise FileError("--env", "--env: missing (olivine learn --list shows them)")
    return _run(plan, run_curves, show_curves, jobs, output, rows, json_lines)


def _run(
    plan: options.Plan,
    run: Callable[..., Experiment],
    show: Callable[[Sequence[dict[str, Any]]], object],
    jobs: int,
    figure: Path | None,
    rows: Path | None,
    json_lines: bool,
) -> ExitStatus:
    """Check, run, show and write."""
    from .common.outputs import check_outputs
    from .experiments.frame import written
    from .experiments.rows import check_results
    from .experiments.units import cells_of
    from .figures.files import check_suffix

    with bad_input(",".join(options.listed(plan.env)) or "all environments"):
        if figure is not None:
            check_suffix(figure)
        if rows is not None:
            check_results(rows)
        check_outputs([figure, rows])
        cells = cells_of(plan)
    found = run(cells, plan.each, jobs, print_json if json_lines else None)
    if not json_lines:
        show(found.summary)
    if written([(rows, found.write), (figure, found.save)]):
        return worst(found._statuses)
    return worst([*found._statuses, ExitStatus.BAD_INPUT])
