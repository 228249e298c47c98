"""The global policy algorithm (paper, Algorithm 6): one policy for all states.

It keeps neither data nor values: only a policy π̂, the learned paths, which it was
fitted to, and the pruned paths, where it was found to be good. A path p is pruned if
for some learned path q of its level V_opt, the largest value at p of a function no
larger at q than π̂'s return there, is about that return, and π̂'s return at p is no
less: then V*(p) ≤ V_opt is about what π̂ gets at p. What the paper leaves open or gets
wrong: docs/global-policy.md.

>>> from olivine.algorithms.learning.draw_classes import make_classes
>>> from olivine.algorithms.environments import make
>>> from olivine.algorithms.global_policy import GlobalPolicyTheoremParameters
>>> env = make("tabular", 1, states=2, actions=2, horizon=2)
>>> rng = np.random.default_rng(0)
>>> G, Pi = make_classes(env, "tabular", rng)
>>> parameters = GlobalPolicyTheoremParameters(
...     0.3, 0.1, 2, 2, 2, G.log_size(), Pi.log_size())
>>> result = global_policy(env, G, Pi, parameters, rng)
>>> loss = env.truth.optimal_value - env.truth.policy_value(result.policies)
>>> result.status, loss <= parameters.eps
('success', True)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, NoReturn, Protocol

import numpy as np
from numpy.typing import NDArray

from ..classes.protocols import PolicyClass, ValueClass
from ..environments.protocol import Environment
from ..exact.data import EmpiricalMeasure, pool
from ..learning.events import (
    AtPath,
    Descending,
    Entered,
    EventFailedError,
    NewPolicies,
    Observer,
    Path,
    notify,
)
from ..learning.metaalg import EXACT_COSTS, exact_cost
from ..learning.problem import Frame, LearningResult, Problem, Run
from ..oracles import Constraint, Functional
from ..oracles.csc import csc, importance_costs
from ..oracles.ledger import evaluate, guard, unguard
from ..oracles.lp import ValueProgram
from ..oracles.multi import ClassificationSet, MultiResult, multi
from .parameters import GLOBAL_POLICY, GlobalPolicyParameters

Policies = tuple[Any, ...]  # π̂_1, ..., π̂_H at some time; None where there is none yet


@dataclass(frozen=True, eq=False)
class Comparison(AtPath):
    """One pass of TestLearned's loop over learned paths."""

    learned: Path  # q; the path is p
    # data, learned_data: d and D'_q: (x_h, a_h, return to go)
    data: EmpiricalMeasure
    learned_data: EmpiricalMeasure
    # mean, learned_mean: mean returns on D and on D'_q
    mean: Fraction
    learned_mean: Fraction
    optimum: Fraction | None  # V_opt; None where the program is infeasible
    same: bool  # Whether the test is true for this q
    policies: Policies  # π̂ at the time
    first: bool  # Whether D is new (it is shared by the loop)


@dataclass(frozen=True, eq=False)
class Refit(NewPolicies):
    """A new policy of a level."""

    level: int  # The level h, 1-based
    paths: tuple[Path, ...]  # learned(h), the new path last
    data: tuple[EmpiricalMeasure, ...]  # D_q of each path
    values: tuple[Fraction, ...]  # V̂(q) of each path
    policies: Policies  # π̂ with the new π̂_h; None there where the run fails
    feasible: bool  # Whether some policy met the constraints


@dataclass(frozen=True, eq=False)
class Return(AtPath):
    """A return from dfslearn."""

    outcome: Literal["pruned", "learned"]  # What the path became
    # learned, pruned: learned(h) and pruned(h) of its level
    learned: tuple[Path, ...]
    pruned: tuple[Path, ...]
    policies: Policies  # π̂ at the time


class LearnedTest(AtPath):
    """TestLearned is called with the path."""


@dataclass(frozen=True, eq=False)
class Rechecked(AtPath):
    """A pruned path was tested again after a change of policy."""

    passed: bool


class MultiOracle(Protocol):
    """A multi-data-set oracle, called as `oracles.multi.multi` is."""

    def __call__(
        self,
        policy_class: Any,
        /,
        sets: Sequence[ClassificationSet],
        *,
        epsilon_feas: float,
    ) -> MultiResult:
        """Find a policy of low cost on several data sets."""


