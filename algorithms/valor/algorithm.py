"""VALOR: values stored locally for RL (paper, Algorithms 1 to 4).

dfslearn (Algorithm 3) walks down the tree of paths, past children whose value the
functions that agree with what was learned agree on (`consensus`). polvalfun then finds
a policy for each level: VALOR (Algorithm 2) and its constrained form (Algorithm 4)
differ in this step. What the paper leaves open is in docs/valor.md.

>>> from olivine.algorithms.environments import make
>>> from olivine.algorithms.learning.draw_classes import make_classes
>>> from olivine.algorithms.valor.parameters import TheoremParameters
>>> env = make("tabular", 1, states=2, actions=2, horizon=2)
>>> rng = np.random.default_rng(0)
>>> G, Pi = make_classes(env, "tabular", rng)
>>> parameters = TheoremParameters(0.3, 0.1, 2, 2, 2, G.log_size(), Pi.log_size())
>>> result = valor(env, G, Pi, parameters, rng)
>>> result.status, env.truth.policy_value(result.policies) == env.truth.optimal_value
('success', True)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..classes.protocols import PolicyClass, ValueClass
from ..environments.protocol import Environment
from ..exact.arrays import group_sums
from ..exact.data import EmpiricalMeasure, pool
from ..learning.events import (
    ConsensusTest,
    Descending,
    EventFailedError,
    Observer,
    Path,
    Sampled,
    Triple,
    notify,
)
from ..learning.metaalg import (
    EXACT_COSTS,
    decisions,
    enter,
    exact_cost,
    learn,
    training_set,
)
from ..learning.problem import LearningResult, Problem, Run
from ..oracles import Constraint, Functional
from ..oracles.csc import csc, importance_costs
from ..oracles.ledger import guard, unguard
from ..oracles.lp import ValueProgram
from ..oracles.lp_polyhedral import LpResult
from ..oracles.multi import multi
from ..oracles.multi_data import ClassificationSet
from .parameters import CONSTRAINED, VALOR, ValorParameters

PolicyStep = Callable[["LocalValues", int], Any]
"""Line 4 of polvalfun: π̂_h from the data sets of level h."""


class LocalValues(Run):
    """The state of a run: data sets D_1, ..., D_H, and programs over G_h."""

    parameters: ValorParameters

    def __init__(
        self,
        problem: Problem,
        parameters: ValorParameters,
        rng: np.random.Generator,
        observers: Sequence[Observer] = (),
    ) -> None:
        super().__init__(problem, parameters, rng, observers)
        self.policy_class = guard(problem.policies)
        self.datasets: list[list[Triple]] = [[] for _ in range(self.horizon)]
        self.calls = [0] * self.horizon
        self.programs = self._programs_over(problem.values)

    def _programs_over(self, values: ValueClass) -> ConsensusPrograms:
        given = values, self.parameters, self.horizon, self.observations
        return ConsensusPrograms(*given)

    def observations(self, triple: Triple) -> EmpiricalMeasure:
        """Give the draws of x_h behind the constraint of a learned state."""
        return triple.data

    def dfslearn(self, path: Path) -> Fraction:
        """Learn the state at the end of a path of h-1 actions; return Ṽ."""
        enter(path, self.calls, self.parameters.T_max, self.observers)
        tests = [  # line 3: for a in A
            self._consensus(path, a) for a in range(self.parameters.K)
        ]
        futures = tuple(test.value for test in tests)
        # Line 11: D̃, n_train trajectories with p and a_h uniform.
        data = self._training_set(path)
        value = self._value(path, data, futures)  # line 12
        triple = Triple(path, data, value, futures, tuple(tests))
        self._store(triple)  # line 13
        return triple.value  # line 14

    def _training_set(self, path: Path) -> EmpiricalMeasure:
        return training_set(
            self.environment, path, self.parameters, self.rng, successors=False
        )

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
            value = -exact_cost(found)
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
        rules = (*path, unguard(policy))
        played = self.environment.draw(rules, fresh, self.rng, successors=False)
        return self._mean_return(played, futures)

    def _mean_return(
        self, played: EmpiricalMeasure, futures: Sequence[Fraction]
    ) -> Fraction:
        actions, rewards = decisions(played)
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
        if len(child) == self.horizon:
            zero = Fraction(0)
            return ConsensusTest(child, None, zero, zero, zero, "end")
        return self._test(child)

    def _test(self, child: Path) -> ConsensusTest:
        """Lines 4 to 9 at a child of a level 2..H."""
        # Line 4: D', n_test trajectories with actions p∘a.
        h, n_test = len(child) + 1, self.parameters.n_test
        data = self.environment.draw(child, n_test, self.rng, level=h)
        notify(self.observers, Sampled(child, data))
        # Line 5: V_opt and V_pes, by two LPs.
        extremes, relaxed = self.programs.extremes(child, data)
        optimistic, pessimistic = extremes
        # Line 6: if |V_opt - V_pes| ≤ 2φ_{h+1} + 4ε_stat + 2ε_feas.
        if abs(optimistic - pessimistic) <= self.programs.limit(h):
            value = (optimistic + pessimistic) / 2  # line 7
            return ConsensusTest(child, data, *extremes, value, "consensus", relaxed)
        return self._descend(child, data, extremes, relaxed)

    def _descend(
        self,
        child: Path,
        data: EmpiricalMeasure,
        extremes: tuple[Fraction, Fraction],
        relaxed: bool,
    ) -> ConsensusTest:
        """Line 9: V_a = dfslearn(p∘a), after a test that found no consensus."""
        notify(self.observers, Descending(child))
        value = self.dfslearn(child)
        return ConsensusTest(child, data, *extremes, value, "descent", relaxed)

    def _store(self, triple: Triple) -> None:
        """Add to D_h, and |V - E_D[g(x_h)]| ≤ φ_h to the programs of level h."""
        h = triple.level
        self.datasets[h - 1].append(triple)
        if h > 1:  # nothing is ever tested at level 1
            self.programs.add(triple)
        notify(self.observers, triple)

    def costs(
        self, data: EmpiricalMeasure, futures: Sequence[Fraction]
    ) -> NDArray[Any]:
        """Costs on D whose average is -V_D(π; {V_a}): -K 1{a}(r + V_a)."""
        actions, returns = decisions(data)
        table = np.array(futures, dtype=object)
        if self.parameters.eps_sub < EXACT_COSTS:
            gains = data.exact_rewards + table[actions]
        else:
            gains = returns + table.astype(np.float64)[actions]
        return importance_costs(actions, gains, self.parameters.K)

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
        data = self.environment.draw((0,) * (level - 1), 1, self.rng, level=level)
        zero = np.zeros((len(data), self.parameters.K))
        policies = self.policy_class.at_level(level)
        return csc(
            policies, data, zero, epsilon_sub=float(self.parameters.eps_sub)
        ).policy


@singledispatch
def local_values(
    parameters: ValorParameters,
    problem: Problem,
    rng: np.random.Generator,
    observers: Sequence[Observer],
) -> LocalValues:
    """Make the state of a run; ``local_values.register`` adds a kind of parameters."""
    return LocalValues(problem, parameters, rng, observers)


def pooled_step(run: LocalValues, level: int) -> Any:
    """Line 4 of Algorithm 2: argmax over Π_h of Σ over D_h of V_D(π; {V_a}).

    One CSC call on all data sets of the level: the sum is off by at most |D_h| ε_sub,
    for which the proposition has room (4 ε_sub a data set, 2 used for the values).
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


