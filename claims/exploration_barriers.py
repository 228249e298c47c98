"""Claims about the barriers to exploration: average and square-loss constraints."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from ..algorithms.barriers.average import (
    BEST,
    EVEN,
    REVERSED,
    A,
    AverageBarrier,
    balanced_policies,
    run_all,
    run_average,
)
from ..algorithms.barriers.average_exploration import explore_by_averages
from ..algorithms.barriers.exact import Surd
from ..algorithms.barriers.square_loss import ALWAYS_B, OPTIMAL, SquareLossBarrier
from ..algorithms.classes import TabularValueClass, ValueClassByLevel
from ..algorithms.classes.tabular import TabularPolicy
from .claim import EXACT, STATISTICAL, Evidence, Refuted, claim

SOURCE = "paper, appendix Additional Barriers"
HALF, QUARTER = Fraction(1, 2), Fraction(1, 4)
_CONTEXTS = (2, 4, 6, 8)
_POLICIES = ((0, 0), (0, 1), (1, 0), (1, 1))
_EPSILONS = tuple(Fraction(k, 60) for k in range(1, 60))


@claim("average-barrier", f"{SOURCE}, Proposition on expectation constraints", EXACT)
def _stuck() -> str:
    """Exploration with average constraints and exact expectations, ties broken against
    it, stops at once with a policy 1/2 below the optimum: (1/2, 1/2) meets all
    constraints and is as optimistic as any other, and by it all policies are worth what
    the balanced ones are."""
    for m in _CONTEXTS:
        barrier = AverageBarrier(m)
        best = barrier.environment().truth.optimal_value
        for functions in ((EVEN, BEST), (REVERSED, BEST)):
            found = run_average(barrier, functions)
            last = found.rounds[-1]
            if (best - found.value, last.predicted, last.new) != (HALF, HALF, 0):
                raise Refuted(f"m = {m}, {functions}: {last}")
    return (
        f"m in {_CONTEXTS}: stops after a round at 1/2 of V* = 1, with ĝ = (1/2, 1/2), "
        "where all policies tie, and with ĝ = (0, 1), where π* is the worst"
    )


@claim(
    "average-barrier-coverage",
    "this project, on the proposition on expectation constraints",
    EXACT,
)
def _coverage() -> str:
    """Over all functions on {s_1, s_2} it depends on the distribution that ĝ is to be
    optimistic on: with less than 1/2 on s_1 exploration is stuck without any tie, with
    more it succeeds."""
    found = {}
    for m in (2, 6):
        barrier = AverageBarrier(m)
        every = ValueClassByLevel([TabularValueClass(m), TabularValueClass(2)])
        for share in (Fraction(1, 100), Fraction(49, 100), Fraction(51, 100)):
            run = explore_by_averages(
                barrier.environment(),
                every,
                barrier.policies(),
                coverage={2: (share, 1 - share)},
            )
            found[m, share] = run.value
            if run.value != (HALF if share < HALF else 1):
                raise Refuted(f"m = {m}, {share} on s_1: {run.value}")
    return f"{len(found)} cases: 1/2 below a share of 1/2, 1 above"


@claim(
    "average-barrier-balanced",
    f"{SOURCE}, proof of the Proposition on expectation constraints",
    EXACT,
    erratum="20",
)
def _balanced() -> Evidence:
    """The policies that take a and b in equally many contexts are C(m, m/2) for even m,
    and none for odd m: of order 2^m/√m, not Ω(2^m) as printed. Each visits both states
    with probability 1/2 and is worth 1/2."""
    for m in range(2, 202, 2):
        share = Fraction(balanced_policies(m), 2**m) ** 2
        # √(2/(π(m+1))) < share < √(2/(πm)), π in its 12th digit.
        low = Fraction(2 * 10**12, 3141592653590 * (m + 1))
        high = Fraction(2 * 10**12, 3141592653589 * m)
        if not low < share < high:
            raise Refuted(f"m = {m}: {balanced_policies(m)}")
    for m in _CONTEXTS:
        barrier = AverageBarrier(m)
        tables = {tuple(row) for row in barrier.balanced().tolist()}
        truth = barrier.environment().truth
        rest = TabularPolicy(np.array([A, A]))
        values = {
            truth.policy_value([TabularPolicy(row), rest]) for row in barrier.balanced()
        }
        if len(tables) != math.comb(m, m // 2) or values != {HALF}:
            raise Refuted(f"m = {m}: {len(tables)}, values {values}")
    last = balanced_policies(200) / 2**200
    return Evidence(
        balanced_policies(5) == 0,
        f"C(m, m/2)/2^m is between √(2/(π(m+1))) and √(2/(πm)) for even m ≤ 200, so it "
        f"tends to 0 ({last:.3f} at m = 200); values for m in {_CONTEXTS}",
    )


@claim(
    "average-barrier-contrast",
    f"{SOURCE}, after the Proposition on expectation constraints",
    STATISTICAL,
)
def _contrast() -> str:
    """OLIVE, whose average Bellman errors tie g to π, and VALOR, which keeps a value
    for each state, find the optimal policy on the same environment and classes."""
    runs = 0
    for m in (2, 6):
        for seed in range(5):
            found = run_all(AverageBarrier(m), np.random.default_rng([m, seed]))
            runs += 1
            if [run.value for run in found.values()] != [HALF, 1, 1]:
                raise Refuted(f"m = {m}, seed {seed}: {found}")
    return f"{runs} of {runs} runs: average constraints 1/2, OLIVE 1, VALOR 1"


@claim("square-loss-barrier", f"{SOURCE}, Proposition on square loss", EXACT)
def _square_loss() -> str:
    """π̂ is ε-suboptimal and earns 0; the square loss of g* to its returns is ε, and so
    is that of g_bad = √ε, which is √ε - ε off on average: between √ε/2 and √ε for ε ≤
    1/4. g_0 has none."""
    for epsilon in _EPSILONS:
        barrier = SquareLossBarrier(epsilon)
        best = barrier.environment().truth.optimal_value
        root = Surd(0, 1, epsilon)
        losses = [barrier.square_loss(g, ALWAYS_B) for g in barrier.functions.values()]
        bias = barrier.bias(barrier.bad)
        facts = (
            best == barrier.value(OPTIMAL) == epsilon,
            barrier.value(ALWAYS_B) == 0,
            # What is computed by hand is what the environment pays.
            all(
                barrier.value(policy) == _paid(barrier, policy) for policy in _POLICIES
            ),
            losses == [0, epsilon, epsilon],
            bias == root - epsilon,
            bias < root,
            epsilon > Fraction(1, 4) or bias >= HALF * root,
        )
        if not all(facts):
            raise Refuted(f"ε = {epsilon}: {losses}, {bias}, {facts}")
    return f"{len(_EPSILONS)} values of ε, in Q(√ε)"


def _paid(barrier: SquareLossBarrier, policy: tuple[int, int]) -> Fraction:
    """V^π in the environment itself."""
    return barrier.environment().truth.policy_value([TabularPolicy(np.array(policy))])


@claim(
    "square-loss-barrier-worst",
    f"{SOURCE}, after the Proposition on square loss",
    EXACT,
)
def _worst() -> Evidence:
    """A bound on the square loss to π̂'s returns keeps g* exactly if it keeps g_bad,
    and of all functions with square loss at most ε g_bad has the largest average: E[g]²
    ≤ E[g²] ≤ ε (Cauchy, Schwarz). On n returns the LS oracle prefers g_bad to g* with
    probability near 1/2, however large n is."""
    grid = [Fraction(k, 12) for k in range(13)]
    functions = 0
    for epsilon in _EPSILONS[::6]:
        barrier = SquareLossBarrier(epsilon)
        for bound in (*grid, epsilon):
            kept = barrier.kept(bound)
            if not ("g*" in kept) == ("g_bad" in kept) == (bound >= epsilon):
                raise Refuted(f"ε = {epsilon}, bound {bound}: {kept}")
        for x in grid:
            for y in grid:
                g = (Surd(x), Surd(y))
                functions += 1
                if barrier.square_loss(g, ALWAYS_B) <= epsilon and (
                    barrier.bias(g) > barrier.bias(barrier.bad)
                ):
                    raise Refuted(f"ε = {epsilon}: {g}")
    barrier = SquareLossBarrier(Fraction(1, 16))
    n, runs = 10**8, 100
    bad = barrier.count_bad_fits(n, runs, np.random.default_rng(0))
    # The tail above the mean of Bin(n, ε), within 1/√(n ε (1-ε)) of 1/2.
    chances = {e: barrier.bad_fits_better(10**e) for e in range(2, 10)}
    near = all(
        abs(chance - 0.5) < 1 / math.sqrt(10**e * float(QUARTER**2 * (1 - QUARTER**2)))
        for e, chance in chances.items()
    )
    return Evidence(
        near and 20 < bad < 80,
        f"{functions} functions on a grid; ε = 1/16, n = 10^2 to 10^9: probability "
        f"{chances[2]:.4f} to {chances[9]:.4f}; {bad} of {runs} data sets at n = 10^8",
    )
