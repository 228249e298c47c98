"""How value classes become polyhedra: tabular and linear.

A form says which real vector z represents a member, in which box it lies, which
rows keep the member's values in [0, 1], and how a functional of the member
reads as a row over z. Each comes in floats and in rationals.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, vstack

from ..classes.linear import FeatureMap, LinearValue, LinearValueClass
from ..classes.protocols import ValueFunction
from ..classes.tabular import TabularValue, TabularValueClass
from .functionals import Functional

ExactRow = tuple[list[int], list[Fraction]]
"""Indices and coefficients of a row over z."""


class Form(Protocol):
    """A class of value functions as a polyhedron."""

    lower: NDArray[np.float64]
    upper: NDArray[np.float64]

    def rows(self, functionals: Sequence[Functional]) -> csr_matrix:
        """One row a functional, over z."""

    def exact_row(self, functional: Functional) -> ExactRow:
        """Write the same row in rationals."""

    def range_rows(self, functionals: Sequence[Functional]) -> csr_matrix:
        """Rows that must lie in [0, 1] besides those given out before."""

    def exact_range_rows(self) -> list[ExactRow]:
        """All rows that must lie in [0, 1], in the order given out."""

    def member(self, z: NDArray[np.float64]) -> ValueFunction:
        """Build the member that z represents; z lies in the box."""

    def exact_member(self, z: Sequence[Fraction]) -> ValueFunction:
        """Build the member that a rational z represents."""


class TabularForm:
    """z is the table of values."""

    def __init__(self, value_class: TabularValueClass) -> None:
        self._size = value_class.n_observations
        self.lower = np.zeros(self._size)
        self.upper = np.ones(self._size)

    def rows(self, functionals: Sequence[Functional]) -> csr_matrix:
        """Coefficients at the codes, repeated ones added up."""
        lengths = [len(f) for f in functionals]
        empty = np.zeros(0)
        indices = np.concatenate(
            [empty.astype(np.int64), *(f.observations for f in functionals)]
        )
        data = np.concatenate([empty, *(f.coefficients for f in functionals)])
        pointers = np.cumsum([0, *lengths])
        matrix = csr_matrix(
            (data, indices, pointers), shape=(len(functionals), self._size)
        )
        matrix.sum_duplicates()
        return matrix

    def exact_row(self, functional: Functional) -> ExactRow:
        """Coefficients at the codes, in rationals."""
        integers, unit = functional.rational
        return functional.observations.tolist(), [i * unit for i in integers.tolist()]

    def range_rows(self, functionals: Sequence[Functional]) -> csr_matrix:
        """None: the box is the range."""
        return csr_matrix((0, self._size))

    def exact_range_rows(self) -> list[ExactRow]:
        """None: the box is the range."""
        return []

    def member(self, z: NDArray[np.float64]) -> TabularValue:
        """Return the table."""
        return TabularValue(z)

    def exact_member(self, z: Sequence[Fraction]) -> TabularValue:
        """Return the table, exact."""
        return TabularValue.from_fractions(z)


class LinearForm:
    """z is θ; values at the observations are rows that must lie in [0, 1].

    Unless the class is not clipped: then there are no such rows.
    """

    def __init__(self, value_class: LinearValueClass) -> None:
        self._clipped = value_class.clipped
        self._features: FeatureMap = value_class.features
        size = self._features.dimension
        self.lower = np.full(size, -value_class.bound)
        self.upper = np.full(size, value_class.bound)
        self._ranged = np.zeros((0, size))
        self._given_out: set[bytes] = set()

    def rows(self, functionals: Sequence[Functional]) -> csr_matrix:
        """Σ_i α_i φ(x_i), one row a functional."""
        if not functionals:
            return csr_matrix((0, len(self.lower)))
        return csr_matrix(
            np.stack(
                [f.coefficients @ self._features(f.observations) for f in functionals]
            )
        )

    def exact_row(self, functional: Functional) -> ExactRow:
        """Σ_i α_i φ(x_i) in rationals; features stand for their float values."""
        integers, unit = functional.rational
        sums = [Fraction(0)] * len(self.lower)
        features = self._features(functional.observations).tolist()
        for weight, row in zip(integers.tolist(), features, strict=True):
            sums = [s + weight * Fraction(v) for s, v in zip(sums, row, strict=True)]
        return list(range(len(sums))), [s * unit for s in sums]

    def range_rows(self, functionals: Sequence[Functional]) -> csr_matrix:
        """Features: the whole table once, or those of new observations."""
        size = len(self.lower)
        if not self._clipped:
            return csr_matrix((0, size))
        if self._features.table is None:
            fresh = [self._features(f.observations) for f in functionals]
            rows = np.concatenate([np.zeros((0, size)), *fresh])
        elif len(self._ranged):
            return csr_matrix((0, size))
        else:
            rows = self._features.table
        # Bytes as keys only save repetition; two forms of zero would do no harm.
        keys = [row.tobytes() for row in rows]
        new = [i for i, key in enumerate(keys) if not self._known(key)]
        self._ranged = np.concatenate([self._ranged, rows[new]])
        return csr_matrix(rows[new])

    def _known(self, key: bytes) -> bool:
        known = key in self._given_out
        self._given_out.add(key)
        return known

    def exact_range_rows(self) -> list[ExactRow]:
        """Features of all observations so far."""
        columns = list(range(len(self.lower)))
        return [(columns, list(map(Fraction, row))) for row in self._ranged.tolist()]

    def member(self, z: NDArray[np.float64]) -> LinearValue:
        """Return the function with θ = z."""
        return LinearValue(z, self._features, clipped=self._clipped)

    def exact_member(self, z: Sequence[Fraction]) -> LinearValue:
        """Return the function with θ = z, exact."""
        theta = np.array([float(v) for v in z], dtype=np.float64)
        return LinearValue(theta, self._features, tuple(z), self._clipped)


def stack(parts: Sequence[csr_matrix]) -> csr_matrix:
    """Stack sparse matrices on top of each other."""
    return csr_matrix(vstack(parts, format="csr"))
