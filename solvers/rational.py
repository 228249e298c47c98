"""Exact solution of sparse square integer systems, and of their transposes.

The basis of a linear program is mostly triangular: `factorise` first peels off
rows with a single entry, then columns with a single entry, each an exact
division. What is left, the nucleus, is solved densely: a small one by its
adjugate (fraction-free elimination; Edmonds 1967, Bareiss 1968), a large one
by p-adic lifting (Dixon, "Exact solution of linear equations using p-adic
expansions", 1982): invert once modulo a prime, lift digit by digit, rebuild the
fractions. A lifted solution is substituted into the system before it is
believed, so stopping early is safe.
"""

from __future__ import annotations

import math
from collections.abc import Container, Mapping, Sequence
from fractions import Fraction
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

Integers: TypeAlias = NDArray[Any]
"""An array of Python integers (dtype object)."""

_PRIMES = (2**31 - 1, 2**31 - 19, 2**31 - 61)
_DENSE_BY_ADJUGATE = 16


def factorise(rows: Sequence[Mapping[int, int]]) -> Factorisation | None:
    """Prepare the solution of ``M x = b`` and ``Mᵀ y = c``.

    Parameters
    ----------
    rows
        Row r of the k×k matrix as ``{column: nonzero integer}``, columns in
        ``range(k)``.

    Returns
    -------
    Factorisation or None
        None if the matrix is singular (or, which no input that was not made
        for it will meet, if its determinant is a multiple of three fixed
        primes near 2³¹).
    """
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
    nucleus = _nucleus(dense)
    if nucleus is None:
        return None
    return Factorisation(rows, lower, upper, nucleus_rows, nucleus_columns, nucleus)


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
        nucleus: _Nucleus,
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
        part = self._nucleus.solve([rest(r, None) for r in self._nucleus_rows])
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
        part = self._nucleus.solve_transposed([left[c] for c in self._nucleus_columns])
        for r, value in zip(self._nucleus_rows, part, strict=True):
            settle(r, value, self._lower_columns)
        for r, c in reversed(self._lower):
            settle(r, left[c] / self._rows[r][c], self._lower_columns)
        return y


class _Nucleus(Protocol):
    def solve(self, rhs: Sequence[Fraction]) -> list[Fraction]: ...

    def solve_transposed(self, rhs: Sequence[Fraction]) -> list[Fraction]: ...


def _nucleus(matrix: list[list[int]]) -> _Nucleus | None:
    if len(matrix) <= _DENSE_BY_ADJUGATE:
        return _Adjugate.of(matrix)
    return _Lifting.of(matrix)


class _Adjugate:
    """A small matrix by its determinant and adjugate, both integer."""

    def __init__(self, adjugate: list[list[int]], determinant: int) -> None:
        self._adjugate = adjugate
        self._determinant = determinant

    @classmethod
    def of(cls, matrix: list[list[int]]) -> _Adjugate | None:
        """Eliminate without fractions: every division is exact."""
        size = len(matrix)
        table = [
            row + [int(r == c) for c in range(size)] for r, row in enumerate(matrix)
        ]
        last = 1
        for k in range(size):
            swap = next((r for r in range(k, size) if table[r][k]), None)
            if swap is None:
                return None
            table[k], table[swap] = table[swap], table[k]
            pivot_row = table[k]
            pivot = pivot_row[k]
            for r in range(size):
                if r != k:
                    factor = table[r][k]
                    table[r] = [
                        (pivot * a - factor * b) // last
                        for a, b in zip(table[r], pivot_row, strict=True)
                    ]
            last = pivot
        return cls([row[size:] for row in table], last)

    def solve(self, rhs: Sequence[Fraction]) -> list[Fraction]:
        return self._times(self._adjugate, rhs)

    def solve_transposed(self, rhs: Sequence[Fraction]) -> list[Fraction]:
        return self._times(list(zip(*self._adjugate, strict=True)), rhs)

    def _times(
        self, matrix: Sequence[Sequence[int]], rhs: Sequence[Fraction]
    ) -> list[Fraction]:
        ints, scale = _to_integers(rhs)
        denominator = scale * self._determinant
        return [
            Fraction(sum(a * b for a, b in zip(row, ints, strict=True)), denominator)
            for row in matrix
        ]


