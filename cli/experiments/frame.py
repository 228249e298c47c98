"""What sweeps, curves and comparisons share: units done, in children or on Dask."""

from __future__ import annotations

import logging
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from ..common.output import ExitStatus, describe, progress_bar, say
from .units import Row, Unit

if TYPE_CHECKING:
    from distributed import Client, Future

CONNECT = 20  # seconds to find a cluster
PATIENCE = 60.0  # seconds that a cluster may be without workers
_POLL = 0.25
_AHEAD = 2  # units sent at a time to a thread of a cluster, so it never waits


class WorkersError(Exception):
    """There are no workers."""


class LostWorkersError(WorkersError):
    """The cluster was lost on the way; the rows that came are good."""


def cores() -> int:
    """Processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def rows_of(units: Iterable[Unit], jobs: int, address: str | None) -> Iterator[Row]:
    """Do all units and yield their rows as they come; units are drawn when needed."""
    if address is not None:
        yield from _on_cluster(units, address)
    elif jobs > 1:
        yield from _in_children(iter(units), jobs)
    else:
        for unit in units:
            yield unit()


def _lost(unit: Unit, reason: str) -> Row:
    return {"key": unit.key, "exit": int(ExitStatus.UNDECIDED), "error": reason}


def _in_children(units: Iterator[Unit], jobs: int) -> Iterator[Row]:
    """Do units in forks, which import nothing by name; a death costs its own unit."""
    from ...solvers.child.child import Calls, Running

    running: dict[Running[Row], Unit] = {}
    with Calls() as calls:
        while True:
            for unit in islice(units, jobs - len(running)):
                unit.load()
                running[calls.start(unit)] = unit
            if not running:
                return
            if (call := calls.wait(_POLL)) is not None:
                unit, result = running.pop(call), call.result
                assert result is not None
                yield result.value or _lost(unit, f"its process: {result.message}")


def _on_cluster(units: Iterable[Unit], address: str) -> Iterator[Row]:
    """Do units on a cluster, which may lose workers but not all of them for long."""
    with _quiet(), _connected(address) as client:
        try:
            yield from _sent(iter(units), client)
        except (OSError, RuntimeError) as error:  # of the network: nothing else is here
            raise LostWorkersError(f"the scheduler was lost: {_line(error)}") from error


def _sent(units: Iterator[Unit], client: Client) -> Iterator[Row]:
    from distributed import wait

    running: dict[Future, Unit] = {}
    seen = time.monotonic()
    threads = _threads(client)
    while True:
        for unit in islice(units, max(0, _AHEAD * threads - len(running))):
            running[client.submit(_call, unit, pure=False)] = unit
        if not running and threads:
            return
        if threads := _threads(client):
            seen = time.monotonic()
        elif time.monotonic() - seen > PATIENCE:
            raise LostWorkersError(f"no worker came back for {PATIENCE:g} s")
        if not running:
            time.sleep(_POLL)
            continue
        with suppress(TimeoutError, CancelledError):
            wait(list(running), timeout=_POLL, return_when="FIRST_COMPLETED")
        for future in [f for f in running if f.done()]:
            yield _received(running.pop(future), future)


def _line(error: BaseException | None) -> str:
    return " ".join(str(error).split()) or type(error).__name__


def _call(unit: Unit) -> Row:
    return unit()


def _received(unit: Unit, future: Future) -> Row:
    if future.status == "finished":
        row: Row = future.result()
        return row
    if future.status == "error":
        error = future.exception()
        if isinstance(error, ModuleNotFoundError):
            raise WorkersError(f"workers lack a module: {error}")
        return _lost(unit, f"its worker: {_line(error)}")
    raise LostWorkersError(f"the cluster was lost (a unit was {future.status})")


def _threads(client: Client) -> int:
    if client.status != "running":
        raise LostWorkersError(f"the scheduler was lost (it is {client.status})")
    try:
        found: dict[str, int] = client.nthreads()
    except Exception as error:
        raise LostWorkersError(f"the scheduler was lost: {_line(error)}") from error
    return sum(found.values())


@contextmanager
def _connected(address: str) -> Iterator[Client]:
    try:
        from distributed import Client
    except ImportError as error:
        raise WorkersError(
            f"--dask needs Dask's workers: pip install distributed ({error})"
        ) from None
    try:
        client = Client(address, timeout=CONNECT)
    except Exception as error:  # of any kind, as the protocols have their own
        what = f"no scheduler at {address!r}: {_line(error)}"
        raise WorkersError(f"--dask: {what}") from None
    try:
        if not _threads(client):
            raise WorkersError(f"--dask: the cluster at {address} has no workers")
        yield client
    finally:
        client.close(timeout=_POLL)


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep a cluster's own accounts of what it loses off the screen."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(before)


def work(
    units: Iterable[Unit],
    keep: Callable[[Row], object],
    what: str,
    total: int,
    *,
    begun: int = 0,
    jobs: int = 1,
    address: str | None = None,
    json_lines: bool = False,
) -> list[ExitStatus]:
    """Do units, say what goes wrong, hand each row on; statuses of what failed."""
    statuses = []
    with progress_bar(what, total, json_lines) as progress:
        task = progress.task_ids[0]
        progress.update(task, completed=begun)
        try:
            for row in rows_of(units, jobs, address):
                tell_trouble(row)
                if "error" in row:
                    statuses.append(ExitStatus(row["exit"]))
                keep(row)
                progress.advance(task)
        except WorkersError as error:
            say(f"olivine: {error}")
            lost = isinstance(error, LostWorkersError)
            statuses.append(ExitStatus.UNDECIDED if lost else ExitStatus.BAD_INPUT)
    return statuses


def tell_trouble(row: Row) -> None:
    """Say contradictions, warnings and errors on standard error."""
    name = row.get("file", row["key"])
    for text in row.get("contradictions", ()):
        say(f"olivine: {name}: contradiction: {text}")
    if "error" in row:
        said = row["error"]
        say(f"olivine: {said if said.startswith(name) else f'{name}: {said}'}")
    if "traceback" in row:
        print(row["traceback"], end="", file=sys.stderr)


def written(files: Sequence[tuple[Path | None, Callable[[Path], object]]]) -> bool:
    """Write the files that are wanted; False, and a message, where one cannot be."""
    good = True
    for path, write in files:
        try:
            if path is not None:
                write(path)
        except (ValueError, OSError) as error:
            say(f"olivine: {describe(error, str(path))}")
            good = False
    return good


def draw(kind: str, figure: Path, rows: Sequence[Row]) -> None:
    """Draw what rows of this kind are drawn as; errors as `save_curves`."""
    from ..figures.sweep import save_curves, save_phases
    from .summaries import curves_of, phases_of

    if kind == "learning":
        save_curves(figure, curves_of(rows))
    else:
        save_phases(figure, phases_of(rows))
