"""Writing files so that they appear complete or not at all."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterable, Mapping
from pathlib import Path

from olivine.solvers.target import write_target


def write_text(path: str | os.PathLike[str], chunks: Iterable[str]) -> None:
    """Write text in UTF-8 with Unix line ends, atomically.

    The text goes into a temporary file beside the target, which replaces the
    target once all chunks are written. If anything fails the target is as it
    was and the temporary file is gone. A symbolic link stays; what it leads to
    is replaced.

    Raises
    ------
    OSError
        If the file cannot be written, or there is something that is no regular
        file.
    """
    write_texts({path: chunks})


def write_bytes(path: str | os.PathLike[str], data: bytes) -> None:
    """Write bytes as `write_text` writes text."""
    write_texts({path: data})


def write_texts(
    contents: Mapping[str | os.PathLike[str], Iterable[str] | bytes],
) -> None:
    """Write files that belong together, each as `write_text` does.

    None is replaced before all are written. They appear in the order given, so
    the one that speaks of the others should be the last.

    Parameters
    ----------
    contents
        The text of each file, in chunks; or its bytes.

    Raises
    ------
    OSError
        As `write_text`; no file is then new, and only a failure to rename, once
        all were written, can leave one of several replaced.
    """
    written: list[tuple[Path, Path]] = []
    fresh: list[Path] = []
    try:
        for path, chunks in contents.items():
            target = write_target(path)
            temporary = target.with_name(f".{target.name}.{uuid.uuid4().hex}")
            written.append((temporary, target))
            # Not tempfile: its files are readable by the owner alone.
            if isinstance(chunks, bytes):
                with open(temporary, "xb") as raw:
                    raw.write(chunks)
                continue
            with open(temporary, "x", encoding="utf-8", newline="\n") as file:
                file.writelines(chunks)
        # Closed by now: a full disk can show itself as late as that.
        for temporary, target in written:
            is_fresh = not target.exists()
            os.replace(temporary, target)
            if is_fresh:
                fresh.append(target)
    except BaseException as error:
        for file_made in (*(temporary for temporary, _ in written), *fresh):
            file_made.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename is not None:
            names = {
                str(a): str(p) for (a, _), p in zip(written, contents, strict=False)
            }
            error.filename = names.get(str(error.filename), error.filename)
        raise
