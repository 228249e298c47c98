"""A child process that sends one message back: forked, or else spawned.

The machinery under `olivine.solvers.child.child`. A forked child sees its parent's
memory, so nothing is pickled on the way in. It never returns into the caller's code: it
leaves through `os._exit`, so exit handlers and half-full output buffers of the parent
run once, in the parent. It leads a process group of its own, so that killing it also
kills what it started, and the kernel kills it should the parent die (Linux).
"""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import gc
import math
import os
import select
import signal
import struct
import sys
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, Protocol

from .temporary import (
    make_root,
    remove,
    scratch_name,
    signals_held,
    work_below,
)

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

Produce = Callable[[], bytes]
"""Makes the message, in the child; must not raise."""

PROC = "/proc"
_LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None
_PR_SET_PDEATHSIG = 1
_HEADER = struct.Struct("=Q")
_CHUNK = 1 << 18
_GRACE = 1.0
_SILENT = "the child gave no answer"

# Held from the making of a pipe until its write end is closed in the parent:
# a child forked by another thread in between would keep that end open, and
# the end of file that announces a child's death would not come.
_fork_lock = threading.Lock()


class Worker(Protocol):
    """A child process that sends one message."""

    def start(self) -> None:
        """Start the child; at most once."""

    def receive(self, seconds: float) -> bytearray | bytes | None:
        """Wait at most `seconds` for the message.

        Returns None when it is not complete by then (or earlier, when a part
        came); raises EOFError when it cannot come any more.
        """

    def epitaph(self) -> str:
        """Say in one line how a child ended that sent no message."""

    def memory(self) -> int:
        """Count bytes held by the child, see `private_memory`."""

    def close(self) -> None:
        """Kill and reap what lives, close what is open; again does nothing."""


# ----------------------------------------------------------------- by fork


class Forked:
    """A forked child, its answer framed by a length in a raw pipe."""

    def __init__(self, produce: Produce, show_errors: bool) -> None:
        self._produce = produce
        self._show_errors = show_errors
        self._pid = 0
        self._reader = -1
        self._exit: int | None = None
        self._data = bytearray()
        self._scratch = scratch_name()

    def start(self) -> None:
        """Fork the child."""
        # Until `_pid` is set an interrupt would leave a child without an
        # owner, and in the child it would run the caller's handlers.
        parent = os.getpid()
        with contextlib.suppress(OSError):  # the child may need none
            make_root()
        with signals_held():
            with _fork_lock:
                self._reader, writer = os.pipe()
                try:
                    self._pid = _fork()
                except BaseException:
                    os.close(writer)
                    raise
                if self._pid:
                    os.close(writer)
            if self._pid == 0:
                os.close(self._reader)
                work_below(self._scratch)
                _lead_child_life(self._produce, self._show_errors, writer, parent)
        # Also done by the child; whoever comes first spares the other a race.
        with contextlib.suppress(OSError):
            os.setpgid(self._pid, self._pid)

    def receive(self, seconds: float) -> bytearray | None:
        """See `Worker`."""
        # Not `select`, which refuses descriptors from 1024 on.
        ready = select.poll()
        ready.register(self._reader, select.POLLIN)
        if not ready.poll(math.ceil(seconds * 1000)):
            # Descendants may hold the pipe open after the child is gone.
            if self._has_ended() and not ready.poll(0):
                raise EOFError
            return None
        chunk = os.read(self._reader, _CHUNK)
        if not chunk:
            raise EOFError
        self._data += chunk
        if len(self._data) < _HEADER.size:
            return None
        (length,) = _HEADER.unpack_from(self._data)
        if len(self._data) < _HEADER.size + length:
            return None
        return self._data[_HEADER.size :]

    def epitaph(self) -> str:
        """See `Worker`."""
        limit = time.monotonic() + _GRACE
        while not self._has_ended() and time.monotonic() < limit:
            time.sleep(0.001)
        if self._exit is None:
            return _SILENT
        return _epitaph(os.waitstatus_to_exitcode(self._exit))

    def memory(self) -> int:
        """See `Worker`."""
        return private_memory(self._pid)

    def close(self) -> None:
        """See `Worker`."""
        with signals_held():
            if self._pid and self._exit is None:
                self._kill_group()
                # It may not have been a group leader yet.
                with contextlib.suppress(ProcessLookupError):
                    os.kill(self._pid, signal.SIGKILL)
            if self._reader >= 0:
                os.close(self._reader)
                self._reader = -1
            if self._pid and self._exit is None:
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(self._pid, 0)
                self._exit = 0
            remove(self._scratch)

    def _has_ended(self) -> bool:
        if self._exit is None:
            try:
                pid, status = os.waitpid(self._pid, os.WNOHANG)
            except ChildProcessError:  # reaped by someone else: SIGCHLD ignored
                return True
            if pid:
                self._exit = status
                # At once, while nobody else can have been given the number.
                self._kill_group()
        return self._exit is not None

    def _kill_group(self) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._pid, signal.SIGKILL)


