"""``olivine learn``: run an algorithm on an environment, checked against the truth."""

import sys
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer

from .common import options
from .common.command import verb
from .common.options import Json, Seed, seconds
from .common.output import (
    ExitStatus,
    FileError,
    describe,
    heartbeat,
    print_json,
    print_table,
    say,
    say_contradictions,
    stdout_console,
    tell,
)


@verb
def learn(
    algorithm: Annotated[
        str | None,
        typer.Argument(
            metavar="ALGORITHM",
            help="Name of an algorithm, see --list.",
            autocompletion=options.complete_algorithms,
        ),
    ] = None,
    env: options.Environment = None,
    listing: Annotated[
        bool, typer.Option("--list", help="List algorithms and environments.")
    ] = False,
    params: options.Params = None,
    classes: options.Classes = None,
    epsilon: options.Epsilon = 0.3,
    delta: options.Delta = 0.1,
    setting: options.Settings = None,
    seed: Seed = 0,
    time_limit: Annotated[
        float | None, seconds("Seconds of CPU time of the run; none by default.")
    ] = None,
    check: Annotated[
        bool,
        typer.Option(
            "--check-assumptions",
            help="Check the algorithm's assumptions on its classes before the run; a "
            "violation ends the command with a counterexample.",
        ),
    ] = False,
    run_anyway: Annotated[
        bool,
        typer.Option(
            "--run-anyway", help="Check the assumptions, and run even if one fails."
        ),
    ] = False,
    json_lines: Json = False,
) -> int:
    """Run a learning algorithm on an environment.

    The seed fixes the environment, the classes and the samples. Monitors compare
    the run with the environment's true values. A violation of the paper's claims
    where they must hold is a contradiction. An algorithm that finds no policy ends
    with status "failure", which is a result.

    olivine compare runs all algorithms on all environments; olivine curves draws
    their learning curves.

    Exit status: 0 done, 1 a contradiction, 2 bad input, 3 the run was stopped by
    its limit.

    Example: [bold]olivine learn valor --env random-finite --set states=3[/bold]
    """
    from ..algorithms.learning.problem import impossible
    from .experiments.runs import Examination, OutOfTimeError, prepare

    examination = None
    if check or run_anyway:
        examination = Examination(allow_unrealizable=run_anyway, show=not json_lines)
    try:
        if listing:
            _list(json_lines)
            return ExitStatus.DONE
        if algorithm == "all":
            raise ValueError("learn all: this is olivine compare now")
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
        with heartbeat(lambda: f"learning, {algorithm} on {env}"):
            record, result = run.with_seed(
                seed, examination=examination, progress=sys.stderr.isatty()
            )
    except OutOfTimeError as error:
        record = {"algorithm": algorithm, "env": env, "status": "unknown"}
        record |= {"reason": str(error), "seed": seed}
        if json_lines:
            print_json(record)
        else:
            say(f"olivine: {algorithm} on {env}: unknown ({error})")
        return ExitStatus.UNDECIDED
    except ValueError as error:
        failed: dict[str, Any] = {"algorithm": algorithm, "env": env}
        if examination is not None:
            failed["assumptions"] = examination.to_json()
        raise FileError("", describe(error), record=failed) from error
    if json_lines:
        print_json(record)
    else:
        binding = result.monitors
        if examination is not None:
            binding = examination.binding(result)
        _show(record, impossible(binding))
    say_contradictions(record["contradictions"])
    return ExitStatus.CONTRADICTION if record["contradictions"] else ExitStatus.DONE


def _list(json_lines: bool) -> None:
    from ..algorithms import environments
    from ..algorithms.learning import registry
    from .experiments.runs import register_environments

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


def _show(record: Mapping[str, Any], contradicted: Sequence[str]) -> None:
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
        + (f" ± {record['estimate_error']:.2g}" if "estimate_error" in record else "")
    )
    for note in record.get("notes", ()):
        tell(f"  {note}")
    calls = ", ".join(f"{n} {kind}" for kind, n in record["calls"].items() if n)
    work = [f"{calls} calls"] if calls else []
    if record["enumerated"]:
        work.append(f"{record['enumerated']} functions evaluated on a data set")
    tell(
        f"  {record['trajectories']:.3g} trajectories, {', '.join([*work, ''])}"
        f"{record['seconds']:.3f} s, seed {record['seed']}"
    )
    _show_monitors(record["monitors"], contradicted)


_EXPECTED = {
    "premise": "a premise failed in this run, so what rests on it is not promised",
    "event": "promised only where every premise holds, and one does not or is unknown",
    "probable": "promised with probability 1-δ, not in each run",
    "fact": "noted only: these constants are not the theorem's",
}
"""Why a claim that fails is no contradiction, by its scope."""


def _show_monitors(
    monitors: Mapping[str, Mapping[str, Any]], contradicted: Sequence[str]
) -> None:
    """Print a table of monitors, and why those that fail contradict nothing."""
    if not monitors:
        return
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
