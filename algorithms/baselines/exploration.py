"""Data under a baseline distribution: uniform actions up to a level.

Uniform actions do not look at observations, so a roll-in is a path drawn uniformly,
whatever the hidden dynamics. n roll-ins are drawn as counts of paths: at most
min(n, K^(h-1)) of them occur.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from algorithms.data import EmpiricalMeasure, pool
from algorithms.draws import multinomial_rows
from algorithms.environments.latent import MAX_BYTES
from algorithms.environments.protocol import Environment

Path = tuple[int, ...]


def uniform_paths(
    n_actions: int, length: int, n: int, rng: np.random.Generator
) -> dict[Path, int]:
    """Draw n paths of uniform actions, as positive counts that sum to n.

    Parameters
    ----------
    n_actions
        K, at least 1.
    length
        Number of actions, at least 0.
    n
        At least 1, of any size.
    rng
        The only source of randomness.

    >>> sorted(uniform_paths(2, 2, 10**12, np.random.default_rng(0)))
    [(0, 0), (0, 1), (1, 0), (1, 1)]
    """
    counts: dict[Path, int] = {(): n}
    equal = np.ones((1, n_actions), dtype=np.int64)
    for _ in range(length):
        rows = np.broadcast_to(equal, (len(counts), n_actions))
        split = multinomial_rows(list(counts.values()), rows, rng)
        counts = {
            (*path, a): count
            for path, row in zip(counts, split.tolist(), strict=True)
            for a, count in enumerate(row)
            if count
        }
    return counts


def uniform_roll_in(
    environment: Environment, level: int, n: int, rng: np.random.Generator
) -> EmpiricalMeasure:
    """Sample n tuples (x_h, a_h, r_h, x_{h+1}), all actions uniform."""
    rules: list[Any] = ["uniform"] * (level - 1)
    return environment.roll_in(rules, level, n, rng, "uniform")


def uniform_rollouts(
    environment: Environment,
    level: int,
    n: int,
    rng: np.random.Generator,
    later: Sequence[Any],
) -> EmpiricalMeasure:
    """Sample n tuples (x_h, a_h, r_h + ... + r_H), actions uniform up to level h.

    Parameters
    ----------
    later
        π_{h+1}, ..., π_H, followed after level h.

    Raises
    ------
    ValueError
        If observations are features, drawn one by one, and n of them would not fit
        into memory.
    """
    width = environment.space(level).dimension
    if width is not None and n * width * 8 > MAX_BYTES:
        raise ValueError(
            f"n: {n} draws of {width} features take more than {MAX_BYTES} bytes; "
            "observations are continuous and are sampled one by one"
        )
    # Policies of levels up to h are not looked at.
    policies: list[Any] = ["uniform"] * level + list(later)
    paths = uniform_paths(environment.n_actions, level - 1, n, rng)
    return pool(
        [
            environment.rollouts(path, count, rng, policies, "uniform")
            for path, count in paths.items()
        ],
        shares="draws",
    )
