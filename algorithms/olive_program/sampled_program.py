"""OLIVE's program over data sets: empirical averages in place of expectations.

A data set D holds tuples (x, a, r, x′), a uniform over the K(x) actions of x; errors
are estimated with importance weights (paper, eqn. "oliveprobg"; Jiang et al. 2017),

    Ê_D[K(x) 1{a = π(x)} (g(x) − r − g(x′))],

g = 0 once the episode has ended. Grouped by observation the terms depend on π(x), and
are affine in g for each action: a `SampledConstraint` keeps them, in exact rationals.
Both forms have the factor K(x) (docs/errata.md, 6).
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..exact.arrays import END, IntArray, as_integers, object_array
from ..exact.data import EmpiricalMeasure
from ..mdp.planning import Pair
from .program import Affine, Answer, Program, Ranged, Upper


@dataclass(frozen=True)
class LevelData:
    """What trajectories showed at one level."""

    # (x, a, r, x′) of trajectories that reach the level, x′ maybe `END`; None: none
    tuples: EmpiricalMeasure | None
    # Number of trajectories, those that ended before the level included
    trajectories: int

    def __post_init__(self) -> None:
        if self.tuples is not None and self.tuples.total_weight > self.trajectories:
            raise ValueError(
                f"{self.tuples.total_weight} tuples from {self.trajectories} "
                "trajectories"
            )


@dataclass(frozen=True)
class Term:
    """One observation's weight · g(x) − reward − Σ coefficients · g(successors)."""

    weight: Fraction
    reward: Fraction
    successors: tuple[tuple[int, Fraction], ...]

    def at(self, state: int, values: Sequence[Fraction]) -> Fraction:
        """Contribution of `state` under values of all observations."""
        future = sum((c * values[s] for s, c in self.successors), Fraction(0))
        return self.weight * values[state] - self.reward - future

    def affine(self, state: int, ranges: Ranged) -> Affine:
        """Write it as a function of the values of observations, with its range."""
        mass = sum((c for _, c in self.successors), Fraction(0))
        low, high = ranges.lower, ranges.upper_of(state)
        return Affine(
            -self.reward,
            (state, *(s for s, _ in self.successors)),
            (self.weight, *(-c for _, c in self.successors)),
            self.weight * low - self.reward - ranges.greatest_mean(self.successors),
            self.weight * high - self.reward - mass * low,
        )


NOTHING = Term(Fraction(0), Fraction(0), ())


@dataclass(frozen=True)
class SampledConstraint:
    """The estimated average Bellman error as a function of (g, π)."""

    level: int  # The level of the data, 1-based
    trajectories: int  # Number of trajectories behind the data
    # Terms by observation and local action; those not seen contribute nothing
    terms: Mapping[int, Mapping[int, Term]]

    @classmethod
    def of(
        cls, data: LevelData, action_counts: NDArray[np.int64], level: int
    ) -> SampledConstraint:
        """Group a data set with uniform actions by observation and action."""
        groups = {} if data.tuples is None else _grouped(data.tuples, action_counts)
        terms: dict[int, dict[int, Term]] = {}
        for (state, action), group in sorted(groups.items()):
            scale = Fraction(int(action_counts[state]), data.trajectories)
            terms.setdefault(state, {})[action] = Term(
                scale * group.weight,
                scale * group.reward,
                tuple((s, scale * w) for s, w in sorted(group.successors.items())),
            )
        return cls(level, data.trajectories, terms)

    def error(self, pair: Pair) -> Fraction:
        """Estimated average Bellman error of a pair, signed."""
        values = pair.values()
        return sum(
            (
                by_action.get(int(pair.policy[state]), NOTHING).at(state, values)
                for state, by_action in self.terms.items()
            ),
            Fraction(0),
        )


def on_policy_error(data: LevelData, pair: Pair) -> Fraction:
    """Average of g(x) − r − g(x′) over tuples whose actions π took itself."""
    if data.tuples is None:
        return Fraction(0)
    values = np.array(pair.values(), dtype=object)
    g = data.tuples.at(values)
    after = data.tuples.at(values, field="next_observations")
    mean = data.tuples.expectation_exact(g - data.tuples.exact_rewards - after)
    return mean * Fraction(data.tuples.total_weight, data.trajectories)


class SampledProgram(Program):
    """OLIVE's program over data sets and all tabular (g, π) on observations."""

    def __init__(
        self,
        action_counts: ArrayLike,
        starts: EmpiricalMeasure,
        constraints: Iterable[SampledConstraint] = (),
        tolerance: Fraction | int = 0,
        lower: Fraction | int = 0,
        upper: Upper = 1,
    ) -> None:
        counts = as_integers("action_counts", action_counts, np.int64)
        if (counts < 1).any():
            raise ValueError("every observation needs at least one action")
        super().__init__(counts, Fraction(tolerance), lower, upper)
        self.starts = starts
        self.constraints = tuple(constraints)
        weights = starts.weights_by_code(len(self.action_counts)).tolist()
        self.start_shares: dict[int, Fraction] = {
            s: Fraction(w, starts.total_weight) for s, w in enumerate(weights) if w
        }

    def extended(self, constraints: Iterable[SampledConstraint]) -> SampledProgram:
        """Give the program more constraints, as a round of OLIVE does."""
        longer = copy(self)
        longer.constraints = (*self.constraints, *constraints)
        return longer

    def objective(self, pair: Pair) -> Fraction:
        """Average value of the initial observations."""
        shares = self.start_shares.items()
        return sum((share * pair.value(s) for s, share in shares), Fraction(0))

    def errors(self, pair: Pair) -> list[Fraction]:
        """Estimated average Bellman error under each data set, signed."""
        return [constraint.error(pair) for constraint in self.constraints]

    def is_feasible(self, pair: Pair) -> bool:
        """Whether a pair meets every constraint and the range, exactly."""
        if pair.n_states != len(self.action_counts):
            raise ValueError(
                f"a pair on {pair.n_states} observations, there are "
                f"{len(self.action_counts)}"
            )
        if ((pair.policy < 0) | (pair.policy >= self.action_counts)).any():
            raise ValueError("the policy takes an action that there is not")
        inside = (
            self.lower <= value <= self.upper_of(state)
            for state, value in enumerate(pair.values())
        )
        if not all(inside):
            return False
        return all(abs(error) <= self.tolerance for error in self.errors(pair))


@dataclass
class _Group:
    weight: int
    reward: Fraction
    successors: dict[int, int]


def _grouped(
    data: EmpiricalMeasure, action_counts: NDArray[np.int64]
) -> dict[tuple[int, int], _Group]:
    if data.actions is None:
        raise ValueError("the data have no actions")
    codes, following = data.codes(), data.codes("next_observations")
    n = len(action_counts)
    if max(int(codes.max()), int(following.max())) >= n:
        raise ValueError(f"the data have an observation that is not below {n}")
    if (data.actions >= action_counts[codes]).any():
        raise ValueError("the data have an action that there is not")
    groups: dict[tuple[int, int], _Group] = {}
    for state, action, reward, after, weight in zip(
        codes.tolist(),
        data.actions.tolist(),
        data.exact_rewards.tolist(),
        following.tolist(),
        data.weights.tolist(),
        strict=True,
    ):
        if not weight:
            continue
        group = groups.setdefault((state, action), _Group(0, Fraction(0), {}))
        group.weight += weight
        group.reward += weight * reward
        if after != END:
            group.successors[after] = group.successors.get(after, 0) + weight
    return groups


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
