"""VALOR with few samples: shared data, sequential tests, costs with a baseline.

All calls share their data (`SharedData`), D' being successors of D's rows; a test ends
at the first look with a clear answer, over functions that vary little at one state; a
baseline leaves importance weights only what rewards vary; sizes grow with variances.
What is left of the guarantee is in docs/valor.md.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..classes.protocols import ValueClass
from ..environments.protocol import Environment
from ..exact.data import EmpiricalMeasure, pool
from ..learning.events import ConsensusTest, Observer, Path, Sampled, Triple, notify
from ..learning.metaalg import EXACT_COSTS, decisions
from ..learning.problem import Problem
from ..oracles import Constraint, Functional
from ..oracles.ledger import evaluate, unguard
from ..oracles.lp import ValueProgram
from ..oracles.lp_polyhedral import LpResult
from .algorithm import ConsensusPrograms, LocalValues, local_values, optimum
from .parameters import MOST_CUTS, FrugalFields


class SharedData:
    """What was drawn at each path so far; a call draws only what is missing."""

    def __init__(self, environment: Environment, rng: np.random.Generator) -> None:
        self._environment, self._rng = environment, rng
        self._rows: dict[Path, list[EmpiricalMeasure]] = defaultdict(list)
        self._seen: dict[Path, list[EmpiricalMeasure]] = defaultdict(list)
        self._drawn: Counter[Path] = Counter()
        self._observed: Counter[Path] = Counter()

    def balanced(self, path: Path, n: int) -> EmpiricalMeasure:
        """All (x_h, a_h, r_h, x_{h+1}) after a path: n or more of each action."""
        sets = []
        for action in range(self._environment.n_actions):
            self._draw((*path, action), n)
            sets.append(pool(self._rows[*path, action], shares="draws"))
        return pool(sets)

    def successors(self, child: Path, n: int) -> list[EmpiricalMeasure]:
        """Observations after a path's last action, n or more, a batch for each call."""
        self._draw(child, n)
        return [rows.marginal("next_observations") for rows in self._rows[child]]

    def observations(self, path: Path) -> EmpiricalMeasure:
        """All observations of the state at the end of a path, each draw alike."""
        return pool(self._seen[path], shares="draws")

    def fill(self, path: Path, n: int) -> bool:
        """Draw what is missing of n observations; say whether something was."""
        missing = n - self._observed[path]
        if missing > 0:
            level = len(path) + 1
            drawn = self._environment.draw(path, missing, self._rng, level=level)
            self._see(path, drawn)
        return missing > 0

    def _draw(self, child: Path, n: int) -> None:
        missing = n - self._drawn[child]
        if missing <= 0:
            return
        path = child[:-1]
        goes_on = len(child) < self._environment.horizon
        rows = self._environment.draw(child, missing, self._rng, successors=goes_on)
        self._rows[child].append(rows)
        self._drawn[child] = n
        self._see(path, rows.marginal())
        if goes_on:
            self._see(child, rows.marginal("next_observations"))

    def _see(self, path: Path, data: EmpiricalMeasure) -> None:
        self._seen[path].append(data)
        self._observed[path] += data.draws


