"""True average Bellman errors of pairs, in Fractions: for tests and monitors only.

With μ_h the distribution of the hidden state at level h under a policy, a pair
(g, π) has the average Bellman error

    Σ_s μ_h(s) Σ_x P(x|s) (g(x) − E[r | s, x, π(x)] − Σ_s' P(s'|s, π(x)) ḡ(s')),

ḡ(s') = Σ_x' P(x'|s') g(x'). So it is the inner product of μ_h with a vector that
depends on the pair alone: the Bellman rank is at most the number of hidden
states of the level, whatever the observations are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..classes.q_functions import FiniteQClass
from ..environments.expectations import law
from ..environments.finite_model import FiniteLevel
from ..environments.latent_truth import LatentTruth
from ..environments.protocol import Environment, UnknownTruthError
from ..mdp.bellman import Pair

_ZERO = Fraction(0)


@dataclass(frozen=True, eq=False)
class _Level:
    """One level.

    `chances[s]` lists (code, P(code | s)), codes numbered through all levels;
    `rewards[s]` maps a code to the mean reward of each action; `following[s][a]`
    lists (s', P(s' | s, a)), and is empty at the last level.
    """

    chances: list[list[tuple[int, Fraction]]]
    rewards: list[dict[int, list[Fraction]]]
    following: list[list[list[tuple[int, Fraction]]]]


class TrueErrors:
    """What OLIVE estimates, exactly."""

    def __init__(
        self,
        environment: Environment,
        offsets: NDArray[np.int64],
        functions: FiniteQClass | None = None,
    ) -> None:
        truth: Any = environment.truth
        if not truth.exact:
            raise UnknownTruthError(
                "observations are continuous or too many to list: codes have no "
                "exact probabilities"
            )
        model = truth.model
        self._levels = []
        for h, level in enumerate(model.levels, start=1):
            shift, unit = int(offsets[h - 1]), model.unit
            if isinstance(truth, LatentTruth):
                if functions is None:
                    raise UnknownTruthError("there are no decoders for features")
                made = _of_features(truth, h, shift, functions)
            else:
                made = _of_codes(level, shift, unit)
            self._levels.append(made)
        self._start = dict(law(model.start))
        self._vectors: dict[tuple[int, int], tuple[Pair, list[Fraction]]] = {}

    def value(self, pair: Pair) -> Fraction:
        """E[g(x_1)], the value that a pair predicts."""
        values = pair.values()
        first = self._levels[0].chances
        return sum(
            (share * _mean(first[s], values) for s, share in self._start.items()), _ZERO
        )

    def error(self, pair: Pair, rolled_in: Pair, level: int) -> Fraction:
        """Average Bellman error of a pair at a level after another pair's policy."""
        vector = self.by_state(pair, level)
        met = self.states(rolled_in, level)
        return sum((share * vector[s] for s, share in met.items()), _ZERO)

    def states(self, pair: Pair, level: int) -> dict[int, Fraction]:
        """Distribution of the hidden state at a level under a pair's policy."""
        met = self._start
        for current in self._levels[: level - 1]:
            ahead: dict[int, Fraction] = {}
            for s, share in met.items():
                for code, chance in current.chances[s]:
                    for target, move in current.following[s][int(pair.policy[code])]:
                        gained = share * chance * move
                        ahead[target] = ahead.get(target, _ZERO) + gained
            met = ahead
        return met

    def by_state(self, pair: Pair, level: int) -> list[Fraction]:
        """Average Bellman error of a pair given each hidden state of a level."""
        key = id(pair), level  # beside the pair, so that the id stays its own
        if key not in self._vectors:
            self._vectors[key] = pair, self._new_vector(pair, level)
        return self._vectors[key][1]

    def _new_vector(self, pair: Pair, level: int) -> list[Fraction]:
        here, values = self._levels[level - 1], pair.values()
        future = []
        if level < len(self._levels):
            future = [_mean(row, values) for row in self._levels[level].chances]
        vector = []
        for s, row in enumerate(here.chances):
            total = _ZERO
            for code, chance in row:
                action = int(pair.policy[code])
                later = sum(
                    (p * future[t] for t, p in here.following[s][action]), _ZERO
                )
                reward = here.rewards[s][code][action]
                total += chance * (values[code] - reward - later)
            vector.append(total)
        return vector


def _mean(row: Sequence[tuple[int, Fraction]], values: Sequence[Fraction]) -> Fraction:
    return sum((chance * values[code] for code, chance in row), _ZERO)


def _moves(level: FiniteLevel) -> list[list[list[tuple[int, Fraction]]]]:
    return [list(map(law, by_action)) for by_action in level.transitions]


def _of_codes(level: FiniteLevel, shift: int, unit: int) -> _Level:
    chances, rewards = [], []
    means = level.mean_rewards / unit
    for row in level.emissions:
        emitted = law(row)
        chances.append([(shift + x, p) for x, p in emitted])
        rewards.append({shift + x: list(means[x]) for x, _ in emitted})
    return _Level(chances, rewards, _moves(level))


def _of_features(
    truth: LatentTruth, h: int, shift: int, functions: FiniteQClass
) -> _Level:
    """Decode the features of each state, which are equally likely."""
    level = truth.model.level(h)
    means = level.mean_rewards / truth.model.unit
    chances, rewards = [], []
    for s in range(level.n_states):
        features = truth.emission.listed(h, s)
        if features is None:
            raise UnknownTruthError(f"features of level {h} are too many to list")
        codes, counts = np.unique(functions.codes(h, features), return_counts=True)
        shares = [Fraction(int(c), len(features)) for c in counts]
        numbered = (codes + shift).tolist()
        chances.append(list(zip(numbered, shares, strict=True)))
        rewards.append({code: list(means[s]) for code in numbered})
    return _Level(chances, rewards, _moves(level))
