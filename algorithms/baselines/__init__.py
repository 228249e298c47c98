"""Baselines beside which VALOR and OLIVE are seen, and what is claimed of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
from ..learning.registry import (
    CLASS_SETTINGS,
    Algorithm,
    Task,
    classes_of,
    declare,
    log_sizes,
    sizes_of,
)
from .backwards import (
    BACKUP,
    FQI,
    PSDP,
    BatchParameters,
    LevelFit,
    backup,
    concentrability,
    fqi,
    practical_parameters,
    propagation,
    psdp,
    theorem_parameters,
)
from .rmax import (
    RMAX,
    Batch,
    Decoding,
    RmaxModel,
    RmaxParameters,
    rmax,
    rmax_practical,
    rmax_theorem,
)

__all__ = [
    "BatchParameters",
    "RmaxParameters",
    "backup",
    "fqi",
    "practical_parameters",
    "psdp",
    "rmax",
    "rmax_practical",
    "rmax_theorem",
    "theorem_parameters",
]


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


_ENOUGH: dict[str, tuple[str, ...]] = {
    PSDP: ("policy", "both"),
    FQI: (),
    BACKUP: ("policy-value", "both"),
}  # what finite classes may be closed for to be what the guarantee asks for


def _refuse_paper(task: Task, name: str) -> None:
    if task.parameters == "paper":
        raise ValueError(
            f"params: 'paper', but the paper prints no constants for {name}, a "
            "baseline; take 'theorem' (sufficient sizes) or 'practical'"
        )


def _batch(
    name: str,
    summary: str,
    learn: Callable[..., Any],
    takes: tuple[str, ...],
    settings: dict[str, str],
    *assumptions: str,
) -> Algorithm:
    """Declare an algorithm that goes backwards; ``takes`` values, policies or both."""

    def classes(task: Task) -> Problem:
        _refuse_paper(task, name)
        made = task.settings.get("complete")
        complete = task.classes == "tabular" or made in _ENOUGH[name]
        drawn = classes_of(task)
        return Problem(
            task.environment,
            drawn.values if "values" in takes else None,
            drawn.policies if "policies" in takes else None,
            complete,
        )

    def parameters(task: Task, problem: Problem) -> BatchParameters:
        (eps, delta, _, k, h), chosen = sizes_of(task)
        sizes = {"M": task.environment.max_states, "K": k, "H": h}
        if task.parameters == "practical":
            return practical_parameters(name, eps, delta, **chosen, **sizes)
        log_values, log_policies = log_sizes(
            problem.values, problem.policies, squared=True
        )
        return theorem_parameters(
            name, eps, delta, **sizes, log_G=log_values, log_Pi=log_policies
        )

    return declare(
        name,
        summary,
        parameters=parameters,
        learn=learn,
        review=BaselineMonitors,
        classes=classes,
        settings=CLASS_SETTINGS | settings,
        assumptions=assumptions,
        deterministic=name == BACKUP,
    )


def _rmax_parameters(task: Task, problem: Problem) -> RmaxParameters:
    _refuse_paper(task, RMAX)
    (eps, delta, _, k, h), chosen = sizes_of(task)
    sizes = {"X": Decoding(task.environment).most_cells, "K": k, "H": h}
    if task.parameters == "practical":
        return rmax_practical(eps, delta, **sizes, **chosen)
    return rmax_theorem(eps, delta, **sizes)


_CHOICES = BatchParameters.settings()
_SIZES = {name: _CHOICES[name] for name in ("n", "eps_sub")}

ALGORITHMS = (
    _batch(
        PSDP,
        "policy search by dynamic programming, uniform roll-in",
        psdp,
        ("policies",),
        _SIZES,
        "policy-completeness",
    ),
    # Its assumption, completeness of Q-functions, is none of the paper's four.
    _batch(FQI, "fitted Q iteration, uniform roll-in", fqi, ("values",), _SIZES),
    _batch(
        BACKUP,
        "Bellman backups from samples of every state (appendix)",
        backup,
        ("values", "policies"),
        _CHOICES | {"n": "trajectories a state"},
        "clipped-policy-value-completeness",
    ),
    declare(
        RMAX,
        "R-max with decoded hidden states: a reference, no classes",
        parameters=_rmax_parameters,
        learn=rmax,
        review=BaselineMonitors,
        classes=lambda task: Problem(task.environment, complete=True),
        settings=RmaxParameters.settings(),
        deterministic=False,
    ),
)