class SteadyPrograms(ConsensusPrograms):
    """Programs over functions that vary little at the learned states of a level.

    Their mean variance at these states, at most spread², is a convex constraint; cuts
    at functions that break it stand for it, until a consensus is clear.
    """

    parameters: FrugalFields

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._spread = dict.fromkeys(self._programs, self.parameters.spread or 0)

    def add(self, triple: Triple) -> None:
        """Constrain a level; its first state shows how far functions must vary."""
        level = triple.level
        super().add(triple)
        if self._spread[level] and len(self.triples[level]) == 1:
            while self._confined(level):
                self._spread[level] *= 2
            self.rebuild(level)

    def _confined(self, level: int) -> bool:
        """Whether cuts leave no means from -3/4 to 3/4 at the only state of a level.

        If they leave small values alone, other states are a consensus as well.
        """
        mean = Functional.expectation(self._observations(self.triples[level][0]))
        self._programs[level] = ValueProgram(self._values.at_level(level))
        found = super().solve(level, mean)
        for _ in range(MOST_CUTS):
            if found is None or not self._cut(level, found):
                break
            found = super().solve(level, mean)
            if found is None or optimum(found[0]) - optimum(found[1]) < Fraction(3, 2):
                return True
        return False

    def solve(
        self, level: int, objective: Functional
    ) -> tuple[LpResult, LpResult] | None:
        """Maximum and minimum of a functional, or None where infeasible."""
        found, limit = super().solve(level, objective), self.limit(level)
        for _ in range(MOST_CUTS):
            if found is None or optimum(found[0]) - optimum(found[1]) <= limit:
                break
            if not self._cut(level, found):
                break
            found = super().solve(level, objective)
        return found

    def _cut(self, level: int, found: Sequence[LpResult]) -> bool:
        """Cut off functions f that vary too much: Cov(f, g)/sd(f) ≤ spread."""
        states = [self._observations(triple) for triple in self.triples[level]]
        most = self._spread[level] * self._scale[level]
        if not most or not states:
            return False
        observations, cut = np.concatenate([d.observations for d in states]), False
        masses = np.concatenate([d.probabilities / len(states) for d in states])
        for function in [r.function for r in found if r.function is not None]:
            parts = [evaluate(function, d.observations) for d in states]
            pairs = zip(parts, states, strict=True)
            above = np.concatenate([v - d.expectation(v) for v, d in pairs])
            slope = masses * above
            deviation = math.sqrt(slope @ above)
            if deviation > 1.1 * most:
                steep = Functional(observations, slope / deviation)
                self._programs[level].add(Constraint.near(steep, 0, most))
                cut = True
        return cut


