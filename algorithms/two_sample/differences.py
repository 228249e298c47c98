"""Differences between a data set of (x, a, r, x') and its law, cell by cell.

They are computed in rationals first, so that differences far below 1e-16 come out,
and then given in float64 relative to the largest. All are weighted by K, as actions
are uniform: with 1{·} for the cell,

====  ======================  ====  ======================
N     K 1{x, a}               C     K 1{x, a, x'}
R     K 1{x, a} r             Q     K 1{x, a, x'} r
S     K 1{x, a} r²
====  ======================  ====  ======================

mean in the data minus mean in truth.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from olivine.algorithms.environments.finite_truth import FiniteTruth
from olivine.algorithms.exact.data import EmpiricalMeasure
from olivine.algorithms.learning.events import Path

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Differences:
    """D̃ minus the truth, cell by cell, in units of `unit`.

    Attributes
    ----------
    unit
        Largest absolute difference; 0 where the data are the law itself.
    n, r, s
        N, R, S: float64, shape (X, K).
    c, q
        C, Q: float64, shape (X, K, X'), X' = 0 at the last level.
    """

    unit: Fraction
    n: Floats
    r: Floats
    s: Floats
    c: Floats
    q: Floats


def differences(
    data: EmpiricalMeasure, truth: FiniteTruth, path: Path, n_actions: int
) -> Differences:
    """Compare a data set of (x, a, r, x') with its law, a uniform.

    Parameters
    ----------
    data
        Drawn after the path; finite observations.
    truth
        Of the environment.
    path
        Ends at the level of the data.
    n_actions
        K.
    """
    level = truth.model.level(len(path) + 1)
    chances = truth.observation_probabilities(path).tolist()
    last = len(path) + 1 == truth.model.horizon
    laws = [
        [] if last else truth.observation_probabilities((*path, a)).tolist()
        for a in range(n_actions)
    ]
    cells = _empirical(data, n_actions)
    size = len(laws[0])
    tables = {key: np.zeros((len(chances), n_actions), dtype=object) for key in "nrs"}
    wide = {
        key: np.zeros((len(chances), n_actions, size), dtype=object) for key in "cq"
    }
    for x, a in itertools.product(range(len(chances)), range(n_actions)):
        p = chances[x]
        first, second = _reward_moments(level, truth.model.unit, x, a)
        for key, right in zip("nrs", (p, p * first, p * second), strict=True):
            tables[key][x, a] = cells.get((key, x, a), Fraction(0)) - right
        for y, share in enumerate(laws[a]):
            for key, right in zip("cq", (p * share, p * share * first), strict=True):
                wide[key][x, a, y] = cells.get((key, x, a, y), Fraction(0)) - right
    everything = itertools.chain(*(t.flat for t in (*tables.values(), *wide.values())))
    unit = max(map(abs, everything), default=Fraction(0))
    return Differences(
        unit, *(relative(t, unit) for t in (*tables.values(), *wide.values()))
    )


def _empirical(data: EmpiricalMeasure, n_actions: int) -> dict[Any, Fraction]:
    """K P_D and its moments by cell: keys ("n", x, a), ..., ("q", x, a, x')."""
    if data.actions is None:
        raise ValueError("data: actions are missing")
    following = data.next_observations
    ends = [-1] * len(data) if following is None else following.tolist()
    sums: dict[Any, Fraction | int] = {}
    rows = zip(
        data.codes().tolist(),
        data.actions.tolist(),
        data.exact_rewards.tolist(),
        ends,
        data.weights.tolist(),
        strict=True,
    )
    for x, a, reward, y, weight in rows:
        gains = {
            ("n", x, a): weight,
            ("r", x, a): weight * reward,
            ("s", x, a): weight * reward**2,
            ("c", x, a, y): weight,
            ("q", x, a, y): weight * reward,
        }
        for key, value in gains.items():
            sums[key] = sums.get(key, 0) + value
    scale = Fraction(n_actions, data.total_weight)
    return {key: value * scale for key, value in sums.items()}


def _reward_moments(level: Any, unit: int, x: int, a: int) -> tuple[Fraction, Fraction]:
    """E[r | x, a] and E[r² | x, a]."""
    units, weights = level.reward_units[x, a].tolist(), level.reward_weights[x, a]
    pairs = list(zip(units, weights.tolist(), strict=True))
    total = sum(w for _, w in pairs)
    first = Fraction(sum(w * u for u, w in pairs), total * unit)
    return first, Fraction(sum(w * u * u for u, w in pairs), total * unit**2)


def relative(table: NDArray[Any], unit: Fraction) -> Floats:
    """Fractions in units of another, as float64; zeros where that is 0."""
    if unit == 0:
        return np.zeros(table.shape)
    return np.asarray((table / unit).astype(np.float64))
