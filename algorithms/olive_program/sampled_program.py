"""OLIVE's program over data sets: empirical averages in place of expectations.

A data set D holds tuples (x, a, r, x′), a uniform over the K(x) actions of x; errors
are estimated with importance weights (paper, eqn. "oliveprobg"; Jiang et al. 2017),

    Ê_D[K(x) 1{a = π(x)} (g(x) − r − g(x′))],

g = 0 once the episode has ended. Grouped by observation the terms depend on π(x), and
are affine in g for each action: a `SampledConstraint` keeps them, in exact rationals.
Both forms have the factor K(x) (docs/errata.md, 6).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..exact.arrays import END, as_integers
from ..exact.data import EmpiricalMeasure
from ..mdp.planning import Pair
from .pair_model import Affine
from .program import Ranged, Upper


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


class SampledProgram(Ranged):
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
        self.action_counts: NDArray[np.int64] = as_integers(
            "action_counts", action_counts, np.int64
        )
        if (self.action_counts < 1).any():
            raise ValueError("every observation needs at least one action")
        self.starts = starts
        self.constraints = tuple(constraints)
        super().__init__(len(self.action_counts), lower, upper)
        self.tolerance = Fraction(tolerance)
        if self.tolerance < 0:
            raise ValueError(f"tolerance {self.tolerance} is negative")
        weights = starts.weights_by_code(len(self.action_counts)).tolist()
        self.start_shares: dict[int, Fraction] = {
            s: Fraction(w, starts.total_weight) for s, w in enumerate(weights) if w
        }

    def extended(self, constraints: Iterable[SampledConstraint]) -> SampledProgram:
        """Give the program more constraints, as a round of OLIVE does."""
        return SampledProgram(
            self.action_counts,
            self.starts,
            (*self.constraints, *constraints),
            self.tolerance,
            self.lower,
            self.upper_given,
        )

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
