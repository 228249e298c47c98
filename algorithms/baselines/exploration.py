"""Data under a baseline distribution: uniform actions up to a level."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from olivine.algorithms.environments.protocol import Environment
from olivine.algorithms.exact.data import EmpiricalMeasure


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
    """
    rules: list[Any] = ["uniform"] * level + list(later)
    return environment.roll_through(rules, level, n, rng, "uniform")
