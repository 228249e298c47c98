"""Small instances that show what parts of LSVEE are for, and its classes for VALOR."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ...algorithms.classes import (
    FinitePolicyClass,
    FiniteValueClass,
    PolicyClassByLevel,
    ValueClassByLevel,
)
from ...algorithms.classes.q_functions import FiniteQClass
from ...algorithms.environments.finite_lists import (
    HALF,
    from_lists,
    path_with_traps,
)
from ...algorithms.environments.protocol import Environment
from ...algorithms.learning.draw_classes import (
    DecodedPolicyClass,
    DecodedValueClass,
)


@dataclass(frozen=True, eq=False)
class Instance:
    """An environment with a class of Q-functions that holds Q*."""

    environment: Environment  # It
    functions: FiniteQClass  # F
    optimal: int  # Number of Q* in F


def misled_at(horizon: int) -> Instance:
    """Make an instance in which every consensus test passes though F errs.

    One state a level lies on the optimal path, where action 1 leads on (and is paid
    at the end); action 0 falls into a trap for good. F holds, for each level h, the
    function that takes the two actions of the path's state for each other at h alone,
    and Q* at last. All agree on the value of every state, so nothing below the
    root is learned at first; each policy that is then tried falls at the next
    level, and exploration on demand learns one more state of the path. H policies
    are needed: more than K, and with H - 1 rejections.
    """
    if horizon < 2:
        raise ValueError(f"horizon: {horizon} is below 2")
    right, wrong = [[0, 1], [0, 0]], [[1, 0], [0, 0]]
    levels, tables = path_with_traps(horizon), []
    for h, states in enumerate(levels, 1):
        rows = [wrong if g == h else right for g in range(1, horizon + 2)]
        tables.append([row[: len(states)] for row in rows])
    environment = from_lists(levels, "misled")
    return Instance(environment, FiniteQClass(tables), horizon)


def noisy_successor() -> Instance:
    """Make an instance that needs the average over next observations.

    The state after the first emits x (worth 1) and y (worth 0) half each, so Q* is
    1/2 at the start and has variance 1/4 one step later. The other function claims
    1/2 everywhere: at the start it has no Bellman error either, and no variance.
    Fitted to one sampled x' a draw, Q* has the larger risk, by 1/4.
    """
    environment = from_lists(
        [
            [("s", {"start": 1}, {"start": [0, 0]}, ["t", "t"])],
            [("t", {"x": HALF, "y": HALF}, {"x": [1, 1], "y": [0, 0]}, [])],
        ],
        "noisy-successor",
    )
    start = [[[HALF, HALF]], [[HALF, HALF]]]
    below = [[[HALF, HALF], [HALF, HALF]], [[1, 1], [0, 0]]]
    return Instance(environment, FiniteQClass([start, below]), 1)


def one_sample_risks(
    instance: Instance, path: tuple[int, ...], n: int, rng: np.random.Generator
) -> list[Fraction]:
    """Risks with one sampled next observation in place of the average.

    Average over n draws of (f(x, a) - r - f(x', π_f(x')))² for every function:
    what LSVEE does *not* compute (compare `olivine.algorithms.lsvee.averages.risks`).
    """
    functions, level = instance.functions, len(path) + 1
    data = instance.environment.draw((*path, "uniform"), n, rng)
    assert data.actions is not None
    here = functions.values(level, data.observations)
    chosen = here[:, np.arange(len(data)), data.actions]
    ahead = functions.state_values(level + 1, data.codes("next_observations"))
    errors = chosen - data.exact_rewards[None] - ahead
    return [data.expectation_exact(row) for row in errors * errors]


def decoupled(functions: FiniteQClass) -> tuple[ValueClassByLevel, PolicyClassByLevel]:
    """G and Π, by level, of a class of Q-functions; equal members are merged.

    If Q* is in F, then g* is in G and π* in Π.
    """
    values: list[FiniteValueClass] = []
    policies: list[FinitePolicyClass] = []
    for h in range(1, functions.horizon + 1):
        table = functions.table(h)
        best = np.array(list(dict.fromkeys(map(tuple, table.max(axis=2).tolist()))))
        greedy = np.unique(table.argmax(axis=2).astype(np.int64), axis=0)
        decode = functions.decoder(h)
        if decode is None:
            values.append(FiniteValueClass(best))
            policies.append(FinitePolicyClass(greedy, functions.n_actions))
        else:
            real = best.astype(np.float64)
            values.append(DecodedValueClass(real, decode))
            policies.append(DecodedPolicyClass(greedy, decode, functions.n_actions))
    return ValueClassByLevel(values), PolicyClassByLevel(policies)
