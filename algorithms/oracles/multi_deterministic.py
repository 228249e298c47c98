"""The multi-data-set oracle as the paper defines it: one deterministic policy.

For tabular classes this is NP-hard and done by a mixed-integer program with a
binary variable for every action of every observation; for finite classes by
enumeration. It is here for contrast, and for small problems that must have a
deterministic answer. The relaxation, mixtures, is solved first: it refutes many
infeasible problems with a proof, and what it finds may be deterministic already.

A MILP engine's "infeasible" is no proof (it computes in floating point); such an
answer has ``proved=False``.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from ...solvers.milp.milp import solve_milp
from ...solvers.model.model import LinearModel, Row, integer_row
from ...solvers.outcome import Status
from ..classes.finite import FinitePolicyClass
from ..classes.tabular import TabularPolicy, TabularPolicyClass
from .multi_mixtures import column_generation
from .multi_pricing import Priced, Pricing
from .multi_results import MultiResult, MultiStatus

METHOD = "deterministic"

_FEW_DIGITS = 10**6


def deterministic(
    policy_class: Any, pricing: Pricing, max_calls: int, time_limit: float | None
) -> MultiResult:
    """Find one policy within ε_feas of every limit.

    Raises ValueError for a class of another kind. `time_limit`: wall seconds for the
    engine; None for no limit.
    """
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
    """Look at every member; the first within ε_feas."""
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

    Rows whose coefficients have few digits stay as they are. Others, which no
    engine could hold, are rounded so that every policy within the limits is
    feasible, and every feasible one is within ε_feas: with S observations and
    coefficients rounded to multiples of ε_feas / (2 S) no cost moves by more
    than ε_feas / 4, and the limits move up by ε_feas / 2.
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
