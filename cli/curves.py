"""``olivine curves``: the value of each algorithm's policy as trajectories grow."""

from __future__ import annotations

from .common.command import verb
from .common.options import Json, Seed
from .common.output import describe, print_json, report_error
from .experiments import options


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
    """Draw learning curves: the value of each algorithm's policy during its run.

    Each algorithm runs on each environment with each seed. A curve shows the value
    of the policy that the run would return if it stopped, against trajectories, as
    median and range over seeds. A run that its limit stops keeps its curve so far.

    Exit status: 0 done, 1 a contradiction, 2 bad input, 3 runs are missing or were
    stopped.

    Example: [bold]olivine curves --algorithms valor,rmax --env lock -o c.svg[/bold]
    """
    from .experiments.api import run_curves
    from .experiments.frame import checked
    from .experiments.plan import Plan
    from .experiments.summaries import show_curves

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
        cells = checked(plan, output, rows)
    except (ValueError, OSError) as error:
        return report_error(str(env), describe(error), json_lines=json_lines)
    found = run_curves(cells, plan.each, jobs, print_json if json_lines else None)
    if not json_lines:
        show_curves(found.summary)
    return found.finish(output, rows)
