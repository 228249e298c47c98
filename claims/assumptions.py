"""Claims about the assumptions on the classes, and the Fact that relates them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ..algorithms.assumptions import policy, policy_value, realizable
from ..algorithms.assumptions.checks import (
    CLIPPED,
    NAMES,
    check_assumptions,
    violating_classes,
)
from ..algorithms.assumptions.closure import COMPLETENESS, complete_classes
from ..algorithms.assumptions.members import Assumption
from ..algorithms.assumptions.policy_value import (
    evaluation_closed,
    evaluation_closed_classes,
)
from ..algorithms.classes import (
    FinitePolicyClass,
    FiniteValueClass,
    PolicyClassByLevel,
    ValueClassByLevel,
)
from ..algorithms.environments import make
from ..algorithms.environments.finite import FiniteEnvironment
from ..algorithms.environments.finite_lists import from_lists
from ..algorithms.environments.protocol import Environment
from ..algorithms.exact.arrays import object_array
from ..algorithms.learning.draw_classes import make_classes
from . import runs
from .claim import EXACT, EXHAUSTIVE, Evidence, Refuted, claim

HALF = Fraction(1, 2)
QUARTER = Fraction(1, 4)

_RIGHT, _WRONG = (Fraction(1), HALF), (Fraction(0), HALF)
_GOOD, _BAD = (0, 0), (1, 0)


@dataclass(frozen=True, eq=False)
class Separation:
    """An environment with classes, and which assumptions hold."""

    environment: FiniteEnvironment  # It
    # values, policies: g and Π
    values: ValueClassByLevel
    policies: PolicyClassByLevel
    holds: frozenset[str]  # Names of the assumptions that hold; the others do not


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

    All are on one environment, with eight pairs of classes. Level 1 has one state;
    action 0 leads to `good`, which pays 1 for action 0, and action 1 to `poor`, which
    pays 1/2 for action 0 and 1/4 for action 1. So π* always takes action 0, and g* = 1
    at level 1 and (1, 1/2) at level 2.

    In Π_2 the policy "bad" takes action 1 in `good`, gets nothing there, and so asks
    Π_1 for a policy that takes action 1. In G_2 the function "wrong" has 0 there, and
    asks for the same and for the value 1/2 in G_1.

    The combinations show that of the four assumptions no other implies another than:
    policy completeness implies policy realizability, and policy-value completeness
    implies both realizabilities. It does *not* imply policy completeness, as the paper
    says it does: see `value_complete_only`.

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


SOURCE = "paper, appendix Additional Notation and Definitions"
FACT = f"{SOURCE}, Fact (relationship between the assumptions)"

_PV, _P = policy_value.NAME, policy.NAME
_SMALL = {"states": 2, "actions": 2, "horizon": 3}


def _environments(count: int) -> Iterator[tuple[Environment, np.random.Generator]]:
    for seed in range(runs.instances(count)):
        yield make("random-finite", seed, **_SMALL), np.random.default_rng([seed, 1])


@runs.made_once
def _cases() -> tuple[dict[str, Assumption], ...]:
    """Random environments with classes of all sorts, checked."""
    return tuple(_drawn())


def _drawn() -> Iterator[dict[str, Assumption]]:
    for env, rng in _environments(6):
        for kind in COMPLETENESS:
            yield check_assumptions(env, *complete_classes(env, rng, kind, size=12))
        for name in NAMES:
            classes = violating_classes(env, rng, name, size=12)
            yield check_assumptions(env, *classes)
        for size in (4, 16):
            classes = make_classes(env, "finite", rng, size=size)
            yield check_assumptions(env, *classes)
        yield check_assumptions(env, *make_classes(env, "tabular", rng))
    for made in separations().values():
        yield check_assumptions(made.environment, made.values, made.policies)


def _implied(premise: str, *conclusions: str) -> Evidence:
    applied = 0
    for number, found in enumerate(_cases()):
        if found[premise].holds is not True:
            continue
        applied += 1
        for name in conclusions:
            if found[name].holds is not True:
                raise Refuted(f"case {number}: {name}: {found[name].reason}")
    return Evidence(applied > 0, f"in all {applied} cases where {premise} holds")


@claim("completeness-implies-realizability", FACT, EXHAUSTIVE)
def _value_side() -> Evidence:
    """Policy-value completeness implies g* in G (so the Fact says) and π* in Π
    (directly, not by way of policy completeness)."""
    return _implied(_PV, realizable.VALUE, realizable.POLICY)


@claim("policy-completeness-implies-realizability", FACT, EXHAUSTIVE)
def _policy_side() -> Evidence:
    """Policy completeness implies that Π has an optimal policy."""
    return _implied(_P, realizable.POLICY)


@claim("completeness-fact", FACT, EXACT, erratum="24")
def _fact() -> Evidence:
    """Policy-value completeness does not imply policy completeness (printed: it does):
    G need not hold the value of a bad policy of Π."""
    made = value_complete_only()
    found = check_assumptions(made.environment, made.values, made.policies)
    shown = found[_PV].holds is True and found[_P].holds is False
    return Evidence(
        shown, f"two doors, G = {{g*}}: {_PV} holds, but {found[_P].reason}"
    )


@claim("completeness-fact-corrected", FACT, EXHAUSTIVE, erratum="24")
def _corrected() -> str:
    """Policy-value completeness implies policy completeness if G is closed under
    evaluation: E[r + g'(x') | x, π(x)] in G_h for g' in G_{h+1}, π in Π_h."""
    applied = 0
    for env, rng in _environments(12):
        classes = evaluation_closed_classes(env, rng)
        if evaluation_closed(env, *classes).holds is not True:
            raise Refuted("classes made to be closed are not")
        found = check_assumptions(env, *classes, [_PV, _P])
        if found[_PV].holds is not True or found[_P].holds is not True:
            raise Refuted(f"{found}")
        applied += 1
    return f"in all {applied} random environments, closed by construction"


@claim("assumptions-separate", FACT, EXACT)
def _separate() -> Evidence:
    """Nothing else follows among the four assumptions: all eight combinations that
    these implications allow occur (no arrow of the Fact can be turned round)."""
    combinations = set()
    for name, made in separations().items():
        found = check_assumptions(made.environment, made.values, made.policies)
        holds = frozenset(n for n, a in found.items() if a.holds is True)
        if holds != made.holds or any(a.holds is None for a in found.values()):
            raise Refuted(f"{name}: {sorted(holds)}")
        combinations.add(holds)
    return Evidence(
        len(combinations) == 8, f"{len(combinations)} combinations on two doors"
    )


@claim(
    "all-functions-are-not-complete",
    f"{SOURCE}, policy-value completeness (with G in X → [0, 1], section Setting)",
    EXACT,
    erratum="25",
)
def _all_functions() -> Evidence:
    """The class of all functions to [0, 1] is policy-value complete only if no reward
    is paid before the last level, for r + g' leaves [0, 1]; with backups cut off at 1
    it is complete."""
    checked = 0
    for env, rng in _environments(10):
        classes = make_classes(env, "tabular", rng)
        found = check_assumptions(env, *classes, [_PV, CLIPPED, _P])
        if found[_PV].holds is not False or found[CLIPPED].holds is not True:
            raise Refuted(f"{found[_PV].reason}; {found[CLIPPED].reason}")
        if found[_P].holds is not True:
            raise Refuted(found[_P].reason)
        checked += 1
    late = value_complete_only().environment
    found = check_assumptions(late, *make_classes(late, "tabular", rng), [_PV])
    return Evidence(
        found[_PV].holds is True,
        f"{checked} environments with early rewards, one with late ones only",
    )
