"""Exit statuses, and what a verb says: JSON lines, messages, errors."""

import enum
import os
import sys
import traceback
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from . import signals


class ExitStatus(enum.IntEnum):
    """Exit status of every verb but ``solve`` with an answer; 70 as in sysexits.h."""

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


class FileError(Exception):
    """Why a file gets no answer: `verb` says it, and ends with the status."""

    def __init__(
        self, file: str, reason: str, status: ExitStatus = ExitStatus.BAD_INPUT
    ) -> None:
        super().__init__(file, reason, status)  # all three, so that it pickles
        self.file, self.reason, self.status = file, reason, status


@contextmanager
def bad_input(
    file: str, place: str | None = None, *, named: bool = True
) -> Iterator[None]:
    """Blame the file for errors; `named`: they name it, if need be as the `place`."""
    try:
        yield
    except (ValueError, OSError) as error:
        reason = describe(error, place)
        raise FileError(file, reason if named else f"{file}: {reason}") from error


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


def describe(error: BaseException, place: str | None = None) -> str:
    """One line for people: no errno, the file in front."""
    if isinstance(error, OSError) and error.strerror:
        name = place if error.filename is None else error.filename
        return error.strerror if name is None else f"{name}: {error.strerror}"
    return " ".join(str(error).split()) or type(error).__name__


def print_json(record: Mapping[str, Any]) -> None:
    """Print one object on one line, in ASCII: odd file names come out escaped."""
    import json

    sys.stdout.write(json.dumps(record, allow_nan=False) + "\n")
    sys.stdout.flush()


def printable(text: str) -> str:
    """Escape what must not reach a terminal as it is, odd file names above all."""
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape").decode("ascii")
        for c in text
    )


def say(message: str) -> None:
    """Print one message on standard error, on one line."""
    print(printable(message), file=sys.stderr)


def say_contradictions(texts: Iterable[str], file: str = "") -> None:
    """Say what contradicts itself, of a file or a command, and ask for a report."""
    place, what = (f"{file}: ", "input") if file else ("", "command")
    for text in texts:
        say(
            f"olivine: {place}contradiction: {text} (this should be impossible: "
            f"please report it with the {what})"
        )


def report_error(file: str, message: str, *, json_lines: bool) -> None:
    """Say what is wrong with a file: an object under ``--json``, a line otherwise."""
    if json_lines:
        print_json({"file": file, "error": message})
    else:
        say(f"olivine: {message}")


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


def drop_stdout() -> None:
    """Send what is still buffered nowhere, so that the end of Python is quiet."""
    try:
        descriptor = sys.stdout.fileno()
    except (OSError, ValueError):
        return  # captured by a test: nothing will be flushed to a descriptor
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, descriptor)
    os.close(null)


def is_broken_pipe(end: BaseException) -> bool:
    """Whether it goes back to a closed pipe, which Rich and Typer call exit 1."""
    cause: BaseException | None = end
    while cause is not None:
        if isinstance(cause, BrokenPipeError):
            return True
        cause = cause.__context__
    return False
