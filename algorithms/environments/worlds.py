"""Combination locks as published, with deterministic dynamics, and a grid world.

Locks of PCID (Du et al., ICML 2019): states A, B, C a level and four actions; in A one
action stays and the next one (cyclically) goes to B, in B likewise, all others lead to
C for good. The last action pays Bernoulli(1/2) outside C, so V* = 1/2. With
probability `switch` (0 by default) a good action's A and B are swapped.

Diabolical lock (Misra et al. 2020; two locks: Agarwal et al., "PC-PG", 2020): the first
action chooses A or B, then one secret action a level keeps alive. Staying alive costs,
dying pays half of the time, the end pays more in A. The cost of a step is added to
every reward, which changes no comparison, and the sum divided by its largest value.

The grid is seen as noisy images, finite and exact. The agent goes from the top left
cell to a goal that pays 1/H. An image has its cell at 1, walls at 1/4, and flickering
cells lit (1/2) half of the time unless it is there.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ..exact.arrays import (
    INT64_MAX,
    MOST_NUMBERS,
    check_count,
    check_sizes,
    check_table,
)
from .finite import FiniteEnvironment
from .finite_model import FiniteLevel, FiniteModel
from .latent import BitsEmission, GaussianEmission, LatentEnvironment

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
    """Make the Bernoulli lock."""
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
    """Make the Gaussian lock."""
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
    """Coordinates beside those that tell the state: by default H."""
    check_sizes(1, horizon=horizon)
    if dimension is None:
        return horizon
    return check_count("dimension", dimension, least=0, most=MOST_NUMBERS)


def _check_tables(horizon: int, dimension: int, actions: int) -> None:
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
    """Make a diabolical lock; ValueError if dying at once were as good as opening one.

    Observations: type (A, B, dead; the start is A) and level one-hot, then H fair bits
    (``"bernoulli"``) or normal noise in every coordinate (``"gaussian"``).
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


MOVES = ((-1, 0), (1, 0), (0, -1), (0, 1))
"""Up, down, left, right in rows and columns: actions 0..3."""

_MAX_FLICKER = 10
_MOST_CELLS = 10_000
_MOST_LEVELS = 10_000


def grid(
    rng: np.random.Generator,
    *,
    rows: int = 3,
    columns: int = 3,
    horizon: int = 5,
    walls: int = 1,
    flicker: int = 3,
) -> FiniteEnvironment:
    """Make a grid world; the features of a code are its image, row by row."""
    cells = rows * columns
    for name, value in (("rows", rows), ("columns", columns), ("horizon", horizon)):
        if value < 1:
            raise ValueError(f"{name}: {value} is below 1")
    if not 2 <= cells <= _MOST_CELLS:
        raise ValueError(
            f"{'rows' if rows >= columns else 'columns'}: {rows} rows of {columns} "
            f"columns make {cells} cells, which are not in 2..{_MOST_CELLS}"
        )
    if horizon > _MOST_LEVELS:
        raise ValueError(f"horizon: {horizon} is above {_MOST_LEVELS}")
    if not 0 <= walls <= cells - 2:
        raise ValueError(f"walls: {walls} is not in 0..{cells - 2}")
    if not 0 <= flicker <= min(_MAX_FLICKER, cells - walls):
        raise ValueError(
            f"flicker: {flicker} is not in 0..{min(_MAX_FLICKER, cells - walls)}"
        )
    beside = int(rng.choice([1] * (columns > 1) + [columns] * (rows > 1)))
    others = [c for c in range(1, cells) if c != beside]
    blocked = frozenset(rng.permutation(others)[:walls].tolist())
    free = [c for c in range(cells) if c not in blocked]
    lights = rng.permutation(free)[:flicker]
    moves = _moves(rows, columns, blocked)
    layers = _layers(moves, horizon + 1)
    reached = sorted(set().union(*layers) - {0})
    goal = int(rng.choice(reached))
    levels, images = [], []
    for h in range(horizon):
        following = layers[h + 1] if h + 1 < horizon else []
        level, seen = _level(layers[h], following, moves, goal, lights)
        levels.append(level)
        images.append(_images(seen, blocked, lights, cells))
    model = FiniteModel(tuple(levels), horizon, np.array([1]))
    return FiniteEnvironment(model, "grid", features=images)


def _moves(rows: int, columns: int, blocked: frozenset[int]) -> NDArray[np.int64]:
    """Cell after each action, shape (cells, 4)."""
    table = np.empty((rows * columns, len(MOVES)), dtype=np.int64)
    for cell in range(rows * columns):
        row, column = divmod(cell, columns)
        for a, (down, right) in enumerate(MOVES):
            r, c = row + down, column + right
            inside = 0 <= r < rows and 0 <= c < columns
            target = r * columns + c
            table[cell, a] = target if inside and target not in blocked else cell
    return table


def _layers(moves: NDArray[np.int64], count: int) -> list[list[int]]:
    layers = [[0]]
    while len(layers) < count:
        layers.append(sorted(set(moves[layers[-1]].reshape(-1).tolist())))
    return layers


def _level(
    cells: Sequence[int],
    following: Sequence[int],
    moves: NDArray[np.int64],
    goal: int,
    lights: NDArray[np.int64],
) -> tuple[FiniteLevel, list[tuple[int, int]]]:
    patterns = np.arange(2 ** len(lights))
    seen: list[tuple[int, int]] = []
    for cell in cells:
        hidden = sum(1 << i for i, light in enumerate(lights.tolist()) if light == cell)
        seen += [(cell, int(p)) for p in patterns if not p & hidden]
    owners = [cell for cell, _ in seen]
    emissions = np.equal.outer(cells, owners).astype(np.int64)
    units = (moves[owners] == goal).astype(np.int64)[:, :, None]
    after = np.array(following, dtype=np.int64)
    transitions = np.equal.outer(moves[list(cells)], after).astype(np.int64)
    return FiniteLevel(emissions, units, np.ones_like(units), transitions), seen


def _images(
    seen: Sequence[tuple[int, int]],
    blocked: frozenset[int],
    lights: NDArray[np.int64],
    cells: int,
) -> NDArray[np.float64]:
    images = np.zeros((len(seen), cells))
    images[:, sorted(blocked)] = 0.25
    place, pattern = np.array(seen).T
    images[:, lights] = (pattern[:, None] >> np.arange(len(lights)) & 1) / 2
    images[np.arange(len(seen)), place] = 1
    return images
