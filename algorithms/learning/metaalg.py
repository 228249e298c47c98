"""MetaAlg (paper, Algorithm 1): explore, optimise, deploy, explore on demand.

The outer loop of VALOR, its constrained form, and the two-sample algorithm. What it
explores with and where policies come from is handed in.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..environments.protocol import Environment
from ..exact.arrays import END, object_array
from ..exact.data import EmpiricalMeasure, pool
from ..oracles import CscResult
from ..oracles.csc import importance_costs
from ..oracles.ledger import evaluate, unguard
from .events import Entered, EventFailedError, Iteration, Observer, Path, notify
from .parameters import DfsParameters, MetaAlgParameters
from .problem import Frame, LearningResult, Run

EXACT_COSTS = Fraction(1, 10**12)
"""Below this ε_sub costs are rationals: float64 would be too coarse."""


def enter(
    path: Path, calls: list[int], most: int, observers: Sequence[Observer]
) -> None:
    """Count a call of dfslearn; observers hear of the call too many as well."""
    calls[len(path)] += 1
    notify(observers, Entered(path))
    if calls[len(path)] > most:
        raise EventFailedError(
            f"dfslearn was called more than T_max = {most} times "
            f"at level {len(path) + 1}, impossible in event E"
        )


def training_set(
    environment: Environment,
    path: Path,
    parameters: DfsParameters,
    rng: np.random.Generator,
    *,
    successors: bool,
) -> EmpiricalMeasure:
    """Draw D̃: n_train of (x_h, a_h, r_h), and x_{h+1} if wanted, after a path.

    a_h is uniform; or, if balanced, taken equally often, n_train a multiple of K.
    """
    p = parameters
    if not p.balanced:
        return environment.draw(
            (*path, "uniform"), p.n_train, rng, successors=successors
        )
    each = p.rows // p.K
    return pool(
        [
            environment.draw((*path, a), each, rng, successors=successors)
            for a in range(p.K)
        ]
    )


def decisions(data: EmpiricalMeasure) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Give actions and rewards; ValueError if missing or a reward leaves [0, 1]."""
    if data.actions is None or data.rewards is None:
        raise ValueError("data: actions or rewards are missing")
    if not 0 <= data.rewards.min() <= data.rewards.max() <= 1:
        raise ValueError("rewards: outside [0, 1]")
    return data.actions, data.rewards


def gains(
    data: EmpiricalMeasure, ahead: NDArray[np.float64], accuracy: Fraction
) -> NDArray[Any]:
    """Give r + V(x') at each row, in rationals where the accuracy needs them."""
    if accuracy < EXACT_COSTS:
        exact = object_array([Fraction(v) for v in ahead.tolist()])
        return np.asarray(data.exact_rewards + exact)
    return decisions(data)[1] + ahead


def policy_costs(
    data: EmpiricalMeasure, ahead: NDArray[np.float64], accuracy: Fraction, K: int
) -> NDArray[Any]:
    """Costs of n rows whose average is -E[K 1{a = π(x)}(r + V(x'))], (n, K)."""
    return importance_costs(decisions(data)[0], gains(data, ahead, accuracy), K)


def exact_cost(found: CscResult) -> Fraction:
    """Average cost: exact, or the rational that the float stands for."""
    return Fraction(found.cost) if found.exact_cost is None else found.exact_cost


def next_values(
    data: EmpiricalMeasure, functions: Sequence[Any]
) -> NDArray[np.float64]:
    """Largest g(x') of several functions, 0 where the episode has ended: (n,)."""
    values = np.zeros(len(data))
    following = data.next_observations
    if not functions or following is None:
        return values
    alive = np.ones(len(data), dtype=np.bool_)
    if following.ndim == 1:
        alive = following != END
    if alive.any():
        values[alive] = np.max(
            [evaluate(g, following[alive]) for g in functions], axis=0
        )
    return values


_MOST_LISTED = 20_000_000  # actions of explored paths that are listed at a time

