"""Policy and value realizability: π* in Π and g* in G, at every level.

Exact for tabular and finite classes, any optimal policy will do. Other classes over
finite observations are asked through their oracles, in floats.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..classes.protocols import PolicyClass, ValueClass
from ..environments.finite_truth import FiniteTruth
from ..environments.protocol import Environment
from ..exact.data import EmpiricalMeasure
from ..oracles.csc import csc
from ..oracles.least_squares import least_squares
from .members import Assumption, Counterexample, HiddenModel, Policies, Values, best

_TOLERANCE = 1e-12


@dataclass(frozen=True)
class Realizability:
    """Whether the two assumptions hold."""

    value: bool | None  # True, False, or None: the oracles cannot tell
    policy: bool | None
    reason: str = ""  # The first violation: which class, which level

    @property
    def holds(self) -> bool | None:
        """Both; None if neither is violated and one is unknown."""
        return _both(self.value, self.policy)


def realizability(
    environment: Environment, value_class: ValueClass, policy_class: PolicyClass
) -> Realizability:
    """Check both at every level: losses below 1e-12 are 0, g* of level 1 not asked."""
    value: bool | None = True
    policy: bool | None = True
    reason = ""
    for h in range(1, environment.horizon + 1):
        if environment.space(h).n_codes is None:
            return Realizability(None, None, "observations have no codes")
        answer = True if h == 1 else value_at_level(environment, value_class, h)
        if answer is False:
            reason = reason or f"value_class: g* of level {h} is not in it"
        value = _both(value, answer)
        answer = policy_at_level(environment, policy_class, h)
        if answer is False:
            reason = reason or f"policy_class: no optimal policy of level {h} in it"
        policy = _both(policy, answer)
    return Realizability(value, policy, reason)


def value_at_level(
    environment: Environment, value_class: ValueClass, level: int
) -> bool | None:
    """Whether g* of a level is in G, by least squares; None: it may be."""
    data, q = _observable(environment, level)
    best = q.max(axis=1)
    fit = least_squares(value_class.at_level(level), data, best, epsilon_sub=_TOLERANCE)
    return _verdict(fit.loss, fit.suboptimality)


def policy_at_level(
    environment: Environment, policy_class: PolicyClass, level: int
) -> bool | None:
    """Whether an optimal policy of a level is in Π, by CSC; as `value_at_level`."""
    data, q = _observable(environment, level)
    costs = q.max(axis=1)[:, None] - q
    found = csc(policy_class.at_level(level), data, costs, epsilon_sub=_TOLERANCE)
    return _verdict(found.cost, found.suboptimality)


def _observable(
    environment: Environment, level: int
) -> tuple[EmpiricalMeasure, NDArray[np.float64]]:
    """Codes of reachable states, once each, and their Q*."""
    truth = environment.truth
    codes = np.arange(len(truth.q_values(level)))
    if isinstance(truth, FiniteTruth):
        emissions = truth.model.level(level).emissions[sorted(truth.reachable(level))]
        codes = np.flatnonzero(emissions.sum(axis=0))
    q = truth.q_values(level)[codes].astype(np.float64)
    return EmpiricalMeasure(codes), q


def _verdict(least: float, suboptimality: float) -> bool | None:
    if least - suboptimality > _TOLERANCE:
        return False
    return None if least > _TOLERANCE else True


def _both(first: bool | None, second: bool | None) -> bool | None:
    if first is False or second is False:
        return False
    return None if None in (first, second) else True


POLICY = "policy-realizability"
VALUE = "value-realizability"

_Judged = Counterexample | bool | None


def policy_realizability(
    environment: Environment, policy_class: PolicyClass
) -> Assumption:
    """Check that Π_h has an optimal policy, for every level h, over finite codes."""

    def judge(model: HiddenModel, h: int, q: NDArray[Any]) -> _Judged:
        policies = Policies(model, policy_class, h)
        if policies.kind in ("tabular", "finite"):
            return policies.lacks(best(q)) or True
        return policy_at_level(environment, policy_class, h)

    missing = "Π_{h} has no optimal policy (by CSC)"
    unknown = "the CSC oracle of Π_{h} cannot tell"
    answers = missing, unknown, "Π has an optimal policy"
    return _at_every_level(POLICY, environment, judge, answers)


def value_realizability(
    environment: Environment, value_class: ValueClass
) -> Assumption:
    """Check that G_h has g*_h, for every level h, also the first, over finite codes."""

    def judge(model: HiddenModel, h: int, q: NDArray[Any]) -> _Judged:
        values = Values(model, value_class, h)
        if values.kind in ("tabular", "finite"):
            return values.lacks(q.max(axis=1).tolist()) or True
        return value_at_level(environment, value_class, h)

    missing = "G_{h} has no g* (by least squares)"
    unknown = "the least-squares oracle of G_{h} cannot tell"
    answers = missing, unknown, "G has g*"
    return _at_every_level(VALUE, environment, judge, answers)


def _at_every_level(
    name: str,
    environment: Environment,
    judge: Callable[[HiddenModel, int, NDArray[Any]], _Judged],
    answers: tuple[str, str, str],
) -> Assumption:
    try:
        model = HiddenModel(environment)
    except ValueError as error:
        return Assumption(name, None, str(error))
    missing, unknown, right = answers
    doubt = ""
    for h in range(1, model.horizon + 1):
        found = judge(model, h, model.gains(h, model.optimal(h + 1)))
        if isinstance(found, Counterexample):
            return Assumption(name, False, str(found), found)
        if found is False:
            return Assumption(name, False, missing.format(h=h))
        if found is None:
            doubt = doubt or unknown.format(h=h)
    return Assumption(name, None, doubt) if doubt else Assumption(name, True, right)
