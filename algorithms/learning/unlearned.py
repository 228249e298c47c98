"""How likely a policy is to meet a hidden state that has not been learned.

Analyses of exploration on demand bound a policy's loss by what it loses at
learned states plus this probability. Monitors compute it from the truth.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from olivine.algorithms.environments.truth import Path, Truth


def chance_of_unlearned(
    truth: Truth,
    n_actions: int,
    learned: Sequence[frozenset[int] | set[int]],
    policies: Sequence[Any],
) -> Fraction:
    """Probability that an episode meets a state outside the learned ones.

    Parameters
    ----------
    truth
        Of an environment with deterministic hidden dynamics, exact.
    n_actions
        K.
    learned
        Learned hidden states of each level 1..H.
    policies
        One policy a level.
    """
    hit = Fraction(0)
    here: dict[int, tuple[Fraction, tuple[int, ...]]] = {
        truth.state(()): (Fraction(1), ())
    }
    for h, known in enumerate(learned, 1):
        ahead: dict[int, tuple[Fraction, tuple[int, ...]]] = {}
        for state, (chance, path) in here.items():
            if state not in known:
                hit += chance
            elif h < len(learned):
                shares = action_shares(truth, path, policies[h - 1], n_actions)
                for a, share in enumerate(shares):
                    target = truth.successor(h, state, a)
                    before = ahead.get(target, (Fraction(0), ()))[0]
                    if share:
                        ahead[target] = (before + chance * share, (*path, a))
        here = ahead
    return hit


def action_shares(
    truth: Truth, path: Path, policy: Any, n_actions: int
) -> list[Fraction]:
    """P(π(x_h) = a | p) of each action: linear in futures, so read off unit ones."""
    base = truth.action_expectation(path, policy, [Fraction(0)] * n_actions)
    units = np.eye(n_actions, dtype=np.int64).tolist()
    return [
        Fraction(truth.action_expectation(path, policy, unit) - base) for unit in units
    ]


__all__ = ["action_shares", "chance_of_unlearned"]
