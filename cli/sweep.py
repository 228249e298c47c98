"""``olivine sweep``: many formulas or runs, their rows appended as they come."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .common.command import (
    verb,
)
from .common.console import (
    print_table,
    progress_bar,
    tell,
)
from .common.options import Json
from .common.output import (
    ExitStatus,
    describe,
    print_json,
    report_error,
    say,
    worst,
)

if TYPE_CHECKING:
    from .experiments.sweep_plan import Sweep
    from .experiments.units import Row


@verb
def sweep(
    file: Annotated[
        Path, typer.Argument(metavar="SWEEP", help="A TOML file that says what to run.")
    ],
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            metavar="ROWS",
            help="JSON Lines to append rows to; one that was stopped goes on.",
        ),
    ],
    jobs: Annotated[
        int | None,
        typer.Option(
            "--jobs",
            "-j",
            min=1,
            help="Processes on this machine; as many as processors when not given.",
            show_default=False,
        ),
    ] = None,
    dask: Annotated[
        str | None,
        typer.Option(
            "--dask",
            metavar="ADDRESS",
            help="Work on the cluster of this Dask scheduler, as tcp://host:8786.",
            show_default=False,
        ),
    ] = None,
    figure: Annotated[
        Path | None,
        typer.Option(
            "--figure",
            metavar="FIGURE",
            help="Draw the phase transition, or learning curves (.svg, .png, .pdf).",
            show_default=False,
        ),
    ] = None,
    parquet: Annotated[
        Path | None,
        typer.Option(
            "--parquet",
            metavar="FILE",
            help="Write all rows as a Parquet table, too (extra parquet).",
            show_default=False,
        ),
    ] = None,
    json_lines: Json = False,
) -> int:
    """Do what a sweep file says: verify formulas, or run learning algorithms.

    A sweep of formulas goes over files and random formulas, and variants, by routes
    that must agree; one of learning over algorithms, environments and seeds. Each
    result is appended to ROWS as it comes. After a kill the same command goes on with
    what is missing, and once nothing is missing it only sums up, draws and exports.

    Exit status, over all rows: 0 done, 1 a contradiction, 2 bad input, 3 something
    undecided, or workers were lost.

    Example: [bold]olivine sweep examples/phase.toml -o rows.jsonl --figure p.svg[/bold]
    """
    from .common.outputs import check_outputs
    from .experiments.parquet import check_results, write_results
    from .experiments.rows import open_rows
    from .experiments.sweep_plan import read_sweep
    from .experiments.workers import LostWorkersError, WorkersError, cores
    from .figures.files import check_suffix

    try:
        plan = read_sweep(file)
        if figure is not None:
            check_suffix(figure)
        if parquet is not None:
            if parquet.suffix.lower() != ".parquet":
                raise ValueError(f"{parquet}: a Parquet table's name ends in .parquet")
            check_results(parquet)
        check_outputs([output, figure, parquet], [str(file), *plan.files])
    except (ValueError, OSError) as error:
        return report_error(str(file), describe(error), json_lines=json_lines)
    checks = {unit.key: unit.check for unit in plan.units}
    statuses: list[ExitStatus] = []
    try:
        with open_rows(output, plan.says, checks) as found:
            if found.remark:
                say(f"olivine: {found.remark}")
            try:
                for row in _failures(plan, found, jobs or cores(), dask, json_lines):
                    statuses.append(ExitStatus(row["exit"]))
            except WorkersError as error:
                say(f"olivine: {error}. Rows so far are in {output}")
                lost = isinstance(error, LostWorkersError)
                statuses += [ExitStatus.UNDECIDED if lost else ExitStatus.BAD_INPUT]
            rows = [found.rows[u.key] for u in plan.units if u.key in found.rows]
    except (ValueError, OSError) as error:
        return report_error(
            str(output), describe(error, str(output)), json_lines=json_lines
        )
    show(plan.kind, rows, json_lines)
    try:
        if figure is not None and rows:
            draw(plan.kind, figure, rows)
        if parquet is not None:
            write_results(parquet, rows)
    except (ValueError, OSError) as error:
        place = str(figure if figure is not None else parquet)
        statuses.append(
            report_error(place, describe(error, place), json_lines=json_lines)
        )
    return worst([*statuses, *(ExitStatus(row["exit"]) for row in rows)])


def _failures(
    plan: Sweep, found: Any, jobs: int, dask: str | None, json_lines: bool
) -> Iterator[Row]:
    """Do what is missing and append each row; yield those of failures, not kept."""
    from .experiments.workers import rows_of

    missing = [unit for unit in plan.units if unit.key not in found.rows]
    if found.rows:
        say(f"olivine: {len(found.rows)} of {len(plan.units)} rows are there already")
    with progress_bar("sweep", len(plan.units), json_lines) as progress:
        task = progress.task_ids[0]
        progress.update(task, completed=len(found.rows))
        for row in rows_of(missing, jobs, dask):
            tell_trouble(row)
            if "error" in row:
                yield row
            else:
                found.append(row)
            progress.advance(task)
    if done := len(plan.units) - len(found.rows):
        say(f"olivine: {done} of {len(plan.units)} are missing; run the command again")


def tell_trouble(row: Row) -> None:
    """Say contradictions and errors on standard error."""
    name = row.get("file", row["key"])
    for text in row.get("contradictions", ()):
        say(f"olivine: {name}: contradiction: {text}")
    if "error" in row:
        said = row["error"]
        say(f"olivine: {said if said.startswith(name) else f'{name}: {said}'}")
    if "traceback" in row:
        print(row["traceback"], end="", file=sys.stderr)


def draw(kind: str, figure: Path, rows: Sequence[Row]) -> None:
    """Draw what rows of this kind are drawn as; errors as `save_curves`."""
    from .experiments.summaries import curves_of, phases_of
    from .figures.sweep import save_curves, save_phases

    if kind == "learning":
        save_curves(figure, curves_of(rows))
    else:
        save_phases(figure, phases_of(rows))


def show(kind: str, rows: Sequence[Row], json_lines: bool) -> None:
    """Sum rows up: objects on lines, or a table."""
    from .experiments.summaries import curves_of, phases_of

    found = curves_of(rows) if kind == "learning" else phases_of(rows)
    groups = [group.to_json() for group in found]
    if json_lines:
        for group in groups:
            print_json(group)
    elif kind == "learning":
        show_curves(groups)
    elif groups:
        _show_phases(groups)


def show_curves(groups: Sequence[dict[str, Any]]) -> None:
    """Print a row for each algorithm on each environment."""
    header = "environment", "algorithm", "constants", "ε-optimal", "trajectories"
    print_table(
        (*header, "V^π: median", "range", "V*"),
        [
            (
                group["env"],
                group["algorithm"],
                group["params"],
                _score(group),
                _number(group["trajectories"], ".3g"),
                _number(group["value"], ".4g"),
                _ends(group["least"], group["most"]),
                _number(group["optimal_value"], ".4g") + _span(group["optimal_range"]),
            )
            for group in groups
        ],
        spare=("constants", "V*"),
    )
    for group in groups:
        if group["refused"]:
            tell(f"{group['algorithm']}: {group['refused']}")


def _ends(least: float | None, most: float | None) -> str:
    return "" if least is None else f"{least:.4g} to {most:.4g}"


def _span(ends: tuple[float, float] | None) -> str:
    """Say in what range V* is, where seeds differ in it."""
    return "" if ends is None else f" ({_ends(*ends)})"


def _score(group: dict[str, Any]) -> str:
    if group["refused"]:
        return "refused"
    stopped = f", {group['stopped']} stopped" if group["stopped"] else ""
    lost = group["seeds"] - group["runs"] - group["stopped"]
    more = f", {lost} without a curve" if lost else ""
    return f"{group['successes']} of {group['seeds']}{stopped}{more}"


def _number(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)


def _show_phases(groups: Sequence[dict[str, Any]]) -> None:
    routes = list(dict.fromkeys(name for group in groups for name in group["seconds"]))
    header = "variant", "variables", "clauses", "ratio", "satisfiable"
    print_table(
        (*header, "optimum: median", "least", *(f"{route} (s)" for route in routes)),
        [
            (
                group["variant"],
                str(group["variables"]),
                str(group["clauses"]),
                f"{group['ratio']:.3g}",
                f"{group['satisfiable']} of {group['formulas']}"
                + (f", {group['undecided']} undecided" if group["undecided"] else ""),
                group["optimum"]["median"] or "",
                group["optimum"]["least"] or "",
                *(_number(group["seconds"].get(route), ".3g") for route in routes),
            )
            for group in groups
        ],
        spare=("least", "clauses"),
    )
