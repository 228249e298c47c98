"""The barrier of average constraints: exploration that stops 1/2 below the optimum.

The start s_0 shows one of m contexts, all equally likely; action a leads to s_1,
which pays 1, action b to s_2, which pays 0. Π holds π*, which always takes a, and
every policy that takes a in exactly half of the contexts: C(m, m/2) of them. All of
these lead to s_1 and s_2 with probability 1/2 each, and whoever asks only that ĝ be
right *on average* there,

    ĝ(s_1)/2 + ĝ(s_2)/2 = 1/2,

keeps (1/2, 1/2), by which all policies are worth the same, and (0, 1), by which π* is
the worst (`olivine.algorithms.barriers.average_exploration` runs such an algorithm).
Paper, appendix "Additional Barriers", the proposition on expectation constraints.

The paper speaks of Ω(2^m) bad policies; there are C(m, m/2) ~ 2^m √(2/(πm)), and m
must be even.

>>> barrier = AverageBarrier(4)
>>> barrier.n_balanced, barrier.environment().truth.optimal_value
(6, Fraction(1, 1))
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from olivine.algorithms.classes import (
    FinitePolicyClass,
    FiniteValueClass,
    PolicyClassByLevel,
    ValueClassByLevel,
)
from olivine.algorithms.environments.finite import FiniteEnvironment
from olivine.algorithms.environments.finite_lists import from_lists
from olivine.algorithms.environments.named import Instance
from olivine.algorithms.mdp.bellman import Pair

A, B = 0, 1
HALF = Fraction(1, 2)
MAX_CONTEXTS = 16
"""Largest m, for Π is written out: 12,870 balanced policies."""

Function = tuple[Fraction, Fraction]
"""Values at s_1 and s_2."""

BEST: Function = (Fraction(1), Fraction(0))
EVEN: Function = (HALF, HALF)
REVERSED: Function = (Fraction(0), Fraction(1))


@dataclass(frozen=True)
class AverageBarrier:
    """The construction.

    Attributes
    ----------
    m
        Number of contexts: even, 2 to `MAX_CONTEXTS`.

    Raises
    ------
    ValueError
        For another m.
    """

    m: int

    def __post_init__(self) -> None:
        m = self.m
        whole = isinstance(m, int) and not isinstance(m, bool)
        if not whole or m % 2 or not 2 <= m <= MAX_CONTEXTS:
            raise ValueError(
                f"m: {m!r} is no even integer in 2..{MAX_CONTEXTS} (half of the "
                "contexts get action a, and all such policies are written out)"
            )

    @property
    def n_balanced(self) -> int:
        """C(m, m/2), the number of policies that take a in half of the contexts."""
        return balanced_policies(self.m)

    def environment(self) -> FiniteEnvironment:
        """Make the environment: codes 0..m-1 at level 1, s_1 = 0 and s_2 = 1 next."""
        contexts = {f"x{i}": Fraction(1, self.m) for i in range(1, self.m + 1)}
        start = ("s0", contexts, {x: [0, 0] for x in contexts}, ["s1", "s2"])
        ends: list[Any] = [
            ("s1", {"s1": 1}, {"s1": [1, 1]}, []),
            ("s2", {"s2": 1}, {"s2": [0, 0]}, []),
        ]
        return from_lists([[start], ends], "average-barrier")

    def balanced(self) -> NDArray[np.int64]:
        """Tables of the balanced policies, shape (C(m, m/2), m)."""
        chosen = itertools.combinations(range(self.m), self.m // 2)
        tables = np.full((self.n_balanced, self.m), B, dtype=np.int64)
        for row, contexts in zip(tables, chosen, strict=True):
            row[list(contexts)] = A
        return tables

    def policies(self) -> PolicyClassByLevel:
        """Π: the balanced policies and, last, so that ties go against it, π*."""
        best = np.full((1, self.m), A, dtype=np.int64)
        start = FinitePolicyClass(np.concatenate([self.balanced(), best]), 2)
        return PolicyClassByLevel([start, FinitePolicyClass([[A, A]], 2)])

    def values(self, functions: Sequence[Function] = (EVEN, BEST)) -> ValueClassByLevel:
        """G: at level 1 constants 1 and 1/2, at level 2 what is given, in order."""
        first = np.array([[Fraction(1)] * self.m, [HALF] * self.m], dtype=object)
        second = np.array([list(g) for g in functions], dtype=object)
        return ValueClassByLevel([FiniteValueClass(first), FiniteValueClass(second)])

    def instance(self, functions: Sequence[Function] = (EVEN, BEST)) -> Instance:
        """Give the environment with both classes."""
        return Instance(self.environment(), self.values(functions), self.policies())

    def pairs(self, functions: Sequence[Function] = (EVEN, BEST)) -> list[Pair]:
        """Give the same class as pairs (g, π) over all observations, for OLIVE."""
        constants = (Fraction(1), HALF)
        rows = [*self.balanced().tolist(), [A] * self.m]
        return [
            Pair.from_fractions([c] * self.m + list(g), [*row, A, A])
            for c in constants
            for g in functions
            for row in rows
        ]


def balanced_policies(m: int) -> int:
    """C(m, m/2) for an even m, 0 for an odd one."""
    return 0 if m % 2 else math.comb(m, m // 2)
