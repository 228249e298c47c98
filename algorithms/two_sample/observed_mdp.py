"""Whether a process is an MDP over its observations (paper, two-sample theorem).

The theorem asks for that explicitly: the regression's targets r + ĝ(x') must have
one mean given x and a, whatever the hidden state is. Where no observation is
emitted by two hidden states it holds. Where one is, both states must have the
same law of the next observation after each action. (Rewards depend on observation
and action in every contextual decision process here.)

>>> from olivine.algorithms.environments import make
>>> observed_mdp(make("random-finite", 0)).holds
True
>>> observed_mdp(make("lock-gaussian", 0)).holds is None
True
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..environments.protocol import Environment, Path, knows_truth
from ..learning.draw_classes import paths_to_states

_MOST_LISTED = 2**12


@dataclass(frozen=True)
class ObservedMdp:
    """Whether observations are Markov."""

    holds: bool | None  # None: not decided
    reason: str = ""  # Why not, or where it is violated; empty if it holds


def observed_mdp(environment: Environment) -> ObservedMdp:
    """Check it, in rationals where observations are finite.

    Raises ValueError if hidden dynamics are stochastic.
    """
    if not knows_truth(environment):
        return ObservedMdp(None, "the truth about the environment is not known")
    paths = paths_to_states(environment)
    for h, states in enumerate(paths, 1):
        if environment.space(h).is_finite:
            found = _finite_level(environment, h, list(states.values()))
        else:
            found = _listed_level(environment, h, list(states))
        if found.holds is not True:
            return found
    return ObservedMdp(True)


def _finite_level(
    environment: Environment, level: int, paths: list[Path]
) -> ObservedMdp:
    truth = environment.truth
    laws = [truth.observation_probabilities(path) for path in paths]
    owner: dict[int, int] = {}
    for i, law in enumerate(laws):
        for x in np.flatnonzero(law).tolist():
            first = owner.setdefault(x, i)
            if level == environment.horizon or first == i:
                continue
            for a in range(environment.n_actions):
                one, other = (
                    truth.observation_probabilities((*paths[j], a)) for j in (first, i)
                )
                if not np.array_equal(one, other):
                    return ObservedMdp(
                        False,
                        f"observation {x} of level {level} is emitted after paths "
                        f"{list(paths[first])} and {list(paths[i])}, and action {a} "
                        "leads to different laws of the next observation",
                    )
    return ObservedMdp(True)


def _listed_level(
    environment: Environment, level: int, states: list[int]
) -> ObservedMdp:
    emission = getattr(environment.truth, "emission", None)
    seen: dict[bytes, int] = {}
    for state in states:
        features = None if emission is None else emission.listed(level, state)
        if features is None or len(features) > _MOST_LISTED:
            return ObservedMdp(
                None, f"observations of level {level} are features, not listed"
            )
        for key in _keys(features):
            if seen.setdefault(key, state) != state:
                return ObservedMdp(
                    None, f"two states of level {level} share a feature vector"
                )
    return ObservedMdp(True)


def _keys(features: NDArray[Any]) -> set[bytes]:
    """Rows as bytes; 0.0 is added so that -0.0 and 0.0 are one."""
    return {row.tobytes() for row in features + 0.0}
