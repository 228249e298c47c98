"""VALOR: values stored locally for RL (paper, Algorithms 1 to 3).

dfslearn walks down the tree of paths. Before it descends to a child it asks,
with two linear programs over the value functions that agree with what has been
learned at that level, whether they already agree on the child's value. The
policy is then found for each level by cost-sensitive classification on all data
sets of the level together, deployed, and where it falls short of the value
learned, its own trajectories are explored.

What the paper leaves open, and what is done here:

- An infeasible consensus program (erratum 11): cannot happen in event E. The
  run ends with status "failure"; or, if parameters say ``fall_back``, φ of that
  level is doubled until some function agrees with the data.
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
from algorithms.metaalg import check_fit, metaalg
from algorithms.oracles.csc import csc, importance_costs
from algorithms.oracles.functionals import Constraint, Functional
from algorithms.oracles.ledger import Ledger, guard, reveal
from algorithms.oracles.lp import ValueProgram
from algorithms.oracles.results import CscResult, LpResult
from algorithms.parameters import Parameters
from algorithms.result import LearningResult
from algorithms.seeds import RecordedSeed
from algorithms.valor.local_values import (
    ConsensusTest,
    EventFailedError,
    Observer,
    Path,
    Triple,
)

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
        self._values = guard(value_class)
        deeper = range(2, self.horizon + 1)
        self._programs = {h: ValueProgram(self._values.at_level(h)) for h in deeper}
        self._scale = dict.fromkeys(deeper, 1)

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
        data = self._sample(path)
        # Line 12: Ṽ = max over Π_h of V_D̃(π; {V_a}), by CSC.
        found = csc(
            self.policy_class.at_level(h),
            data,
            self.costs(data, futures),
            epsilon_sub=float(self.parameters.eps_sub),
        )
        value = -_cost(found)
        if self.parameters.clip:
            value = min(max(value, Fraction(0)), Fraction(1))
        triple = Triple(path, data, value, futures, tuple(tests))
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

    def _sample(self, path: Path) -> EmpiricalMeasure:
        """Draw (x_h, a_h, r_h), n_train of them."""
        parameters, sample = self.parameters, self.environment.sample
        if not parameters.balanced:
            return sample(path, parameters.n_train, self.rng, successors=False)
        each = -(-parameters.n_train // parameters.K)
        return pool(
            [
                sample(path, each, self.rng, action=a, successors=False)
                for a in range(parameters.K)
            ]
        )

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
        objective = Functional.expectation(data)
        relaxed = False
        extremes = self._extremes(level, objective)
        while extremes is None:
            if not self.parameters.fall_back:
                raise EventFailedError(
                    f"no value function of level {level} agrees with what was learned "
                    f"(consensus test at path {list(child)}), impossible in event E"
                )
            relaxed = True
            self._relax(level)
            extremes = self._extremes(level, objective)
        optimistic, pessimistic = extremes
        # Line 6: if |V_opt - V_pes| ≤ 2φ_{h+1} + 4ε_stat + 2ε_feas.
        limit = self.parameters.consensus(level, self._scale[level])
        if abs(optimistic - pessimistic) <= limit:
            value = (optimistic + pessimistic) / 2  # line 7
            return ConsensusTest(child, data, *extremes, value, "consensus", relaxed)
        for observer in self.observers:
            observer.descending(child)
        value = self.dfslearn(child)  # line 9: V_a = dfslearn(p∘a)
        return ConsensusTest(child, data, *extremes, value, "descent", relaxed)

    def _extremes(
        self, level: int, objective: Functional
    ) -> tuple[Fraction, Fraction] | None:
        """V_opt and V_pes, or None where no function meets the constraints."""
        best = self._optimise(level, objective, maximise=True)
        if best is None:
            return None
        worst = self._optimise(level, objective, maximise=False)
        return None if worst is None else (best, worst)

    def _relax(self, level: int) -> None:
        """Double φ of a level until some function agrees with its data sets."""
        self._scale[level] *= 2
        program = ValueProgram(self._values.at_level(level))
        for triple in self.datasets[level - 1]:
            program.add(self._near(triple))
        self._programs[level] = program

    def _optimise(
        self, level: int, objective: Functional, *, maximise: bool
    ) -> Fraction | None:
        """Optimum, or None where infeasible."""
        found: LpResult = self._programs[level].optimise(
            objective,
            maximise=maximise,
            epsilon_sub=float(self.parameters.eps_sub),
            epsilon_feas=float(self.parameters.eps_feas),
        )
        if not found.feasible or found.value is None:
            return None
        exact = found.exact_value
        return Fraction(found.value) if exact is None else exact

    def _store(self, triple: Triple) -> None:
        """Add to D_h, and |V - E_D[g(x_h)]| ≤ φ_h to the programs of level h."""
        h = triple.level
        self.datasets[h - 1].append(triple)
        if h > 1:  # nothing is ever tested at level 1
            self._programs[h].add(self._near(triple))
        for observer in self.observers:
            observer.stored(triple)

    def _near(self, triple: Triple) -> Constraint:
        """|V - E_D[g(x_h)]| ≤ φ_h."""
        h = triple.level
        return Constraint.near(
            Functional.expectation(triple.data),
            triple.value,
            self.parameters.phi(h) * self._scale.get(h, 1),
        )

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
    seed = RecordedSeed.of(rng)
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
        seed=seed,
    )


def _cost(found: CscResult) -> Fraction:
    """Average cost, a rational: exact, or what the float stands for."""
    return Fraction(found.cost) if found.exact_cost is None else found.exact_cost
