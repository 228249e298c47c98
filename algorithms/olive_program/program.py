"""The optimisation problem inside OLIVE, for any finite MDP, in exact rationals.

For distributions D_1, …, D_N over states (paper, "OLIVE is not Oracle-Efficient")

    max g(s0) over g ∈ (X → [lower, upper]) and π ∈ (X → A)
    subject to |E_{x∼D_i}[g(x) − E[r + g(x′) | x, π(x)]]| ≤ φ for every i,

with g = 0 once the episode has ended. φ bounds the conditional expectation, which the
paper prints with importance weights, in both forms (docs/errata.md, 6).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ..exact.arrays import (
    IntArray,
    as_rational,
    distinct,
    fits_int64,
    gather,
    integer_array,
    integers,
    magnitude,
)
from ..mdp.bellman import as_fractions, average_errors
from ..mdp.planning import (
    Distribution,
    Distributions,
    Pair,
    denominators,
    state_distributions,
)
from ..mdp.tabular import TabularMDP, TwoActions

if TYPE_CHECKING:
    from ...solvers.model import Sense


Upper = Fraction | int | Sequence[Fraction | int]
"""Upper end of the range of g, for all observations or one for each."""


class Ranged:
    """What a program knows of the range of g: `lower`, and the largest `upper` end.

    `upper_ends`: that of each observation; empty where there is one for all. Raises
    ValueError if an end is no exact rational, a range empty, or their number wrong.
    """

    def __init__(self, size: int, lower: Fraction | int, upper: Upper) -> None:
        self.lower = as_rational("lower", lower)
        self.upper_ends: tuple[Fraction, ...] = ()
        if isinstance(upper, Sequence):
            if len(upper) != size:
                raise ValueError(f"{len(upper)} upper ends for {size} observations")
            # There are few ends, each given many times over, and Fractions are slow.
            given = list(upper)
            names = list(map(id, given))
            objects = dict(zip(names, given, strict=True))
            ends = {name: as_rational("upper", end) for name, end in objects.items()}
            self.upper_ends = tuple(map(ends.__getitem__, names))
            self._kinds = list(ends.values())
            place = {name: k for k, name in enumerate(ends)}
            self._kind = np.fromiter(map(place.__getitem__, names), dtype=np.int64)
            self.upper, least = max(self._kinds), min(self._kinds)
        else:
            self.upper = least = as_rational("upper", upper)
        if self.lower > least:
            raise ValueError(f"empty range [{self.lower}, {least}]")

    def upper_kinds(self) -> tuple[list[Fraction], NDArray[np.int64] | None]:
        """List the upper ends, and which each observation has; None: one for all."""
        if not self.upper_ends:
            return [self.upper], None
        return self._kinds, self._kind

    @property
    def upper_given(self) -> Upper:
        """The upper end as it was given, for a program with the same ranges."""
        return self.upper_ends or self.upper

    def floors(self, denominator: int) -> IntArray:
        """Largest k with k/denominator in each observation's own range."""
        floors = integer_array(math.floor(end * denominator) for end in self._kinds)
        return floors[self._kind]

    def upper_of(self, observation: int) -> Fraction:
        """Upper end of the range of g at an observation."""
        return self.upper_ends[observation] if self.upper_ends else self.upper

    def nearest_to_zero(self, observation: int) -> Fraction:
        """Value of an observation's range that is nearest to 0."""
        return min(max(Fraction(0), self.lower), self.upper_of(observation))

    def greatest_mean(self, shares: Sequence[tuple[int, Fraction]]) -> Fraction:
        """Greatest value of Σ share · g over observations with their shares."""
        ends = self.upper_ends
        terms = {(id(p), id(ends and ends[s])): (s, p) for s, p in shares}
        counts = Counter((id(p), id(ends and ends[s])) for s, p in shares)
        return sum(
            (counts[key] * p * self.upper_of(s) for key, (s, p) in terms.items()),
            Fraction(0),
        )


