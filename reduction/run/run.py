"""The run of OLIVE that meets the hard program, each round verified exactly.

Ties among maximisers and levels are broken against OLIVE (`reduction.run.schedule`) on
any member M_y, and every round is checked for

- `maximiser`: the pair (g, π) is feasible and attains the optimum, proved by a
  bound on g(s0) (`StartBound`);
- `positive_error`: the average Bellman error at the chosen level, and the sum over the
  levels, are positive in M_y;
- `constraint_as_stated`: what the round adds is what it is stated to add, the same
  function of (g, π), although read off M_y's own rewards.

At the end the constraints are compared with those of ``family.program()``.

Examples
--------
>>> from olivine.reduction.family.family import Family
>>> from olivine.reduction.formula.formula import Formula
>>> from olivine.reduction.run.run import adversarial_run
>>> family = Family(Formula.from_clauses([[1, 2], [-1, 2]]).three_sat())
>>> run = adversarial_run(family, [False, True])
>>> [(r.action, r.level, r.constraint) for r in run.rounds][:3]
[('[try C1]', 2, 'C1'), ('[try C2]', 2, 'C2'), ('[try x1]', 2, 'x1^0, x1^1')]
>>> run.holds
True
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...algorithms.exact.arrays import check_type
from ...algorithms.mdp.bellman import AverageConstraint, average_constraint
from ..family.family import Family
from .replay import LevelRule, Replay, Replayed, StartBound, chosen_level
from .schedule import Move, n_rounds, schedule

__all__ = ["Checks", "Round", "Run", "adversarial_run", "n_rounds"]


@dataclass(frozen=True)
class Checks:
    """Whether the checks of a round came out; `maximiser` None: an engine says so."""

    maximiser: bool | None
    positive_error: bool
    constraint_as_stated: bool


@dataclass(frozen=True)
class Round:
    """A round of the run and what its checks found.

    Attributes
    ----------
    number
        1-based.
    action
        Name of the action that the round's policy takes at s0.
    level
        The level chosen; None in a round that ends a run.
    errors
        Average Bellman errors at levels 1 to 3.
    constraint
        The distributions that became constraints, by the names of their states:
        "C1", or "x1^0, x1^1" (half each); several are separated by "; ".
    optimum
        g(s0), the optimum of the round's program if `checks.maximiser`.
    checks
        Which checks came out.
    failures
        For each check that did not, what is wrong.
    evaluated
        How many constraints the round made it necessary to evaluate.
    """

    number: int
    action: str
    level: int | None
    errors: tuple[Fraction, ...]
    constraint: str
    optimum: Fraction
    checks: Checks
    failures: tuple[str, ...]
    evaluated: int

    @property
    def total_error(self) -> Fraction:
        """Sum of the errors, which OLIVE compares with its stopping threshold."""
        return sum(self.errors, Fraction(0))


@dataclass(frozen=True, eq=False)
class CheckedRun:
    """A run on one member, each round checked.

    Attributes
    ----------
    family, member
        The family and y, a boolean array of shape (n,).
    rounds
        In order.
    difference
        What is wrong with the last program.
    """

    family: Family
    member: NDArray[np.bool_]
    rounds: tuple[Round, ...]
    difference: tuple[str, ...]

    @property
    def holds(self) -> bool:
        """Whether every check of every round came out and the program is right."""
        return not self.failures()

    def failures(self) -> list[str]:
        """List what is wrong, with the number of the round; empty if all holds."""
        found = [
            f"round {r.number}, {r.action}: {failure}"
            for r in self.rounds
            for failure in r.failures
        ]
        return [*found, *(f"final program: {line}" for line in self.difference)]


class Run(CheckedRun):
    """The whole run, its constraints held against the family's program."""

    @property
    def program_as_stated(self) -> bool:
        """Whether the constraints are exactly those of the program, each once."""
        return not self.difference

    @property
    def follows(self) -> tuple[LevelRule, ...]:
        """The level rules by which OLIVE would choose the levels of all rounds."""
        rules: tuple[LevelRule, ...] = ("lowest", "largest")
        return tuple(
            rule
            for rule in rules
            if all(chosen_level(rule, r.errors) == r.level for r in self.rounds)
        )

    @property
    def least_total_error(self) -> Fraction:
        """Least sum of errors of any round: OLIVE stops nowhere below it."""
        return min(r.total_error for r in self.rounds)


