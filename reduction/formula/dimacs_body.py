"""The clauses of a DIMACS file, gathered block by block into flat arrays.

A block is a run of whole lines. Nearly every block of nearly every file holds
nothing but numbers and white space; numpy reads such a block at once. Whatever
the fast path is not sure of (a stray byte, a number too large, a weight of 0)
it leaves, without a trace, to the exact path, which goes token by token and
knows the line of everything. So the two never differ in what they accept, and
errors are the exact path's alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from .checks import MAX_VARIABLE, MAX_WEIGHT
from .dimacs_error import DimacsError, shown
from .dimacs_header import Header, integer

_BLANKS = rb"[ \t\r\v\f]*"
# A literal line feed in front, where ^ would do: the engine then skips to the
# line feeds, which is several times as fast.
_COMMENT_LINE = re.compile(rb"\n" + _BLANKS + rb"c[^\n]*")
_OTHER_LINES = {
    b"a": "quantifiers (QDIMACS)",
    b"e": "quantifiers (QDIMACS)",
    b"k": "cardinality constraints (KNF)",
    b"w": "weights of literals (Cachet)",
}
"""First words of lines that other formats have between clauses."""
_END_LINE = re.compile(rb"\n" + _BLANKS + rb"%")


class Body:
    """State of reading the clauses that follow a header."""

    def __init__(
        self, header: Header, source: str, line: int, max_variables: int
    ) -> None:
        self.header = header
        self.line = line
        self.ended = False
        """Whether a line that starts with % was met: the rest does not count."""
        self.largest = 0
        """Largest variable used."""
        self.surplus: tuple[int, int] | None = None
        """(line, variable) of the first variable above the header's number."""
        self.seen_h = False
        """Whether a clause was marked hard by an h."""
        self.hard_line: int | None = None
        """Line of the first hard clause."""
        self.n_clauses = 0
        """Number of clauses closed so far."""
        self._source = source
        self._max_variables = max_variables
        self._open_line: int | None = None  # where the clause not yet closed begins
        self._n_literals = 0
        self._literals: list[NDArray[np.int32]] = [np.zeros(0, dtype=np.int32)]
        self._ends: list[NDArray[np.int64]] = [np.zeros(1, dtype=np.int64)]
        # one for each clause begun; 0 for a hard one
        self._weights: list[NDArray[np.int64]] = [np.zeros(0, dtype=np.int64)]

    def add(self, block: bytes) -> None:
        """Read a block of whole lines, the last one ended by a line feed."""
        if self._add_numbers(block):
            return
        lines = b"\n" + block  # so that every line has a line feed before it
        end = _END_LINE.search(lines)
        numbers = lines[: end.start() + 1] if end else lines
        if self._add_numbers(_COMMENT_LINE.sub(b"\n", numbers)[1:]):
            self.ended = end is not None
        else:
            self._add_lines(block)

    def finish(self) -> None:
        """Check that the last clause was closed."""
        if self._open_line is not None:
            raise self._error("clause without its closing 0", self._open_line)

    def arrays(
        self,
    ) -> tuple[
        NDArray[np.int32],
        NDArray[np.int64],
        NDArray[np.int64] | None,
        NDArray[np.bool_] | None,
    ]:
        """Literals, offsets, weights and which clauses are hard, as in `Formula`."""
        literals = np.concatenate(self._literals)
        offsets = np.concatenate(self._ends)
        if not self.header.weighted:
            return literals, offsets, None, None
        weights = np.concatenate(self._weights)
        return literals, offsets, weights, weights == 0

    def _store(
        self,
        literals: NDArray[np.int32],
        ends: NDArray[np.int64],
        weights: NDArray[np.int64],
    ) -> None:
        """Keep what a block held; `ends` count the literals of this block."""
        self._literals.append(literals)
        self._ends.append(ends + self._n_literals)
        self._weights.append(weights)
        self._n_literals += len(literals)
        self.n_clauses += len(ends)

    # -- the fast path

    def _add_numbers(self, block: bytes) -> bool:
        """Read a block of plain numbers; False, with nothing done, if unsure."""
        values = _plain_numbers(block)
        if values is None:
            return False
        ends = np.flatnonzero(values == 0)
        is_literal = values != 0
        literals_before = ends - np.arange(len(ends))
        weights = np.zeros(0, dtype=np.int64)
        opened_before = self._open_line is not None
        if self.header.weighted:
            first = [] if opened_before else [0]
            starts = np.concatenate([np.array(first, dtype=np.int64), ends + 1])
            starts = starts[starts < len(values)]
            weights = values[starts]
            if weights.min(initial=1) < 1 or weights.max(initial=1) >= MAX_WEIGHT:
                return False
            is_literal[starts] = False
            literals_before -= np.arange(len(ends)) + len(first)
            if self.header.top is not None and self.header.top <= MAX_WEIGHT:
                hard = weights >= self.header.top
                weights[hard] = 0
                if self.hard_line is None and hard.any():
                    return False  # the exact path knows its line
        literals = values[is_literal]
        # not abs(), which has no answer for -2^63
        largest = max(
            int(literals.max(initial=0)),
            -int(literals.min(initial=0)),
        )
        if largest > self._max_variables or self._is_surplus(largest):
            return False

        self._store(literals.astype(np.int32), literals_before, weights)
        self.largest = max(self.largest, largest)
        left_open = int(ends[-1]) + 1 if len(ends) else 0
        if len(ends):
            self._open_line = None
        if self._open_line is None and left_open < len(values):
            before = _position_from_end(block, len(values) - left_open)
            self._open_line = self.line + block.count(b"\n", 0, before)
        self.line += block.count(b"\n")
        return True

    def _is_surplus(self, variable: int) -> bool:
        """Whether this would be the first variable above the header's number."""
        declared = self.header.n_variables
        return declared is not None and self.surplus is None and variable > declared

    # -- the exact path

    def _add_lines(self, block: bytes) -> None:
        literals: list[int] = []
        ends: list[int] = []
        weights: list[int] = []
        for line in block.split(b"\n")[:-1]:
            for token in self._tokens(line):
                if self._open_line is None:
                    self._open_line = self.line
                    if self.header.weighted:
                        weights.append(self._weight(token))
                        continue
                literal = self._literal(token)
                if literal:
                    literals.append(literal)
                else:
                    ends.append(len(literals))
                    self._open_line = None
            if self.ended:
                break
            self.line += 1
        self._store(
            np.array(literals, dtype=np.int32),
            np.array(ends, dtype=np.int64),
            np.array(weights, dtype=np.int64),
        )

    def _tokens(self, line: bytes) -> Iterator[bytes]:
        """Yield the tokens of a line that belong to clauses."""
        tokens = line.split()
        first = tokens[0] if tokens else b"c"
        if first.startswith(b"%"):
            self.ended = True
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
        if self.header.line is None:
            return f"header {found} after the first clause"
        return f"second header {found}; the first is on line {self.header.line}"

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
        if self._is_surplus(variable):
            self.surplus = (self.line, variable)
        self.largest = max(self.largest, variable)
        return value

    def _weight(self, token: bytes) -> int:
        """Weight of the clause that begins here, 0 for a hard one."""
        headerless = self.header.line is None
        if token == b"h":
            if not headerless:
                raise self._error(
                    "'h' marks hard clauses in headerless WCNF only; this file has "
                    f"a header on line {self.header.line}"
                )
            self.seen_h = True
            return self._hard()
        value = integer(token)
        if value is None or value < 1:
            what = "a weight of at least 1 or 'h'" if headerless else "a weight >= 1"
            raise self._unexpected(what, token)
        if self.header.top is not None and value >= self.header.top:
            return self._hard()
        if value > MAX_WEIGHT:
            raise self._error(f"weight {shown(token)} is above {MAX_WEIGHT}")
        return value

    def _hard(self) -> int:
        if self.hard_line is None:
            self.hard_line = self.line
        return 0

    def _unexpected(self, expected: str, token: bytes) -> DimacsError:
        return self._error(f"expected {expected}, found {shown(token)}")

    def _error(self, reason: str, line: int | None = None) -> DimacsError:
        return DimacsError(self._source, line or self.line, reason)


def _plain_numbers(block: bytes) -> NDArray[np.int64] | None:
    """Return the integers of a block, or None unless it holds nothing else.

    "Nothing else" is strict: digits, white space, and minus signs between
    white space and a digit from 1 to 9. Integers beyond 64 bits come out as
    some integer of at least 2^63-1 in absolute value.
    """
    codes = np.frombuffer(block, dtype=np.uint8)
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
    return np.fromstring(block, dtype=np.int64, sep=" ")


def _position_from_end(block: bytes, n: int) -> int:
    """Position of the n-th token from the end (n = 1: the last)."""
    pieces = block.rsplit(None, n)
    kept = len(pieces[0]) if len(pieces) > n else 0
    return len(block) - len(block[kept:].lstrip())
