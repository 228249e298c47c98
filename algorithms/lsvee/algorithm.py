"""LSVEE: least squares value elimination by exploration (values by enumeration).

Krishnamurthy, Agarwal and Langford 2016, recalled; F is the set of functions that
survive::

    DFS-learn(p, F, δ)
      for a in A
        D' ← n_test observations at the end of p∘a
        V̂^f(p∘a) ← average over D' of f(x, π_f(x)), for f in F      (enumerates)
        unless all V̂^f(p∘a) agree up to the tolerance                (consensus)
          F ← DFS-learn(p∘a, F, δ)
      D ← n_train tuples (x, a, r) after p, a uniform                (TD-elim)
      R̂(f) ← average over D of (f(x,a) - r - V̂^f(p∘a))², for f in F  (enumerates)
      F ← {f in F: R̂(f) ≤ min R̂ + slack}

Around it is `learning.metaalg`, with V̂* the value at the root of the first f in F, and
π_f. No oracle is called; `enumerated` counts functions evaluated (docs/lsvee.md).

>>> from olivine.algorithms.learning.draw_classes import make_q_class
>>> from olivine.algorithms.environments import make
>>> from olivine.algorithms.lsvee.parameters import LsveeTheorem
>>> env = make("random-finite", 0)
>>> functions = make_q_class(env, np.random.default_rng(1), size=16)
>>> parameters = LsveeTheorem(0.3, 0.1, M=2, K=2, H=3, N=16)
>>> result = lsvee(env, functions, parameters, np.random.default_rng(2))
>>> result.status, env.truth.policy_value(result.policies) == env.truth.optimal_value
('success', True)
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..classes.q_functions import FiniteQClass
from ..environments.protocol import ActionRule, Environment
from ..exact.arrays import check_type, object_array
from ..exact.data import EmpiricalMeasure, recoded
from ..learning.events import (
    AtPath,
    Descending,
    Entered,
    EventFailedError,
    Observer,
    Path,
    Sampled,
    notify,
)
from ..learning.metaalg import learn
from ..learning.problem import LearningResult, Problem, Run
from .parameters import LSVEE, LsveeParameters, Sizes


@dataclass(frozen=True, eq=False)
class Cells:
    """A data set of (x, a, r) by code and action."""

    # codes, actions: int64, shape (m,): one row for each pair that occurs
    codes: NDArray[np.int64]
    actions: NDArray[np.int64]
    weights: NDArray[Any]  # Python integers, shape (m,)
    # rewards, squares: σ w r and Σ w r² of each pair: Fractions, shape (m,)
    rewards: NDArray[Any]
    squares: NDArray[Any]
    total: int  # Sum of the weights

    @classmethod
    def of(cls, functions: FiniteQClass, level: int, data: EmpiricalMeasure) -> Cells:
        """Sort a data set of observations, actions and rewards into cells."""
        if data.actions is None or data.rewards is None:
            raise ValueError("data: actions or rewards are missing")
        merged = recoded(data, functions.codes(level, data.observations), None)
        columns: list[Any] = [merged.codes(), merged.actions]
        columns += [merged.exact_rewards, merged.weights]
        sums: dict[tuple[int, int], list[Any]] = defaultdict(
            lambda: [0, Fraction(0), Fraction(0)]
        )
        for x, a, reward, weight in zip(*(c.tolist() for c in columns), strict=True):
            entry = sums[x, a]
            entry[0] += weight
            entry[1] += weight * reward
            entry[2] += weight * reward * reward
        keys = sorted(sums)
        weights, rewards, squares = zip(*(sums[key] for key in keys), strict=True)
        return cls(
            np.array([x for x, _ in keys], dtype=np.int64),
            np.array([a for _, a in keys], dtype=np.int64),
            object_array(weights),
            object_array(rewards),
            object_array(squares),
            data.total_weight,
        )


def state_value_averages(
    functions: FiniteQClass, level: int, data: EmpiricalMeasure, members: Any
) -> NDArray[Any]:
    """V̂^f = average of f(x, π_f(x)) for each of the members: Fractions."""
    codes, group = np.unique(
        functions.codes(level, data.observations), return_inverse=True
    )
    weights = np.zeros(len(codes), dtype=object)
    np.add.at(weights, group.reshape(-1), data.weights.astype(object))
    best = functions.numerator_table(level, best=True)
    values = best[members][:, codes].astype(object)
    denominator = _denominator(functions) * data.total_weight
    return object_array([Fraction(v, denominator) for v in (values @ weights).tolist()])


def risks(
    functions: FiniteQClass,
    level: int,
    cells: Cells,
    futures: NDArray[Any],
    members: Any,
) -> NDArray[Any]:
    """R̂(f) = average of (f(x, a) - r - v̂^f(p∘a))²; `futures`: v̂, (members, K)."""
    # With u = f(x, a) - V̂: Σ w (u - r)² = Σ u (u Σw - 2 Σwr) + Σ w r², over one
    # denominator, so that the big array holds integers.
    of_class = _denominator(functions)
    table = functions.numerator_table(level)
    chosen = table[members][:, cells.codes, cells.actions].astype(object)
    scale = math.lcm(of_class, *(v.denominator for v in futures.flat))
    ahead = _integers(futures, scale)[:, cells.actions]
    errors = chosen * (scale // of_class) - ahead
    unit = math.lcm(*(s.denominator for s in cells.rewards.tolist()))
    weights = cells.weights * unit
    rewards = _integers(cells.rewards, unit) * (2 * scale)
    sums = (errors * (errors * weights - rewards)).sum(axis=1)
    rest = sum(cells.squares.tolist(), Fraction(0))
    denominator = scale * scale * unit
    return object_array(
        [(Fraction(v, denominator) + rest) / cells.total for v in sums.tolist()]
    )


def _integers(values: NDArray[Any], scale: int) -> NDArray[Any]:
    whole = [v.numerator * (scale // v.denominator) for v in values.ravel().tolist()]
    return object_array(whole).reshape(values.shape)


def _denominator(functions: FiniteQClass) -> int:
    if functions.denominator is None:
        raise ValueError("functions: values are floats, take as_exact()")
    return functions.denominator


@dataclass(frozen=True, eq=False)
class Consensus(AtPath):
    """A consensus test at the end of p∘a, the path."""

    data: EmpiricalMeasure  # n_test observations at its end
    # Numbers of the functions compared, those that survive so far
    members: NDArray[np.int64]
    values: NDArray[Any]  # V̂^f(p∘a) of each: Fractions, shape (members,)
    agreed: bool  # Whether they differ by no more than the tolerance
    sizes: Sizes  # Sample sizes that were in force


@dataclass(frozen=True, eq=False)
class Elimination(AtPath):
    """A TD elimination, after which the state at the end of the path is learned."""

    cells: Cells  # The data set, n_train draws of (x, a, r), sorted
    members: NDArray[np.int64]  # Numbers of the functions that competed
    futures: NDArray[Any]  # V̂^f(p∘a) of each: Fractions, shape (members, K)
    risks: NDArray[Any]  # R̂(f) of each: Fractions, shape (members,)
    kept: NDArray[np.bool_]  # Whether each stays: bool, shape (members,)
    sizes: Sizes  # Sample sizes and slack that were in force

    @property
    def survivors(self) -> NDArray[np.int64]:
        """Numbers of the functions that stay."""
        return self.members[self.kept]


@dataclass(frozen=True, eq=False)
class Start:
    """V̂*, estimated by the value of a surviving member at the root."""

    member: int  # Its number
    estimate: Fraction  # V̂*


class Survivors(Run):
    """The functions of an exact class, by number, that are not eliminated.

    `learned`: eliminations by level; `enumerated`: functions evaluated, for each data
    set.
    """

    parameters: LsveeParameters

    def __init__(
        self,
        problem: Problem,
        parameters: LsveeParameters,
        rng: np.random.Generator,
        observers: Sequence[Observer] = (),
    ) -> None:
        super().__init__(problem, parameters, rng, observers)
        self.functions: FiniteQClass = problem.values.as_exact()
        self.members: NDArray[np.int64] = np.arange(len(self.functions))
        self.learned = [0] * self.horizon
        self.enumerated = 0
        self._left = 0
        self._estimate: Fraction | None = None

    def explore(self, path: Path) -> None:
        """Call DFS-learn from outside; EventFailedError beyond the good event."""
        p = self.parameters
        self._left = p.max_eliminations
        self._dfs_learn(path, p.on_demand if path else p.first)

    def choose(self) -> tuple[Sequence[Any], Fraction]:
        """Greedy policy of the first survivor, and V̂*, estimated once."""
        member = int(self.members[0])
        if self._estimate is None:
            n_eval = self.parameters.n_eval
            data = self.environment.draw((), n_eval, self.rng, level=1)
            values = state_value_averages(self.functions, 1, data, self.members[:1])
            self.enumerated += 1
            self._estimate = values[0]
            notify(self.observers, Start(member, values[0]))
        return self.functions.greedy(member), self._estimate

    def _dfs_learn(self, path: Path, sizes: Sizes) -> None:
        notify(self.observers, Entered(path))
        if self._left == 0:
            raise EventFailedError(
                "one call of DFS-learn went on to more than max_eliminations = "
                f"{self.parameters.max_eliminations} states, impossible in the good "
                "event"
            )
        self._left -= 1
        shape = (len(self.functions), self.parameters.K)
        futures = np.full(shape, Fraction(0), dtype=object)
        if len(path) + 1 < self.environment.horizon:
            for a in range(self.parameters.K):
                test = self._consensus((*path, a), sizes)
                futures[test.members, a] = test.values
                if not test.agreed:
                    notify(self.observers, Descending(test.path))
                    self._dfs_learn(test.path, sizes)
        self._td_eliminate(path, futures, sizes)

    def _consensus(self, path: Path, sizes: Sizes) -> Consensus:
        level = len(path) + 1
        data = self.environment.draw(path, sizes.n_test, self.rng, level=level)
        notify(self.observers, Sampled(path, data))
        members = self.members
        values = state_value_averages(self.functions, level, data, members)
        self.enumerated += len(members)
        spread = max(values.tolist()) - min(values.tolist())
        agreed = spread <= self.parameters.tolerance(level - 1)
        test = Consensus(path, data, members, values, agreed, sizes)
        notify(self.observers, test)
        return test

    def _td_eliminate(self, path: Path, futures: NDArray[Any], sizes: Sizes) -> None:
        level, members = len(path) + 1, self.members
        rules: list[ActionRule] = [*path, "uniform"]
        data = self.environment.draw(rules, sizes.n_train, self.rng, successors=False)
        cells = Cells.of(self.functions, level, data)
        found = risks(self.functions, level, cells, futures[members], members)
        self.enumerated += len(members)
        limit = min(found.tolist()) + sizes.slack
        kept = np.array([risk <= limit for risk in found.tolist()])
        self.members = members[kept]
        self.learned[level - 1] += 1
        done = Elimination(path, cells, members, futures[members], found, kept, sizes)
        notify(self.observers, done)


def lsvee(
    environment: Environment,
    functions: FiniteQClass,
    parameters: LsveeParameters,
    rng: np.random.Generator,
    *,
    observers: Sequence[Observer] = (),
) -> LearningResult:
    """Run LSVEE.

    Parameters
    ----------
    environment
        With deterministic hidden dynamics.
    functions
        F, with Q* in it.
    parameters
        `LsveeTheorem` or `LsveePractical`.
    rng
        The only source of randomness.
    observers
        Monitors and progress bars.

    Returns
    -------
    LearningResult
        `learned` has the eliminations of each level, repeated ones included; `estimate`
        is V̂*. Status "failure", with the reason, where no policy passed.

    Raises
    ------
    ValueError
        If environment, parameters and class do not fit.
    """
    _check_class(environment, functions, parameters)
    run = Survivors(Problem(environment, functions), parameters, rng, observers)
    result = learn(
        LSVEE,
        run,
        explore=run.explore,
        optimise=run.choose,
        learned=lambda: run.learned,
    )
    return replace(result, enumerated=run.enumerated)


def _check_class(
    environment: Environment, functions: FiniteQClass, parameters: LsveeParameters
) -> None:
    check_type("functions", functions, FiniteQClass, "FiniteQClass")
    Problem(environment).check(parameters, LSVEE)
    if len(functions) != parameters.N:
        raise ValueError(f"N: {parameters.N}, but there are {len(functions)} functions")
    sizes = environment.horizon, environment.n_actions
    if (functions.horizon, functions.n_actions) != sizes:
        raise ValueError(
            f"functions: {functions.horizon} levels with {functions.n_actions} "
            f"actions, but H = {sizes[0]} and K = {sizes[1]}"
        )
