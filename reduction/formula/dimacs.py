r"""Reading formulas in DIMACS form: CNF, WCNF with a header, headerless WCNF.

PySAT's reader refuses what circulates (SATLIB's ``%`` ending, clauses over
several lines) and accepts what should be refused (no header, a wrong one), so
this is a reader of our own. What it accepts:

- White space is any of blank, tab, CR, vertical tab and form feed; only LF ends
  a line. A UTF-8 byte order mark at the beginning is skipped.
- A line whose first character other than white space is ``c`` is a comment,
  wherever it stands, inside a clause too. So is the rest of a line behind the 0
  of a clause if it starts with ``c`` (as in MiniSat and CaDiCaL).
- The header ``p cnf VARIABLES CLAUSES`` or ``p wcnf VARIABLES CLAUSES [TOP]``
  comes once, before the first clause. A weight of TOP or more makes a clause
  hard; without TOP every clause is soft.
- A clause ends with its 0, not with its line. Literals are ``-?[0-9]+``, a
  variable at most 2^31-1 and at most ``max_variables``. Weights are integers
  from 1 to 2^63-1.
- A line that starts with ``%`` ends the formula, whatever follows.
- A line has at most `MAX_LINE` bytes, unless ``max_bytes`` says how many bytes
  the whole may have.
- Without a header the file is headerless WCNF if it is named so (``.wcnf``,
  also before ``.gz`` and the like), if that was asked for, or if one of its
  clauses is marked hard by an ``h``; otherwise the missing header is an error.

Counts that differ from the header's are warnings, and errors when ``strict``:
every clause is kept, and there are as many variables as the header says or as
the largest one used, whichever is more.

>>> from olivine.reduction.formula.dimacs import parse_dimacs
>>> file = parse_dimacs([b"p cnf 3 1\n1 -2 0\n"])
>>> file.formula.n_variables, list(file.formula.clauses())
(3, [(1, -2)])
>>> parse_dimacs(b"p cnf 3 1\n1 -2\n")  # doctest: +NORMALIZE_WHITESPACE
Traceback (most recent call last):
    ...
olivine.reduction.formula.dimacs_error.DimacsError: <bytes>:2: clause without its
closing 0
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Iterator
from contextlib import closing
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .checks import MAX_VARIABLE
from .dimacs_body import Body
from .dimacs_error import DimacsError, located
from .dimacs_header import InputFormat, read_start
from .formula import Formula
from .hard import Hardened
from .inputs import RAISE_LIMIT, read_chunks, source_name

__all__ = ["DimacsError", "DimacsFile", "parse_dimacs", "read_dimacs"]

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
    with closing(read_chunks(name, max_bytes)) as chunks:
        return parse_dimacs(
            chunks,
            source=source_name(name),
            strict=strict,
            input_format=input_format,
            max_variables=max_variables,
            max_line=MAX_LINE if max_bytes is None else max_bytes,
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
        The bytes, uncompressed, or pieces of them cut anywhere. Memory is that
        of the formula, a piece and the longest line.
    source
        Name for messages; one that ends in ``.wcnf`` lets the header be
        missing.
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
    if not 0 <= max_variables <= MAX_VARIABLE:
        raise ValueError(f"max_variables {max_variables} is not in 0..{MAX_VARIABLE}")
    pieces = [chunks] if isinstance(chunks, bytes) else chunks
    blocks = _blocks(pieces, source, max_line)
    start = read_start(blocks, source, input_format, max_variables)
    body = Body(start.header, source, start.line, max_variables)
    for block in itertools.chain([start.rest], blocks):
        try:
            body.add(block)
        except DimacsError as error:
            if start.only_with_h and not body.seen_h:
                raise start.no_header() from error
            raise
        if body.ended:
            break
    if start.only_with_h and not body.seen_h:
        raise start.no_header()
    body.finish()
    for _ in blocks:  # behind a % line nothing counts but limits and compression
        pass

    mismatches = list(_mismatches(body))
    if strict and mismatches:
        raise DimacsError(source, *mismatches[0])
    warnings = tuple(located(source, line, text) for line, text in mismatches)
    n_variables = max(body.largest, start.header.n_variables or 0)
    formula = Formula(n_variables, *body.arrays())
    return DimacsFile(formula, warnings, start.header.format, source, body.hard_line)


def _blocks(chunks: Iterable[bytes], source: str, max_line: int) -> Iterator[bytes]:
    """Cut the input into runs of whole lines, each ended by a line feed."""
    pieces: list[bytes] = []  # of a line that is not yet complete
    n_open, line = 0, 1  # its bytes, and its number
    for chunk in chunks:
        if n_open + len(chunk) > max_line:  # seldom: look at each line
            lengths = [len(text) for text in chunk.split(b"\n")]
            lengths[0] += n_open
            if max(lengths) > max_line:
                line += next(k for k, n in enumerate(lengths) if n > max_line)
                reason = f"a line of more than {max_line} bytes ({RAISE_LIMIT})"
                raise DimacsError(source, line, reason)
        cut = chunk.rfind(b"\n") + 1
        if cut:
            yield b"".join([*pieces, chunk[:cut]])
            pieces.clear()
            n_open = 0
            line += chunk.count(b"\n")
        pieces.append(chunk[cut:])
        n_open += len(chunk) - cut
    if last := b"".join(pieces):
        yield last + b"\n"


def _mismatches(body: Body) -> Iterator[tuple[int, str]]:
    """Yield (line, text) where the clauses differ from the header."""
    header = body.header
    if header.line is None:
        return
    if body.n_clauses != header.n_clauses:
        yield (
            header.line,
            f"the header's number of clauses is {header.n_clauses}, "
            f"the file has {body.n_clauses}",
        )
    if body.surplus is not None:
        line, variable = body.surplus
        yield (
            line,
            f"variable {variable} is above the header's number of variables, "
            f"{header.n_variables} (the largest used is {body.largest})",
        )
