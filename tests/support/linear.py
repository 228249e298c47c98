"""Linear models: small ones that lean to the odd cases, hard ones, references."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
from hypothesis import strategies as st
from olivine.solvers.model import LinearModel

SENSES = ("<=", ">=", "==")


def rationals(low: int = -4, high: int = 4) -> st.SearchStrategy[Fraction]:
    return st.builds(
        Fraction, st.integers(low, high), st.sampled_from([1, 1, 1, 2, 3, 7])
    )


@st.composite
def linear_models(
    draw: st.DrawFn, *, max_variables: int = 3, max_rows: int = 4, integer: bool = False
) -> LinearModel:
    """Draw a model: fixed and unused variables, empty, zero and repeated rows,
    equations, wide and fractional bounds, no objective, a constant."""
    model = LinearModel(name=draw(st.sampled_from(["model", "a b", "5 % ü"])))
    bounds = rationals(-3, 3)
    n = draw(st.integers(0, max_variables))
    for j in range(n):
        whole = integer and draw(st.booleans())
        if draw(st.integers(0, 2)) == 0:
            lower, upper = Fraction(0), Fraction(1)
        else:
            lower = draw(bounds)
            upper = lower + abs(draw(bounds))
        name = draw(st.sampled_from(["x+", "x-", "free", "e5", "1abc", f"y{j}"]))
        model.add_variable(name, lower, upper, integer=whole)
    for _ in range(draw(st.integers(0, max_rows))):
        if model.rows and draw(st.integers(0, 5)) == 0:
            row = draw(st.sampled_from(model.rows))
            factor = draw(rationals(1, 3))
            model.add_row(
                row.indices,
                [c * factor for c in row.coefficients],
                row.sense,
                row.rhs * factor,
            )
            continue
        indices = draw(st.lists(st.integers(0, n - 1), max_size=n)) if n else []
        coefficients = [draw(rationals()) for _ in indices]
        # Half of the right-hand sides are met by some corner of the box, so
        # that feasible and degenerate models are common.
        rhs = draw(rationals())
        if draw(st.booleans()):
            rhs = Fraction(0)
            for i, c in zip(indices, coefficients, strict=True):
                variable = model.variables[i]
                rhs += c * (variable.lower, variable.upper)[draw(st.integers(0, 1))]
        model.add_row(indices, coefficients, draw(st.sampled_from(SENSES)), rhs)
    if draw(st.integers(0, 5)):
        chosen = draw(st.lists(st.integers(0, n - 1), max_size=n)) if n else []
        model.set_objective(
            chosen,
            [draw(rationals()) for _ in chosen],
            maximise=draw(st.booleans()),
            constant=draw(rationals()),
        )
    return model


def relaxation(model: LinearModel) -> LinearModel:
    relaxed = LinearModel(model.name, model.maximise)
    for v in model.variables:
        relaxed.add_variable(v.name, v.lower, v.upper)
    relaxed.rows = list(model.rows)
    relaxed.objective = dict(model.objective)
    relaxed.objective_constant = model.objective_constant
    return relaxed


def solve_square(
    matrix: list[list[Fraction]], rhs: list[Fraction]
) -> list[Fraction] | None:
    """Gauss-Jordan elimination in fractions; None if singular."""
    size = len(matrix)
    table = [[*row, b] for row, b in zip(matrix, rhs, strict=True)]
    for k in range(size):
        swap = next((r for r in range(k, size) if table[r][k]), None)
        if swap is None:
            return None
        table[k], table[swap] = table[swap], table[k]
        table[k] = [entry / table[k][k] for entry in table[k]]
        for r in range(size):
            if r != k and table[r][k]:
                factor = table[r][k]
                table[r] = [
                    a - factor * b for a, b in zip(table[r], table[k], strict=True)
                ]
    return [row[size] for row in table]


def vertices(model: LinearModel) -> Iterator[tuple[Fraction, ...]]:
    """Yield the feasible vertices of the relaxation, from all sets of n planes."""
    relaxed = relaxation(model)
    n = len(relaxed.variables)
    planes: list[tuple[list[Fraction], Fraction]] = []
    for j, v in enumerate(relaxed.variables):
        unit = [Fraction(int(i == j)) for i in range(n)]
        planes += [(unit, v.lower), (unit, v.upper)]
    for row in relaxed.rows:
        dense = [Fraction(0)] * n
        for i, c in zip(row.indices, row.coefficients, strict=True):
            dense[i] = c
        planes.append((dense, row.rhs))
    for chosen in itertools.combinations(planes, n):
        point = solve_square([list(a) for a, _ in chosen], [b for _, b in chosen])
        if point is not None and relaxed.is_feasible(point):
            yield tuple(point)


def brute_force_lp(model: LinearModel) -> Fraction | None:
    """Optimum of the relaxation, or None if infeasible."""
    best = max if model.maximise else min
    return best((model.objective_value(v) for v in vertices(model)), default=None)


def brute_force_milp(model: LinearModel) -> Fraction | None:
    """Optimum over every value of the integer variables, or None if infeasible."""
    ranges = []
    whole = [j for j, v in enumerate(model.variables) if v.integer]
    for j in whole:
        v = model.variables[j]
        ranges.append(
            range(
                -(-v.lower.numerator // v.lower.denominator),
                v.upper.numerator // v.upper.denominator + 1,
            )
        )
    optima = []
    for choice in itertools.product(*ranges):
        fixed = relaxation(model)
        for j, value in zip(whole, choice, strict=True):
            old = fixed.variables[j]
            fixed.variables[j] = type(old)(
                old.name, Fraction(value), Fraction(value), False
            )
        optimum = brute_force_lp(fixed)
        if optimum is not None:
            optima.append(optimum)
    return (max if model.maximise else min)(optima, default=None)


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
