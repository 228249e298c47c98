"""Finite classes of pairs: OLIVE's program by walking through the class, exactly.

Linear in the size of the class, of which OLIVE knows no structure. Q-functions become
pairs (g, π); errors of all pairs on a data set are integers over one denominator, in
arrays of Python integers: a few hundred times faster than pair by pair.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..classes.finite import check_codes
from ..classes.q_functions import FiniteQClass
from ..exact.arrays import IntArray, as_integers, object_array
from ..mdp.planning import Pair
from ..mdp.tabular import TabularMDP
from ..olive_program.program import Answer, Program, Ranged
from ..olive_program.sampled_program import SampledConstraint, SampledProgram


def pairs_of_class(
    functions: FiniteQClass, levels: ArrayLike, codes: ArrayLike
) -> list[Pair]:
    """Turn members into pairs; each observation's level and code there: (n,)."""
    depth = as_integers("levels", levels, np.int64)
    local = as_integers("codes", codes, np.int64)
    best = np.empty((len(functions), len(depth)), dtype=object)
    policies = np.empty(best.shape, dtype=np.int32)
    if not ((depth >= 1) & (depth <= functions.horizon)).all():
        raise ValueError(f"levels: not all in 1..{functions.horizon}")
    for level in range(1, functions.horizon + 1):
        here = np.flatnonzero(depth == level)
        own = check_codes(local[here], functions.n_codes(level), "codes")
        table = functions.table(level)[:, own]
        best[:, here] = table.max(axis=2)
        policies[:, here] = table.argmax(axis=2)  # the first of equal ones
    rows = zip(best.tolist(), policies, strict=True)
    return [Pair.from_fractions(values, policy) for values, policy in rows]


def pairs_on_mdp(functions: FiniteQClass, mdp: TabularMDP) -> list[Pair]:
    """Turn the members of a class into pairs on a layered MDP's states.

    A state's code is its rank on its level, and an action beyond its last one repeats
    the last, as in `environments.from_mdp`. Raises ValueError if the MDP
    has more levels, or more states at a level, than the class.
    """
    codes = np.zeros(mdp.n_states, dtype=np.int64)
    for level in range(1, mdp.horizon + 1):
        here = np.flatnonzero(mdp.state_level == level)
        codes[here] = np.arange(len(here))
    pairs = pairs_of_class(functions, mdp.state_level, codes)
    last = mdp.action_counts - 1
    return [pair.with_policy(np.minimum(pair.policy, last)) for pair in pairs]


class PairStack:
    """N pairs on n observations: numerators and policies (N, n), one denominator."""

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
    scale = math.lcm(*(value.denominator for value in values))
    whole = [value.numerator * (scale // value.denominator) for value in values]
    return scale, object_array(whole)


class FinitePairs:
    """A finite class, walked through exactly; `evaluated` counts errors computed."""

    def __init__(self, pairs: Sequence[Pair]) -> None:
        self.pairs = tuple(pairs)
        self._stack = PairStack(self.pairs)
        # By the constraint's identity; kept beside it, so that it stays its own.
        self._errors: dict[int, tuple[SampledConstraint, list[Fraction]]] = {}
        self.evaluated = 0

    def __len__(self) -> int:
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
        policies, counts = self._stack.policies, program.action_counts
        if policies.shape[1] != len(counts):
            raise ValueError(
                f"pairs on {policies.shape[1]} observations, there are {len(counts)}"
            )
        if ((policies < 0) | (policies >= counts)).any():
            raise ValueError("a policy of the class takes an action that there is not")
