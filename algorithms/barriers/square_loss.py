"""The square-loss barrier: an ε in the policy becomes a √ε in the value function.

One state, H = 1, shows x_1 with probability 1 - ε, where both actions pay nothing, and
x_2, where a pays 1 and b nothing. π̂, always b, is ε-optimal and earns 0. Against its
returns g* = (0, 1) has square loss ε, and so has g_bad = (√ε, √ε): a bound that keeps
g* keeps g_bad, of *all* functions with square loss at most ε the one that predicts
most, as E[g]² ≤ E[g²]. (Paper, appendix "Additional Barriers", the last proposition.)
All numbers are in Q(√ε).

>>> barrier = SquareLossBarrier(Fraction(1, 3))
>>> [str(barrier.square_loss(g, ALWAYS_B)) for g in barrier.functions.values()]
['0', '1/3', '1/3']
>>> str(barrier.bias(barrier.bad))
'-1/3 + √(1/3)'
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

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
from .exact import Surd

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
