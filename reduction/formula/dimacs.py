r"""Formulas in DIMACS form: CNF, WCNF with a header, headerless WCNF.

PySAT's reader refuses what circulates (SATLIB's ``%`` ending, clauses over several
lines) and accepts what should be refused (no header, a wrong one), so this is a reader
of our own. docs/dimacs.md has the grammar. A line has at most `MAX_LINE` bytes, unless
``max_bytes`` says how many the whole may have. What is written reads as the same
formula.

>>> from olivine.reduction.formula.dimacs import parse_dimacs
>>> file = parse_dimacs([b"p cnf 3 1\n1 -2 0\n"])
>>> file.formula.n_variables, list(file.formula.clauses())
(3, [(1, -2)])
>>> parse_dimacs(b"p cnf 3 1\n1 -2\n")  # doctest: +NORMALIZE_WHITESPACE
Traceback (most recent call last):
    ...
olivine.reduction.formula.inputs.DimacsError: <bytes>:2: clause without its closing 0
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...algorithms.exact.arrays import check_count, check_type
from ...solvers.files import write_text
from .checks import MAX_VARIABLE
from .dimacs_body import Clauses, Context, Header, integer, read_clauses
from .formula import Formula
from .inputs import DimacsError, located, long_line, read_bytes, shown, source_name
from .prepare import Hardened

__all__ = ["DimacsError", "DimacsFile", "parse_dimacs", "read_dimacs", "write_dimacs"]

InputFormat = Literal["cnf", "wcnf"]
"""What a reader may be asked to read; WCNF with a header or without."""

DEFAULT_MAX_VARIABLES = 10**7
MAX_LINE = 1 << 26
"""Longest line, in bytes: a clause of some ten million literals."""

_MAX_COUNT = 10**40
"""A header's numbers are below this; a top weight may exceed 64 bits."""
_SKIPPED = re.compile(rb"(?:[ \t\r\v\f]*(?:c[^\n]*)?\n)*")
"""Lines of white space and comments."""
_END = re.compile(rb"[ \t\r\v\f]*%")
_LONE_RETURN = re.compile(rb"\r(?!\n)")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_COMPRESSED = (".gz", ".bz2", ".xz")


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
    header, context, rest = _read_start(text, source, input_format, max_variables)
    clauses = read_clauses(rest, context)
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


def _read_start(
    text: bytes, source: str, input_format: InputFormat | None, max_variables: int
) -> tuple[Header, Context, bytes]:
    """Read the header, how clauses are to be read, and the lines that follow."""
    known = input_format == "wcnf" or (input_format is None and _is_named_wcnf(source))
    header = Header("wcnf-headerless")
    if not (text or known):
        raise DimacsError(source, 1, "the input is empty")
    text = text.removeprefix(_BYTE_ORDER_MARK)
    if not text.endswith(b"\n"):
        text += b"\n"
    skipped = _SKIPPED.match(text)
    position = skipped.end() if skipped else 0
    line = text.count(b"\n", 0, position) + 1
    nothing = position == len(text) or (known and _END.match(text, position))
    if nothing:  # headerless WCNF without a clause, or no formula
        hint = _line_ends(text[:position])
        if hint or not known:
            reason = "nothing but comments and white space" + hint
            raise DimacsError(source, max(line - 1, 1), reason)
        return header, Context(header, source, line, max_variables), b""
    stop = text.index(b"\n", position) + 1
    first_line = text[position:stop].strip()
    if first_line.startswith(b"p"):
        header = _parse_header(first_line, source, line, input_format, max_variables)
        return header, Context(header, source, line + 1, max_variables), text[stop:]
    first = first_line.split(None, 1)[0]
    reason = f"no 'p cnf' header: expected it or a comment, found {shown(first)}"
    no_header = DimacsError(source, line, reason)
    is_token = first == b"h" or integer(first) is not None
    is_end = first.startswith(b"%") and not known
    if is_end or not (known or (input_format is None and is_token)):
        raise no_header
    due = None if known else no_header
    return header, Context(header, source, line, max_variables, due), text[position:]


def _line_ends(text: bytes) -> str:
    """Hint at lines that end in CR alone, which are no lines here."""
    if not _LONE_RETURN.search(text.strip()):
        return ""
    return "; lines end in LF here, and this file has CR alone"


def _parse_header(
    text: bytes,
    source: str,
    line: int,
    input_format: InputFormat | None,
    max_variables: int,
) -> Header:
    tokens = text.split()
    name = tokens[1] if len(tokens) > 1 else b""
    numbers = [integer(token) for token in tokens[2:]]

    def error(reason: str) -> DimacsError:
        return DimacsError(source, line, reason)

    if tokens[0] == b"p" and name and name not in (b"cnf", b"wcnf"):
        raise error(f"format {shown(name)} is not supported; cnf and wcnf are")
    lengths = {b"cnf": (2,), b"wcnf": (2, 3)}.get(name, ())
    counts = [n for n in numbers if n is not None and 0 <= n < _MAX_COUNT]
    if tokens[0] != b"p" or len(numbers) not in lengths or len(counts) < len(numbers):
        raise error(
            f"malformed header {shown(text)}: expected "
            "'p cnf VARIABLES CLAUSES' or 'p wcnf VARIABLES CLAUSES [TOP]'"
            + _line_ends(text)
        )
    if input_format not in (None, name.decode()):
        raise error(f"header {shown(text)} where {input_format} was asked for")
    n_variables, n_clauses, *top = counts
    if n_variables > max_variables:
        raise error(
            f"the header declares {n_variables} variables, above the limit of "
            f"{max_variables}"
        )
    if top == [0]:
        raise error("the header's top weight is 0; it must be at least 1")
    return Header(name.decode(), line, n_variables, n_clauses, top[0] if top else None)


def _is_named_wcnf(source: str) -> bool:
    name = source.lower()
    for suffix in _COMPRESSED:
        name = name.removesuffix(suffix)
    return name.endswith(".wcnf")


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
