"""Instances that separate the assumptions: every combination that is possible.

One environment, eight pairs of classes. Level 1 has one state; action 0 leads to
`good`, which pays 1 for action 0, and action 1 to `poor`, which pays 1/2 for
action 0 and 1/4 for action 1. So π* always takes action 0, and g* = 1 at level 1
and (1, 1/2) at level 2.

In Π_2 the policy "bad" takes action 1 in `good`, gets nothing there, and so asks
Π_1 for a policy that takes action 1. In G_2 the function "wrong" has 0 there,
and asks for the same and for the value 1/2 in G_1.

The combinations show that of the four assumptions no other implies another than:
policy completeness implies policy realizability, and policy-value completeness
implies both realizabilities. It does *not* imply policy completeness, as the paper
says it does: see `value_complete_only`.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from olivine.algorithms.assumptions import policy, policy_value, realizable
from olivine.algorithms.classes import (
    FinitePolicyClass,
    FiniteValueClass,
    PolicyClassByLevel,
    ValueClassByLevel,
)
from olivine.algorithms.environments.finite import FiniteEnvironment
from olivine.algorithms.environments.finite_lists import from_lists
from olivine.algorithms.exact.arrays import object_array

HALF = Fraction(1, 2)
QUARTER = Fraction(1, 4)

_RIGHT, _WRONG = (Fraction(1), HALF), (Fraction(0), HALF)
_GOOD, _BAD = (0, 0), (1, 0)


@dataclass(frozen=True, eq=False)
class Separation:
    """An environment with classes, and which assumptions hold.

    Attributes
    ----------
    environment
        It.
    values, policies
        G and Π.
    holds
        Names of the assumptions that hold; the others do not.
    """

    environment: FiniteEnvironment
    values: ValueClassByLevel
    policies: PolicyClassByLevel
    holds: frozenset[str]


def two_doors() -> FiniteEnvironment:
    """Make the environment: a good and a poor state behind two actions."""
    return from_lists(
        [
            [("start", {"x": 1}, {"x": [0, 0]}, ["good", "poor"])],
            [
                ("good", {"y": 1}, {"y": [1, 0]}, []),
                ("poor", {"z": 1}, {"z": [HALF, QUARTER]}, []),
            ],
        ],
        "two-doors",
    )


def value_complete_only() -> Separation:
    """Make classes that are policy-value complete but not policy complete.

    G = {g*}. Π_2 has a bad policy beside the good one, Π_1 = {action 0}: the best
    answer to the bad policy, action 1, is missing, and policy-value completeness
    does not ask for it, since the bad policy's value is not in G_2.
    """
    return _separation(
        [_RIGHT], [1], [_GOOD, _BAD], [0], policy_value.NAME, *_REALIZABLE
    )


def separations() -> dict[str, Separation]:
    """All eight combinations by what holds; any other is impossible.

    Examples
    --------
    >>> list(separations())  # doctest: +NORMALIZE_WHITESPACE
    ['nothing', 'only values realizable', 'only policies realizable',
     'only realizable', 'policy complete, values not realizable',
     'policy complete', 'policy-value complete', 'everything']
    """
    both, complete = [_GOOD, _BAD], (policy.NAME, realizable.POLICY)
    return {
        "nothing": _separation([_WRONG], [1], [_BAD], [0]),
        "only values realizable": _separation(
            [_RIGHT], [1], [_BAD], [0], realizable.VALUE
        ),
        "only policies realizable": _separation(
            [_WRONG], [1], both, [0], realizable.POLICY
        ),
        "only realizable": _separation([_RIGHT, _WRONG], [1], both, [0], *_REALIZABLE),
        "policy complete, values not realizable": _separation(
            [_WRONG], [1], [_GOOD], [0], *complete
        ),
        "policy complete": _separation(
            [_RIGHT, _WRONG], [1], both, [0, 1], realizable.VALUE, *complete
        ),
        "policy-value complete": value_complete_only(),
        "everything": _separation(
            [_RIGHT], [1], [_GOOD], [0], policy_value.NAME, realizable.VALUE, *complete
        ),
    }


_REALIZABLE = (realizable.POLICY, realizable.VALUE)


def _separation(
    later_values: list[tuple[Fraction, Fraction]],
    first_values: list[int],
    later_policies: list[tuple[int, int]],
    first_policies: list[int],
    *holds: str,
) -> Separation:
    first = object_array([Fraction(v) for v in first_values])[:, None]
    later = object_array([v for row in later_values for v in row]).reshape(-1, 2)
    values = ValueClassByLevel([FiniteValueClass(first), FiniteValueClass(later)])
    policies = PolicyClassByLevel(
        [
            FinitePolicyClass([[a] for a in first_policies], 2),
            FinitePolicyClass(later_policies, 2),
        ]
    )
    return Separation(two_doors(), values, policies, frozenset(holds))
