"""Realizability, the assumptions by name, and classes that violate one.

π* in Π and g* in G, at every level: exact for tabular and finite classes, any optimal
policy will do. Other classes over finite observations are asked through their oracles,
in floats. For classes that violate an assumption, complete ones are drawn and at one
level members taken away: the right ones (realizability), or all others (completeness),
so that they stay realizable.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..classes import PolicyClass, PolicyClassByLevel, ValueClass, ValueClassByLevel
from ..environments.check import as_environment, check_class
from ..environments.finite import FiniteTruth
from ..environments.protocol import Environment
from ..exact.arrays import check_type
from ..exact.data import EmpiricalMeasure
from ..oracles.csc import csc
from ..oracles.least_squares import least_squares
from . import policy_value
from .closure import complete_classes, policy_class, value_class
from .members import (
    Assumption,
    Counterexample,
    HiddenModel,
    Policies,
    Values,
    Vector,
    best,
)
from .policy_value import policy_completeness, policy_value_completeness

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
    model = HiddenModel.of(environment)
    if isinstance(model, str):
        return Assumption(name, None, model)
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


Checker = Callable[[Environment, ValueClass, PolicyClass], Assumption]

_CHECKERS: dict[str, Checker] = {
    POLICY: lambda env, _, policies: policy_realizability(env, policies),
    VALUE: lambda env, values, _: value_realizability(env, values),
    policy_value.POLICY_VALUE: policy_value_completeness,
    policy_value.POLICY: lambda env, _, policies: policy_completeness(env, policies),
}
NAMES = tuple(_CHECKERS)  # The assumptions, in the order of the paper

CLIPPED = policy_value.CLIPPED  # Ours: weaker than policy-value completeness

_CHECKERS[CLIPPED] = partial(policy_value_completeness, clipped=True)


def check_assumptions(
    environment: Environment,
    value_class: ValueClass,
    policy_class: PolicyClass,
    names: Iterable[str] = NAMES,
) -> dict[str, Assumption]:
    """Check assumptions of an environment and classes.

    Examples
    --------
    >>> import numpy as np
    >>> from olivine.algorithms.learning.draw_classes import make_classes
    >>> from olivine.algorithms.environments import make
    >>> env = make("random-finite", 0)
    >>> found = check_assumptions(
    ...     env, *make_classes(env, "tabular", np.random.default_rng(0)))
    >>> [found[name].holds for name in NAMES]
    [True, True, False, True]
    """
    environment = as_environment(environment)
    check_class("value_class", value_class, ValueClass)
    check_class("policy_class", policy_class, PolicyClass)
    check_type("names", names, Iterable, "list of names")
    chosen = list(names)
    for name in chosen:
        if name not in _CHECKERS:
            raise ValueError(f"names: {name!r} is none of {', '.join(_CHECKERS)}")
    return {
        name: _CHECKERS[name](environment, value_class, policy_class) for name in chosen
    }


Classes = tuple[ValueClassByLevel, PolicyClassByLevel]
_ByLevel = TypeVar("_ByLevel", ValueClassByLevel, PolicyClassByLevel)


def violating_classes(
    environment: Environment, rng: np.random.Generator, name: str, *, size: int = 128
) -> Classes:
    """Finite classes without one assumption; ValueError where none were found.

    Where ``name`` is a completeness, both realizabilities hold.
    """
    if name not in _CHANGES:
        raise ValueError(f"violate: {name!r} is none of {', '.join(_CHANGES)}")
    model = HiddenModel(environment)
    drawn = complete_classes(environment, rng, "both", size=size)
    for h in range(environment.horizon, 0, -1):
        q = model.gains(h, model.optimal(h + 1))
        for classes in _CHANGES[name](_Level(model, h, q, drawn, rng)):
            found = check_assumptions(environment, *classes, [name])[name]
            if found.holds is False:
                return classes
    raise ValueError(
        f"violate: no classes found that violate {name} on {environment.name!r} (there "
        "need not be any); take another seed, or more states and actions"
    )


@dataclass(frozen=True, eq=False)
class _Level:
    model: HiddenModel
    h: int
    q: NDArray[Any]
    drawn: Classes
    rng: np.random.Generator

    def with_values(self, rows: list[Any]) -> Classes:
        made = value_class(self.model, self.h, rows, self.rng)
        return _replaced(self.drawn[0], self.h, made), self.drawn[1]

    def with_policies(self, rows: list[Any]) -> Classes:
        made = policy_class(self.model, self.h, rows, self.rng)
        return self.drawn[0], _replaced(self.drawn[1], self.h, made)


def _without_values(at: _Level) -> Iterator[Classes]:
    right = tuple(at.q.max(axis=1).tolist())
    rows = [row for row in Values(at.model, at.drawn[0], at.h).rows if row != right]
    off = right[0] / 2 if right[0] else Fraction(1, 2)
    yield at.with_values(rows or [(off, *right[1:])])


def _without_policies(at: _Level) -> Iterator[Classes]:
    good = best(at.q)
    every = np.arange(len(at.q))
    table = Policies(at.model, at.drawn[1], at.h).rows
    rows = [tuple(row.tolist()) for row in table if not good[every, row].all()]
    yield at.with_policies(rows or [tuple(at.q.argmin(axis=1).tolist())])


def _only_values(at: _Level) -> Iterator[Classes]:
    yield at.with_values([tuple(at.q.max(axis=1).tolist())])


def _only_policies(at: _Level) -> Iterator[Classes]:
    model, right = at.model, tuple(at.q.argmax(axis=1).tolist())
    values, one = at.with_policies([right])
    yield values, one
    # Where that is not enough, later policies that are as bad as can be in some states.
    for _ in range(_ATTEMPTS):
        more = one
        ahead: Vector = ()
        for later in range(model.horizon, at.h, -1):
            gains = model.gains(later, ahead)
            flags = at.rng.integers(2, size=len(model.states(later)))
            bad = flags[model.owner(later)].astype(np.bool_)
            row = np.where(bad, gains.argmin(axis=1), gains.argmax(axis=1))
            ahead = model.averages(later, gains[np.arange(len(row)), row].tolist())
            table = Policies(model, more, later).rows
            rows = [tuple(r.tolist()) for r in (*table, row)]
            changed = policy_class(model, later, rows, at.rng)
            more = _replaced(more, later, changed)
        yield values, more


_ATTEMPTS = 20

_CHANGES: dict[str, Callable[..., Iterator[Classes]]] = {
    POLICY: _without_policies,
    VALUE: _without_values,
    policy_value.POLICY_VALUE: _only_values,
    policy_value.CLIPPED: _only_values,
    policy_value.POLICY: _only_policies,
}


def _replaced(classes: _ByLevel, h: int, by: Any) -> _ByLevel:
    levels = [by if i == h else c for i, c in enumerate(classes.classes, 1)]
    return type(classes)(levels)
