"""The exact optimum of OLIVE's program over a family, from the formula.

Theorem O (docs/reduction.md has the proof). Let u be the least total weight of
unsatisfied clauses, W the total weight (the number m of clauses without weights), p the
penalty and `top` the reward of a rewarded literal state. With tolerance 0 the optimum
of OLIVE's program is exactly

    best - min(reach * top * u / (3 W), p).

Here `top` is 1 in `paper`, 3/4 in `gap`, 1/10 in `strict` and 1 - p otherwise; [solve]
leads to the clauses with probability `reach`, 1/2 in `strict` and else 1; `best`, the
optimum of a satisfiable formula, is 3/20 in `strict` and else 1. In `gap` and `strict`
the minimum is always the first term.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

from ..family.variants import Parameters

DEFAULT_ACCURACY = Fraction(1, 10**6)
"""Accuracy to which engines are trusted: their feasibility tolerance, 1e-6."""


class Rounded(NamedTuple):
    """A possible optimum and how far from it the given value was."""

    value: Fraction
    distance: Fraction


class Unsatisfied(NamedTuple):
    """What an optimum says about the least unsatisfied weight u."""

    at_least: int  # u is at least this
    exact: bool  # Whether u is exactly that; false when the penalty caps the optimum

    @property
    def satisfiable(self) -> bool:
        """Whether the formula is satisfiable. An optimum always tells."""
        return self.at_least == 0

    def __str__(self) -> str:
        return f"u = {self.at_least}" if self.exact else f"u >= {self.at_least}"


def step(parameters: Parameters) -> Fraction:
    """Loss of [solve] for each unit of unsatisfied weight, reach top / (3 W)."""
    return parameters.reach * parameters.top / (3 * parameters.total_weight)


def optimum(parameters: Parameters, unsatisfied: int) -> Fraction:
    """Compute the optimum of OLIVE's program by Theorem O."""
    largest = parameters.total_weight // 2
    if not 0 <= unsatisfied <= largest:
        raise ValueError(
            f"least unsatisfied weight {unsatisfied} is outside 0..{largest}, half of "
            "the total (an assignment or its complement satisfies each clause)"
        )
    return _possible(parameters, unsatisfied)


def number_of_possible_optima(parameters: Parameters) -> int:
    """Count the values that the optimum can take."""
    return min(_cap(parameters), parameters.total_weight // 2) + 1


def possible_optima(parameters: Parameters) -> list[Fraction]:
    """List the values that the optimum can take for some u, falling from `best`.

    They are best - k * step above best - p, and best - p where some u <= W/2 reaches
    it.
    """
    count = number_of_possible_optima(parameters)
    return [_possible(parameters, k) for k in range(count)]


def least_difference(parameters: Parameters) -> Fraction | None:
    """Least difference of two possible optima; None if there is one only."""
    last = number_of_possible_optima(parameters) - 1
    if last == 0:
        return None
    return _possible(parameters, last - 1) - _possible(parameters, last)


def least_better(parameters: Parameters, value: Fraction, unit: int = 1) -> Fraction:
    """Return a value that the optimum reaches if it is greater than `value` at all.

    By Theorem O the loss best - optimum is p or some k * unit * step below p; if it is
    less than a loss L <= p, it is at most the greatest k * unit * step below L.
    """
    loss = parameters.best - value
    if loss > parameters.penalty:
        return parameters.best - parameters.penalty
    size = step(parameters) * unit
    return parameters.best - size * (math.ceil(loss / size) - 1)


def round_to_possible(
    parameters: Parameters,
    value: float | Fraction,
    accuracy: float | Fraction = DEFAULT_ACCURACY,
) -> Rounded:
    """Round an engine's objective to the one possible optimum near it.

    That is what the optimum is if the engine was right up to `accuracy`: to be
    confirmed in exact arithmetic before it is believed.
    """
    exact, slack = _finite(value), _finite(accuracy)
    last = number_of_possible_optima(parameters) - 1
    # The possible optima fall with k, in equal steps but perhaps for the last;
    # the nearest two are next to where the steps reach the value, or the last.
    steps = (parameters.best - exact) / step(parameters)
    reached = min(max(steps, Fraction(0)), Fraction(last))
    floor = int(reached // 1)
    near = {k for k in range(floor - 1, floor + 3) if 0 <= k <= last}
    near |= {last, max(last - 1, 0)}
    ranked = sorted(
        (abs(candidate - exact), candidate)
        for candidate in (_possible(parameters, k) for k in sorted(near))
    )
    distance, nearest = ranked[0]
    if distance > slack:
        raise ValueError(
            f"{float(exact)!r} is no possible optimum: the nearest, {nearest}, is "
            f"{float(distance):.3g} away and the accuracy is {float(slack):.3g}"
        )
    if len(ranked) > 1 and ranked[1][0] <= slack:
        raise ValueError(
            f"{float(exact)!r} is ambiguous: {nearest} and {ranked[1][1]} are both "
            f"possible optima within the accuracy {float(slack):.3g}"
        )
    return Rounded(nearest, distance)


def unsatisfied_from_optimum(parameters: Parameters, value: Fraction) -> Unsatisfied:
    """Say what an exact optimum implies about u, the inverse of Theorem O.

    At best - p it says only that u is at least the least k whose loss by [solve]
    reaches p.
    """
    loss = (parameters.best - value) / step(parameters)
    cap, largest = _cap(parameters), parameters.total_weight // 2
    if loss.denominator == 1 and 0 <= loss < cap and loss <= largest:
        return Unsatisfied(int(loss), exact=True)
    if value == parameters.best - parameters.penalty and cap <= largest:
        return Unsatisfied(cap, exact=cap == largest)
    raise ValueError(f"{value} is no possible optimum of {parameters}")


def _cap(parameters: Parameters) -> int:
    """Least k at which [try C_j] does as well as [solve]: ceil(p / step)."""
    return -int(-(parameters.penalty / step(parameters)) // 1)


def _possible(parameters: Parameters, k: int) -> Fraction:
    return parameters.best - min(step(parameters) * k, parameters.penalty)


def _finite(value: float | Fraction) -> Fraction:
    try:
        return Fraction(value)
    except (OverflowError, ValueError):
        raise ValueError(f"{value!r} is not a finite number") from None
