"""``olivine compare``: algorithms on environments, over many seeds."""

from __future__ import annotations

from .common.command import verb
from .common.options import Json
from .experiments import options


@verb
def compare(
    *,
    plan: options.Plan,
    jobs: options.Jobs = 1,
    output: options.Figure = None,
    rows: options.Rows = None,
    json_lines: Json = False,
) -> int:
    """Compare algorithms: the cost and success of each on each environment.

    Counts the runs that end ε-optimal, trajectories, oracle calls and seconds. All
    runs of an algorithm on an environment together may take thirty times the limit
    of one run. Runs that are stopped or not begun count among all seeds and are
    reported separately.

    Exit status: 0 done, 1 a contradiction, 2 bad input, 3 runs are missing.

    Example: [bold]olivine compare --env grid --seeds 5 -o compare.svg[/bold]
    """
    from .experiments.api import by_command, run_comparison
    from .experiments.comparison import show

    return by_command(plan, run_comparison, show, jobs, output, rows, json_lines)
