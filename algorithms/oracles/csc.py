"""The CSC oracle: cost-sensitive classification on policies (paper, section 2).

Given observations x_i with weights and cost vectors c_i ∈ R^K, find a policy of Π whose
average cost Σ_i p_i c_i(π(x_i)) is within ε_sub of the least. Over tabular and finite
classes the answer is optimal, ties to the lowest action or member; over linear and
learned ones, where the problem is NP-hard (`csc_hard`), it is a candidate with a
certified bound on its suboptimality, which may exceed ε_sub. Costs are added up in
float64 where the rounding error stays below ε_sub, else in integers; Fractions always
exactly. Ties are ties of those sums.
"""

from fractions import Fraction
from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..classes.features import LearnedPolicyClass, LinearPolicyClass
from ..classes.finite import FinitePolicyClass, TabularPolicy, TabularPolicyClass
from ..classes.protocols import Observations, Policy, PolicyClass
from ..exact.arrays import check_actions, check_reals, reject
from ..exact.data import EmpiricalMeasure
from . import (
    Attained,
    CscResult,
    answer_of,
    check_accuracy,
    group_costs,
    group_costs_exactly,
    largest_group,
    magnitude,
    summation_bound,
    support,
)
from .csc_hard import minimise_learned, minimise_linear
from .ledger import data_rows, oracle

_CHUNK = 1 << 22  # entries of the members × observations table held at a time


def minimise_tabular(
    policy_class: TabularPolicyClass,
    data: EmpiricalMeasure,
    costs: NDArray[Any],
    *,
    epsilon_sub: float,
) -> CscResult:
    """Least entry of the summed cost vector at each observation, lowest action."""
    codes, n_codes = data.codes(), policy_class.n_observations
    bound = _rounding(len(codes), costs)
    if epsilon_sub < bound < np.inf:
        # With s rows at the busiest observation the totals err by (s + 4) u Σ p |c|
        # together at most; the policy found and the optimal one are measured by them.
        bound = _rounding(largest_group(codes), costs)
    totals, unit = _totals(codes, n_codes, data, costs, bound <= epsilon_sub)
    actions = totals.argmin(axis=1)
    cost = totals[np.arange(n_codes), actions].sum()
    operations = costs.size + n_codes * costs.shape[1]
    return _result(TabularPolicy(actions), cost, unit, bound, epsilon_sub, operations)


def minimise_enumerated(
    policy_class: FinitePolicyClass,
    data: EmpiricalMeasure,
    costs: NDArray[Any],
    *,
    epsilon_sub: float,
) -> CscResult:
    """Cost of every member; the cheapest, the lowest number at ties."""
    observations, groups = support(data)
    size = len(observations)
    bound = _rounding(largest_group(groups) + size, costs)
    totals, unit = _totals(groups, size, data, costs, bound <= epsilon_sub)
    found = _member_costs(policy_class, observations, totals)
    best = int(np.argmin(found))
    member: Any = policy_class.members[best]
    operations = costs.size + len(policy_class) * (size + 1)
    return _result(member, found[best], unit, bound, epsilon_sub, operations)


def _rounding(terms: int, costs: NDArray[Any]) -> float:
    """Twice the error of float64 sums; infinite for Fractions."""
    if costs.dtype == object:
        return np.inf
    return 2 * summation_bound(terms, magnitude(costs))


def _totals(
    groups: NDArray[np.int64],
    size: int,
    data: EmpiricalMeasure,
    costs: NDArray[Any],
    in_floats: bool,
) -> tuple[NDArray[Any], Fraction | None]:
    """Add up by group, in floats, or in integers with their unit."""
    if in_floats:
        return group_costs(groups, size, data, costs), None
    return group_costs_exactly(groups, size, data, costs)


def _result(
    policy: Policy,
    cost: Any,
    unit: Fraction | None,
    bound: float,
    epsilon_sub: float,
    operations: int,
) -> CscResult:
    if unit is None:
        return CscResult(policy, float(cost), bound, epsilon_sub, operations)
    exact = cost * unit
    return CscResult(policy, float(exact), 0.0, epsilon_sub, operations, exact)


