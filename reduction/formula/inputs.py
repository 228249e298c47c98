"""Bytes of an input file: standard input, compressed or plain; the error about one.

Compression is told by the first bytes, since names lie. A few hundred bytes can
decompress to gigabytes, so compressed data may expand to `FREE_BYTES` and `MAX_RATIO`
times their own size, several times what formulas do; ``max_bytes`` replaces that limit.
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
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import IO, Any, Protocol

CHUNK = 1 << 18
"""Bytes read at a time: large enough to vectorise, small enough for the cache."""

FREE_BYTES, MAX_RATIO = 1 << 20, 100
"""Compressed data may decompress to the first, and the second for each byte."""

RAISE_LIMIT = "--max-bytes sets another"
"""What messages say of the limits on bytes."""

STDIN = "<stdin>"
"""What messages call standard input."""


class DimacsError(ValueError):
    """An input is no formula in DIMACS form (or its compression is damaged).

    `source` is the name of the file, or "<stdin>"; `line` counts from 1, None when no
    line can be named; `reason` says in one line what was found and what was expected.
    An input that the system cannot open or read raises `OSError` instead.
    """

    def __init__(self, source: str, line: int | None, reason: str) -> None:
        super().__init__(source, line, reason)  # all three, so that it pickles
        self.source = source
        self.line = line
        self.reason = reason

    def __str__(self) -> str:
        """``file:line: reason``."""
        return located(self.source, self.line, self.reason)


def located(source: str, line: int | None, text: str) -> str:
    """Put file and line in front of a message."""
    place = source if line is None else f"{source}:{line}"
    return f"{place}: {text}"


def shown(token: bytes, limit: int = 40) -> str:
    """Quote bytes found in a file, escaped to ASCII and cut to `limit`."""
    text = repr(token[:limit])[1:]
    return text if len(token) <= limit else f"{text}... ({len(token)} bytes)"


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


def long_line(max_line: int) -> str:
    """Reason to refuse a line of more bytes than this."""
    return f"a line of more than {max_line} bytes ({RAISE_LIMIT})"


def read_bytes(path: str, max_bytes: int | None, max_line: int) -> bytes:
    """Read the uncompressed bytes of a file.

    `max_bytes`: most bytes; None for as many as a plain file has, and for compressed
    data the limit of this module. A line of more than `max_line` bytes may end the
    reading: a device can go on for ever.
    """
    with _standard_input() if path == "-" else open(path, "rb") as raw:
        return uncompressed(raw, source_name(path), max_bytes, max_line)


def uncompressed(
    raw: IO[bytes], source: str, max_bytes: int | None, max_line: int
) -> bytes:
    """Read the uncompressed bytes of a stream that is open; see `read_bytes`."""
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
    size, n_bytes, n_open, chunks = _size(raw), 0, 0, list[bytes]()
    while chunk := _read(stream, source, compression):
        chunks.append(chunk)
        n_bytes += len(chunk)
        most = max_bytes
        if compression and most is None:
            most = FREE_BYTES + MAX_RATIO * max(size, packed.n_read)
        if most is not None and n_bytes > most:
            reason = f"more than {most} bytes{' decompressed' * bool(compression)}"
            raise DimacsError(source, None, f"{reason}, the limit ({RAISE_LIMIT})")
        feed = chunk.rfind(b"\n")
        n_open = n_open + len(chunk) if feed < 0 else len(chunk) - feed - 1
        if n_open > max_line:
            line = sum(c.count(b"\n") for c in chunks) + 1
            raise DimacsError(source, line, long_line(max_line))
    return b"".join(chunks)


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
