"""Weak duality over a box: bounds and refutations that anyone can check.

Every variable of a `LinearModel` has finite bounds, so any vector of row multipliers y
gives a bound on the optimum, exact and without a solver: for a maximisation of c·x + k,
and y of the right signs,

    c·x + k  =  (c − Aᵀy)·x + y·Ax + k  ≤  Σ_j max over the box + y·b + k.

When maximising, multipliers are ≥ 0 for ``<=`` and ≤ 0 for ``>=`` (the other way round
when minimising); one of the wrong sign counts as 0. A model is infeasible exactly if
some multipliers give the maximum of 0 a negative bound (Farkas' lemma). Both functions
are short on purpose: an exact outcome is believed because these say so.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction

from ..model.model import LinearModel, Row


def dual_bound(
    model: LinearModel, multipliers: Sequence[Fraction | int | float]
) -> Fraction:
    """Bound the optimum of the linear relaxation by weak duality, exactly."""
    return _bound(
        model, model.objective, model.objective_constant, model.maximise, multipliers
    )


def refutes(model: LinearModel, multipliers: Sequence[Fraction | int | float]) -> bool:
    """Whether multipliers prove that no point meets the bounds and rows.

    The signs are those of a maximisation, whatever the model's sense is.
    """
    return _bound(model, {}, Fraction(0), True, multipliers) < 0


def _bound(
    model: LinearModel,
    objective: Mapping[int, Fraction],
    constant: Fraction,
    maximise: bool,
    multipliers: Sequence[Fraction | int | float],
) -> Fraction:
    if len(multipliers) != len(model.rows):
        raise ValueError(
            f"{len(multipliers)} multipliers for {len(model.rows)} rows of {model.name}"
        )
    priced = []
    for row, given in zip(model.rows, multipliers, strict=True):
        if not given:
            continue
        try:
            multiplier = Fraction(given)
        except (ValueError, OverflowError) as exc:
            problem = f"row {row.name!r}: multiplier {given} is not finite"
            raise ValueError(problem) from exc
        if _has_right_sign(row, multiplier, maximise):
            priced.append((row, multiplier.as_integer_ratio()))
    # In units of 1/unit most numbers are whole, and integers are much faster.
    unit = math.lcm(*{denominator for _, (_, denominator) in priced})
    reduced = {i: unit * _plain(cost) for i, cost in objective.items()}
    bound = unit * _plain(constant)
    for row, (numerator, denominator) in priced:
        price = numerator * (unit // denominator)
        bound += price * _plain(row.rhs)
        for i, coefficient in zip(row.indices, row.coefficients, strict=True):
            reduced[i] = reduced.get(i, 0) - price * _plain(coefficient)
    for i, cost in reduced.items():
        variable = model.variables[i]
        best = variable.upper if (cost > 0) == maximise else variable.lower
        bound += cost * _plain(best)
    return Fraction(bound) / unit


def _plain(number: Fraction) -> Fraction | int:
    return number.numerator if number.denominator == 1 else number


def _has_right_sign(row: Row, multiplier: Fraction, maximise: bool) -> bool:
    if row.sense == "==":
        return True
    return (multiplier > 0) == (maximise == (row.sense == "<="))
