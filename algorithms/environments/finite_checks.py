"""What a finite model refuses: each check raises ValueError that names the place."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from olivine.algorithms.environments.finite_model import FiniteLevel


def check_weights(rows: NDArray[np.int64], where: str) -> None:
    """Refuse negative weights and rows that sum to nothing."""
    flat = rows.reshape(-1, rows.shape[-1])
    if (flat < 0).any():
        raise ValueError(f"{where}: negative probability weight")
    if (flat.sum(axis=1) <= 0).any():
        row = int(np.argmax(flat.sum(axis=1) <= 0))
        raise ValueError(f"{where}, row {row}: probabilities sum to 0")


def check_level(level: FiniteLevel, h: int, n_actions: int, following: int) -> None:
    """Refuse shapes that do not match and values out of range, naming the level."""
    where = f"level {h}"
    states, codes = level.emissions.shape
    if n_actions < 1 or states < 1:
        raise ValueError(f"{where}: {states} states, {n_actions} actions")
    if level.transitions.shape != (states, n_actions, following):
        raise ValueError(
            f"{where}: transitions of shape {level.transitions.shape}, expected "
            f"{(states, n_actions, following)}"
        )
    if (
        level.reward_units.shape != level.reward_weights.shape
        or level.reward_units.shape[:2] != (codes, n_actions)
    ):
        raise ValueError(f"{where}: rewards of shape {level.reward_units.shape}")
    check_weights(level.emissions, f"{where}, emissions")
    check_weights(level.reward_weights, f"{where}, rewards")
    if following:
        check_weights(level.transitions, f"{where}, transitions")
    if ((level.emissions > 0).sum(axis=0) > 1).any():
        code = int(np.argmax((level.emissions > 0).sum(axis=0) > 1))
        raise ValueError(f"{where}: two hidden states emit observation {code}")
    if (level.reward_units < 0).any():
        raise ValueError(f"{where}: negative reward")
