"""The assumptions by name, and all that an algorithm needs at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

from olivine.algorithms.assumptions import policy, policy_value, realizable
from olivine.algorithms.assumptions.policy import policy_completeness
from olivine.algorithms.assumptions.policy_value import policy_value_completeness
from olivine.algorithms.assumptions.realizable import (
    policy_realizability,
    value_realizability,
)
from olivine.algorithms.assumptions.result import Assumption
from olivine.algorithms.classes import PolicyClass, ValueClass
from olivine.algorithms.environments.protocol import Environment

Checker = Callable[[Environment, ValueClass, PolicyClass], Assumption]

_CHECKERS: dict[str, Checker] = {
    realizable.POLICY: lambda env, _, policies: policy_realizability(env, policies),
    realizable.VALUE: lambda env, values, _: value_realizability(env, values),
    policy_value.NAME: policy_value_completeness,
    policy.NAME: lambda env, _, policies: policy_completeness(env, policies),
}
NAMES = tuple(_CHECKERS)
"""The assumptions, in the order of the paper."""

CLIPPED = policy_value.CLIPPED
"""A fifth, ours: weaker than policy-value completeness, and enough for regression."""

_CHECKERS[CLIPPED] = partial(policy_value_completeness, clipped=True)


def check_assumptions(
    environment: Environment,
    value_class: ValueClass,
    policy_class: PolicyClass,
    names: Iterable[str] = NAMES,
) -> dict[str, Assumption]:
    """Check assumptions of an environment and classes.

    Parameters
    ----------
    environment
        It.
    value_class, policy_class
        G and Π.
    names
        Some of `NAMES`, or `CLIPPED`.

    Raises
    ------
    ValueError
        For an unknown name, or classes that do not admit the environment's
        observations.

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
