"""The rounds of OLIVE, and OLIVE on tabular MDPs with exact expectations.

OLIVE (Jiang, Krishnamurthy, Agarwal, Langford, Schapire 2017, recalled), in each round:

1. take a maximiser (g, π) of the predicted value among the pairs that meet all
   constraints so far;
2. measure its average Bellman errors at each level along its own policy; they
   add up to the predicted value minus the value of π. If they add up to at most
   `stop`, return π;
3. choose a level h whose error is at least stop/H and add the constraint
   |average Bellman error under the distribution of (x_h under π)| ≤ φ.

What "measure" and "add" mean is up to a `World`: exact expectations here, data sets in
`olivine.algorithms.olive.run`. With exact ones, tolerance 0 and accuracy 0, OLIVE ends
with an optimal policy after at most one constraint a state (docs/olive.md).

>>> from fractions import Fraction
>>> mdp = TabularMDP.from_lists(
...     [
...         ("s", 1, [("left", 0, {"t": 1}), ("right", Fraction(1, 3), {})]),
...         ("t", 2, [("end", Fraction(1, 2), {})]),
...     ]
... )
>>> result = olive_exact(mdp)
>>> result.status, len(result.constraints), result.policy.tolist()
('finished', 2, [0, 0])
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Generic, Literal, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..exact import what_it_is
from ..exact.arrays import as_rational, check_count, check_type
from ..exact.multinomial import RecordedSeed
from ..mdp.planning import Distribution, Pair, state_distributions
from ..mdp.tabular import TabularMDP
from .optimisers import Milp
from .program import OliveProgram, Optimiser, Program, Upper, average_bellman_errors
from .tiebreak import RoundProblem, SolverTiebreak, Tiebreak

Constraint = TypeVar("Constraint", covariant=True)
Ending = Literal["finished", "no pair left", "undecided", "round limit"]


class World(Protocol[Constraint]):
    """Where OLIVE runs: its current program and what it can measure."""

    @property
    def horizon(self) -> int:
        """Number of levels H."""

    @property
    def program(self) -> Program:
        """The current program."""

    @property
    def trajectories(self) -> int:
        """Trajectories collected so far."""

    @property
    def seed(self) -> RecordedSeed | None:
        """The data's generator before its first draw; None without data."""

    def errors(self, pair: Pair) -> tuple[Fraction, ...]:
        """Average Bellman error at each level along the pair's own policy."""

    def constrain(self, pair: Pair, levels: Sequence[int]) -> tuple[Constraint, ...]:
        """Add the constraints of some levels to the program; return the new ones."""


@dataclass(frozen=True)
class OliveRound(Generic[Constraint]):
    """A round of OLIVE."""

    number: int  # 1-based
    pair: Pair  # The maximiser (g, π)
    optimum: Fraction  # Its exact objective, the predicted value
    # Whether it is proved (see `optimisers`) that no pair left is better
    proved: bool
    # Average Bellman error at levels 1..H (estimated, if sampled)
    errors: tuple[Fraction, ...]
    level: int | None  # The level chosen; None in the round that ends the run
    # The constraints added: `Distribution`s or `SampledConstraint`s
    added: tuple[Constraint, ...]
    # Wall time in the optimiser, and of it in the engine itself
    seconds: float
    engine_seconds: float
    trajectories: int  # Trajectories collected up to the end of the round
    note: str = ""  # What the tie-break has to say, usually ""

    @property
    def total_error(self) -> Fraction:
        """Sum of the errors, which OLIVE compares with its stopping threshold."""
        return sum(self.errors, Fraction(0))


@dataclass(frozen=True)
class OliveResult(Generic[Constraint]):
    """A run of OLIVE."""

    # "finished": the stopping rule held; "no pair left": the class cannot contain the
    # optimal pair (or, if sampled, the estimates failed); "undecided": the optimiser
    # gave up, or says without proof that no pair is left; "round limit"
    status: Ending
    # In order; the last one holds the answer if the run finished
    rounds: tuple[OliveRound[Constraint], ...]
    trajectories: int  # Trajectories collected in all; 0 with exact expectations
    seconds: float  # Wall time in the optimiser, the call that ended the run included
    reason: str  # For "undecided"
    program: Program  # The program with all constraints
    # The data's generator before the first draw; None with exact expectations
    seed: RecordedSeed | None = None
    # The generator of the tie-break, as it stood before the first round; None if it
    # draws nothing. (One generator may serve both: then `seed` says all.)
    tie_seed: RecordedSeed | None = None

    @property
    def policy(self) -> NDArray[np.int32] | None:
        """The policy returned, local action indices; None unless finished."""
        return self.rounds[-1].pair.policy if self.status == "finished" else None

    @property
    def constraints(self) -> tuple[Constraint, ...]:
        """All constraints added, in order."""
        return tuple(c for r in self.rounds for c in r.added)

    @property
    def proved(self) -> bool:
        """Whether every round's maximiser is proved to be one."""
        return all(r.proved for r in self.rounds)