def _fork() -> int:
    with warnings.catch_warnings():
        # Python 3.12 warns of locks that other threads (numpy's BLAS has some)
        # may hold at the fork. Python and the C library make their own locks
        # anew in the child, BLAS has fork handlers, and the child only runs
        # an engine that was imported before and sends the answer back.
        warnings.filterwarnings(
            "ignore",
            message=r"This process \(pid=\d+\) is multi-threaded, use of fork\(\)",
            category=DeprecationWarning,
        )
        return os.fork()


def _lead_child_life(
    produce: Produce,
    show_errors: bool,
    writer: int,
    parent: int,
) -> NoReturn:
    """Be the child: answer and leave, whatever happens, without a trace."""
    status = 1
    try:
        writer = _settle(writer, parent, show_errors)
        answer = produce()
        view = memoryview(_HEADER.pack(len(answer)) + answer)
        while view:
            view = view[os.write(writer, view) :]
        status = 0
    finally:
        os._exit(status)


def die_with(parent: int) -> None:
    """Have the kernel kill this process when its parent is gone (Linux)."""
    if _LIBC is not None:
        _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)


def _settle(writer: int, parent: int, show_errors: bool) -> int:
    """Cut the ties that a forked child has to its parent's surroundings."""
    die_with(parent)
    os.setpgid(0, 0)
    # The parent's garbage is not ours to finalise.
    gc.freeze()
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    if not show_errors:
        faulthandler.disable()
    if writer < 3:  # the parent runs with a standard stream closed
        import fcntl  # not everywhere

        writer = fcntl.fcntl(writer, fcntl.F_DUPFD_CLOEXEC, 3)
    _silence(show_errors)
    return writer


_inherited: list[object] = []


def _silence(show_errors: bool) -> None:
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1) if show_errors else (0, 1, 2):
        os.dup2(null, descriptor)
    # Kept alive: their finalisers would write the parent's pending output.
    _inherited.extend((sys.stdin, sys.stdout, sys.stderr))
    sys.stdout = os.fdopen(os.dup(null), "w")
    if not show_errors:
        sys.stderr = sys.stdout


# ---------------------------------------------------------------- by spawn


class Spawned:
    """A child in a fresh interpreter, for platforms that cannot fork."""

    def __init__(self, produce: Produce, show_errors: bool) -> None:
        import multiprocessing  # with sockets: a forked child needs none

        context = multiprocessing.get_context("spawn")
        self._reader, self._writer = context.Pipe(duplex=False)
        self._scratch = scratch_name()
        self._closed = False
        self._process = context.Process(
            target=_lead_spawned_life,
            args=(produce, show_errors, self._writer, self._scratch),
            daemon=True,
        )

    def start(self) -> None:
        """Start a fresh interpreter."""
        with contextlib.suppress(OSError):  # the child may need none
            make_root()
        self._process.start()
        self._writer.close()

    def receive(self, seconds: float) -> bytes | None:
        """See `Worker`."""
        try:
            return self._reader.recv_bytes() if self._reader.poll(seconds) else None
        except OSError as exc:
            raise EOFError from exc

    def epitaph(self) -> str:
        """See `Worker`."""
        self._process.join(_GRACE)
        if self._process.exitcode is None:
            return _SILENT
        return _epitaph(self._process.exitcode)

    def memory(self) -> int:
        """See `Worker`."""
        return private_memory(self._process.pid or 0)

    def close(self) -> None:
        """See `Worker`."""
        if self._closed:
            return
        self._closed = True
        if self._process.pid is not None:
            self._process.kill()
            self._process.join()
        self._process.close()
        self._reader.close()
        self._writer.close()
        remove(self._scratch)


def _lead_spawned_life(
    produce: Produce,
    show_errors: bool,
    writer: Connection[bytes, bytes],
    scratch: Path,
) -> None:
    work_below(scratch)
    _silence(show_errors)
    writer.send_bytes(produce())


# ------------------------------------------------------------------ shared


def _epitaph(code: int) -> str:
    if code >= 0:
        return f"the child left with exit status {code} and no answer"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    return f"the child was killed by {name}"


def private_memory(pid: int, borrowed: bytes = b"") -> int:
    """Bytes of memory that a process and its descendants hold for themselves.

    These are the pages it has written and shares with nobody. Resident memory
    would not do: pages that a forked child writes to where its parent has
    freed memory are its own from then on, but were resident from the start. A
    descendant that is between its fork and another program (Python 3.13 uses
    vfork for it) has the very memory of its parent, whose figures are
    `borrowed`, and is not counted again.
    """
    total = 0
    # What ended meanwhile holds nothing; that it ended, the pipe will tell.
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        with open(f"{PROC}/{pid}/statm", "rb") as file:
            figures = file.read()
        if figures == borrowed:
            return 0
        with open(f"{PROC}/{pid}/smaps_rollup", "rb") as file:
            total += sum(
                1024 * int(line.split()[1])
                for line in file
                if line.startswith(b"Private_Dirty:")
            )
        for thread in os.listdir(f"{PROC}/{pid}/task"):
            with open(f"{PROC}/{pid}/task/{thread}/children", "rb") as file:
                children = file.read().split()
                total += sum(private_memory(int(p), figures) for p in children)
    return total
