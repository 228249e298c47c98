"""The assumptions by name, and classes that violate one.

For these, complete classes are drawn and at one level members taken away: the right
ones (realizability), or all others (completeness), so that they stay realizable.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..classes import PolicyClass, PolicyClassByLevel, ValueClass, ValueClassByLevel
from ..environments.protocol import Environment
from . import policy_value, realizable
from .closure import complete_classes, policy_class, value_class
from .members import Assumption, HiddenModel, Policies, Values, Vector, best
from .policy_value import policy_completeness, policy_value_completeness
from .realizable import policy_realizability, value_realizability

Checker = Callable[[Environment, ValueClass, PolicyClass], Assumption]

_CHECKERS: dict[str, Checker] = {
    realizable.POLICY: lambda env, _, policies: policy_realizability(env, policies),
    realizable.VALUE: lambda env, values, _: value_realizability(env, values),
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


@dataclass(frozen=True)
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
    realizable.POLICY: _without_policies,
    realizable.VALUE: _without_values,
    policy_value.POLICY_VALUE: _only_values,
    policy_value.CLIPPED: _only_values,
    policy_value.POLICY: _only_policies,
}


def _replaced(classes: _ByLevel, h: int, by: Any) -> _ByLevel:
    levels = [by if i == h else c for i, c in enumerate(classes.classes, 1)]
    return type(classes)(levels)
