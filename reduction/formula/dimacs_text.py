"""The text of a DIMACS file: its header, and its clauses as flat arrays.

Nearly every file holds, but for comment lines, numbers and white space only: NumPy
reads it at once. What that path is not sure of (a stray byte, a number too large, a
weight of 0) it leaves to the exact path, which goes token by token and knows the line
of everything. So the two never differ in what they accept.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .formula import MAX_VARIABLE, MAX_WEIGHT

InputFormat = Literal["cnf", "wcnf"]
"""What a reader may be asked to read; WCNF with a header or without."""

_MAX_COUNT = 10**40
"""A header's numbers are below this; a top weight may exceed 64 bits."""
_SKIPPED = re.compile(rb"(?:[ \t\r\v\f]*(?:c[^\n]*)?\n)*")
"""Lines of white space and comments."""
_END = re.compile(rb"[ \t\r\v\f]*%")
_LONE_RETURN = re.compile(rb"\r(?!\n)")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_COMPRESSED = (".gz", ".bz2", ".xz")
_MAX_DIGITS = 40
"""Longest number that is converted; a top weight may exceed 64 bits."""
_INTEGER = re.compile(rb"-?[0-9]+")
_BLANKS = rb"[ \t\r\v\f]*"
# A literal line feed in front, where ^ would do: the engine then skips to the
# line feeds, which is several times as fast.
_COMMENT_LINE = re.compile(rb"\n" + _BLANKS + rb"c[^\n]*")
_END_LINE = re.compile(rb"\n" + _BLANKS + rb"%")
_HARD_MARK = re.compile(rb"\n" + _BLANKS + rb"h(?=[ \t\r\v\f])")
_OTHER_LINES = {
    b"a": "quantifiers (QDIMACS)",
    b"e": "quantifiers (QDIMACS)",
    b"k": "cardinality constraints (KNF)",
    b"w": "weights of literals (Cachet)",
}
"""First words of lines that other formats have between clauses."""


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


class Header(NamedTuple):
    """What the ``p`` line declares; for headerless WCNF, that there is none."""

    format: str  # ``cnf``, ``wcnf`` or ``wcnf-headerless``
    line: int | None = None  # None without a header, as the counts are then
    n_variables: int | None = None
    n_clauses: int | None = None
    top: int | None = None  # weight from which on a clause is hard; None if none is

    @property
    def weighted(self) -> bool:
        """Whether every clause starts with a weight."""
        return self.format != "cnf"


class Clauses(NamedTuple):
    """Clauses as `Formula` takes them, and where something was noticed."""

    literals: NDArray[np.int32]
    offsets: NDArray[np.int64]
    weights: NDArray[np.int64] | None  # 0 for a hard clause
    largest: int = 0  # largest variable used
    surplus: tuple[int, int] | None = None  # line, first variable above the header's
    hard_line: int | None = None  # line of the first hard clause

    @property
    def hard(self) -> NDArray[np.bool_] | None:
        """Which clauses are hard; None without weights."""
        return None if self.weights is None else self.weights == 0


class Context(NamedTuple):
    """What reading clauses depends on besides their text."""

    header: Header
    source: str
    line: int  # number of the first line
    max_variables: int
    no_header: DimacsError | None = None  # due unless an h marks some clause as hard


def read_text(
    text: bytes, source: str, input_format: InputFormat | None, max_variables: int
) -> tuple[Header, Clauses]:
    """Read the header and the clauses of a file's uncompressed bytes."""
    context, rest = _read_start(text, source, input_format, max_variables)
    return context.header, _read_clauses(rest, context)


def _read_start(
    text: bytes, source: str, input_format: InputFormat | None, max_variables: int
) -> tuple[Context, bytes]:
    """Read how clauses are to be read, and the lines that follow the header."""
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
        return Context(header, source, line, max_variables), b""
    stop = text.index(b"\n", position) + 1
    first_line = text[position:stop].strip()
    if first_line.startswith(b"p"):
        header = _parse_header(first_line, source, line, input_format, max_variables)
        return Context(header, source, line + 1, max_variables), text[stop:]
    first = first_line.split(None, 1)[0]
    reason = f"no 'p cnf' header: expected it or a comment, found {shown(first)}"
    no_header = DimacsError(source, line, reason)
    is_token = first == b"h" or integer(first) is not None
    is_end = first.startswith(b"%") and not known
    if is_end or not (known or (input_format is None and is_token)):
        raise no_header
    due = None if known else no_header
    return Context(header, source, line, max_variables, due), text[position:]


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


