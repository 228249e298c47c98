"""What the analyses of the baselines claim of a run, checked against the truth."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..environments.finite import (
    ZERO,
    backed_up,
    clipped,
    finite_model,
    followed,
    means,
    occupancies,
    policy_q_values,
    root_up,
    start_shares,
    table,
)
from ..environments.finite_model import FiniteModel
from ..learning.monitors import FEATURES, UNKNOWN, Review, Tally, claim_table
from ..learning.problem import LearningResult, Problem, Scope
from .backwards import LevelFit
from .parameters import (
    BACKUP,
    FQI,
    PSDP,
    RMAX,
    BatchParameters,
    RmaxParameters,
    concentrability,
    propagation,
)
from .rmax import Batch, RmaxModel

_LEMMAS = {
    PSDP: ("concentrability", "classification"),
    FQI: ("propagation", "regression"),
    BACKUP: ("propagation", "classification", "regression"),
    RMAX: ("model", "optimism", "simulation", "escape"),
}


class BaselineMonitors(Review):
    """Record a run, then check it.

    Errors are between fits and *true* backups, clipped to [0, 1]: concentrability and
    propagation hold in any run, but need finite observations.
    """

    claims = claim_table(
        """
        oracles          premise  every oracle call kept its accuracy, by certificate
        csc-calls        always   as many as stated
        ls-calls         always   as many as stated
        trajectories     always   as many as stated, at most
        reported         chance   the estimate is near V^π̂ (2ε for fitted Q iteration,
                                  else ε)
        epsilon-optimal  chance   V* - V^π̂ ≤ ε, and the run succeeds
        concentrability  always   psdp: V* - V^π̂ ≤ Σ_h K^(h-1) gap_h
        propagation      always   fqi: V* - V^π̂ ≤ 2 Σ_h h √(K^(h-1) σ_h), σ_h the
                                  squared errors of the regressions of a level, added
                                  up; backup: V* - V^π̂ ≤ Σ_h p_h + 2 Σ_h (h-1) v_h
        classification   chance   gap_h (psdp), p_h (backup): what π̂_h loses; as
                                  accurate as meant
        regression       chance   the squared error (fqi), v_h (backup) of ĝ_h; likewise
        model            premise  rmax: rewards and next cells of known pairs, dev/2
                                  each
        optimism         event    rmax: the optimistic value is at least V* - H dev
        simulation       event    rmax: it is at most V^π̂ + H dev + the chance to meet
                                  an unknown pair
        escape           chance   rmax: that chance is at most ε/2
        """
    )

    def __init__(
        self, problem: Problem, parameters: BatchParameters | RmaxParameters
    ) -> None:
        super().__init__(problem, parameters)
        self._algorithm = getattr(parameters, "algorithm", RMAX)
        self._meant = problem.complete and parameters.version == "theorem"

    def words(self) -> dict[str, Scope]:
        return {"chance": "probable" if self._meant else "fact"}

    def scopes(self) -> dict[str, Scope]:
        others = {n for names in _LEMMAS.values() for n in names}
        others -= {*_LEMMAS[self._algorithm]}
        return {n: s for n, s in super().scopes().items() if n not in others}

    def begin(self) -> None:
        self._fits: dict[int, LevelFit] = {}
        self._batch: Batch | None = None

    def on_levelfit(self, fit: LevelFit) -> None:
        self._fits[fit.level] = fit

    def on_batch(self, batch: Batch) -> None:
        self._batch = batch

    def ended(self, result: LearningResult) -> None:
        """Check everything: claims are about whole runs."""
        super().ended(result)
        truth, reported = self.truth, self.tallies["reported"]
        if not truth.exact or result.policies is None or result.estimate is None:
            reported.skip(UNKNOWN)
        else:
            value = truth.policy_value(list(result.policies))
            near = (2 if self._algorithm == FQI else 1) * self.p.eps
            reported.at_most(abs(result.estimate - value), near, "estimate")
        model = finite_model(self.environment)
        if model is None:
            for name in _LEMMAS[self._algorithm]:
                self.tallies[name].skip(FEATURES)
        elif self._batch is not None:
            self._check_rmax(model, self._batch, result)
        elif result.policies is not None and self._fits:
            lost = truth.optimal_value - truth.policy_value(list(result.policies))
            fits = [self._fits[h] for h in range(1, model.horizon + 1)]
            checks = {
                PSDP: self._check_psdp,
                FQI: self._check_fqi,
                BACKUP: self._check_backup,
            }
            name, bound = checks[self._algorithm](model, fits)
            self.tallies[name].at_most(lost, bound, "suboptimality")

    def _check_psdp(
        self, model: FiniteModel, fits: Sequence[LevelFit]
    ) -> tuple[str, Fraction]:
        """Check each level; give the claim about the loss, and its bound."""
        p, policies = self.p, [fit.policy for fit in fits]
        q_values = policy_q_values(model, policies)
        reached = occupancies(model, ["uniform"] * model.horizon)
        bound, meant = ZERO, p.eps / concentrability(p.K, p.H)
        for h, (q, chances) in enumerate(zip(q_values, reached, strict=True), 1):
            level = model.levels[h - 1]
            gap = _dot(chances, means(level, _losses(q, policies[h - 1], model, h)))
            self.tallies["classification"].at_most(gap, meant, f"level {h}")
            bound += p.K ** (h - 1) * gap
        return "concentrability", bound

    def _check_fqi(
        self, model: FiniteModel, fits: Sequence[LevelFit]
    ) -> tuple[str, Fraction]:
        p, reached = self.p, occupancies(model, ["uniform"] * model.horizon)
        meant = (p.eps / propagation(p.K, p.H)) ** 2
        bound, ahead = ZERO, None
        for h in range(model.horizon, 0, -1):
            level = model.levels[h - 1]
            target = clipped(backed_up(model, h, ahead))
            fitted = np.stack([table(g, level) for g in fits[h - 1].functions], axis=1)
            errors = (fitted - target) ** 2
            squares = [_dot(reached[h - 1], means(level, e)) for e in errors.T]
            for a, square in enumerate(squares):
                place = f"level {h}, action {a}"
                self.tallies["regression"].at_most(square, meant, place)
            bound += 2 * h * root_up(p.K ** (h - 1) * sum(squares, ZERO))
            ahead = fitted.max(axis=1).tolist()
        return "propagation", bound

    def _check_backup(
        self, model: FiniteModel, fits: Sequence[LevelFit]
    ) -> tuple[str, Fraction]:
        p, reached = self.p, occupancies(model, ["uniform"] * model.horizon)
        bound, ahead = ZERO, None
        for h in range(model.horizon, 0, -1):
            level, policy = model.levels[h - 1], fits[h - 1].policy
            q = backed_up(model, h, ahead)
            target = clipped(followed(policy, level, q))
            fitted = table(fits[h - 1].functions[0], level)
            here = [s for s, chance in enumerate(reached[h - 1]) if chance]
            losses = means(level, _losses(q, policy, model, h))
            errors = means(level, abs(fitted - target))
            worst, error = (max(v[s] for s in here) for v in (losses, errors))
            place, share = f"level {h}", p.eps / (2 * p.H)
            self.tallies["classification"].at_most(worst, share, place)
            self.tallies["regression"].at_most(error, share / p.H, place)
            bound += worst + 2 * (h - 1) * error
            ahead = fitted.tolist()
        return "propagation", bound

    def _check_rmax(
        self, model: FiniteModel, batch: Batch, result: LearningResult
    ) -> None:
        """Check the last batch (dev = ε/(4H)) of a run that did not fail."""
        if not result.succeeded or result.policies is None:
            return
        tallies, truth = self.tallies, self.truth
        deviation = self.p.eps / (4 * self.p.H)
        _check_model(tallies["model"], model, batch.model, deviation / 2)
        values, _ = batch.model.plan()
        first = means(model.levels[0], values[0].tolist())
        optimistic = _dot(start_shares(model), first)
        margin, what = self.p.H * deviation, "optimistic value"
        tallies["optimism"].at_most(truth.optimal_value - optimistic, margin, what)
        escape = _escape(model, batch)
        value = truth.policy_value(list(result.policies))
        tallies["simulation"].at_most(optimistic - value, margin + escape, what)
        tallies["escape"].at_most(escape, self.p.eps / 2, "last policy")


def _losses(q: NDArray[Any], policy: Any, model: FiniteModel, level: int) -> Any:
    return q.max(axis=1) - followed(policy, model.levels[level - 1], q)


def _dot(chances: Sequence[Fraction], values: Sequence[Fraction]) -> Fraction:
    return sum((c * v for c, v in zip(chances, values, strict=True) if c), ZERO)


def _check_model(
    tally: Tally, model: FiniteModel, learned: RmaxModel, bound: Fraction
) -> None:
    for h in range(1, model.horizon + 1):
        level = model.levels[h - 1]
        known = np.argwhere(learned.known(h)).tolist()
        for x, a in known:
            true = Fraction(level.mean_rewards[x, a]) / model.unit
            error = abs(learned.mean_reward(h, x, a) - true)
            tally.at_most(error, bound, f"r({x}, {a}) of {h}")
        if h == model.horizon:
            continue
        for s, a in sorted({(int(level.state_of_code[x]), a) for x, a in known}):
            guessed = learned.next_shares(h, s, a)
            pairs = zip(guessed, _next_shares(model, h, s, a), strict=True)
            distance = sum((abs(p - q) for p, q in pairs), ZERO) / 2
            tally.at_most(distance, bound, f"P({s}, {a}) of {h}")


def _next_shares(
    model: FiniteModel, level: int, state: int, action: int
) -> list[Fraction]:
    row = model.levels[level - 1].transitions[state, action].tolist()
    following = model.levels[level]
    shares = [ZERO] * following.n_codes
    for target in np.flatnonzero(row).tolist():
        emitted = following.emissions[target]
        total = int(following.emission_totals[target]) * sum(row)
        for x in np.flatnonzero(emitted).tolist():
            shares[x] += Fraction(row[target] * int(emitted[x]), total)
    return shares


def _escape(model: FiniteModel, batch: Batch) -> Fraction:
    """Chance that the batch's policy meets an unknown pair in an episode."""
    ahead: list[Fraction] = []
    for h in range(model.horizon, 0, -1):
        level = model.levels[h - 1]
        known = batch.model.known(h)
        actions = batch.policies[h - 1].actions
        chances = []
        for x in range(level.n_codes):
            a = int(actions[x])
            if not known[x, a]:
                chances.append(Fraction(1))
            elif not ahead:
                chances.append(ZERO)
            else:
                row = level.transitions[level.state_of_code[x], a].tolist()
                met = zip(row, ahead, strict=True)
                chances.append(sum((w * v for w, v in met), ZERO) / sum(row))
        ahead = means(level, chances)
    return _dot(start_shares(model), ahead)
