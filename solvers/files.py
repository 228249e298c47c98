"""Writing files so that they appear complete or not at all."""

from __future__ import annotations

import errno
import os
import stat
import uuid
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from pathlib import Path

from .child.temporary import owned, remove, signals_held


def write_text(path: str | os.PathLike[str], chunks: Iterable[str]) -> None:
    """Write text in UTF-8 with Unix line ends, atomically.

    The text goes into a temporary file beside the target, which replaces the target
    once all chunks are written. If anything fails the target is as it was and the
    temporary file is gone. A symbolic link stays; what it leads to is replaced.
    """
    write_texts({path: chunks})


def write_bytes(path: str | os.PathLike[str], data: bytes) -> None:
    """Write bytes as `write_text` writes text."""
    write_texts({path: data})


def write_texts(
    contents: Mapping[str | os.PathLike[str], Iterable[str] | bytes],
) -> None:
    """Write files that belong together, each as `write_text` does.

    None is replaced before all are written. They appear in the order given, so the one
    that speaks of the others should be the last. `contents`: the text of each file, in
    chunks; or its bytes.
    """
    written: list[tuple[Path, Path]] = []
    place: str | os.PathLike[str] = ""
    with ExitStack() as stack:
        try:
            for place, chunks in contents.items():
                target = write_target(place)
                temporary = stack.enter_context(owned(_beside(target)))
                written.append((temporary, target))
                # Not tempfile: its files are readable by the owner alone.
                if isinstance(chunks, bytes):
                    with open(temporary, "xb") as raw:
                        raw.write(chunks)
                    continue
                with open(temporary, "x", encoding="utf-8", newline="\n") as file:
                    file.writelines(chunks)
            # Closed by now: a full disk can show itself as late as that.
            with signals_held():
                _replace(written)
        except OSError as error:
            # As the user knows it; a full disk gives no name at all.
            names = dict(zip((str(t) for t, _ in written), contents, strict=False))
            known = place if error.filename is None else error.filename
            if error.errno is not None:
                error.filename = os.fspath(names.get(str(known), known))
            raise


def check_writable(path: str | os.PathLike[str]) -> None:
    """Refuse a place where `write_text` would fail, by trying it."""
    target = write_target(path)
    try:
        with owned(_beside(target)) as probe:
            probe.touch()
    except OSError as error:
        error.filename = str(path)
        raise


def write_target(path: str | os.PathLike[str]) -> Path:
    """Follow symbolic links to the file that writing to `path` is to replace.

    Renaming would replace a link, and a device node: the one is followed, the other
    refused.
    """
    target = Path(os.path.realpath(path))
    try:
        mode = target.lstat().st_mode
    except FileNotFoundError:
        return target
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(mode):
        raise OSError(
            errno.EINVAL, "not a regular file, and only one can be replaced", str(path)
        )
    return target


def _beside(target: Path) -> Path:
    # Not the target's name and more: that might be too long.
    return target.with_name(f".olivine-{uuid.uuid4().hex}")


def _replace(written: list[tuple[Path, Path]]) -> None:
    fresh: list[Path] = []
    try:
        for temporary, target in written:
            is_fresh = not target.exists()
            os.replace(temporary, target)
            if is_fresh:
                fresh.append(target)
    except BaseException:
        for file in fresh:
            remove(file)
        raise
