"""Refusing places for output before any work is done for them."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable
from pathlib import Path

from .reading import STANDARD_INPUT


def check_output(output: Path, source: str | None = None) -> None:
    """Refuse a file that cannot or must not be written."""
    from ...solvers.files import check_writable, write_target

    target = write_target(output)
    if not target.parent.is_dir():
        missing = errno.ENOTDIR if target.parent.exists() else errno.ENOENT
        raise OSError(missing, os.strerror(missing), str(output))
    if source is not None:
        check_not_input([target], source)
    check_writable(output)


def check_not_input(outputs: Iterable[Path], source: str) -> None:
    """Refuse outputs among which is the input itself.

    Links of both kinds are seen through, and standard input that is redirected
    from a file is that file.
    """
    try:
        read = os.fstat(0) if source == STANDARD_INPUT else os.stat(source)
    except OSError:
        return  # whoever reads it will say so
    for output in outputs:
        if output.exists() and os.path.samestat(output.stat(), read):
            raise ValueError(f"{output} is the input itself")
