"""Many pairs at once: the estimated errors of a whole class on a data set.

Errors are integers over one denominator, computed with Python integers in numpy
arrays: exact, and a few hundred times faster than pair by pair.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from olivine.algorithms.exact.arrays import IntArray, object_array
from olivine.algorithms.mdp.bellman import Pair
from olivine.algorithms.olive.ranges import Ranged
from olivine.algorithms.olive.sampled_program import SampledConstraint


class PairStack:
    """N pairs on the same n observations.

    Parameters
    ----------
    pairs
        At least one.

    Attributes
    ----------
    numerators
        Python integers, shape (N, n); values are these over `denominator`.
    denominator
        Common to all.
    policies
        int32, shape (N, n).

    Raises
    ------
    ValueError
        If there is none, or the numbers of observations differ.
    """

    def __init__(self, pairs: Sequence[Pair]) -> None:
        if not pairs:
            raise ValueError("the class has no pair")
        if len({pair.n_states for pair in pairs}) > 1:
            raise ValueError("the pairs of the class differ in their number of states")
        self.denominator = math.lcm(*(pair.denominator for pair in pairs))
        self.numerators: NDArray[np.object_] = np.stack(
            [
                pair.numerators.astype(object) * (self.denominator // pair.denominator)
                for pair in pairs
            ]
        )
        self.policies: NDArray[np.int32] = np.stack([pair.policy for pair in pairs])

    def __len__(self) -> int:
        """Return N."""
        return len(self.policies)

    def inside(self, ranges: Ranged) -> NDArray[np.bool_]:
        """Whether all values of a pair lie in their ranges, shape (N,)."""
        observations = range(self.numerators.shape[1])
        most = [math.floor(ranges.upper_of(x) * self.denominator) for x in observations]
        low = self.numerators >= math.ceil(ranges.lower * self.denominator)
        high = self.numerators <= np.array(most, dtype=self.numerators.dtype)
        return np.asarray((low & high).all(axis=1), dtype=np.bool_)

    def averages(self, shares: Mapping[int, Fraction]) -> list[Fraction]:
        """Average value of each pair under shares of observations."""
        codes = list(shares)
        scale, weights = _integers(list(shares.values()))
        totals = (self.numerators[:, codes] * weights).sum(axis=1)
        return self._fractions(totals, scale)

    def errors(self, constraint: SampledConstraint) -> list[Fraction]:
        """Estimated average Bellman error of each pair, signed."""
        terms = [
            (state, action, term)
            for state, by_action in constraint.terms.items()
            for action, term in by_action.items()
        ]
        links = [
            (i, after, weight)
            for i, (_, _, term) in enumerate(terms)
            for after, weight in term.successors
        ]
        scale, weights = _integers(
            [term.weight for _, _, term in terms]
            + [term.reward for _, _, term in terms]
            + [weight for _, _, weight in links]
        )
        own, rewards, future = np.split(weights, [len(terms), 2 * len(terms)])
        states = np.array([s for s, _, _ in terms], dtype=np.int64)
        actions = np.array([a for _, a, _ in terms], dtype=np.int64)
        index = np.array([i for i, _, _ in links], dtype=np.int64)
        after = np.array([s for _, s, _ in links], dtype=np.int64)
        taken = self.policies[:, states] == actions
        now = self.numerators[:, states] * own - rewards * self.denominator
        later = self.numerators[:, after] * future
        totals = (now * taken).sum(axis=1) - (later * taken[:, index]).sum(axis=1)
        return self._fractions(totals, scale)

    def _fractions(self, totals: IntArray, scale: int) -> list[Fraction]:
        whole = scale * self.denominator
        return [Fraction(int(total), whole) for total in totals]


def _integers(values: Sequence[Fraction]) -> tuple[int, IntArray]:
    """Fractions as Python integers over a common denominator."""
    scale = math.lcm(*(value.denominator for value in values))
    whole = [value.numerator * (scale // value.denominator) for value in values]
    return scale, object_array(whole)
