"""Writing formulas in DIMACS form, such that reading gives the same formula."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from typing import Literal

import numpy as np

from ...solvers.files import write_text
from .formula import Formula

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
    return _text(formula, format, list(comments))


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
