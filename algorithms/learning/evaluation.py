"""What policies are worth, measured by playing them.

>>> from olivine.algorithms.environments import make
>>> env = make("tabular", 1, states=2, actions=2, horizon=2)
>>> found = evaluate(env, env.truth.optimal_policies(), 4000)
>>> abs(found.mean - float(env.truth.optimal_value)) < 5 * found.standard_error
True
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from ..environments.protocol import AnyPolicy, Environment, knows_truth
from ..exact.numbers import check_count, check_unit, rational


@dataclass(frozen=True)
class Evaluation:
    """Returns of episodes that were played to measure what policies are worth.

    Attributes
    ----------
    mean
        Their average.
    standard_error
        Of the mean: their standard deviation over the root of their number.
    episodes
        Their number.
    """

    mean: float
    standard_error: float
    episodes: int

    def __str__(self) -> str:
        return f"{self.mean:.4g} ± {self.standard_error:.2g} ({self.episodes} episodes)"

    def overlooked(self, slip: float) -> float:
        """Give the probability that no episode shows what a share of them would.

        Where a process declared deterministic slips in a share p of episodes, all of
        ``episodes`` agree with the first play with probability (1 - p)^episodes.

        Parameters
        ----------
        slip
            p, in (0, 1).

        Raises
        ------
        ValueError
            For a share that is not in (0, 1).
        """
        check_unit("slip", rational(slip, "slip"))
        return float((1 - slip) ** self.episodes)

    def to_json(self) -> dict[str, float]:
        """Plain values."""
        return asdict(self)


def evaluate(
    environment: Environment,
    policies: Sequence[AnyPolicy],
    episodes: int = 1000,
    *,
    seed: int | np.random.Generator = 0,
) -> Evaluation:
    """Play policies, and give the mean return with its standard error.

    Every episode is played afresh, a simulator's too, whatever it was declared to be.

    Parameters
    ----------
    environment
        Any object of the protocol.
    policies
        One per level, such as ``result.policies``.
    episodes
        At least 2.
    seed
        An integer or a Generator.

    Raises
    ------
    ValueError
        For fewer episodes than 2, missing policies, or a simulator that an episode
        shows to differ from what it was declared to be.
    """
    n = check_count("episodes", episodes, least=2)
    if policies is None or any(policy is None for policy in policies):
        raise ValueError(
            "policies: some are missing, as the run failed before it had them; see "
            "`result.reason`"
        )
    rng = np.random.default_rng(seed)
    # A simulator that remembers its steps plays so many episodes of a run.
    most = getattr(environment, "replays", n)
    total, returns = Fraction(0), []
    for start in range(0, n, most):
        some = min(most, n - start)
        run = environment.run(policies, some, rng, first=some)
        total += run.mean_return * some
        returns.append(run.returns)
    seen = np.concatenate(returns)
    deviation = float(np.std(seen, ddof=1)) if np.ptp(seen) else 0.0
    return Evaluation(float(total / n), deviation / math.sqrt(n), n)


def measured(environment: Any, policies: Sequence[Any] | None) -> Evaluation | None:
    """Evaluate what was learned on a simulator, whose plays are its only truth."""
    replays = getattr(environment, "replays", None)
    if replays is None or policies is None or None in policies:
        return None
    return evaluate(environment, policies, max(2, replays))


def doubts(
    environment: Environment, estimate: Any, epsilon: float, played: Evaluation | None
) -> list[str]:
    """Say why the success of a run may mean little, a sentence each."""
    found = []
    truth = environment.truth if knows_truth(environment) else None
    if truth is not None and epsilon >= truth.optimal_value:
        found.append(
            f"epsilon: every policy is within {epsilon:g} of V* = "
            f"{float(truth.optimal_value):.3g}; take a smaller epsilon"
        )
    elif truth is None and played is not None:
        most = played.mean + 4 * played.standard_error
        if epsilon >= most:
            found.append(
                f"epsilon: {epsilon:g} is more than what the policies get, {played}; "
                "if V* is about that, every policy is within epsilon of it; take a "
                "smaller epsilon, or an algorithm that finds more"
            )
    if estimate is None:
        return found
    if not 0 <= estimate <= 1:
        found.append(
            f"estimate: {float(estimate):.3g} is outside [0, 1], where returns are; "
            "take more trajectories"
        )
    if played is not None:
        away = abs(float(estimate) - played.mean)
        if away > max(4 * played.standard_error, float(epsilon) / 4):
            found.append(
                f"estimate: {float(estimate):.3g}, but the policies get {played}; take "
                "more trajectories, or classes that hold better functions"
            )
    return found
