"""What precedes the clauses of a DIMACS file: comments and the header, if any."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

from .dimacs_error import DimacsError, shown

InputFormat = Literal["cnf", "wcnf"]
"""What a reader may be asked to read; WCNF with a header or without."""

_MAX_DIGITS = 40
"""Longest number that is converted; a top weight may exceed 64 bits."""

_INTEGER = re.compile(rb"-?[0-9]+")
_SKIPPED = re.compile(rb"(?:[ \t\r\v\f]*(?:c[^\n]*)?\n)*")
"""Lines of white space and comments."""
_LONE_RETURN = re.compile(rb"\r(?!\n)")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_COMPRESSED = (".gz", ".bz2", ".xz")


class Header(NamedTuple):
    """What the ``p`` line declares; for headerless WCNF, that there is none."""

    format: str  # ``cnf``, ``wcnf`` or ``wcnf-headerless``
    line: int | None = None  # Line of the header; None without one
    # n_variables, n_clauses: as declared; None without a header
    n_variables: int | None = None
    n_clauses: int | None = None
    # Weight from which on a clause is hard; None if no weight is
    top: int | None = None

    @property
    def weighted(self) -> bool:
        """Whether every clause starts with a weight."""
        return self.format != "cnf"


class Start(NamedTuple):
    """What precedes the clauses.

    `rest` are the lines read but not used, and `line` is the number of the
    first of them. When `only_with_h` is true there was no header, and only an
    ``h`` in front of a clause can still make this a formula; `first` is the
    token found instead of the header.
    """

    source: str
    header: Header
    line: int
    rest: bytes
    only_with_h: bool = False
    first: bytes = b""

    def no_header(self) -> DimacsError:
        """Error for a file that is no headerless WCNF either."""
        return _no_header(self.source, self.line, self.first)


def _no_header(source: str, line: int, found: bytes) -> DimacsError:
    reason = f"no 'p cnf' header: expected it or a comment, found {shown(found)}"
    return DimacsError(source, line, reason)


def read_start(
    blocks: Iterator[bytes],
    source: str,
    input_format: InputFormat | None,
    max_variables: int,
) -> Start:
    """Read up to the header, or up to the first clause where there is none."""
    line, hint = 0, ""
    for block in blocks:
        if line == 0:
            block = block.removeprefix(_BYTE_ORDER_MARK)
        skipped = _SKIPPED.match(block)
        position = skipped.end() if skipped else 0
        line += block.count(b"\n", 0, position)
        if position < len(block):
            line += 1
            stop = block.index(b"\n", position) + 1
            text = block[position:stop].strip()
            if text.startswith(b"p"):
                header = _parse_header(text, source, line, input_format, max_variables)
                return Start(source, header, line + 1, block[stop:])
            first = text.split(None, 1)[0]
            return _without_header(source, line, block[position:], first, input_format)
        hint = hint or _line_ends(block)
    reason = "nothing but comments and white space" if line else "the input is empty"
    raise DimacsError(source, max(line, 1), reason + hint)


def _line_ends(text: bytes) -> str:
    """Hint at lines that end in CR alone, which are no lines here."""
    if not _LONE_RETURN.search(text.strip()):
        return ""
    return "; lines end in LF here, and this file has CR alone"


def _without_header(
    source: str,
    line: int,
    rest: bytes,
    first: bytes,
    input_format: InputFormat | None,
) -> Start:
    """Begin with the clauses at once, if that can be headerless WCNF."""
    named = input_format is None and _is_named_wcnf(source)
    known = input_format == "wcnf" or named
    is_token = first == b"h" or integer(first) is not None
    if first.startswith(b"%") or not (known or (input_format is None and is_token)):
        raise _no_header(source, line, first)
    return Start(source, Header("wcnf-headerless"), line, rest, not known, first)


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
    counts = [n for n in numbers if n is not None and 0 <= n < 10**_MAX_DIGITS]
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


def integer(token: bytes) -> int | None:
    """Read ``-?[0-9]+``; None for anything else, ``-0`` included.

    Numbers of more than 40 digits come out as some number of 41 digits with
    the right sign: they are out of every range, and int() would take
    quadratic time to say so.
    """
    if not _INTEGER.fullmatch(token):
        return None
    digits = token.lstrip(b"-").lstrip(b"0")
    if len(digits) > _MAX_DIGITS:
        digits = b"1" + b"0" * _MAX_DIGITS
    value = int(digits or b"0")
    if not token.startswith(b"-"):
        return value
    return -value if value else None
