"""Exact expectations on a finite model: distributions as rationals, for oracles.

An oracle takes a weighted data set; one whose integer weights are in proportion to
the true probabilities is the distribution itself.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from olivine.algorithms.classes.policy_tables import action_weights
from olivine.algorithms.environments.finite_model import FiniteModel
from olivine.algorithms.exact.arrays import object_array
from olivine.algorithms.exact.data import EmpiricalMeasure

Distribution = tuple[Fraction, ...]
"""Probability of each code of a level."""


def roll_in(model: FiniteModel, policies: Sequence[Any]) -> list[Distribution]:
    """Distribution of the observation of each level under deterministic policies.

    Parameters
    ----------
    model
        Finite; its dynamics may be stochastic.
    policies
        One for each level 1..H-1, at least.

    Returns
    -------
    One tuple of Fractions a level, with an entry for each code.
    """
    total = int(model.start.sum())
    states = [Fraction(int(w), total) for w in model.start]
    found = []
    for h, level in enumerate(model.levels, 1):
        emitted = [
            states[s]
            * Fraction(int(level.emissions[s, x]), int(level.emission_totals[s]))
            for x, s in enumerate(level.state_of_code)
        ]
        found.append(tuple(emitted))
        if h == model.horizon:
            break
        chosen = chosen_actions(policies[h - 1], level.n_codes, model.n_actions)
        ahead = [Fraction(0)] * model.levels[h].n_states
        for x, share in enumerate(emitted):
            row = level.transitions[level.state_of_code[x], chosen[x]].tolist()
            for t, weight in enumerate(row):
                if share and weight:
                    ahead[t] += share * Fraction(weight, sum(row))
        states = ahead
    return found


def expected_gains(
    model: FiniteModel, h: int, future: Sequence[Fraction] | None
) -> NDArray[Any]:
    """E[r + ĝ(x′) | x, a]: Fractions, shape (X_h, K); no future at the last level."""
    level = model.level(h)
    gains = np.array(level.mean_rewards / model.unit, dtype=object)
    if future is None:
        return gains
    following = model.level(h + 1)
    worth = [
        sum(
            (Fraction(w, sum(row)) * g for w, g in zip(row, future, strict=True)),
            Fraction(0),
        )
        for row in following.emissions.tolist()
    ]
    for (x, a), _ in np.ndenumerate(gains):
        row = level.transitions[level.state_of_code[x], a].tolist()
        gains[x, a] += sum(
            (Fraction(w, sum(row)) * v for w, v in zip(row, worth, strict=True)),
            Fraction(0),
        )
    return gains


def chosen_actions(policy: Any, n_codes: int, n_actions: int) -> NDArray[np.int64]:
    """Ask a deterministic policy at each code; actions, shape (n_codes,)."""
    weights = action_weights(policy, np.arange(n_codes), n_actions)
    return np.asarray(weights.argmax(axis=1), dtype=np.int64)


def measure(distribution: Distribution) -> EmpiricalMeasure:
    """Exact probabilities as integer weights."""
    unit = math.lcm(*(p.denominator for p in distribution))
    codes = [x for x, p in enumerate(distribution) if p]
    weights = [int(p * unit) for p in distribution if p]
    return EmpiricalMeasure(np.array(codes), weights=object_array(weights))


def pooled(distributions: Sequence[Distribution]) -> Distribution:
    """Equal mixture."""
    columns = zip(*distributions, strict=True)
    return tuple(sum(c, Fraction(0)) / len(distributions) for c in columns)


def uniform(model: FiniteModel, h: int) -> Distribution:
    """Uniform over the hidden states of a level."""
    level = model.level(h)
    return tuple(
        Fraction(int(level.emissions[s, x]), int(level.emission_totals[s]))
        / level.n_states
        for x, s in enumerate(level.state_of_code)
    )
