"""Exit statuses, and what a verb says: JSON lines, messages, errors."""

from __future__ import annotations

import enum
import os
import sys
import threading
import time
import traceback
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from .process import SPELLED, signal_received

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress
    from rich.table import Table


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
    """Why a file gets no answer: `verb` says it, and ends with the status.

    `record`: what its object under ``--json`` has beside the error; the file if None.
    """

    def __init__(
        self,
        file: str,
        reason: str,
        status: ExitStatus = ExitStatus.BAD_INPUT,
        record: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(file, reason, status, record)  # all, so that it pickles
        self.reason, self.status = reason, status
        self.record = {"file": file} if record is None else record


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


def say_warnings(texts: Iterable[str]) -> None:
    """Say warnings, which name the file."""
    for text in texts:
        say(f"olivine: warning: {text}")


def say_contradictions(texts: Iterable[str], file: str = "") -> None:
    """Say what contradicts itself, of a file or a command, and ask for a report."""
    place, what = (f"{file}: ", "input") if file else ("", "command")
    for text in texts:
        say(
            f"olivine: {place}contradiction: {text} (this should be impossible: "
            f"please report it with the {what})"
        )


def internal_error(error: BaseException) -> str:
    """Describe an error that is ours, and print its traceback for the report."""
    text = internal(error)
    traceback.print_exception(error, file=sys.stderr)
    return text


def internal(error: BaseException) -> str:
    """Describe an error that is ours, unless it is what became of a signal."""
    if (number := signal_received()) is not None:
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


FIRST_BEAT = 30.0  # seconds until a run without a terminal says it goes on
NARROW = 16  # columns of a terminal that a folded text gets at least


def tell(text: str = "") -> None:
    """Print one line on standard output; a terminal wraps it, nothing is cut."""
    print(printable(text))


def print_table(
    header: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    title: str = "",
    caption: str = "",
    right: Collection[str] = (),
    folded: Collection[str] = (),
    spare: Sequence[str] = (),
    boxed: bool = False,
) -> None:
    """Print a table that fits the terminal, words unbroken; else a list of cells."""
    console = stdout_console()

    def shown(text: str) -> str:
        plain = "\n".join(map(printable, text.split("\n")))
        return plain.encode(console.encoding, SPELLED).decode(console.encoding)

    columns = [list(map(shown, column)) for column in zip(header, *rows, strict=True)]
    kept = list(range(len(header)))
    for name in ("", *spare) if len(columns[0]) > 2 else ("",):
        kept = [k for k in kept if header[k] != name]
        table = _table([(header[k], columns[k]) for k in kept], right, folded, boxed)
        if _fit(console, table):
            table.title, table.caption = title or None, caption or None
            console.print(table)
            return
    names, *cells = zip(*columns, strict=True)
    blocks = ["\n".join(map(_line, names, row)) for row in cells]
    print("\n\n".join(filter(None, [title, *blocks, caption])))


def _line(name: str, cell: str) -> str:
    return f"{' '.join(name.split())}: {cell}"


def _table(
    columns: Iterable[tuple[str, Sequence[str]]],
    right: Collection[str],
    folded: Collection[str],
    boxed: bool,
) -> Table:
    from rich.box import HEAVY_HEAD
    from rich.table import Table
    from rich.text import Text

    table = Table(box=HEAVY_HEAD if boxed else None)
    texts = []
    for name, (head, *cells) in columns:
        table.add_column(
            Text(head),
            justify="right" if name in right else "left",
            overflow="fold" if name in folded else "ellipsis",
        )
        texts.append(map(Text, cells))
    for row in zip(*texts, strict=True):
        table.add_row(*row)
    return table


def _fit(console: Console, table: Table) -> bool:
    """Set the columns' widths to the console's, if each word has room in them."""
    options = console.options.update(max_width=10**6)
    sizes = [
        [console.measure(cell, options=options) for cell in (c.header, *c.cells)]
        for c in table.columns
    ]
    words = [max(size.minimum for size in column) for column in sizes]
    lines = [max(size.maximum for size in column) for column in sizes]
    frame = console.measure(table, options=options).maximum - sum(lines)
    if not console.is_terminal:
        # A pipe has room: no file name is broken, so that a search finds it.
        console.width = max(console.width, frame + sum(words))
    least = [
        min(word, NARROW) if column.overflow == "fold" else word
        for word, column in zip(words, table.columns, strict=True)
    ]
    room = console.width - frame - sum(least)
    sized = zip(table.columns, least, lines, strict=True)
    # Names of files get what the others leave.
    for column, low, high in sorted(sized, key=lambda each: each[0].overflow == "fold"):
        more = max(0, min(room, high - low))
        column.width = low + more
        room -= more
    return sum(least) + frame <= console.width


def stderr_console() -> Console:
    """Console for progress and messages; never writes to standard output."""
    from rich.console import Console

    return Console(stderr=True, highlight=False, soft_wrap=True)


def stdout_console() -> Console:
    """Console for tables; wide where no terminal sets the width."""
    from rich.console import Console

    width = None if sys.stdout.isatty() else 160
    return Console(width=width, highlight=False)


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
def heartbeat(state: Callable[[], str], *, bar: bool = True) -> Iterator[None]:
    """Say on standard error, ever more seldom, what goes on, unless a bar shows it."""
    if bar and sys.stderr.isatty():
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
