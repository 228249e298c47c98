"""Integer programs that several tests share."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from olivine.solvers.model.model import LinearModel


def market_split(rows: int, columns: int, seed: int, base: int = 0) -> LinearModel:
    """Draw a program that branch and bound finds hard (Cornuéjols, Dawande 1998).

    Weights are to be halved in every row; the objective is the total miss, plus
    a fixed base.
    """
    rng = np.random.default_rng(seed)
    weights = rng.integers(0, 100, (rows, columns))
    model = LinearModel("market split")
    for j in range(columns):
        model.add_variable(f"take {j}", 0, 1, integer=True)
    for row in weights.tolist():
        over = model.add_variable("over", 0, 10_000)
        under = model.add_variable("under", 0, 10_000)
        coefficients = [*row, -1, 1]
        model.add_row([*range(columns), over, under], coefficients, "==", sum(row) // 2)
    fixed = model.add_variable("base", base, base)
    size = 2 * rows + 1
    model.set_objective(range(fixed - 2 * rows, fixed + 1), [1] * size, maximise=False)
    return model


def small_knapsack() -> LinearModel:
    model = LinearModel("knapsack")
    for j in range(4):
        model.add_variable(f"item {j}", 0, 1, integer=True)
    model.add_row(range(4), [2, 3, 4, 5], "<=", Fraction(13, 2))
    model.set_objective(range(4), [3, 4, 5, 7], maximise=True, constant=Fraction(1, 3))
    return model
