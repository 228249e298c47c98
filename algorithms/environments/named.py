"""Small instances that show what parts of VALOR are for."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from olivine.algorithms.classes import (
    FinitePolicyClass,
    FiniteValueClass,
    PolicyClassByLevel,
    TabularPolicyClass,
    TabularValueClass,
    ValueClass,
    ValueClassByLevel,
)
from olivine.algorithms.environments.finite_lists import from_lists
from olivine.algorithms.environments.protocol import Environment
from olivine.algorithms.learning.events import Triple
from olivine.algorithms.valor.algorithm import LocalValues
from olivine.algorithms.valor.parameters import PracticalParameters

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


def sacrificed(
    rng: np.random.Generator, *, copies: int = 40, error: Fraction = Fraction(1, 50)
) -> LocalValues:
    """Prepare a run in which pooling sacrifices a state with a single data set.

    At level 2 there are two states and two policies, the optimal one and one that
    gets nothing in the second state. The first state has `copies` data sets whose
    {V_a} are off by `error`, as accuracies allow, in favour of the other policy:
    a gain of 2·error each, against a loss of 1/2 in the only data set of the
    second state. Pooling takes the bad policy once copies · 4 · error > 1.

    Parameters
    ----------
    rng
        Draws the data.
    copies
        Data sets of the first state.
    error
        Of its {V_a}; below φ.
    """
    environment = from_lists(
        [
            [("s0", {"start": 1}, {"start": [0, 0]}, ["often", "rare"])],
            [
                ("often", {"x": 1}, {"x": [0, 0]}, ["paid", "paid"]),
                ("rare", {"y": 1}, {"y": [0, 0]}, ["paid", "unpaid"]),
            ],
            [
                ("paid", {"z": 1}, {"z": [HALF, HALF]}, []),
                ("unpaid", {"w": 1}, {"w": [0, 0]}, []),
            ],
        ],
        "sacrificed",
    )
    parameters = PracticalParameters(
        0.2, 0.1, 2, 2, 3, n_train=2000, eps_stat=0.001, slack=0.05
    )
    values = ValueClassByLevel([TabularValueClass(n) for n in (1, 2, 2)])
    policies = PolicyClassByLevel(
        [
            TabularPolicyClass(1, 2),
            FinitePolicyClass([[0, 0], [1, 1]], 2),
            TabularPolicyClass(2, 2),
        ]
    )
    run = LocalValues(environment, values, policies, parameters, rng)

    def learn(path: tuple[int, ...], value: Fraction, *futures: Fraction) -> None:
        data = environment.sample(path, parameters.n_train, rng, successors=False)
        run.datasets[1].append(Triple(path, data, value, futures))

    for _ in range(copies):
        learn((0,), HALF + error, HALF - error, HALF + error)
    learn((1,), HALF, HALF, Fraction(0))
    return run
