"""The 3-SAT form of a formula: exactly three literals in each clause.

docs/reduction.md has the rules and Lemma 1: the least weight of unsatisfied clauses is
the same before and after. Literals of a clause are taken distinct, in the order of
first occurrence; fresh variables n+1, n+2, ... come in the order of the clauses. Given
the original variables, `ThreeSat.extend` makes the best choice of the fresh ones.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

NO_SOURCE = -1
"""`ThreeSat.source` of the tautology that stands for no clause at all."""


def three_literal_clauses(
    n: int, widths: NDArray[np.int64], literals: NDArray[np.int32]
) -> tuple[int, NDArray[np.int32], NDArray[np.int64]]:
    """Bring clauses into 3-SAT form."""
    if not len(widths):
        return max(n, 1), np.array([[1, -1, -1]], np.int32), np.array([NO_SOURCE])
    if np.all(widths == 3) and not _any_repeated(literals.reshape(-1, 3)):
        return n, literals.reshape(-1, 3), np.arange(len(widths))
    n_variables, clauses, source = _chains(n, *_distinct(n, widths, literals))
    return n_variables, clauses.astype(np.int32), source


def _any_repeated(clauses: NDArray[np.int32]) -> bool:
    a, b, c = clauses.T
    return bool(np.any((a == b) | (b == c) | (a == c)))


def _distinct(
    n: int, widths: NDArray[np.int64], literals: NDArray[np.int32]
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Keep the first occurrence of each literal in each clause: widths, literals."""
    clause = np.repeat(np.arange(len(widths)), widths)
    key = clause * (2 * n + 1) + (literals + np.int64(n))
    ordered = np.sort(key, kind="stable")  # ten times as fast on nearly sorted keys
    repeated = ordered[1:][ordered[1:] == ordered[:-1]] // (2 * n + 1)
    if not len(repeated):
        return widths, literals
    # only clauses with a repeated literal need the slower search for the first
    affected = np.zeros(len(widths), dtype=np.bool_)
    affected[repeated] = True
    (places,) = np.nonzero(affected[clause])
    first = np.unique(key[places], return_index=True)[1]
    kept = ~affected[clause]
    kept[places[first]] = True
    return np.bincount(clause[kept], minlength=len(widths)), literals[kept]


def _chains(
    n: int, widths: NDArray[np.int64], literals: NDArray[np.int32]
) -> tuple[int, NDArray[np.int64], NDArray[np.int64]]:
    """Give every clause its three-literal clauses, all clauses at once."""
    n_links = np.where(widths == 0, 1, np.maximum(widths - 3, 0))
    n_variables = n + int(n_links.sum())
    if n_variables > (most := np.iinfo(np.int32).max):
        raise ValueError(
            f"the 3-SAT form needs {n_variables} variables, more than {most}"
        )
    pieces = n_links + 1
    source = np.repeat(np.arange(len(widths)), pieces)
    # piece t = 0, 1, ... of its clause: (-y_t, literal t+1 from 0, y_{t+1}),
    # save at the two ends; y_t is variable y + t
    t = np.arange(len(source)) - (np.cumsum(pieces) - pieces)[source]
    y = (n + np.cumsum(n_links) - n_links)[source]
    start = (np.cumsum(widths) - widths)[source]
    last = np.maximum(widths - 1, 0)[source]
    padded = np.append(literals, np.int32(0))  # an empty clause may be the last one
    clauses = np.empty((len(source), 3), dtype=np.int64)
    clauses[:, 0] = np.where(t == 0, padded[start], -(y + t))
    clauses[:, 1] = padded[start + np.minimum(t + 1, last)]
    clauses[:, 2] = np.where(t < n_links[source], y + t + 1, padded[start + last])
    empty = widths[source] == 0
    clauses[empty] = np.where(t == 0, y + 1, -(y + 1))[empty, np.newaxis]
    return n_variables, clauses, source