class Program(Ranged, ABC):
    """What OLIVE maximises in a round: `OliveProgram` or `SampledProgram`.

    `action_counts`: number of actions of each observation, shape (n,); `tolerance`:
    bound φ on the absolute value of every error.
    """

    def __init__(
        self,
        action_counts: NDArray[np.int64],
        tolerance: Fraction | int,
        lower: Fraction | int,
        upper: Upper,
    ) -> None:
        self.action_counts = action_counts
        self.tolerance = as_rational("tolerance", tolerance)
        super().__init__(len(action_counts), lower, upper)
        if self.tolerance < 0:
            raise ValueError(f"tolerance {self.tolerance} is negative")

    @abstractmethod
    def objective(self, pair: Pair) -> Fraction:
        """Predicted value."""

    @abstractmethod
    def errors(self, pair: Pair) -> Sequence[Fraction]:
        """Average Bellman error under each constraint, signed."""

    @abstractmethod
    def is_feasible(self, pair: Pair) -> bool:
        """Whether a pair meets every constraint and the range, exactly."""


class Answer(NamedTuple):
    """What an optimiser says about a program."""

    # "optimal"; "infeasible" (no pair is left); "undecided" (a limit was reached or the
    # engine gave nothing that could be confirmed)
    status: Literal["optimal", "infeasible", "undecided"]
    pair: Pair | None  # Exactly feasible, None unless "optimal"
    value: Fraction | None  # Its exact objective
    proved: bool  # Whether `status` is proved in exact arithmetic
    seconds: float  # Wall time in the optimiser, confirmation included
    # Of these, what the engine itself took, its process's start included
    engine_seconds: float = 0.0
    reason: str = ""  # For "undecided"


class Optimiser(Protocol):
    """Solves programs."""

    def maximise(self, program: Program) -> Answer:
        """Find a maximiser."""

    def another(
        self, program: Program, value: Fraction, rng: np.random.Generator
    ) -> Answer:
        """Find a random pair with at least the objective `value`."""


Form = Literal["value-policy", "q-function"]
"""A model over (g, π), or over Q-functions f."""


@dataclass(frozen=True)
class Violation:
    """A broken requirement of the program."""

    # ``"value"``: g(state `index`) lies outside the range; ``"constraint"``: the
    # average Bellman error under distribution `index` exceeds the tolerance
    kind: Literal["value", "constraint"]
    index: int  # State or distribution, 0-based
    # Signed excess: of the value over the nearer bound, or the whole error
    amount: Fraction


