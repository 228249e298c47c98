"""Claims about the two-sample algorithm's test, constants and listing; errata 14 to 16.

These need at most one run; those that need more are in `claims`.
"""

from __future__ import annotations

import math
import operator
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from ..algorithms.classes import (
    FiniteValueClass,
    KernelBall,
    TabularValueClass,
    identity_kernel,
)
from ..algorithms.environments.finite_lists import Instance
from ..algorithms.environments.finite_truth import FiniteTruth
from ..algorithms.exact.data import EmpiricalMeasure
from ..algorithms.learning.deviations import (
    largest_value_deviation,
    value_differences,
)
from ..algorithms.learning.events import Path
from ..algorithms.oracles.ledger import reveal
from ..algorithms.oracles.lp import mean_discrepancy
from ..algorithms.two_sample.algorithm import two_sample
from ..algorithms.two_sample.deviations import (
    differences,
    policy_value_deviation,
    squared_loss_deviation,
)
from ..algorithms.two_sample.parameters import (
    TwoSampleParameters,
    TwoSampleTheoremParameters,
)
from . import runs
from .claim import EXACT, Evidence, claim
from .support.two_sample import outvoted, unlearned

SOURCE = "paper, appendix Alternative Algorithms, Two-Sample State-Identity Test"
_DELTA = 0.1


@claim("two-sample-mmd", f"{SOURCE}, Computational considerations", EXACT)
def _mmd() -> Evidence:
    """The identity test is a linear program over G in each direction; by enumeration
    over a finite class, the total variation distance over a tabular one, and for a
    kernel ball radius · √(αᵀKα) by O(n²) kernel evaluations."""
    rng, worst = np.random.default_rng(0), 0.0
    for _ in range(20):
        size = int(rng.integers(1, 6))
        p, q = rng.integers(1, 9, (2, size))
        first, second = (
            EmpiricalMeasure(np.arange(size), weights=weights) for weights in (p, q)
        )
        difference = p / p.sum() - q / q.sum()
        corners = np.array(np.meshgrid(*[[0.0, 1.0]] * size)).reshape(size, -1).T
        right: dict[Any, Any] = {
            TabularValueClass(size): np.abs(difference).sum() / 2,
            FiniteValueClass(corners): np.abs(corners @ difference).max(),
            KernelBall(identity_kernel): np.sqrt((difference**2).sum()) / 2,
        }
        for of, value in right.items():
            found = mean_discrepancy(of, first, second, epsilon_sub=1e-9)
            worst = max(worst, abs(found.value - float(value)))
    same = worst < 1e-9
    text = "right within 1e-9" if same else f"one is off by {worst:.1g}"
    return Evidence(same, f"60 discrepancies, {text}")


@claim(
    "two-sample-variance",
    f"{SOURCE}, proof of the Lemma on event E",
    EXACT,
    erratum="16",
)
def _variance() -> Evidence:
    """For K ≥ 2 the squared losses have variance up to 16(K-1), not at most 4K: r + g'
    reaches 2. Policy values likewise 4(K-1), for K ≥ 3 more than 2K. Bernstein's
    inequality with 16K and 4K gives τ_L and τ_V from n_train = 16K(2/τ_L² + 1/τ_V²)
    ln(12 H T_max |G|²|Π|/δ) at the corrected constants, but not τ_L from 32K/τ_L²
    ln(...), the lemma's."""

    def variance(value: int, k: int) -> int:
        """Of K 1{a = 0} · value, a uniform: K value² - value²."""
        return (k - 1) * value**2

    above = variance(4, 3) > 4 * 3 and variance(2, 3) > 2 * 3
    worst, lemma = 0.0, Fraction(2)
    for eps, m, k, h, size in (
        (0.01, 1, 1, 1, 0.0),
        (0.3, 2, 2, 3, 8.0),
        (0.9, 9, 7, 20, 99.0),
        (0.99, 1, 50, 1, 1.0),
    ):
        p = TwoSampleTheoremParameters(eps, _DELTA, m, k, h, size, size)
        inside = math.log(12 * h * p.T_max / _DELTA) + 3 * size
        for accuracy, spread, span in (
            (p.tau_L, 16 * k, 4 * k),
            (p.tau_V, 4 * k, 2 * k),
        ):
            rate = float(inside / Fraction(p.n_train) / accuracy**2)
            off = math.sqrt(2 * spread * rate) + span * rate * float(accuracy) / 3
            worst = max(worst, off)
        # The lemma's n = 32K ln/τ_L²: √(2·16K ln/n) + 4K ln/(3n), over τ_L.
        draws = 32 * k / p.tau_L**2
        root = Fraction(2 * 16 * k) / draws / p.tau_L**2  # a square, of 1
        lemma = min(lemma, root + Fraction(4 * k, 3) / draws / p.tau_L)
    return Evidence(
        above and worst <= 1 < lemma,
        f"K = 3: variances 32 > 12 and 8 > 6; deviations at most {worst:.3g} of τ_L "
        f"and τ_V, by the lemma's draws (1 + {float(lemma - 1):.1g}) τ_L",
    )


