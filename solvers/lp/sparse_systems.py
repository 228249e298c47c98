"""Exact solution of sparse square integer systems, and of their transposes.

The basis of a linear program is mostly triangular: `factorise` first peels off
rows with a single entry, then columns with a single entry, each an exact
division. What is left, the nucleus, is solved densely by FLINT.
"""

from __future__ import annotations

import math
from collections.abc import Container, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flint import fmpz_mat

_PRIME = 2**31 - 1


def factorise(rows: Sequence[Mapping[int, int]]) -> Factorisation | None:
    """Prepare the solution of ``M x = b`` and ``Mᵀ y = c``."""
    lower = _peel(rows, range(len(rows)))
    done_rows = {r for r, _ in lower}
    rest = [r for r in range(len(rows)) if r not in done_rows]
    done_columns = {c for _, c in lower}
    columns: list[dict[int, int]] = [{} for _ in rows]
    for r in rest:
        for c, entry in rows[r].items():
            if c not in done_columns:
                columns[c][r] = entry
    upper = [
        (r, c)
        for c, r in _peel(
            columns, [c for c in range(len(rows)) if c not in done_columns]
        )
    ]
    done_rows.update(r for r, _ in upper)
    done_columns.update(c for _, c in upper)
    nucleus_rows = [r for r in rest if r not in done_rows]
    nucleus_columns = [c for c in range(len(rows)) if c not in done_columns]
    dense = [[rows[r].get(c, 0) for c in nucleus_columns] for r in nucleus_rows]
    nucleus, size = None, len(dense)
    if size:
        from flint import fmpz_mat, nmod_mat  # takes a twentieth of a start

        nucleus = fmpz_mat(size, size, [entry for row in dense for entry in row])
        # Modulo a prime the rank is quickly found, and never too great.
        if nmod_mat(nucleus, _PRIME).rank() < size and nucleus.rank() < size:
            return None
    return Factorisation(rows, lower, upper, nucleus_rows, nucleus_columns, nucleus)


def _solved(matrix: fmpz_mat | None, rhs: Sequence[Fraction]) -> list[Fraction]:
    """Solve a dense nonsingular system; None is that without an equation."""
    if matrix is None:
        return []
    scale = math.lcm(*(v.denominator for v in rhs))
    whole = [v.numerator * (scale // v.denominator) for v in rhs]
    found = matrix.solve(type(matrix)(len(whole), 1, whole)).entries()
    return [Fraction(int(q.p), int(q.q) * scale) for q in found]


def _peel(
    rows: Sequence[Mapping[int, int]], among: Sequence[int]
) -> list[tuple[int, int]]:
    """Take out rows with one entry left, with its column, until there are none."""
    where: dict[int, list[int]] = {}
    for r in among:
        for c in rows[r]:
            where.setdefault(c, []).append(r)
    left = {r: len(rows[r]) for r in among}
    ready = [r for r in among if left[r] == 1]
    gone: set[int] = set()
    order: list[tuple[int, int]] = []
    while ready:
        row = ready.pop()
        column = next((c for c in rows[row] if c not in gone), None)
        if column is None:  # two rows with the same single entry: singular
            continue
        gone.add(column)
        order.append((row, column))
        for r in where[column]:
            left[r] -= 1
            if left[r] == 1:
                ready.append(r)
    return order


class Factorisation:
    """A nonsingular square matrix, ready to be solved with; see `factorise`."""

    def __init__(
        self,
        rows: Sequence[Mapping[int, int]],
        lower: list[tuple[int, int]],
        upper: list[tuple[int, int]],
        nucleus_rows: list[int],
        nucleus_columns: list[int],
        nucleus: fmpz_mat | None,
    ) -> None:
        # In the order lower, nucleus, upper (reversed) the matrix is block
        # lower triangular: a row has entries in its own and earlier blocks.
        self._rows = rows
        self._lower = lower
        self._lower_columns = {c for _, c in lower}
        self._upper = upper
        self._nucleus_rows = nucleus_rows
        self._nucleus_columns = nucleus_columns
        self._nucleus = nucleus

    def solve(self, rhs: Sequence[Fraction]) -> list[Fraction]:
        """Solve ``M x = rhs`` exactly."""
        x = [Fraction(0)] * len(self._rows)

        def rest(r: int, pivot: int | None) -> Fraction:
            total = rhs[r]
            for c, entry in self._rows[r].items():
                if c != pivot and x[c]:
                    total -= entry * x[c]
            return total

        for r, c in self._lower:
            x[c] = rest(r, c) / self._rows[r][c]
        part = _solved(self._nucleus, [rest(r, None) for r in self._nucleus_rows])
        for c, value in zip(self._nucleus_columns, part, strict=True):
            x[c] = value
        for r, c in reversed(self._upper):
            x[c] = rest(r, c) / self._rows[r][c]
        return x

    def solve_transposed(self, rhs: Sequence[Fraction]) -> list[Fraction]:
        """Solve ``Mᵀ y = rhs`` exactly."""
        y = [Fraction(0)] * len(self._rows)
        left = list(rhs)
        everything = range(len(rhs))

        def settle(r: int, value: Fraction, only: Container[int]) -> None:
            y[r] = value
            if value:
                for c, entry in self._rows[r].items():
                    if c in only:
                        left[c] -= entry * value

        for r, c in self._upper:
            settle(r, left[c] / self._rows[r][c], everything)
        goal = [left[c] for c in self._nucleus_columns]
        turned = None if self._nucleus is None else self._nucleus.transpose()
        part = _solved(turned, goal)
        for r, value in zip(self._nucleus_rows, part, strict=True):
            settle(r, value, self._lower_columns)
        for r, c in reversed(self._lower):
            settle(r, left[c] / self._rows[r][c], self._lower_columns)
        return y
