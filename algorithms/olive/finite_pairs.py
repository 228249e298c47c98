"""Finite classes of pairs: OLIVE's program by walking through the class.

Nothing is clever about it, and nothing could be: the class has no structure that
OLIVE knows of. It is exact and, unlike the mixed-integer programs of tabular
classes, linear in the size of the class.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from olivine.algorithms.mdp.bellman import Pair
from olivine.algorithms.olive.batched_errors import PairStack
from olivine.algorithms.olive.interfaces import Answer, Program
from olivine.algorithms.olive.sampled_program import SampledConstraint, SampledProgram


class FinitePairs:
    """A finite class of pairs, walked through exactly.

    On data sets the errors of all pairs are computed at once, and once for each
    constraint, as OLIVE's programs only grow.

    Parameters
    ----------
    pairs
        At least one; all on the same states.

    Attributes
    ----------
    evaluated : int
        How often the error of a pair under a constraint was computed.

    Raises
    ------
    ValueError
        If there is none, or the numbers of states differ.
    """

    def __init__(self, pairs: Sequence[Pair]) -> None:
        self.pairs = tuple(pairs)
        self._stack = PairStack(self.pairs)
        # By the constraint's identity; kept beside it, so that it stays its own.
        self._errors: dict[int, tuple[SampledConstraint, list[Fraction]]] = {}
        self.evaluated = 0

    def __len__(self) -> int:
        """Return the number of pairs."""
        return len(self.pairs)

    def maximise(self, program: Program) -> Answer:
        """Take the first of the best feasible pairs."""
        return self._choose(program, None)

    def another(
        self, program: Program, value: Fraction, rng: np.random.Generator
    ) -> Answer:
        """Take one of the best feasible pairs, uniformly."""
        return self._choose(program, rng)

    def errors(self, constraint: SampledConstraint) -> list[Fraction]:
        """Estimated average Bellman error of every pair, in order."""
        known = self._errors.get(id(constraint))
        if known is None:
            known = constraint, self._stack.errors(constraint)
            self._errors[id(constraint)] = known
            self.evaluated += len(self)
        return known[1]

    def _choose(self, program: Program, rng: np.random.Generator | None) -> Answer:
        began = time.monotonic()
        left = np.flatnonzero(self._feasible(program)).tolist()
        if not left:
            return Answer("infeasible", None, None, True, time.monotonic() - began)
        values = self._objectives(program, left)
        value = max(values)
        best = [i for i, v in zip(left, values, strict=True) if v == value]
        pair = self.pairs[best[0 if rng is None else int(rng.integers(len(best)))]]
        seconds = time.monotonic() - began
        return Answer("optimal", pair, value, True, seconds, seconds)

    def _objectives(self, program: Program, left: Sequence[int]) -> list[Fraction]:
        if not isinstance(program, SampledProgram):
            return [program.objective(self.pairs[i]) for i in left]
        values = self._stack.averages(program.start_shares)
        return [values[i] for i in left]

    def _feasible(self, program: Program) -> NDArray[np.bool_]:
        """Which pairs meet every constraint and the range, shape (N,)."""
        if not isinstance(program, SampledProgram):
            self.evaluated += len(self) * len(program.errors(self.pairs[0]))
            return np.array([program.is_feasible(pair) for pair in self.pairs])
        self._check(program)
        left = self._stack.inside(program)
        for constraint in program.constraints:
            for i, error in enumerate(self.errors(constraint)):
                left[i] &= abs(error) <= program.tolerance
        return left

    def _check(self, program: SampledProgram) -> None:
        """Refuse pairs on other observations, or with actions that there are not."""
        policies, counts = self._stack.policies, program.action_counts
        if policies.shape[1] != len(counts):
            raise ValueError(
                f"pairs on {policies.shape[1]} observations, there are {len(counts)}"
            )
        if ((policies < 0) | (policies >= counts)).any():
            raise ValueError("a policy of the class takes an action that there is not")
