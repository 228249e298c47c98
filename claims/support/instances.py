"""Environments and classes on which fitted Q iteration, or pooling in VALOR, fails."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np

from ...algorithms.classes import (
    FinitePolicyClass,
    FiniteValueClass,
    TabularPolicyClass,
    TabularValueClass,
    ValueClass,
)
from ...algorithms.environments.finite_lists import HALF, Instance
from ...algorithms.exact.numbers import check_count
from ...algorithms.learning.events import Triple
from ...algorithms.valor.algorithm import LocalValues
from ...algorithms.valor.parameters import PracticalParameters
from . import instance


def unrepresented() -> Instance:
    """Make an instance with g* but without Q*: fitted Q iteration has a bias.

    Everything is deterministic. Two actions lead to two states; action 0 pays
    nothing there, action 1 pays 1/2 and 15/16. G_2 has two functions, g* = (1/2, 15/16)
    and f = (1, 0). The nearest to action 0's (0, 0) is f (squared distance 1 against
    1.13), so the first state seems to be worth 1 by action 0: fitted Q iteration goes
    there and gets nothing of V* = 15/16, however much data it has.

    The paper's realizability holds, its policy-value completeness too: it speaks of
    what best actions are worth, and fitted Q iteration asks what all are. VALOR asks
    for g* only.
    """
    best = Fraction(15, 16)
    levels = [
        [("s0", {"start": 1}, {"start": [0, 0]}, ["poor", "rich"])],
        [
            ("poor", {"x": 1}, {"x": [0, HALF]}, []),
            ("rich", {"y": 1}, {"y": [0, best]}, []),
        ],
    ]
    rows = np.array([[HALF, best], [Fraction(1), Fraction(0)]], dtype=object)
    values = [TabularValueClass(1), FiniteValueClass(rows)]
    policies = [TabularPolicyClass(1, 2), TabularPolicyClass(2, 2)]
    return instance("unrepresented", levels, values, policies)


def amplified(horizon: int, *, actions: int = 4) -> Instance:
    """Make an instance with Q* in the class, where chance errors grow by 3/2 a level.

    The first action chooses one of K chains. At the end of the last one a reward of
    3/4 is certain; the others pay 1 or 0 with probability 1/2 each. On each of these
    G has, beside 1/2, one function above it by Δ_h = (3/8)(2/3)^(h-2) at level h. A
    fit to targets Δ_{h+1} above 1/2 takes Δ_h = (3/2)Δ_{h+1}, nearer than 0, so if the
    reward looks better than 1/2 by more than Δ_H/2 for any action at the end (with
    probability near 1 - 2^-K for each chain, as long as √n Δ_H is small), the chain
    seems to be worth 7/8 at the start, and 1/4 is lost.

    Realizable, with Q* too; not complete: the backup of 1/2 + Δ_{h+1} is not in G_h. It
    is the paper's barrier for Bellman backups with Q-functions, without ties.
    """
    for name, value in (("horizon", horizon), ("actions", actions)):
        check_count(name, value)
        if value < 2:
            raise ValueError(f"{name}: {value} is below 2")
    names = [f"c{i}" for i in range(actions)]
    fair = {0: HALF, 1: HALF}
    levels: list[Any] = [[("s0", {"start": 1}, {"start": [0] * actions}, names)]]
    for h in range(2, horizon + 1):
        states = []
        for i, name in enumerate(names):
            paid: Any = Fraction(3, 4) if i == actions - 1 else fair
            rewards = [paid if h == horizon else 0] * actions
            following = [] if h == horizon else [name] * actions
            states.append(
                (name, {f"{name}-{h}": 1}, {f"{name}-{h}": rewards}, following)
            )
        levels.append(states)
    values: list[ValueClass] = [TabularValueClass(1)]
    values += [FiniteValueClass(_functions(h, actions)) for h in range(2, horizon + 1)]
    sizes = [1, *[actions] * (horizon - 1)]
    policies = [TabularPolicyClass(n, actions) for n in sizes]
    return instance("amplified", levels, values, policies)


def _functions(level: int, actions: int) -> Any:
    """Every choice of 1/2 or 1/2 + Δ_h on each chain but the last."""
    above = HALF + Fraction(3, 8) * Fraction(2, 3) ** (level - 2)
    choices = itertools.product((HALF, above), repeat=actions - 1)
    return np.array([[*row, Fraction(3, 4)] for row in choices], dtype=object)


def sacrificed(
    rng: np.random.Generator, *, copies: int = 40, error: Fraction = Fraction(1, 50)
) -> LocalValues:
    """Prepare a run in which pooling sacrifices a state with a single data set.

    At level 2 there are two states and two policies, the optimal one and one that
    gets nothing in the second state. The first state has `copies` data sets whose
    {V_a} are off by `error`, as accuracies allow, in favour of the other policy:
    a gain of 2·error each, against a loss of 1/2 in the only data set of the
    second state. Pooling takes the bad policy once copies · 4 · error > 1.
    """
    levels = [
        [("s0", {"start": 1}, {"start": [0, 0]}, ["often", "rare"])],
        [
            ("often", {"x": 1}, {"x": [0, 0]}, ["paid", "paid"]),
            ("rare", {"y": 1}, {"y": [0, 0]}, ["paid", "unpaid"]),
        ],
        [
            ("paid", {"z": 1}, {"z": [HALF, HALF]}, []),
            ("unpaid", {"w": 1}, {"w": [0, 0]}, []),
        ],
    ]
    constant = FinitePolicyClass([[0, 0], [1, 1]], 2)
    values = [TabularValueClass(n) for n in (1, 2, 2)]
    policies = [TabularPolicyClass(1, 2), constant, TabularPolicyClass(2, 2)]
    made = instance("sacrificed", levels, values, policies)
    parameters = PracticalParameters(
        0.2, 0.1, 2, 2, 3, n_train=2000, eps_stat=0.001, slack=0.05
    )
    environment = made.environment
    run = LocalValues(environment, made.values, made.policies, parameters, rng)

    def learn(path: tuple[int, ...], value: Fraction, *futures: Fraction) -> None:
        rules: list[Any] = [*path, "uniform"]
        data = environment.draw(rules, parameters.n_train, rng, successors=False)
        run.datasets[1].append(Triple(path, data, value, futures))

    for _ in range(copies):
        learn((0,), HALF + error, HALF - error, HALF + error)
    learn((1,), HALF, HALF, Fraction(0))
    return run
