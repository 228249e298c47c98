"""A value function with a policy: the (g, π) that OLIVE optimises over."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray
from olivine.algorithms.exact.ragged import IntArray, as_integers, integer_array


@dataclass(frozen=True, eq=False)
class Pair:
    """A value function g and a policy π on the states 0..n-1, exact.

    Attributes
    ----------
    numerators
        Shape (n,), int64, or object holding Python integers; the value of
        state s is ``numerators[s] / denominator``.
    denominator
        A positive integer, common to all states.
    policy
        int32, shape (n,): the *local* action index of each state, 0-based
        within the state's own actions.
    """

    numerators: IntArray
    denominator: int
    policy: NDArray[np.int32]

    def __post_init__(self) -> None:
        if self.denominator <= 0:
            raise ValueError(f"denominator {self.denominator} is not positive")
        if self.numerators.dtype != object:
            numerators = as_integers("numerators", self.numerators, np.int64)
            object.__setattr__(self, "numerators", numerators)
        policy = as_integers("policy", self.policy, np.int32)
        object.__setattr__(self, "policy", policy)
        if self.numerators.shape != policy.shape:
            raise ValueError(
                f"{len(self.numerators)} values but {len(policy)} policy entries"
            )

    @classmethod
    def from_fractions(
        cls, values: Iterable[Fraction | int], policy: ArrayLike
    ) -> Pair:
        """Build a pair from one exact value a state and a policy.

        The denominator is the least common one.
        """
        exact = [Fraction(v) for v in values]
        denominator = math.lcm(1, *(v.denominator for v in exact))
        numerators = integer_array(int(v * denominator) for v in exact)
        return cls(numerators, denominator, np.asarray(policy))

    @property
    def n_states(self) -> int:
        """Number of states."""
        return len(self.numerators)

    def value(self, state: int) -> Fraction:
        """Value of a state."""
        return Fraction(int(self.numerators[state]), self.denominator)

    def values(self) -> list[Fraction]:
        """Value of every state, in order."""
        return [Fraction(int(v), self.denominator) for v in self.numerators]

    def with_policy(self, policy: ArrayLike) -> Pair:
        """Give the same values another policy."""
        return Pair(self.numerators, self.denominator, np.asarray(policy))

    def __eq__(self, other: object) -> bool:
        """Whether values (as rationals) and policy are the same."""
        if not isinstance(other, Pair):
            return NotImplemented
        if self.n_states != other.n_states:
            return False
        left = self.numerators.astype(object) * other.denominator
        right = other.numerators.astype(object) * self.denominator
        return bool((left == right).all() and np.array_equal(self.policy, other.policy))

    __hash__ = None  # type: ignore[assignment]  # arrays inside
