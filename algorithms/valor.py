"""VALOR: values stored locally for RL (paper, Algorithms 1 to 3).

dfslearn walks down the tree of paths. Before it descends to a child it asks,
with two linear programs over the value functions that agree with what has been
learned at that level, whether they already agree on the child's value. The
policy is then found for each level by cost-sensitive classification on all data
sets of the level together, deployed, and where it falls short of the value
learned, its own trajectories are explored.

What the paper leaves open, and what is done here:

- An infeasible consensus program (erratum 11): cannot happen in event E. The
  run ends with status "failure", or descends, if parameters say ``fall_back``.
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

>>> from algorithms.classes import (PolicyClassByLevel, TabularPolicyClass,
...                                 TabularValueClass, ValueClassByLevel)
>>> from algorithms.environments import make
>>> from algorithms.parameters import TheoremParameters
>>> env = make("tabular", 1, states=2, actions=2, horizon=2)
>>> sizes = [env.space(h).n_codes for h in (1, 2)]
>>> G = ValueClassByLevel([TabularValueClass(n) for n in sizes])
>>> Pi = PolicyClassByLevel([TabularPolicyClass(n, 2) for n in sizes])
>>> parameters = TheoremParameters(0.3, 0.1, 2, 2, 2, G.log_size(), Pi.log_size())
>>> result = valor(env, G, Pi, parameters, np.random.default_rng(0))
>>> result.status, env.truth.policy_value(result.policies) == env.truth.optimal_value
('success', True)
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from algorithms.classes.protocols import PolicyClass, ValueClass
from algorithms.data import EmpiricalMeasure, pool
from algorithms.environments.protocol import Environment
from algorithms.local_values import (
    ConsensusTest,
    EventFailedError,
    Observer,
    Path,
    Triple,
)
from algorithms.metaalg import check_fit, metaalg
from algorithms.oracles.csc import csc, importance_costs
from algorithms.oracles.functionals import Constraint, Functional
from algorithms.oracles.ledger import Ledger, guard, reveal
from algorithms.oracles.lp import ValueProgram
from algorithms.oracles.results import CscResult, LpResult
from algorithms.parameters import Parameters
from algorithms.result import LearningResult

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
        values = guard(value_class)
        self._programs = {
            h: ValueProgram(values.at_level(h)) for h in range(2, self.horizon + 1)
        }

    # ------------------------------------------------------------- Algorithm 3

    def dfslearn(self, path: Path) -> Fraction:
        """Learn the state at the end of a path of h-1 actions; return Ṽ.

        Raises
        ------
        EventFailedError
            If something happens that cannot happen in event E.
        """
        h = len(path) + 1
        self._enter(path)
        tests = [  # line 3: for a in A
            self._consensus(path, a) for a in range(self.parameters.K)
        ]
        futures = tuple(test.value for test in tests)
        # Line 11: D̃, n_train trajectories with p and a_h uniform.
        data = self.environment.sample(
            path, self.parameters.n_train, self.rng, successors=False
        )
        # Line 12: Ṽ = max over Π_h of V_D̃(π; {V_a}), by CSC.
        found = csc(
            self.policy_class.at_level(h),
            data,
            self.costs(data, futures),
            epsilon_sub=float(self.parameters.eps_sub),
        )
        triple = Triple(path, data, -_cost(found), futures, tuple(tests))
        self._store(triple)  # line 13
        return triple.value  # line 14

    def _enter(self, path: Path) -> None:
        self.calls[len(path)] += 1
        if self.calls[len(path)] > self.parameters.T_max:
            raise EventFailedError(
                f"dfslearn was called more than T_max = {self.parameters.T_max} times "
                f"at level {len(path) + 1}, impossible in event E"
            )
        for observer in self.observers:
            observer.entered(path)

    def _consensus(self, path: Path, action: int) -> ConsensusTest:
        """Lines 4 to 9: V_a by consensus or by descent."""
        child = (*path, action)
        level = len(child) + 1
        if level > self.horizon:
            zero = Fraction(0)
            return ConsensusTest(child, None, zero, zero, zero, "end")
        parameters = self.parameters
        # Line 4: D', n_test trajectories with actions p∘a.
        data = self.environment.observe(child, parameters.n_test, self.rng)
        # Line 5: V_opt and V_pes, by two LPs.
        objective = Functional.expectation(data)
        best = self._optimise(level, objective, maximise=True)
        worst = best and self._optimise(level, objective, maximise=False)
        if best is None or worst is None:
            if not parameters.fall_back:
                raise EventFailedError(
                    f"no value function of level {level} agrees with what was learned "
                    f"(consensus test at path {list(child)}), impossible in event E"
                )
            value = self._descend(child)
            return ConsensusTest(child, data, None, None, value, "infeasible")
        optimistic, pessimistic = best[0], worst[0]
        # Line 6: if |V_opt - V_pes| ≤ 2φ_{h+1} + 4ε_stat + 2ε_feas.
        if abs(optimistic - pessimistic) <= parameters.consensus(level):
            value = (optimistic + pessimistic) / 2  # line 7
            return ConsensusTest(
                child, data, optimistic, pessimistic, value, "consensus"
            )
        value = self._descend(child)  # line 9: V_a = dfslearn(p∘a)
        return ConsensusTest(child, data, optimistic, pessimistic, value, "descent")

    def _descend(self, child: Path) -> Fraction:
        for observer in self.observers:
            observer.descending(child)
        return self.dfslearn(child)

    def _optimise(
        self, level: int, objective: Functional, *, maximise: bool
    ) -> tuple[Fraction] | None:
        """Optimum (in a tuple, as 0 is one too), or None where infeasible."""
        found: LpResult = self._programs[level].optimise(
            objective,
            maximise=maximise,
            epsilon_sub=float(self.parameters.eps_sub),
            epsilon_feas=float(self.parameters.eps_feas),
        )
        if not found.feasible or found.value is None:
            return None
        exact = found.exact_value
        return (Fraction(found.value) if exact is None else exact,)

    def _store(self, triple: Triple) -> None:
        """Add to D_h, and |V - E_D[g(x_h)]| ≤ φ_h to the programs of level h."""
        h = triple.level
        self.datasets[h - 1].append(triple)
        if h > 1:  # nothing is ever tested at level 1
            near = Constraint.near(
                Functional.expectation(triple.data),
                triple.value,
                self.parameters.phi(h),
            )
            self._programs[h].add(near)
        for observer in self.observers:
            observer.stored(triple)

    def costs(
        self, data: EmpiricalMeasure, futures: Sequence[Fraction]
    ) -> NDArray[Any]:
        """Costs on D whose average is -V_D(π; {V_a}): -K 1{a}(r + V_a)."""
        actions, returns = data.actions, data.rewards
        if actions is None or returns is None:
            raise ValueError("data: actions or rewards are missing")
        if not 0 <= returns.min() <= returns.max() <= 1:
            raise ValueError("rewards: outside [0, 1]")
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


def pooled_step(run: LocalValues, level: int) -> Any:
    """Line 4 of Algorithm 2: argmax over Π_h of Σ over D_h of V_D(π; {V_a}).

    One CSC call on all data sets of the level, equally weighted. The oracle's
    ε_sub is on their average, so the sum is off by at most |D_h| ε_sub, which the
    proposition on the policy has room for (it counts 4 ε_sub a data set and uses
    2 for the values).
    """
    triples = run.datasets[level - 1]
    costs = np.concatenate([run.costs(t.data, t.futures) for t in triples])
    found = csc(
        run.policy_class.at_level(level),
        pool([t.data for t in triples]),
        costs,
        epsilon_sub=float(run.parameters.eps_sub),
    )
    return found.policy


def valor(
    environment: Environment,
    value_class: ValueClass,
    policy_class: PolicyClass,
    parameters: Parameters,
    rng: np.random.Generator,
    *,
    observers: Sequence[Observer] = (),
) -> LearningResult:
    """Run VALOR: MetaAlg with dfslearn and the pooled policy step.

    Parameters
    ----------
    environment
        With deterministic hidden dynamics.
    value_class, policy_class
        G and Π, by level or stationary, with g* and π* in them; the run sees
        them through a guard, so that only oracles and evaluation get at them.
    parameters
        `TheoremParameters` or `PracticalParameters`.
    rng
        The only source of randomness.
    observers
        Monitors and progress bars.

    Returns
    -------
    LearningResult
        With status "failure", and the reason, where MetaAlg fails.

    Raises
    ------
    ValueError
        If environment, parameters and classes do not fit (`check_fit`), or a
        reward leaves [0, 1].
    """
    return learn_local_values(
        environment,
        value_class,
        policy_class,
        parameters,
        rng,
        pooled_step,
        observers=observers,
        name="valor",
    )


def learn_local_values(
    environment: Environment,
    value_class: ValueClass,
    policy_class: PolicyClass,
    parameters: Parameters,
    rng: np.random.Generator,
    step: PolicyStep,
    *,
    observers: Sequence[Observer] = (),
    name: str,
) -> LearningResult:
    """Run MetaAlg with dfslearn and any policy step; arguments as for `valor`."""
    check_fit(environment, parameters, value_class, policy_class, name)
    start, before = time.perf_counter(), environment.trajectories
    run = LocalValues(
        environment, value_class, policy_class, parameters, rng, observers
    )
    with Ledger() as ledger:
        outcome = metaalg(
            environment,
            parameters,
            rng,
            explore=run.dfslearn,
            optimise=lambda: run.polvalfun(step),
            observers=observers,
        )
    policies = outcome.policies
    return LearningResult(
        algorithm=name,
        environment=environment.name,
        status="success" if outcome.succeeded else "failure",
        policies=None if policies is None else tuple(reveal(p) for p in policies),
        estimate=outcome.estimate,
        trajectories=environment.trajectories - before,
        calls=dict(ledger.calls),
        reason=outcome.reason,
        iterations=outcome.iterations,
        learned=tuple(len(triples) for triples in run.datasets),
        parameters=parameters.to_json(),
        seconds=time.perf_counter() - start,
        event_failed=outcome.event_failed,
        unhonoured=sum(not call.honoured for call in ledger.entries),
    )


def _cost(found: CscResult) -> Fraction:
    """Average cost, a rational: exact, or what the float stands for."""
    return Fraction(found.cost) if found.exact_cost is None else found.exact_cost
