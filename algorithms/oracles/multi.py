"""The multi-data-set classification oracle (paper, appendix "Additional oracles").

Given data sets D_j with costs c_j and limits U_j, find a policy whose average cost on
each is at most U_j + ε_feas, if some policy of Π is within U_j on each. For one
deterministic tabular policy that is NP-hard (`olivine.reduction.multi.hardness`) though
CSC is easy. CSC calls give a finite mixture of policies, in which costs and values are
linear (docs/errata.md, 7): ``multiplicative-weights``, with the theorem's bound on
calls, or ``column-generation``, of few policies, any ε_feas. ``disjoint`` finds one
tabular policy where no observation is in two sets, ``deterministic`` one policy by MILP
or enumeration, for contrast. ``auto`` is disjoint where that applies, else column
generation. Infeasible comes with weights λ for which even the best policy exceeds the
weighted limits.

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

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from ...solvers.model.model import LinearModel, Row, integer_row
from ...solvers.outcome import Status
from ..classes.finite import FinitePolicyClass, TabularPolicy, TabularPolicyClass
from ..classes.protocols import PolicyClass
from ..exact.data import EmpiricalMeasure
from .csc import csc
from .ledger import oracle
from .multi_data import (
    ClassificationSet,
    InfeasibilityCertificate,
    MultiResult,
    MultiStatus,
    Problem,
)
from .multi_mixtures import (
    CscOracle,
    Priced,
    Pricing,
    column_generation,
    multiplicative_weights,
    round_bound,
)
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

METHOD = "deterministic"

_FEW_DIGITS = 10**6


def deterministic(
    policy_class: Any, pricing: Pricing, max_calls: int, time_limit: float | None
) -> MultiResult:
    """Find one policy within ε_feas of every limit, tabular or finite."""
    if not isinstance(policy_class, TabularPolicyClass | FinitePolicyClass):
        raise ValueError(
            f"method: no deterministic form for {type(policy_class).__name__}"
        )
    relaxed = column_generation(pricing, max_calls)
    if relaxed.status is MultiStatus.INFEASIBLE:
        return replace(relaxed, method=METHOD, nodes=0)
    if relaxed.policy is not None:
        for member in relaxed.policy.members:
            answer = _single(pricing, pricing.evaluate(member), nodes=0)
            if answer.feasible:
                return answer
    if isinstance(policy_class, FinitePolicyClass):
        return _enumerate(policy_class, pricing)
    return _by_milp(policy_class, pricing, time_limit)


def _single(pricing: Pricing, found: Priced, **more: Any) -> MultiResult:
    one = [Fraction(1)]
    return pricing.feasible([found], one, METHOD, operations=None, **more)


def _enumerate(policy_class: FinitePolicyClass, pricing: Pricing) -> MultiResult:
    for policy in policy_class.members:
        member: Any = policy
        answer = _single(pricing, pricing.evaluate(member), nodes=0)
        if answer.feasible:
            return answer
    return pricing.none(MultiStatus.INFEASIBLE, METHOD, proved=True, nodes=0)


def deterministic_model(
    policy_class: TabularPolicyClass, pricing: Pricing
) -> LinearModel:
    """Write the problem as a MILP: a binary z(x, a), in the order x K + a.

    Coefficients of many digits, which no engine could hold, are rounded to multiples of
    ε_feas / (2 S), S observations, and limits move up by ε_feas / 2: policies within
    the limits stay feasible, and feasible ones are within ε_feas.
    """
    k, size = policy_class.n_actions, len(pricing.problem.measure)
    model = LinearModel("multi-data-set classification", maximise=False)
    for x in pricing.problem.measure.observations.tolist():
        for a in range(k):
            model.add_variable(f"π({x},{a})", 0, 1, integer=True)
    for s in range(size):
        model.add_row([s * k + a for a in range(k)], [1] * k, "==", 1)
    tolerance = Fraction(pricing.epsilon_feas)
    step = tolerance / (2 * size)
    tables = pricing.problem.rationals
    limits = zip(tables.coefficients(), pricing.problem.limits, strict=True)
    for j, ((places, numbers), limit) in enumerate(limits):
        row = Row("", tuple(places), tuple(numbers), "<=", limit)
        integers, side = integer_row(row)
        if max(abs(side), *map(abs, integers)) > _FEW_DIGITS:
            numbers = [round(v / step) * step for v in numbers]
            limit = math.floor((limit + tolerance / 2) / step) * step
        model.add_row(places, numbers, "<=", limit, f"data set {j + 1}")
    return model


def _by_milp(
    policy_class: TabularPolicyClass, pricing: Pricing, time_limit: float | None
) -> MultiResult:
    from ...solvers.milp.milp import solve_milp  # loads PuLP

    model = deterministic_model(policy_class, pricing)
    outcome = solve_milp(model, time_limit=time_limit)
    nodes = outcome.nodes or 0
    if outcome.status is Status.INFEASIBLE:
        none = MultiStatus.INFEASIBLE
        return pricing.none(none, METHOD, proved=False, nodes=nodes)
    if outcome.values is None:
        return pricing.none(
            MultiStatus.UNKNOWN,
            METHOD,
            proved=False,
            nodes=nodes,
            reason=outcome.reason or outcome.status.value,
        )
    size, k = len(pricing.problem.measure), policy_class.n_actions
    chosen = np.array(outcome.values, dtype=np.float64).reshape(size, k).argmax(axis=1)
    actions = np.zeros(policy_class.n_observations, dtype=np.int64)
    actions[pricing.problem.measure.observations] = chosen
    found = pricing.evaluate(TabularPolicy(actions))
    return _single(
        pricing, found, nodes=nodes, reason="the engine's policy exceeds ε_feas"
    )


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
        Called as `csc`: with yours, the oracle works for any class yours works for.
    max_calls
        Limit on CSC calls.
    time_limit
        Seconds for the MILP of ``deterministic``.

    Returns
    -------
    MultiResult
        A mixture (of one policy, where the method is deterministic), the violation it
        is certified to achieve, or a proof that there is none.

    Raises
    ------
    ValueError
        If there is no data set or one is bad (names its number, the argument and the
        row), an accuracy or limit is not positive, or the method is unknown or does not
        fit.
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

    Equal weights give the best for each set; a call on a set alone proves a failure.
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
