"""Property tests for multi-data-set oracles: strategies and exact verdicts.

Verdicts are in rationals, from all K^S policies of a tabular class,
by no means that the oracles use.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from hypothesis import strategies as st
from olivine.algorithms.classes.finite import TabularPolicy, TabularPolicyClass
from olivine.algorithms.oracles import exact_cost
from olivine.algorithms.oracles.multi_data import (
    ClassificationSet,
    MultiResult,
    MultiStatus,
)
from olivine.algorithms.oracles.testing import measures
from olivine.solvers.lp import solve_lp
from olivine.solvers.model import LinearModel


@dataclass(frozen=True)
class MultiProblem:
    """Data sets over codes."""

    # n_observations, n_actions: |X| and K
    n_observations: int
    n_actions: int
    sets: tuple[ClassificationSet, ...]  # The data sets

    @property
    def policy_class(self) -> TabularPolicyClass:
        """All K^|X| policies."""
        return TabularPolicyClass(self.n_observations, self.n_actions)

    def excesses(self) -> list[list[Fraction]]:
        """cost_j(π) - U_j, a row for every policy, lexicographic order."""
        tables = itertools.product(range(self.n_actions), repeat=self.n_observations)
        return [self.excess(TabularPolicy(np.array(t))) for t in tables]

    def excess(self, policy: TabularPolicy) -> list[Fraction]:
        """cost_j(π) - U_j for one policy."""
        return [
            exact_cost(policy, s.data, np.asarray(s.costs)) - Fraction(s.limit)
            for s in self.sets
        ]

    def least_violation(self) -> Fraction:
        """Least over mixtures of the largest excess (negative with room to spare)."""
        rows = self.excesses()
        size = 1 + max(abs(v) for row in rows for v in row)
        model = LinearModel("least violation", maximise=False)
        shares = [model.add_variable(f"w{i}", 0, 1) for i in range(len(rows))]
        worst = model.add_variable("t", -size, size)
        model.add_row(shares, [1] * len(rows), "==", 1)
        for j in range(len(self.sets)):
            column = [row[j] for row in rows]
            model.add_row([*shares, worst], [*column, Fraction(-1)], "<=", 0)
        model.set_objective([worst], [1], maximise=False)
        outcome = solve_lp(model, exact=True)
        assert isinstance(outcome.objective, Fraction)
        return outcome.objective

    def least_deterministic_violation(self) -> Fraction:
        """Least over policies of the largest excess."""
        return min(max(row) for row in self.excesses())


_COSTS = st.one_of(
    st.sampled_from([0.0, 1.0, -1.0, 0.1, 1e-12]),
    st.floats(-2, 2, allow_subnormal=False),
)


@st.composite
def multi_problems(
    draw: st.DrawFn,
    *,
    max_sets: int = 4,
    max_observations: int = 3,
    max_actions: int = 3,
    max_rows: int = 5,
) -> MultiProblem:
    """Small problems, feasible and not, limits often those of a mixture."""
    size = draw(st.integers(1, max_observations))
    k = draw(st.integers(1, max_actions))
    tables = st.lists(st.integers(0, k - 1), min_size=size, max_size=size)
    hidden = draw(st.lists(tables, min_size=1, max_size=3))
    shift = Fraction(draw(st.sampled_from([0, 0, 0, 1, -10])), 100)
    count = draw(st.integers(1, max_sets))
    return MultiProblem(
        size,
        k,
        tuple(
            _random_set(draw, size, k, hidden, shift, max_rows) for _ in range(count)
        ),
    )


def _random_set(
    draw: st.DrawFn,
    size: int,
    k: int,
    hidden: Sequence[Sequence[int]],
    shift: Fraction,
    max_rows: int,
) -> ClassificationSet:
    data = draw(measures(size, max_rows=max_rows))
    vector = st.lists(_COSTS, min_size=k, max_size=k)
    costs = np.array(draw(st.lists(vector, min_size=len(data), max_size=len(data))))
    if draw(st.sampled_from([False, False, True])):
        limit: Fraction = Fraction(draw(st.integers(-8, 8)), 8)
    else:
        policies = [TabularPolicy(np.array(table)) for table in hidden]
        found = [exact_cost(policy, data, costs) for policy in policies]
        limit = sum(found, Fraction(0)) / len(found) + shift
    return ClassificationSet(data, costs, limit)


def verify_multi(
    oracle: Callable[..., MultiResult],
    problem: MultiProblem,
    *,
    epsilon_feas: float,
    deterministic: bool = False,
) -> MultiResult:
    """Solve a problem and judge the answer exactly."""
    result = oracle(problem.policy_class, problem.sets, epsilon_feas=epsilon_feas)
    least = (
        problem.least_deterministic_violation()
        if deterministic
        else problem.least_violation()
    )
    if least <= 0:
        assert result.feasible, f"feasible by {least}, but {result.status}"
    elif least > Fraction(epsilon_feas):
        assert result.status is MultiStatus.INFEASIBLE, f"infeasible by {least}"
    if result.policy is not None:
        _judge_mixture(problem, result, deterministic=deterministic)
    if result.certificate is not None:
        _judge_certificate(problem, result)
    elif result.status is MultiStatus.INFEASIBLE:
        assert deterministic, "infeasible without a certificate"
    return result


def _judge_mixture(
    problem: MultiProblem, result: MultiResult, *, deterministic: bool
) -> None:
    mixed = result.policy
    assert mixed is not None
    assert result.costs is not None
    assert not deterministic or len(mixed) == 1
    total = [Fraction(0)] * len(problem.sets)
    for member, weight in zip(mixed.members, mixed.weights, strict=True):
        table = member(np.arange(problem.n_observations))
        excess = problem.excess(TabularPolicy(table))
        total = [t + weight * e for t, e in zip(total, excess, strict=True)]
    violation = max(*total, Fraction(0))
    assert violation <= Fraction(result.violation), f"violation {violation}"
    if result.exact_violation is not None:
        assert violation == result.exact_violation
    if result.feasible:
        assert violation <= Fraction(result.epsilon_feas)
    for cost, excess_, item in zip(result.costs, total, problem.sets, strict=True):
        assert abs(Fraction(float(cost)) - excess_ - Fraction(item.limit)) < 1e-12


def _judge_certificate(problem: MultiProblem, result: MultiResult) -> None:
    assert result.certificate is not None
    assert result.status is MultiStatus.INFEASIBLE
    weights = result.certificate.weights
    assert min(weights) >= 0
    least = min(
        sum((w * e for w, e in zip(weights, row, strict=True)), Fraction(0))
        for row in problem.excesses()
    )
    assert result.certificate.margin > 0
    assert Fraction(result.certificate.margin) * Fraction(1 - 2**-50) <= least
