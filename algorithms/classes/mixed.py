"""Mixtures of finitely many policies: what some oracles need for an answer.

Called on observations, a mixture gives a row of action probabilities instead
of an action. Average costs and one-step values are linear in it, so it does
not matter whether a member is drawn once, at each level, or at each
observation.

>>> import numpy as np
>>> from olivine.algorithms.classes.tabular import TabularPolicy
>>> half = Fraction(1, 2)
>>> mixed = MixedPolicy((TabularPolicy(np.array([0, 1])),
...                      TabularPolicy(np.array([1, 1]))), (half, half), 2)
>>> mixed(np.array([0, 1])).tolist()
[[0.5, 0.5], [0.0, 1.0]]
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from olivine.algorithms.classes.protocols import Observations, Policy


@dataclass(frozen=True, eq=False)
class MixedPolicy:
    """A finite mixture of policies.

    Attributes
    ----------
    members
        Deterministic policies, at least one.
    weights
        Their probabilities: positive rationals that sum to exactly 1.
    n_actions
        K.
    """

    members: tuple[Policy, ...]
    weights: tuple[Fraction, ...]
    n_actions: int

    def __post_init__(self) -> None:
        """Check the weights.

        Raises ValueError if there is no member, or the weights are not as above.
        """
        if not self.members or len(self.members) != len(self.weights):
            raise ValueError(
                f"weights: {len(self.weights)} for {len(self.members)} policies"
            )
        if min(self.weights) <= 0 or sum(self.weights) != 1:
            raise ValueError("weights: not positive, or they do not sum to 1")

    def __len__(self) -> int:
        """Return the number of members."""
        return len(self.members)

    def __call__(self, observations: Observations, /) -> NDArray[np.float64]:
        """Give action probabilities: float64, shape (n, K), rows sum to 1."""
        n = len(observations)
        chances = np.zeros((n, self.n_actions))
        rows = np.arange(n)
        for member, weight in zip(self.members, self.weights, strict=True):
            chances[rows, member(observations)] += float(weight)
        return chances

    def draw(self, rng: np.random.Generator) -> Policy:
        """Draw a member with its probability (to within a float64 rounding)."""
        shares = np.array([float(w) for w in self.weights])
        return self.members[int(rng.choice(len(shares), p=shares / shares.sum()))]


def action_probabilities(
    policy: Callable[[Observations], NDArray[Any]],
    observations: Observations,
    n_actions: int,
) -> NDArray[np.float64]:
    """Evaluate any policy, deterministic or mixed, to action probabilities.

    Returns float64, shape (n, K). Raises ValueError if an action is K or above, or the
    shape is neither.

    Parameters
    ----------
    policy
        Maps n observations to actions (n,) or to probabilities (n, K).
    observations
        What it is called on.
    """
    found = policy(observations)
    n = len(observations)
    if found.shape == (n, n_actions) and found.ndim == 2:
        return np.asarray(found, dtype=np.float64)
    if found.shape != (n,) or not np.issubdtype(found.dtype, np.integer):
        raise ValueError(f"policy: returned {found.dtype} of shape {found.shape}")
    if n and not 0 <= int(found.min()) <= int(found.max()) < n_actions:
        raise ValueError(f"policy: an action is not in 0..{n_actions - 1}")
    chances = np.zeros((n, n_actions))
    chances[np.arange(n), found] = 1
    return chances


def sample_actions(
    probabilities: NDArray[np.float64], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Draw one action a row, independently.

    Returns int64, shape (n,); an action of probability 0 is never drawn.

    Parameters
    ----------
    probabilities
        Shape (n, K), rows that sum to 1.
    """
    heights = np.cumsum(probabilities, axis=1)
    # Scaled by the last height, which rounding may leave off 1; the draw is
    # below it, so some action of positive probability is above the draw.
    levels = rng.random(len(heights)) * heights[:, -1]
    return np.asarray((heights <= levels[:, None]).sum(axis=1), dtype=np.int64)
