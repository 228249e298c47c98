"""How far a data set is from the truth: the deviation bounds of event E.

For a data set D̃ of a state s, the largest over g' ∈ G_{h+1}, π ∈ Π_h, g ∈ G_h of
|V_D̃(π; g') - V_s(π; g')| and of |L_D̃(g; π, g') - L_s(g; π, g')|, bracketed in float64
relative to the largest difference of a cell. With N, C, R, S, Q the means in the data
minus those in truth of K 1{x, a} times 1, 1{x'}, r, r² and r 1{x'},

    V: Σ_x B(x, π(x)),  B(x,a) = R(x,a) + Σ_x' C(x,a,x') g'(x')
    L: Σ_x [N g(x)² - 2 B g(x) + S + Σ_x' C g'(x')² + 2 Σ_x' Q g'(x')](x, π(x)).
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..classes import (
    FinitePolicyClass,
    FiniteValueClass,
    PolicyClass,
    TabularPolicyClass,
    TabularValueClass,
    ValueClass,
)
from ..environments.finite import FiniteTruth
from ..exact.data import EmpiricalMeasure
from ..learning.events import Path

Floats = NDArray[np.float64]

_MOST_ROWS = 1024  # functions g' that are tried

_MOST_STEPS = 2 * 10**7  # numbers that a search over finite classes may add up

_ROUNDING = 1e-10  # of float64 searches, relative to the largest difference


@dataclass(frozen=True)
class Bracket:
    """A supremum between two bounds."""

    # lower, upper: with lower ≤ supremum ≤ upper, not negative
    lower: Fraction
    upper: Fraction


@dataclass(frozen=True, eq=False)
class Differences:
    """D̃ minus the truth, cell by cell, in units of `unit`: see the module."""

    unit: Fraction  # Largest absolute difference; 0 where the data are the law itself
    # n, r, s: n, R, S: float64, shape (X, K)
    n: Floats
    r: Floats
    s: Floats
    # c, q: c, Q: float64, shape (X, K, X'), X' = 0 at the last level
    c: Floats
    q: Floats


def differences(
    data: EmpiricalMeasure, truth: FiniteTruth, path: Path, n_actions: int
) -> Differences:
    """Compare a data set of (x, a, r, x') with its law, a uniform."""
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


def policy_value_deviation(
    found: Differences, policies: PolicyClass, following: ValueClass
) -> Bracket:
    """Bracket the supremum over π and g' of |V_D̃(π; g') - V_s(π; g')|."""
    rows, exact = _functions(following, found.c.shape[2], corners=False)
    table = _policy_table(policies, found.r.shape)
    if rows is None:
        values = found.r + np.maximum(found.c, 0).sum(axis=2)
        low = found.r + np.minimum(found.c, 0).sum(axis=2)
        crude = max(values.max(axis=1).sum(), -low.min(axis=1).sum())
        return _bracket(0.0, float(crude), found.unit)
    b = found.r[:, :, None] + found.c @ rows.T
    if table is not None and len(table) * b.shape[0] * b.shape[2] <= _MOST_STEPS:
        sums = b[np.arange(len(b)), table].sum(axis=1)
        largest = float(np.abs(sums).max())
        return _bracket(largest if exact else 0.0, largest, found.unit)
    high, low = b.max(axis=1).sum(axis=0), -b.min(axis=1).sum(axis=0)
    largest = float(max(high.max(), low.max()))
    attained = exact and isinstance(policies, TabularPolicyClass)
    return _bracket(largest if attained else 0.0, largest, found.unit)


def squared_loss_deviation(
    found: Differences, values: ValueClass, policies: PolicyClass, following: ValueClass
) -> Bracket:
    """Bracket the supremum over g, π and g' of |L_D̃(g; π, g') - L_s(g; π, g')|."""
    rows, exact = _functions(following, found.c.shape[2], corners=True)
    if rows is None:
        cells = np.abs(found.n) + 2 * np.abs(found.r) + np.abs(found.s)
        cells = cells + (3 * np.abs(found.c) + 2 * np.abs(found.q)).sum(axis=2)
        return _bracket(0.0, float(cells.max(axis=1).sum()), found.unit)
    size = found.c.shape[2]
    first, second = rows[:, :size], rows[:, size:]  # g' and its square, or above
    b = found.r[:, :, None] + found.c @ first.T
    e = found.s[:, :, None] + found.c @ second.T + 2 * found.q @ first.T
    real = np.all(first**2 == second, axis=1)
    members = None
    table = _policy_table(policies, found.r.shape)
    if isinstance(values, FiniteValueClass):
        members = values.evaluate_all(np.arange(len(found.n)))
        steps = b.size * len(members) * (1 if table is None else len(table))
        members = members if steps <= _MOST_STEPS else None
    if members is None:
        attained = isinstance(values, TabularValueClass)
        high, low = _any_value(found.n, b, e)
        sums = _summed(high, -low, policies, None)
    else:
        attained = True
        sums = np.max(
            [
                _summed(cells, -cells, policies, table)
                for g in members
                for cells in [(found.n * g[:, None] ** 2)[:, :, None] + e]
                for cells in [cells - 2 * b * g[:, None, None]]
            ],
            axis=0,
        )
    known = table is not None and members is not None
    attained &= known or isinstance(policies, TabularPolicyClass)
    lower = float(sums[real].max()) if attained and exact else 0.0
    return _bracket(lower, float(sums.max()), found.unit)


def _any_value(n: Floats, b: Floats, e: Floats) -> tuple[Floats, Floats]:
    """Largest and least of N g² - 2 B g + E over g in [0, 1]."""
    n = np.broadcast_to(n[:, :, None], b.shape)
    at_one = n - 2 * b
    vertex = np.divide(b, n, out=np.zeros_like(b), where=n != 0)
    inside = (vertex > 0) & (vertex < 1)
    turn = np.where(inside, -b * vertex, 0.0)  # the value there, -B²/N
    high = np.maximum(np.maximum(at_one, 0), turn)
    low = np.minimum(np.minimum(at_one, 0), turn)
    return e + high, e + low


def _summed(
    high: Floats, low: Floats, policies: PolicyClass, table: NDArray[np.int64] | None
) -> Floats:
    """Largest sum over observations, of either table, over policies: by g'."""
    if table is None:
        sums = [part.max(axis=1).sum(axis=0) for part in (high, low)]
    else:
        every = np.arange(len(high))
        sums = [part[every, table].sum(axis=1).max(axis=0) for part in (high, low)]
    return np.asarray(np.maximum(*sums))


def _policy_table(
    policies: PolicyClass, shape: tuple[int, ...]
) -> NDArray[np.int64] | None:
    if isinstance(policies, FinitePolicyClass):
        return np.asarray(policies.evaluate_all(np.arange(shape[0])))
    return None


def _functions(
    following: ValueClass, size: int, *, corners: bool
) -> tuple[Floats | None, bool]:
    """Functions g' to try, one per row, and whether all of them are in the class.

    Given g', the rest falls apart into observations. V is affine in each g'(x'), L in
    each pair (g'(x'), g'(x')²), in the triangle (0,0), (1/2,0), (1,1): 0/1 functions
    bound the supremum from below, corners (rows of g' and then the square) from above.
    None where there are too many; the class is then taken whole.
    """
    if size == 0:
        return np.zeros((1, 0)), True
    if isinstance(following, FiniteValueClass) and len(following) <= _MOST_ROWS:
        rows = following.evaluate_all(np.arange(size))
        return (np.hstack([rows, rows**2]) if corners else rows), True
    points = [(0.0, 0.0), (1.0, 1.0)] + ([(0.5, 0.0)] if corners else [])
    if len(points) ** size > _MOST_ROWS:
        return None, False
    chosen = np.array(list(itertools.product(points, repeat=size)))
    whole = isinstance(following, TabularValueClass)
    if corners:
        return np.hstack([chosen[:, :, 0], chosen[:, :, 1]]), whole
    return chosen[:, :, 0], whole


def _bracket(lower: float, upper: float, unit: Fraction) -> Bracket:
    """Bounds in units, with the rounding of the search on either side."""
    return Bracket(
        Fraction(max(0.0, lower - _ROUNDING)) * unit, Fraction(upper + _ROUNDING) * unit
    )
