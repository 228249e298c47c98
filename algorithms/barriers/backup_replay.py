"""What a Bellman backup does on the barrier, replayed in rationals from the data.

The functions of the class differ at one state a level, x_{h,b}, and rewards are
random at one level, the last. So the mean reward r̄ at x_{H,b} decides everything,
and the recursion can be followed by hand: a reference for the algorithm that runs on
samples through oracles, and the way to ask what another loss would do.

>>> barrier = BackupBarrier(3, Fraction(1, 4))
>>> replay(barrier, Fraction(17, 32)).taken
('tie', 'tie', 'tie')
>>> replay(barrier, Fraction(1, 2)).action, replay(barrier, Fraction(9, 16)).action
(0, 1)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from olivine.algorithms.barriers.backup import HALF, A, B, BackupBarrier, Ties

Loss = Callable[[Fraction, Fraction], Fraction]
"""Loss of a prediction against a target, the prediction first."""

Taken = Literal["good", "bad", "tie"]


def square(prediction: Fraction, target: Fraction) -> Fraction:
    """(g - y)²."""
    return (prediction - target) ** 2


def absolute(prediction: Fraction, target: Fraction) -> Fraction:
    """|g - y|."""
    return abs(prediction - target)


@dataclass(frozen=True)
class Replay:
    """The course of a Bellman backup.

    Attributes
    ----------
    taken
        For h = 1..H, which function fits best at x_{h,b}; where they tie, ties go
        to whom they favour.
    value
        ĝ_1(x_{1,b}).
    start
        Whether b seems better at the start ("bad"), worse ("good"), or neither.
    action
        The action taken at the start.
    """

    taken: tuple[Taken, ...]
    value: Fraction
    start: Taken
    action: int


def replay(
    barrier: BackupBarrier,
    mean: Fraction,
    ties: Ties = "against",
    loss: Loss = square,
) -> Replay:
    """Follow the recursion.

    Parameters
    ----------
    barrier
        The construction.
    mean
        r̄, the share of rewards 1 at x_{H,b}, in [0, 1].
    ties
        Whom ties favour.
    loss
        What the fits minimise on average.

    Raises
    ------
    ValueError
        If the mean is not in [0, 1].
    """
    if not 0 <= mean <= 1:
        raise ValueError(f"mean: {mean} is not in [0, 1]")
    targets = [(mean, Fraction(1)), (1 - mean, Fraction(0))]
    taken: list[Taken] = []
    value = HALF
    for h in range(barrier.H, 0, -1):
        bad, good = HALF + barrier.excess(h), HALF
        excess = sum(
            (p * (loss(bad, y) - loss(good, y)) for p, y in targets), Fraction(0)
        )
        taken.insert(0, _taken(-excess))
        value = bad if _is_bad(taken[0], ties) else good
        targets = [(Fraction(1), value)]
    start = _taken(value - (HALF + barrier.epsilon))
    return Replay(tuple(taken), value, start, B if _is_bad(start, ties) else A)


def _taken(advantage: Fraction) -> Taken:
    """By how much the bad one is ahead."""
    if advantage == 0:
        return "tie"
    return "bad" if advantage > 0 else "good"


def _is_bad(taken: Taken, ties: Ties) -> bool:
    return taken == "bad" or (taken == "tie" and ties == "against")
