"""Temporary files and folders that are gone afterwards, whenever a signal comes.

A handler of a signal that raises can do so between any two steps. So a
name is noted before the thing is made, removal puts signals off, and what an
exception in the wrong place left is removed when Python ends. A child that is
killed removes nothing: it works below a folder, its root, that its parent removes.
A child's children die after it, and maybe after that removal, so a process makes
its own root and never what the root is in. A process that is killed with its children
leaves its folders, but no lock on them: the next one to make a folder removes those.
"""

from __future__ import annotations

import atexit
import os
import re
import shutil
import signal
import tempfile
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

fcntl: Any
try:
    import fcntl
except ImportError:  # Windows, where nothing is locked and nothing tidied
    fcntl = None

ENDING = [
    getattr(signal, name)
    for name in ("SIGINT", "SIGTERM", "SIGHUP")
    if hasattr(signal, name)
]
"""Signals that ask a process to end, where the system has them."""
_SIGNALS = [*ENDING, *([signal.SIGALRM] if hasattr(signal, "SIGALRM") else [])]
_TRIES = 20

_LINK = "owned-"
_NAME = re.compile("olivine-[0-9a-f]{32}")

_owned: set[Path] = set()
_locks: dict[Path, int] = {}  # descriptors that say a folder is in use
_root: Path | None = None
_is_tidy = False


@contextmanager
def signals_held() -> Iterator[None]:
    """Put SIGINT, SIGTERM, SIGHUP and SIGALRM off until the end of the block.

    Handlers run in the main thread only; elsewhere this does nothing. Blocking
    the signals would not do: the system then gives them to another thread, and
    Python runs the handler in the main one all the same.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    before = {number: signal.getsignal(number) for number in _SIGNALS}
    try:
        for number, handler in before.items():
            if handler is not None:  # one that was not set by Python stays
                signal.signal(number, lambda n, _: came.append(n))
        yield
    finally:
        for number, handler in before.items():
            if handler is not None:
                signal.signal(number, handler)
        for number in came:
            signal.raise_signal(number)


@contextmanager
def owned(path: Path) -> Iterator[Path]:
    """Remove a file or folder of a new name at the end, if it is there then.

    Should this be a child that is killed meanwhile, its parent removes it.
    """
    _owned.add(path)
    link = _tell_parent(path)
    try:
        yield path
    finally:
        with signals_held():
            remove(path)
            _owned.discard(path)
            if link is not None:
                remove(link)


def _tell_parent(path: Path) -> Path | None:
    """Leave a link in a child's root to what lies elsewhere, for `remove_all_of`."""
    if _root is None or not {_root, *_owned}.isdisjoint(path.parents):
        return None  # it goes with the folder that it is in
    link = _root / f"{_LINK}{uuid.uuid4().hex}"
    with suppress(OSError):  # without room for a link the work may go on
        make_root()
        link.symlink_to(path.absolute())
        return link
    return None


def remove_all_of(root: Path) -> None:
    """Remove what a child that has ended owned, and its root."""
    for folder, below, files in os.walk(root):
        for name in (*below, *files):
            if name.startswith(_LINK):
                with suppress(OSError):
                    remove(Path(os.readlink(Path(folder, name))))
    remove(root)


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """Make an empty folder for temporary files, for this user alone."""
    make_root()
    with owned(scratch_name()) as folder:
        _make(folder)
        yield folder


def scratch_name() -> Path:
    """Return a new name for a temporary folder."""
    return (_root or Path(tempfile.gettempdir())) / f"olivine-{uuid.uuid4().hex}"


def work_below(folder: Path) -> None:
    """Make scratch folders below this one from now on: we are a child."""
    global _root
    _root = folder
    _owned.clear()
    _locks.clear()  # open all the same: the parent's folders are in use, too


def make_root() -> None:
    """Make the folder of a child's scratch folders, before it has any or children."""
    if _root is not None and not _root.exists():
        _make(_root)


def _make(folder: Path) -> None:
    """Make a folder that counts as in use while this process, or a child, lives."""
    if fcntl is None:
        folder.mkdir(mode=0o700)
        return
    if folder.parent == Path(tempfile.gettempdir()):
        _tidy(folder.parent)
    while True:
        folder.mkdir(mode=0o700)
        lock = os.open(folder, os.O_RDONLY)
        with suppress(OSError):  # a file system without locks: nothing is tidied
            fcntl.flock(lock, fcntl.LOCK_SH)
        if folder.exists():
            _locks[folder] = lock
            return
        os.close(lock)  # taken for a leftover before it was locked


def _tidy(place: Path) -> None:
    """Remove what processes left that were killed, once in the life of this one."""
    global _is_tidy
    if _is_tidy:
        return
    _is_tidy = True
    with suppress(OSError), os.scandir(place) as entries:
        for entry in [each for each in entries if _NAME.fullmatch(each.name)]:
            _remove_leftover(Path(entry.path))


def _remove_leftover(folder: Path) -> None:
    with suppress(OSError):
        lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            if os.fstat(lock).st_uid == os.getuid():
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
        finally:
            os.close(lock)


def remove(path: Path) -> None:
    """Remove a file or a folder, if it is there, as well as can be."""
    if (lock := _locks.pop(path, None)) is not None:
        os.close(lock)
    with suppress(OSError):
        os.unlink(path)
        return
    for _ in range(_TRIES):  # a process that is being killed may still write
        shutil.rmtree(path, ignore_errors=True)
        if not path.exists():
            return


@atexit.register
def _remove_all() -> None:
    for path in {*_owned, *_locks}:
        remove(path)
