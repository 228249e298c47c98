"""The CSC oracle: cost-sensitive classification on policies (paper, section 2).

Given observations x_i with weights and cost vectors c_i ∈ R^K, find a policy
of Π whose average cost Σ_i p_i c_i(π(x_i)) is within ε_sub of the least.

========================  ==================================================
class                     guarantee
========================  ==================================================
tabular                   optimal, ties to the lowest action
finite                    optimal, ties to the lowest member
linear, learned           a candidate and a certified bound on its
                          suboptimality, which may exceed ε_sub: the problem
                          is NP-hard (see `csc_linear`, `reductions`)
========================  ==================================================

Costs in float64 are added up in float64 where the rounding error stays below
ε_sub, in integers otherwise; ties are ties of those sums. Fractions (an object
array) are always added up exactly.
"""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..classes.finite import FinitePolicyClass
from ..classes.learned import LearnedPolicyClass
from ..classes.linear import LinearPolicyClass
from ..classes.protocols import PolicyClass
from ..classes.tabular import TabularPolicyClass
from ..exact.arrays import check_actions, check_reals, reject
from ..exact.data import EmpiricalMeasure
from .csc_enumerated import (
    magnitude,
    minimise_enumerated,
    minimise_tabular,
)
from .csc_linear import minimise_linear
from .ledger import data_rows, oracle
from .reductions import minimise_learned
from .results import CscResult, check_accuracy


@singledispatch
def solve_csc(
    policy_class: Any, data: EmpiricalMeasure, costs: NDArray[Any], epsilon_sub: float
) -> CscResult:
    """Solve CSC for one kind of class; ``solve_csc.register`` adds a kind.

    Costs arrive checked: float64 or object (Fractions), shape (n, K).
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
        The policy, its average cost, and a certified bound on its distance
        from the least (see the module for what each class guarantees).

    Raises
    ------
    ValueError
        For an accuracy that is not positive, observations outside the class,
        costs of the wrong shape (action counts that differ), NaN or infinite;
        names the argument and the row.
    """
    check_accuracy("epsilon_sub", epsilon_sub)
    policy_class.admit(data.observations)
    table = check_costs(costs, len(data), policy_class.n_actions)
    return solve_csc(policy_class, data, table, epsilon_sub)


def check_costs(costs: ArrayLike, n: int, n_actions: int) -> NDArray[Any]:
    """Cost vectors as a float64 or object array of shape (n, K).

    Raises ValueError for another shape, NaN or infinity; names the row.
    """
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
    """Costs whose average is -E_D[K 1{π(x) = a} y], y the returns.

    With y = r + V_a this is the negative of the paper's V_D(π; {V_a}):
    importance weighting by K for actions drawn uniformly.

    Parameters
    ----------
    actions
        Actions taken, shape (n,), in 0..K-1.
    returns
        y, floats or Fractions, shape (n,).
    n_actions
        K.

    Returns
    -------
    Shape (n, K), of the type of ``returns``: -K y at the action taken, else 0.

    Raises
    ------
    ValueError
        If an action is not in 0..K-1, or lengths differ.
    """
    if len(actions) != len(returns):
        raise ValueError(f"returns: {len(returns)} rows for {len(actions)} actions")
    actions = check_actions(actions, n_actions)
    costs = np.zeros((len(actions), n_actions), dtype=np.asarray(returns).dtype)
    costs[np.arange(len(actions)), actions] = -n_actions * returns
    return costs
