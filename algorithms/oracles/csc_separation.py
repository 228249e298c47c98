"""Linear policies that take a least-cost action everywhere, by linear programs.

The cost-sensitive hinge loss (Crammer and Singer 2001, with costs) is

    Σ_x ξ_x with ξ_x ≥ Δ_x(b) (1 - ⟨θ_best - θ_b, φ(x)⟩), ξ ≥ 0,

Δ_x(b) being the extra cost of b over the best action. Its optimum is 0 exactly
where a linear policy with positive margin takes best actions only, and it is a
linear program. On few observations it is solved as it stands, and is a useful
surrogate besides. On many, rows are generated: a sample of them first, then those
that the answer gets wrong. A sample that no policy separates, which random labels
give away at little more than twice as many rows as there are parameters (Cover
1965), ends it at once.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import csr_matrix

_LARGEST_PROGRAM = 50_000
"""Nonzeros up to which the program is solved whole."""

_ROUNDS = 30
_OPTIMUM = 1e-6
_LIMIT = 1e6
"""Largest |θ_a,i|."""


def separators(
    features: NDArray[np.float64], totals: NDArray[np.float64]
) -> Iterator[NDArray[np.float64]]:
    """Yield candidates, shape (K, d), the last of which separates if any does.

    Parameters
    ----------
    features
        φ(x), shape (n, d).
    totals
        Summed costs, shape (n, K).
    """
    n_actions, dimension = totals.shape[1], features.shape[1]
    extra = totals - totals.min(axis=1, keepdims=True)
    relevant = np.flatnonzero(extra.max(axis=1) > 0)
    if len(relevant) * n_actions * (2 * dimension + 1) <= _LARGEST_PROGRAM:
        theta, _ = _hinge(features[relevant], totals[relevant])
        if theta is not None:
            yield theta
        return
    size = 3 * n_actions * dimension
    spread = np.linspace(0, len(relevant) - 1, size).astype(np.int64)
    chosen = np.zeros(len(features), dtype=np.bool_)
    chosen[relevant[spread]] = True
    for _ in range(_ROUNDS):
        theta, optimum = _hinge(features[chosen], totals[chosen])
        if theta is None or optimum > _OPTIMUM:
            return
        yield theta
        actions = np.argmax(features @ theta.T, axis=1)
        lost = extra[np.arange(len(features)), actions]
        wrong = np.flatnonzero((lost > 0) & ~chosen)
        if len(wrong) == 0:
            return
        chosen[wrong[np.argsort(-lost[wrong], kind="stable")[:size]]] = True


def _hinge(
    features: NDArray[np.float64], totals: NDArray[np.float64]
) -> tuple[NDArray[np.float64] | None, float]:
    """Minimise the hinge loss: θ (None where the engine has no answer) and optimum.

    Costs are scaled to 1, so that tolerances of the engine mean something.
    """
    n_actions, dimension, size = totals.shape[1], features.shape[1], len(features)
    best = totals.argmin(axis=1)
    extra = totals - totals[np.arange(size), best][:, None]
    x, b = np.nonzero(extra > 0)
    if len(x) == 0:
        return None, 0.0
    gaps = extra[x, b] / extra.max()
    columns = np.arange(dimension)
    block = gaps[:, None] * features[x]
    parts = [
        (-block, best[x][:, None] * dimension + columns),
        (block, b[:, None] * dimension + columns),
        (-np.ones((len(x), 1)), (n_actions * dimension + x)[:, None]),
    ]
    entries = np.concatenate([p[0] for p in parts], axis=1)
    indices = np.concatenate([p[1] for p in parts], axis=1)
    pointers = np.arange(len(x) + 1) * entries.shape[1]
    shape = (len(x), n_actions * dimension + size)
    matrix = csr_matrix((entries.ravel(), indices.ravel(), pointers), shape=shape)
    objective = np.r_[np.zeros(n_actions * dimension), np.ones(size)]
    bounds = [(-_LIMIT, _LIMIT)] * (n_actions * dimension) + [(0, None)] * size
    found = linprog(objective, A_ub=matrix, b_ub=-gaps, bounds=bounds)
    if found.x is None:
        return None, np.inf
    theta: NDArray[np.float64] = found.x[: n_actions * dimension]
    return theta.reshape(n_actions, dimension), float(found.fun)
