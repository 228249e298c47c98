"""What makes a run repeatable: the state of the generator that was handed in.

>>> import numpy as np
>>> rng = np.random.default_rng(7)
>>> seed = RecordedSeed.of(rng)
>>> first = rng.integers(1000, size=3).tolist()
>>> seed.entropy, first == seed.generator().integers(1000, size=3).tolist()
(7, True)
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, eq=False)
class RecordedSeed:
    """Where a generator came from, and where it stood."""

    entropy: int | tuple[int, ...] | None  # None without a `SeedSequence`
    spawn_key: tuple[int, ...]  # Which child of that seed it is; () for the seed itself
    state: Mapping[str, Any]  # of the bit generator, when the run began

    @classmethod
    def of(cls, rng: np.random.Generator) -> RecordedSeed:
        """Record a generator as it stands; draws nothing."""
        sequence = rng.bit_generator.seed_seq
        state = copy.deepcopy(dict(rng.bit_generator.state))
        if not isinstance(sequence, np.random.SeedSequence):
            return cls(None, (), state)
        entropy: Any = sequence.entropy
        if entropy is not None and not isinstance(entropy, int | np.integer):
            entropy = tuple(int(word) for word in entropy)
        elif entropy is not None:
            entropy = int(entropy)
        return cls(entropy, tuple(sequence.spawn_key), state)

    def generator(self) -> np.random.Generator:
        """Give a generator in the recorded state."""
        kind = getattr(np.random, str(self.state["bit_generator"]))
        bits = kind()
        bits.state = self.state
        return np.random.Generator(bits)

    def to_json(self) -> dict[str, Any]:
        """Plain values: the entropy and, for a child, its spawn key."""
        entropy = self.entropy
        found: dict[str, Any] = {
            "entropy": list(entropy) if isinstance(entropy, tuple) else entropy
        }
        return found | ({"spawn_key": list(self.spawn_key)} if self.spawn_key else {})
