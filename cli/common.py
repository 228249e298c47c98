"""What every verb shares: exit status, JSON lines, options and inputs.

Nothing here imports numpy or an engine, so that ``olivine --help`` stays fast;
verbs import what they need when they run.
"""

from __future__ import annotations

import enum
import functools
import inspect
import os
import stat
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from . import signals
from .memory import (
    is_exhausted,
    limited_memory,
    reached,
    want_of_memory,
    why_too_small,
)

if TYPE_CHECKING:
    from fractions import Fraction

    from rich.console import Console
    from rich.progress import Progress

    from ..reduction.family.instance import Instance
    from ..reduction.formula.dimacs import DimacsFile


class ExitStatus(enum.IntEnum):
    """Exit status of every verb but ``solve`` when it has an answer.

    An error of ours is no contradiction between answers: it has the number that
    ``sysexits.h`` gives to internal errors.
    """

    DONE = 0
    CONTRADICTION = 1
    BAD_INPUT = 2
    UNDECIDED = 3
    FAILED = 70
    INTERRUPTED = 130
    BROKEN_PIPE = 141
    TERMINATED = 143


class ContradictionError(Exception):
    """Two answers that exclude each other: exit status 1."""


def worst(statuses: Iterable[ExitStatus]) -> ExitStatus:
    """Return the first that occurs of 1, 70, 2, 3, 0 (0 when there is none)."""
    seen = set(statuses)
    for status in (
        ExitStatus.CONTRADICTION,
        ExitStatus.FAILED,
        ExitStatus.BAD_INPUT,
        ExitStatus.UNDECIDED,
    ):
        if status in seen:
            return status
    return ExitStatus.DONE


STANDARD_INPUT = "-"
FIRST_BEAT = 30.0
"""Seconds after which a run whose standard error is no terminal says it goes on."""


class Reading(NamedTuple):
    """How input files are read (picklable: worker processes get one)."""

    strict: bool = False
    input_format: str | None = None
    max_variables: int = 10**7
    max_bytes: int | None = None

    def read(self, path: str) -> DimacsFile:
        """Read a file, or standard input for ``-``; hard clauses become heavy ones."""
        from ..reduction.formula.dimacs import DimacsError, read_dimacs
        from ..reduction.formula.dimacs_error import located
        from ..reduction.formula.hard import without_hard
        from ..reduction.formula.unused import without_unused

        source = read_dimacs(
            path,
            strict=self.strict,
            input_format=self.input_format,  # type: ignore[arg-type]
            max_variables=self.max_variables,
            max_bytes=self.max_bytes,
        )
        try:
            hardened = without_hard(source.formula)
        except ValueError as error:
            raise DimacsError(source.source, source.hard_line, str(error)) from None
        if hardened is not None:
            told = located(source.source, source.hard_line, str(hardened))
            source = source._replace(
                formula=hardened.formula,
                hardened=hardened,
                warnings=(*source.warnings, told),
            )
        used = without_unused(source.formula)
        if used is None:
            return source
        return source._replace(warnings=(*source.warnings, f"{source.source}: {used}"))

    def read_instance(
        self, path: str, variant: str, penalty: Fraction | None
    ) -> tuple[DimacsFile, Instance]:
        """Read a file and make the instance of the reduction that it is."""
        from ..reduction.family.instance import Instance

        source = self.read(path)
        try:
            return source, Instance.of(source.formula, variant, penalty)
        except ValueError as error:
            raise ValueError(f"{path}: {describe(error)}") from None


_SUFFIXES = (".cnf", ".dimacs", ".wcnf")
_COMPRESSED = (".gz", ".bz2", ".xz")


def is_formula_name(name: str) -> bool:
    """Whether a file of this name in a folder is taken for a formula."""
    lower = name.lower()
    for suffix in _COMPRESSED:
        lower = lower.removesuffix(suffix)
    return lower.endswith(_SUFFIXES)


