"""What the analyses of the baselines claim of a run, checked against the truth.

===============  ============================================================
name             claim
===============  ============================================================
oracles          every oracle call kept its accuracy, by certificate
csc/ls-calls     as many as stated
trajectories     as many as stated, at most
reported         the estimate is near V^π̂ (2ε for fitted Q iteration, else ε)
epsilon-optimal  V* - V^π̂ ≤ ε, and the run succeeds
concentrability  psdp: V* - V^π̂ ≤ Σ_h K^(h-1) gap_h
propagation      fqi: V* - V^π̂ ≤ 2 Σ_h h √(K^(h-1) σ_h), σ_h the squared errors
                 of the regressions of a level, added up;
                 backup: V* - V^π̂ ≤ Σ_h p_h + 2 Σ_h (h-1) v_h
classification   gap_h (psdp), p_h (backup): what π̂_h loses; as accurate as meant
regression       the squared error (fqi), v_h (backup) of ĝ_h; likewise
model            rmax: rewards and next cells of known pairs, dev/2 each
optimism         rmax: the optimistic value is at least V* - H dev
simulation       rmax: it is at most V^π̂ + H dev + the chance to meet an
                 unknown pair
escape           rmax: that chance is at most ε/2
===============  ============================================================

Errors are taken between fits and *true* backups, clipped to [0, 1], so
concentrability and propagation are inequalities of any run, whatever the classes.
They need finite observations and are unknown elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from olivine.algorithms.baselines.exact import (
    ZERO,
    backed_up,
    clipped,
    finite_model,
    means,
    occupancies,
    policy_q_values,
    root_up,
    shares,
    table,
)
from olivine.algorithms.baselines.observing import BaselineObserver, Batch, Fit
from olivine.algorithms.baselines.parameters import (
    BACKUP,
    FQI,
    PSDP,
    BatchParameters,
    concentrability,
    propagation,
)
from olivine.algorithms.baselines.rmax_monitors import RMAX_SCOPES, check_rmax
from olivine.algorithms.baselines.rmax_parameters import RmaxParameters
from olivine.algorithms.environments.finite_model import FiniteModel
from olivine.algorithms.environments.protocol import Environment
from olivine.algorithms.learning.monitors import Tally
from olivine.algorithms.learning.result import LearningResult, MonitorReport, Scope

_FEATURES = "observations are features: there are no codes to sum over"
_LEMMAS: dict[str, dict[str, Scope]] = {
    PSDP: {"concentrability": "always", "classification": "probable"},
    FQI: {"propagation": "always", "regression": "probable"},
    BACKUP: {
        "propagation": "always",
        "classification": "probable",
        "regression": "probable",
    },
}


class BaselineMonitors(BaselineObserver):
    """Record a run, then check it.

    Parameters
    ----------
    environment
        Whose `truth` is asked.
    parameters
        Of the run.
    complete
        Whether the classes are known to be complete, as tabular ones are. Without,
        or with parameters of one's own, what should be probable is only noted.
    """

    def __init__(
        self,
        environment: Environment,
        parameters: BatchParameters | RmaxParameters,
        *,
        complete: bool,
    ) -> None:
        self.environment, self.parameters = environment, parameters
        self._meant = complete and parameters.version == "theorem"
        self._fits: dict[int, Fit] = {}
        self._batch: Batch | None = None

    def fitted(self, fit: Fit) -> None:
        """Record."""
        self._fits[fit.level] = fit

    def played(self, batch: Batch) -> None:
        """Record the last one."""
        self._batch = batch

    def reports(self, result: LearningResult) -> dict[str, MonitorReport]:
        """Check the run that ended with this result."""
        p = self.parameters
        scopes: dict[str, Scope] = {
            "oracles": "premise",
            "csc-calls": "always",
            "ls-calls": "always",
            "trajectories": "always",
            "reported": "probable",
            "epsilon-optimal": "probable",
        }
        scopes |= RMAX_SCOPES if isinstance(p, RmaxParameters) else _LEMMAS[p.algorithm]
        if not self._meant:
            noted: dict[str, Scope] = {
                name: "fact" for name, scope in scopes.items() if scope == "probable"
            }
            scopes |= noted
        tallies = {name: Tally(scope) for name, scope in scopes.items()}
        self._counts(tallies, result)
        self._values(tallies, result)
        model = finite_model(self.environment)
        if model is None:
            for name in set(scopes) & _EXACT:
                tallies[name].skip(_FEATURES)
        elif isinstance(p, RmaxParameters):
            if self._batch is not None:
                check_rmax(tallies, self.environment, model, p, self._batch, result)
        else:
            self._lemmas(tallies, model, result)
        return {name: tally.report() for name, tally in tallies.items()}

    # ----------------------------------------------------------------- parts

    def _counts(self, tallies: dict[str, Tally], result: LearningResult) -> None:
        p = self.parameters
        tallies["oracles"].never(
            result.unhonoured > 0, lambda: f"{result.unhonoured} calls fell short"
        )
        for kind, most in p.call_bounds.items():
            calls = result.calls.get(kind, 0)
            tallies[f"{kind}-calls"].at_most(calls, most, lambda: "total")
        tallies["trajectories"].at_most(
            result.trajectories, p.trajectory_bound, lambda: "total"
        )

    def _values(self, tallies: dict[str, Tally], result: LearningResult) -> None:
        p, truth = self.parameters, self.environment.truth
        tallies["epsilon-optimal"].never(not result.succeeded, lambda: result.reason)
        if not truth.exact or result.policies is None or result.estimate is None:
            for name in ("reported", "epsilon-optimal"):
                tallies[name].skip("V^π is not known exactly")
            return
        value = truth.policy_value(list(result.policies))
        fqi = isinstance(p, BatchParameters) and p.algorithm == FQI
        tallies["reported"].at_most(
            abs(result.estimate - value), (2 if fqi else 1) * p.eps, lambda: "estimate"
        )
        tallies["epsilon-optimal"].at_most(
            truth.optimal_value - value, p.eps, lambda: "suboptimality"
        )

    def _lemmas(
        self, tallies: dict[str, Tally], model: FiniteModel, result: LearningResult
    ) -> None:
        p = self.parameters
        if not isinstance(p, BatchParameters) or result.policies is None:
            return
        truth = self.environment.truth
        lost = truth.optimal_value - truth.policy_value(list(result.policies))
        fits = [self._fits[h] for h in range(1, model.horizon + 1)]
        check = {PSDP: _check_psdp, FQI: _check_fqi, BACKUP: _check_backup}
        check[p.algorithm](tallies, model, p, fits, lost)


_EXACT = frozenset(
    {"concentrability", "propagation", "classification", "regression"}
    | {"model", "optimism", "simulation", "escape"}
)


def _check_psdp(
    tallies: dict[str, Tally],
    model: FiniteModel,
    p: BatchParameters,
    fits: Sequence[Fit],
    lost: Fraction,
) -> None:
    policies = [fit.policy for fit in fits]
    q_values = policy_q_values(model, policies)
    reached = occupancies(model, ["uniform"] * model.horizon)
    bound, meant = ZERO, p.eps / concentrability(p.K, p.H)
    for h, (q, chances) in enumerate(zip(q_values, reached, strict=True), 1):
        level = model.levels[h - 1]
        gap = _dot(chances, means(level, _losses(q, policies[h - 1], model, h)))
        tallies["classification"].at_most(gap, meant, lambda h=h: f"level {h}")  # type: ignore[misc]
        bound += p.K ** (h - 1) * gap
    tallies["concentrability"].at_most(lost, bound, lambda: "suboptimality")


def _check_fqi(
    tallies: dict[str, Tally],
    model: FiniteModel,
    p: BatchParameters,
    fits: Sequence[Fit],
    lost: Fraction,
) -> None:
    reached = occupancies(model, ["uniform"] * model.horizon)
    meant = (p.eps / propagation(p.K, p.H)) ** 2
    bound, ahead = ZERO, None
    for h in range(model.horizon, 0, -1):
        level = model.levels[h - 1]
        target = clipped(backed_up(model, h, ahead))
        fitted = np.stack([table(g, level) for g in fits[h - 1].functions], axis=1)
        errors = (fitted - target) ** 2
        squares = [_dot(reached[h - 1], means(level, e)) for e in errors.T]
        for a, square in enumerate(squares):
            tallies["regression"].at_most(
                square,
                meant,
                lambda h=h, a=a: f"level {h}, action {a}",  # type: ignore[misc]
            )
        bound += 2 * h * root_up(p.K ** (h - 1) * sum(squares, ZERO))
        ahead = fitted.max(axis=1).tolist()
    tallies["propagation"].at_most(lost, bound, lambda: "suboptimality")


def _check_backup(
    tallies: dict[str, Tally],
    model: FiniteModel,
    p: BatchParameters,
    fits: Sequence[Fit],
    lost: Fraction,
) -> None:
    reached = occupancies(model, ["uniform"] * model.horizon)
    bound, ahead = ZERO, None
    for h in range(model.horizon, 0, -1):
        level, policy = model.levels[h - 1], fits[h - 1].policy
        q = backed_up(model, h, ahead)
        chances = shares(policy, level, model.n_actions)
        target = clipped((chances * q).sum(axis=1))
        fitted = table(fits[h - 1].functions[0], level)
        here = [s for s, chance in enumerate(reached[h - 1]) if chance]
        losses = means(level, _losses(q, policy, model, h))
        errors = means(level, abs(fitted - target))
        worst, error = (max(values[s] for s in here) for values in (losses, errors))
        place = f"level {h}"
        for name, value, meant in (
            ("classification", worst, p.eps / (2 * p.H)),
            ("regression", error, p.eps / (2 * p.H**2)),
        ):
            tallies[name].at_most(value, meant, lambda place=place: place)  # type: ignore[misc]
        bound += worst + 2 * (h - 1) * error
        ahead = fitted.tolist()
    tallies["propagation"].at_most(lost, bound, lambda: "suboptimality")


def _losses(q: NDArray[Any], policy: Any, model: FiniteModel, level: int) -> Any:
    """max_a Q(x, a) - Q(x, π(x)) at every code."""
    chances = shares(policy, model.levels[level - 1], model.n_actions)
    return q.max(axis=1) - (chances * q).sum(axis=1)


def _dot(chances: Sequence[Fraction], values: Sequence[Fraction]) -> Fraction:
    return sum((c * v for c, v in zip(chances, values, strict=True) if c), ZERO)
