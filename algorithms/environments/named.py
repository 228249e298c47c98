"""Small instances that show what parts of VALOR are for."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from olivine.algorithms.classes import (
    FiniteValueClass,
    PolicyClassByLevel,
    TabularPolicyClass,
    TabularValueClass,
    ValueClass,
    ValueClassByLevel,
)
from olivine.algorithms.environments.finite_lists import from_lists
from olivine.algorithms.environments.protocol import Environment

HALF = Fraction(1, 2)


@dataclass(frozen=True, eq=False)
class Instance:
    """An environment with classes.

    Attributes
    ----------
    environment
        It.
    values, policies
        G and Π, realizable.
    """

    environment: Environment
    values: ValueClassByLevel
    policies: PolicyClassByLevel


def wrongly_pruned() -> Instance:
    """Make an instance whose second level is pruned at first.

    All functions of G_2 (there is one) agree on the values of both states, so
    dfslearn never descends, level 2 has no data, and its policy is arbitrary: of
    two actions the one that pays nothing. Only exploration on demand learns it.
    """
    environment = from_lists(
        [
            [("s0", {"start": 1}, {"start": [0, 0]}, ["good", "poor"])],
            [
                ("good", {"x": 1}, {"x": [0, 1]}, []),
                ("poor", {"y": 1}, {"y": [0, HALF]}, []),
            ],
        ],
        "wrongly-pruned",
    )
    return Instance(
        environment,
        ValueClassByLevel([TabularValueClass(1), FiniteValueClass([[1.0, 0.5]])]),
        PolicyClassByLevel([TabularPolicyClass(1, 2), TabularPolicyClass(2, 2)]),
    )


def late_discovery(horizon: int) -> Instance:
    """Make an instance that needs H iterations of MetaAlg, more than M K.

    The optimal path goes by action 1 through one state a level; action 0 falls
    into a trap for good. G = {g*}, so that everything is pruned at first, and at a
    state that is not learned the policy takes action 0. So every iteration learns
    one more state of the optimal path (and once the traps): M = K = 2.

    Parameters
    ----------
    horizon
        H, at least 2.
    """
    unpaid, paid = {"x": [0, 0]}, {"x": [0, 1]}
    levels: list[Any] = []
    for h in range(1, horizon + 1):
        last = h == horizon
        following = [] if last else [f"trap{h + 1}", f"path{h + 1}"]
        states = [(f"path{h}", {"x": 1}, paid if last else unpaid, following)]
        if h > 1:
            fallen = [] if last else [f"trap{h + 1}"] * 2
            states.append((f"trap{h}", {"c": 1}, {"c": [0, 0]}, fallen))
        levels.append(states)
    values: list[ValueClass] = [TabularValueClass(1)]
    values += [FiniteValueClass([[1.0, 0.0]])] * (horizon - 1)
    policies = [TabularPolicyClass(1, 2), *[TabularPolicyClass(2, 2)] * (horizon - 1)]
    return Instance(
        from_lists(levels, "late-discovery"),
        ValueClassByLevel(values),
        PolicyClassByLevel(policies),
    )