def _read_clauses(text: bytes, context: Context) -> Clauses:
    """Read the lines that follow a header; the last ends with a line feed."""
    found, exact = _read_numbers(text, context), _Exact(context)
    try:
        found = exact.read(text) if found is None else found
    except DimacsError as error:
        if context.no_header is not None and exact.hard_line is None:
            raise context.no_header from error
        raise
    if context.no_header is not None and found.hard_line is None:
        raise context.no_header
    return found


def _read_numbers(text: bytes, context: Context) -> Clauses | None:
    """Read plain numbers and comment lines; None if unsure."""
    header = context.header
    lines, n_marks = b"\n" + text, 0
    if b"%" in text and (end := _END_LINE.search(lines)):
        lines = lines[: end.start() + 1]
    if b"c" in text:
        lines = _COMMENT_LINE.sub(b"\n", lines)
    if b"h" in text and header.line is None:
        lines, n_marks = _HARD_MARK.subn(b"\n%d" % MAX_WEIGHT, lines)
    values = _plain_numbers(lines)
    if values is None or (len(values) and values[-1] != 0):
        return None
    ends = np.flatnonzero(values == 0)
    n_before = np.concatenate([[0], ends + 1 - np.arange(1, len(ends) + 1)])
    is_literal, weights, hard_line = values != 0, None, None
    if header.weighted:
        starts = np.concatenate([np.zeros(1, dtype=np.int64), ends + 1])[:-1]
        weights = values[starts]
        at_most = weights == MAX_WEIGHT
        if weights.min(initial=1) < 1 or np.count_nonzero(at_most) != n_marks:
            return None
        hard = at_most
        if header.top is not None and header.top <= MAX_WEIGHT:
            hard = weights >= header.top
        weights[hard] = 0
        if hard.any():
            hard_line = context.line + _lines_before(lines, starts[hard.argmax()])
        is_literal[starts] = False
        n_before -= np.arange(len(n_before))
    literals = values[is_literal]
    # not abs(), which has no answer for -2^63
    largest = max(int(literals.max(initial=0)), -int(literals.min(initial=0)))
    if largest > context.max_variables:
        return None
    literals = literals.astype(np.int32)
    surplus, declared = None, header.n_variables
    if declared is not None and largest > declared:
        first = np.argmax((literals > declared) | (literals < -declared))
        place = np.flatnonzero(is_literal)[first]
        line = context.line + _lines_before(lines, place)
        surplus = (line, abs(int(literals[first])))
    return Clauses(literals, n_before, weights, largest, surplus, hard_line)


def _lines_before(lines: bytes, token: np.int64) -> int:
    """Count the line feeds in front of a token, but for the one at the beginning."""
    digits = (np.frombuffer(lines, dtype=np.uint8) - np.uint8(ord("0"))) < 10
    begins = np.flatnonzero(digits[1:] & ~digits[:-1])[token] + 1
    return lines.count(b"\n", 1, int(begins))


def _plain_numbers(text: bytes) -> NDArray[np.int64] | None:
    """Return the integers of a text, or None unless it holds nothing else.

    "Nothing else" is strict: digits, white space, and minus signs between
    white space and a digit from 1 to 9. Integers beyond 64 bits come out as
    some integer of at least 2^63-1 in absolute value.
    """
    codes = np.frombuffer(text, dtype=np.uint8)
    digits = (codes - np.uint8(ord("0"))) < 10  # uint8 wraps round
    white = (codes == ord(" ")) | ((codes - np.uint8(ord("\t"))) < 5)
    minus = codes == ord("-")
    n_digits = np.count_nonzero(digits)
    if n_digits + np.count_nonzero(white) + np.count_nonzero(minus) < len(codes):
        return None
    nonzero = (codes - np.uint8(ord("1"))) < 9
    if np.any(minus[:-1] & ~nonzero[1:]) or np.any(minus[1:] & ~white[:-1]):
        return None
    if not n_digits:  # fromstring would read a 0 out of white space
        return np.zeros(0, dtype=np.int64)
    return np.fromstring(text, dtype=np.int64, sep=" ")


