"""``olivine learn``: run an algorithm on an environment, checked against the truth."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from .common.command import (
    verb,
)
from .common.console import (
    heartbeat,
    print_table,
    stderr_console,
    stdout_console,
    tell,
)
from .common.options import Json, Seed, parse_seconds
from .common.output import (
    ExitStatus,
    print_json,
    say,
)

SEEDS = 50
CURVE_SEEDS = 5
MOST_SEEDS = 1_000_000
RUN_LIMIT = 10.0
"""Seconds of CPU time that a run of ``learn all`` may take."""


def complete_algorithms(incomplete: str) -> list[str]:
    """Give what a shell may complete a list of algorithms to."""
    from ..algorithms.learning import registry

    return _completions(incomplete, [*registry.names(), "all"])


def complete_environments(incomplete: str) -> list[str]:
    """Give what a shell may complete a list of environments to."""
    from ..algorithms.environments import registry
    from .experiments.learn_run import register_environments

    register_environments()
    return _completions(incomplete, registry.names())


def _completions(incomplete: str, names: list[str]) -> list[str]:
    """Complete the last word of a list with commas."""
    before, comma, last = incomplete.rpartition(",")
    return [before + comma + name for name in names if name.startswith(last)]


@verb
def learn(
    algorithm: Annotated[
        str | None,
        typer.Argument(
            metavar="ALGORITHM",
            help="See --list; all compares them all.",
            autocompletion=complete_algorithms,
            show_default=False,
        ),
    ] = None,
    env: Annotated[
        str | None,
        typer.Option(
            "--env",
            metavar="ENV",
            help="See --list; several for all: ENV,ENV.",
            autocompletion=complete_environments,
            show_default=False,
        ),
    ] = None,
    algorithms: Annotated[
        str | None,
        typer.Option(
            "--algorithms",
            metavar="NAME,NAME",
            help="Learning curves of these, or of all, over --seeds (5).",
            autocompletion=complete_algorithms,
            show_default=False,
        ),
    ] = None,
    curve: Annotated[
        Path | None,
        typer.Option(
            "--curve",
            metavar="FIGURE",
            help="With --algorithms: draw the value of each policy against "
            "trajectories (.svg, .png, .pdf).",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="FILE",
            help="With --algorithms: a row for each run (.jsonl, or .parquet with the "
            "extra parquet).",
            show_default=False,
        ),
    ] = None,
    listing: Annotated[
        bool, typer.Option("--list", help="List algorithms and environments.")
    ] = False,
    params: Annotated[
        str | None,
        typer.Option(
            "--params",
            metavar="theorem|paper|practical|frugal",
            help="Constants: the theorem's (corrected where an erratum applies), as "
            "printed, free, or, for VALOR, free and with samples shared by all calls. "
            "By default the theorem's; for all, free ones where "
            "observations are continuous.",
            show_default=False,
        ),
    ] = None,
    classes: Annotated[
        str | None,
        typer.Option(
            "--classes",
            metavar="tabular|finite|linear",
            help="Function classes; the default depends on the algorithm.",
            show_default=False,
        ),
    ] = None,
    epsilon: Annotated[
        float, typer.Option("--epsilon", help="Accuracy, in (0, 1).")
    ] = 0.3,
    delta: Annotated[
        float, typer.Option("--delta", help="Failure probability, in (0, 1).")
    ] = 0.1,
    setting: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="An option of the environment, or a setting of the algorithm.",
            show_default=False,
        ),
    ] = None,
    seed: Seed = 0,
    seeds: Annotated[
        int | None,
        typer.Option(
            "--seeds",
            min=1,
            max=MOST_SEEDS,
            help="For all and --algorithms: runs of each on each environment (50; 5).",
            show_default=False,
        ),
    ] = None,
    time_limit: Annotated[
        float | None,
        typer.Option(
            "--time-limit",
            parser=parse_seconds,
            metavar="SECONDS",
            help="For all and --algorithms: seconds of CPU time of a run (10).",
            show_default=False,
        ),
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option(
            "--jobs",
            min=1,
            help="For all and --algorithms: how many at a time (1).",
            show_default=False,
        ),
    ] = None,
    check: Annotated[
        bool,
        typer.Option(
            "--check-assumptions",
            help="Check what the algorithm assumes of its classes before the run; a "
            "violation, shown with a counterexample, refuses it.",
        ),
    ] = False,
    run_anyway: Annotated[
        bool,
        typer.Option(
            "--run-anyway", help="Check the assumptions, and run in any case."
        ),
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="For all: a figure to write (.svg, .png, .pdf).",
            show_default=False,
        ),
    ] = None,
    json_lines: Json = False,
) -> int:
    """Run a learning algorithm on an environment.

    The seed fixes the environment, the classes and the samples. Monitors compare
    the run with the environment's true values; a claim of the paper that is
    violated where it must hold is a contradiction. An algorithm that finds no
    policy ends with status "failure", which is a result.

    ALGORITHM all runs every algorithm on every environment, 50 seeds each. It
    tells how many runs end ε-optimal, trajectories, oracle calls and seconds. A run
    may take 10 seconds of CPU time (--time-limit), and the runs of a pair thirty
    times that. Runs that are stopped or not begun count among the 50, and are
    told.

    With --algorithms the value of what each run would return, if it were stopped, is
    recorded as trajectories grow, for the median and range over seeds: --curve draws
    it. Runs that their limit stops keep the curve that they have.

    Without both, --time-limit is the CPU time of the run; there is none by default.

    Exit status: 0 done, 1 a contradiction, 2 bad input, 3 runs are missing, or the
    run did not end within its limit.

    Example: [bold]olivine learn valor --env random-finite --set states=3[/bold]
    """
    from .experiments.comparison import Plan
    from .experiments.learn_all import learn_all
    from .experiments.learn_assumptions import Examination
    from .experiments.learn_curves import learn_curves
    from .experiments.learn_run import OutOfTimeError, prepare

    examination = None
    if check or run_anyway:
        examination = Examination(allow_unrealizable=run_anyway, show=not json_lines)
    try:
        if listing:
            _list(json_lines)
            return ExitStatus.DONE
        if algorithms is not None:
            _refuse_beside_algorithms(algorithm, output, examination)
            known = () if algorithms == "all" else tuple(algorithms.split(","))
            if env is None:
                raise ValueError("--env: missing (--list shows the environments)")
            plan = Plan(
                tuple(env.split(",")),
                params,
                epsilon,
                delta,
                seeds or CURVE_SEEDS,
                seed,
                RUN_LIMIT if time_limit is None else time_limit,
                algorithms=known,
                classes=classes,
                settings=tuple(setting or ()),
            )
            return learn_curves(plan, curve, out, jobs or 1, json_lines=json_lines)
        for option, path in (("--curve", curve), ("--out", out)):
            if path is not None:
                raise ValueError(f"{option}: only with --algorithms")
        if algorithm == "all":
            if classes or setting:
                raise ValueError("all: --classes and --set are for one algorithm")
            if examination is not None:
                raise ValueError("all: assumptions are checked for one algorithm")
            names = () if env is None else tuple(env.split(","))
            limit = RUN_LIMIT if time_limit is None else time_limit
            plan = Plan(
                names, params, epsilon, delta, seeds or SEEDS, seed, limit, 30 * limit
            )
            return learn_all(plan, output, jobs or 1, json_lines=json_lines)
        only = {
            "--seeds": seeds,
            "--jobs": jobs,
            "--output": output,
        }
        for option, value in only.items():
            if value is not None:
                raise ValueError(f"{option}: only for olivine learn all")
        run = prepare(
            algorithm,
            env,
            params or "theorem",
            classes,
            epsilon,
            delta,
            setting or [],
            time_limit,
        )
        with _Watch() as watch, heartbeat(lambda: f"learning, {algorithm} on {env}"):
            record, _ = run.with_seed(seed, watch.observers, examination)
    except OutOfTimeError as error:
        record = {"algorithm": algorithm, "env": env, "status": "unknown"}
        record |= {"reason": str(error), "seed": seed}
        if json_lines:
            print_json(record)
        else:
            say(f"olivine: {algorithm} on {env}: unknown ({error})")
        return ExitStatus.UNDECIDED
    except ValueError as error:
        message = " ".join(str(error).split())
        if json_lines:
            failed: dict[str, Any] = {"algorithm": algorithm, "env": env}
            failed["error"] = message
            if examination is not None:
                failed["assumptions"] = examination.to_json()
            print_json(failed)
        else:
            say(f"olivine: {message}")
        return ExitStatus.BAD_INPUT
    if json_lines:
        print_json(record)
    else:
        _show(record)
    for contradiction in record["contradictions"]:
        say(
            f"olivine: contradiction: {contradiction} (this should be impossible: "
            "please report it with the command)"
        )
    return ExitStatus.CONTRADICTION if record["contradictions"] else ExitStatus.DONE


def _refuse_beside_algorithms(
    algorithm: str | None, output: Path | None, examination: object
) -> None:
    """Refuse, with a ValueError, what does not go with --algorithms."""
    if algorithm is not None:
        raise ValueError(f"--algorithms: {algorithm!r} is named beside it")
    if output is not None:
        raise ValueError("--output: only for olivine learn all; see --curve and --out")
    if examination is not None:
        raise ValueError("--algorithms: assumptions are checked for one algorithm")


def _list(json_lines: bool) -> None:
    from ..algorithms.environments import registry as environments
    from ..algorithms.learning import registry
    from .experiments.learn_run import register_environments

    register_environments()
    entries = registry.algorithms()
    names = environments.names()
    if json_lines:
        print_json(
            {
                "algorithms": [entry.name for entry in entries],
                "environments": names,
                "assumptions": {e.name: list(e.assumptions) for e in entries},
                "settings": {e.name: dict(e.settings) for e in entries},
                "options": {n: environments.options(n) for n in names},
            }
        )
        return
    from rich.padding import Padding
    from rich.text import Text

    console = stdout_console()
    tell("Algorithms, with their settings (--set)")
    for entry in entries:
        tell(f"  {entry.name:18} {entry.summary}")
        console.print(Padding(Text(", ".join(entry.settings)), (0, 0, 0, 21)))
    tell("What a setting means: --list --json")
    tell("Environments, with their options (--set)")
    for name in names:
        options = environments.options(name).items()
        listed = ", ".join(f"{key}={value}" for key, value in options)
        tell(f"  {name:18} {listed}")


def _show(record: Mapping[str, Any]) -> None:
    from fractions import Fraction

    def number(value: Any) -> str:
        return "unknown" if value is None else f"{float(Fraction(value)):.6g}"

    tell(
        f"{record['algorithm']} on {record['env']}: {record['status']}"
        + (f" ({record['reason']})" if record["reason"] else "")
    )
    tell(
        f"  V^π = {number(record['value'])} of V* = "
        f"{number(record['optimal_value'])}; estimated {number(record['estimate'])}"
    )
    calls = ", ".join(f"{n} {kind}" for kind, n in record["calls"].items() if n)
    work = [f"{calls} calls"] if calls else []
    if record["enumerated"]:
        work.append(f"{record['enumerated']} functions evaluated on a data set")
    tell(
        f"  {record['trajectories']:.3g} trajectories, {', '.join([*work, ''])}"
        f"{record['seconds']:.3f} s, seed {record['seed']}"
    )
    _show_monitors(record)


_EXPECTED = {
    "premise": "a premise failed in this run, so what rests on it is not promised",
    "event": "promised only where every premise holds, and one does not or is unknown",
    "probable": "promised with probability 1-δ, not in each run",
    "fact": "noted only: these constants are not the theorem's",
}
"""Why a claim that fails is no contradiction, by its scope."""


def _show_monitors(record: Mapping[str, Any]) -> None:
    """Print a table of monitors, and why those that fail contradict nothing."""
    monitors = record["monitors"]
    if not monitors:
        return
    contradicted = {text.partition(":")[0] for text in record["contradictions"]}
    words = {True: "yes", None: "unknown"}
    print_table(
        ("monitor", "holds", "margin", "checks", "when"),
        [
            (
                name,
                words.get(found["holds"], "NO" if name in contradicted else "no"),
                "" if found["margin"] is None else f"{found['margin']:.3g}",
                str(found["checks"]),
                found["scope"],
            )
            for name, found in monitors.items()
        ],
    )
    for scope, reason in _EXPECTED.items():
        failed = [
            name
            for name, found in monitors.items()
            if found["holds"] is False
            and found["scope"] == scope
            and name not in contradicted
        ]
        if failed:
            tell(f"  {', '.join(failed)}: {reason}; no contradiction")


class _Watch:
    """Progress on a terminal's standard error; nothing elsewhere."""

    def __init__(self) -> None:
        self.observers: tuple[Any, ...] = ()
        self._progress: Any = None

    def __enter__(self) -> _Watch:
        if sys.stderr.isatty():
            from .experiments.learn_progress import ProgressObserver, make_progress

            self._progress = make_progress(stderr_console())
            self._progress.start()
            self.observers = (ProgressObserver(self._progress),)
        return self

    def __exit__(self, *error: object) -> None:
        if self._progress is not None:
            self._progress.stop()