def _member_costs(
    policy_class: FinitePolicyClass, observations: Observations, totals: NDArray[Any]
) -> NDArray[Any]:
    size = len(observations)
    step = max(1, _CHUNK // size)
    parts = []
    for start in range(0, len(policy_class), step):
        actions = policy_class.evaluate_all(observations, start, start + step)
        parts.append(totals[np.arange(size), actions].sum(axis=1))
    return np.concatenate(parts)


@singledispatch
def solve_csc(
    policy_class: Any,
    data: EmpiricalMeasure,
    costs: NDArray[Any],
    *,
    epsilon_sub: float,
) -> CscResult:
    """Solve CSC for one kind of class; ``solve_csc.register`` adds a kind.

    A solver is called as `csc` is; costs arrive checked, (n, K), float64 or Fractions.
    """
    raise ValueError(
        f"policy_class: no CSC oracle for {type(policy_class).__name__}; "
        "register one with olivine.algorithms.oracles.csc.solve_csc.register"
    )


solve_csc.register(TabularPolicyClass, minimise_tabular)
solve_csc.register(FinitePolicyClass, minimise_enumerated)
solve_csc.register(LinearPolicyClass, minimise_linear)
solve_csc.register(LearnedPolicyClass, minimise_learned)


@oracle("csc", rows=data_rows, function="policy")
def csc(
    policy_class: PolicyClass,
    /,
    data: EmpiricalMeasure,
    costs: ArrayLike,
    *,
    epsilon_sub: float,
) -> CscResult:
    """Find a policy of nearly least average cost.

    Parameters
    ----------
    policy_class
        Π.
    data
        Observations and their weights; other columns are not looked at.
    costs
        Shape (n, K), n the number of rows of `data`: reals, or Fractions.
    epsilon_sub
        Accuracy asked for, positive.

    Returns
    -------
    CscResult
        Policy, average cost, and a certified bound on its distance from the least.

    Raises
    ------
    ValueError
        For an accuracy that is not positive, observations outside the class, or costs
        of the wrong shape, NaN or infinite; names the argument and the row.
    """
    check_accuracy("epsilon_sub", epsilon_sub)
    policy_class.admit(data.observations)
    table = check_costs(costs, len(data), policy_class.n_actions)

    def judge(found: CscResult) -> Attained:
        actions = check_actions(found.policy(data.observations), policy_class.n_actions)
        if actions.shape != (len(data),):
            raise ValueError(f"actions: {actions.shape} for {len(data)} observations")
        chosen = table[np.arange(len(data)), actions].astype(np.float64)
        return found.cost, data.probabilities, chosen

    asked = policy_class, data, table
    return answer_of(solve_csc, CscResult, asked, judge, epsilon_sub=epsilon_sub)


def check_costs(costs: ArrayLike, n: int, n_actions: int) -> NDArray[Any]:
    """Cost vectors (n, K), float64 or object; ValueError names the row at fault."""
    table = np.asarray(costs)
    if table.ndim == 2 and table.shape[1] != n_actions:
        raise ValueError(
            f"costs: {table.shape[1]} actions, but the class has {n_actions}"
        )
    if table.shape != (n, n_actions):
        raise ValueError(f"costs: expected shape {(n, n_actions)}, got {table.shape}")
    if table.dtype == object:
        check_reals(table, "costs", table.shape)
        return table
    table = np.ascontiguousarray(table, dtype=np.float64)
    if not np.isfinite(magnitude(table)):  # the extremes see every NaN and infinity
        reject("costs", ~np.isfinite(table), "NaN or infinite")
    return table


def importance_costs(
    actions: NDArray[np.int64], returns: NDArray[Any], n_actions: int
) -> NDArray[Any]:
    """Costs (n, K) whose average is -E_D[K 1{π(x) = a} y]: -K y at the action taken.

    With y = r + V_a, floats or Fractions, this is the negative of the paper's V_D(π;
    {V_a}): importance weighting by K for uniform actions. Raises ValueError if an
    action is not in 0..K-1, or lengths differ.
    """
    if len(actions) != len(returns):
        raise ValueError(f"returns: {len(returns)} rows for {len(actions)} actions")
    actions = check_actions(actions, n_actions)
    costs = np.zeros((len(actions), n_actions), dtype=np.asarray(returns).dtype)
    costs[np.arange(len(actions)), actions] = -n_actions * returns
    return costs
