"""How OLIVE breaks its ties: which maximiser, and at which level to constrain.

OLIVE may take any maximiser of its program and any level whose average Bellman
error is large enough (Jiang et al. 2017 leave both open). How it does decides
which programs it meets: the paper's proof breaks ties against it.

`SolverTiebreak`
    the optimiser's own maximiser, the first, last or worst level;
`RandomTiebreak`
    a random maximiser and level;
`ScriptedTiebreak`
    pairs and levels given in advance: how an adversary breaks ties. Every pair
    is checked to be a maximiser before it is believed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Literal, Protocol

import numpy as np

from ..exact.seeds import RecordedSeed
from ..mdp.bellman import Pair
from .interfaces import Answer, Optimiser, Program

LevelRule = Literal["first", "last", "largest"]

_LEVEL_RULES: dict[str, Callable[[Sequence[Fraction], Sequence[int]], int]] = {
    "first": lambda errors, eligible: eligible[0],
    "last": lambda errors, eligible: eligible[-1],
    "largest": lambda errors, eligible: max(eligible, key=lambda h: errors[h - 1]),
}


@dataclass(frozen=True)
class RoundProblem:
    """A round's program with the one who solves it."""

    program: Program
    optimiser: Optimiser

    @cached_property
    def best(self) -> Answer:
        """The optimiser's own maximiser; solved when first asked for."""
        return self.optimiser.maximise(self.program)


class Tiebreak(Protocol):
    """Makes the choices that OLIVE leaves open."""

    @property
    def seed(self) -> RecordedSeed | None:
        """Its generator as it stands; None if it draws nothing."""

    def maximiser(self, problem: RoundProblem) -> Answer:
        """Choose a maximiser of the round's program."""

    def level(self, errors: Sequence[Fraction], eligible: Sequence[int]) -> int:
        """Choose one of the eligible levels (1-based, rising).

        ``errors[h-1]`` is the average Bellman error at level h.
        """


class SolverTiebreak:
    """The optimiser's own maximiser.

    Raises ValueError if the rule is unknown.
    """

    def __init__(self, level: LevelRule = "largest") -> None:
        if level not in _LEVEL_RULES:
            known = ", ".join(_LEVEL_RULES)
            raise ValueError(f"unknown level rule {level!r}: choose from {known}")
        self.rule: LevelRule = level

    @property
    def seed(self) -> RecordedSeed | None:
        """None."""
        return None

    def maximiser(self, problem: RoundProblem) -> Answer:
        """Take the optimiser's answer."""
        return problem.best

    def level(self, errors: Sequence[Fraction], eligible: Sequence[int]) -> int:
        """Follow the rule."""
        return _LEVEL_RULES[self.rule](errors, eligible)


class RandomTiebreak:
    """A random maximiser (`Optimiser.another`), a uniform eligible level by default.

    Where no other maximiser could be found within the optimiser's limits its
    own is taken, and the answer's `reason` says so.
    """

    def __init__(
        self, rng: np.random.Generator, level: LevelRule | None = None
    ) -> None:
        self.rng = rng
        self._ruled = None if level is None else SolverTiebreak(level)

    @property
    def seed(self) -> RecordedSeed | None:
        """The generator as it stands."""
        return RecordedSeed.of(self.rng)

    def maximiser(self, problem: RoundProblem) -> Answer:
        """Solve for the optimum, then for a random pair that attains it."""
        best = problem.best
        if best.pair is None or best.value is None:
            return best
        drawn = problem.optimiser.another(problem.program, best.value, self.rng)
        seconds = best.seconds + drawn.seconds
        if drawn.pair is None:
            reason = f"no other maximiser: {drawn.reason or drawn.status}"
            return best._replace(seconds=seconds, reason=reason)
        return best._replace(
            pair=drawn.pair,
            seconds=seconds,
            engine_seconds=best.engine_seconds + drawn.engine_seconds,
        )

    def level(self, errors: Sequence[Fraction], eligible: Sequence[int]) -> int:
        """Follow the rule, or draw an eligible level uniformly."""
        if self._ruled is not None:
            return self._ruled.level(errors, eligible)
        return eligible[int(self.rng.integers(len(eligible)))]


class ScriptedTiebreak:
    """Pairs and levels from a script, each verified; then another tie-break."""

    def __init__(
        self, script: Iterable[tuple[Pair, int]], then: Tiebreak | None = None
    ) -> None:
        self._script = iter(script)
        self._then: Tiebreak = SolverTiebreak() if then is None else then
        self._level: int | None = None

    @property
    def seed(self) -> RecordedSeed | None:
        """That of the tie-break after the script."""
        return self._then.seed

    def maximiser(self, problem: RoundProblem) -> Answer:
        """Take the next pair of the script and verify that it is a maximiser.

        No program is solved where the pair attains the upper end of the range. Raises
        ValueError if it breaks the program or is worse than the optimum.
        """
        move = next(self._script, None)
        if move is None:
            self._level = None
            return self._then.maximiser(problem)
        pair, self._level = move
        program = problem.program
        if not program.is_feasible(pair):
            raise ValueError("the script's pair breaks the program of its round")
        value = program.objective(pair)
        if value == program.upper:
            return Answer("optimal", pair, value, True, 0.0)
        best = problem.best
        if best.value is not None and best.value > value:
            raise ValueError(
                f"the script's pair has objective {value}, the optimum is {best.value}"
            )
        return best._replace(pair=pair, value=value)

    def level(self, errors: Sequence[Fraction], eligible: Sequence[int]) -> int:
        """Take the script's level.

        Raises ValueError if its error is too small to be chosen.
        """
        if self._level is None:
            return self._then.level(errors, eligible)
        if self._level not in eligible:
            raise ValueError(
                f"the script chooses level {self._level}, but only {list(eligible)} "
                "have a large enough average Bellman error"
            )
        return self._level
