"""``olivine curves``: the value of each algorithm's policy as trajectories grow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .common.command import verb
from .common.options import Json, Seed
from .common.output import ExitStatus, describe, print_json, report_error, worst
from .experiments import options

if TYPE_CHECKING:
    from .experiments.units import Row


@verb
def curves(
    algorithms: options.Algorithms = None,
    env: options.Environments = None,
    params: options.Params = None,
    classes: options.Classes = None,
    epsilon: options.Epsilon = 0.3,
    delta: options.Delta = 0.1,
    setting: options.Settings = None,
    seed: Seed = 0,
    seeds: options.Seeds = 5,
    time_limit: options.RunLimit = 10.0,
    jobs: options.Jobs = 1,
    output: options.Figure = None,
    rows: options.Rows = None,
    json_lines: Json = False,
) -> int:
    """Draw learning curves: what a run would return if it were stopped, and its value.

    Each algorithm runs on each environment with each seed. The value of the policy
    that it would return is recorded as trajectories grow, for the median and range
    over seeds. Runs that their limit stops keep the curve that they have.

    Exit status: 0 done, 1 a contradiction, 2 bad input, 3 runs are missing or were
    stopped.

    Example: [bold]olivine curves --algorithms valor,rmax --env lock -o c.svg[/bold]
    """
    from .common.outputs import check_outputs
    from .experiments.export import check_results, write_results
    from .experiments.frame import draw, work, written
    from .experiments.plan import Plan
    from .experiments.summaries import show
    from .experiments.units import learning_units
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
        if env is None:
            raise ValueError("--env: missing (olivine learn --list shows them)")
        units = learning_units(plan.cells(), plan.each)
        if output is not None:
            check_suffix(output)
        if rows is not None:
            check_results(rows)
        check_outputs([output, rows])
    except (ValueError, OSError) as error:
        return report_error(str(env), describe(error), json_lines=json_lines)
    found: dict[str, Row] = {}

    def keep(row: Row) -> None:
        found[row["key"]] = row
        if json_lines:
            print_json(row)

    statuses = work(units, keep, "runs", len(units), jobs=jobs, json_lines=json_lines)
    done = [found[unit.key] for unit in units if unit.key in found]
    if not json_lines:
        show("learning", done, json_lines=False)
    if not written(
        [
            (rows, lambda path: write_results(path, done)),
            (output, lambda path: draw("learning", path, done)),
        ]
    ):
        statuses.append(ExitStatus.BAD_INPUT)
    return worst([*statuses, *(ExitStatus(row["exit"]) for row in done)])
