"""Exploration with average constraints, as the barrier's proposition describes it.

The algorithm keeps the distributions D that it has visited at each level, and knows
E_D[g*] for each: all expectations are exact, which only helps it. A round

1. takes, for each level h + 1, the most optimistic ĝ_{h+1} (on average over a
   distribution that covers the level) among those with E_D[ĝ] = E_D[g*] for all D
   visited there, by the LP oracle;
2. takes π̂_h = argmax over Π_h of E_{D_h}[r + ĝ_{h+1}(x′) | a = π(x)], by the CSC
   oracle, on all distributions visited at level h together;
3. rolls π̂ in and adds the distributions that are new.

It stops when none is, with π̂. What the paper leaves open: the first roll-in is by the
first policies of Π; the covering distribution is uniform over the hidden states of
the level unless given; ties are the oracles' (lowest member, lowest action).

On a problem without the barrier (one that a policy of Π cannot hide in an average)
it works:

>>> from olivine.algorithms.barriers.average import AverageBarrier, BEST
>>> made = AverageBarrier(4).instance([BEST])
>>> explore_by_averages(made.environment, made.values, made.policies).value
Fraction(1, 1)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..classes.protocols import PolicyClass, ValueClass
from ..environments.expectations import backed_up
from ..environments.finite import FiniteEnvironment
from ..environments.finite_model import FiniteModel
from ..oracles.csc import csc
from ..oracles.functionals import Constraint, Functional
from ..oracles.ledger import Ledger
from ..oracles.lp import ValueProgram
from .exact import (
    Distribution,
    chosen_actions,
    measure,
    pooled,
    roll_in,
    uniform,
)

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
        """Go through steps 1 to 3."""
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
        """Add the distributions of a roll-in; return how many are new."""
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
