"""Bytes of an input file in chunks: standard input, compressed or plain.

Compression is recognised by the first bytes and not by the name, since names
lie and standard input has none.
"""

from __future__ import annotations

import bz2
import errno
import gzip
import lzma
import sys
import zlib
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, nullcontext
from typing import IO, Any, Protocol

from olivine.reduction.formula.dimacs_error import DimacsError

CHUNK = 1 << 18
"""Bytes read at a time: large enough to vectorise, small enough for the cache."""

STDIN = "<stdin>"
"""What messages call standard input."""


class _Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


class _Rejoined:
    """A stream whose first bytes were read already; needs no seeking."""

    def __init__(self, head: bytes, rest: IO[bytes]) -> None:
        self._head = head
        self._rest = rest

    def read(self, size: int = -1) -> bytes:
        if not self._head:
            return self._rest.read(size)
        if size < 0:
            size = len(self._head)
        head, self._head = self._head[:size], self._head[size:]
        return head


# The standard library's readers ask their file for nothing but read(), except
# to rewind; their annotations ask for more.
_OPENERS: dict[bytes, tuple[str, Callable[[Any], _Readable]]] = {
    b"\x1f\x8b": ("gzip", lambda stream: gzip.GzipFile(fileobj=stream)),
    b"BZh": ("bzip2", bz2.BZ2File),
    b"\xfd7zXZ\x00": ("xz", lzma.LZMAFile),
}
_UNSUPPORTED = {
    b"\x28\xb5\x2f\xfd": "zstandard",
    b"PK\x03\x04": "zip",
    b"7z\xbc\xaf": "7z",
    b"\x1f\x9d": "compress (.Z)",
}
_LONGEST_MAGIC = max(map(len, [*_OPENERS, *_UNSUPPORTED]))


def source_name(path: str) -> str:
    """Name of an input in messages."""
    return STDIN if path == "-" else path


def read_chunks(path: str) -> Generator[bytes, None, None]:
    """Yield the uncompressed bytes of a file.

    Parameters
    ----------
    path
        A file, or ``-`` for standard input. Plain, gzip, bzip2 or xz, told
        apart by content. Pipes do: nothing is sought.

    Yields
    ------
    bytes
        Non-empty, at most `CHUNK` long.

    Raises
    ------
    OSError
        If the system cannot open or read the file (missing, a folder, no
        permission).
    DimacsError
        If the compressed data are damaged or cut short, or compressed in a way
        that is known but not supported. It has no line.
    """
    source = source_name(path)
    with _standard_input() if path == "-" else open(path, "rb") as raw:
        head = raw.read(_LONGEST_MAGIC)
        for magic, name in _UNSUPPORTED.items():
            if head.startswith(magic):
                reason = f"{name} data; gzip, bzip2, xz and plain text can be read"
                raise DimacsError(source, None, reason)
        stream: _Readable = _Rejoined(head, raw)
        compression = ""
        for magic, (name, opener) in _OPENERS.items():
            if head.startswith(magic):
                compression, stream = name, opener(stream)
        while chunk := _read(stream, source, compression):
            yield chunk


def _standard_input() -> AbstractContextManager[IO[bytes]]:
    if sys.stdin is None:  # the process was started with it closed
        raise OSError(errno.EBADF, "standard input is closed", STDIN)
    return nullcontext(sys.stdin.buffer)  # not ours to close


def _read(stream: _Readable, source: str, compression: str) -> bytes:
    try:
        return stream.read(CHUNK)
    except (EOFError, zlib.error, lzma.LZMAError, OSError) as error:
        # The decompressors raise an OSError without errno for bad data.
        if not compression or getattr(error, "errno", None) is not None:
            raise
        reason = f"damaged or incomplete {compression} data ({error})"
        raise DimacsError(source, None, reason) from error
