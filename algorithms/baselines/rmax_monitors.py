"""The claims about R-max, checked against the hidden model."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from olivine.algorithms.baselines.exact import ZERO, means
from olivine.algorithms.baselines.observing import Batch
from olivine.algorithms.baselines.rmax_model import RmaxModel
from olivine.algorithms.baselines.rmax_parameters import RmaxParameters
from olivine.algorithms.environments.finite_model import FiniteModel
from olivine.algorithms.environments.protocol import Environment
from olivine.algorithms.learning.monitors import Tally
from olivine.algorithms.learning.result import LearningResult, Scope

RMAX_SCOPES: dict[str, Scope] = {
    "model": "premise",
    "optimism": "event",
    "simulation": "event",
    "escape": "probable",
}


def check_rmax(
    tallies: dict[str, Tally],
    environment: Environment,
    model: FiniteModel,
    parameters: RmaxParameters,
    batch: Batch,
    result: LearningResult,
) -> None:
    """Check the last batch: what was planned with, and what that is worth.

    Parameters
    ----------
    tallies
        With those of `RMAX_SCOPES` among them.
    environment, model
        Its truth, and the hidden model behind it.
    parameters
        dev = ε/(4H).
    batch
        The last one of a run that succeeded; of one that failed nothing is checked.
    result
        Of the run.
    """
    if not result.succeeded or result.policies is None:
        return
    deviation = parameters.eps / (4 * parameters.H)
    _check_model(tallies["model"], model, batch.model, deviation / 2)
    values, _ = batch.model.plan()
    total = int(model.start.sum())
    start = [Fraction(int(w), total) for w in model.start]
    first = means(model.levels[0], values[0].tolist())
    optimistic = sum((p * v for p, v in zip(start, first, strict=True)), ZERO)
    truth, margin = environment.truth, parameters.H * deviation
    tallies["optimism"].at_most(
        truth.optimal_value - optimistic, margin, lambda: "optimistic value"
    )
    escape = _escape(model, batch)
    value = truth.policy_value(list(result.policies))
    tallies["simulation"].at_most(
        optimistic - value, margin + escape, lambda: "optimistic value"
    )
    tallies["escape"].at_most(escape, parameters.eps / 2, lambda: "last policy")


def _check_model(
    tally: Tally, model: FiniteModel, learned: RmaxModel, bound: Fraction
) -> None:
    """Rewards and next cells of known pairs, against the truth."""
    for h in range(1, model.horizon + 1):
        level = model.levels[h - 1]
        known = np.argwhere(learned.known(h)).tolist()
        for x, a in known:
            true = Fraction(level.mean_rewards[x, a]) / model.unit
            error = abs(learned.mean_reward(h, x, a) - true)
            tally.at_most(error, bound, lambda h=h, x=x, a=a: f"r({x}, {a}) of {h}")  # type: ignore[misc]
        if h == model.horizon:
            continue
        for s, a in sorted({(int(level.state_of_code[x]), a) for x, a in known}):
            guessed = learned.next_shares(h, s, a)
            pairs = zip(guessed, _next_shares(model, h, s, a), strict=True)
            distance = sum((abs(p - q) for p, q in pairs), ZERO) / 2
            tally.at_most(distance, bound, lambda h=h, s=s, a=a: f"P({s}, {a}) of {h}")  # type: ignore[misc]


def _next_shares(
    model: FiniteModel, level: int, state: int, action: int
) -> list[Fraction]:
    """P(x' | s, a) at every code of the next level."""
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
    total = int(model.start.sum())
    pairs = zip(model.start.tolist(), ahead, strict=True)
    return sum((Fraction(w, total) * v for w, v in pairs), ZERO)