def adversarial_run(
    family: Family, y: ArrayLike | None = None, moves: Iterable[Move] | None = None
) -> Run:
    """Run OLIVE on the member M_y and check every round.

    Parameters
    ----------
    family
        The family.
    y
        n truth values; None is the all-zero member.
    moves
        What each round chooses, `schedule` of the family by default. Any other
        run can be checked as well; what is wrong with it is in the result.

    Returns
    -------
    Run
        Whose rounds are as many as the moves.

    Raises
    ------
    ValueError
        If `y` is not n truth values, or a move names what the MDP does not have.
    """
    check_type("family", family, Family, "Family")
    member = family.assignment_of(y)
    checker = _Checker(family, member)
    if moves is not None:
        check_type("moves", moves, Iterable, "list of Moves")
    chosen = schedule(family) if moves is None else moves
    rounds = tuple(checker.round(t, move) for t, move in enumerate(chosen, start=1))
    difference = tuple(checker.difference())
    return Run(family, member, rounds, difference)


def judged(
    family: Family,
    replay: Replay,
    number: int,
    level: int,
    played: Replayed,
    failures: Mapping[str, Iterable[str]],
) -> Round:
    """Put together a round that was played, with what is wrong by each check."""
    found = {name: list(lines) for name, lines in failures.items()}
    action = replay.action_at(replay.mdp.start)
    return Round(
        number,
        replay.mdp.action_names[action],
        level,
        played.errors,
        "; ".join(family.name_of(d) for d in played.added),
        played.objective,
        Checks(**{name: not lines for name, lines in found.items()}),
        tuple(f"{name}: {line}" for name, lines in found.items() for line in lines),
        played.evaluated,
    )


def not_maximiser(played: Replayed, best: Fraction) -> Iterator[str]:
    """Say why a pair is no maximiser of a program with the optimum `best`."""
    yield from played.broken
    if played.objective != best:
        yield f"g(s0) is {played.objective}, not the optimum {best}"


@lru_cache(maxsize=1)  # the members of a family are run one after the other
def _stated_forms(family: Family) -> tuple[AverageConstraint, ...]:
    zero = family.mdp()
    return tuple(average_constraint(zero, d) for d in family.program().distributions)


class _Checker:
    def __init__(self, family: Family, member: NDArray[np.bool_]) -> None:
        self.family = family
        self.mdp = family.mdp(member)
        program = family.program()
        self.stated = program.distributions
        self.bound = StartBound(family)
        self.replay = Replay(
            self.mdp,
            program.lower,
            program.upper_given,
            all_levels=family.layout.declaration.every_level,
        )
        self.stated_forms = _stated_forms(family)
        self.collected: list[AverageConstraint] = []

    def round(self, number: int, move: Move) -> Round:
        check_type("moves", move, Move, "Move")
        best = self.bound.value()  # of the program before this round
        played = self.replay.play(move.changes, move.level)
        for distribution in played.added:
            self.bound.add(distribution)
        failures = {
            "maximiser": not_maximiser(played, best),
            "positive_error": self._positive_error(played, move.level),
            "constraint_as_stated": self._as_stated(played, move),
        }
        return judged(self.family, self.replay, number, move.level, played, failures)

    def _positive_error(self, played: Replayed, level: int) -> Iterator[str]:
        chosen = played.errors[level - 1]
        if chosen <= 0:
            yield f"the average Bellman error at level {level} is {chosen}"
        total = sum(played.errors, Fraction(0))
        if total <= 0:
            yield f"the errors add up to {total}, where OLIVE stops"

    def _as_stated(self, played: Replayed, move: Move) -> Iterator[str]:
        missing = {index: self.stated[index] for index in move.stated}
        for distribution in played.added:
            constraint = average_constraint(self.mdp, distribution)
            self.collected.append(constraint)
            name = self.family.name_of(distribution)
            found = [i for i, stated in missing.items() if stated == distribution]
            if not found:
                yield f"it adds {{{name}}} at level {distribution.level}"
                continue
            del missing[found[0]]
            if constraint != self.stated_forms[found[0]]:
                yield f"the constraint of {{{name}}} is another function"
        for distribution in missing.values():
            name, level = self.family.name_of(distribution), distribution.level
            yield f"it does not add {{{name}}} at level {level}"

    def difference(self) -> Iterator[str]:
        """Compare all constraints collected with the program's, each once."""
        stated, collected = Counter(self.stated_forms), Counter(self.collected)
        for surplus, what in (
            (collected - stated, "collected but not stated"),
            (stated - collected, "stated but not collected"),
        ):
            for constraint in surplus:
                states = ", ".join(
                    self.mdp.state_names[s] for s, _ in constraint.base.coefficients
                )
                yield f"a constraint on {states} is {what}"
