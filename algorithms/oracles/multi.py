"""The multi-data-set classification oracle (paper, appendix "Additional oracles").

Given data sets D_j with costs c_j and limits U_j, find a policy whose average
cost on each is at most U_j + ε_feas, if some policy of Π is within U_j on each.

The definition asks for one policy of Π. For deterministic tabular policies
that is NP-hard (`olivine.reduction.multi.hardness`) although CSC is easy there, so no
implementation over CSC calls can be polynomial, as the paper says of one by
multiplicative weights (erratum 7). What CSC calls do give is a finite mixture
of policies of Π. Costs and values are linear in the mixture, so what the
algorithms of the paper need of the oracle stays true.

===========================  ==================================================
method                       answer
===========================  ==================================================
``multiplicative-weights``   a mixture; calls bounded by the theorem
``column-generation``        a mixture of few policies; any ε_feas
``disjoint``                 one policy: tabular, no observation in two sets
``deterministic``            one policy by MILP (tabular) or enumeration
                             (finite), for contrast: exponential
``auto``                     disjoint where that applies, else
                             column generation
===========================  ==================================================

Infeasible is an answer, and comes with weights λ for which even the best policy
exceeds the weighted limits. (The deterministic form can be infeasible where a
mixture exists; then there is no such proof.)

>>> from olivine.algorithms.classes import TabularPolicyClass
>>> data = EmpiricalMeasure([0])
>>> sets = [ClassificationSet(data, [[0, 1]], 0.5),
...         ClassificationSet(data, [[1, 0]], 0.5)]
>>> found = multi(TabularPolicyClass(1, 2), sets, epsilon_feas=1e-6)
>>> found.status.value, found.policy(data.observations).tolist()
('feasible', [[0.5, 0.5]])
>>> multi(TabularPolicyClass(1, 2), sets, epsilon_feas=1e-6,
...       method="deterministic").status.value
'infeasible'
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Literal

import numpy as np

from ..classes.protocols import PolicyClass
from ..classes.tabular import TabularPolicyClass
from ..exact.data import EmpiricalMeasure
from .csc import csc
from .ledger import oracle
from .multi_deterministic import deterministic
from .multi_mixtures import (
    column_generation,
    multiplicative_weights,
    round_bound,
)
from .multi_pricing import CscOracle, Pricing
from .multi_results import (
    ClassificationSet,
    InfeasibilityCertificate,
    MultiResult,
    MultiStatus,
)
from .multi_tables import Problem
from .results import check_accuracy

__all__ = [
    "METHODS",
    "ClassificationSet",
    "EmpiricalMeasure",
    "InfeasibilityCertificate",
    "Method",
    "MultiResult",
    "MultiStatus",
    "multi",
    "round_bound",
]

Method = Literal[
    "auto", "multiplicative-weights", "column-generation", "disjoint", "deterministic"
]
METHODS: tuple[Method, ...] = Method.__args__  # type: ignore[attr-defined]


def _rows(
    policy_class: PolicyClass, sets: Sequence[ClassificationSet], **options: object
) -> int:
    return sum(len(item.data) for item in sets)


@oracle("multi", rows=_rows, function="policy")
def multi(
    policy_class: PolicyClass,
    /,
    sets: Sequence[ClassificationSet],
    *,
    epsilon_feas: float,
    method: Method = "auto",
    csc_oracle: CscOracle = csc,
    max_calls: int = 100_000,
    time_limit: float | None = None,
) -> MultiResult:
    """Find a policy of low cost on several data sets.

    Parameters
    ----------
    policy_class
        Π.
    sets
        Data sets with costs and limits, at least one.
    epsilon_feas
        Violation allowed of each limit, positive.
    method
        See the module.
    csc_oracle
        Called as `olivine.algorithms.oracles.csc.csc`; it makes the oracle work for any
        class it works for.
    max_calls
        Limit on CSC calls.
    time_limit
        Seconds for the MILP of ``deterministic``; other methods have no use for
        it.

    Returns
    -------
    MultiResult
        A mixture (of one policy, where the method is deterministic), the
        violation it is certified to achieve, or a proof that there is none.

    Raises
    ------
    ValueError
        If there is no data set or one is bad (names its number, the argument
        and the row), an accuracy or limit is not positive, or the method is
        unknown or does not go with the class or the data.
    """
    check_accuracy("epsilon_feas", epsilon_feas)
    if max_calls < 1:
        raise ValueError(f"max_calls: {max_calls} is not positive")
    if method not in METHODS:
        raise ValueError(f"method: unknown {method!r}; choose from {METHODS}")
    problem = Problem(policy_class, sets)
    pricing = Pricing(policy_class, problem, csc_oracle, epsilon_feas)
    tabular = isinstance(policy_class, TabularPolicyClass)
    if method == "auto":
        separate = tabular and problem.is_disjoint
        method = "disjoint" if separate else "column-generation"
    if method == "disjoint":
        if not tabular:
            raise ValueError("method: disjoint needs a tabular class")
        if not problem.is_disjoint:
            raise ValueError("method: disjoint, but an observation is in two sets")
        return solve_disjoint(pricing)
    if method == "deterministic":
        return deterministic(policy_class, pricing, max_calls, time_limit)
    if method == "multiplicative-weights":
        return multiplicative_weights(pricing, max_calls)
    return column_generation(pricing, max_calls)


def solve_disjoint(pricing: Pricing) -> MultiResult:
    """Solve the tabular problem without shared observations: one CSC call.

    What is best for equal weights is best for each data set by itself. If it
    exceeds a limit by more than ε_feas, so does every policy, and a second
    call, on that data set alone, proves it.
    """
    count = len(pricing.problem)
    found = pricing.price(np.full(count, 1 / count))
    one = [Fraction(1)]
    answer = pricing.feasible([found], one, "disjoint", reason="rounding")
    if answer.feasible:
        return answer
    alone = np.zeros(count)
    alone[int(np.argmax(found.excess))] = 1
    again = pricing.price(alone)
    if again.bound > 0:
        return pricing.infeasible(again, "disjoint")
    # Nothing was certain: the best for equal weights was not best for the set.
    return column_generation(pricing, pricing.calls + 100 * count)
