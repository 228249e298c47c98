"""The state of a run of VALOR: what dfslearn learns, and policies from it.

dfslearn (paper, Algorithm 3) walks down the tree of paths. Before it descends to a
child it asks whether the value functions that agree with what has been learned
already agree on the child's value (`consensus`). polvalfun (Algorithm 2) then
finds a policy for each level by a step that differs between VALOR and its
constrained form.

What the paper leaves open, and what is done here:

- Past the last level G is {0}: V_a = 0 whatever the data, so none is sampled
  and no oracle asked. The paper's counts stay upper bounds.
- More than T_max calls of dfslearn at a level: outside of event E; failure.
- A level without data sets: the sum over none is 0, every policy is a
  maximiser, and CSC with zero costs gives one (on one observation, sampled).
- Ties: the oracles', the lowest action or member.
- Values are rationals: those that an oracle computed exactly, else what its
  float stands for. Comparisons are exact.
- Costs are float64 as long as ε_sub ≥ 1e-12 (their rounding is below 1e-15·K),
  else rationals; LP oracles go over to rationals by themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from olivine.algorithms.classes.protocols import PolicyClass, ValueClass
from olivine.algorithms.environments.protocol import Environment
from olivine.algorithms.exact.columns import group_sums
from olivine.algorithms.exact.data import EmpiricalMeasure
from olivine.algorithms.learning.events import ConsensusTest, Observer, Path, Triple
from olivine.algorithms.learning.exploration import enter, training_set
from olivine.algorithms.learning.parameters import Parameters
from olivine.algorithms.oracles.csc import csc, importance_costs
from olivine.algorithms.oracles.ledger import guard, reveal
from olivine.algorithms.oracles.results import CscResult
from olivine.algorithms.valor.consensus import ConsensusPrograms

PolicyStep = Callable[["LocalValues", int], Any]
"""Line 4 of polvalfun: π̂_h from the data sets of level h."""

_FLOAT_COSTS = Fraction(1, 10**12)


class LocalValues:
    """The state of a run: data sets D_1, ..., D_H, and programs over G_h.

    Parameters
    ----------
    environment
        Where data come from.
    value_class, policy_class
        G and Π, by level or stationary; only oracles look inside.
    parameters
        All constants.
    rng
        The only source of randomness.
    observers
        Told of every step.
    """

    def __init__(
        self,
        environment: Environment,
        value_class: ValueClass,
        policy_class: PolicyClass,
        parameters: Parameters,
        rng: np.random.Generator,
        observers: Sequence[Observer] = (),
    ) -> None:
        self.environment = environment
        self.parameters = parameters
        self.rng = rng
        self.observers = tuple(observers)
        self.horizon = environment.horizon
        self.policy_class = guard(policy_class)
        self.datasets: list[list[Triple]] = [[] for _ in range(self.horizon)]
        self.calls = [0] * self.horizon
        self.programs = ConsensusPrograms(value_class, parameters, self.horizon)

    # ------------------------------------------------------------- Algorithm 3

    def dfslearn(self, path: Path) -> Fraction:
        """Learn the state at the end of a path of h-1 actions; return Ṽ.

        Raises
        ------
        EventFailedError
            If something happens that cannot happen in event E.
        """
        enter(path, self.calls, self.parameters.T_max, self.observers)
        tests = [  # line 3: for a in A
            self._consensus(path, a) for a in range(self.parameters.K)
        ]
        futures = tuple(test.value for test in tests)
        # Line 11: D̃, n_train trajectories with p and a_h uniform.
        data = training_set(
            self.environment, path, self.parameters, self.rng, successors=False
        )
        value = self._value(path, data, futures)  # line 12
        triple = Triple(path, data, value, futures, tuple(tests))
        self._store(triple)  # line 13
        return triple.value  # line 14

    def _value(
        self, path: Path, data: EmpiricalMeasure, futures: Sequence[Fraction]
    ) -> Fraction:
        """Line 12: Ṽ = max over Π_h of V_D̃(π; {V_a}), by CSC.

        Or the maximiser's value on fresh trajectories, if parameters want some.
        """
        h = len(path) + 1
        found = csc(
            self.policy_class.at_level(h),
            data,
            self.costs(data, futures),
            epsilon_sub=float(self.parameters.eps_sub),
        )
        fresh = self.parameters.n_fresh
        if fresh is None:
            value = -_cost(found)
        else:
            value = self._measure(path, found.policy, futures, fresh)
        if self.parameters.clip:
            value = min(max(value, Fraction(0)), Fraction(1))
        return value

    def _measure(
        self, path: Path, policy: Any, futures: Sequence[Fraction], fresh: int
    ) -> Fraction:
        """Average of r_h + V_a where the policy takes a_h after the path."""
        # The environment, not the algorithm, plays the policy.
        played = self.environment.sample(
            path, fresh, self.rng, action=reveal(policy), successors=False
        )
        actions, rewards = _decisions(played)
        weights = group_sums(
            played.weights, actions, self.parameters.K, played.total_weight
        )
        gained = sum(
            (int(w) * v for w, v in zip(weights.tolist(), futures, strict=True)),
            Fraction(0),
        )
        return Fraction(played.expectation(rewards)) + gained / played.total_weight

    def _consensus(self, path: Path, action: int) -> ConsensusTest:
        """Lines 4 to 9: V_a by consensus or by descent."""
        child = (*path, action)
        level = len(child) + 1
        if level > self.horizon:
            zero = Fraction(0)
            return ConsensusTest(child, None, zero, zero, zero, "end")
        # Line 4: D', n_test trajectories with actions p∘a.
        data = self.environment.observe(child, self.parameters.n_test, self.rng)
        for observer in self.observers:
            observer.tested(child, data)
        # Line 5: V_opt and V_pes, by two LPs.
        extremes, relaxed = self.programs.extremes(child, data)
        optimistic, pessimistic = extremes
        # Line 6: if |V_opt - V_pes| ≤ 2φ_{h+1} + 4ε_stat + 2ε_feas.
        if abs(optimistic - pessimistic) <= self.programs.limit(level):
            value = (optimistic + pessimistic) / 2  # line 7
            return ConsensusTest(child, data, *extremes, value, "consensus", relaxed)
        for observer in self.observers:
            observer.descending(child)
        value = self.dfslearn(child)  # line 9: V_a = dfslearn(p∘a)
        return ConsensusTest(child, data, *extremes, value, "descent", relaxed)

    def _store(self, triple: Triple) -> None:
        """Add to D_h, and |V - E_D[g(x_h)]| ≤ φ_h to the programs of level h."""
        h = triple.level
        self.datasets[h - 1].append(triple)
        if h > 1:  # nothing is ever tested at level 1
            self.programs.add(triple)
        for observer in self.observers:
            observer.stored(triple)

    def costs(
        self, data: EmpiricalMeasure, futures: Sequence[Fraction]
    ) -> NDArray[Any]:
        """Costs on D whose average is -V_D(π; {V_a}): -K 1{a}(r + V_a)."""
        actions, returns = _decisions(data)
        table = np.array(futures, dtype=object)
        if self.parameters.eps_sub < _FLOAT_COSTS:
            gains = data.exact_rewards + table[actions]
        else:
            gains = returns + table.astype(np.float64)[actions]
        return importance_costs(actions, gains, self.parameters.K)

    # ------------------------------------------------------------- Algorithm 2

    def polvalfun(self, step: PolicyStep) -> tuple[list[Any], Fraction]:
        """π̂_{1:H} by a policy step, and V̂* (Algorithm 2, or 4)."""
        estimate = self.datasets[0][0].value  # line 2: V of the only set in D_1
        levels = range(1, self.horizon + 1)  # line 3: for h = 1:H
        policies = [
            step(self, h) if self.datasets[h - 1] else self._any_policy(h)
            for h in levels
        ]
        return policies, estimate  # line 6

    def _any_policy(self, level: int) -> Any:
        """Give some policy of Π_h: no data set says anything about it."""
        data = self.environment.observe((0,) * (level - 1), 1, self.rng)
        zero = np.zeros((len(data), self.parameters.K))
        policies = self.policy_class.at_level(level)
        return csc(
            policies, data, zero, epsilon_sub=float(self.parameters.eps_sub)
        ).policy


def _decisions(
    data: EmpiricalMeasure,
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Actions and rewards, checked."""
    if data.actions is None or data.rewards is None:
        raise ValueError("data: actions or rewards are missing")
    if not 0 <= data.rewards.min() <= data.rewards.max() <= 1:
        raise ValueError("rewards: outside [0, 1]")
    return data.actions, data.rewards


def _cost(found: CscResult) -> Fraction:
    """Average cost, a rational: exact, or what the float stands for."""
    return Fraction(found.cost) if found.exact_cost is None else found.exact_cost