def expand(paths: Iterable[str]) -> Iterator[tuple[str, str | None]]:
    """Yield (file, error) for every file named, folders replaced by their files.

    A folder means the files in and below it that are named like formulas,
    sorted; what is no regular file there is an error. The error is None, or says
    why there is nothing to read.
    """
    for path in paths:
        if path == STANDARD_INPUT or not os.path.isdir(path):
            yield path, None
            continue
        problems: list[OSError] = []
        found = sorted(
            str(Path(folder) / name)
            for folder, _, names in os.walk(path, onerror=problems.append)
            for name in names
            if is_formula_name(name)
        )
        for problem in problems:
            yield str(problem.filename), describe(problem)
        if not found and not problems:
            yield path, f"{path}: no .cnf, .dimacs or .wcnf file in this folder"
        for file in found:
            yield file, _why_skip(file)


def _why_skip(file: str) -> str | None:
    """Say why not to open what a folder holds under a formula's name.

    A pipe would wait for a writer that nobody promised; one that is named is
    read, as a shell's ``<(...)`` is one.
    """
    try:
        mode = os.stat(file).st_mode
    except OSError as error:
        return describe(error, file)
    return None if stat.S_ISREG(mode) else f"{file}: not a regular file"


def describe(error: BaseException, place: str | None = None) -> str:
    """One line for people: no errno, the file in front."""
    if isinstance(error, OSError) and error.strerror:
        name = place if error.filename is None else error.filename
        return error.strerror if name is None else f"{name}: {error.strerror}"
    return " ".join(str(error).split()) or type(error).__name__


def print_json(record: Mapping[str, Any]) -> None:
    """Print one object on one line of standard output.

    Names of files that are no UTF-8 come out escaped, so the line is always
    ASCII and always printable.
    """
    import json

    sys.stdout.write(json.dumps(record, allow_nan=False) + "\n")
    sys.stdout.flush()


def stderr_console() -> Console:
    """Console for progress and messages; never writes to standard output."""
    from rich.console import Console

    return Console(stderr=True, highlight=False, soft_wrap=True)


def stdout_console() -> Console:
    """Console for tables; wide where no terminal sets the width."""
    from rich.console import Console

    width = None if sys.stdout.isatty() else 160
    return Console(width=width, highlight=False)


def printable(text: str) -> str:
    """Escape what must not reach a terminal as it is, odd file names above all."""
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape").decode("ascii")
        for c in text
    )


def say(message: str) -> None:
    """Print one message on standard error, on one line."""
    print(printable(message), file=sys.stderr)


def bar_hidden(json_lines: bool) -> bool:
    """Whether nobody would see a progress bar, or JSON would be drawn over."""
    return not sys.stderr.isatty() or (json_lines and sys.stdout.isatty())


class Unseen:
    """What Rich's `Progress` is to a verb, where no bar is shown: a count."""

    task_ids: tuple[Any, ...] = (0,)

    def __init__(self) -> None:
        self.tasks = [self]
        self.completed = 0.0

    def advance(self, task: Any, advance: float = 1) -> None:
        """Count on."""
        self.completed += advance

    def update(
        self, task: Any, *, completed: float | None = None, **changed: Any
    ) -> None:
        """Set the count, or count on by `advance`; no text is shown."""
        before = self.completed if completed is None else completed
        self.completed = before + (changed.get("advance") or 0)


@contextmanager
def progress_bar(
    description: str, total: int, json_lines: bool
) -> Iterator[Progress | Unseen]:
    """Show a bar on standard error, where somebody is there to see it."""
    if bar_hidden(json_lines) or total < 2:  # without loading Rich
        unseen = Unseen()
        with heartbeat(lambda: f"{description}, {unseen.completed:g} of {total} done"):
            yield unseen
        return
    from rich.progress import Progress

    progress = Progress(console=stderr_console(), redirect_stdout=False, transient=True)
    task = progress.add_task(description, total=total)

    def state() -> str:
        return f"{description}, {progress.tasks[task].completed:g} of {total} done"

    with progress, heartbeat(state):
        yield progress


