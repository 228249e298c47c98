"""Every tie on the forced family: all runs that bind every level, or any others.

A round takes a maximiser (g, π) and binds levels of π's roll-in:

=========  ==================================================================
all        every level, whatever its error
lowest     the lowest level with a positive error, and any others
largest    a level with the largest error, and any others
=========  ==================================================================

`lowest` contains `all`, all levels with a positive error, and the rule "lowest" that
binds one level; `largest` contains the rule "largest".
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from ...algorithms.mdp.distributions import Distribution
from ...algorithms.olive_program.pair_model import support_states
from ...algorithms.olive_program.program import OliveProgram
from ..family.forced import ForcedFamily
from .faces import Faces, Noise
from .levels import LevelRule

ManyLevels = Literal["all", "lowest", "largest"]
MANY_LEVELS: tuple[ManyLevels, ...] = get_args(ManyLevels)
_Bound = tuple[Distribution, ...]


@dataclass(frozen=True)
class ForcedRuns:
    """What a search over runs found."""

    # Optima of the programs in which all of the hard program was bound first
    optima: frozenset[Fraction]
    rounds: tuple[int, int]  # Least and greatest number of rounds before these
    # programs, hard: programs met before these; these
    programs: int
    hard: int
    # Polytopes of maximisers with one policy, over which levels were decided
    faces: int
    # A run that stops before, or goes on after 2n + 2 rounds, by what it bound; empty
    # if there is none. A search of all runs ends with it.
    stopped: tuple[str, ...]


def forced_runs(
    family: ForcedFamily,
    y: ArrayLike | None = None,
    levels: ManyLevels = "all",
    *,
    rng: np.random.Generator | None = None,
    runs: int = 1,
) -> ForcedRuns:
    """Search the runs of OLIVE, exact and with φ = 0, until the hard program is bound.

    Copies of a clause action whose side states are not bound are interchangeable, so
    only the first of them is tried. The work of a program grows as 7^m.

    Examples
    --------
    >>> from olivine.reduction.formula.formula import Formula
    >>> family = ForcedFamily(Formula.from_clauses([[1]]).three_sat())
    >>> found = forced_runs(family)
    >>> found.optima, found.rounds, found.stopped
    (frozenset({Fraction(3, 20)}), (2, 2), ())
    """
    if levels not in MANY_LEVELS:
        known = ", ".join(MANY_LEVELS)
        raise ValueError(f"unknown level rule {levels!r}: choose from {known}")
    search = _Search(family, y, levels)
    if rng is None:
        search.everything()
    else:
        for _ in range(runs):
            search.draw(rng)
    ends = search.ends
    return ForcedRuns(
        frozenset(ends.values()),
        (min(search.rounds, default=0), max(search.rounds, default=0)),
        len(search.seen),
        len(ends),
        search.looked_at,
        search.stopped,
    )


class _Search(Faces):
    def __init__(
        self, family: ForcedFamily, y: ArrayLike | None, levels: ManyLevels
    ) -> None:
        single: LevelRule = "largest" if levels == "largest" else "lowest"
        super().__init__(family.mdp(y), family.ranges(), single, Noise())
        self.every = levels == "all"
        self.hard = {self.name(d) for d in family.distributions()}
        self.sides = set(family.side_states())
        self.copies = family.copies()
        self.seen: set[frozenset[str]] = set()
        self.ends: dict[frozenset[str], Fraction] = {}
        self.rounds: list[int] = []
        self.stopped: tuple[str, ...] = ()

    def everything(self) -> None:
        """Follow all runs; a program that is met after fewer rounds counts anew."""
        waiting: list[tuple[_Bound, int]] = [((), 0)]
        met = {(frozenset[str](), 0)}
        while waiting and not self.stopped:
            bound, rounds = waiting.pop()
            for after in self.after(bound, rounds):
                state = (self.key(after), rounds + 1)
                if state not in met:
                    met.add(state)
                    waiting.append((after, rounds + 1))

    def draw(self, rng: np.random.Generator) -> None:
        """Follow one run."""
        bound: _Bound = ()
        for rounds in itertools.count():
            found = self.after(bound, rounds)
            if not found:
                return
            bound = found[int(rng.integers(len(found)))]

    def key(self, bound: _Bound) -> frozenset[str]:
        """Name a program by its constraints."""
        return frozenset(self.name(d) for d in bound)

    def after(self, bound: _Bound, rounds: int) -> list[_Bound]:
        """List what may be bound after one more round; nothing where the run ends."""
        key = self.key(bound)
        if self.hard <= key:
            self.rounds.append(rounds)
            if key not in self.ends:
                self.ends[key] = next(self.maximisers(bound)).most
            return []
        self.seen.add(key)
        found = dict[frozenset[str], _Bound]()
        for met in self._bindings(bound):
            new = {self.name(d): d for d in met if self.name(d) not in key}
            found[key | set(new)] = (*bound, *new.values())
        # It may stop, or a round adds nothing, or there are too many rounds.
        if key in found or not found or rounds >= len(self.hard):
            self.stopped = tuple(self.name(d) for d in bound)
            return []
        return list(found.values())

    def options(self, program: OliveProgram, state: int) -> list[int]:
        """Actions of a state: of copies that are not bound, the first."""
        found = super().options(program, state)
        if len(found) == 1:
            return found
        bound = set(support_states(program))
        kept = []
        for copies in self.copies:
            used = [k for k in copies if self._side(state, k) in bound]
            free = [k for k in copies if k not in used]
            kept += used + free[:1]
        return kept

    def _side(self, state: int, action: int) -> int:
        """Side state behind a clause action."""
        ahead = self.mdp.successors(self.mdp.actions(state)[action])
        return next(s for s, _ in ahead if s in self.sides)

    def _bindings(self, bound: _Bound) -> Iterator[_Bound]:
        """Yield what a round may bind; nothing at all where it may stop."""
        for face in self.maximisers(bound):
            met = tuple(face.met)
            if self.may_stop(face):
                yield ()
            elif self.every:
                yield met
            else:
                for level in range(1, len(met) + 1):
                    if self.allows(face, level):
                        yield from _with_others(met, level)


def _with_others(met: _Bound, level: int) -> Iterator[_Bound]:
    """Yield each set of distributions that holds the level's."""
    others = [d for h, d in enumerate(met, 1) if h != level]
    for size in range(len(others) + 1):
        for chosen in itertools.combinations(others, size):
            yield (met[level - 1], *chosen)
