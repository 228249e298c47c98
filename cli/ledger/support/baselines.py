"""Environments and classes on which fitted Q iteration fails and VALOR does not."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
from olivine.algorithms.classes import (
    FiniteValueClass,
    PolicyClassByLevel,
    TabularPolicyClass,
    TabularValueClass,
    ValueClass,
    ValueClassByLevel,
)
from olivine.algorithms.environments.finite_lists import HALF, Instance, from_lists
from olivine.algorithms.exact.numbers import check_count


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
    environment = from_lists(
        [
            [("s0", {"start": 1}, {"start": [0, 0]}, ["poor", "rich"])],
            [
                ("poor", {"x": 1}, {"x": [0, HALF]}, []),
                ("rich", {"y": 1}, {"y": [0, best]}, []),
            ],
        ],
        "unrepresented",
    )
    rows = np.array([[HALF, best], [Fraction(1), Fraction(0)]], dtype=object)
    return Instance(
        environment,
        ValueClassByLevel([TabularValueClass(1), FiniteValueClass(rows)]),
        PolicyClassByLevel([TabularPolicyClass(1, 2), TabularPolicyClass(2, 2)]),
    )


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

    Parameters
    ----------
    horizon
        H, at least 2.
    actions
        K, at least 2; K - 1 chains can deceive.

    Raises
    ------
    ValueError
        For a value out of range.
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
    return Instance(
        from_lists(levels, "amplified"),
        ValueClassByLevel(values),
        PolicyClassByLevel([TabularPolicyClass(n, actions) for n in sizes]),
    )


def _functions(level: int, actions: int) -> Any:
    """Every choice of 1/2 or 1/2 + Δ_h on each chain but the last."""
    above = HALF + Fraction(3, 8) * Fraction(2, 3) ** (level - 2)
    choices = itertools.product((HALF, above), repeat=actions - 1)
    return np.array([[*row, Fraction(3, 4)] for row in choices], dtype=object)