Explore = Callable[[Path], object]  # dfslearn at a path

Optimise = Callable[[], tuple[Sequence[Any], Fraction]]
"""Polvalfun: one policy per level, and V̂*."""


@dataclass(frozen=True, eq=False)
class Outcome:
    """How MetaAlg ended."""

    succeeded: bool  # Whether a policy passed the test
    # The policy returned, or the last one tried; None if there was none
    policies: tuple[Any, ...] | None
    estimate: Fraction | None  # V̂ that belongs to it
    iterations: int  # Iterations done
    reason: str = ""  # For a failure: why
    event_failed: bool = False  # Whether it ended by `EventFailedError`


def _check_memory(environment: Environment, parameters: MetaAlgParameters) -> None:
    """Refuse before the run what the environment could not list in its midst."""
    if parameters.n_exp * environment.horizon > _MOST_LISTED:
        raise ValueError(
            f"n_exp: {_short(parameters.n_exp)} paths of {environment.horizon} actions "
            "are explored one by one, but at most "
            f"{_MOST_LISTED // environment.horizon} of them fit into memory; take a "
            "larger epsilon, or practical parameters"
        )


def _short(number: int) -> str:
    """Write an integer of any size briefly.

    >>> _short(123), _short(45 * 10**400)
    ('123', 'about 10^401')
    """
    if number < 10**9:
        return str(number)
    return f"about 10^{int(number.bit_length() * math.log10(2))}"


def learn(
    name: str,
    run: Run,
    *,
    explore: Explore,
    optimise: Optimise,
    learned: Callable[[], Iterable[int]],
) -> LearningResult:
    """Run Algorithm 1 and give what came out, counted."""
    given = run.environment, run.parameters, run.rng
    with Frame(name, *given) as frame:
        outcome = metaalg(
            *given, explore=explore, optimise=optimise, observers=run.observers
        )
    return frame.result(
        outcome.policies,
        outcome.estimate,
        None if outcome.succeeded else outcome.reason,
        iterations=outcome.iterations,
        learned=tuple(learned()),
        event_failed=outcome.event_failed,
    )


def metaalg(
    environment: Environment,
    parameters: MetaAlgParameters,
    rng: np.random.Generator,
    *,
    explore: Explore,
    optimise: Optimise,
    observers: Sequence[Observer] = (),
) -> Outcome:
    """Run Algorithm 1; ValueError if the listed n_exp paths do not fit into memory."""
    _check_memory(environment, parameters)
    policies: tuple[Any, ...] | None = None
    estimate: Fraction | None = None
    k = 0
    explored: set[Path] = {()}
    try:
        explore(())  # line 3: dfslearn(root)
        for k in range(1, parameters.iterations + 1):  # line 4: for k = 1, ..., MH
            found, estimate = optimise()  # line 5: polvalfun
            policies = tuple(found)
            # Lines 6 and 7. The environment may see through guards.
            played = [unguard(policy) for policy in policies]
            deployed = environment.run(
                played, parameters.n_eval, rng, first=parameters.n_exp
            )
            accepted = estimate <= deployed.mean_return + parameters.eps / 2
            step = Iteration(k, policies, estimate, deployed.mean_return, accepted)
            notify(observers, step)
            if accepted:  # line 8: return
                return Outcome(True, policies, estimate, k)
            for h in range(1, environment.horizon):  # line 9: for h = 1 ... H-1
                for actions in deployed.paths.tolist():  # line 10: n_exp of T
                    path = tuple(actions[:h])
                    if parameters.repeat_paths or path not in explored:
                        explored.add(path)
                        explore(path)  # line 11: dfslearn(a_{1:h})
    except EventFailedError as event:
        return Outcome(False, policies, estimate, k, str(event), True)
    # Line 14: return failure.
    reason = f"no policy passed the test in {parameters.iterations} iterations"
    return Outcome(False, policies, estimate, k, reason)
