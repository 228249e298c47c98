"""Exact distributions over states, as OLIVE collects them; many of them kept flat."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import overload

import numpy as np
from numpy.typing import NDArray

from ..exact.arrays import (
    IntArray,
    as_integers,
    check_type,
    fits_int64,
    integer_array,
    magnitude,
    segment_sums,
)


@dataclass(frozen=True, eq=False)
class Distribution:
    """The distribution of the state met at a time step; below 1 after endings."""

    states: NDArray[np.int64]  # int64, shape (k,), strictly increasing
    # Positive, (k,): ``states[i]`` has probability ``numerators[i] / denominator``
    numerators: IntArray
    denominator: int  # A positive integer, at least the sum of the numerators
    level: int  # The time step, 1-based

    def __post_init__(self) -> None:
        object.__setattr__(self, "states", as_integers("states", self.states, np.int64))
        if self.numerators.dtype != object:
            numerators = as_integers("numerators", self.numerators, np.int64)
            object.__setattr__(self, "numerators", numerators)
        if self.numerators.shape != self.states.shape:
            raise ValueError(
                f"{len(self.states)} states but {len(self.numerators)} numerators"
            )
        if self.level < 1:
            raise ValueError(f"level {self.level} is below 1")
        if (np.diff(self.states) <= 0).any():
            raise ValueError("states of a distribution must be strictly increasing")
        if len(self.states) and (self.states[0] < 0 or (self.numerators <= 0).any()):
            raise ValueError("a distribution needs states >= 0 and numerators > 0")
        largest = magnitude(self.numerators)
        # the first test also keeps the int64 sum of the second from wrapping
        if largest > self.denominator or self._total() > self.denominator:
            raise ValueError("the probabilities of a distribution exceed 1")

    @classmethod
    def from_fractions(
        cls, probabilities: Mapping[int, Fraction | int], level: int
    ) -> Distribution:
        """Build a distribution from the probability of each state."""
        exact = {s: Fraction(p) for s, p in sorted(probabilities.items()) if p}
        denominator = math.lcm(1, *(p.denominator for p in exact.values()))
        numerators = integer_array(int(p * denominator) for p in exact.values())
        states = np.array(list(exact), dtype=np.int64)
        return cls(states, numerators, denominator, level)

    def probability(self, state: int) -> Fraction:
        """Probability of a state."""
        i = int(np.searchsorted(self.states, state))
        if i == len(self.states) or self.states[i] != state:
            return Fraction(0)
        return Fraction(int(self.numerators[i]), self.denominator)

    def probabilities(self) -> dict[int, Fraction]:
        """Probability of each state of the support, in order."""
        return {
            int(s): Fraction(int(p), self.denominator)
            for s, p in zip(self.states, self.numerators, strict=True)
        }

    def mass(self) -> Fraction:
        """Total probability, 1 unless the episode may have ended before."""
        return Fraction(self._total(), self.denominator)

    def _total(self) -> int:
        return sum(int(p) for p in self.numerators)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Distribution):
            return NotImplemented
        return (
            self.level == other.level
            and np.array_equal(self.states, other.states)
            and bool(
                (
                    self.numerators.astype(object) * other.denominator
                    == other.numerators.astype(object) * self.denominator
                ).all()
            )
        )

    __hash__ = None  # type: ignore[assignment]  # arrays inside


@dataclass(frozen=True, eq=False)
class Distributions(Sequence[Distribution]):
    """A sequence of distributions in flat arrays."""

    # int64, (N+1,); distribution i is ``offsets[i]:offsets[i+1]`` of what follows
    offsets: NDArray[np.int64]
    # int64, shape (S,), strictly increasing within a distribution
    states: NDArray[np.int64]
    numerators: IntArray  # Shape (S,), positive, int64 or object
    denominators: IntArray  # Shape (N,), positive, int64 or object
    levels: NDArray[np.int32]  # int32, shape (N,), time steps, 1-based

    def __post_init__(self) -> None:
        for name, dtype in (
            ("offsets", np.int64),
            ("states", np.int64),
            ("levels", np.int32),
        ):
            array = as_integers(name, getattr(self, name), dtype)
            object.__setattr__(self, name, array)
        n = len(self.levels)
        if len(self.offsets) != n + 1 or len(self.denominators) != n:
            raise ValueError("offsets, denominators and levels differ in length")
        if len(self.numerators) != len(self.states):
            raise ValueError("states and numerators differ in length")
        lengths = np.diff(self.offsets)
        if self.offsets[0] != 0 or self.offsets[-1] != len(self.states):
            raise ValueError("offsets do not span the states")
        if (lengths < 0).any():
            raise ValueError("offsets decrease")
        self._check_entries(lengths)

    def _check_entries(self, lengths: NDArray[np.int64]) -> None:
        owner = np.repeat(np.arange(len(lengths)), lengths)
        falling = (np.diff(self.states) <= 0) & (owner[1:] == owner[:-1])
        bad = np.zeros(len(lengths), dtype=bool)
        bad[owner[1:][falling]] = True
        bad[owner[(self.states < 0) | (self.numerators <= 0)]] = True
        bad |= (self.levels < 1) | (self.denominators <= 0)
        total = magnitude(self.numerators) * int(lengths.max(initial=0))
        kind = np.int64 if fits_int64(total) else object
        sums = segment_sums(self.numerators.astype(kind), self.offsets)
        bad |= sums > self.denominators
        if bad.any():
            self[int(np.flatnonzero(bad)[0])]  # says what is wrong with it

    @classmethod
    def from_iterable(cls, distributions: Iterable[Distribution]) -> Distributions:
        """Flatten distributions; a `Distributions` is returned as it is."""
        if isinstance(distributions, Distributions):
            return distributions
        check_type("distributions", distributions, Iterable, "list of Distributions")
        listed = list(distributions)
        for one in listed:
            check_type("distributions", one, Distribution, "Distribution")
        lengths = [len(d.states) for d in listed]
        empty = np.zeros(0, dtype=np.int64)
        return cls(
            np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]),
            np.concatenate([empty, *(d.states for d in listed)]),
            np.concatenate([empty, *(d.numerators for d in listed)]),
            integer_array(d.denominator for d in listed),
            np.array([d.level for d in listed], dtype=np.int32),
        )

    def __len__(self) -> int:
        return len(self.levels)

    @overload
    def __getitem__(self, index: int) -> Distribution: ...
    @overload
    def __getitem__(self, index: slice) -> list[Distribution]: ...
    def __getitem__(self, index: int | slice) -> Distribution | list[Distribution]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        if not -len(self) <= index < len(self):
            raise IndexError(f"no distribution {index} among {len(self)}")
        i = index % len(self)
        entries = slice(int(self.offsets[i]), int(self.offsets[i + 1]))
        return Distribution(
            self.states[entries],
            self.numerators[entries],
            int(self.denominators[i]),
            int(self.levels[i]),
        )

    def __iter__(self) -> Iterator[Distribution]:
        return (self[i] for i in range(len(self)))
