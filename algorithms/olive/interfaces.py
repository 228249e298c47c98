"""What OLIVE's parts ask of each other: ranges of g, programs and their solvers."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ..exact.arrays import IntArray, integer_array
from ..exact.numbers import as_rational
from ..mdp.bellman import Pair

Upper = Fraction | int | Sequence[Fraction | int]
"""Upper end of the range of g, for all observations or one for each."""


class Ranged:
    """What a program knows of the range of g.

    Raises ValueError if an end is no exact rational, a range empty, or their number
    wrong. `lower, upper`: Lower end, and the largest upper end. `upper_ends`: The upper
    end of each observation; empty where there is one for all.
    """

    def __init__(self, size: int, lower: Fraction | int, upper: Upper) -> None:
        self.lower = as_rational("lower", lower)
        self.upper_ends: tuple[Fraction, ...] = ()
        if isinstance(upper, Sequence):
            if len(upper) != size:
                raise ValueError(f"{len(upper)} upper ends for {size} observations")
            # There are few ends, each given many times over, and Fractions are slow.
            given = list(upper)
            names = list(map(id, given))
            objects = dict(zip(names, given, strict=True))
            ends = {name: as_rational("upper", end) for name, end in objects.items()}
            self.upper_ends = tuple(map(ends.__getitem__, names))
            self._kinds = list(ends.values())
            place = {name: k for k, name in enumerate(ends)}
            self._kind = np.fromiter(map(place.__getitem__, names), dtype=np.int64)
            self.upper, least = max(self._kinds), min(self._kinds)
        else:
            self.upper = least = as_rational("upper", upper)
        if self.lower > least:
            raise ValueError(f"empty range [{self.lower}, {least}]")

    def upper_kinds(self) -> tuple[list[Fraction], NDArray[np.int64] | None]:
        """List the few upper ends, and which of them each observation has.

        None where there is one for all.
        """
        if not self.upper_ends:
            return [self.upper], None
        return self._kinds, self._kind

    @property
    def upper_given(self) -> Upper:
        """The upper end as it was given, for a program with the same ranges."""
        return self.upper_ends or self.upper

    def floors(self, denominator: int) -> IntArray:
        """Largest integers k with k/denominator in the range of each observation.

        There must be an upper end for each.
        """
        floors = integer_array(math.floor(end * denominator) for end in self._kinds)
        return floors[self._kind]

    def upper_of(self, observation: int) -> Fraction:
        """Upper end of the range of g at an observation."""
        return self.upper_ends[observation] if self.upper_ends else self.upper

    def nearest_to_zero(self, observation: int) -> Fraction:
        """Value of an observation's range that is nearest to 0."""
        return min(max(Fraction(0), self.lower), self.upper_of(observation))

    def greatest_mean(self, shares: Sequence[tuple[int, Fraction]]) -> Fraction:
        """Greatest value of Σ share · g over observations with their shares."""
        ends = self.upper_ends
        terms = {(id(p), id(ends and ends[s])): (s, p) for s, p in shares}
        counts = Counter((id(p), id(ends and ends[s])) for s, p in shares)
        return sum(
            (counts[key] * p * self.upper_of(s) for key, (s, p) in terms.items()),
            Fraction(0),
        )


class Program(Protocol):
    """What OLIVE maximises in a round: `OliveProgram` or `SampledProgram`."""

    @property
    def lower(self) -> Fraction:
        """Lower end of the range of g."""

    @property
    def upper(self) -> Fraction:
        """Largest upper end of the ranges of g, and so of the objective."""

    def upper_of(self, observation: int) -> Fraction:
        """Upper end of the range of g at an observation."""

    def nearest_to_zero(self, observation: int) -> Fraction:
        """Value of an observation's range that is nearest to 0."""

    @property
    def tolerance(self) -> Fraction:
        """Bound φ on the absolute value of every error."""

    @property
    def action_counts(self) -> NDArray[np.int64]:
        """Number of actions of each observation."""

    def objective(self, pair: Pair) -> Fraction:
        """Predicted value."""

    def errors(self, pair: Pair) -> Sequence[Fraction]:
        """Average Bellman error under each constraint, signed."""

    def is_feasible(self, pair: Pair) -> bool:
        """Whether a pair meets every constraint and the range, exactly."""


class Answer(NamedTuple):
    """What an optimiser says about a program."""

    # "optimal"; "infeasible" (no pair is left); "undecided" (a limit was reached or the
    # engine gave nothing that could be confirmed)
    status: Literal["optimal", "infeasible", "undecided"]
    pair: Pair | None  # Exactly feasible, None unless "optimal"
    value: Fraction | None  # Its exact objective
    proved: bool  # Whether `status` is proved in exact arithmetic
    seconds: float  # Wall time in the optimiser, confirmation included
    # Of these, what the engine itself took, its process's start included
    engine_seconds: float = 0.0
    reason: str = ""  # For "undecided"


class Optimiser(Protocol):
    """Solves programs."""

    def maximise(self, program: Program) -> Answer:
        """Find a maximiser."""

    def another(
        self, program: Program, value: Fraction, rng: np.random.Generator
    ) -> Answer:
        """Find a random pair with the objective `value`, the program's optimum."""
