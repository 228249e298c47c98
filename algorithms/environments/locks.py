"""Combination locks as published for PCID, here with deterministic dynamics.

Du, Krishnamurthy, Jiang, Agarwal, Dudík, Langford, "Provably efficient RL with
Rich Observations via Latent State Decoding" (ICML 2019), experiments. Levels
1..H, K = 4 actions, three hidden states A, B, C a level (only A at level 1).
In A one action stays in A and the next one (cyclically) goes to B; in B
likewise one stays and the next one goes to A; every other action, and every
action in C, leads to C for good. The four-valued codes of A and B are drawn
independently for each level. The last action pays Bernoulli(1/2) if it does not
lead to C, so V* = 1/2; nothing else pays. The publication swaps A and B with
probability `switch` after a good action; the default, 0, is deterministic.

Bernoulli version: an observation is the state one-hot, then d fair bits.
Gaussian version: the state one-hot in 3+d dimensions, turned by a fixed random
rotation, plus independent normal noise.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ..exact.arrays import INT64_MAX
from ..exact.numbers import check_count, check_sizes, check_table
from .emissions import BitsEmission, GaussianEmission
from .finite import FiniteEnvironment
from .finite_model import FiniteLevel, FiniteModel
from .latent import LatentEnvironment

N_TYPES = 3
_MAX_CODE_BITS = 12


def lock(
    rng: np.random.Generator,
    *,
    horizon: int = 5,
    dimension: int | None = None,
    actions: int = 4,
    switch: float = 0.0,
    observations: Literal["features", "codes"] = "features",
) -> LatentEnvironment | FiniteEnvironment:
    """Make the Bernoulli lock.

    Raises ValueError for an option out of range.
    """
    bits = extra_dimension(horizon, dimension)
    codes = 2**bits if observations == "codes" and bits <= _MAX_CODE_BITS else 1
    _check_tables(horizon, bits, actions * codes)
    model = _lock_model(rng, horizon, actions, switch)
    emission = BitsEmission(_one_hots(model, N_TYPES), bits)
    if observations == "features":
        return LatentEnvironment(model, emission, "lock")
    if observations != "codes":
        raise ValueError(f"observations: {observations!r} is not 'features' or 'codes'")
    if bits > _MAX_CODE_BITS:
        raise ValueError(f"dimension: {bits} bits are too many codes (at most 12)")
    return expanded(model, emission, "lock")


def lock_gaussian(
    rng: np.random.Generator,
    *,
    horizon: int = 5,
    dimension: int | None = None,
    actions: int = 4,
    switch: float = 0.0,
    noise: float = 0.1,
    rotate: bool = True,
) -> LatentEnvironment:
    """Make the Gaussian lock.

    Raises ValueError for an option out of range.
    """
    width = N_TYPES + extra_dimension(horizon, dimension)
    _check_tables(horizon, width - N_TYPES, actions)
    check_table(width**2, horizon=horizon, dimension=width - N_TYPES)
    if not 0 <= noise < np.inf:
        raise ValueError(f"noise: {noise} is no standard deviation")
    model = _lock_model(rng, horizon, actions, switch)
    turn = random_rotation(rng, width) if rotate else np.eye(width)
    means = tuple(one_hot @ turn.T for one_hot in _one_hots(model, width))
    return LatentEnvironment(model, GaussianEmission(means, noise), "lock-gaussian")


def random_rotation(rng: np.random.Generator, size: int) -> NDArray[np.float64]:
    """Draw an orthogonal matrix uniformly, shape (size, size)."""
    q, r = np.linalg.qr(rng.standard_normal((size, size)))
    turned: NDArray[np.float64] = q * np.sign(np.diag(r))
    return turned


def expanded(
    model: FiniteModel, emission: BitsEmission, name: str
) -> FiniteEnvironment:
    """Make every pair of a state and bits an observation code, features beside."""
    levels, features = [], []
    copies = 2**emission.bits
    for h, level in enumerate(model.levels, 1):
        listed = [emission.listed(h, s) for s in range(level.n_states)]
        features.append(np.concatenate([f for f in listed if f is not None]))
        levels.append(
            FiniteLevel(
                np.repeat(level.emissions, copies, axis=1),
                np.repeat(level.reward_units, copies, axis=0),
                np.repeat(level.reward_weights, copies, axis=0),
                level.transitions,
            )
        )
    whole = FiniteModel(tuple(levels), model.unit, model.start)
    return FiniteEnvironment(whole, name, features=features)


def share(name: str, value: float) -> Fraction:
    """Rational that a decimal number stands for (0.1 is 1/10)."""
    try:
        exact = Fraction(str(value))
    except ValueError:
        raise ValueError(f"{name}: {value!r} is no number") from None
    if max(abs(exact.numerator), exact.denominator) > INT64_MAX:
        raise ValueError(f"{name}: {value!r} is no fraction of 64-bit integers")
    return exact


def extra_dimension(horizon: int, dimension: int | None) -> int:
    """Coordinates beside those that tell the state: H where nobody chooses.

    Raises ValueError for a horizon below 1, or no integer from 0.
    """
    check_sizes(1, horizon=horizon)
    if dimension is None:
        return horizon
    dimension = check_count("dimension", dimension, least=0)
    check_sizes(0, dimension=dimension)
    return dimension


def _check_tables(horizon: int, dimension: int, actions: int) -> None:
    """Refuse features, or moves from each of three types to each, that do not fit."""
    check_sizes(2, actions=actions)
    states, features = N_TYPES * horizon, N_TYPES + dimension
    check_table(states * features, horizon=horizon, dimension=dimension)
    check_table(states * N_TYPES * actions, horizon=horizon, actions=actions)


def _one_hots(model: FiniteModel, width: int) -> tuple[NDArray[np.float64], ...]:
    return tuple(np.eye(level.n_states, width) for level in model.levels)


def _lock_model(
    rng: np.random.Generator, horizon: int, actions: int, switch: float
) -> FiniteModel:
    swap = share("switch", switch)
    if not 0 <= swap <= Fraction(1, 2):
        raise ValueError(f"switch: {switch} is not in [0, 1/2]")
    stay = [swap.denominator - swap.numerator, swap.numerator]
    codes = rng.integers(actions, size=(2, horizon))
    levels = []
    for h in range(horizon):
        states = N_TYPES if h else 1
        moves = np.zeros((states, actions, N_TYPES), dtype=np.int64)
        moves[:, :, 2] = swap.denominator  # C, unless the action is a good one
        for s in range(min(states, 2)):
            good = codes[s, h]
            moves[s, good] = [stay[s], stay[1 - s], 0]
            moves[s, (good + 1) % actions] = [stay[1 - s], stay[s], 0]
        weights = np.ones((states, actions, 2), dtype=np.int64)
        weights[:, :, 1] = (moves[:, :, 2] == 0) & (h == horizon - 1)
        units = np.zeros_like(weights)
        units[:, :, 1] = 1
        if h == horizon - 1:
            moves = moves[:, :, :0]
        levels.append(
            FiniteLevel(np.eye(states, dtype=np.int64), units, weights, moves)
        )
    return FiniteModel(tuple(levels), 1, np.array([1]))
