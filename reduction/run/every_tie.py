"""Every tie: an exact search over all runs that OLIVE may take on a small member.

A run is legal if each round takes a maximiser (g, π) and binds a level that the rule
allows; `faces` says which distributions a round may bind. What it may bind depends on
the set of those bound so far alone, so the search goes through these sets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from numpy.typing import ArrayLike

from ...algorithms.mdp.distributions import Distribution
from ..family.family import Family
from .faces import Faces, Noise
from .levels import LevelRule

__all__ = ["EveryTie", "Noise", "every_tie"]


@dataclass(frozen=True)
class EveryTie:
    """What a search over all legal runs found."""

    # Whether every run meets exactly the hard program, after `rounds` rounds
    always: bool
    rounds: int  # m + 2n + 1, the number of the hard program's constraints
    programs: int  # Programs met before the hard one, by their constraints
    # Polytopes of maximisers with one policy, over which levels were decided
    faces: int
    # Constraints of a run that does not meet it, in order, the last one not of the hard
    # program or bound before; or those of one that stops. Empty if `always`.
    example: tuple[str, ...]


def every_tie(
    family: Family,
    y: ArrayLike | None = None,
    levels: LevelRule = "lowest",
    noise: Noise | None = None,
) -> EveryTie:
    """Search all runs of OLIVE on the member M_y, with all estimates there may be.

    The work grows as 7^m and as the number of programs that runs can meet; it ends at
    the first run that never meets the hard program.
    """
    member = family.assignment_of(y)
    search = Faces(family.mdp(member), family.ranges(), levels, noise or Noise())
    return search_ties(search, family.distributions())


def search_ties(search: Faces, hard: Sequence[Distribution]) -> EveryTie:
    """Search all runs on any MDP for one that does not meet exactly a program."""
    stated = [d.probabilities() for d in hard]
    waiting: list[tuple[Distribution, ...]] = [()]
    seen, rounds = {frozenset[object]()}, len(stated)
    while waiting:
        bound = waiting.pop()
        for met in search.moves(bound):
            run = bound if met is None else (*bound, met)
            key = frozenset(search.name(d) for d in run)
            known = len(key) <= len(bound)
            if met is None or known or met.probabilities() not in stated:
                example = tuple(search.name(d) for d in run)
                return EveryTie(False, rounds, len(seen), search.looked_at, example)
            if len(run) < rounds and key not in seen:
                seen.add(key)
                waiting.append(run)
    return EveryTie(True, rounds, len(seen), search.looked_at, ())
