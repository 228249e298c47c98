"""``olivine barrier``: the paper's further barriers, run."""

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from .common import options
from .common.command import verb
from .common.output import (
    ExitStatus,
    FileError,
    describe,
    heartbeat,
    print_json,
    say,
    say_contradictions,
    stderr_console,
)

# What each barrier takes; the same names as the options.
OPTIONS: Mapping[str, tuple[str, ...]] = {
    "backup": ("horizon", "epsilon", "ratio", "ties", "samples", "runs"),
    "average": ("contexts",),
    "square-loss": ("epsilon", "samples", "runs"),
}


def parse_rational(text: str) -> Fraction:
    """Read a number written as an integer, a fraction or a decimal."""
    return options.parse_fraction(text, "1/4 or 0.25")


class Choices(NamedTuple):
    """The options of the barriers."""

    horizon: Annotated[
        list[int] | None,
        typer.Option(
            metavar="H",
            help="backup: length of the chains; repeatable; 3 and 6 by default.",
        ),
    ] = None
    epsilon: Annotated[
        Fraction | None,
        typer.Option(
            parser=parse_rational,
            metavar="E",
            help="backup: loss of the wrong action, in [1/4096, 1/2], 1/4 by "
            "default; square-loss: probability of the second observation, in (0, 1), "
            "1/16 by default.",
        ),
    ] = None
    ratio: Annotated[
        Fraction | None,
        typer.Option(
            parser=parse_rational,
            metavar="R",
            help="backup: growth of the wrong function's error per level, in "
            "(1, 2]; 2, the paper's, by default. Below 2 there are no ties.",
        ),
    ] = None
    ties: Annotated[
        str | None,
        typer.Option(
            metavar="against|for",
            help="backup: ties go for or against the algorithm; against by default.",
        ),
    ] = None
    contexts: Annotated[
        int | None,
        typer.Option(
            metavar="M", help="average: number of contexts, even; 8 by default."
        ),
    ] = None
    samples: Annotated[
        list[int] | None,
        typer.Option(
            metavar="N",
            help="backup: samples of each state and action; square-loss: returns in a "
            "data set. Repeatable.",
        ),
    ] = None
    runs: Annotated[
        int | None,
        typer.Option(
            metavar="R",
            help="backup, square-loss: runs for each N, at most 100000; 40 and 200 by "
            "default.",
        ),
    ] = None


@verb
def barrier(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME",
            help="backup, average or square-loss.",
            autocompletion=lambda incomplete: [
                name for name in OPTIONS if name.startswith(incomplete)
            ],
        ),
    ] = None,
    *,
    choices: Choices,
    output: Annotated[
        Path | None, options.output("FIGURE", "Figure to write: .svg, .png or .pdf.")
    ] = None,
    seed: options.Seed = 0,
    json_lines: options.Json = False,
) -> int:
    """Run one of the barriers of the paper's appendix "Additional Barriers".

    backup: Bellman backups need a number of samples exponential in the horizon;
    VALOR does not. average: exploration with average constraints stops 1/2 below
    the optimum; OLIVE and VALOR do not. square-loss: a bound on the square loss to
    an ε-optimal roll-out keeps functions that are off by √ε.

    Exit status: 0 done, 1 a contradiction to what is proved, 2 bad input.

    Example: [bold]olivine barrier backup --horizon 4 -o backup.svg[/bold]
    """
    fault = ""
    try:
        record = _run(name, choices._asdict(), output, seed)
    except (ValueError, OSError) as error:
        raise FileError("", describe(error), record={"barrier": name}) from error
    if output is not None:
        from .figures.barrier import save_figure

        try:
            save_figure(output, record)
            record["figure"] = str(output)
        except OSError as error:  # what was found is told all the same
            fault = record["error"] = describe(error, str(output))
            say(f"olivine: {fault}")
    if json_lines:
        print_json(record)
    else:
        from .experiments.barrier import show

        show(record)
    say_contradictions(record["contradictions"])
    if record["contradictions"]:
        return ExitStatus.CONTRADICTION
    return ExitStatus.BAD_INPUT if fault else ExitStatus.DONE


def _run(
    name: str | None, given: Mapping[str, Any], output: Path | None, seed: int
) -> dict[str, Any]:
    """Check what can be checked beforehand, run; return the record, still undrawn."""
    from .figures.files import check_figure

    chosen = _chosen(name, given)
    if output is not None:
        check_figure(output)
    from .experiments.barrier import average, backup, square_loss

    start = time.perf_counter()
    makers: dict[str, Callable[..., dict[str, Any]]] = {
        "backup": backup,
        "average": average,
        "square-loss": square_loss,
    }
    if name == "backup":
        chosen["figure"] = output is not None
    record: dict[str, Any] = {"barrier": name}
    with _status(f"running barrier {name}"):
        record |= makers[str(name)](seed=seed, **chosen)
    record["figure"] = None
    record["seed"] = seed
    record["seconds"] = round(time.perf_counter() - start, 3)
    return record


@contextmanager
def _status(text: str) -> Iterator[None]:
    """Show that something is going on, where somebody is there to see it."""
    if not sys.stderr.isatty():
        with heartbeat(lambda: text):
            yield
        return
    with stderr_console().status(text, spinner="line"):
        yield


def _chosen(name: str | None, given: Mapping[str, Any]) -> dict[str, Any]:
    """Options that somebody chose; ValueError for one that the barrier lacks."""
    from ..algorithms.learning.registry import suggestion

    known = ", ".join(OPTIONS)
    if name is None:
        raise ValueError(f"NAME: missing; there are {known}")
    if name not in OPTIONS:
        hint = suggestion(name, OPTIONS)
        raise ValueError(f"unknown barrier {name!r}{hint}; there are {known}")
    chosen = {k: v for k, v in given.items() if v is not None and v != []}
    for option in chosen:
        if option not in OPTIONS[name]:
            own = ", ".join(f"--{key}" for key in OPTIONS[name])
            raise ValueError(
                f"--{option}: not an option of barrier {name}; it has {own}"
            )
    return chosen
