"""The result of a run, what monitors report of it, and what its policies are worth.

>>> from olivine.algorithms.environments import make
>>> env = make("tabular", 1, states=2, actions=2, horizon=2)
>>> found = evaluate(env, env.truth.optimal_policies(), 4000)
>>> abs(found.mean - float(env.truth.optimal_value)) < 5 * found.standard_error
True
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from ..environments.check import as_environment
from ..environments.protocol import AnyPolicy, Environment, knows_truth
from ..exact.arrays import check_count, check_type, check_unit, rational
from ..exact.multinomial import RecordedSeed, generator
from ..oracles.ledger import KINDS


@dataclass(frozen=True)
class Evaluation:
    """Returns of `episodes` played: their `mean`, with its `standard_error`."""

    mean: float
    standard_error: float
    episodes: int

    def __str__(self) -> str:
        return f"{self.mean:.4g} ± {self.standard_error:.2g} ({self.episodes} episodes)"

    def overlooked(self, slip: float) -> float:
        """Chance (1 - slip)^episodes that no episode shows slips of that share."""
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
    environment = as_environment(environment)
    n = check_count("episodes", episodes, least=2)
    if policies is not None:
        check_type("policies", policies, Iterable, "list with a policy per level")
    if policies is None or any(policy is None for policy in policies):
        raise ValueError(
            "policies: some are missing, as the run failed before it had them; see "
            "`result.reason`"
        )
    rng = generator(seed)
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
    margin = float(epsilon) / 4  # rounding, or the run's own accuracy, says nothing
    if not -margin <= estimate <= 1 + margin:
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


Status = Literal["success", "failure"]

Scope = Literal["premise", "always", "event", "probable", "fact"]
"""When a claim must hold.

``premise``: it is what the others rest on (the deviation bounds, oracles that
kept their accuracy, realizability). ``always``: in every run. ``event``: where
every premise holds. ``probable``: with probability 1-δ. ``fact``: noted only,
because parameters are not those of the analysis.
"""


def _float(margin: Fraction) -> float:
    try:
        return float(margin)
    except OverflowError:
        return sys.float_info.max if margin > 0 else -sys.float_info.max


@dataclass(frozen=True)
class MonitorReport:
    """One claim, checked against the truth.

    Attributes
    ----------
    holds
        None: it could not be computed (say, for continuous observations).
    margin
        The least, over all checks, of bound minus value: negative exactly when
        violated; None without any check.
    checks, scope
        Number of checks, and when the claim must hold (`Scope`).
    first
        The first violation, in words, or why nothing was computed.
    """

    holds: bool | None
    margin: Fraction | None
    checks: int
    scope: Scope
    first: str = ""

    def to_json(self) -> dict[str, Any]:
        """Plain values; the margin as a float."""
        return {
            "holds": self.holds,
            "margin": None if self.margin is None else _float(self.margin),
            "checks": self.checks,
            "scope": self.scope,
        } | ({"first": self.first} if self.first else {})


def impossible(monitors: Mapping[str, MonitorReport]) -> list[str]:
    """Names of claims that are violated where they hold always, or by the premises."""
    premises = [m.holds for m in monitors.values() if m.scope == "premise"]
    inside = bool(premises) and all(holds is True for holds in premises)
    scopes = ("always", "event") if inside else ("always",)
    return [n for n, m in monitors.items() if m.holds is False and m.scope in scopes]


def contradictions(monitors: Mapping[str, MonitorReport]) -> list[str]:
    """Violations that ought to be impossible: in any run, or where premises hold."""
    return [f"{name}: {monitors[name].first}" for name in impossible(monitors)]


@dataclass(frozen=True, eq=False)
class LearningResult:
    """Result of a run.

    Attributes
    ----------
    algorithm, environment
        Names.
    status, reason
        ``"success"`` or ``"failure"``, and why the run failed.
    policies
        One policy per level; None where there is none (an early failure).
    estimate
        V̂, the algorithm's own estimate of V*; None without one.
    estimate_error
        Its standard error, of PSDP and FQI, which average over few rewards: PSDP's V̂
        can leave [0, 1]. Of FQI it is that of the last fit; errors of earlier ones and
        of maximising over them come on top.
    trajectories
        Trajectories collected, of any size.
    calls
        Oracle calls made by the algorithm: csc, lp, ls, multi.
    iterations
        Iterations of the outer loop.
    learned
        Data sets stored at each level.
    parameters
        What it ran with, as plain values.
    monitors
        Reports by name; empty without monitors.
    seconds
        Wall time of the algorithm, monitors not included.
    event_failed
        Whether it failed because of something impossible in the good event.
    inaccurate_calls
        Oracle calls that could not certify the accuracy asked for.
    seed
        The generator that was handed in, as it stood before the run.
    evaluation
        Of a simulator: the policies' returns in `replays` episodes played after
        learning.
    notes
        Why success may mean little: an accuracy that every policy has, an estimate that
        playing the policies contradicts. `learn` warns of each.
    enumerated
        Functions that an enumerating algorithm evaluated, one for each function and
        data set. 0 where classes are seen through oracles.
    """

    algorithm: str
    environment: str
    status: Status
    policies: tuple[Any, ...] | None = field(repr=False)
    estimate: Fraction | None
    trajectories: int
    calls: Mapping[str, int]
    reason: str = ""
    iterations: int = 0
    learned: tuple[int, ...] = field(default=(), repr=False)
    parameters: Mapping[str, Any] = field(default_factory=dict, repr=False)
    monitors: Mapping[str, MonitorReport] = field(default_factory=dict, repr=False)
    seconds: float = 0.0
    event_failed: bool = False
    inaccurate_calls: int = 0
    seed: RecordedSeed | None = field(default=None, repr=False)
    enumerated: int = 0
    evaluation: Evaluation | None = None
    estimate_error: float | None = None
    notes: tuple[str, ...] = ()

    @property
    def succeeded(self) -> bool:
        """Whether the status is success."""
        return self.status == "success"

    @property
    def contradictions(self) -> list[str]:
        """Violated claims that ought to be impossible."""
        return contradictions(self.monitors)

    def to_json(self) -> dict[str, Any]:
        """Plain values; true values are added by who knows them."""
        return {
            "algorithm": self.algorithm,
            "env": self.environment,
            "status": self.status,
            "reason": self.reason,
            "estimate": None if self.estimate is None else float(self.estimate),
            "trajectories": self.trajectories,
            "iterations": self.iterations,
            "learned": list(self.learned),
            "calls": dict.fromkeys(KINDS, 0)
            | {k: int(n) for k, n in self.calls.items()},
            "enumerated": self.enumerated,
            "parameters": dict(self.parameters),
            "monitors": {k: m.to_json() for k, m in self.monitors.items()},
            "contradictions": self.contradictions,
            "seed": None if self.seed is None else self.seed.to_json(),
        } | self._more()

    def _more(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        if self.evaluation is not None:
            found["evaluation"] = self.evaluation.to_json()
        if self.estimate_error is not None:
            found["estimate_error"] = self.estimate_error
        if self.notes:
            found["notes"] = list(self.notes)
        return found
