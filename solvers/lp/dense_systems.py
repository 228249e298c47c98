"""Exact solution of dense integer systems, and of their transposes.

A small matrix is solved by its adjugate (fraction-free elimination; Edmonds
1967, Bareiss 1968), a large one by p-adic lifting (Dixon, "Exact solution of
linear equations using p-adic expansions", 1982): invert once modulo a prime,
lift digit by digit, rebuild the fractions. A lifted solution is substituted
into the system before it is believed, so stopping early is safe.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

Integers: TypeAlias = NDArray[Any]
"""An array of Python integers (dtype object)."""

_PRIMES = (2**31 - 1, 2**31 - 19, 2**31 - 61)
_DENSE_BY_ADJUGATE = 16


class Nucleus(Protocol):
    """A nonsingular matrix M, ready to be solved with."""

    def solve(self, rhs: Sequence[Fraction]) -> list[Fraction]:
        """Solve ``M x = rhs`` exactly."""

    def solve_transposed(self, rhs: Sequence[Fraction]) -> list[Fraction]:
        """Solve ``Mᵀ y = rhs`` exactly."""


def nucleus(matrix: list[list[int]]) -> Nucleus | None:
    """Prepare a square matrix, by rows; None if it is singular.

    A multiple of three fixed primes near 2³¹ passes for a determinant of 0,
    which no matrix that was not made for it will meet.
    """
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