class _Lifting:
    """A large matrix by its inverse modulo a prime and p-adic lifting."""

    def __init__(
        self, matrix: Integers, inverse: NDArray[np.int64], prime: int
    ) -> None:
        self._matrix = matrix
        self._inverse = inverse
        self._prime = prime
        largest = max(abs(entry) for entry in matrix.flat)
        fits = largest * len(matrix) * prime < 2**62
        self._fast = matrix.astype(np.int64) if fits else matrix
        norms = (sum(int(e) ** 2 for e in row) for row in (*matrix, *matrix.T))
        # Hadamard: no minor exceeds the product of its rows' norms.
        self._bits = sum(n.bit_length() / 2 for n in norms if n)

    @classmethod
    def of(cls, matrix: list[list[int]]) -> _Lifting | None:
        dense = np.array(matrix, dtype=object)
        for prime in _PRIMES:
            inverse = _inverse_modulo((dense % prime).astype(np.int64), prime)
            if inverse is not None:
                return cls(dense, inverse, prime)
        return None

    def solve(self, rhs: Sequence[Fraction]) -> list[Fraction]:
        return self._lift(self._matrix, self._fast, self._inverse, rhs)

    def solve_transposed(self, rhs: Sequence[Fraction]) -> list[Fraction]:
        return self._lift(self._matrix.T, self._fast.T, self._inverse.T, rhs)

    def _lift(
        self,
        matrix: Integers,
        fast: NDArray[Any],
        inverse: NDArray[np.int64],
        rhs: Sequence[Fraction],
    ) -> list[Fraction]:
        ints, scale = _to_integers(rhs)
        residue = target = np.array(ints, dtype=object)
        prime, modulus = self._prime, 1
        digits = np.zeros(len(ints), dtype=object)
        attempt = 4.0
        largest = max(abs(b) for b in ints)
        limit = 2 * (self._bits + largest.bit_length()) / 30 + 8
        for step in range(1, int(limit) + 1):
            digit = _modular_product(inverse, (residue % prime).astype(np.int64), prime)
            digits += digit.astype(object) * modulus
            modulus *= prime
            product = fast @ (digit if fast.dtype == np.int64 else digit.astype(object))
            residue = (residue - product.astype(object)) // prime
            if step >= attempt or step == int(limit):
                attempt *= 1.5
                found = _rebuild(digits, modulus)
                if found is not None:
                    numerators, denominator = found
                    if (matrix @ numerators == denominator * target).all():
                        bottom = denominator * scale
                        return [Fraction(int(n), bottom) for n in numerators]
        raise AssertionError("p-adic lifting passed Hadamard's bound")


def _to_integers(values: Sequence[Fraction]) -> tuple[list[int], int]:
    scale = math.lcm(*(v.denominator for v in values))
    return [v.numerator * (scale // v.denominator) for v in values], scale


def _inverse_modulo(matrix: NDArray[np.int64], prime: int) -> NDArray[np.int64] | None:
    """Invert by Gauss-Jordan elimination modulo a prime below 2³¹."""
    size = len(matrix)
    table = np.concatenate([matrix, np.eye(size, dtype=np.int64)], axis=1)
    for k in range(size):
        candidates = np.flatnonzero(table[k:, k])
        if not len(candidates):
            return None
        swap = k + int(candidates[0])
        if swap != k:
            table[[k, swap]] = table[[swap, k]]
        table[k] = table[k] * pow(int(table[k, k]), -1, prime) % prime
        touched = np.flatnonzero(table[:, k])
        touched = touched[touched != k]
        table[touched] -= np.outer(table[touched, k], table[k]) % prime
        table[touched] %= prime
    return np.ascontiguousarray(table[:, size:])


def _modular_product(
    matrix: NDArray[np.int64], vector: NDArray[np.int64], prime: int
) -> NDArray[np.int64]:
    """Multiply modulo a prime below 2³¹, in two halves that cannot overflow."""
    high, low = vector >> 16, vector & 0xFFFF
    product: NDArray[np.int64] = ((matrix @ high % prime << 16) + matrix @ low) % prime
    return product


def _rebuild(residues: Integers, modulus: int) -> tuple[Integers, int] | None:
    """Find the vector of small fractions, over one denominator, with residues."""
    bound = math.isqrt(modulus // 2)
    denominator = 1
    for residue in residues:
        found = _small_fraction(int(residue) * denominator % modulus, modulus, bound)
        if found is None:
            return None
        denominator *= found
        if denominator > bound:
            return None
    numerators = residues * denominator % modulus
    numerators = np.where(numerators > modulus // 2, numerators - modulus, numerators)
    return numerators, denominator


def _small_fraction(residue: int, modulus: int, bound: int) -> int | None:
    """Find the denominator of the fraction with this residue, by half a gcd.

    Numerator and denominator are at most `bound` in absolute value; there is
    at most one such fraction in lowest terms (Wang 1981).
    """
    if residue <= bound or modulus - residue <= bound:
        return 1
    a, b = modulus, residue
    s, t = 0, 1
    while b > bound:
        quotient = a // b
        a, b = b, a - quotient * b
        s, t = t, s - quotient * t
    return abs(t) if 0 < abs(t) <= bound else None