def constrained_step(run: LocalValues, level: int) -> Any:
    """Line 4 of Algorithm 4: E_D[K 1{π(x_h) = a_h}(r_h + V_{a_h})] ≥ V - 2φ_h + ...

    The margin is 4ε_stat + ε_sub, met within ε_feas. Raises EventFailedError if no
    policy does, and parameters do not fall back.
    """
    p = run.parameters
    slack = 2 * p.phi(level) - 4 * p.eps_stat - p.eps_sub
    sets = [
        ClassificationSet(t.data, run.costs(t.data, t.futures), slack - t.value)
        for t in run.datasets[level - 1]
    ]
    found = multi(
        run.policy_class.at_level(level), sets, epsilon_feas=float(p.eps_feas)
    )
    if found.feasible:
        return found.policy
    if p.fall_back:
        return pooled_step(run, level)
    raise EventFailedError(
        f"constrained policy step at level {level}: {found.status.value} "
        f"{found.reason}".rstrip()
        + ", impossible in event E"
    )


def valor(
    environment: Environment,
    value_class: ValueClass,
    policy_class: PolicyClass,
    parameters: ValorParameters,
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
        G and Π, by level or stationary, with g* and π* in them; the run sees them
        through a guard, so that only oracles and evaluation get at them.
    parameters
        `TheoremParameters` or `PracticalParameters`; or `FrugalParameters`, with which
        data are drawn and read as `olivine.algorithms.valor.frugal` says.
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
        If environment, parameters and classes do not fit, or a reward leaves [0, 1].
    """
    problem = Problem.of(environment, value_class, policy_class)
    return _learn(VALOR, problem, parameters, rng, pooled_step, observers)


def valor_constrained(
    environment: Environment,
    value_class: ValueClass,
    policy_class: PolicyClass,
    parameters: ValorParameters,
    rng: np.random.Generator,
    *,
    observers: Sequence[Observer] = (),
) -> LearningResult:
    """Run VALOR with the constrained policy step; everything as for `valor`."""
    problem = Problem.of(environment, value_class, policy_class)
    return _learn(CONSTRAINED, problem, parameters, rng, constrained_step, observers)


def _learn(
    algorithm: str,
    problem: Problem,
    parameters: ValorParameters,
    rng: np.random.Generator,
    step: PolicyStep,
    observers: Sequence[Observer],
) -> LearningResult:
    problem.check(parameters, algorithm)
    run = local_values(parameters, problem, rng, observers)
    return learn(
        algorithm,
        run,
        explore=run.dfslearn,
        optimise=lambda: run.polvalfun(step),
        learned=lambda: map(len, run.datasets),
    )


class ConsensusPrograms:
    """Linear programs of levels 2 to H, growing with the data sets (lines 5 and 6).

    They find the highest and the lowest value at a child over the functions of G_h
    within φ_h of every learned value. Infeasible ones cannot happen in event E: the run
    fails, or, with ``fall_back``, doubles φ of that level until some function agrees.
    """

    def __init__(
        self,
        value_class: ValueClass,
        parameters: ValorParameters,
        horizon: int,
        observations: Callable[[Triple], EmpiricalMeasure],
    ) -> None:
        self.parameters = parameters
        self._values = guard(value_class)
        deeper = range(2, horizon + 1)
        self._programs = {h: ValueProgram(self._values.at_level(h)) for h in deeper}
        # Learned states, which constrain the programs of their level
        self.triples: dict[int, list[Triple]] = {h: [] for h in deeper}
        self._scale = dict.fromkeys(deeper, 1)
        self._observations = observations

    def add(self, triple: Triple) -> None:
        """Constrain a level by |V - E_D[g(x_h)]| ≤ φ_h."""
        self.triples[triple.level].append(triple)
        self._programs[triple.level].add(self._near(triple))

    def limit(self, level: int) -> Fraction:
        """Largest V_opt - V_pes that is a consensus, φ doubled as often as it was."""
        return self.parameters.consensus(level, self._scale[level])

    def extremes(
        self, path: Path, data: EmpiricalMeasure
    ) -> tuple[tuple[Fraction, Fraction], bool]:
        """V_opt and V_pes of D' at the end of a path, and whether φ was doubled."""
        level, objective = len(path) + 1, Functional.expectation(data)
        relaxed = False
        while (extremes := self._extremes(level, objective)) is None:
            if not self.parameters.fall_back:
                raise EventFailedError(
                    f"no value function of level {level} agrees with what was learned "
                    f"(consensus test at path {list(path)}), impossible in event E"
                )
            relaxed = True
            self._scale[level] *= 2
            self.rebuild(level)
        return extremes, relaxed

    def noise(self, level: int, batches: Sequence[EmpiricalMeasure]) -> Fraction:
        """How far V_opt - V_pes of one state differs between two samples, at most."""
        others = Functional.expectation(pool(batches[:-1], shares="draws"))
        last = Functional.expectation(batches[-1])
        extremes = self._extremes(level, others.minus(last))
        return Fraction(0) if extremes is None else extremes[0] - extremes[1]

    def _extremes(
        self, level: int, objective: Functional
    ) -> tuple[Fraction, Fraction] | None:
        """V_opt and V_pes, or None where no function meets the constraints."""
        found = self.solve(level, objective)
        return None if found is None else (optimum(found[0]), optimum(found[1]))

    def solve(
        self, level: int, objective: Functional
    ) -> tuple[LpResult, LpResult] | None:
        """Maximum and minimum of a functional, or None where infeasible."""
        results = []
        for maximise in (True, False):
            found: LpResult = self._programs[level].optimise(
                objective,
                maximise=maximise,
                epsilon_sub=float(self.parameters.eps_sub),
                epsilon_feas=float(self.parameters.eps_feas),
            )
            if not found.feasible or found.value is None:
                return None
            results.append(found)
        return results[0], results[1]

    def rebuild(self, level: int) -> None:
        """Make the program of a level anew: φ, or what was seen, has changed."""
        constraints = [self._near(triple) for triple in self.triples[level]]
        self._programs[level] = ValueProgram(self._values.at_level(level), constraints)

    def _near(self, triple: Triple) -> Constraint:
        """|V - E_D[g(x_h)]| ≤ φ_h."""
        h = triple.level
        return Constraint.near(
            Functional.expectation(self._observations(triple)),
            triple.value,
            self.parameters.phi(h) * self._scale[h],
        )


def optimum(found: LpResult) -> Fraction:
    """Optimum of a feasible program, as a rational."""
    exact = found.exact_value
    return Fraction(found.value or 0) if exact is None else exact
