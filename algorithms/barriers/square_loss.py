"""The square-loss barrier: an ε in the policy becomes a √ε in the value function.

One state, H = 1, shows x_1 with probability 1 - ε, where both actions pay nothing, and
x_2, where a pays 1 and b nothing. π̂, always b, is ε-optimal and earns 0. Against its
returns g* = (0, 1) has square loss ε, and so has g_bad = (√ε, √ε): a bound that keeps
g* keeps g_bad, of *all* functions with square loss at most ε the one that predicts
most, as E[g]² ≤ E[g²]. (Paper, appendix "Additional Barriers", the last proposition.)
All numbers are in Q(√ε): a `Surd` is a + b√d, exactly.

>>> barrier = SquareLossBarrier(Fraction(1, 3))
>>> [str(barrier.square_loss(g, ALWAYS_B)) for g in barrier.functions.values()]
['0', '1/3', '1/3']
>>> str(barrier.bias(barrier.bad))
'-1/3 + √(1/3)'
>>> root = Surd(0, 1, Fraction(1, 3))
>>> root * root == Fraction(1, 3), root > Fraction(1, 2), str(1 - 2 * root)
(True, True, '1 - 2√(1/3)')
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import total_ordering

import numpy as np

from ..classes import (
    FinitePolicyClass,
    FiniteValueClass,
    PolicyClassByLevel,
    ValueClassByLevel,
)
from ..environments import from_lists
from ..environments.finite import FiniteEnvironment
from ..learning.problem import Problem
from ..oracles.least_squares import least_squares

Rational = Fraction | int


@total_ordering
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


A, B = 0, 1
ALWAYS_B = (B, B)  # π̂, the action at x_1 and at x_2
OPTIMAL = (A, A)

Function = tuple[Surd, Surd]  # values at x_1 and x_2

_ACCURACY = 1e-300  # asked of the LS oracle, so that it compares losses in rationals


@dataclass(frozen=True)
class SquareLossBarrier:
    """The construction."""

    epsilon: Fraction  # ε, in (0, 1)

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", Fraction(self.epsilon))
        if not 0 < self.epsilon < 1:
            raise ValueError(f"epsilon: {self.epsilon} is not in (0, 1)")

    @property
    def chances(self) -> tuple[Fraction, Fraction]:
        """Probabilities of x_1 and x_2."""
        return 1 - self.epsilon, self.epsilon

    @property
    def zero(self) -> Function:
        """g_0, the value function of π̂."""
        return Surd(0), Surd(0)

    @property
    def best(self) -> Function:
        """Return g*."""
        return Surd(0), Surd(1)

    @property
    def bad(self) -> Function:
        """g_bad, √ε everywhere."""
        root = Surd(0, 1, self.epsilon)
        return root, root

    @property
    def functions(self) -> dict[str, Function]:
        """The three functions by name."""
        return {"g_0": self.zero, "g*": self.best, "g_bad": self.bad}

    def environment(self) -> FiniteEnvironment:
        """Make the environment: codes 0 and 1 for x_1 and x_2."""
        emitted = {"x1": 1 - self.epsilon, "x2": self.epsilon}
        rewards = {"x1": [0, 0], "x2": [1, 0]}
        return from_lists([[("s", emitted, rewards, [])]], "square-loss-barrier")

    def instance(self) -> Problem:
        """Give the environment with the three functions and with {π̂, π*}."""
        table = [[float(v) for v in g] for g in self.functions.values()]
        return Problem(
            self.environment(),
            ValueClassByLevel([FiniteValueClass(table)]),
            PolicyClassByLevel([FinitePolicyClass([ALWAYS_B, OPTIMAL], 2)]),
        )

    def rewards(self, policy: Sequence[int]) -> tuple[int, int]:
        """Rewards of a policy at x_1 and x_2; ValueError if it is none."""
        if len(policy) != 2 or not {*policy} <= {A, B}:
            raise ValueError(f"policy: {policy!r} is no pair of actions 0 or 1")
        return 0, int(policy[1] == A)

    def value(self, policy: Sequence[int]) -> Fraction:
        """V^π."""
        return sum(
            (p * r for p, r in zip(self.chances, self.rewards(policy), strict=True)),
            Fraction(0),
        )

    def square_loss(self, function: Function, policy: Sequence[int]) -> Surd:
        """E[(g(x) - r)² | a ~ π]."""
        rewards = self.rewards(policy)
        total = Surd(0)
        for p, g, r in zip(self.chances, function, rewards, strict=True):
            total = total + p * ((g - r) * (g - r))
        return total

    def bias(self, function: Function) -> Surd:
        """E[g(x) - g*(x)]."""
        total = Surd(0)
        for p, g, star in zip(self.chances, function, self.best, strict=True):
            total = total + p * (g - star)
        return total

    def kept(self, bound: Fraction) -> list[str]:
        """Names of the functions whose square loss to π̂'s returns is at most this."""
        return [
            name
            for name, g in self.functions.items()
            if self.square_loss(g, ALWAYS_B) <= bound
        ]

    def bad_fits_better(self, n: int) -> float:
        """P[Bin(n, ε) > n ε]: g_bad fits better, to a relative error below 1e-9."""
        from scipy.stats import binom

        if not 1 <= n <= 10**9:
            raise ValueError(f"n: {n} is not in 1..10^9")
        most = math.floor(n * self.epsilon)
        return float(binom.sf(most, n, float(self.epsilon)))

    @property
    def why_not_sampled(self) -> str:
        """Why `count_bad_fits` refuses this ε; nothing where it does not."""
        root = self.bad[0]
        if root.b == 0 and Fraction(float(root.a)) ** 2 == self.epsilon:
            return ""
        return (
            f"epsilon: {self.epsilon} is not the square of a float64 like 1/4, 1/16 "
            "or 9/64"
        )

    def count_bad_fits(self, n: int, runs: int, rng: np.random.Generator) -> int:
        """How often LS prefers g_bad, ties to g*; ε must be the square of a float64."""
        if self.why_not_sampled:
            raise ValueError(self.why_not_sampled)
        if runs < 1:
            raise ValueError(f"runs: {runs} is below 1")
        made = self.environment()
        pair = FiniteValueClass([[float(v) for v in g] for g in (self.best, self.bad)])
        worst = 0
        for _ in range(runs):
            data = made.draw((B,), n, rng)
            found = least_squares(pair, data, data.exact_rewards, epsilon_sub=_ACCURACY)
            worst += found.function is pair.members[1]
        return worst