@claim(
    "two-sample-constants",
    f"{SOURCE}, Lemma on MetaAlg (its constants)",
    EXACT,
    erratum="15",
)
def _constants() -> Evidence:
    """dfslearn's policy sums run over the learned sets, up to T_max, and its loss sums
    over the val sets, up to M. So τ_V = ε²/(2⁸3⁴ M H⁴ T_max) and τ_L = ε²/(2⁷3² H⁴ M)
    bring the loss below ε/8; the printed τ_V = ε²/(2⁸3⁴M²H⁴), τ_L = ε²/(2⁷3²H⁴T_max) do
    not for any δ ≤ 1/2: the proof's bound can exceed ε."""
    grid = [
        (eps, delta, m, k, h)
        for eps in (0.01, 0.3, 0.99)
        for delta in (_DELTA, 0.5)
        for m in (1, 3, 50)
        for k in (1, 4, 50)
        for h in (1, 3, 50)
    ]
    worst, least, most = Fraction(0), Fraction(10), Fraction(0)
    for eps, delta, m, k, h in grid:
        right = TwoSampleTheoremParameters(eps, delta, m, k, h, 1.0, 1.0)
        wrong = TwoSampleTheoremParameters(
            eps, delta, m, k, h, 1.0, 1.0, version="paper"
        )
        worst = max(worst, right.policy_bound / right.eps)
        worst = max(worst, right.estimate_bound / right.eps)
        share = wrong.policy_bound / wrong.eps
        least, most = min(least, share), max(most, share)
    return Evidence(
        worst <= Fraction(1, 8) < least and most > 1,
        f"{len(grid)} problems: corrected at most {float(worst):.4f} ε; printed "
        f"{float(least):.2f} ε to {float(most):.0f} ε",
    )


@claim(
    "two-sample-outvoted",
    f"{SOURCE}, Proposition on learned values (as printed)",
    EXACT,
    erratum="15",
)
def _outvoted() -> Evidence:
    """As printed, V*(s) - Q*(s, π̂_H) ≤ 2Mτ_V in learned states of the last level, the
    proposition is false: data sets within all three accuracies, 100 of one state and
    one of another, give a policy that loses 100 τ_V at the latter. 2 T_max τ_V holds.
    """
    found = outvoted()
    run, p = found.run, found.run.parameters
    worst = [Fraction(0)] * 3
    for data, path in zip(run.learned[1], found.paths, strict=True):
        deviations = _largest_deviations(found.made, data, path)
        worst = list(map(max, worst, deviations))
    inside = all(map(operator.le, worst, (p.tau, p.tau_V, p.tau_L)))
    chosen = reveal(run.policy_step(2, ()))(np.array([1])).tolist()
    lost = found.loss if chosen == [1] else Fraction(0)
    printed, right = 2 * p.M * p.tau_V, p.loss_bound(2)
    return Evidence(
        inside and len(run.learned[1]) <= p.T_max and printed < lost <= right,
        f"{len(run.learned[1])} sets inside event E; loses {float(lost):.3g}, printed "
        f"bound {float(printed):.3g}, corrected {float(right):.3g}",
    )


def _largest_deviations(
    made: Instance, data: EmpiricalMeasure, path: Path
) -> list[Fraction]:
    """Bound those of means, policy values and losses from above."""
    truth = made.environment.truth
    if not isinstance(truth, FiniteTruth):
        raise ValueError("environment: observations are not finite")
    h = len(path) + 1
    found = differences(data, truth, path, made.environment.n_actions)
    values, policies = made.values.at_level(h), made.policies.at_level(h)
    following = made.values.at_level(h + 1)
    means = largest_value_deviation(
        values, value_differences(data, truth.observation_probabilities(path))
    )
    return [
        Fraction(1) if means is None else means,
        policy_value_deviation(found, policies, following).upper,
        squared_loss_deviation(found, values, policies, following).upper,
    ]