class FrugalValues(LocalValues):
    """The state of a run with few samples."""

    parameters: FrugalFields
    programs: SteadyPrograms

    def __init__(
        self,
        problem: Problem,
        parameters: FrugalFields,
        rng: np.random.Generator,
        observers: Sequence[Observer] = (),
    ) -> None:
        super().__init__(problem, parameters, rng, observers)
        self.shared = SharedData(problem.environment, rng)

    def _programs_over(self, values: ValueClass) -> SteadyPrograms:
        given = values, self.parameters, self.horizon, self.observations
        return SteadyPrograms(*given)

    def observations(self, triple: Triple) -> EmpiricalMeasure:
        """All observations of the state, whichever call drew them."""
        return self.shared.observations(triple.path)

    def _test(self, child: Path) -> ConsensusTest:
        """Look at more and more draws until the width of the values is clear.

        That is at most the limit (consensus), or above it by more than the noise
        between two samples (descent); unclear at n_test draws is a descent.
        """
        level, p, relaxed = len(child) + 1, self.parameters, False
        self.shared.successors(child, p.n_first // 2)
        n = p.n_first
        while True:
            batches = self.shared.successors(child, n)
            data = pool(batches, shares="draws")
            self._replenish(level, 2 * data.draws)
            notify(self.observers, Sampled(child, data))
            extremes, doubled = self.programs.extremes(child, data)
            relaxed |= doubled
            width, limit = extremes[0] - extremes[1], self.programs.limit(level)
            if width <= limit:
                value = self._settled(level, (extremes[0] + extremes[1]) / 2, data)
                return ConsensusTest(
                    child, data, *extremes, value, "consensus", relaxed
                )
            if data.draws >= p.n_test or self._is_new(level, batches, width - limit):
                return self._descend(child, data, extremes, relaxed)
            n = self._next_look(level, data.draws, width)

    def _settled(
        self, level: int, middle: Fraction, data: EmpiricalMeasure
    ) -> Fraction:
        """Value of a consensus: a learned one, if noise alone may part them.

        Else each level would pick the largest of its children's noisy middles.
        """
        learned = [triple.value for triple in self.programs.triples[level]]
        nearest = min(learned, key=lambda value: abs(value - middle), default=middle)
        spread = self.parameters.spread or 0
        near = abs(nearest - middle) <= 3 * spread / math.sqrt(data.draws)
        return nearest if near else middle

    def _replenish(self, level: int, n: int) -> None:
        """Top up each learned state of a level to n observations."""
        most = min(n, 2 * self.parameters.n_test)
        # All of them: `any` over a generator would stop at the first.
        learned = self.programs.triples[level]
        filled = [self.shared.fill(triple.path, most) for triple in learned]
        if any(filled):
            self.programs.rebuild(level)

    def _is_new(
        self, level: int, batches: Sequence[EmpiricalMeasure], excess: Fraction
    ) -> bool:
        """Whether noise does not explain that a width exceeds its limit."""
        learned = self.programs.triples[level]
        return not learned or excess > self.programs.noise(level, batches)

    def _next_look(self, level: int, n: int, width: Fraction) -> int:
        """Draws at which the width meets its limit, if what exceeds 2φ is noise."""
        p, limit = self.parameters, self.programs.limit(level)
        noise = p.consensus(level, 0)  # what the limit leaves beyond 2φ
        times = (width - limit + noise) / noise
        return min(on_grid(p.n_first, max(n + 1, math.ceil(n * times**2))), p.n_test)

    def _training_set(self, path: Path) -> EmpiricalMeasure:
        """D: n_first rows of each action, or up to n_train in all as rewards vary."""
        p = self.parameters
        first = self.shared.balanced(path, p.n_first)
        actions, rewards = decisions(first)
        left = rewards - _mean_rewards(first, rewards, p.K)[actions]
        varied = min(1.0, 4 * first.expectation(left**2))  # 1: fair coins 0 and 1
        n = math.ceil(p.n_train * varied / p.K)
        if n <= p.n_first:
            return first
        return self.shared.balanced(path, min(on_grid(p.n_first, n), p.rows // p.K))

    def costs(
        self, data: EmpiricalMeasure, futures: Sequence[Fraction]
    ) -> NDArray[Any]:
        """Costs on D that estimate -V_D(π; {V_a}), importance-weighted around b_a.

        -(b_a + V_a), b_a the mean reward of action a, and -K 1{a}(r - b_a) beside it.
        """
        actions, rewards = decisions(data)
        ahead = np.array(futures, dtype=np.float64)
        if self.parameters.eps_sub < EXACT_COSTS:
            rewards, ahead = data.exact_rewards, np.array(futures, dtype=object)
        base = _mean_rewards(data, rewards, self.parameters.K)
        costs = np.tile(-(ahead + base), (len(data), 1))
        left = self.parameters.K * (rewards - base[actions])
        costs[np.arange(len(data)), actions] -= left
        return costs

    def _measure(
        self, path: Path, policy: Any, futures: Sequence[Fraction], fresh: int
    ) -> Fraction:
        """Average of r_h + V_a under the policy, to a standard error of ε/√(16H)."""
        p, batches, drawn = self.parameters, [], 0
        n, ahead = min(fresh, p.fresh(0.0)), np.array(futures, dtype=np.float64)
        rules = (*path, unguard(policy))
        while n > drawn:
            played = self.environment.draw(rules, n - drawn, self.rng, successors=False)
            batches.append(played)
            data, drawn = pool(batches, shares="draws"), n
            actions, rewards = decisions(data)
            returns = rewards + ahead[actions]
            variance = data.expectation((returns - data.expectation(returns)) ** 2)
            n = min(fresh, p.fresh(variance))
        return self._mean_return(data, futures)


@local_values.register
def _(
    parameters: FrugalFields,
    problem: Problem,
    rng: np.random.Generator,
    observers: Sequence[Observer],
) -> FrugalValues:
    return FrugalValues(problem, parameters, rng, observers)


def on_grid(first: int, least: int) -> int:
    """Lowest of first times 1, 3/2, 2, 3, 4, 6, 8, ... that is at least least.

    Few prime factors keep the weights of pooled sets small. An odd size has no 3/2.

    >>> [on_grid(8, n) for n in (1, 9, 13, 17, 100)]
    [8, 12, 16, 24, 128]
    """
    size = first
    while size < least:
        middle = size + size // 2
        if size % 2 == 0 and middle >= least:
            return middle
        size *= 2
    return size


def _mean_rewards(
    data: EmpiricalMeasure, rewards: NDArray[Any], n_actions: int
) -> NDArray[Any]:
    """Mean reward of each action, unrounded where an action always pays the same."""
    means = np.zeros(n_actions, dtype=rewards.dtype)
    for action in range(n_actions):
        rows = np.flatnonzero(data.actions == action)
        weights, first = data.weights[rows], rewards[rows[0]]
        above = (weights * (rewards[rows] - first)).sum() / int(weights.sum())
        means[action] = first + above
    return means
