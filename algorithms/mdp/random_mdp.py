"""Random layered tabular MDPs with exact probabilities and rewards."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from .construction import ActionData, StateData
from .tabular import TabularMDP


def random_tabular_mdp(
    rng: np.random.Generator,
    *,
    horizon: int = 3,
    width: int = 3,
    n_actions: int = 2,
    max_successors: int = 3,
    denominator: int = 6,
    signed: bool = False,
) -> TabularMDP:
    """Draw a layered MDP: level 1 is the start, every level below `width` states.

    Every action above the last level leads to between 1 and `max_successors`
    states of the next level, with probabilities in multiples of
    1/`denominator`. Rewards are multiples of 1/(`denominator` · `horizon`) in
    [0, 1/horizon] (`signed`: in [−1/horizon, 1/horizon]), so that every return,
    and with it every value, lies in [0, 1] (in [−1, 1]).
    """
    for name, value in (
        ("horizon", horizon),
        ("width", width),
        ("n_actions", n_actions),
    ):
        if value < 1:
            raise ValueError(f"{name} {value} is below 1")
    if not 1 <= max_successors <= denominator:
        raise ValueError(
            f"max_successors {max_successors} is outside 1..{denominator}, the "
            "number of shares of probability"
        )

    def names(level: int) -> list[str]:
        return ["s1"] if level == 1 else [f"s{level}.{i}" for i in range(1, width + 1)]

    def action(level: int, index: int) -> ActionData:
        least = -denominator if signed else 0
        units = int(rng.integers(least, denominator + 1))
        reward = Fraction(units, denominator * horizon)
        if level == horizon:
            return f"a{index}", reward, {}
        below = names(level + 1)
        count = int(rng.integers(1, min(max_successors, len(below)) + 1))
        targets = rng.choice(len(below), size=count, replace=False)
        # a uniform composition of `denominator` into `count` positive parts
        cuts = np.sort(rng.choice(denominator - 1, size=count - 1, replace=False)) + 1
        shares = np.diff(np.concatenate([[0], cuts, [denominator]]))
        return (
            f"a{index}",
            reward,
            {
                below[int(t)]: Fraction(int(share), denominator)
                for t, share in zip(targets, shares, strict=True)
            },
        )

    states: list[StateData] = [
        (name, level, [action(level, a) for a in range(1, n_actions + 1)])
        for level in range(1, horizon + 1)
        for name in names(level)
    ]
    return TabularMDP.from_lists(states, horizon=horizon)
