"""How hidden states are rendered as feature vectors.

An emission maps hidden states of a level to float64 features. It can decode
them back (exactly where the noise is bounded), and where it has finitely many
features it can list them, which makes true expectations computable.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

MAX_LISTED_BITS = 16
"""Emissions list their features up to 2^16 of them a state."""


class Emission(Protocol):
    """Renders hidden states; see the module's docstring."""

    @property
    def dimension(self) -> int:
        """Number of features."""

    def __call__(
        self, level: int, states: NDArray[np.int64], rng: np.random.Generator
    ) -> NDArray[np.float64]:
        """Features of n hidden states of a level, shape (n, dimension)."""

    def decode(self, level: int, features: NDArray[np.float64]) -> NDArray[np.int64]:
        """Hidden states that features (n, dimension) come from, most likely."""

    def listed(self, level: int, state: int) -> NDArray[np.float64] | None:
        """Equally likely features of a state, (2^d, dimension), or None."""


@dataclass(frozen=True, eq=False)
class BitsEmission:
    """A fixed prefix for each state and level, then fair independent bits."""

    # One float64 array (S_h, width) a level, rows of a level distinct
    prefixes: tuple[NDArray[np.float64], ...]
    bits: int  # Number of fair bits, at least 0

    @property
    def dimension(self) -> int:
        """Width of the prefix and number of bits."""
        return int(self.prefixes[0].shape[1]) + self.bits

    def __call__(
        self, level: int, states: NDArray[np.int64], rng: np.random.Generator
    ) -> NDArray[np.float64]:
        """Features of the states."""
        n, prefix = len(states), self.prefixes[level - 1]
        features = np.empty((n, self.dimension))
        features[:, : prefix.shape[1]] = prefix[states]
        packed = np.frombuffer(rng.bytes(-(-n * self.bits // 8)), dtype=np.uint8)
        noise = np.unpackbits(packed, count=n * self.bits)
        features[:, prefix.shape[1] :] = noise.reshape(n, self.bits)
        return features

    def decode(self, level: int, features: NDArray[np.float64]) -> NDArray[np.int64]:
        """Hidden states, exactly."""
        return _nearest(features, self.prefixes[level - 1])

    def listed(self, level: int, state: int) -> NDArray[np.float64] | None:
        """All features of a state, or None beyond 2^16."""
        if self.bits > MAX_LISTED_BITS:
            return None
        numbers = np.arange(2**self.bits)[:, None]
        prefix = self.prefixes[level - 1][state]
        bits = (numbers >> np.arange(self.bits)) & 1
        rows = np.broadcast_to(prefix, (len(numbers), len(prefix)))
        return np.concatenate([rows, bits], axis=1)


@dataclass(frozen=True, eq=False)
class GaussianEmission:
    """A mean for each state and level plus independent normal noise."""

    # One float64 array (S_h, dimension) a level, rows of a level distinct
    means: tuple[NDArray[np.float64], ...]
    # Standard deviation of the noise in each coordinate, not negative. With noise,
    # observations of two states are separate only up to the tails.
    deviation: float

    @property
    def dimension(self) -> int:
        """Number of coordinates."""
        return int(self.means[0].shape[1])

    def __call__(
        self, level: int, states: NDArray[np.int64], rng: np.random.Generator
    ) -> NDArray[np.float64]:
        """Features of the states."""
        noise = rng.standard_normal((len(states), self.dimension))
        noise *= self.deviation
        noise += self.means[level - 1][states]
        return noise

    def decode(self, level: int, features: NDArray[np.float64]) -> NDArray[np.int64]:
        """Hidden states of the nearest means."""
        return _nearest(features, self.means[level - 1])

    def listed(self, level: int, state: int) -> NDArray[np.float64] | None:
        """List the mean if there is no noise, else None."""
        return self.means[level - 1][[state]] if self.deviation == 0 else None


def _nearest(
    features: NDArray[np.float64], centres: NDArray[np.float64]
) -> NDArray[np.int64]:
    """Nearest centre in the centres' first coordinates, shape (n,)."""
    width = centres.shape[1]
    # |x - c|² without the part that is the same for all centres
    scores = features[:, :width] @ centres.T - (centres**2).sum(axis=1) / 2
    return np.asarray(scores.argmax(axis=1), dtype=np.int64)
