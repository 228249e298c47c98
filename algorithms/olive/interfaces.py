"""What OLIVE's parts ask of each other: programs and their solvers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray
from olivine.algorithms.mdp.bellman import Pair


class Program(Protocol):
    """What OLIVE maximises in a round: `OliveProgram` or `SampledProgram`."""

    @property
    def lower(self) -> Fraction:
        """Lower end of the range of g."""
        ...

    @property
    def upper(self) -> Fraction:
        """Largest upper end of the ranges of g, and so of the objective."""
        ...

    def upper_of(self, observation: int) -> Fraction:
        """Upper end of the range of g at an observation."""
        ...

    def nearest_to_zero(self, observation: int) -> Fraction:
        """Value of an observation's range that is nearest to 0."""
        ...

    @property
    def tolerance(self) -> Fraction:
        """Bound φ on the absolute value of every error."""
        ...

    @property
    def action_counts(self) -> NDArray[np.int64]:
        """Number of actions of each observation."""
        ...

    def objective(self, pair: Pair) -> Fraction:
        """Predicted value."""
        ...

    def errors(self, pair: Pair) -> Sequence[Fraction]:
        """Average Bellman error under each constraint, signed."""
        ...

    def is_feasible(self, pair: Pair) -> bool:
        """Whether a pair meets every constraint and the range, exactly."""
        ...


@dataclass(frozen=True)
class Answer:
    """What an optimiser says about a program.

    Attributes
    ----------
    status
        "optimal"; "infeasible" (no pair is left); "undecided" (a limit was
        reached or the engine gave nothing that could be confirmed).
    pair
        Exactly feasible, None unless "optimal".
    value
        Its exact objective.
    proved
        Whether `status` is proved in exact arithmetic.
    seconds
        Wall time in the optimiser, confirmation included.
    engine_seconds
        Of these, what the engine itself took, its process's start included.
    reason
        For "undecided".
    """

    status: Literal["optimal", "infeasible", "undecided"]
    pair: Pair | None
    value: Fraction | None
    proved: bool
    seconds: float
    engine_seconds: float = 0.0
    reason: str = ""


class Optimiser(Protocol):
    """Solves programs."""

    def maximise(self, program: Program) -> Answer:
        """Find a maximiser."""
        ...

    def another(
        self, program: Program, value: Fraction, rng: np.random.Generator
    ) -> Answer:
        """Find a random pair with the objective `value`, the program's optimum."""
        ...