class OliveProgram(Program):
    """OLIVE's program over all tabular (g, π) of an MDP, everything rational."""

    def __init__(
        self,
        mdp: TabularMDP,
        distributions: Iterable[Distribution],
        tolerance: Fraction | int = 0,
        lower: Fraction | int = 0,
        upper: Upper = 1,
    ) -> None:
        self.mdp = mdp
        self.distributions = Distributions.from_iterable(distributions)
        super().__init__(mdp.action_counts, tolerance, lower, upper)
        last = int(self.distributions.states.max(initial=-1))
        if last >= mdp.n_states:
            raise ValueError(
                f"a distribution names state {last}, but the MDP has {mdp.n_states}"
            )

    @cached_property
    def _denominators(self) -> tuple[int, int]:
        states = distinct(self.distributions.states)
        return denominators(self.mdp, gather(self.mdp.action_offset, states)[0])

    def extended(self, distributions: Iterable[Distribution]) -> OliveProgram:
        """Give the program more constraints, as a round of OLIVE does."""
        return OliveProgram(
            self.mdp,
            [*self.distributions, *distributions],
            self.tolerance,
            self.lower,
            self.upper_given,
        )

    def objective(self, pair: Pair) -> Fraction:
        """Value of the start state."""
        return pair.value(self.mdp.start)

    def errors(self, pair: Pair) -> list[Fraction]:
        """Average Bellman error of a pair under each distribution, signed."""
        return as_fractions(*self._errors(pair), self.distributions)

    def violations(self, pair: Pair) -> list[Violation]:
        """List every broken requirement: the range of g first, then constraints."""
        found = []
        for state in np.flatnonzero(self._outside(pair)):
            value = pair.value(int(state))
            upper = self.upper_of(int(state))
            bound = self.lower if value < self.lower else upper
            found.append(Violation("value", int(state), value - bound))
        numerators, denominator = self._errors(pair)
        for i in np.flatnonzero(self._exceeding(numerators, denominator)):
            whole = denominator * int(self.distributions.denominators[i])
            error = Fraction(int(numerators[i]), whole)
            found.append(Violation("constraint", int(i), error))
        return found

    def is_feasible(self, pair: Pair) -> bool:
        """Whether a pair meets every constraint and the range, exactly."""
        if self._outside(pair).any():
            return False
        return not self._exceeding(*self._errors(pair)).any()

    def _errors(self, pair: Pair) -> tuple[IntArray, int]:
        self.mdp.global_actions(pair.policy)  # the policy is one of the MDP
        return average_errors(self.mdp, self.distributions, pair, self._denominators)

    def _outside(self, pair: Pair) -> NDArray[np.bool_]:
        lowest = math.ceil(self.lower * pair.denominator)
        highest: int | IntArray = math.floor(self.upper * pair.denominator)
        if self.upper_ends:
            highest = self.floors(pair.denominator)
        low, high = pair.numerators < lowest, pair.numerators > highest
        return np.asarray(low | high, dtype=bool)

    def _exceeding(self, numerators: IntArray, denominator: int) -> NDArray[np.bool_]:
        if not self.tolerance:
            return np.asarray(numerators != 0, dtype=bool)
        limit = self.tolerance * denominator
        wholes = self.distributions.denominators
        exact = not fits_int64(
            max(
                limit.numerator * magnitude(wholes),
                limit.denominator * magnitude(numerators),
            )
        )
        left = integers(abs(numerators), exact=exact) * limit.denominator
        exceeding = left > limit.numerator * integers(wholes, exact=exact)
        return np.asarray(exceeding, dtype=bool)


def average_bellman_errors(mdp: TabularMDP, pair: Pair) -> list[Fraction]:
    """E[g(x_h) − r_h − g(x_{h+1})] under π for h = 1..horizon; sum g(s0) − V^π(s0)."""
    met = Distributions.from_iterable(state_distributions(mdp, pair.policy))
    return as_fractions(*average_errors(mdp, met, pair), met)


@dataclass(frozen=True)
class Affine:
    """The affine function constant + Σ coefficients · g[states], in [`low`, `high`]."""

    constant: Fraction
    states: tuple[int, ...]
    coefficients: tuple[Fraction, ...]
    low: Fraction
    high: Fraction

    def minus(self) -> list[Fraction]:
        """Negate the coefficients; of one object there comes one object."""
        distinct = {id(c): c for c in self.coefficients}
        negative = {name: -c for name, c in distinct.items()}
        return [negative[id(c)] for c in self.coefficients]

    def at(self, values: Sequence[Fraction]) -> Fraction:
        """Value under values of all states."""
        terms = (
            c * values[s] for s, c in zip(self.states, self.coefficients, strict=True)
        )
        return sum(terms, self.constant)


def backup_of(program: OliveProgram, action: int) -> Affine:
    """E[r + g(x′)] of a global action, with its range in the program."""
    successors = program.mdp.successors(action)
    reward = program.mdp.reward(action)
    future = 1 if successors else 0
    return Affine(
        reward,
        tuple(s for s, _ in successors),
        tuple(p for _, p in successors),
        reward + future * program.lower,
        reward + program.greatest_mean(successors),
    )


def action_classes(mdp: TabularMDP, state: int) -> list[int]:
    """First equal action (reward, successors' shares) of each action of a state."""
    first: dict[object, int] = {}
    return [
        first.setdefault(_action_key(mdp, action), local)
        for local, action in enumerate(mdp.actions(state))
    ]


