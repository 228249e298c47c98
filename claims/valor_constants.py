"""Claims about VALOR's constants: that they suffice, and errata 12 and 13.

Nothing is run here. What the runs of `valor` cannot show, that the probabilities
are as stated, follows from these constants by the proof's union bound.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np

from ..algorithms.valor.parameters import (
    CONSTRAINED,
    VALOR,
    PracticalParameters,
    TheoremParameters,
    ValorParameters,
)
from .claim import EXACT, EXHAUSTIVE, Evidence, claim
from .valor import SOURCE

_DELTA = Fraction(1, 10)


@claim("valor-constants", f"{SOURCE}, Table 1, Lemma 1 and Lemma on MetaAlg", EXACT)
def _constants() -> Evidence:
    """The constants of both forms are enough. Bernstein's inequality with variance 4K
    and range 2K (r + V_a reaches 2; the printed 2K is for r + V_a ≤ 1) and Hoeffding's
    give deviations within ε_stat from n_train and n_test, all of them together with
    probability 1 - δ/2. Then values are within ε/8, the policy loses at most ε/8 where
    all is learned, n_exp paths of a rejected policy meet an unlearned state and n_eval
    give its value within ε/8 in all M H iterations but with probability δ/2: an
    accepted policy loses at most 3ε/4 with probability 1 - δ."""
    grid = [
        (TheoremParameters(eps, _DELTA, m, k, h, size, size, name), size)
        for name in (VALOR, CONSTRAINED)
        for eps, m, k, h, size in itertools.product(
            (0.01, 0.3, 0.99), (1, 3, 50), (1, 2, 50), (1, 3, 50), (0.0, 8.0)
        )
    ]
    trains = max(_train_deviation(p, size) for p, size in grid)
    tests = max(_test_deviation(p, size) for p, size in grid)
    losses = max(float(loss / p.eps) for p, _ in grid for loss in _losses(p))
    failures = max(_failure(p, size) / float(_DELTA) for p, size in grid)
    near = 1e-9  # of logarithms; ε/8 and the sizes are exact
    holds = max(trains, tests, failures) <= 1 + near and losses <= Fraction(1, 8)
    return Evidence(
        holds,
        f"{len(grid)} sets of constants: deviations at most {trains:.3g} ε_stat from "
        f"n_train and {tests:.3g} from n_test, values and policies at most "
        f"{losses:.3g} ε off where all is learned, failure at most {failures:.3g} δ",
    )


def _train_deviation(p: ValorParameters, size: float) -> float:
    """Bernstein's bound for K 1{a = π(x)}(r + V_a) from n_train draws, over ε_stat.

    ``size`` is ln |G| and ln |Π|.
    """
    inside = math.log(12 * p.H * p.T_max / p.delta) + 2 * size
    # In units of ε_stat, which may be far below the least float.
    rate = float(Fraction(inside) / p.n_train / p.eps_stat**2)
    return math.sqrt(2 * 4 * p.K * rate) + 2 * p.K * rate * float(p.eps_stat) / 3


def _test_deviation(p: ValorParameters, size: float) -> float:
    """Hoeffding's bound for g(x) from n_test draws, over ε_stat."""
    inside = math.log(12 * p.K * p.H * p.T_max / p.delta) + size
    return math.sqrt(float(Fraction(inside) / (2 * p.n_test) / p.eps_stat**2))


def _losses(p: ValorParameters) -> tuple[Fraction, Fraction]:
    """Errors of V at the start and of the policy where all states are learned."""
    stat, sub, feas = p.eps_stat, p.eps_sub, p.eps_feas
    policy = 32 * p.H**2 * (stat + sub + feas)
    if p.algorithm == VALOR:
        policy = 2 * p.H**2 * p.T_max * (7 * stat + 3 * sub + 2 * feas)
    return p.phi(1) - 2 * stat, policy


def _failure(p: ValorParameters, size: float) -> float:
    """Union bound over everything that must not happen."""
    accuracy = float(p.eps) / 8
    # H T_max data sets, their means of g and policy values; K H T_max tests.
    each = 2 * math.exp(-math.log(12 * p.H * p.T_max / p.delta))
    tests = 2 * math.exp(size - float(2 * p.n_test * p.eps_stat**2))
    event = p.H * p.T_max * 2 * each + p.K * p.H * p.T_max * tests
    missed = (1 - accuracy) ** p.n_exp
    estimates = 2 * math.exp(-2 * p.n_eval * accuracy**2)
    return event + p.M * p.H * (missed + estimates)


@claim("valor-n-exp", f"{SOURCE}, Algorithm 1", EXACT, erratum="12")
def _n_exp() -> Evidence:
    """n_expl is n_exp; the paths explored are those of the first n_exp of the n_eval
    trajectories, so n_exp ≤ n_eval is needed; at the theorem's constants it holds
    because 32 ln(8MH/δ)/ε² > 8 ln(4MH/δ)/ε."""
    refused = False
    try:
        PracticalParameters(0.3, 0.1, 2, 2, 2, n_exp=5, n_eval=4)
    except ValueError as error:
        refused = "n_exp" in str(error)
    grid = [
        TheoremParameters(eps, delta, m, 2, h, 1.0, 1.0)
        for eps in (0.01, 0.5, 0.99)
        for delta in (0.01, 0.5, 0.99)
        for m in (1, 5, 100)
        for h in (1, 7, 50)
    ]
    holds = all(p.n_exp <= p.n_eval for p in grid)
    return Evidence(
        refused and holds, f"{len(grid)} sets of constants; free ones are refused"
    )


@claim(
    "valor-hoeffding",
    f"{SOURCE}, proof of the Lemma on event E",
    EXHAUSTIVE,
    erratum="13",
)
def _hoeffding() -> Evidence:
    """Centred values of functions into [0, 1] have moment generating function at most
    exp(λ²/8), which gives the stated deviation √(ln(2K|G|/δ')/(2 n_test)). The printed
    exp(λ²/2) gives twice that."""
    worst = 0.0
    for p in np.linspace(0.01, 0.99, 99):
        for rate in np.linspace(-8, 8, 161):
            if rate:
                moment = p * math.exp(rate * (1 - p)) + (1 - p) * math.exp(-rate * p)
                worst = max(worst, 8 * math.log(moment) / rate**2)
    # Chernoff with exp(c λ²): the deviation is 2 √(c ln(2/δ)/n).
    stated = math.sqrt(math.log(2 / 0.1) / (2 * 1000))
    deviations = [2 * math.sqrt(c * math.log(2 / 0.1) / 1000) for c in (1 / 8, 1 / 2)]
    holds = (
        worst <= 1 + 1e-12
        and math.isclose(deviations[0], stated)
        and math.isclose(deviations[1], 2 * stated)
    )
    return Evidence(
        holds,
        f"8 ln E[exp(λY)]/λ² ≤ {worst:.6f} over 15,840 Bernoulli cases (the extremes "
        f"of [0,1]); deviation {deviations[0]:.4f} as stated, {deviations[1]:.4f} "
        "from exp(λ²/2)",
    )
