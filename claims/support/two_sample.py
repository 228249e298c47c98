"""Small instances that show what parts of the two-sample algorithm are for."""

from __future__ import annotations

from dataclasses import dataclass
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
from ...algorithms.exact.data import EmpiricalMeasure
from ...algorithms.two_sample.algorithm import TwoSampleLearner
from ...algorithms.two_sample.parameters import TwoSamplePracticalParameters
from . import instance

HORIZON = 16
"""Least H at which an error of 3.8τ, doubled at each level, exceeds ε."""


def unlearned() -> Instance:
    """Make an instance that needs exploration on demand.

    At level 2 all functions of G_2 (there is one) have the same mean in both
    states, so the identity test takes the second state for the first and its
    policy is not learned: of two actions the one that pays nothing. The way there
    pays 2/5, so the policy found first goes there. G and Π are complete.
    """
    levels = [
        [("s0", {"s": 1}, {"s": [0, Fraction(2, 5)]}, ["known", "taken"])],
        [
            ("known", {"x": 1}, {"x": [HALF, 0]}, []),
            ("taken", {"y": 1}, {"y": [0, HALF]}, []),
        ],
    ]
    values = [TabularValueClass(1), FiniteValueClass([[0.5, 0.5]])]
    policies = [TabularPolicyClass(1, 2), TabularPolicyClass(2, 2)]
    return instance("unlearned", levels, values, policies)


@dataclass(frozen=True, eq=False)
class Outvoted:
    """A run with data sets made by hand, all of them inside event E."""

    made: Instance  # Environment and classes
    run: TwoSampleLearner  # Level 2 has its learned sets
    paths: tuple[tuple[int, ...], ...]  # Where each of these comes from, in order
    loss: Fraction  # What the wrong policy loses at the state of the last one


def outvoted(copies: int = 100) -> Outvoted:
    """Make learned sets within τ_V that let one state lose copies · τ_V.

    At level 2 = H there are two states and two policies, constant ones. In the
    first state both get 1/2; in the second, action 0 gets more. The first has
    `copies` data sets in which action 1 was drawn a little more often, as τ_V
    allows: it looks better by almost 2τ_V in each. Pooled, these outvote the only data
    set of the second state (erratum 15: the sum is over learned sets, of which
    there can be T_max, not over M val sets). G and Π are complete.
    """
    if not 1 <= copies <= 125:
        raise ValueError(f"copies: {copies} is not in 1..125")
    accuracy = Fraction(1, 1000)
    loss = copies * accuracy  # half of what the copies gain together
    levels = [
        [("s0", {"s": 1}, {"s": [0, 0]}, ["often", "rare"])],
        [
            ("often", {"x": 1}, {"x": [HALF, HALF]}, []),
            ("rare", {"y": 1}, {"y": [HALF + loss, HALF]}, []),
        ],
    ]
    constant = FinitePolicyClass([[0, 0], [1, 1]], 2)
    values = [TabularValueClass(1), TabularValueClass(2)]
    policies = [TabularPolicyClass(1, 2), constant]
    made = instance("outvoted", levels, values, policies)
    parameters = TwoSamplePracticalParameters(
        0.2, 0.1, 2, 2, 2, tau=0.01, tau_V=accuracy, tau_L=0.01
    )
    arguments = made.environment, made.values, made.policies, parameters
    run = TwoSampleLearner(*arguments, np.random.default_rng(0))
    # K P_D(a) r = 1/2 ± 0.99 τ_V.
    biased = EmpiricalMeasure(
        [0, 0], actions=[0, 1], rewards=[HALF, HALF], weights=[49901, 50099]
    )
    fair = EmpiricalMeasure([1, 1], actions=[0, 1], rewards=[HALF + loss, HALF])
    run.learned[1] += [*[biased] * copies, fair]
    return Outvoted(made, run, (*[(0,)] * copies, (1,)), loss)


def amplified(eps: Fraction = Fraction(3, 10)) -> Instance:
    """Make an instance on which each level doubles the error of the next.

    Two chains of H = 16 levels leave the start, by actions 0 ("low") and 1
    ("high"); everything is certain, every state has one observation. Both end in
    a reward of about 1/2; the high chain pays 1.1ε before that. So V* - V of the
    low chain is 1.1ε. Π has all policies, and G_h = {g*_h - e_h 1{high}, g*_h}:

    - Last level: g*(high) = g*(low) + 1.9τ and e_H = 3.8τ, τ = ε/(192H²) as in
      the theorem. Both functions differ by 1.9τ between the states, so data from
      "high" look like those from "low", which was there first, and are dropped.
      On "low" both functions have no loss: a tie, and the first is taken.
    - Before: e_h = 199/100 e_{h+1}. The regression's target at "high" is
      g* - e_{h+1}, nearer to the first function than to g*. So the error nearly
      doubles, until at level 2 "high" seems to be worth less than "low".

    g* ∈ G and π* ∈ Π, but g* - e_{h+1} 1{high}, the backup of the first function
    of level h+1, is not in G_h: G is not policy-value complete.
    """
    if not 0 < eps <= Fraction(4, 10):
        raise ValueError(f"eps: {float(eps)} is not in (0, 0.4]")
    tau = eps / (2**6 * 3 * HORIZON**2)
    gap = eps * Fraction(11, 10)
    error = Fraction(19, 5) * tau
    # Returns are at most 1/2 + gap + 1.9τ < 1.
    levels: list[Any] = []
    classes: list[ValueClass] = []
    for h in range(HORIZON, 1, -1):
        last, paid = h == HORIZON, gap if h == HORIZON - 1 else 0
        low = HALF if last else 0
        high = HALF + error / 2 if last else paid
        following = [[], []] if last else [[f"low{h + 1}"] * 2, [f"high{h + 1}"] * 2]
        levels.append(
            [
                (f"low{h}", {"x": 1}, {"x": [low, low]}, following[0]),
                (f"high{h}", {"y": 1}, {"y": [high, high]}, following[1]),
            ]
        )
        right = HALF + Fraction(19, 10) * tau + (0 if last else gap)
        classes.append(_pair(right, error))
        error *= Fraction(199, 100)
    levels.append([("start", {"s": 1}, {"s": [0, 0]}, ["low2", "high2"])])
    classes.append(TabularValueClass(1))
    policies = [TabularPolicyClass(1, 2), *[TabularPolicyClass(2, 2)] * (HORIZON - 1)]
    return instance("amplified", levels[::-1], classes[::-1], policies)


def _pair(right: Fraction, error: Fraction) -> FiniteValueClass:
    """(low, high): g* with an error at high, and g*; low is worth 1/2."""
    wrong = max(right - error, Fraction(0))
    return FiniteValueClass(np.array([[HALF, wrong], [HALF, right]], dtype=object))
