"""Writing a file so that it appears complete or not at all."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterable
from pathlib import Path

from solvers.target import write_target


def write_text(path: str | Path, chunks: Iterable[str]) -> None:
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
    target = write_target(path)
    temporary = target.with_name(f".{target.name}.{uuid.uuid4().hex}")
    try:
        # Not tempfile: its files are readable by the owner alone.
        with open(temporary, "x", encoding="utf-8", newline="\n") as file:
            file.writelines(chunks)
        # Closed by now: a full disk can show itself as late as that.
        os.replace(temporary, target)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename == str(temporary):
            error.filename = str(path)
        raise
