"""Three algorithms that go backwards over levels: PSDP, fitted Q iteration, backups.

PSDP (Bagnell, Kakade, Ng, Schneider 2003) classifies on returns to go; fitted Q
iteration (Ernst, Geurts, Wehenkel 2005) regresses Q_h on r + max_a' Q̂_{h+1}, over
G_h^K; Bellman backups (paper, appendix Additional Barriers) take n samples of *every*
hidden state:

- π̂_h = argmax over Π_h of Σ_s Ê_s[r + ĝ_{h+1}(x') | a = π(x)],
- ĝ_h = argmin over G_h of Σ_s Ê_s[(g(x) - r - ĝ_{h+1}(x'))² | a = π̂_h(x)].

None knows whether it succeeded: the status is always "success". Guarantees are in
docs/baselines.md. Observers get a `LevelFit` of every level.

>>> from olivine.algorithms.baselines.parameters import theorem_parameters
>>> from olivine.algorithms.classes import PolicyClassByLevel, TabularPolicyClass
>>> from olivine.algorithms.environments import make
>>> env = make("tabular", 1, states=2, actions=2, horizon=2)
>>> Pi = PolicyClassByLevel(
...     [TabularPolicyClass(env.space(h).n_codes, 2) for h in (1, 2)])
>>> parameters = theorem_parameters("psdp", 0.3, 0.1, M=2, K=2, H=2,
...                                 log_Pi=Pi.log_size())
>>> result = psdp(env, Pi, parameters, np.random.default_rng(0))
>>> env.truth.policy_value(result.policies) == env.truth.optimal_value
True
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..classes.protocols import PolicyClass, ValueClass
from ..environments.protocol import ActionRule, Environment, Path
from ..exact.data import EmpiricalMeasure, pool
from ..learning.draw_classes import paths_to_states
from ..learning.events import NewPolicies, Observer, notify
from ..learning.metaalg import decisions, exact_cost, next_values, policy_costs
from ..learning.problem import Frame, LearningResult, Problem
from ..oracles import CscResult, LeastSquaresResult
from ..oracles.csc import csc
from ..oracles.least_squares import least_squares
from ..oracles.ledger import evaluate, guard, unguard
from .parameters import BACKUP, FQI, PSDP, BatchParameters, check_batch


@dataclass(frozen=True, eq=False)
class LevelFit(NewPolicies):
    """What a backward pass found at a level."""

    level: int  # h, 1-based; levels come from H down to 1
    data: EmpiricalMeasure  # The data of the level
    policy: Any  # π̂_h
    # ĝ_h (backup), Q̂_h(·, a) for each action a (fitted Q iteration), or none (PSDP)
    functions: tuple[Any, ...] = ()
    # Average squared losses that the LS oracle reported, one for each function
    losses: tuple[float, ...] = ()

    @property
    def by_level(self) -> Mapping[int, Any]:
        """π̂_h alone: levels before h have no policy yet."""
        return {self.level: self.policy}


class Greedy:
    """The greedy policy of K value functions: argmax_a Q(x, a), ties to the lowest."""

    def __init__(self, functions: Sequence[Any]) -> None:
        self.functions = tuple(functions)

    def __call__(self, observations: Any, /) -> NDArray[np.int64]:
        """Actions at n observations, shape (n,)."""
        values = [evaluate(g, observations) for g in self.functions]
        return np.asarray(np.argmax(values, axis=0), dtype=np.int64)

    def unguarded(self) -> Greedy:
        """Return the same policy without guards."""
        return Greedy([unguard(g) for g in self.functions])


@dataclass(frozen=True, eq=False)
class _Found:
    """What a step found, through guards; at the last one V̂ and its standard error."""

    data: EmpiricalMeasure
    policy: Any
    estimate: Callable[[], tuple[Fraction, float | None]]
    fits: tuple[LeastSquaresResult, ...] = ()


_Step = Callable[[int, Sequence[Any], Sequence[Any]], _Found]
"""Of a level h, given π̂_{h+1:H} without guards, and the functions of level h+1."""


def _backwards(
    environment: Environment,
    parameters: BatchParameters,
    rng: np.random.Generator,
    observers: Sequence[Observer],
    step: _Step,
) -> LearningResult:
    policies: list[Any] = []
    ahead: tuple[Any, ...] = ()
    with Frame(parameters.algorithm, environment, parameters, rng) as frame:
        for h in range(environment.horizon, 0, -1):
            found = step(h, policies, ahead)
            policy = found.policy
            bare = policy.unguarded() if isinstance(policy, Greedy) else unguard(policy)
            policies.insert(0, bare)
            ahead = tuple(fit.function for fit in found.fits)
            losses = tuple(fit.loss for fit in found.fits)
            seen = tuple(map(unguard, ahead))
            notify(observers, LevelFit(h, found.data, bare, seen, losses))
        estimate, error = found.estimate()
    return frame.result(policies, estimate, iterations=1, estimate_error=error)


def psdp(
    environment: Environment,
    policy_class: PolicyClass,
    parameters: BatchParameters,
    rng: np.random.Generator,
    *,
    observers: Sequence[Observer] = (),
) -> LearningResult:
    """Run PSDP with uniform roll-in and the CSC oracle, n trajectories per level.

    Dynamics may be stochastic. The estimate is the weighted average return of π̂_1 in
    its own data. ValueError if classes do not fit, or a return leaves [0, 1].
    """
    problem = Problem(environment, policies=policy_class)
    check_batch(problem, parameters, PSDP)
    environment = problem.environment
    classes = guard(policy_class)

    def step(h: int, later: Sequence[Any], ahead: Sequence[Any]) -> _Found:
        # The environment, not the algorithm, plays policies: it may see them.
        data = uniform_rollouts(environment, h, parameters.n, rng, later)
        end = np.zeros(len(data))  # returns are whole
        found = _classify(classes.at_level(h), data, end, parameters)

        def estimate() -> tuple[Fraction, float]:
            actions, gained = decisions(data)
            taken = evaluate(found.policy, data.observations) == actions
            weighted = parameters.K * taken * gained
            mean = data.expectation(weighted)
            variance = data.expectation((weighted - mean) ** 2)
            return -exact_cost(found), math.sqrt(variance / data.draws)

        return _Found(data, found.policy, estimate)

    return _backwards(environment, parameters, rng, observers, step)


def fqi(
    environment: Environment,
    value_class: ValueClass,
    parameters: BatchParameters,
    rng: np.random.Generator,
    *,
    observers: Sequence[Observer] = (),
) -> LearningResult:
    """Run fitted Q iteration with uniform roll-in and the LS oracle over G_h^K.

    Dynamics may be stochastic; n trajectories per level. The estimate is the average of
    max_a Q̂_1(x, a) over the first observations. ValueError as for `psdp`.
    """
    problem = Problem(environment, value_class)
    check_batch(problem, parameters, FQI)
    environment = problem.environment
    classes = guard(value_class)

    def step(h: int, later: Sequence[Any], ahead: Sequence[Any]) -> _Found:
        data = uniform_roll_in(environment, h, parameters.n, rng)
        actions, rewards = decisions(data)
        targets = rewards + next_values(data, ahead)
        fits = tuple(
            least_squares(
                classes.at_level(h),
                data,
                targets,
                epsilon_sub=float(parameters.eps_sub),
                importance=parameters.K * (actions == b).astype(np.float64),
            )
            for b in range(parameters.K)
        )
        functions = [fit.function for fit in fits]

        def estimate() -> tuple[Fraction, float]:
            values = np.array([evaluate(g, data.observations) for g in functions])
            best = values.max(axis=0)
            # Squared residuals of each action's fit, the maximising one's on average.
            losses = np.array([float(fit.loss) for fit in fits])
            square = data.expectation(losses[values.argmax(axis=0)])
            error = math.sqrt(parameters.K * square / data.draws)
            return data.expectation_exact(best), error

        return _Found(data, Greedy(functions), estimate, fits)

    return _backwards(environment, parameters, rng, observers, step)


def backup(
    environment: Environment,
    value_class: ValueClass,
    policy_class: PolicyClass,
    parameters: BatchParameters,
    rng: np.random.Generator,
    *,
    observers: Sequence[Observer] = (),
) -> LearningResult:
    """Run the Bellman backup algorithm with the CSC and LS oracles.

    Dynamics are deterministic; the truth gives paths to states, n trajectories for
    each. The estimate is the average of ĝ_1. ValueError as for `psdp`.
    """
    problem = Problem.of(environment, value_class, policy_class)
    check_batch(problem, parameters, BACKUP, deterministic=True)
    environment = problem.environment
    values, classes = guard(value_class), guard(policy_class)
    paths = [list(level.values()) for level in paths_to_states(environment)]
    p = parameters

    def samples(h: int, rule: ActionRule) -> EmpiricalMeasure:
        """Sample n of each state, states equally weighted as in Σ_s."""
        here: Sequence[Path] = paths[h - 1]
        return pool([environment.draw((*path, rule), p.n, rng) for path in here])

    def step(h: int, later: Sequence[Any], ahead: Sequence[Any]) -> _Found:
        # What π̂_h is found on: uniform actions, or each equally often.
        if p.per_action:
            data = pool([samples(h, a) for a in range(p.K)])
        else:
            data = samples(h, "uniform")
        policy = _classify(
            classes.at_level(h), data, next_values(data, ahead), p
        ).policy
        importance = None
        if p.on_policy:
            data = samples(h, unguard(policy))
        actions, rewards = decisions(data)
        if not p.on_policy:  # given a = π̂_h(x)
            taken = evaluate(policy, data.observations) == actions
            importance = p.K * taken.astype(np.float64)
        fit = least_squares(
            values.at_level(h),
            data,
            rewards + next_values(data, ahead),
            epsilon_sub=float(p.eps_sub),
            importance=importance,
        )

        def estimate() -> tuple[Fraction, None]:
            values = evaluate(fit.function, data.observations)
            return data.expectation_exact(values), None

        return _Found(data, policy, estimate, (fit,))

    return _backwards(environment, parameters, rng, observers, step)


def _classify(
    policy_class: Any,
    data: EmpiricalMeasure,
    ahead: NDArray[np.float64],
    parameters: BatchParameters,
) -> CscResult:
    """CSC on costs -K 1{a}(r + V(x')), V given at each row."""
    costs = policy_costs(data, ahead, parameters.eps_sub, parameters.K)
    return csc(policy_class, data, costs, epsilon_sub=float(parameters.eps_sub))


def uniform_roll_in(
    environment: Environment, level: int, n: int, rng: np.random.Generator
) -> EmpiricalMeasure:
    """Sample n tuples (x_h, a_h, r_h, x_{h+1}), all actions uniform."""
    return environment.draw(["uniform"] * level, n, rng)


def uniform_rollouts(
    environment: Environment,
    level: int,
    n: int,
    rng: np.random.Generator,
    later: Sequence[Any],
) -> EmpiricalMeasure:
    """Sample n tuples (x_h, a_h, r_h + ... + r_H): uniform up to h, then ``later``."""
    rules: list[Any] = ["uniform"] * level + list(later)
    return environment.draw(rules, n, rng, level=level)