def _action_key(mdp: TabularMDP, action: int) -> object:
    low, high = (int(t) for t in mdp.transition_offset[action : action + 2])
    targets = mdp.transition_target[low:high].tolist()
    numerators = mdp.transition_numerator[low:high].tolist()
    divisor = math.gcd(*numerators)
    shares = sorted(
        (target, share // divisor)
        for target, share in zip(targets, numerators, strict=True)
    )
    reward = mdp.reward(action)
    return reward.numerator, reward.denominator, tuple(shares)


def distinct_actions(mdp: TabularMDP, state: int) -> list[int]:
    """Local indices of the first of each group of equal actions of a state."""
    return sorted(set(action_classes(mdp, state)))


def support_states(program: OliveProgram) -> list[int]:
    """States of the distributions, in order: the only ones whose action matters."""
    states: list[int] = np.unique(program.distributions.states).tolist()
    return states


def needed_states(program: OliveProgram) -> list[int]:
    """States whose value occurs: start, support, successors of its actions."""
    mdp = program.mdp
    support = np.unique(program.distributions.states)
    actions = gather(mdp.action_offset, support)[0]
    entries = gather(mdp.transition_offset, actions)[0]
    found = [np.array([mdp.start]), support, mdp.transition_target[entries]]
    needed: list[int] = np.unique(np.concatenate(found)).tolist()
    return needed


def backup_range(
    program: OliveProgram,
    state: int,
    ends: tuple[Fraction, Fraction],
    alone: Fraction | None,
) -> tuple[Fraction, Fraction]:
    """Range of the backup of a state, whose actions' backups lie between the ends."""
    low, high = ends
    if alone is not None:
        slack = program.tolerance / alone
        upper = program.upper_of(state)
        tight = max(low, program.lower - slack), min(high, upper + slack)
        if tight[0] <= tight[1]:  # else no policy is feasible; the rows say so
            return tight
    return low, high


def single_state_constraints(program: OliveProgram) -> dict[int, Fraction]:
    """Largest probability of each state in a distribution over it alone."""
    flat = program.distributions
    alone: dict[int, Fraction] = {}
    for i in np.flatnonzero(np.diff(flat.offsets) == 1).tolist():
        entry = int(flat.offsets[i])
        state = int(flat.states[entry])
        share = Fraction(int(flat.numerators[entry]), int(flat.denominators[i]))
        alone[state] = max(share, alone.get(state, Fraction(0)))
    return alone


def bellman_rows(
    phi: Fraction, constant: Fraction
) -> list[tuple[Sense, Fraction, str]]:
    """Sense, right side and suffix of the rows that say |terms + constant| <= φ."""
    if phi == 0:
        return [("==", -constant, "")]
    return [("<=", phi - constant, "+"), (">=", -constant - phi, "-")]


def two_action_program(program: OliveProgram) -> tuple[TwoActions, OliveProgram]:
    """Write a program over the MDP of two actions, each node in its state's range.

    A pair of it gives one of the original, so with φ = 0 its optimum is no more; no
    less where each action of the constrained states is worth something in its state's
    range under some optimal pair, as in the layered variants (docs/ties.md). Raises
    ValueError if the MDP is not layered, or the tolerance positive: it would add up.
    """
    if program.tolerance:
        raise ValueError(
            f"tolerance {program.tolerance} would add up along trees; only 0 is kept"
        )
    trees = TwoActions(program.mdp)
    bound = {}
    for distribution in program.distributions:
        for found in trees.constraints(distribution):
            key = (found.level, tuple(found.probabilities().items()))
            bound[key] = found
    upper = [
        program.upper_of(s) for s in range(program.mdp.n_states) for _ in trees.nodes(s)
    ]
    return trees, OliveProgram(
        trees.mdp, bound.values(), lower=program.lower, upper=upper
    )
