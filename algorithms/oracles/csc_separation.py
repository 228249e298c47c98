"""Linear policies that take the least-cost action everywhere, by linear programs.

The cost-sensitive hinge loss (Crammer and Singer 2001, with costs) is

    Σ_x ξ_x with ξ_x ≥ Δ_x(b) (1 - ⟨θ_best - θ_b, φ(x)⟩), ξ ≥ 0,

Δ_x(b) being the extra cost of b over the best action, the first one at ties. Its
optimum is 0 exactly where a linear policy with positive margin takes best actions
only, and it is a linear program. On few observations it is solved as it stands, and
is a useful surrogate besides. On many, rows are generated: a sample of them first,
then those that the answer gets wrong. Most large problems are noise that nothing
separates, so before that two actions have to be told apart on a sample: random
labels cannot be, at little more than twice as many rows as features (Cover 1965).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import csr_matrix

_LARGEST_PROGRAM = 50_000
"""Nonzeros up to which the program is solved whole."""

_PAIRS = 3
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
    best = totals.argmin(axis=1)
    if not _pairs_separable(features, best, extra):
        return
    size = 3 * n_actions * dimension
    chosen = np.zeros(len(features), dtype=np.bool_)
    chosen[_spread(relevant, size)] = True
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


def _pairs_separable(
    features: NDArray[np.float64],
    best: NDArray[np.int64],
    extra: NDArray[np.float64],
) -> bool:
    """Whether samples of the busiest pairs of actions have separating directions."""
    n_actions = extra.shape[1]
    pairs = []
    for a in range(n_actions):
        for b in range(a + 1, n_actions):
            for_a = np.flatnonzero((best == a) & (extra[:, b] > 0))
            for_b = np.flatnonzero((best == b) & (extra[:, a] > 0))
            pairs.append((min(len(for_a), len(for_b)), for_a, for_b))
    pairs.sort(key=lambda pair: -pair[0])
    size = 4 * features.shape[1]
    return all(
        _margin(features[_spread(for_a, size)], features[_spread(for_b, size)]) > 0
        for count, for_a, for_b in pairs[:_PAIRS]
        if count
    )


def _spread(rows: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """At most `size` of the rows, evenly spaced."""
    if len(rows) <= size:
        return rows
    return rows[np.linspace(0, len(rows) - 1, size).astype(np.int64)]


def _margin(above: NDArray[np.float64], below: NDArray[np.float64]) -> float:
    """Largest t with ⟨w, x⟩ ≥ t above, ≤ -t below, |w_i| ≤ 1, t ≤ 1."""
    rows = np.concatenate([-above, below])
    matrix = np.c_[rows, np.ones(len(rows))]
    objective = np.r_[np.zeros(rows.shape[1]), -1.0]
    bounds = [(-1, 1)] * rows.shape[1] + [(0, 1)]
    found = linprog(objective, A_ub=matrix, b_ub=np.zeros(len(rows)), bounds=bounds)
    return float(found.x[-1]) if found.x is not None else np.inf


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
