r"""Formulas in DIMACS form: CNF, WCNF with a header, headerless WCNF.

PySAT's reader refuses what circulates (SATLIB's ``%`` ending, clauses over several
lines) and accepts what should be refused (no header, a wrong one), so this is a reader
of our own. docs/dimacs.md has the grammar. A line has at most `MAX_LINE` bytes, unless
``max_bytes`` says how many the whole may have. Compression is told by the first bytes,
since names lie; a few hundred bytes can decompress to gigabytes, so compressed data may
expand to `FREE_BYTES` and `MAX_RATIO` times their own size, several times what formulas
do. What is written reads as the same formula.

>>> from olivine.reduction.formula.dimacs import parse_dimacs
>>> file = parse_dimacs([b"p cnf 3 1\n1 -2 0\n"])
>>> file.formula.n_variables, list(file.formula.clauses())
(3, [(1, -2)])
>>> parse_dimacs(b"p cnf 3 1\n1 -2\n")  # doctest: +NORMALIZE_WHITESPACE
Traceback (most recent call last):
    ...
olivine.reduction.formula.dimacs_text.DimacsError: <bytes>:2: clause without its
closing 0
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
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import IO, Any, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ...algorithms.exact.arrays import check_count, check_type
from ...solvers.files import write_text
from .dimacs_text import Clauses, DimacsError, Header, InputFormat, located, read_text
from .formula import MAX_VARIABLE, Formula
from .prepare import Hardened

__all__ = [
    "DimacsError",
    "DimacsFile",
    "located",
    "parse_dimacs",
    "read_dimacs",
    "write_dimacs",
]

CHUNK = 1 << 18
"""Bytes read at a time: large enough to vectorise, small enough for the cache."""

FREE_BYTES, MAX_RATIO = 1 << 20, 100
"""Compressed data may decompress to the first, and the second for each byte."""

RAISE_LIMIT = "--max-bytes sets another"
"""What messages say of the limits on bytes."""

STDIN = "<stdin>"
"""What messages call standard input."""

DEFAULT_MAX_VARIABLES = 10**7
MAX_LINE = 1 << 26
"""Longest line, in bytes: a clause of some ten million literals."""


class DimacsFile(NamedTuple):
    """A formula as read, and what was noticed on the way.

    Attributes
    ----------
    formula
        The clauses as written, in their order.
    warnings
        One line each, "file:line: text".
    format
        ``cnf``, ``wcnf`` or ``wcnf-headerless``.
    source
        Name of the file, ``<stdin>`` for standard input.
    hard_line
        Line of the first hard clause; None if none is.
    hardened
        Where hard clauses have been given weights instead: how. The reader itself
        keeps them.
    """

    formula: Formula
    warnings: tuple[str, ...]
    format: str
    source: str
    hard_line: int | None = None
    hardened: Hardened | None = None

    @property
    def hard(self) -> NDArray[np.bool_] | None:
        """Which clauses are hard (WCNF); None if none is."""
        return self.formula.hard


def read_dimacs(
    path: str | os.PathLike[str],
    *,
    strict: bool = False,
    input_format: InputFormat | None = None,
    max_variables: int = DEFAULT_MAX_VARIABLES,
    max_bytes: int | None = None,
) -> DimacsFile:
    """Read a formula from a file.

    Parameters
    ----------
    path
        The file, or ``"-"`` for standard input; plain, gzip, bzip2 or xz, told
        apart by content.
    strict
        Whether what would be a warning is an error.
    input_format
        ``"cnf"`` or ``"wcnf"`` to refuse anything else; ``"wcnf"`` lets the
        header be missing. None to tell from the file.
    max_variables
        Greatest number of variables, 0 to 2^31-1. Headers and literals above
        it are refused before anything of their size is allocated.
    max_bytes
        Most bytes, after decompression, of the file and so of a line. None for
        `MAX_LINE` a line and, in all, as many as a plain file has or 1 MiB and
        100 times what a compressed one has.

    Raises
    ------
    DimacsError
        If the file is no formula, naming file and line.
    OSError
        If the system cannot read it (missing, a folder, no permission).
    ValueError
        For an unknown `input_format` or a `max_variables` out of range.
    """
    name = os.fspath(path)
    max_line = MAX_LINE
    if max_bytes is not None:
        max_line = check_count("max_bytes", max_bytes, least=0)
    return parse_dimacs(
        read_bytes(name, max_bytes, max_line),
        source=source_name(name),
        strict=strict,
        input_format=input_format,
        max_variables=max_variables,
        max_line=max_line,
    )


def parse_dimacs(
    chunks: bytes | Iterable[bytes],
    *,
    source: str = "<bytes>",
    strict: bool = False,
    input_format: InputFormat | None = None,
    max_variables: int = DEFAULT_MAX_VARIABLES,
    max_line: int = MAX_LINE,
) -> DimacsFile:
    """Read a formula from bytes.

    Parameters
    ----------
    chunks
        The bytes, uncompressed, or pieces of them cut anywhere. Memory is at most
        twelve times as many bytes.
    source
        Name for messages; one that ends in ``.wcnf`` lets the header be missing.
    strict, input_format, max_variables
        As in `read_dimacs`.
    max_line
        Most bytes of a line, its line feed not counted.

    Raises
    ------
    DimacsError, ValueError
        As in `read_dimacs`.
    """
    if input_format not in (None, "cnf", "wcnf"):
        raise ValueError(f"unknown input format {input_format!r}: 'cnf' or 'wcnf'")
    check_count("max_variables", max_variables, least=0, most=MAX_VARIABLE)
    check_count("max_line", max_line, least=0)
    check_type("source", source, str, "name")
    if isinstance(chunks, str) or not isinstance(chunks, Iterable):
        raise TypeError(f"chunks: {chunks!r:.60} is neither bytes nor pieces of them")
    text = chunks if isinstance(chunks, bytes) else b"".join(chunks)
    _check_lines(text, source, max_line)
    header, clauses = read_text(text, source, input_format, max_variables)
    mismatches = list(_mismatches(header, clauses))
    if strict and mismatches:
        raise DimacsError(source, *mismatches[0])
    warnings = tuple(located(source, line, reason) for line, reason in mismatches)
    n_variables = max(clauses.largest, header.n_variables or 0)
    formula = Formula(
        n_variables, clauses.literals, clauses.offsets, clauses.weights, clauses.hard
    )
    return DimacsFile(formula, warnings, header.format, source, clauses.hard_line)


def _check_lines(text: bytes, source: str, max_line: int) -> None:
    """Refuse a line that is too long; where the whole is short, none can be."""
    if len(text) <= max_line:
        return
    feeds = np.flatnonzero(np.frombuffer(text, dtype=np.uint8) == ord("\n"))
    lengths = np.diff(feeds, prepend=-1, append=len(text)) - 1
    if lengths.max() > max_line:
        line = int((lengths > max_line).argmax()) + 1
        raise DimacsError(source, line, long_line(max_line))


def _mismatches(header: Header, clauses: Clauses) -> Iterator[tuple[int, str]]:
    """Yield (line, text) where the clauses differ from the header."""
    if header.line is None:
        return
    n_clauses = len(clauses.offsets) - 1
    if n_clauses != header.n_clauses:
        yield (
            header.line,
            f"the header's number of clauses is {header.n_clauses}, "
            f"the file has {n_clauses}",
        )
    if clauses.surplus is not None:
        line, variable = clauses.surplus
        yield (
            line,
            f"variable {variable} is above the header's number of variables, "
            f"{header.n_variables} (the largest used is {clauses.largest})",
        )


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


OutputFormat = Literal["cnf", "wcnf", "wcnf-headerless"]

_BLOCK = 4096
"""Clauses that are made text at a time."""
_CLAUSE = "%d "


def write_dimacs(
    formula: Formula,
    path: str | os.PathLike[str],
    *,
    format: OutputFormat | None = None,
    comments: Iterable[str] = (),
) -> None:
    """Write a formula to a file, which appears complete or not at all.

    Parameters
    ----------
    formula
        Any formula.
    path
        The file, or ``"-"`` for standard output. The text is not compressed.
    format, comments
        As in `dimacs_lines`.

    Raises
    ------
    ValueError
        As `dimacs_lines` does; nothing is written then.
    OSError
        If the file cannot be written.
    """
    check_type("formula", formula, Formula, "Formula")
    parts = _parts(formula, format, comments)
    name = os.fspath(path)
    if name == "-":
        sys.stdout.writelines(parts)
        sys.stdout.flush()
    else:
        write_text(name, parts)


def dimacs_lines(
    formula: Formula,
    *,
    format: OutputFormat | None = None,
    comments: Iterable[str] = (),
) -> Iterator[str]:
    r"""Give the lines of a formula in DIMACS form, each with its line feed.

    Parameters
    ----------
    formula
        Any formula.
    format
        ``cnf`` for a plain formula, ``wcnf`` (with header) or ``wcnf-headerless`` for
        one with weights; None for ``cnf`` or ``wcnf``. The header of a formula with
        hard clauses gives them a top weight above the total of the others.
    comments
        Texts to begin with, of one line or several.

    Raises
    ------
    ValueError
        If the format cannot hold the formula: weights in ``cnf``, none in the others;
        variables above the largest one used, or no clause, in ``wcnf-headerless``.

    Examples
    --------
    >>> formula = Formula.from_clauses([(1, -2), ()], weights=[5, 1])
    >>> list(dimacs_lines(formula))
    ['p wcnf 2 2\n', '5 1 -2 0\n', '1 0\n']
    """
    parts = _parts(formula, format, comments)
    return (line for part in parts for line in part.splitlines(keepends=True))


def _parts(
    formula: Formula, format: OutputFormat | None, comments: Iterable[str]
) -> Iterator[str]:
    """Give the same as `dimacs_lines`, many lines at a time."""
    if format is None:
        format = "wcnf" if formula.is_weighted else "cnf"
    if format not in ("cnf", "wcnf", "wcnf-headerless"):
        raise ValueError(f"unknown format {format!r}")
    if formula.is_weighted != (format != "cnf"):
        kind = "a weighted" if formula.is_weighted else "a plain"
        raise ValueError(f"{format} cannot hold {kind} formula")
    if format == "wcnf-headerless":
        largest = int(np.abs(formula.literals).max(initial=0))
        if formula.n_variables > largest or not len(formula):
            raise ValueError(
                "headerless WCNF cannot hold a formula without clauses or with "
                f"unused variables at the end ({formula.n_variables} variables, "
                f"the largest used is {largest})"
            )
    check_type("comments", comments, Iterable, "list of lines")
    listed = list(comments)
    for comment in listed:
        check_type("comments", comment, str, "line")
    return _text(formula, format, listed)


def _text(formula: Formula, format: OutputFormat, comments: list[str]) -> Iterator[str]:
    for comment in comments:
        for line in comment.splitlines() or [""]:
            yield f"c {line}".rstrip() + "\n"
    hard_mark = "h"
    if format != "wcnf-headerless":
        header = f"p {format} {formula.n_variables} {len(formula)}"
        if formula.hard is not None:
            hard_mark = str(formula.total_weight + 1)
            header += f" {hard_mark}"
        yield header + "\n"
    for first in range(0, len(formula), _BLOCK):
        ends = formula.offsets[first : first + _BLOCK + 1]
        literals = iter(formula.literals[ends[0] : ends[-1]].tolist())
        lines = [_CLAUSE * width + "0\n" for width in np.diff(ends).tolist()]
        if formula.weights is not None:
            for j, weight in enumerate(
                formula.weights[first : first + _BLOCK].tolist()
            ):
                # A hard clause has weight 0.
                lines[j] = f"{weight or hard_mark} {lines[j]}"
        yield "".join(lines) % tuple(literals)
