"""Bytes of an input file in chunks: standard input, compressed or plain.

Compression is recognised by the first bytes and not by the name, since names
lie and standard input has none.

A few hundred bytes can decompress to gigabytes. Compressed data may therefore
expand to `FREE_BYTES` and `MAX_RATIO` times their own size, several times what
formulas do; ``max_bytes`` replaces that limit. Plain files cost what they are.
"""

from __future__ import annotations

import bz2
import errno
import gzip
import lzma
import os
import stat
import sys
import zlib
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, nullcontext
from typing import IO, Any, Protocol

from .dimacs_error import DimacsError

CHUNK = 1 << 18
"""Bytes read at a time: large enough to vectorise, small enough for the cache."""

FREE_BYTES, MAX_RATIO = 1 << 20, 100
"""Compressed data may decompress to the first, and the second for each byte."""

RAISE_LIMIT = "--max-bytes sets another"
"""What messages say of the limits on bytes."""

STDIN = "<stdin>"
"""What messages call standard input."""


class _Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


class _Rejoined:
    """A stream whose first bytes were read already; needs no seeking."""

    def __init__(self, head: bytes, rest: IO[bytes]) -> None:
        self._head = head
        self._rest = rest
        self.n_read = len(head)
        """Bytes read so far, those not yet asked for included."""

    def read(self, size: int = -1) -> bytes:
        if not self._head:
            data = self._rest.read(size)
            self.n_read += len(data)
            return data
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


def read_chunks(
    path: str, max_bytes: int | None = None
) -> Generator[bytes, None, None]:
    """Yield the uncompressed bytes of a file.

    `max_bytes`: most bytes to yield; None for as many as a plain file has, and for
    compressed data the limit of this module.
    """
    source = source_name(path)
    with _standard_input() if path == "-" else open(path, "rb") as raw:
        head = raw.read(_LONGEST_MAGIC)
        for magic, name in _UNSUPPORTED.items():
            if head.startswith(magic):
                reason = f"{name} data; gzip, bzip2, xz and plain text can be read"
                raise DimacsError(source, None, reason)
        packed = _Rejoined(head, raw)
        stream: _Readable = packed
        compression = ""
        for magic, (name, opener) in _OPENERS.items():
            if head.startswith(magic):
                compression, stream = name, opener(packed)
        size, n_bytes = _size(raw), 0
        while chunk := _read(stream, source, compression):
            n_bytes += len(chunk)
            most = max_bytes
            if compression and most is None:
                most = FREE_BYTES + MAX_RATIO * max(size, packed.n_read)
            if most is not None and n_bytes > most:
                reason = f"more than {most} bytes{' decompressed' * bool(compression)}"
                raise DimacsError(source, None, f"{reason}, the limit ({RAISE_LIMIT})")
            yield chunk


def _size(raw: IO[bytes]) -> int:
    """Size of a regular file; 0 for what has none, like pipes."""
    try:
        status = os.fstat(raw.fileno())
    except OSError:  # a stream without a descriptor
        return 0
    return status.st_size if stat.S_ISREG(status.st_mode) else 0


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
