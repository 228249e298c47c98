"""Backups and occupancies of a finite model, in Fractions: for tests and monitors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..classes.policies import action_weights
from ..exact.arrays import object_array
from ..exact.numbers import weighted_sum
from .finite_model import FiniteLevel, FiniteModel
from .protocol import Environment

ZERO = Fraction(0)
_ROOT_BITS = 64


def finite_model(environment: Environment) -> FiniteModel | None:
    """Give the hidden model where observations are its codes, else None."""
    model = getattr(environment.truth, "model", None)
    if not environment.space(1).is_finite or not isinstance(model, FiniteModel):
        return None
    return model


def table(function: Any, level: FiniteLevel) -> NDArray[Any]:
    """Values of a function at every code, as the rationals that its floats are."""
    values = np.asarray(function(np.arange(level.n_codes)))
    return object_array([Fraction(v) for v in values.tolist()])


def shares(rule: Any, level: FiniteLevel, n_actions: int) -> NDArray[Any]:
    """Give the action probabilities at every code: Fractions, shape (X, K)."""
    weights = action_weights(rule, np.arange(level.n_codes), n_actions)
    found = np.empty(weights.shape, dtype=object)
    for x, row in enumerate(weights.tolist()):
        found[x] = [Fraction(w, sum(row)) for w in row]
    return found


def followed(rule: Any, level: FiniteLevel, q: NDArray[Any]) -> NDArray[Any]:
    """E[q(x, a)], a by a rule, at every code: Fractions, shape (X,)."""
    weights = action_weights(rule, np.arange(level.n_codes), q.shape[1]).tolist()
    rows = zip(weights, q.tolist(), strict=True)
    return object_array([weighted_sum(ws, vs) / sum(ws) for ws, vs in rows])


def means(level: FiniteLevel, values: Sequence[Fraction]) -> list[Fraction]:
    """E_s[f(x)] of each hidden state, f given at every code."""
    found = []
    for row, total in zip(level.emissions, level.emission_totals, strict=True):
        codes = np.flatnonzero(row).tolist()
        whole = weighted_sum(row[codes].tolist(), [values[x] for x in codes])
        found.append(whole / int(total))
    return found


def law(weights: NDArray[np.int64]) -> list[tuple[int, Fraction]]:
    """List (number, probability) of the positive ones of n weights, ascending."""
    total = int(weights.sum())
    places = np.flatnonzero(weights).tolist()
    return [(i, Fraction(int(weights[i]), total)) for i in places]


def start_shares(model: FiniteModel) -> list[Fraction]:
    """Probability of each hidden state of level 1."""
    total = int(model.start.sum())
    return [Fraction(int(w), total) for w in model.start]


def backed_up(
    model: FiniteModel, level: int, ahead: Sequence[Fraction] | None
) -> NDArray[Any]:
    """E[r + f(x') | x, a]: Fractions, shape (X, K), for the level h = 1..H.

    ``ahead`` is f at every code of level h+1; None at the last level, where f = 0.
    """
    if ahead is None or level == model.horizon:
        return q_values(model, level, None)
    return q_values(model, level, means(model.levels[level], ahead))


def q_values(
    model: FiniteModel, level: int, states: Sequence[Fraction] | None
) -> NDArray[Any]:
    """E[r + v(s') | x, a]: as `backed_up`, for values of the next hidden states."""
    current = model.levels[level - 1]
    q: NDArray[Any] = current.mean_rewards / model.unit
    if states is None:
        return q
    after = np.empty(current.transitions.shape[:2], dtype=object)
    for s, a in np.ndindex(after.shape):
        row = current.transitions[s, a].tolist()
        after[s, a] = weighted_sum(row, states) / sum(row)
    return np.asarray(q + after[current.state_of_code], dtype=object)


def policy_q_values(model: FiniteModel, policies: Sequence[Any]) -> list[NDArray[Any]]:
    """Q^π(x, a) of each level: Fractions, shape (X, K)."""
    found: list[NDArray[Any]] = []
    ahead: list[Fraction] | None = None
    for h in range(model.horizon, 0, -1):
        q = backed_up(model, h, ahead)
        ahead = followed(policies[h - 1], model.levels[h - 1], q).tolist()
        found.insert(0, q)
    return found


def occupancies(model: FiniteModel, rules: Sequence[Any]) -> list[list[Fraction]]:
    """Probability of each hidden state of each level.

    Rules are ``"uniform"`` or a policy for each of the levels 1..H-1 at least.
    """
    here = start_shares(model)
    found = [here]
    for h in range(1, model.horizon):
        level = model.levels[h - 1]
        chances = shares(rules[h - 1], level, model.n_actions)
        by_action = [
            means(level, chances[:, a].tolist()) for a in range(model.n_actions)
        ]
        ahead = [ZERO] * model.levels[h].n_states
        for s, a in np.ndindex(level.transitions.shape[:2]):
            weight = here[s] * by_action[a][s]
            row = level.transitions[s, a].tolist()
            if weight:
                for target in np.flatnonzero(row).tolist():
                    ahead[target] += weight * Fraction(row[target], sum(row))
        here = ahead
        found.append(here)
    return found


def clipped(values: NDArray[Any]) -> NDArray[Any]:
    """Values moved into [0, 1]."""
    return np.asarray(np.minimum(np.maximum(values, 0), 1), dtype=object)


def root_up(value: Fraction) -> Fraction:
    """Square root of a rational that is not negative, rounded up by < 2^-63."""
    scaled = math.ceil(value * 4**_ROOT_BITS)
    root = math.isqrt(scaled)
    return Fraction(root if root * root == scaled else root + 1, 2**_ROOT_BITS)
