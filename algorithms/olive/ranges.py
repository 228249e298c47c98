"""The ranges of g in OLIVE's programs: one for all observations, or one for each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from olivine.algorithms.exact.numbers import as_rational
from olivine.algorithms.exact.ragged import IntArray, fits_int64

Upper = Fraction | int | Sequence[Fraction | int]
"""Upper end of the range of g, for all observations or one for each."""


class Ranged:
    """What a program knows of the range of g.

    Parameters
    ----------
    size
        Number of observations.
    lower, upper
        Ends of the range; the upper end for all observations or one for each.

    Attributes
    ----------
    lower, upper
        Lower end, and the largest upper end.
    upper_ends
        The upper end of each observation; empty where there is one for all.

    Raises
    ------
    ValueError
        If an end is no exact rational, a range empty, or their number wrong.
    """

    def __init__(self, size: int, lower: Fraction | int, upper: Upper) -> None:
        self.lower = as_rational("lower", lower)
        self.upper_ends: tuple[Fraction, ...] = ()
        if isinstance(upper, Sequence):
            if len(upper) != size:
                raise ValueError(f"{len(upper)} upper ends for {size} observations")
            # Few of them differ, and most are the same objects.
            objects = {id(end): as_rational("upper", end) for end in upper}
            self.upper_ends = tuple(objects[id(end)] for end in upper)
            self.upper, least = max(objects.values()), min(objects.values())
        else:
            self.upper = least = as_rational("upper", upper)
        if self.lower > least:
            raise ValueError(f"empty range [{self.lower}, {least}]")

    @property
    def upper_given(self) -> Upper:
        """The upper end as it was given, for a program with the same ranges."""
        return self.upper_ends or self.upper

    def upper_of(self, observation: int) -> Fraction:
        """Upper end of the range of g at an observation."""
        return self.upper_ends[observation] if self.upper_ends else self.upper

    def floors(self, denominator: int) -> int | IntArray:
        """Round the upper ends down to multiples of 1 / `denominator`: numerators."""
        if not self.upper_ends:
            return math.floor(self.upper * denominator)
        objects = {id(end): end for end in self.upper_ends}
        of = {key: math.floor(end * denominator) for key, end in objects.items()}
        exact = not fits_int64(max(map(abs, of.values())))
        return np.array(
            [of[id(end)] for end in self.upper_ends],
            dtype=object if exact else np.int64,
        )

    def nearest_to_zero(self, observation: int) -> Fraction:
        """Value of an observation's range that is nearest to 0."""
        return min(max(Fraction(0), self.lower), self.upper_of(observation))

    def greatest_mean(self, shares: Sequence[tuple[int, Fraction]]) -> Fraction:
        """Greatest value of Σ share · g over observations with their shares."""
        if self.upper_ends:
            return sum((p * self.upper_ends[s] for s, p in shares), Fraction(0))
        return self.upper * sum((p for _, p in shares), Fraction(0))
