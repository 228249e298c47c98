"""``olivine compare``: algorithms on environments, over many seeds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .common.command import verb
from .common.options import Json, Seed
from .common.output import ExitStatus, describe, print_json, report_error, worst
from .experiments import options

if TYPE_CHECKING:
    from .experiments.units import Row


@verb
def compare(
    algorithms: options.Algorithms = None,
    env: options.Environments = None,
    params: options.Params = None,
    classes: options.Classes = None,
    epsilon: options.Epsilon = 0.3,
    delta: options.Delta = 0.1,
    setting: options.Settings = None,
    seed: Seed = 0,
    seeds: options.Seeds = 50,
    time_limit: options.RunLimit = 10.0,
    jobs: options.Jobs = 1,
    output: options.Figure = None,
    rows: options.Rows = None,
    json_lines: Json = False,
) -> int:
    """Compare algorithms: what each needs and gets on each environment.

    Counts the runs that end ε-optimal, trajectories, oracle calls and seconds. The
    runs of a pair may take thirty times the limit of a run. Runs that are stopped or
    not begun count among all seeds, and are reported.

    Exit status: 0 done, 1 a contradiction, 2 bad input, 3 runs are missing.

    Example: [bold]olivine compare --env grid --seeds 5 -o compare.svg[/bold]
    """
    from .common.outputs import check_outputs
    from .experiments.comparison import Comparison, show
    from .experiments.export import check_results, write_results
    from .experiments.frame import work, written
    from .experiments.plan import Plan
    from .figures.comparison import save_figure
    from .figures.files import check_suffix

    plan = Plan(
        options.listed(env),
        params,
        epsilon,
        delta,
        seeds,
        seed,
        time_limit,
        options.listed(algorithms),
        classes,
        tuple(setting or ()),
    )
    try:
        comparison = Comparison(plan.cells(), plan.each)
        if output is not None:
            check_suffix(output)
        if rows is not None:
            check_results(rows)
        check_outputs([output, rows])
    except (ValueError, OSError) as error:
        return report_error(str(env), describe(error), json_lines=json_lines)
    found: list[Row] = []

    def keep(row: Row) -> None:
        comparison.add(row)
        found.append(row)
        if json_lines:
            for cell in comparison.finished():
                print_json(cell.to_json())

    total = len(comparison.cells) * seeds
    units = comparison.units()
    statuses = work(units, keep, "runs", total, jobs=jobs, json_lines=json_lines)
    records = [cell.to_json() for cell in comparison.cells]
    if json_lines:
        for cell in comparison.finished():
            print_json(cell.to_json())
    else:
        show(records)
    if not written(
        [
            (rows, lambda path: write_results(path, found)),
            (output, lambda path: save_figure(path, records)),
        ]
    ):
        statuses.append(ExitStatus.BAD_INPUT)
    return worst([*statuses, *(cell.status for cell in comparison.cells)])
