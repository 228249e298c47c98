"""Members drawn at random for finite classes: products over the hidden states.

Each state has a few local functions, the right one among them, so that what is
learned about one state says nothing about the others.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from olivine.algorithms.assumptions.hidden import HiddenModel
from olivine.algorithms.exact.columns import object_array

Row = tuple[Any, ...]
"""A function as a table over the observable codes."""

_GRID = 8
"""Values are multiples of 1/8 of the largest allowed."""

_MOST_LOCAL = 8


def highest_values(model: HiddenModel) -> list[list[Fraction]]:
    """1 - (largest mean rewards on the way to s), for each state of each level.

    If g' is at most that at level h+1, then E[r + g'] is at most that at level h.
    """
    found = [[Fraction(1)] * len(model.states(1))]
    for h in range(1, model.horizon):
        ahead = [Fraction(1)] * len(model.states(h + 1))
        for s, high in enumerate(found[-1]):
            rewards = model.rewards(h)[model.owner(h) == s].max(axis=0)
            for a, moves in enumerate(model.successors(h, s)):
                for t, _ in moves:
                    ahead[t] = min(ahead[t], high - rewards[a])
        found.append(ahead)
    return found


def random_values(
    model: HiddenModel, h: int, q: NDArray[Any], rng: np.random.Generator, most: int
) -> list[Row]:
    """Draw value functions, products of local ones, g* among these."""
    right, highest = q.max(axis=1), highest_values(model)[h - 1]
    limit = np.array([highest[s] for s in model.owner(h)], dtype=object)

    def draw() -> NDArray[Any]:
        steps = rng.integers(_GRID + 1, size=len(limit)).tolist()
        return np.asarray(object_array([Fraction(n, _GRID) for n in steps]) * limit)

    return _products(model, h, right, draw, rng, most)


def random_policies(
    model: HiddenModel, h: int, q: NDArray[Any], rng: np.random.Generator, most: int
) -> list[Row]:
    """Draw policies, products of local ones, π* among these."""
    right, k = q.argmax(axis=1), model.n_actions
    return _products(
        model, h, right, lambda: rng.integers(k, size=len(right)), rng, most
    )


def _products(
    model: HiddenModel,
    h: int,
    right: NDArray[Any],
    draw: Callable[[], NDArray[Any]],
    rng: np.random.Generator,
    most: int,
) -> list[Row]:
    """Combine c local functions a state, c^(states) at most ``most``; else draws."""
    owner, n_states = model.owner(h), len(model.states(h))
    count = 1
    while count < _MOST_LOCAL and (count + 1) ** n_states <= most:
        count += 1
    if count == 1:  # too many states for a product
        return [tuple(draw().tolist()) for _ in range(most)]
    local = [right, *(draw() for _ in range(count - 1))]
    rows = []
    for chosen in itertools.product(range(count), repeat=n_states):
        row = right.copy()
        for s, c in enumerate(chosen):
            row[owner == s] = local[c][owner == s]
        rows.append(tuple(row.tolist()))
    return [rows[i] for i in rng.permutation(len(rows))]
