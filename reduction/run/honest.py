"""OLIVE on a member of the family without an adversary, and what it collects."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...algorithms.exact.multinomial import RecordedSeed
from ...algorithms.mdp.planning import Distribution
from ...algorithms.olive_program.program import Optimiser
from ...algorithms.olive_program.rounds import OliveResult, olive_exact
from ...algorithms.olive_program.tiebreak import ScriptedTiebreak, Tiebreak
from ..family.family import Family
from .replay import Kind, kind_of
from .schedule import q_functions


@dataclass(frozen=True, eq=False)
class HonestRun:
    """A run of OLIVE on a member."""

    # family, member: the family and y, a boolean array of shape (n,)
    family: Family
    member: NDArray[np.bool_]
    result: OliveResult[Distribution]  # The run itself
    optimal_value: Fraction  # V* of the member
    kinds: tuple[Kind, ...]  # What each constraint added is over, in order
    stated: tuple[bool, ...]  # which added ones are the hard program's

    @property
    def seed(self) -> RecordedSeed | None:
        """The generator of the tie-break before the run; None if it has none."""
        return self.result.tie_seed

    @property
    def counts(self) -> Counter[Kind]:
        """How many constraints of each kind were added."""
        return Counter(self.kinds)

    @property
    def meets_hard_program(self) -> bool:
        """Whether some program was the hard one; `forced` may hold one more."""
        size, added = len(self.family.distributions()), 0
        beside = 1 if self.family.layout.n_sides else 0
        for done in self.result.rounds:
            added += len(done.added)
            if sum(self.stated[:added]) == size:
                return added <= size + beside
        return False


def honest_run(
    family: Family,
    y: ArrayLike | None = None,
    *,
    optimiser: Optimiser | None = None,
    tiebreak: Tiebreak | None = None,
    all_levels: bool = False,
    max_rounds: int | None = None,
) -> HonestRun:
    """Run OLIVE with exact expectations, φ = 0, on the member M_y."""
    member = family.assignment_of(y)
    mdp = family.mdp(member)
    result = olive_exact(
        mdp,
        optimiser=optimiser,
        tiebreak=tiebreak,
        upper=family.ranges(),
        all_levels=all_levels,
        max_rounds=max_rounds,
    )
    stated = [d.probabilities() for d in family.distributions()]
    added = result.constraints
    return HonestRun(
        family,
        member,
        result,
        mdp.optimal_values().value(mdp.start),
        tuple(kind_of(family, d) for d in added),
        tuple(d.probabilities() in stated for d in added),
    )


def adversarial_tiebreak(family: Family) -> ScriptedTiebreak:
    """Break ties as the proof does: maximisers (verified) and levels of a schedule."""
    script = ((f.pair(family), move.level) for move, f in q_functions(family))
    return ScriptedTiebreak(script)
