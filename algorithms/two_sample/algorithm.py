"""The two-sample algorithm (paper, Algorithms 1 and 5).

dfslearn descends below a state unless its data look like data it has: the identity test
compares the means of all value functions, a maximum mean discrepancy. From the last
level back, a policy comes from classification on the data sets of all learned states,
and its value function from least squares on one data set for each state that looked
new. MetaAlg deploys the policy. What the paper leaves open is in docs/two-sample.md.

>>> from olivine.algorithms.learning.draw_classes import make_classes
>>> from olivine.algorithms.environments import make
>>> from olivine.algorithms.two_sample.parameters import TwoSampleTheoremParameters
>>> rng = np.random.default_rng(0)
>>> env = make("tabular", 1, states=2, actions=2, horizon=2)
>>> G, Pi = make_classes(env, "tabular", rng)
>>> sizes = G.log_size(squared=True), Pi.log_size()
>>> parameters = TwoSampleTheoremParameters(0.3, 0.1, 2, 2, 2, *sizes)
>>> result = two_sample(env, G, Pi, parameters, rng)
>>> result.status, env.truth.policy_value(result.policies) == env.truth.optimal_value
('success', True)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from ..classes.protocols import PolicyClass, ValueClass
from ..environments.protocol import Environment, knows_truth
from ..exact.data import EmpiricalMeasure, pool
from ..learning.draw_classes import paths_to_states
from ..learning.events import AtPath, Observer, Path, Triple, notify
from ..learning.metaalg import (
    decisions,
    enter,
    learn,
    next_values,
    policy_costs,
    training_set,
)
from ..learning.problem import LearningResult, Problem, Run
from ..oracles.csc import csc
from ..oracles.least_squares import least_squares
from ..oracles.ledger import evaluate, guard
from ..oracles.lp import mean_discrepancy
from .parameters import TWO_SAMPLE, TwoSampleParameters

_MOST_LISTED = 2**12


@dataclass(frozen=True)
class ObservedMdp:
    """Whether observations are Markov."""

    holds: bool | None  # None: not decided
    reason: str = ""  # Why not, or where it is violated; empty if it holds


def observed_mdp(environment: Environment) -> ObservedMdp:
    """Check it, in rationals where observations are finite; deterministic dynamics."""
    if not knows_truth(environment):
        return ObservedMdp(None, "the truth about the environment is not known")
    paths = paths_to_states(environment)
    for h, states in enumerate(paths, 1):
        if environment.space(h).is_finite:
            found = _finite_level(environment, h, list(states.values()))
        else:
            found = _listed_level(environment, h, list(states))
        if found.holds is not True:
            return found
    return ObservedMdp(True)


def _finite_level(
    environment: Environment, level: int, paths: list[Path]
) -> ObservedMdp:
    truth = environment.truth
    laws = [truth.observation_probabilities(path) for path in paths]
    owner: dict[int, int] = {}
    for i, law in enumerate(laws):
        for x in np.flatnonzero(law).tolist():
            first = owner.setdefault(x, i)
            if level == environment.horizon or first == i:
                continue
            for a in range(environment.n_actions):
                one, other = (
                    truth.observation_probabilities((*paths[j], a)) for j in (first, i)
                )
                if not np.array_equal(one, other):
                    return ObservedMdp(
                        False,
                        f"observation {x} of level {level} is emitted after paths "
                        f"{list(paths[first])} and {list(paths[i])}, and action {a} "
                        "leads to different laws of the next observation",
                    )
    return ObservedMdp(True)


def _listed_level(
    environment: Environment, level: int, states: list[int]
) -> ObservedMdp:
    emission = getattr(environment.truth, "emission", None)
    seen: dict[bytes, int] = {}
    for state in states:
        features = None if emission is None else emission.listed(level, state)
        if features is None or len(features) > _MOST_LISTED:
            return ObservedMdp(
                None, f"observations of level {level} are features, not listed"
            )
        for key in {row.tobytes() for row in features + 0.0}:  # -0.0 and 0.0 are one
            if seen.setdefault(key, state) != state:
                return ObservedMdp(
                    None, f"two states of level {level} share a feature vector"
                )
    return ObservedMdp(True)


@dataclass(frozen=True, eq=False)
class Visit(AtPath):
    """A call of dfslearn, after its identity test."""

    data: EmpiricalMeasure  # D̃: (x_h, a_h, r_h, x_{h+1}) with a_h uniform
    # Discrepancies of D̃ from D^val_h, in order; d_MMD is the least, infinite if none
    distances: tuple[float | Fraction, ...]
    recursive: bool  # Whether dfslearn was called by itself
    new: bool  # Whether D̃ was added to D^val_h, for d_MMD > 2τ
    # Whether D̃ was added to D^learned_h, and dfslearn goes on to the children
    learned: bool


@dataclass(frozen=True, eq=False)
class Regression:
    """What polvalfun returned, and the value functions it went through."""

    # policies, values: π̂_h and ĝ_h for h = 1..H
    policies: Sequence[Any]
    values: Sequence[Any]
    estimate: Fraction  # V̂*


_CLOSE = Fraction(1, 10**9)  # discrepancies in float64 are good to much less


class TwoSampleLearner(Run):
    """The state of a run: data sets D^val_h and D^learned_h of each level."""

    parameters: TwoSampleParameters

    def __init__(
        self,
        problem: Problem,
        parameters: TwoSampleParameters,
        rng: np.random.Generator,
        observers: Sequence[Observer] = (),
        test_class: ValueClass | None = None,
    ) -> None:
        super().__init__(problem, parameters, rng, observers)
        self.val: list[list[EmpiricalMeasure]] = [[] for _ in range(self.horizon)]
        self.learned: list[list[EmpiricalMeasure]] = [[] for _ in range(self.horizon)]
        self.calls = [0] * self.horizon
        self._values, self._policies = guard(problem.values), guard(problem.policies)
        self._test = self._values if test_class is None else guard(test_class)

    def dfslearn(self, path: Path, *, recursive: bool = False) -> None:
        """Visit the state at the end of a path of h-1 actions, and below."""
        if len(path) == self.horizon:
            return  # level H+1 (docs/errata.md, 16)
        enter(path, self.calls, self.parameters.T_max, self.observers)
        h = len(path)  # index of the level
        # D̃: sample x_h at the end of the path, a_h uniform, r_h, x_{h+1}.
        data = training_set(
            self.environment,
            path,
            self.parameters,
            self.rng,
            successors=h + 1 < self.horizon,
        )
        distances = self._distances(path, data)  # whose minimum is d_MMD
        alike = min(distances, default=np.inf) <= 2 * self.parameters.tau
        visit = Visit(
            path,
            data,
            distances,
            recursive,
            new=not alike,
            learned=not (alike and recursive),
        )
        if visit.new:  # if d_MMD > 2τ: add D̃ to D^val_h
            self.val[h].append(data)
        if visit.learned:  # add D̃ to D^learned_h
            self.learned[h].append(data)
        notify(self.observers, visit)
        if not visit.learned:
            return  # if d_MMD ≤ 2τ and is_recursive_call
        # No value is stored; others know data sets as triples.
        notify(self.observers, Triple(path, data, Fraction(0), ()))
        for a in range(self.parameters.K):  # for a in A
            self.dfslearn((*path, a), recursive=True)

    def _distances(
        self, path: Path, data: EmpiricalMeasure
    ) -> tuple[float | Fraction, ...]:
        """Largest over G_h of |E_D[g] - E_D̃[g]|, for each D in D^val_h."""
        tests = self._test.at_level(len(path) + 1)
        return tuple(
            self._distance(tests, known, data) for known in self.val[len(path)]
        )

    def _distance(
        self, tests: ValueClass, known: EmpiricalMeasure, data: EmpiricalMeasure
    ) -> float | Fraction:
        """Distance of two data sets, in rationals where a rounding might decide."""
        p = self.parameters
        accuracy = float(p.tau * p.oracle_share)
        found = mean_discrepancy(tests, known, data, epsilon_sub=accuracy)
        if abs(found.value - 2 * p.tau) > _CLOSE:
            return found.value
        one, other = (
            measure.expectation_exact(evaluate(found.function, measure.observations))
            for measure in (known, data)
        )
        return abs(one - other)

    def polvalfun(self) -> tuple[list[Any], Fraction]:
        """Find π̂_{1:H} and V̂*, from the last level back."""
        policies: list[Any] = []
        values: list[Any] = []
        following: tuple[Any, ...] = ()  # ĝ_{H+1} = 0
        for h in range(self.horizon, 0, -1):  # for h = H:1
            policy = self.policy_step(h, following)
            following = (self.value_step(h, policy, following),)
            policies.insert(0, policy)
            values.insert(0, following[0])
        # V̂* = E_D[ĝ_1(x_1)], D the only data set of D^val_1
        start = self.val[0][0]
        estimate = start.expectation_exact(evaluate(values[0], start.observations))
        found = Regression(tuple(policies), tuple(values), estimate)
        notify(self.observers, found)
        return policies, estimate

    def policy_step(self, h: int, following: Sequence[Any]) -> Any:
        """π̂_h = argmax over Π_h of Σ over D^learned_h of V_D(π; ĝ_{h+1})."""
        p, data = self.parameters, _pooled(self.learned[h - 1])
        accuracy = p.oracle_share * p.tau_V
        costs = policy_costs(data, next_values(data, following), accuracy, p.K)
        policies = self._policies.at_level(h)
        return csc(policies, data, costs, epsilon_sub=float(accuracy)).policy

    def value_step(self, h: int, policy: Any, following: Sequence[Any]) -> Any:
        """ĝ_h = argmin over G_h of Σ over D^val_h of L_D(g; π̂_h, ĝ_{h+1})."""
        p, data = self.parameters, _pooled(self.val[h - 1])
        actions, rewards = decisions(data)
        taken = evaluate(policy, data.observations) == actions
        return least_squares(
            self._values.at_level(h),
            data,
            rewards + next_values(data, following),
            epsilon_sub=float(p.oracle_share * p.tau_L),
            importance=np.where(taken, float(p.K), 0.0),
        ).function


def _pooled(data: Sequence[EmpiricalMeasure]) -> EmpiricalMeasure:
    """Pool data sets with equal shares: their average, 1/|D_h| times the sum."""
    pooled = pool(data)
    return pooled.merged() if pooled.is_finite else pooled


def two_sample(
    environment: Environment,
    value_class: ValueClass,
    policy_class: PolicyClass,
    parameters: TwoSampleParameters,
    rng: np.random.Generator,
    *,
    observers: Sequence[Observer] = (),
    test_class: ValueClass | None = None,
) -> LearningResult:
    """Run the two-sample algorithm.

    Parameters
    ----------
    environment
        With deterministic hidden dynamics, an MDP over observations.
    value_class, policy_class
        G and Π, by level or stationary; the guarantee asks for policy-value
        completeness, up to clipping (docs/two-sample.md). The run sees them through a
        guard, so that only oracles and evaluation get at them.
    parameters
        `TwoSampleTheoremParameters` or `TwoSamplePracticalParameters`.
    rng
        The only source of randomness.
    observers
        Monitors and progress bars.
    test_class
        Class of the identity test, say a kernel ball; None: G.

    Returns
    -------
    LearningResult
        With status "failure", and the reason, where MetaAlg fails.

    Raises
    ------
    ValueError
        If environment, parameters and classes do not fit, the environment is known not
        to be an MDP over observations, or a reward leaves [0, 1].
    """
    problem = Problem.of(environment, value_class, policy_class)
    problem.check(parameters, TWO_SAMPLE)
    markov = observed_mdp(environment)
    if markov.holds is False:
        raise ValueError(f"{TWO_SAMPLE}: no MDP over observations: {markov.reason}")
    run = TwoSampleLearner(problem, parameters, rng, observers, test_class)
    return learn(
        TWO_SAMPLE,
        run,
        explore=run.dfslearn,
        optimise=run.polvalfun,
        learned=lambda: map(len, run.learned),
    )
