"""Small instances that show what parts of the global policy algorithm do.

Rewards are certain, so data of tests are without noise: what happens, happens in
every run whose training data are not far off.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from olivine.algorithms.classes import (
    FinitePolicyClass,
    FiniteValueClass,
    PolicyClassByLevel,
    TabularPolicyClass,
    TabularValueClass,
    ValueClass,
    ValueClassByLevel,
)
from olivine.algorithms.environments.finite_lists import HALF, Instance, from_lists
from olivine.algorithms.environments.protocol import Environment
from olivine.algorithms.global_policy.parameters import GlobalPolicyParameters

_UNIT = 2000
"""Rewards are multiples of 1/2000: laws of returns have a cell for each multiple."""


def _rounded(value: Fraction) -> Fraction:
    return Fraction(round(value * _UNIT), _UNIT)


def known_values(environment: Environment) -> ValueClassByLevel:
    """G_h = {g*} at every level: nothing is as easy to mistake for a learned state.

    Whatever is asked of a value function at a learned state, at others it stays g*.
    """
    levels = range(1, environment.horizon + 1)
    return ValueClassByLevel(
        [FiniteValueClass([environment.truth.values(h).tolist()]) for h in levels]
    )


def two_states(rewards: Sequence[Fraction], horizon: int = 2) -> Instance:
    """Make an instance with two states at level 2, q by action 0 and p by action 1.

    G = {g*} and every policy: the theorem's assumptions hold.

    Parameters
    ----------
    rewards
        Of actions 0 and 1 at the root, at q and at p, six of them, such that no
        return exceeds 1.
    horizon
        H, at least 2; nothing is paid after level 2.

    Raises
    ------
    ValueError
        If a return leaves [0, 1].
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
    environment = from_lists(levels, "two-states")
    sizes = [1, 2, *[1] * (horizon - 2)]
    return Instance(
        environment,
        known_values(environment),
        PolicyClassByLevel([TabularPolicyClass(n, 2) for n in sizes]),
    )


def overpruned(parameters: GlobalPolicyParameters) -> Instance:
    """Make an instance where the state pruned loses about φ_2 + 6τ_val, without noise.

    The learned state q is worth w. The policy's return at p is 2τ_val less, which the
    test lets pass, and p's optimal action, which nothing ever tries, is worth what
    the test takes for no more than w: w + φ_2 + 4τ_val. The root pays 3τ_val to go
    to p, so there is nothing better than to go there. At the printed constants the
    loss is (11H - 5)ε/(6H), at H = 2 already 17ε/12.

    Parameters
    ----------
    parameters
        Constants that it is made for, M = K = 2, H ≥ 2, and τ_val at least 1/250, so
        that margins of τ_val/8 are more than what rounding takes.
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
    environment = from_lists(
        [
            [("root", {"x": 1}, {"x": [0, 0, 0]}, ["q", "p", "s"])],
            [
                ("q", {"xq": 1}, {"xq": [HALF, HALF, 0]}, []),
                ("p", {"xp": 1}, {"xp": [HALF, 0, 0]}, []),
                ("s", {"xs": 1}, {"xs": [0, Fraction(9, 10), 0]}, []),
            ],
        ],
        "pruned-then-learned",
    )
    return Instance(
        environment,
        known_values(environment),
        PolicyClassByLevel(
            [
                TabularPolicyClass(1, 3),
                FinitePolicyClass([[0, 0, 0], [0, 1, 1], [0, 0, 1]], 3),
            ]
        ),
    )


def stale(parameters: GlobalPolicyParameters) -> Instance:
    """Make an instance in which a learned state loses more than φ_2 for a while.

    At level 3 c1 and c2 are pruned by comparison with u; the policy is bad at c1 and
    good at c2, so that q at level 2, learned, goes to c2. Then q' is to be learned,
    whose child s is new: the policy of level 3 changes, c2 becomes bad too (as much
    as its test allows), and q still goes there. Only when q' has been learned is the
    policy of level 2 fitted again.

    Parameters
    ----------
    parameters
        Constants that it is made for: M ≥ 4, K = H = 3, small enough for
        φ_2 + 30τ_val ≤ 7/10, and τ_val at least 1/250.
    """
    tau, phi = parameters.tau_val, parameters.phi(3)
    little, w = tau / 8, Fraction(1, 10)
    bad = _rounded(w - 2 * tau + little)
    good = _rounded(w + phi + 4 * tau - little)
    s = _rounded(w + parameters.phi(2) + 30 * tau)
    zero = Fraction(0)
    at_q: list[Any] = [zero, good - bad - _rounded(tau / 2), zero]
    none: list[Any] = [zero, zero, zero]
    environment = from_lists(
        [
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
        ],
        "stale",
    )
    members = [[0, 0, 0, 0], [0, 0, 1, 1], [0, 1, 0, 1]]
    return Instance(
        environment,
        known_values(environment),
        PolicyClassByLevel(
            [
                TabularPolicyClass(1, 3),
                TabularPolicyClass(2, 3),
                FinitePolicyClass(members, 3),
            ]
        ),
    )


def incomplete() -> Instance:
    """Make an instance that is realizable but not policy complete.

    At level 3 p is pruned by comparison with u, and the policy gets a little less
    there than is possible, as the test allows. Given that policy, at level 2 action
    0 is better in q1, though action 1 is optimal. Π_2 has the optimal policy and one
    that takes action 0 in q1, but the latter gets nothing in q2: no policy, and no
    mixture, is good in both states. Made for the theorem's constants at ε = 0.3.
    """
    gap = Fraction(3, 50)
    fifth = Fraction(1, 5)
    environment = from_lists(
        [
            [("root", {"x": 1}, {"x": [0, 0]}, ["q1", "q2"])],
            [
                ("q1", {"y1": 1}, {"y1": [gap, 0]}, ["u", "p"]),
                ("q2", {"y2": 1}, {"y2": [0, HALF]}, ["u", "u"]),
            ],
            [
                ("u", {"z1": 1}, {"z1": [fifth, fifth]}, []),
                ("p", {"z2": 1}, {"z2": [fifth, fifth + 2 * gap]}, []),
            ],
        ],
        "incomplete",
    )
    known = FiniteValueClass([environment.truth.values(3).tolist()])
    values: list[ValueClass] = [TabularValueClass(1), TabularValueClass(2), known]
    return Instance(
        environment,
        ValueClassByLevel(values),
        PolicyClassByLevel(
            [
                TabularPolicyClass(1, 2),
                FinitePolicyClass([[0, 0], [1, 1]], 2),
                TabularPolicyClass(2, 2),
            ]
        ),
    )
