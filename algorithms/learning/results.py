"""The result of a run, and what monitors report of it."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal

from ..exact.seeds import RecordedSeed
from ..oracles.ledger import KINDS
from .evaluation import Evaluation

Status = Literal["success", "failure"]

Scope = Literal["premise", "always", "event", "probable", "fact"]
"""When a claim must hold.

``premise``: it is what the others rest on (the deviation bounds, oracles that
kept their accuracy, realizability). ``always``: in every run. ``event``: where
every premise holds. ``probable``: with probability 1-δ. ``fact``: noted only,
because parameters are not those of the analysis.
"""


def _float(margin: Fraction) -> float:
    """Nearest float; the largest one where a bound is larger still."""
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
    checks
        Number of checks.
    scope
        See `Scope`.
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


def contradictions(monitors: Mapping[str, MonitorReport]) -> list[str]:
    """Violations that ought to be impossible: in any run, or where premises hold."""
    premises = [m.holds for m in monitors.values() if m.scope == "premise"]
    inside = bool(premises) and all(holds is True for holds in premises)
    found = []
    for name, report in monitors.items():
        binding = report.scope == "always" or (report.scope == "event" and inside)
        if binding and report.holds is False:
            found.append(f"{name}: {report.first}")
    return found


@dataclass(frozen=True, eq=False)
class LearningResult:
    """Result of a run.

    Attributes
    ----------
    algorithm, environment
        Names.
    status
        ``"success"`` or ``"failure"``.
    reason
        For a failure: why.
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
        Of a simulator: the policies' returns in `replays` episodes that were played
        after learning, with their standard error.
    notes
        Why success may mean little: an accuracy that every policy has, an estimate that
        playing the policies contradicts. `learn` warns of each.
    enumerated
        Functions that an enumerating algorithm evaluated on a data set: one for
        each function and data set. 0 where classes are seen through oracles.
    """

    algorithm: str
    environment: str
    status: Status
    policies: tuple[Any, ...] | None
    estimate: Fraction | None
    trajectories: int
    calls: Mapping[str, int]
    reason: str = ""
    iterations: int = 0
    learned: tuple[int, ...] = ()
    parameters: Mapping[str, Any] = field(default_factory=dict)
    monitors: Mapping[str, MonitorReport] = field(default_factory=dict)
    seconds: float = 0.0
    event_failed: bool = False
    inaccurate_calls: int = 0
    seed: RecordedSeed | None = None
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
        """Give what only some results have."""
        found: dict[str, Any] = {}
        if self.evaluation is not None:
            found["evaluation"] = self.evaluation.to_json()
        if self.estimate_error is not None:
            found["estimate_error"] = self.estimate_error
        if self.notes:
            found["notes"] = list(self.notes)
        return found