class GlobalPolicyRun(Run):
    """The state of a run: learned and pruned paths, and the policy."""

    parameters: GlobalPolicyParameters

    def __init__(
        self,
        problem: Problem,
        parameters: GlobalPolicyParameters,
        rng: np.random.Generator,
        observers: Sequence[Observer] = (),
        multi_oracle: MultiOracle = multi,
    ) -> None:
        super().__init__(problem, parameters, rng, observers)
        self.learned: list[list[Path]] = [[] for _ in range(self.horizon)]
        self.pruned: list[list[Path]] = [[] for _ in range(self.horizon)]
        self.policies: list[Any] = [None] * self.horizon
        self.estimate: Fraction | None = None
        self.calls = 0
        self.tests = 0
        self._values: ValueClass = guard(problem.values)
        self._policy_class: PolicyClass = guard(problem.policies)
        self._multi = multi_oracle

    def dfslearn(self, path: Path, *, again: bool = False) -> None:
        """Learn or prune the state after a path; learn it untested if ``again``."""
        h = len(path) + 1  # let h = |p|+1 (printed |p|-1)
        if h > self.horizon:  # nothing is left to do after the last level
            return
        self._enter(path)
        if not again and self.test_learned(path):
            self.pruned[h - 1].append(path)  # add p to pruned(h)
            self._returned(path, again=again)
            return
        notify(self.observers, Descending(path))
        for a in range(self.parameters.K):  # for a in A
            self.dfslearn((*path, a))
        self.learned[h - 1].append(path)  # add p to learned(h)
        self.policies[h - 1] = self._fit(h)
        for q in tuple(self.pruned[h - 1]):  # for q in pruned(h), as it is now
            if q in self.pruned[h - 1] and not self._recheck(q):
                self.pruned[h - 1].remove(q)
                self.dfslearn(q, again=True)
        self._returned(path, again=again)

    def _enter(self, path: Path) -> None:
        self.calls += 1
        notify(self.observers, Entered(path))
        if self.calls > self.parameters.T_max:
            self._failed("dfslearn was called more than T_max times")

    def _recheck(self, path: Path) -> bool:
        passed = self.test_learned(path)
        notify(self.observers, Rechecked(path, passed))
        return passed

    def _returned(self, path: Path, *, again: bool) -> None:
        if again:  # to a call at the same level, which is not done yet
            return
        h = len(path) + 1
        learned, pruned = tuple(self.learned[h - 1]), tuple(self.pruned[h - 1])
        outcome = "learned" if path in learned else "pruned"
        step = Return(path, outcome, learned, pruned, self.played())  # type: ignore[arg-type]
        notify(self.observers, step)

    def _failed(self, what: str) -> NoReturn:
        raise EventFailedError(f"{what}, impossible in the event of the bounds")

    def played(self) -> Policies:
        """π̂ as the environment plays it: it may see through guards."""
        return tuple(unguard(policy) for policy in self.policies)

    def test_learned(self, path: Path) -> bool:
        """Whether π̂ is good at the end of a path, by comparison with learned ones."""
        self.tests += 1
        notify(self.observers, LearnedTest(path))
        if self.tests > self.parameters.T_max:
            self._failed("TestLearned was called more than T_max times")
        h = len(path) + 1
        if not self.learned[h - 1]:
            return False
        data = self._roll_out(path)  # D, n_test trajectories with p, then π̂_{h:H}
        for number, q in enumerate(self.learned[h - 1]):  # for q in learned(h)
            learned = self._roll_out(q)  # D'_q, the same with q
            comparison = self._compare(path, q, data, learned, first=number == 0)
            notify(self.observers, comparison)
            if comparison.optimum is None and not self.parameters.fall_back:
                self._failed(
                    f"no value function of level {h} agrees with a learned path"
                )
            if comparison.same:
                return True
        return False

    def _roll_out(self, path: Path) -> EmpiricalMeasure:
        n = self.parameters.n_test
        return self._returns((*path, *self._playable()[len(path) :]), path, n)

    def _returns(self, rules: Sequence[Any], path: Path, n: int) -> EmpiricalMeasure:
        return self.environment.draw(rules, n, self.rng, level=len(path) + 1)

    def _playable(self) -> list[Any]:
        """π̂ with a placeholder where there is none yet."""
        return [_unset if p is None else p for p in self.played()]

    def _compare(
        self,
        path: Path,
        q: Path,
        data: EmpiricalMeasure,
        learned: EmpiricalMeasure,
        *,
        first: bool,
    ) -> Comparison:
        p, h = self.parameters, len(path) + 1
        mean, learned_mean = _mean_return(data), _mean_return(learned)
        optimum = self._largest_value(h, data, learned, learned_mean + p.excess(h))
        # if V_opt ≤ E_D'[r̄] + φ_h + 4τ_val and E_D[r̄] ≥ E_D'[r̄] - 2τ_val
        same = (
            optimum is not None
            and optimum <= learned_mean + p.identity(h)
            and mean >= learned_mean - 2 * p.tau_val
        )
        means = mean, learned_mean, optimum
        return Comparison(path, q, data, learned, *means, same, self.played(), first)

    def _largest_value(
        self,
        level: int,
        data: EmpiricalMeasure,
        learned: EmpiricalMeasure,
        limit: Fraction,
    ) -> Fraction | None:
        """V_opt = max E_D[g] over g ∈ G_h with E_D'[g] ≤ E_D'[r̄] + φ_h + 2τ_val."""
        constraint = Constraint(Functional.expectation(learned), upper=limit)
        found = ValueProgram(self._values.at_level(level), [constraint]).optimise(
            Functional.expectation(data),
            maximise=True,
            epsilon_sub=float(self.parameters.eps_sub),
            epsilon_feas=float(self.parameters.eps_feas),
        )
        if not found.feasible or found.function is None:
            return None
        if found.exact_value is not None:
            return found.exact_value
        values = evaluate(found.function, data.observations)
        return data.expectation_exact(values)  # so that no rounding decides

    def _fit(self, level: int) -> Any:
        """π̂_h: within 2τ_pol of V̂(q) on the data set of every learned path."""
        p = self.parameters
        policy_class = self._policy_class.at_level(level)
        datasets, costs, values = [], [], []
        for q in self.learned[level - 1]:  # for q in learned(h)
            # D_q: n_train trajectories with q, a_h uniform, then π̂_{h+1:H}.
            rules = (*q, "uniform", *self._playable()[level:])
            data = self._returns(rules, q, p.n_train)
            cost = self._costs(data)
            # V̂(q) = max over Π_h of E_D[K 1{a_h = π(x_h)} r̄], by CSC.
            found = csc(policy_class, data, cost, epsilon_sub=float(p.eps_sub))
            values.append(-exact_cost(found))
            datasets.append(data)
            costs.append(cost)
        sets = [
            ClassificationSet(data, cost, 2 * p.tau_pol - value)
            for data, cost, value in zip(datasets, costs, values, strict=True)
        ]
        # π̂_h: for all q, E_D[K 1{a_h = π(x_h)} r̄] ≥ V̂(q) - 2τ_pol.
        answer = self._multi(policy_class, sets, epsilon_feas=float(p.eps_feas))
        if level == 1:
            self.estimate = values[0]
        policy: Any = answer.policy
        if not answer.feasible and p.fall_back:
            # The policy that is best on the average over the data sets.
            policy = csc(
                policy_class,
                pool(datasets),
                np.concatenate(costs),
                epsilon_sub=float(p.eps_sub),
            ).policy
        self._tell(level, datasets, values, policy, answer.feasible)
        if policy is None:
            why = f"{answer.status.value} {answer.reason}".rstrip()
            self._failed(f"fitting the policy of level {level}: {why}")
        return policy

    def _costs(self, data: EmpiricalMeasure) -> NDArray[Any]:
        """Costs on D whose average is -E_D[K 1{a_h = π(x_h)} r̄]."""
        returns, actions = data.rewards, data.actions
        if returns is None or actions is None:
            raise ValueError("data: actions or returns are missing")
        exact = self.parameters.eps_sub < EXACT_COSTS
        gains = data.exact_rewards if exact else returns
        return importance_costs(actions, gains, self.parameters.K)

    def _tell(
        self,
        level: int,
        datasets: Sequence[EmpiricalMeasure],
        values: Sequence[Fraction],
        policy: Any,
        feasible: bool,
    ) -> None:
        policies = list(self.played())
        policies[level - 1] = unguard(policy)
        paths = tuple(self.learned[level - 1])
        sets, found = tuple(datasets), tuple(values)
        refit = Refit(level, paths, sets, found, tuple(policies), feasible)
        notify(self.observers, refit)


