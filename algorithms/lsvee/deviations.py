"""True values of the functions of a class: for monitors and tests only.

Everything is exact. Where observations are features, codes are what the class
decodes them to; without an exact list of features there is no answer (None).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from olivine.algorithms.classes.q_functions import FiniteQClass
from olivine.algorithms.environments.finite_truth import FiniteTruth
from olivine.algorithms.environments.protocol import Environment, Path
from olivine.algorithms.exact.arrays import object_array
from olivine.algorithms.lsvee.averages import Cells
from olivine.algorithms.lsvee.events import Elimination


def code_chances(
    environment: Environment, functions: FiniteQClass, path: Path
) -> NDArray[Any] | None:
    """Probability of each code at the end of a path: Fractions, or None."""
    truth: Any = environment.truth
    level = len(path) + 1
    if environment.space(level).is_finite:
        return np.asarray(truth.observation_probabilities(path))
    listed = truth.emission.listed(level, truth.state(path))
    if listed is None:
        return None
    counts = np.bincount(
        functions.codes(level, listed), minlength=functions.n_codes(level)
    )
    return object_array([Fraction(c, len(listed)) for c in counts.tolist()])


def optimal_q(environment: Environment, level: int) -> NDArray[Any]:
    """Q* at every code, (codes, K); at every hidden state for features."""
    if environment.space(level).is_finite:
        return np.asarray(environment.truth.q_values(level))
    truth: Any = environment.truth
    return np.asarray(FiniteTruth.q_values(truth, level))


def true_values(
    functions: FiniteQClass, level: int, chances: NDArray[Any], members: Any
) -> list[Fraction]:
    """V^f(p) = E_p[f(x, π_f(x))] of members of an exact class."""
    codes = np.flatnonzero(chances)
    best = functions.numerator_table(level, best=True)[members][:, codes]
    sums = best.astype(object) @ chances[codes]
    return [value / functions.denominator for value in sums.tolist()]


def bellman_errors(
    environment: Environment,
    functions: FiniteQClass,
    elimination: Elimination,
    chances: NDArray[Any],
) -> list[Fraction]:
    """Mean squared Bellman errors of the members that competed.

    E[(f(x, a) - E[r | x, a] - V̂^f(p∘a))²] with x after p and a uniform: what the
    excess risk R̂(f) - `optimal_risk` estimates. E[r | x, a] = Q*(x, a) - V*(p∘a).
    """
    level = len(elimination.path) + 1
    codes = np.flatnonzero(chances)
    means = _mean_rewards(environment, elimination.path)[codes]
    values = functions.table(level)[elimination.members][:, codes]
    errors = values - means[None] - elimination.futures[:, None, :]
    of_codes = (errors * errors).sum(axis=2) / functions.n_actions
    return [Fraction(v) for v in (of_codes @ chances[codes]).tolist()]


def optimal_risk(environment: Environment, path: Path, cells: Cells) -> Fraction:
    """Average over a data set of (Q*(x, a) - r - V*(p∘a))²."""
    means = _mean_rewards(environment, path)[cells.codes, cells.actions]
    rows = zip(
        means.tolist(),
        cells.weights.tolist(),
        cells.rewards.tolist(),
        cells.squares.tolist(),
        strict=True,
    )
    whole = sum((u * (u * w - 2 * r) + s for u, w, r, s in rows), Fraction(0))
    return whole / cells.total


def _mean_rewards(environment: Environment, path: Path) -> NDArray[Any]:
    """E[r | x, a] at the observations of the state at the end of a path."""
    futures: Sequence[Fraction] = [
        environment.truth.path_value((*path, a)) for a in range(environment.n_actions)
    ]
    found: NDArray[Any] = optimal_q(environment, len(path) + 1) - object_array(futures)
    return found
