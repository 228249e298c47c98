"""A run of VALOR in which pooling data sets gives up a state."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from olivine.algorithms.classes import (
    FinitePolicyClass,
    PolicyClassByLevel,
    TabularPolicyClass,
    TabularValueClass,
    ValueClassByLevel,
)
from olivine.algorithms.environments.finite_lists import from_lists
from olivine.algorithms.learning.events import Triple
from olivine.algorithms.valor.algorithm import LocalValues
from olivine.algorithms.valor.parameters import PracticalParameters

HALF = Fraction(1, 2)


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
