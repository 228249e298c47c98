"""Refusing places for output before any work is done for them."""

import errno
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from .reading import STANDARD_INPUT


def check_outputs(outputs: Iterable[Path | None], inputs: Iterable[str] = ()) -> None:
    """Refuse files that cannot be written, or are, by links too, twice or an input."""
    from ...solvers.files import check_writable, write_target

    targets: dict[Path, Path] = {}
    known: dict[object, Path] = {}
    for output in filter(None, outputs):
        if str(output) == STANDARD_INPUT:
            raise ValueError("-: a name of a file is needed here (./- if it is that)")
        target = write_target(output)
        if not target.parent.is_dir():
            missing = errno.ENOTDIR if target.parent.exists() else errno.ENOENT
            raise OSError(missing, os.strerror(missing), str(output))
        for name in _names(target):
            if name in known:
                raise ValueError(f"{output} and {known[name]} are the same file")
            known[name] = output
        targets[target] = output
    for source in inputs:
        check_not_input(targets, source)
    for output in targets.values():
        check_writable(output)


def places(files: Sequence[str], folder: Path, suffix: str = "") -> dict[str, Path]:
    """Give each formula its place in a folder: by name, or by path where names clash.

    The path is that below the common folder of all, with `_` between its parts.
    """
    names = Counter(map(_name, files))
    paths = [os.path.abspath(file) for file in files if file != STANDARD_INPUT]
    common = os.path.commonpath([os.path.dirname(path) for path in paths] or ["/"])
    found: dict[str, Path] = {}
    owner: dict[Path, str] = {}
    for file in files:
        name = _name(file)
        if names[name] > 1 and file != STANDARD_INPUT:
            name = os.path.relpath(file, common).replace(os.sep, "_")
        found[file] = place = folder / f"{name}{suffix}"
        if place in owner:
            raise ValueError(
                f"{owner[place]} and {file} would both be written to {place}: give "
                "them one by one"
            )
        owner[place] = file
    return found


def _name(file: str) -> str:
    return "stdin" if file == STANDARD_INPUT else Path(file).name


def _names(target: Path) -> list[object]:
    """Give what tells a file from others: its place, and its number if it is there."""
    try:
        found = target.stat()
    except OSError:
        return [target]
    return [target, (found.st_dev, found.st_ino)]


def check_not_input(outputs: Iterable[Path], source: str) -> None:
    """Refuse outputs among which is the input, redirected or not."""
    try:
        read = os.fstat(0) if source == STANDARD_INPUT else os.stat(source)
    except OSError:
        return  # the reader will say so
    for output in outputs:
        if output.exists() and os.path.samestat(output.stat(), read):
            raise ValueError(f"{output} is the input itself")
