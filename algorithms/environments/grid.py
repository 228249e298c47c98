"""A grid world seen as noisy images, finite and exact.

The agent goes from the top left cell to a goal that pays 1/H. An image has its cell at
1, walls at 1/4, and flickering cells lit (1/2) half of the time unless it is there.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..exact.arrays import END
from .finite import FiniteEnvironment
from .finite_model import FiniteLevel, FiniteModel

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
    owner = np.array([cells.index(cell) for cell, _ in seen])
    emissions = np.zeros((len(cells), len(seen)), dtype=np.int64)
    emissions[owner, np.arange(len(seen))] = 1
    targets = moves[list(cells)]
    units = (targets == goal).astype(np.int64)[owner][:, :, None]
    place = {cell: i for i, cell in enumerate(following)}
    transitions = np.zeros((*targets.shape, len(following)), dtype=np.int64)
    if following:
        for s, a in np.ndindex(targets.shape):
            transitions[s, a, place.get(int(targets[s, a]), END)] = 1
    return FiniteLevel(emissions, units, np.ones_like(units), transitions), seen


def _images(
    seen: Sequence[tuple[int, int]],
    blocked: frozenset[int],
    lights: NDArray[np.int64],
    cells: int,
) -> NDArray[np.float64]:
    images = np.zeros((len(seen), cells))
    images[:, sorted(blocked)] = 0.25
    for row, (cell, pattern) in enumerate(seen):
        for i, light in enumerate(lights.tolist()):
            if pattern >> i & 1:
                images[row, light] = 0.5
        images[row, cell] = 1.0
    return images
