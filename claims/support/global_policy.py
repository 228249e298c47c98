"""Small instances that show what parts of the global policy algorithm do.

Rewards are certain, so data of tests are without noise: what happens, happens in
every run whose training data are not far off.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from ...algorithms.classes import (
    FinitePolicyClass,
    FiniteValueClass,
    TabularPolicyClass,
    TabularValueClass,
)
from ...algorithms.environments.finite_lists import HALF, Instance
from ...algorithms.global_policy.algorithm import global_policy
from ...algorithms.global_policy.parameters import GlobalPolicyParameters
from . import instance

_UNIT = 2000
"""Rewards are multiples of 1/2000: laws of returns have a cell for each multiple."""


def _rounded(value: Fraction) -> Fraction:
    return Fraction(round(value * _UNIT), _UNIT)


def two_states(rewards: Sequence[Fraction], horizon: int = 2) -> Instance:
    """Make an instance with two states at level 2, q by action 0 and p by action 1.

    G = {g*} and every policy: the theorem's assumptions hold.
    """
    root, at_q, at_p = rewards[:2], rewards[2:4], rewards[4:]
    ahead = ["end3", "end3"] if horizon > 2 else []
    levels: list[Any] = [
        [("root", {"x": 1}, {"x": [*root]}, ["q", "p"])],
        [
            ("q", {"y": 1}, {"y": [*at_q]}, ahead),
            ("p", {"z": 1}, {"z": [*at_p]}, ahead),
        ],
    ]
    for h in range(3, horizon + 1):
        following = [f"end{h + 1}"] * 2 if h < horizon else []
        levels.append([(f"end{h}", {"w": 1}, {"w": [0, 0]}, following)])
    sizes = [1, 2, *[1] * (horizon - 2)]
    policies = [TabularPolicyClass(n, 2) for n in sizes]
    return instance("two-states", levels, None, policies)


def overpruned(parameters: GlobalPolicyParameters) -> Instance:
    """Make an instance where the state pruned loses about φ_2 + 6τ_val, without noise.

    The learned state q is worth w. The policy's return at p is 2τ_val less, which the
    test lets pass, and p's optimal action, which nothing ever tries, is worth what
    the test takes for no more than w: w + φ_2 + 4τ_val. The root pays 3τ_val to go
    to p, so there is nothing better than to go there. At the printed constants the
    loss is (11H - 5)ε/(6H), at H = 2 already 17ε/12.
    """
    tau, phi = parameters.tau_val, parameters.phi(2)
    little, w = tau / 8, 3 * tau
    at_p = w - 2 * tau + little, w + phi + 4 * tau - little
    rewards = [Fraction(0), 3 * tau, w, w, *at_p]
    return two_states([_rounded(r) for r in rewards], parameters.H)


def pruned_then_learned() -> Instance:
    """Make an instance in which a pruned path fails its test later and is learned.

    Level 2 has q, p, s, in this order, and three policies that are best at q. The
    first is good at p, but not at s. Learning s changes the policy to the second, for
    which p is bad. Only the third is optimal.
    """
    levels = [
        [("root", {"x": 1}, {"x": [0, 0, 0]}, ["q", "p", "s"])],
        [
            ("q", {"xq": 1}, {"xq": [HALF, HALF, 0]}, []),
            ("p", {"xp": 1}, {"xp": [HALF, 0, 0]}, []),
            ("s", {"xs": 1}, {"xs": [0, Fraction(9, 10), 0]}, []),
        ],
    ]
    three = FinitePolicyClass([[0, 0, 0], [0, 1, 1], [0, 0, 1]], 3)
    policies = [TabularPolicyClass(1, 3), three]
    return instance("pruned-then-learned", levels, None, policies)


def stale(parameters: GlobalPolicyParameters) -> Instance:
    """Make an instance in which a learned state loses more than φ_2 for a while.

    At level 3 c1 and c2 are pruned by comparison with u; the policy is bad at c1 and
    good at c2, so that q at level 2, learned, goes to c2. Then q' is to be learned,
    whose child s is new: the policy of level 3 changes, c2 becomes bad too (as much
    as its test allows), and q still goes there. Only when q' has been learned is the
    policy of level 2 fitted again.
    """
    tau, phi = parameters.tau_val, parameters.phi(3)
    little, w = tau / 8, Fraction(1, 10)
    bad = _rounded(w - 2 * tau + little)
    good = _rounded(w + phi + 4 * tau - little)
    s = _rounded(w + parameters.phi(2) + 30 * tau)
    zero = Fraction(0)
    at_q: list[Any] = [zero, good - bad - _rounded(tau / 2), zero]
    none: list[Any] = [zero, zero, zero]
    levels = [
        [("root", {"x": 1}, {"x": none}, ["q", "q'", "q'"])],
        [
            ("q", {"y1": 1}, {"y1": at_q}, ["u", "c1", "c2"]),
            ("q'", {"y2": 1}, {"y2": none}, ["s", "u", "u"]),
        ],
        [
            ("u", {"zu": 1}, {"zu": [w, w, w]}, []),
            ("c1", {"z1": 1}, {"z1": [bad, good, 0]}, []),
            ("c2", {"z2": 1}, {"z2": [good, bad, 0]}, []),
            ("s", {"zs": 1}, {"zs": [0, s, 0]}, []),
        ],
    ]
    three = FinitePolicyClass([[0, 0, 0, 0], [0, 0, 1, 1], [0, 1, 0, 1]], 3)
    policies = [TabularPolicyClass(1, 3), TabularPolicyClass(2, 3), three]
    return instance("stale", levels, None, policies)


def incomplete() -> Instance:
    """Make an instance that is realizable but not policy complete.

    At level 3 p is pruned by comparison with u, and the policy gets a little less
    there than is possible, as the test allows. Given that policy, at level 2 action
    0 is better in q1, though action 1 is optimal. Π_2 has the optimal policy and one
    that takes action 0 in q1, but the latter gets nothing in q2: no policy, and no
    mixture, is good in both states. Made for the theorem's constants at ε = 0.3.
    """
    gap, fifth = Fraction(3, 50), Fraction(1, 5)
    levels = [
        [("root", {"x": 1}, {"x": [0, 0]}, ["q1", "q2"])],
        [
            ("q1", {"y1": 1}, {"y1": [gap, 0]}, ["u", "p"]),
            ("q2", {"y2": 1}, {"y2": [0, HALF]}, ["u", "u"]),
        ],
        [
            ("u", {"z1": 1}, {"z1": [fifth, fifth]}, []),
            ("p", {"z2": 1}, {"z2": [fifth, fifth + 2 * gap]}, []),
        ],
    ]
    best: Any = [[fifth, fifth + 2 * gap]]
    constant = FinitePolicyClass([[0, 0], [1, 1]], 2)
    values = [TabularValueClass(1), TabularValueClass(2), FiniteValueClass(best)]
    policies = [TabularPolicyClass(1, 2), constant, TabularPolicyClass(2, 2)]
    return instance("incomplete", levels, values, policies)


def search(
    rng: np.random.Generator,
    parameters: GlobalPolicyParameters,
    *,
    evaluations: int = 200,
    grid: int = 4,
) -> tuple[Fraction, tuple[Fraction, ...]]:
    """Search for the environment of two states on which honest runs lose most.

    The rewards of `two_states` are multiples of τ_val/grid. A third of the runs are at
    random rewards; from the worst of them local search goes on: a move changes one or
    two rewards, and is kept unless the loss falls. Every run samples.
    """
    unit = parameters.tau_val / grid
    most = int(Fraction(1, 2) / unit)  # so that no return exceeds 1
    starts = rng.integers(0, most + 1, size=(evaluations // 3 + 1, 6))
    losses = [_loss(start.tolist(), unit, parameters, rng) for start in starts]
    best = max(losses)
    now = starts[losses.index(best)]
    for _ in range(evaluations - len(starts)):
        moved = now.copy()
        for place in rng.choice(6, size=int(rng.integers(1, 3)), replace=False):
            moved[place] += rng.integers(-2 * grid, 2 * grid + 1)
        moved = np.clip(moved, 0, most)
        found = _loss(moved.tolist(), unit, parameters, rng)
        if found >= best:
            now, best = moved, found
    return best, tuple(n * unit for n in now.tolist())


def _loss(
    numbers: Sequence[int],
    unit: Fraction,
    parameters: GlobalPolicyParameters,
    rng: np.random.Generator,
) -> Fraction:
    """V* - V^π̂ of one run; 0 where it fails."""
    made = two_states([n * unit for n in numbers])
    arguments = made.environment, made.values, made.policies, parameters, rng
    result = global_policy(*arguments)
    if not result.succeeded or result.policies is None:
        return Fraction(0)
    truth = made.environment.truth
    return truth.optimal_value - truth.policy_value(result.policies)
