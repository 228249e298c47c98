"""Limits of formulas, and checks of what a `Formula` is made from and assigned.

Each check gives an array of its own, or a ValueError that names the clause, from 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...algorithms.exact.arrays import as_integers

MAX_VARIABLE = 2**31 - 1
"""Greatest variable: what a literal in int32, and DIMACS solvers, can hold."""

MAX_WEIGHT = 2**63 - 1
"""Greatest weight of one clause; totals are Python integers."""


def checked_offsets(values: Any) -> NDArray[np.int64]:
    """Offsets from 0 that never fall, as a copy in int64."""
    offsets = as_integers("offsets", values, np.int64)
    if not len(offsets) or offsets[0] != 0:
        raise ValueError("offsets must start with 0")
    falls = np.diff(offsets) < 0
    if falls.any():
        j = int(np.argmax(falls))
        raise ValueError(f"clause {j}: offsets fall to {offsets[j + 1]}")
    return np.array(offsets)


def checked_literals(
    values: Any, n: int, offsets: NDArray[np.int64]
) -> NDArray[np.int32]:
    """Nonzero literals of n variables laid end to end, as int32."""
    literals = np.asarray(values)
    if literals.shape != (offsets[-1],):
        raise ValueError(
            f"literals of shape {literals.shape}; the offsets ask for ({offsets[-1]},)"
        )
    if not len(literals):
        return np.zeros(0, dtype=np.int32)
    if literals.dtype.kind in "iu":
        bad = (literals == 0) | (literals > n) | (literals < -n)
    else:
        bad = np.array([not _is_integer(v, -n, n) or v == 0 for v in values])
    if bad.any():
        position = int(np.argmax(bad))
        j = int(np.searchsorted(offsets, position, side="right")) - 1
        found = np.asarray(values, dtype=object)[position]
        raise ValueError(f"clause {j}: {found!r} is no literal of {n} variables")
    return literals.astype(np.int32)


def checked_hard(values: Any, m: int) -> NDArray[np.bool_] | None:
    """One bool a clause; None if no clause is hard."""
    if values is None or (m == 0 and len(values) == 0):
        return None
    hard = np.asarray(values)
    if hard.shape != (m,) or hard.dtype != np.bool_:
        raise ValueError(
            f"hard of shape {hard.shape} and type {hard.dtype}; expected "
            f"({m},) and bool"
        )
    return hard.copy() if hard.any() else None


def checked_weights(
    values: Any, hard: NDArray[np.bool_] | None, m: int
) -> NDArray[np.int64] | None:
    """Weights in int64, from 1 for soft clauses and 0 for hard; None if plain."""
    if values is None and hard is None:
        return None
    if values is None:
        values = np.ones(m, dtype=np.int64)
    weights = np.asarray(values)
    if weights.shape != (m,):
        raise ValueError(f"weights of shape {weights.shape}; expected ({m},)")
    if weights.dtype.kind in "iu":
        bad = (weights < 1) | (weights > MAX_WEIGHT)
    else:
        bad = np.array([not _is_integer(v, 1, MAX_WEIGHT) for v in values])
    if hard is not None:
        bad &= ~hard
    if bad.any():
        j = int(np.argmax(bad))
        found = np.asarray(values, dtype=object)[j]
        raise ValueError(f"clause {j}: weight {found!r} is not in 1..{MAX_WEIGHT}")
    if hard is not None:
        weights = np.where(hard, 0, weights)
    return weights.astype(np.int64)


def checked_assignment(assignment: ArrayLike, n_variables: int) -> NDArray[np.bool_]:
    """Array of n booleans; entry i-1 is variable i."""
    values = np.asarray(assignment)
    if values.shape != (n_variables,):
        raise ValueError(
            f"assignment of shape {values.shape} where {n_variables} variables "
            f"need ({n_variables},)"
        )
    if values.dtype != np.bool_ and n_variables:
        raise ValueError(f"assignment of {values.dtype} where booleans are needed")
    checked: NDArray[np.bool_] = values.astype(np.bool_, copy=False)
    return checked


def literal_truth(
    literals: NDArray[np.int32], assignment: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Truth of each literal (nonzero, of the assignment's variables); same shape."""
    if not literals.size:
        return np.zeros(literals.shape, dtype=np.bool_)
    return np.asarray(assignment[np.abs(literals) - 1] == (literals > 0))


def _is_integer(value: object, low: int, high: int) -> bool:
    integral = isinstance(value, int | np.integer) and not isinstance(value, bool)
    return integral and low <= int(value) <= high  # type: ignore[call-overload]
