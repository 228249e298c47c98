"""Where a file to be written really goes, and whether it may."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path


def write_target(path: str | os.PathLike[str]) -> Path:
    """Follow symbolic links to the file that writing to `path` is to replace.

    Files here are written beside their place and renamed. On a link that would
    replace the link, and on a device node the device, so the one is followed and
    the other refused.

    Returns
    -------
    Path
        An existing regular file, or a name that nothing has yet. Its folder
        need not exist.

    Raises
    ------
    OSError
        If there is a folder, device, pipe or socket, or the links go in circles.
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