@contextmanager
def heartbeat(state: Callable[[], str]) -> Iterator[None]:
    """Say what goes on, more and more seldom, where no bar is shown.

    Lines stand on standard error, the first after `FIRST_BEAT` seconds; in a run
    that ends before there is none. A terminal shows a bar instead.
    """
    if sys.stderr.isatty():
        yield
        return
    ended = threading.Event()

    def beat() -> None:
        start, pause = time.monotonic(), FIRST_BEAT
        while not ended.wait(pause):
            say(f"olivine: {state()} after {time.monotonic() - start:.0f} s")
            pause = min(2 * pause, 60.0)

    thread = threading.Thread(target=beat, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def report_error(file: str, message: str, *, json_lines: bool) -> ExitStatus:
    """Say that a file is bad: an object under ``--json``, a line otherwise."""
    if json_lines:
        print_json({"file": file, "error": message})
    else:
        say(f"olivine: {message}")
    return ExitStatus.BAD_INPUT


def report_exhausted(file: str, doing: str, *, json_lines: bool) -> ExitStatus:
    """Say that memory ran out, and in doing what."""
    return report_unknown(file, f"{want_of_memory()} {doing}", json_lines=json_lines)


def report_unknown(file: str, reason: str, *, json_lines: bool) -> ExitStatus:
    """Say that a limit left a file without an answer."""
    if json_lines:
        print_json({"file": file, "status": "unknown", "reason": reason})
    else:
        say(f"olivine: {file}: {reason}")
    return ExitStatus.UNDECIDED


def internal_error(error: BaseException) -> str:
    """Describe an error that is ours, and print its traceback for the report."""
    text = internal(error)
    traceback.print_exception(error, file=sys.stderr)
    return text


def internal(error: BaseException) -> str:
    """Describe an error that is ours, unless it is what became of a signal."""
    if (number := signals.received()) is not None:
        raise SystemExit(128 + number) from error
    return (
        f"internal error: {type(error).__name__}: {describe(error)} "
        "(this should be impossible: please report it with the input)"
    )


def verb(function: Callable[..., int]) -> Callable[..., None]:
    """Wrap a verb: turn its status, and whatever goes wrong, into an exit status.

    Input errors are dealt with where input is read; an exception that arrives
    here is ours (status 70, with a traceback to report), save for an interrupt
    (130), a reader that closed our output (141, quiet), output that cannot be
    written (2) and memory that ran out (3). What the framework makes of a closed
    output, `olivine.cli.main` puts right.
    """

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> None:
        limit = kwargs.get("memory")
        try:
            with limited_memory(limit):
                if too_small := why_too_small():
                    say(f"olivine: {too_small}")
                    raise typer.Exit(int(ExitStatus.UNDECIDED))
                status = function(*args, **kwargs)
                sys.stdout.flush()
        except KeyboardInterrupt:
            say("olivine: interrupted")
            status = ExitStatus.INTERRUPTED
        except BrokenPipeError:
            drop_stdout()
            status = ExitStatus.BROKEN_PIPE
        except (typer.Exit, typer.Abort, typer.BadParameter):
            raise
        except Exception as error:
            status = _status_of(error, limit)
        raise typer.Exit(int(status))

    # Typer asks for both four times, and would evaluate the text of each type anew.
    signature = inspect.signature(function, eval_str=True)
    types = {name: each.annotation for name, each in signature.parameters.items()}
    run.__signature__ = signature  # type: ignore[attr-defined]
    run.__annotations__ = types
    return run


def _status_of(error: Exception, limit: int | None) -> ExitStatus:
    """Say what went wrong, and return the exit status for it."""
    if is_exhausted(error):
        say(f"olivine: {reached(limit)}")
        return ExitStatus.UNDECIDED
    if isinstance(error, OSError):
        drop_stdout()
        say(f"olivine: {describe(error)}")
        return ExitStatus.BAD_INPUT
    if isinstance(error, ContradictionError):
        say(f"olivine: contradiction: {describe(error)}")
        return ExitStatus.CONTRADICTION
    say(f"olivine: {internal_error(error)}")
    return ExitStatus.FAILED


def drop_stdout() -> None:
    """Send what is still buffered nowhere, so that the end of Python is quiet."""
    try:
        descriptor = sys.stdout.fileno()
    except (OSError, ValueError):
        return  # captured by a test: nothing will be flushed to a descriptor
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, descriptor)
    os.close(null)
