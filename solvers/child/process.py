"""A child process that sends messages back: forked where possible, else spawned.

A child never returns into the caller's code: it leaves through `os._exit`, so exit
handlers and half-full buffers of the parent run once, in the parent. It leads a process
group, so that killing it also kills what it started, and the kernel kills it should the
parent die (Linux).
"""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import gc
import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from .temporary import (
    ENDING,
    make_root,
    remove_all_of,
    scratch_name,
    signals_held,
    work_below,
)

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    Pipe = Connection[bytes, bytes]

Send = Callable[[bytes], None]
Work = Callable[[Send], None]
"""What a child does, with a function that sends a message; must not raise."""

PROC = "/proc"
_LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None
_PR_SET_PDEATHSIG = 1
_GRACE = 1.0

# Held from the making of a pipe until its write end is closed in the parent:
# a child forked by another thread in between would keep that end open, and
# the end of file that announces a child's death would not come.
_start_lock = threading.Lock()


class Worker:
    """A child process that sends messages. `forks`: False for a fresh interpreter."""

    def __init__(self, work: Work, show_errors: bool = False, forks: bool = True):
        self._work, self._show_errors, self._forks = work, show_errors, forks
        self._process: Any = None
        self.exitcode: int | None = None  # As `multiprocessing` has it, once known
        self._scratch = scratch_name()

    def start(self) -> None:
        """Start the child; at most once."""
        import multiprocessing  # with sockets: a program without children needs none

        context: Any = multiprocessing.get_context("fork" if self._forks else "spawn")
        with contextlib.suppress(OSError):  # the child may need none
            make_root()
        # Until the process is noted an interrupt would leave a child without an
        # owner, and in the child it would run the caller's handlers.
        with signals_held(), _start_lock:
            self.reader, writer = context.Pipe(duplex=False)
            reader = self.reader if self._forks else None
            process = context.Process(
                target=_live,
                args=(self._work, writer, reader, self._show_errors, self._scratch),
                # Should it be forgotten, Python's end kills it and does not wait.
                daemon=True,
            )
            with writer, warnings.catch_warnings():
                # Python 3.12 warns of locks that other threads (numpy's BLAS has
                # some) may hold at the fork. Python and the C library make their own
                # locks anew in the child, BLAS has fork handlers, and the child only
                # runs an engine that was imported before.
                warnings.filterwarnings("ignore", ".*fork", DeprecationWarning)
                process.start()
            self._process = process
        if hasattr(os, "setpgid"):  # also done by the child, for whoever comes first
            with contextlib.suppress(OSError):
                os.setpgid(process.pid, process.pid)

    def receive(self, seconds: float) -> bytes | None:
        """Wait at most so long for a message; EOFError when none can come any more."""
        try:
            if self.reader.poll(seconds):
                message: bytes = self.reader.recv_bytes()
                return message
            # Descendants may hold the pipe open after the child is gone.
            if not self._has_ended() or self.reader.poll(0):
                return None
        except OSError as error:
            raise EOFError from error
        raise EOFError

    def ending(self) -> str:
        """Say in one line how a child ended that sent no answer."""
        limit = time.monotonic() + _GRACE
        while not self._has_ended() and time.monotonic() < limit:
            time.sleep(0.001)
        if self.exitcode is None:
            return "the child gave no answer"
        if self.exitcode >= 0:
            return f"the child left with exit status {self.exitcode} and no answer"
        try:
            name = signal.Signals(-self.exitcode).name
        except ValueError:
            name = f"signal {-self.exitcode}"
        return f"the child was killed by {name}"

    def memory(self) -> int:
        """Count bytes held by the child, see `private_memory`."""
        return private_memory(self._process.pid)

    def kill(self) -> None:
        """Kill and reap what lives; what it has sent can still be received."""
        with signals_held():
            if self._process is not None and self.exitcode is None:
                self._kill_group()
                self._process.kill()  # it may not lead a group yet
                self._process.join()
                self.exitcode = self._process.exitcode

    def close(self) -> None:
        """Kill and reap what lives, close what is open; again does nothing."""
        with signals_held():
            self.kill()
            if self._process is not None:
                with contextlib.suppress(ValueError):  # where SIGCHLD is ignored
                    self._process.close()
                self._process = None
                self.reader.close()
            remove_all_of(self._scratch)

    def _has_ended(self) -> bool:
        if self.exitcode is None:
            self.exitcode = self._process.exitcode
            if self.exitcode is not None:
                # At once, while nobody else can have been given the number.
                self._kill_group()
        return self.exitcode is not None

    def _kill_group(self) -> None:
        if hasattr(os, "killpg"):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)


def wait(workers: Sequence[Worker], seconds: float) -> None:
    """Wait at most so long until one of the children has something to say or ends."""
    from multiprocessing import connection

    if workers:
        connection.wait([worker.reader for worker in workers], seconds)
    else:
        time.sleep(seconds)


def _live(
    work: Work, writer: Pipe, reader: Pipe | None, show_errors: bool, scratch: Path
) -> NoReturn:
    """Be the child: do the work and leave, whatever happens, without a trace."""
    global _start_lock
    status = 1
    try:
        import multiprocessing

        _start_lock = threading.Lock()  # the fork came while it was held
        if reader is not None:
            reader.close()
        work_below(scratch)
        if (parent := multiprocessing.parent_process()) and parent.pid:
            die_with(parent.pid)
        multiprocessing.current_process().daemon = False  # it may have children
        if hasattr(os, "setpgid"):
            os.setpgid(0, 0)
        # The parent's garbage is not ours to finalise.
        gc.freeze()
        signal.set_wakeup_fd(-1)
        for number in ENDING:
            signal.signal(number, signal.SIG_DFL)
        writer = _above_streams(writer)
        _silence(show_errors)
        work(writer.send_bytes)
        status = 0
    finally:
        os._exit(status)


def die_with(parent: int) -> None:
    """Have the kernel kill this process when its parent is gone (Linux)."""
    if _LIBC is not None:
        _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)


def _above_streams(pipe: Pipe) -> Pipe:
    """Move a pipe from a standard stream's number: the parent runs with one closed."""
    if pipe.fileno() > 2 or sys.platform == "win32":
        return pipe
    import fcntl

    return type(pipe)(fcntl.fcntl(pipe.fileno(), fcntl.F_DUPFD_CLOEXEC, 3))


_inherited: list[object] = []


def _silence(show_errors: bool) -> None:
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1) if show_errors else (0, 1, 2):
        os.dup2(null, descriptor)
    # Kept alive: their finalisers would write the parent's pending output.
    _inherited.extend((sys.stdin, sys.stdout, sys.stderr))
    sys.stdout = os.fdopen(os.dup(null), "w")
    if not show_errors:
        faulthandler.disable()
        sys.stderr = sys.stdout


def private_memory(pid: int, borrowed: bytes = b"") -> int:
    """Bytes of memory that a process and its descendants hold for themselves.

    These are the pages it has written and shares with nobody. Resident memory would not
    do: pages that a forked child writes to where its parent has freed memory are its
    own from then on, but were resident from the start. A descendant that is between its
    fork and another program (Python 3.13 uses vfork for it) has the very memory of its
    parent, whose figures are `borrowed`, and is not counted again.
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