class _Exact:
    """Reads token by token, and names the line of what is wrong."""

    def __init__(self, context: Context) -> None:
        self._header, self._source, self._line, self._max_variables, _ = context
        self._open_line: int | None = None  # where the clause not yet closed begins
        self._largest = 0
        self._surplus: tuple[int, int] | None = None
        self.hard_line: int | None = None  # of the first hard clause
        self._ended = False  # by a line that starts with %

    def read(self, text: bytes) -> Clauses:
        literals: list[int] = []
        offsets = [0]
        weights: list[int] = []
        for line in text.split(b"\n")[:-1]:
            for token in self._tokens(line):
                if self._open_line is None:
                    self._open_line = self._line
                    if self._header.weighted:
                        weights.append(self._weight(token))
                        continue
                if literal := self._literal(token):
                    literals.append(literal)
                else:
                    offsets.append(len(literals))
                    self._open_line = None
            if self._ended:
                break
            self._line += 1
        if self._open_line is not None:
            raise self._error("clause without its closing 0", self._open_line)
        return Clauses(
            np.array(literals, dtype=np.int32),
            np.array(offsets, dtype=np.int64),
            np.array(weights, dtype=np.int64) if self._header.weighted else None,
            self._largest,
            self._surplus,
            self.hard_line,
        )

    def _tokens(self, line: bytes) -> Iterator[bytes]:
        """Yield the tokens of a line that belong to clauses."""
        tokens = line.split()
        first = tokens[0] if tokens else b"c"
        if first.startswith(b"%"):
            self._ended = True
            return
        if first.startswith(b"c"):
            return
        if first == b"p":
            raise self._error(self._header_reason(line))
        if first.startswith((b"x", b"X")):
            raise self._error(f"XOR clauses are not supported (found {shown(first)})")
        if first in _OTHER_LINES and self._open_line is None:
            what = _OTHER_LINES[first]
            raise self._error(f"{what} are not supported (found {shown(line.strip())})")
        for token in tokens:
            if self._open_line is None and token.startswith(b"c"):
                return  # a comment behind a clause
            yield token

    def _header_reason(self, line: bytes) -> str:
        found = shown(line.strip())
        if self._header.line is None:
            return f"header {found} after the first clause"
        return f"second header {found}; the first is on line {self._header.line}"

    def _literal(self, token: bytes) -> int:
        value = integer(token)
        if value is None:
            raise self._unexpected("a literal or the 0 that ends a clause", token)
        variable = abs(value)
        if variable > MAX_VARIABLE:
            raise self._error(
                f"literal {shown(token)} is out of range: "
                f"variables go up to {MAX_VARIABLE}"
            )
        if variable > self._max_variables:
            raise self._error(
                f"variable {variable} is above the limit of "
                f"{self._max_variables} variables"
            )
        declared = self._header.n_variables
        if declared is not None and self._surplus is None and variable > declared:
            self._surplus = (self._line, variable)
        self._largest = max(self._largest, variable)
        return value

    def _weight(self, token: bytes) -> int:
        """Weight of the clause that begins here, 0 for a hard one."""
        headerless = self._header.line is None
        if token == b"h":
            if not headerless:
                raise self._error(
                    "'h' marks hard clauses in headerless WCNF only; this file has "
                    f"a header on line {self._header.line}: remove that line, or "
                    "write its top weight in place of each 'h'"
                )
            return self._hard()
        value = integer(token)
        if value is None or value < 1:
            what = "a weight of at least 1 or 'h'" if headerless else "a weight >= 1"
            raise self._unexpected(what, token)
        if self._header.top is not None and value >= self._header.top:
            return self._hard()
        if value > MAX_WEIGHT:
            raise self._error(f"weight {shown(token)} is above {MAX_WEIGHT}")
        return value

    def _hard(self) -> int:
        if self.hard_line is None:
            self.hard_line = self._line
        return 0

    def _unexpected(self, expected: str, token: bytes) -> DimacsError:
        return self._error(f"expected {expected}, found {shown(token)}")

    def _error(self, reason: str, line: int | None = None) -> DimacsError:
        return DimacsError(self._source, line or self._line, reason)


def integer(token: bytes) -> int | None:
    """Read ``-?[0-9]+``; None for anything else, ``-0`` included.

    Numbers of more than 40 digits come out as some number of 41 digits with the right
    sign: they are out of every range, and int() would take quadratic time to say so.
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
