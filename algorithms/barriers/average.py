"""The barrier of average constraints: exploration that stops 1/2 below the optimum.

The start shows one of m contexts, equally likely; action a leads to s_1, that pays 1, b
to s_2, which pays 0. Π holds π*, always a, and each policy that takes a in half of the
contexts; ĝ need only be right on average (docs/barriers.md). `run_all` runs
`explore_by_averages`, OLIVE at its theorem's constants, and VALOR on it.

>>> barrier = AverageBarrier(4)
>>> barrier.n_balanced, barrier.environment().truth.optimal_value
(6, Fraction(1, 1))
>>> runs = run_all(barrier, np.random.default_rng(0))
>>> {name: str(run.value) for name, run in runs.items()}
{'average constraints': '1/2', 'olive': '1', 'valor': '1'}
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..classes import (
    FinitePolicyClass,
    FiniteValueClass,
    PolicyClassByLevel,
    ValueClassByLevel,
)
from ..classes.protocols import PolicyClass, ValueClass, action_weights
from ..environments import from_lists
from ..environments.finite import FiniteEnvironment, backed_up, occupancies
from ..environments.finite_model import FiniteModel
from ..exact.arrays import object_array
from ..exact.data import EmpiricalMeasure
from ..learning.problem import Problem
from ..mdp.planning import Pair
from ..olive.parameters import theorem_parameters
from ..olive.run import LayeredEnvironment, olive_sampled
from ..olive_program.sampled_program import FinitePairs
from ..oracles import Constraint, Functional
from ..oracles.csc import csc
from ..oracles.ledger import Ledger
from ..oracles.lp import ValueProgram
from ..valor.algorithm import valor
from ..valor.parameters import PracticalParameters

A, B = 0, 1
HALF = Fraction(1, 2)
MAX_CONTEXTS = 16  # largest m, for Π is written out: 12,870 balanced policies

Function = tuple[Fraction, Fraction]  # values at s_1 and s_2

BEST: Function = (Fraction(1), Fraction(0))
EVEN: Function = (HALF, HALF)
REVERSED: Function = (Fraction(0), Fraction(1))


@dataclass(frozen=True)
class AverageBarrier:
    """The construction."""

    m: int  # Number of contexts: even, 2 to `MAX_CONTEXTS`

    def __post_init__(self) -> None:
        m = self.m
        whole = isinstance(m, int) and not isinstance(m, bool)
        if not whole or m % 2 or not 2 <= m <= MAX_CONTEXTS:
            raise ValueError(
                f"m: {m!r} is no even integer in 2..{MAX_CONTEXTS} (half of the "
                "contexts get action a, and all such policies are written out)"
            )

    @property
    def n_balanced(self) -> int:
        """C(m, m/2), the number of policies that take a in half of the contexts."""
        return balanced_policies(self.m)

    def environment(self) -> FiniteEnvironment:
        """Make the environment: codes 0..m-1 at level 1, s_1 = 0 and s_2 = 1 next."""
        contexts = {f"x{i}": Fraction(1, self.m) for i in range(1, self.m + 1)}
        start = ("s0", contexts, {x: [0, 0] for x in contexts}, ["s1", "s2"])
        ends: list[Any] = [
            ("s1", {"s1": 1}, {"s1": [1, 1]}, []),
            ("s2", {"s2": 1}, {"s2": [0, 0]}, []),
        ]
        return from_lists([[start], ends], "average-barrier")

    def balanced(self) -> NDArray[np.int64]:
        """Tables of the balanced policies, shape (C(m, m/2), m)."""
        chosen = itertools.combinations(range(self.m), self.m // 2)
        tables = np.full((self.n_balanced, self.m), B, dtype=np.int64)
        for row, contexts in zip(tables, chosen, strict=True):
            row[list(contexts)] = A
        return tables

    def policies(self) -> PolicyClassByLevel:
        """Π: the balanced policies and, last, so that ties go against it, π*."""
        best = np.full((1, self.m), A, dtype=np.int64)
        start = FinitePolicyClass(np.concatenate([self.balanced(), best]), 2)
        return PolicyClassByLevel([start, FinitePolicyClass([[A, A]], 2)])

    def values(self, functions: Sequence[Function] = (EVEN, BEST)) -> ValueClassByLevel:
        """G: at level 1 constants 1 and 1/2, at level 2 what is given, in order."""
        first = np.array([[Fraction(1)] * self.m, [HALF] * self.m], dtype=object)
        second = np.array([list(g) for g in functions], dtype=object)
        return ValueClassByLevel([FiniteValueClass(first), FiniteValueClass(second)])

    def instance(self, functions: Sequence[Function] = (EVEN, BEST)) -> Problem:
        """Give the environment with both classes."""
        return Problem(self.environment(), self.values(functions), self.policies())

    def pairs(self, functions: Sequence[Function] = (EVEN, BEST)) -> list[Pair]:
        """Give the same class as pairs (g, π) over all observations, for OLIVE."""
        constants = (Fraction(1), HALF)
        rows = [*self.balanced().tolist(), [A] * self.m]
        return [
            Pair.from_fractions([c] * self.m + list(g), [*row, A, A])
            for c in constants
            for g in functions
            for row in rows
        ]


def balanced_policies(m: int) -> int:
    """C(m, m/2) for an even m, 0 for an odd one."""
    return 0 if m % 2 else math.comb(m, m // 2)


Distribution = tuple[Fraction, ...]  # probability of each code of a level


def roll_in(model: FiniteModel, policies: Sequence[Any]) -> list[Distribution]:
    """Distribution of the observation of each level under policies, by code."""
    return [
        tuple(
            states[s]
            * Fraction(int(level.emissions[s, x]), int(level.emission_totals[s]))
            for x, s in enumerate(level.state_of_code)
        )
        for level, states in zip(
            model.levels, occupancies(model, policies), strict=True
        )
    ]


def chosen_actions(policy: Any, n_codes: int, n_actions: int) -> NDArray[np.int64]:
    """Ask a deterministic policy at each code; actions, shape (n_codes,)."""
    weights = action_weights(policy, np.arange(n_codes), n_actions)
    return np.asarray(weights.argmax(axis=1), dtype=np.int64)


def measure(distribution: Distribution) -> EmpiricalMeasure:
    """Exact probabilities as integer weights."""
    unit = math.lcm(*(p.denominator for p in distribution))
    codes = [x for x, p in enumerate(distribution) if p]
    weights = [int(p * unit) for p in distribution if p]
    return EmpiricalMeasure(np.array(codes), weights=object_array(weights))


def pooled(distributions: Sequence[Distribution]) -> Distribution:
    """Equal mixture."""
    columns = zip(*distributions, strict=True)
    return tuple(sum(c, Fraction(0)) / len(distributions) for c in columns)


def uniform(model: FiniteModel, h: int) -> Distribution:
    """Uniform over the hidden states of a level."""
    level = model.level(h)
    return tuple(
        Fraction(int(level.emissions[s, x]), int(level.emission_totals[s]))
        / level.n_states
        for x, s in enumerate(level.state_of_code)
    )


EPSILON, DELTA = Fraction(1, 4), Fraction(1, 10)
"""Accuracy asked of OLIVE and VALOR, below the 1/2 that is at stake."""


@dataclass(frozen=True)
class Run:
    """What an algorithm made of the barrier."""

    value: Fraction  # V^π of its policy, exactly
    promised: Fraction  # What it believed that policy to be worth
    rounds: int  # Rounds, or iterations
    trajectories: int | None  # Collected; None where all expectations were exact
    calls: dict[str, int]  # Oracle calls: lp and csc; for OLIVE, programs solved


def run_average(
    barrier: AverageBarrier, functions: Sequence[Function] = (EVEN, BEST)
) -> AverageResult:
    """Run exploration with average constraints; expectations are exact."""
    made = barrier.instance(functions)
    return explore_by_averages(barrier.environment(), made.values, made.policies)


def run_all(
    barrier: AverageBarrier,
    rng: np.random.Generator,
    functions: Sequence[Function] = (EVEN, BEST),
) -> dict[str, Run]:
    """Run the three algorithms."""
    stuck = run_average(barrier, functions)
    return {
        "average constraints": Run(
            stuck.value,
            stuck.rounds[-1].predicted,
            len(stuck.rounds),
            None,
            dict(stuck.calls),
        ),
        "olive": _olive(barrier, rng, functions),
        "valor": _valor(barrier, rng, functions),
    }


def _olive(
    barrier: AverageBarrier, rng: np.random.Generator, functions: Sequence[Function]
) -> Run:
    environment, pairs = barrier.environment(), barrier.pairs(functions)
    layered = LayeredEnvironment(environment)
    parameters = theorem_parameters(
        float(EPSILON),
        float(DELTA),
        horizon=2,
        n_actions=2,
        rank=2,
        log_size=float(np.log(len(pairs))),
    )
    found = olive_sampled(layered, parameters, rng, optimiser=FinitePairs(pairs))
    if found.policy is None:
        raise RuntimeError(f"OLIVE ended without a policy: {found.status}")
    value = environment.truth.policy_value(layered.policies(found.policy))
    return Run(
        value,
        found.rounds[-1].optimum,
        len(found.rounds),
        found.trajectories,
        {"program": len(found.rounds)},
    )


def _valor(
    barrier: AverageBarrier, rng: np.random.Generator, functions: Sequence[Function]
) -> Run:
    made = barrier.instance(functions)
    parameters = PracticalParameters(EPSILON, DELTA, M=2, K=2, H=2)
    found = valor(made.environment, made.values, made.policies, parameters, rng)
    if found.policies is None or found.estimate is None:
        raise RuntimeError(f"VALOR ended without a policy: {found.reason}")
    value = made.environment.truth.policy_value(found.policies)
    calls = {kind: found.calls[kind] for kind in ("lp", "csc")}
    return Run(value, found.estimate, found.iterations, found.trajectories, calls)


_ACCURACY = 1e-9
"""Asked of the oracles; they are told to answer in rationals, so it is not used."""


@dataclass(frozen=True, eq=False)
class AverageRound:
    """A round."""

    # Table of ĝ_h at each level h = 2..H, Fractions
    values: tuple[tuple[Fraction, ...], ...]
    policies: tuple[Any, ...]  # π̂_1, ..., π̂_H
    # E[r_1 + ĝ_2(x_2) | π̂_1], what the optimistic functions promise
    predicted: Fraction
    achieved: Fraction  # V^π̂
    new: int  # Number of distributions it visited for the first time


@dataclass(frozen=True)
class AverageResult:
    """A run: its rounds in order, the last of which found nothing new."""

    rounds: tuple[AverageRound, ...]  # At least one
    visited: tuple[int, ...]  # Distributions visited at each level
    calls: Mapping[str, int]  # Oracle calls, csc and lp

    @property
    def value(self) -> Fraction:
        """Value of the policy it stops with."""
        return self.rounds[-1].achieved


class InfeasibleError(RuntimeError):
    """No function of the class has the right averages: g* is not in it."""


def explore_by_averages(
    environment: FiniteEnvironment,
    value_class: ValueClass,
    policy_class: PolicyClass,
    *,
    coverage: Mapping[int, Distribution] | None = None,
) -> AverageResult:
    """Run the algorithm."""
    with Ledger() as ledger:
        run = _Run(environment, value_class, policy_class, coverage or {})
        run.visit(run.any_policies())
        rounds: list[AverageRound] = []
        while not rounds or rounds[-1].new:
            rounds.append(run.round())
    visited = tuple(len(found) for found in run.visited)
    return AverageResult(tuple(rounds), visited, dict(ledger.calls))


class _Run:
    """Distributions visited at each level, and programs over G_h that know them."""

    def __init__(
        self,
        environment: FiniteEnvironment,
        value_class: ValueClass,
        policy_class: PolicyClass,
        coverage: Mapping[int, Distribution],
    ) -> None:
        self.truth = environment.truth
        self.model: FiniteModel = environment.truth.model
        self.horizon = environment.horizon
        self.policy_class = policy_class
        self.visited: list[list[Distribution]] = [[] for _ in range(self.horizon)]
        deeper = range(2, self.horizon + 1)
        self.programs = {h: ValueProgram(value_class.at_level(h)) for h in deeper}
        self.objectives = {
            h: Functional.expectation(measure(_checked(coverage.get(h), h, self.model)))
            for h in deeper
        }

    def any_policies(self) -> list[Any]:
        """First policy of each class: with costs 0 all are optimal."""
        return [
            self._classify(h, uniform(self.model, h), None)
            for h in range(1, self.horizon + 1)
        ]

    def round(self) -> AverageRound:
        tables = [self._optimistic(h) for h in range(2, self.horizon + 1)]
        gains = [
            backed_up(self.model, h, tables[h - 1] if h < self.horizon else None)
            for h in range(1, self.horizon + 1)
        ]
        policies = [
            self._classify(h, pooled(self.visited[h - 1]), gains[h - 1])
            for h in range(1, self.horizon + 1)
        ]
        start = self.visited[0][0]
        chosen = chosen_actions(policies[0], len(start), self.model.n_actions)
        predicted = sum(
            (p * gains[0][x, chosen[x]] for x, p in enumerate(start)), Fraction(0)
        )
        achieved = self.truth.policy_value(policies)
        new = self.visit(policies)
        found = tuple(tuple(table) for table in tables)
        return AverageRound(found, tuple(policies), predicted, achieved, new)

    def visit(self, policies: Sequence[Any]) -> int:
        new = 0
        for h, met in enumerate(roll_in(self.model, policies), 1):
            if met in self.visited[h - 1]:
                continue
            self.visited[h - 1].append(met)
            new += 1
            if h == 1:
                continue
            best = self.truth.values(h)
            average = sum((p * best[x] for x, p in enumerate(met)), Fraction(0))
            functional = Functional.expectation(measure(met))
            self.programs[h].add(Constraint.near(functional, average, 0))
        return new

    def _optimistic(self, level: int) -> list[Fraction]:
        """ĝ of a level, by the LP oracle, as a table."""
        found = self.programs[level].optimise(
            self.objectives[level],
            epsilon_sub=_ACCURACY,
            epsilon_feas=_ACCURACY,
            exact=True,
        )
        if found.function is None:
            raise InfeasibleError(
                f"level {level}: no function of G has the averages of g*"
            )
        exact = getattr(found.function, "exact", None)
        if exact is not None:
            return list(exact)
        codes = np.arange(self.model.level(level).n_codes)
        return [Fraction(v) for v in found.function(codes).tolist()]

    def _classify(
        self, level: int, met: Distribution, gains: NDArray[Any] | None
    ) -> Any:
        """Policy of greatest expected gain, by the CSC oracle, in rationals."""
        codes = np.flatnonzero([p > 0 for p in met])
        costs = np.zeros((len(codes), self.model.n_actions), dtype=object)
        costs[:] = Fraction(0)
        if gains is not None:
            costs = -gains[codes]
        found = csc(
            self.policy_class.at_level(level),
            measure(met),
            costs,
            epsilon_sub=_ACCURACY,
        )
        return found.policy


def _checked(given: Distribution | None, h: int, model: FiniteModel) -> Distribution:
    if given is None:
        return uniform(model, h)
    shares = tuple(map(Fraction, given))
    codes = model.level(h).n_codes
    if len(shares) != codes or min(shares) < 0 or sum(shares) != 1:
        raise ValueError(
            f"coverage: {[str(p) for p in shares]} is no distribution over the {codes} "
            f"codes of level {h}"
        )
    return shares
