"""The diabolical combination lock, scaled into [0, 1] and made deterministic.

Misra, Henaff, Krishnamurthy, Langford, "Kinematic State Abstraction and Provably
Efficient Rich-Observation RL" (2020; code Homer, later Intrepid), in the
two-lock form of Agarwal, Henaff, Kakade, Sun, "PC-PG" (2020): the first action
chooses lock A (the lower half of the actions) or B, and at each later level one
secret action a lock keeps alive; every other one leads to a dead state for good.
Staying alive costs, dying pays an anti-shaping reward half of the time, and only
the last good action of a lock pays well, in A more than in B.

Published rewards are negative in places. As every episode has H actions, adding
the cost of one step to every reward changes no comparison of policies; the sum
is then divided by its largest value. Publications swap the locks at random;
here hidden dynamics are deterministic.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ..exact.arrays import INT64_MAX
from ..exact.numbers import check_sizes, check_table
from .emissions import BitsEmission, GaussianEmission
from .finite_model import FiniteLevel, FiniteModel
from .latent import LatentEnvironment
from .locks import N_TYPES, extra_dimension, share

_DEAD = 2
_PAYS = ("reward", "second_reward", "death_reward", "cost")


def diabolical_lock(
    rng: np.random.Generator,
    *,
    horizon: int = 5,
    actions: int = 10,
    reward: float = 5.0,
    second_reward: float = 2.0,
    death_reward: float = 1.0,
    cost: float = 1.0,
    noise: Literal["bernoulli", "gaussian"] = "bernoulli",
    dimension: int | None = None,
    deviation: float = 0.1,
) -> LatentEnvironment:
    """Make a diabolical lock.

    Observations are the type of the state one-hot (A, B, dead; the start is of type A),
    the level one-hot, and then H fair bits (``"bernoulli"``), or the two one-hots plus
    normal noise in every coordinate (``"gaussian"``). Raises ValueError for an option
    out of range, or a death reward that makes dying at once at least as good as opening
    a lock.
    """
    check_sizes(2, horizon=horizon, actions=actions)
    bits = extra_dimension(horizon, dimension)
    width = N_TYPES + horizon + bits
    check_table(horizon * N_TYPES * width, horizon=horizon, dimension=bits)
    check_table(horizon * N_TYPES**2 * actions, horizon=horizon, actions=actions)
    pays = [
        share("reward", reward),
        share("second_reward", second_reward),
        share("death_reward", death_reward),
        share("cost", cost) / horizon,
    ]
    named = {"second_reward": second_reward, "death_reward": death_reward, "cost": cost}
    for name, pay in named.items():
        if pay < 0:
            raise ValueError(f"{name}: {pay} is negative")
    if reward <= 0:
        raise ValueError(f"reward: {reward} is not positive")
    if not 0 <= deviation < math.inf:
        raise ValueError(f"deviation: {deviation} is no standard deviation")
    end, _, death, step = pays
    if step * (horizon - 2) >= end:
        raise ValueError(
            f"reward: {reward} does not pay for cost: {cost}; the end must be worth "
            f"more than {float(step * (horizon - 2)):g}"
        )
    if death / 2 + step * (horizon - 1) >= end + step:
        raise ValueError(
            f"death_reward: {death_reward} makes dying at once as good as the end; it "
            f"must be below {float(2 * (end - step * (horizon - 2))):g}"
        )
    model = _model(rng, horizon, actions, pays)
    prefixes = _prefixes(model, horizon)
    if noise == "gaussian":
        rendered: BitsEmission | GaussianEmission
        rendered = GaussianEmission(prefixes, deviation)
    elif noise == "bernoulli":
        rendered = BitsEmission(prefixes, bits)
    else:
        raise ValueError(f"noise: {noise!r} is not 'bernoulli' or 'gaussian'")
    return LatentEnvironment(model, rendered, "diabolical-lock")


def _prefixes(model: FiniteModel, horizon: int) -> tuple[NDArray[np.float64], ...]:
    """Type and level of each state, one-hot."""
    prefixes = []
    for h, level in enumerate(model.levels):
        rows = np.zeros((level.n_states, N_TYPES + horizon))
        rows[np.arange(level.n_states), np.arange(level.n_states)] = 1
        rows[:, N_TYPES + h] = 1
        prefixes.append(rows)
    return tuple(prefixes)


def _model(
    rng: np.random.Generator, horizon: int, actions: int, pays: list[Fraction]
) -> FiniteModel:
    end, second, death, step = pays
    most = max(end + step, second + step, death + step * (horizon - 1))
    scale = math.lcm(*(p.denominator for p in (*pays, most)))
    unit = int(most * scale)
    if unit > INT64_MAX:
        digits = [max(pay.as_integer_ratio()) for pay in pays]
        raise ValueError(
            f"{_PAYS[digits.index(max(digits))]}: beside the others it makes rewards "
            f"multiples of 1/{unit}, beyond 64 bits"
        )
    codes = rng.integers(actions, size=(2, horizon))
    levels = []
    for h in range(horizon):
        states = N_TYPES if h else 1
        targets = np.full((states, actions), _DEAD)
        units = np.full((states, actions, 2), int(step * scale))
        weights = np.ones((states, actions, 2), dtype=np.int64)
        if h == 0:
            targets[0] = np.arange(actions) >= actions // 2
            units[:] = 0
        else:
            units[:2, :, 1] += int(death * scale)
            for lock_state, pay in enumerate((end, second)):
                good = codes[lock_state, h]
                targets[lock_state, good] = lock_state
                last = int((pay + step) * scale) if h == horizon - 1 else 0
                units[lock_state, good] = last
        following = N_TYPES if h + 1 < horizon else 0
        moves = np.eye(N_TYPES, dtype=np.int64)[targets][:, :, :following]
        levels.append(
            FiniteLevel(np.eye(states, dtype=np.int64), units, weights, moves)
        )
    return FiniteModel(tuple(levels), unit, np.array([1]))