def run_rounds(
    world: World[Constraint],
    optimiser: Optimiser,
    tiebreak: Tiebreak,
    *,
    stop: Fraction,
    all_levels: bool,
    max_rounds: int | None,
    watch: Callable[[OliveRound[Constraint]], None] | None = None,
) -> OliveResult[Constraint]:
    """Play rounds until one of the endings of `OliveResult`; ``watch`` sees each."""
    tolerance = world.program.tolerance
    if stop < world.horizon * tolerance:
        raise ValueError(
            f"OLIVE stops where the errors add up to {stop}, which must be at least "
            f"the horizon times the tolerance, {world.horizon} · {tolerance}"
        )
    if max_rounds is not None:
        max_rounds = check_count("max_rounds", max_rounds, least=0)
    for name, one, member in (
        ("optimiser", optimiser, "maximise"),
        ("tiebreak", tiebreak, "maximiser"),
        ("watch", watch, "__call__"),
    ):
        if one is not None and not hasattr(one, member):
            raise TypeError(f"{name}: {what_it_is(one)} has no {member}")
    rounds: list[OliveRound[Constraint]] = []
    seconds = 0.0
    tie_seed = tiebreak.seed

    def result(status: Ending, reason: str = "") -> OliveResult[Constraint]:
        return OliveResult(
            status,
            tuple(rounds),
            world.trajectories,
            seconds,
            reason,
            world.program,
            world.seed,
            tie_seed,
        )

    while max_rounds is None or len(rounds) < max_rounds:
        answer = tiebreak.maximiser(RoundProblem(world.program, optimiser))
        seconds += answer.seconds
        if answer.pair is None or answer.value is None:
            if answer.status == "infeasible" and answer.proved:
                return result("no pair left")
            unproved = "the engine says, without proof, that no pair is left"
            return result("undecided", answer.reason or unproved)
        if not world.program.is_feasible(answer.pair):
            raise RuntimeError("the optimiser's pair breaks the program")
        errors = world.errors(answer.pair)
        level: int | None = None
        added: tuple[Constraint, ...] = ()
        if sum(errors, Fraction(0)) > stop:
            level, added = _constrain(
                world, answer.pair, errors, tiebreak, stop, all_levels
            )
        rounds.append(
            OliveRound(
                len(rounds) + 1,
                answer.pair,
                answer.value,
                answer.proved,
                errors,
                level,
                added,
                answer.seconds,
                answer.engine_seconds,
                world.trajectories,
                answer.reason,
            )
        )
        if watch is not None:
            watch(rounds[-1])
        if level is None:
            return result("finished")
    return result("round limit")


def _constrain(
    world: World[Constraint],
    pair: Pair,
    errors: Sequence[Fraction],
    tiebreak: Tiebreak,
    stop: Fraction,
    all_levels: bool,
) -> tuple[int, tuple[Constraint, ...]]:
    """Choose a level (one error exceeds stop/H) and constrain it, or all levels."""
    horizon, tolerance = len(errors), world.program.tolerance
    eligible = [
        h
        for h, error in enumerate(errors, start=1)
        if error * horizon >= stop and error > tolerance
    ]
    level = tiebreak.level(errors, eligible)
    if level not in eligible:
        raise RuntimeError(f"the tie-break chose level {level} out of {eligible}")
    levels = range(1, horizon + 1) if all_levels else (level,)
    return level, world.constrain(pair, levels)


def olive_exact(
    mdp: TabularMDP,
    *,
    optimiser: Optimiser | None = None,
    tiebreak: Tiebreak | None = None,
    tolerance: Fraction | int = 0,
    epsilon: Fraction | int | None = None,
    lower: Fraction | int = 0,
    upper: Upper = 1,
    constraints: Iterable[Distribution] = (),
    all_levels: bool = False,
    max_rounds: int | None = None,
) -> OliveResult[Distribution]:
    """Run OLIVE on a tabular MDP with exact expectations.

    Parameters
    ----------
    mdp
        Any finite acyclic MDP. g is indexed by the state alone.
    optimiser
        Solves the programs, and with it the class: `Milp` by default and
        `BranchAndBound` search all tabular pairs, `FinitePairs` a finite class.
    tiebreak
        The choices that OLIVE leaves open; `SolverTiebreak` by default.
    tolerance
        φ ≥ 0.
    epsilon
        Stop when the errors add up to at most this; by default the horizon times φ, the
        least that makes every round rule out its own pair. The policy returned is then
        within epsilon of optimal if the class contains (V*, π*) (or, tabular, if V*
        lies in the range).
    lower, upper
        Range of g; the upper end for all states or one for each.
    constraints
        Distributions constrained from the start.
    all_levels
        Whether a round adds the constraints of all levels, or only of one.
    max_rounds
        Stop there, unfinished; without it the run ends by itself, as every round adds
        another of the finitely many distributions.

    Returns
    -------
    OliveResult
        Its `trajectories` are 0.

    Raises
    ------
    ValueError
        If a parameter is out of range (see also `OliveProgram`), or a script does not
        hold what it promises.
    """
    check_type("mdp", mdp, TabularMDP, "TabularMDP")
    program = OliveProgram(mdp, constraints, tolerance, lower, upper)
    least = mdp.horizon * program.tolerance
    return run_rounds(
        ExactWorld(program),
        Milp() if optimiser is None else optimiser,
        SolverTiebreak() if tiebreak is None else tiebreak,
        stop=least if epsilon is None else as_rational("epsilon", epsilon),
        all_levels=all_levels,
        max_rounds=max_rounds,
    )


class ExactWorld:
    """A tabular MDP whose expectations are known; its program grows."""

    trajectories = 0
    seed = None

    def __init__(self, program: OliveProgram) -> None:
        self.program = program
        self.horizon = program.mdp.horizon

    def errors(self, pair: Pair) -> tuple[Fraction, ...]:
        """Exact average Bellman error at each level."""
        return tuple(average_bellman_errors(self.program.mdp, pair))

    def constrain(self, pair: Pair, levels: Sequence[int]) -> tuple[Distribution, ...]:
        """Add the distributions at some levels, but empty ones and known ones."""
        known = list(self.program.distributions)
        added: list[Distribution] = []
        for met in state_distributions(self.program.mdp, pair.policy):
            if met.level not in levels or not len(met.states):
                continue
            if all(met.probabilities() != d.probabilities() for d in known + added):
                added.append(met)
        self.program = self.program.extended(added)
        return tuple(added)
