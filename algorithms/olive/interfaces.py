"""What OLIVE's parts ask of each other: programs, their models, their solvers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Generic, Literal, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from algorithms.pair import Pair
from solvers.model import LinearModel

if TYPE_CHECKING:
    from algorithms.olive.program import Form


class HasPolicy(Protocol):
    """What OLIVE chooses among: tabular `Pair`s, or members of a finite class."""

    @property
    def policy(self) -> Any:
        """Its policy: a table of actions, or one policy for each level."""
        ...


Candidate = TypeVar("Candidate", bound=HasPolicy)
CandidateIn = TypeVar("CandidateIn", bound=HasPolicy, contravariant=True)
CandidateOut = TypeVar("CandidateOut", bound=HasPolicy, covariant=True)


class PairModel(Protocol):
    """A linear model of a program and the way back to pairs."""

    @property
    def model(self) -> LinearModel:
        """The model; its objective is the program's, maximised."""
        ...

    @property
    def value_index(self) -> Mapping[int, int]:
        """Variable of g(x) of each observation whose value occurs."""
        ...

    @property
    def policy_index(self) -> Mapping[int, Mapping[int, int]]:
        """Binary of each action, for observations where the action matters."""
        ...

    def pair(self, values: Sequence[Fraction | int]) -> Pair:
        """Read a pair off an exact point; ValueError if it is not feasible."""
        ...


class Program(Protocol[CandidateIn]):
    """What OLIVE maximises in a round."""

    @property
    def upper(self) -> Fraction:
        """Upper end of the range of g, and so of the objective."""
        ...

    @property
    def tolerance(self) -> Fraction:
        """Bound φ on the absolute value of every error."""
        ...

    def objective(self, pair: CandidateIn, /) -> Fraction:
        """Predicted value."""
        ...

    def errors(self, pair: CandidateIn, /) -> Sequence[Fraction]:
        """Average Bellman error under each constraint, signed."""
        ...

    def is_feasible(self, pair: CandidateIn, /) -> bool:
        """Whether a pair meets every constraint and the range."""
        ...


class TabularProgram(Program[Pair], Protocol):
    """A program over all tabular pairs: `OliveProgram` or `SampledProgram`."""

    @property
    def lower(self) -> Fraction:
        """Lower end of the range of g."""
        ...

    @property
    def action_counts(self) -> NDArray[np.int64]:
        """Number of actions of each observation."""
        ...

    def to_model(self, form: Form = "value-policy") -> PairModel:
        """Write the program as a mixed-integer linear model."""
        ...


@dataclass(frozen=True)
class Answer(Generic[Candidate]):
    """What an optimiser says about a program.

    Attributes
    ----------
    status
        "optimal"; "infeasible" (no pair is left); "undecided" (a limit was
        reached or the engine gave nothing that could be confirmed).
    pair
        Feasible, None unless "optimal".
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
    pair: Candidate | None
    value: Fraction | None
    proved: bool
    seconds: float
    engine_seconds: float = 0.0
    reason: str = ""


class Optimiser(Protocol[Candidate]):
    """Solves programs of its own kind: tabular ones, or those of a finite class."""

    def maximise(self, program: Any, /) -> Answer[Candidate]:
        """Find a maximiser."""
        ...

    def another(
        self, program: Any, value: Fraction, rng: np.random.Generator, /
    ) -> Answer[Candidate]:
        """Find a random pair with the objective `value`, the program's optimum."""
        ...
