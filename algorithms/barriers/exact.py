"""Exact numbers of the barriers: a + b√d, and expectations on a finite model.

The square-loss barrier's wrong function is √ε: a `Surd`. An oracle takes a weighted
data set; integer weights in proportion to the probabilities make the distribution
itself.

>>> root = Surd(0, 1, Fraction(1, 3))
>>> root * root == Fraction(1, 3), root > Fraction(1, 2), str(1 - 2 * root)
(True, True, '1 - 2√(1/3)')
>>> str(Surd(0, 1, Fraction(1, 16)))
'1/4'
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..classes.protocols import action_weights
from ..environments.finite import occupancies
from ..environments.finite_model import FiniteModel
from ..exact.arrays import object_array
from ..exact.data import EmpiricalMeasure

Rational = Fraction | int


@dataclass(frozen=True, eq=False, repr=False)
class Surd:
    """The number a + b√d, d ≥ 0 rational; different d mix only with rationals."""

    # a, b: rationals; b is 0 where the number is rational
    a: Fraction
    b: Fraction
    d: Fraction  # Rational, not negative; ValueError for a negative one

    def __init__(self, a: Rational, b: Rational = 0, d: Rational = 0) -> None:
        a, b, d = Fraction(a), Fraction(b), Fraction(d)
        if d < 0:
            raise ValueError(f"d: {d} is negative")
        root = _rational_root(d)
        if b == 0 or root is not None:
            a, b, d = a + b * (root or 0), Fraction(0), Fraction(0)
        for name, value in (("a", a), ("b", b), ("d", d)):
            object.__setattr__(self, name, value)

    def __add__(self, other: Surd | Rational) -> Surd:
        x, d = _with(other, self)
        return Surd(self.a + x.a, self.b + x.b, d)

    __radd__ = __add__

    def __neg__(self) -> Surd:
        return Surd(-self.a, -self.b, self.d)

    def __sub__(self, other: Surd | Rational) -> Surd:
        return self + (-1 * other)

    def __rsub__(self, other: Surd | Rational) -> Surd:
        return -self + other

    def __mul__(self, other: Surd | Rational) -> Surd:
        x, d = _with(other, self)
        return Surd(self.a * x.a + self.b * x.b * d, self.a * x.b + self.b * x.a, d)

    __rmul__ = __mul__

    def sign(self) -> int:
        """-1, 0 or 1, decided in integers."""
        if self.b == 0:
            return _sign(self.a)
        if self.a == 0 or (self.a > 0) == (self.b > 0):
            return _sign(self.b)
        # Of opposite signs: the larger absolute value decides, as √d is irrational.
        return _sign(self.a) if self.a**2 > self.b**2 * self.d else _sign(self.b)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Surd | Fraction | int):
            return NotImplemented
        return (self - other).sign() == 0

    def __lt__(self, other: Surd | Rational) -> bool:
        return (self - other).sign() < 0

    def __le__(self, other: Surd | Rational) -> bool:
        return (self - other).sign() <= 0

    def __gt__(self, other: Surd | Rational) -> bool:
        return (self - other).sign() > 0

    def __ge__(self, other: Surd | Rational) -> bool:
        return (self - other).sign() >= 0

    __hash__ = None  # type: ignore[assignment]  # equal to rationals, which hash

    def __float__(self) -> float:
        """Nearest float64, up to a few roundings."""
        return float(self.a) + float(self.b) * math.sqrt(self.d)

    def __str__(self) -> str:
        if self.b == 0:
            return str(self.a)
        size = abs(self.b)
        root = ("" if size == 1 else str(size)) + f"√({self.d})"
        if self.a == 0:
            return root if self.b > 0 else f"-{root}"
        return f"{self.a} {'+' if self.b > 0 else '-'} {root}"

    __repr__ = __str__


def _with(other: Surd | Rational, own: Surd) -> tuple[Surd, Fraction]:
    x = other if isinstance(other, Surd) else Surd(other)
    if own.b and x.b and own.d != x.d:
        raise ValueError(f"d: {own.d} and {x.d} do not mix")
    return x, own.d if own.b else x.d


def _rational_root(d: Fraction) -> Fraction | None:
    top, bottom = math.isqrt(d.numerator), math.isqrt(d.denominator)
    root = Fraction(top, bottom)
    return root if root**2 == d else None


def _sign(value: Fraction) -> int:
    return (value > 0) - (value < 0)


Distribution = tuple[Fraction, ...]  # probability of each code of a level


def roll_in(model: FiniteModel, policies: Sequence[Any]) -> list[Distribution]:
    """Distribution of the observation of each level under policies, by code."""
    return [
        tuple(
            states[s]
            * Fraction(int(level.emissions[s, x]), int(level.emission_totals[s]))
            for x, s in enumerate(level.state_of_code)
        )
        for level, states in zip(
            model.levels, occupancies(model, policies), strict=True
        )
    ]


def chosen_actions(policy: Any, n_codes: int, n_actions: int) -> NDArray[np.int64]:
    """Ask a deterministic policy at each code; actions, shape (n_codes,)."""
    weights = action_weights(policy, np.arange(n_codes), n_actions)
    return np.asarray(weights.argmax(axis=1), dtype=np.int64)


def measure(distribution: Distribution) -> EmpiricalMeasure:
    """Exact probabilities as integer weights."""
    unit = math.lcm(*(p.denominator for p in distribution))
    codes = [x for x, p in enumerate(distribution) if p]
    weights = [int(p * unit) for p in distribution if p]
    return EmpiricalMeasure(np.array(codes), weights=object_array(weights))


def pooled(distributions: Sequence[Distribution]) -> Distribution:
    """Equal mixture."""
    columns = zip(*distributions, strict=True)
    return tuple(sum(c, Fraction(0)) / len(distributions) for c in columns)


def uniform(model: FiniteModel, h: int) -> Distribution:
    """Uniform over the hidden states of a level."""
    level = model.level(h)
    return tuple(
        Fraction(int(level.emissions[s, x]), int(level.emission_totals[s]))
        / level.n_states
        for x, s in enumerate(level.state_of_code)
    )