def global_policy(
    environment: Environment,
    value_class: ValueClass,
    policy_class: PolicyClass,
    parameters: GlobalPolicyParameters,
    rng: np.random.Generator,
    *,
    observers: Sequence[Observer] = (),
    multi_oracle: MultiOracle = multi,
) -> LearningResult:
    """Run the global policy algorithm.

    Parameters
    ----------
    environment
        With deterministic hidden dynamics.
    value_class, policy_class
        G, with g* in it, and Π, policy complete: for every level and policy of later
        levels it holds one that is best at every observation. By level or stationary;
        the run sees them through a guard, so that only oracles and evaluation get at
        them.
    parameters
        `GlobalPolicyTheoremParameters` or `GlobalPolicyPracticalParameters`.
    rng
        The only source of randomness.
    observers
        Monitors and progress bars.
    multi_oracle
        What fits policies: any policy that it may return is as good for the theorem.

    Returns
    -------
    LearningResult
        Its estimate is V̂ of the root. Status "failure" after something that cannot
        happen in the event of the deviation bounds.

    Raises
    ------
    ValueError
        If environment, parameters and classes do not fit, or a return leaves [0, 1].
    """
    problem = Problem.of(environment, value_class, policy_class)
    problem.check(parameters, GLOBAL_POLICY)
    run = GlobalPolicyRun(problem, parameters, rng, observers, multi_oracle)
    failure = None
    with Frame(GLOBAL_POLICY, environment, parameters, rng) as frame:
        try:
            run.dfslearn(())
        except EventFailedError as event:
            failure = str(event)
    played = run.played()
    return frame.result(
        None if None in played else played,
        run.estimate,
        failure,
        iterations=1,
        learned=tuple(map(len, run.learned)),
        event_failed=failure is not None,
    )


def _mean_return(data: EmpiricalMeasure) -> Fraction:
    returns = data.rewards
    if returns is None:
        raise ValueError("data: returns are missing")
    if not 0 <= returns.min() <= returns.max() <= 1:
        raise ValueError("returns: outside [0, 1]")
    return data.expectation_exact(data.exact_rewards)


def _unset(observations: Any) -> NoReturn:
    raise RuntimeError("a policy is played before it is set")
