"""Writing a folder of files so that it appears complete or not at all."""

import os
import stat
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ...solvers.child.temporary import owned, signals_held


@contextmanager
def staged(
    directory: Path, *, force: bool, stale: frozenset[str], last: str
) -> Iterator[Path]:
    """Yield a folder on `directory`'s file system; on success its files move there."""
    if directory.is_dir():
        if not force and any(directory.iterdir()):
            raise FileExistsError(
                f"{directory}: the folder is not empty; --force writes into it"
            )
        for name in sorted({*stale, last}):
            _check_regular(directory / name)
        parent = directory
    elif os.path.lexists(directory):
        raise NotADirectoryError(f"{directory}: exists and is no folder")
    else:
        parent = directory.absolute().parent
    made: list[Path] = []
    stage = parent / f".olivine-{uuid.uuid4().hex}"
    try:
        _make_parents(parent, made)
        with owned(stage):
            stage.mkdir()
            yield stage
            with signals_held():
                if parent == directory:
                    _move_files(stage, directory, stale, last)
                else:
                    stage.rename(directory)
    except BaseException as error:
        for folder in reversed(made):
            with suppress(OSError):  # by now it holds something else
                folder.rmdir()
        if isinstance(error, OSError):
            _name_the_place(error, stage, directory)
        raise


def _check_regular(file: Path) -> None:
    """Refuse to replace a link, a folder, a pipe or a device."""
    try:
        mode = file.lstat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISREG(mode):
        raise FileExistsError(f"{file}: not a regular file, so it is not replaced")


def _make_parents(parent: Path, made: list[Path]) -> None:
    missing = [p for p in (parent, *parent.parents) if not p.exists()]
    for folder in reversed(missing):
        with signals_held():
            try:
                folder.mkdir()
            except FileExistsError:
                if not folder.is_dir():
                    raise
            else:
                made.append(folder)


def _name_the_place(error: OSError, stage: Path, directory: Path) -> None:
    """Name files as the user knows them, not as they are called in the stage."""
    if error.errno is None:  # a message of ours, which says it all
        return
    name = Path(os.fsdecode(error.filename or directory))
    if name == stage:
        name = directory
    elif stage in name.parents:
        name = directory / name.relative_to(stage)
    error.filename = str(name)


def _move_files(stage: Path, directory: Path, stale: frozenset[str], last: str) -> None:
    written = sorted(
        (file.name for file in stage.iterdir()), key=lambda name: (name == last, name)
    )
    for name in stale.difference(written):
        (directory / name).unlink(missing_ok=True)
    moved: list[Path] = []
    try:
        for name in written:
            fresh = not (directory / name).exists()
            os.replace(stage / name, directory / name)
            if fresh:
                moved.append(directory / name)
    except BaseException:
        for file in moved:
            file.unlink(missing_ok=True)
        raise
