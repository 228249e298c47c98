"""Every tie: an exact search over all runs that OLIVE may take on a small member.

What a round may bind (`faces`) depends on the set of distributions bound so far alone,
so the search goes through these sets. A run ends when it has bound the hard program,
and beside it as many others as the variant allows at most.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from ...algorithms.exact.arrays import check_choice
from ...algorithms.mdp.planning import Distribution
from ...algorithms.mdp.tabular import TabularMDP
from ...algorithms.olive_program.program import OliveProgram, Upper
from ..family.family import Family
from ..family.layout import Layout
from .faces import Faces, Noise
from .levels import LEVELS, LevelRule, Levels

__all__ = ["EveryTie", "Noise", "every_tie", "search_ties"]

_Bound = tuple[Distribution, ...]


@dataclass(frozen=True)
class EveryTie:
    """What a search over legal runs found."""

    always: bool  # Whether every run met is as stated, and comes to the hard program
    rounds: tuple[int, int]  # least and most, before the hard program
    optima: frozenset[Fraction]
    # programs, ends: programs met before these; these
    programs: int
    ends: int
    faces: int  # polytopes of maximisers looked at
    example: tuple[str, ...]  # constraints of a run not as stated, in order


def every_tie(
    family: Family,
    y: ArrayLike | None = None,
    levels: Levels = "lowest",
    noise: Noise | None = None,
    *,
    after: Sequence[Distribution] = (),
    rng: np.random.Generator | None = None,
    runs: int = 1,
) -> EveryTie:
    """Search all runs of OLIVE on the member M_y, with all estimates there may be.

    Runs go on from what was bound before, `after`; with a generator, some are drawn.
    The work grows as 7^m and as the number of programs that runs can meet; it ends at
    the first run that is not as stated.

    Examples
    --------
    >>> from olivine.reduction.formula.formula import Formula
    >>> family = Family(Formula.from_clauses([[1]]).three_sat(), "forced")
    >>> found = every_tie(family, levels="all")
    >>> found.always, found.rounds, found.optima == {family.parameters.best}
    (True, (5, 5), True)
    """
    check_choice("level rule", levels, LEVELS)
    single: LevelRule = "any" if levels == "all" else levels
    mdp, sides = family.mdp(family.assignment_of(y)), family.layout.n_sides
    given = mdp, family.ranges(), single, noise or Noise()
    search = _Copies(family.layout, *given) if sides else Faces(*given)
    return search_ties(
        search,
        family.distributions(),
        beside=1 if sides else 0,
        every_level=levels == "all",
        after=after,
        rng=rng,
        runs=runs,
    )


def search_ties(
    search: Faces,
    hard: Sequence[Distribution],
    *,
    beside: int = 0,
    every_level: bool = False,
    after: Sequence[Distribution] = (),
    rng: np.random.Generator | None = None,
    runs: int = 1,
) -> EveryTie:
    """Search runs on any MDP for one that misses `hard`, or binds more `beside` it."""
    found = _Runs(search, hard, beside, every_level)
    if rng is None:
        found.everything(tuple(after))
    else:
        for _ in range(runs):
            found.draw(rng, tuple(after))
    return EveryTie(
        not found.example,
        (min(found.rounds, default=0), max(found.rounds, default=0)),
        frozenset(found.ends.values()),
        len(found.seen),
        len(found.ends),
        search.looked_at,
        found.example,
    )


class _Runs:
    def __init__(
        self,
        search: Faces,
        hard: Sequence[Distribution],
        beside: int,
        every_level: bool,
    ) -> None:
        self.search, self.beside, self.every = search, beside, every_level
        self.hard = self.key(hard)
        self.seen: set[frozenset[str]] = set()
        self.ends: dict[frozenset[str], Fraction] = {}
        self.rounds: list[int] = []
        self.example: tuple[str, ...] = ()

    def everything(self, start: _Bound) -> None:
        waiting: list[tuple[_Bound, int]] = [(start, 0)]
        met = {(self.key(start), 0)}
        while waiting and not self.example:
            bound, rounds = waiting.pop()
            for after in self.after(bound, rounds):
                state = (self.key(after), rounds + 1)
                if state not in met:
                    met.add(state)
                    waiting.append((after, rounds + 1))

    def draw(self, rng: np.random.Generator, bound: _Bound) -> None:
        for rounds in itertools.count():
            found = self.after(bound, rounds)
            if not found or self.example:
                return
            bound = found[int(rng.integers(len(found)))]

    def key(self, bound: Sequence[Distribution]) -> frozenset[str]:
        return frozenset(map(self.search.name, bound))

    def after(self, bound: _Bound, rounds: int) -> list[_Bound]:
        """List what may be bound after one more round; nothing where the run ends."""
        key, name = self.key(bound), self.search.name
        if self.hard <= key:
            self.rounds.append(rounds)
            if key not in self.ends:
                best = [f.most for f in self.search.maximisers(bound)]
                self.ends[key] = max(best)
            return []
        self.seen.add(key)
        found: dict[frozenset[str], _Bound] = {}
        for met in self._bindings(bound):
            new = met if not self.every else (d for d in met if name(d) not in key)
            run = (*bound, *new)
            if len(self.key(run) - self.hard) > self.beside or self.key(run) == key:
                self.example = tuple(map(name, run))
                return []
            found[self.key(run)] = run
        return list(found.values())

    def _bindings(self, bound: _Bound) -> Iterator[_Bound]:
        """Yield what a round may bind, level by level; nothing where it may stop."""
        if not self.every:
            for move in self.search.moves(bound):
                yield () if move is None else (move,)
            return
        for face in self.search.maximisers(bound):
            yield () if self.search.may_stop(face) else tuple(face.met)


class _Copies(Faces):
    """Faces of `forced`: of copies with sides that are bound alike, one is tried."""

    def __init__(
        self,
        layout: Layout,
        mdp: TabularMDP,
        upper: Upper,
        levels: LevelRule,
        noise: Noise,
    ) -> None:
        super().__init__(mdp, upper, levels, noise)
        self.layout = layout

    def options(self, program: OliveProgram, state: int) -> list[int]:
        """Actions of a state that differ in a program, as local indices."""
        found = super().options(program, state)
        if not 1 <= state <= self.layout.n_clauses:
            return found
        kept = dict[object, int]()
        for action in found:
            side = int(self.layout.side_state(state - 1, action))
            k = self.layout.n_sides
            own = {side - k: "Y", side: "y", side + k: "z"}
            bound = (d.probabilities() for d in program.distributions)
            alike = frozenset(
                tuple((own.get(s, s), p) for s, p in met.items())
                for met in bound
                if own.keys() & met.keys()
            )
            behind = self.mdp.successors(self.mdp.actions(state)[action])
            literals = tuple((s, p) for s, p in behind if s != side)
            kept.setdefault((literals, alike), action)
        return list(kept.values())
