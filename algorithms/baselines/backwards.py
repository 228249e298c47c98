"""Three algorithms that go backwards over levels: PSDP, fitted Q iteration, backups.

PSDP (Bagnell, Kakade, Ng, Schneider 2003) classifies on returns to go; fitted Q
iteration (Ernst, Geurts, Wehenkel 2005) regresses Q_h on r + max_a' Q̂_{h+1}, over
G_h^K; Bellman backups (paper, appendix Additional Barriers) take n samples of *every*
hidden state:

- π̂_h = argmax over Π_h of Σ_s Ê_s[r + ĝ_{h+1}(x') | a = π(x)],
- ĝ_h = argmin over G_h of Σ_s Ê_s[(g(x) - r - ĝ_{h+1}(x'))² | a = π̂_h(x)].

None knows whether it succeeded: the status is always "success". Observers get a
`LevelFit` of every level. The paper prints no sample sizes; those that are enough, by
Hoeffding's inequality and a union bound over the classes, are not the best known
(docs/baselines.md).

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
from ..exact.arrays import Number, check_type, ratio_up, rational
from ..exact.data import EmpiricalMeasure, pool
from ..learning.draw_classes import paths_to_states
from ..learning.events import NewPolicies, Observer, notify
from ..learning.metaalg import decisions, exact_cost, next_values, policy_costs
from ..learning.parameters import (
    Parameters,
    ProblemSize,
    count,
    flag,
    positive,
    without_none,
)
from ..learning.problem import Frame, LearningResult, Problem
from ..oracles import CscResult, LeastSquaresResult
from ..oracles.csc import csc
from ..oracles.least_squares import least_squares
from ..oracles.ledger import evaluate, guard, unguard

PSDP, FQI, BACKUP = "psdp", "fqi", "backup"
BATCH = (PSDP, FQI, BACKUP)


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
        data = environment.draw(["uniform"] * h, parameters.n, rng)
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


@dataclass(frozen=True, kw_only=True)
class BatchParameters(Parameters):
    """Constants of PSDP, fitted Q iteration or Bellman backups."""

    M: int = count()
    # Trajectories of a data set: of a level, or (backup) of each state
    n: int = count("trajectories a level", practical=lambda p: 400 * p.K)
    eps_sub: Fraction = positive(
        "optimality asked of the oracles",
        practical=lambda p: min(p.eps / 16, Fraction(1, 10**4)),
    )
    # For backup: whether ĝ_h is fitted to n further trajectories of each state, with
    # actions π̂_h(x), instead of to those that chose π̂_h, weighted by K 1{a = π̂_h(x)}
    on_policy: bool = flag(
        "whether values are fitted to trajectories of their own", default=False
    )
    # For backup: whether n trajectories of each state *and action* are drawn
    per_action: bool = flag(
        "whether each action is sampled n times in each state", default=False
    )

    def agree(self) -> None:
        """Refuse another algorithm, and choices that it does not have."""
        if self.algorithm not in BATCH:
            raise ValueError(f"algorithm: {self.algorithm!r} is none of {BATCH}")
        for name in ("on_policy", "per_action"):
            if getattr(self, name) and self.algorithm != BACKUP:
                raise ValueError(f"{name}: {self.algorithm} has no such choice")
        if self.on_policy and self.per_action:
            raise ValueError("per_action: not together with on_policy")

    @property
    def trajectory_bound(self) -> int:
        """H n; for backup M H n, twice (K times) that with on_policy (per_action)."""
        if self.algorithm != BACKUP:
            return self.H * self.n
        times = self.K if self.per_action else 2 if self.on_policy else 1
        return times * self.M * self.H * self.n

    @property
    def call_bounds(self) -> dict[str, int]:
        """Calls of each oracle, exactly: H csc, K H ls, or H of each."""
        if self.algorithm == PSDP:
            return {"csc": self.H, "ls": 0}
        if self.algorithm == FQI:
            return {"csc": 0, "ls": self.K * self.H}
        return {"csc": self.H, "ls": self.H}

    def to_json(self) -> dict[str, Any]:
        """All of them; accuracies as floats, sizes as integers."""
        chosen = [n for n in ("on_policy", "per_action") if getattr(self, n)]
        return super().to_json() | dict.fromkeys(chosen, True)


def check_batch(
    problem: Problem,
    parameters: BatchParameters,
    algorithm: str,
    *,
    deterministic: bool = False,
) -> None:
    """Refuse parameters of another algorithm; the rest as `Problem.check`."""
    check_type("parameters", parameters, BatchParameters, "BatchParameters")
    if parameters.algorithm != algorithm:
        raise ValueError(f"parameters: of {parameters.algorithm}, not of {algorithm}")
    problem.check(parameters, algorithm, deterministic=deterministic)


def theorem_parameters(
    algorithm: str,
    eps: Number,
    delta: Number,
    *,
    M: int,
    K: int,
    H: int,
    log_G: float = 0.0,
    log_Pi: float = 0.0,
) -> BatchParameters:
    """Compute sizes that are enough under completeness; ValueError out of range.

    ``log_G``: ln |G| with g² beside g (``log_size(squared=True)``), not for psdp;
    ``log_Pi``: ln |Π|, not for fqi. Floats stand for their decimal digits.
    """
    accuracy, chance = rational(eps), rational(delta)
    ProblemSize(algorithm, accuracy, chance, M, K, H, log_G, log_Pi, "theorem")
    if algorithm == PSDP:
        factor = concentrability(K, H)
        union = log_over(4 * H, chance) + log_Pi
        n, eps_sub = _draws(K, union, accuracy / (4 * factor)), accuracy / (2 * factor)
    elif algorithm == FQI:
        tau = (accuracy / propagation(K, H)) ** 2
        union = log_over(4 * H * K, chance) + log_G
        n, eps_sub = _draws(6 * K, union, tau / 4), tau / 2
    elif algorithm == BACKUP:
        square = (accuracy / (2 * H**2)) ** 2
        union = log_over(8 * M * H, chance) + log_G + log_Pi
        n, eps_sub = _draws(6 * K, union, square / (8 * M)), square / (4 * M)
    else:
        raise ValueError(f"algorithm: {algorithm!r} is none of {', '.join(BATCH)}")
    return BatchParameters(
        algorithm=algorithm,
        eps=accuracy,
        delta=chance,
        M=M,
        K=K,
        H=H,
        n=n,
        eps_sub=eps_sub,
        version="theorem",
    )


def practical_parameters(
    algorithm: str, eps: Number, delta: Number, **chosen: Any
) -> BatchParameters:
    """Free parameters; by default n = 400K and ε_sub as VALOR's."""
    given = {"eps": rational(eps), "delta": rational(delta)}
    chosen = without_none(chosen, "n", "eps_sub")
    fields = BatchParameters.filled(given, chosen)
    return BatchParameters(algorithm=algorithm, **fields)


def concentrability(K: int, H: int) -> int:
    """Σ_h K^(h-1): what the levels' gaps under uniform roll-in are multiplied by.

    >>> concentrability(2, 3)
    7
    """
    return sum(K**h for h in range(H))


def propagation(K: int, H: int) -> int:
    """Return B ≥ 2 Σ_h h K^(h/2), the square roots rounded up.

    >>> propagation(4, 2)
    20
    """
    return 2 * sum(h * (math.isqrt(K**h - 1) + 1) for h in range(1, H + 1))


def _draws(width: int, union: float, deviation: Fraction) -> int:
    """Hoeffding: draws of a variable with a range for deviation at most so much."""
    return ratio_up(width**2 * union, 2 * deviation**2)


def log_over(product: int, delta: Fraction) -> float:
    """ln(product / δ), for δ however small."""
    return math.log(product) + math.log(delta.denominator) - math.log(delta.numerator)
