"""Runs of OLIVE on a member by how its ties are broken and its levels chosen.

=============  ================================================================
adversary      the stated run, which meets the hard program (`run.run`)
solver         the maximisers that a MILP engine finds
random         random maximisers, and random levels where the rule leaves a choice
benign         the run that never meets the hard program (`run.benign`)
=============  ================================================================

A rule says which level with a positive error is bound (`run.replay`), or that all are.
Under "any" the solver's run takes the largest error, as OLIVE does by default. With
γ > 0 random maximisers are random pairs within γ of the optimum.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...algorithms.exact.arrays import check_choice
from ...algorithms.olive_program.optimisers import Milp
from ...algorithms.olive_program.tiebreak import LevelRule as TiebreakRule
from ...algorithms.olive_program.tiebreak import (
    RandomTiebreak,
    SolverTiebreak,
    Tiebreak,
)
from ..family.family import Family
from .benign import benign_run
from .honest import HonestRun, honest_run
from .replay import LEVELS, Levels, StartBound
from .run import Checks, Round, Run, adversarial_run

Ties = Literal["adversary", "solver", "random", "benign"]
TIES: tuple[Ties, ...] = get_args(Ties)
_RULES: dict[Levels, TiebreakRule] = {"lowest": "first", "largest": "largest"}


@dataclass(frozen=True, eq=False)
class TracedRun:
    """A run under a choice of ties and levels."""

    # family, member: the family and y, a boolean array of shape (n,)
    family: Family
    member: NDArray[np.bool_]
    ties: Ties  # how they were broken, and levels chosen
    levels: Levels
    rounds: tuple[Round, ...]  # `checks.maximiser` None: an engine's word
    ending: str  # "hard program" (stated run), "finished", or "undecided" (a limit)
    meets_hard_program: bool  # Whether some program of the run was exactly the hard one
    failures: tuple[str, ...]  # Checks that did not come out
    # Value of the policy returned, None without one; V* of the member
    value: Fraction | None
    optimal_value: Fraction
    reason: str = ""  # For "undecided"

    @property
    def least_total_error(self) -> Fraction:
        """Least sum of errors of any round; 0 where there is none."""
        return min((r.total_error for r in self.rounds), default=Fraction(0))


def traced_run(
    family: Family,
    y: ArrayLike | None = None,
    ties: Ties = "adversary",
    levels: Levels = "any",
    *,
    gamma: Fraction = Fraction(0),
    rng: np.random.Generator | None = None,
    time_limit: float | None = None,
) -> TracedRun:
    """Run OLIVE, exact and with φ = 0, on the member M_y."""
    check_choice("level rule", levels, LEVELS)
    every_level = family.layout.declaration.every_level
    if every_level and levels not in ("any", "all") and ties != "benign":
        raise ValueError(
            f"levels {levels} do not go with variant {family.variant}, where each "
            "round binds all levels; it goes with any and all"
        )
    if gamma and ties != "random":
        raise ValueError(
            f"ties {ties} take maximisers, or the pairs stated; γ > 0, for pairs that "
            "are nearly maximisers, goes with ties random"
        )
    if ties == "adversary":
        if levels == "all":
            if not every_level:
                raise ValueError(
                    f"the stated run of variant {family.variant} binds one level in a "
                    "round; levels all go with ties solver and random, and with ties "
                    "adversary in variant all-levels"
                )
            levels = "any"
        return _stated(adversarial_run(family, y), levels)
    if ties == "benign":
        if levels != "any" and not every_level:
            raise ValueError(
                f"ties benign need a free choice of levels, not {levels}: in strict no "
                "tie helps under lowest or largest, in forced under all either; use "
                "--levels any"
            )
        done = benign_run(family, y)
        return TracedRun(
            family,
            done.member,
            ties,
            levels,
            done.rounds,
            "finished",
            False,
            tuple(done.failures()),
            done.optimal_value,
            done.optimal_value,
        )
    run = honest_run(
        family,
        y,
        optimiser=Milp(time_limit=time_limit),
        tiebreak=_tiebreak(ties, levels, rng, gamma),
        all_levels=every_level or levels == "all",
    )
    return _honest(run, ties, levels)


def _tiebreak(
    ties: Ties, levels: Levels, rng: np.random.Generator | None, gamma: Fraction
) -> Tiebreak:
    if ties == "solver":
        return SolverTiebreak(_RULES.get(levels, "largest"))
    if ties != "random":
        raise ValueError(f"unknown ties {ties!r}: choose from {', '.join(TIES)}")
    if rng is None:
        raise ValueError("ties random need a generator")
    return RandomTiebreak(rng, _RULES.get(levels), gamma)


def _stated(run: Run, levels: Levels) -> TracedRun:
    allowed: tuple[Levels, ...] = ("any", *run.follows)
    if run.holds and levels not in allowed:
        raise ValueError(
            f"ties adversary do not go with levels {levels} in variant "
            f"{run.family.variant}: the stated run binds other levels there; it goes "
            f"with {' and '.join(allowed)}, and in strict any run goes with lowest and "
            "largest"
        )
    mdp = run.family.mdp(run.member)
    return TracedRun(
        run.family,
        run.member,
        "adversary",
        levels,
        run.rounds,
        "hard program",
        run.program_as_stated,
        tuple(run.failures()),
        None,
        mdp.optimal_values().value(mdp.start),
    )


def _honest(run: HonestRun, ties: Ties, levels: Levels) -> TracedRun:
    result, mdp = run.result, run.family.mdp(run.member)
    value = None
    if result.policy is not None:
        value = mdp.evaluate(result.policy).value(mdp.start)
    return TracedRun(
        run.family,
        run.member,
        ties,
        levels,
        tuple(_rounds(run)),
        result.status,
        run.meets_hard_program,
        (),
        value,
        run.optimal_value,
        result.reason,
    )


def _rounds(run: HonestRun) -> Iterator[Round]:
    """Yield the rounds with what is proved of them; each pair was checked exactly."""
    bound, mdp = StartBound(run.family), run.family.mdp(run.member)
    stated = [d.probabilities() for d in run.family.distributions()]
    for done in run.result.rounds:
        proved = done.proved or done.optimum == bound.value()
        for distribution in done.added:
            bound.add(distribution)
        yield Round(
            done.number,
            mdp.action_names[int(done.pair.policy[mdp.start])],
            done.level,
            done.errors,
            "; ".join(run.family.name_of(d) for d in done.added),
            done.optimum,
            Checks(
                maximiser=True if proved else None,
                positive_error=done.level is None or done.errors[done.level - 1] > 0,
                constraint_as_stated=all(
                    d.probabilities() in stated for d in done.added
                ),
            ),
            (),
            0,
        )
