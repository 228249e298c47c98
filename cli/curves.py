"""``olivine curves``: the value of each algorithm's policy as trajectories grow."""

from __future__ import annotations

from .common.command import verb
from .common.options import Json
from .common.output import FileError
from .experiments import options

FEW = options.Plan(seeds=5)


@verb
def curves(
    plan: options.Plan = FEW,
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
    from .experiments.api import by_command, run_curves
    from .experiments.summaries import show_curves

    if plan.env is None:
        raise FileError("--env", "--env: missing (olivine learn --list shows them)")
    return by_command(plan, run_curves, show_curves, jobs, output, rows, json_lines)