@claim(
    "two-sample-trajectories",
    f"{SOURCE}, Theorem on sample complexity (its rate)",
    EXACT,
    erratum="14",
)
def _trajectories() -> Evidence:
    """Up to logarithms the proof's sum is M⁵K⁴H¹²/ε⁷, as in its last line, not the
    M²K²H⁶/ε⁴ of the theorem. The constants as printed would give M³K⁴H¹²/ε⁷ +
    M⁵K²H¹⁰/ε⁵."""
    holds, text = True, []
    stated = {"M": 2, "K": 2, "H": 6, "ε": 4}
    cases: tuple[tuple[Literal["theorem", "paper"], int, tuple[int, ...]], ...] = (
        ("theorem", 10**6, (5, 4, 12, 7)),
        ("paper", 10**6, (3, 4, 12, 7)),
        ("paper", 10**40, (5, 2, 10, 5)),  # M so large that τ_V decides
    )
    for version, states, right in cases:
        found = exponents(version, states)
        for (name, power), exponent in zip(found.items(), right, strict=True):
            holds &= abs(power - exponent) < 0.05 and exponent >= stated[name]
        powers = " ".join(f"{name}^{power:.1f}" for name, power in found.items())
        text.append(f"{version} at M = {states:g}: {powers}".replace("ε^", "(1/ε)^"))
    return Evidence(holds, "logarithms divided out, " + "; ".join(text))


def exponents(version: Literal["theorem", "paper"], states: int) -> dict[str, float]:
    """Exponents of H T_max n_train in M, K, H and 1/ε, between large sizes.

    Logarithms, ln(4MH/δ) in n_exp to its power and that of n_train, are divided
    out; the power of the first is that of T_max in the sum.
    """
    base = {"M": states, "K": 10**6, "H": 10**6, "ε": 10**6}

    def logarithm(sizes: dict[str, int]) -> float:
        m, k, h = sizes["M"], sizes["K"], sizes["H"]
        eps = Fraction(1, sizes["ε"])
        p = TwoSampleTheoremParameters(eps, _DELTA, m, k, h, 0.0, 0.0, version=version)
        inner = Fraction(math.log(4 * m * h / _DELTA))
        outer = Fraction(math.log(12 * h * p.T_max / _DELTA))
        power = 2 if version == "theorem" else _paper_power(p)
        product = h * (p.T_max / inner) * (p.n_train / outer / inner**power)
        return math.log2(product.numerator) - math.log2(product.denominator)

    found = {}
    for name in base:
        larger = base | {name: 2 * base[name]}
        found[name] = logarithm(larger) - logarithm(base)
    return found


def _paper_power(p: TwoSampleParameters) -> int:
    """Power of T_max in n_train as printed: 2 where 2/τ_L² outweighs 1/τ_V²."""
    return 2 if 2 / p.tau_L**2 > 1 / p.tau_V**2 else 0


@claim("two-sample-end", f"{SOURCE}, Algorithm 5 (dfslearn)", EXACT, erratum="16")
def _end() -> Evidence:
    """As printed dfslearn has no end: below the last level there is no data set to
    compare with, the minimum is infinite, and each call adds its data set and descends.
    Returning at level H+1 ends it."""
    deepest = printed_depth(limit=200)
    made = unlearned()
    horizon = made.environment.horizon
    p = TwoSampleTheoremParameters(Fraction(3, 10), _DELTA, *runs.problem(made))
    result = two_sample(*runs.parts(made), p, np.random.default_rng(0))
    ended = result.succeeded and len(result.learned) == horizon
    return Evidence(
        deepest == 200 and ended,
        f"as printed it passes {deepest} levels beyond H; with the return a run over "
        f"H = {horizon} levels ends: {result.status}",
    )


def printed_depth(limit: int) -> int:
    """Follow the printed dfslearn below level H, G = {0}, and stop at a limit."""
    sets: list[int] = []  # data sets of each level beyond H

    def dfslearn(depth: int) -> int:
        if depth == limit:
            return depth
        while len(sets) <= depth:
            sets.append(0)
        distance = 0.0 if sets[depth] else math.inf  # all functions agree: 0
        if distance <= 0:
            return depth  # is_recursive_call
        sets[depth] += 1
        return dfslearn(depth + 1)  # the first action

    return dfslearn(0)
