"""Further barriers.

The paper's appendix on additional barriers: Bellman backups, average constraints and
square loss, each on an instance where the algorithm fails.
"""

import math
from fractions import Fraction

import numpy as np

from ..algorithms.assumptions import check_assumptions
from ..algorithms.barriers.average import (
    BEST,
    EVEN,
    REVERSED,
    AverageBarrier,
    balanced_policies,
    explore_by_averages,
    run_all,
    run_average,
)
from ..algorithms.barriers.backup import (
    TIES,
    A,
    B,
    BackupBarrier,
    absolute,
    clopper_pearson,
    exact_fair_tail,
    failure_probability,
    replay,
    run_valor,
    simulate,
    slud_bound,
)
from ..algorithms.barriers.square_loss import ALWAYS_B, OPTIMAL, SquareLossBarrier, Surd
from ..algorithms.classes import TabularValueClass, ValueClassByLevel
from ..algorithms.classes.finite import TabularPolicy
from . import EXACT, STATISTICAL, Evidence, Refuted, claim, claims_of
from .samples import seeds, some

paper = claims_of("paper, appendix Additional Barriers")
HALF, QUARTER = Fraction(1, 2), Fraction(1, 4)
_EPSILONS = (HALF, Fraction(1, 3), QUARTER, Fraction(1, 10), Fraction(1, 64))
_BEYOND_DOUBT = 1 - 1e-6


@paper("bellman-backup", "Definition of Bellman backup algorithms", STATISTICAL)
def _definition() -> str:
    """With n samples of every state (and action) the two updates are a CSC and an LS
    oracle call a level; on the two chains the algorithm on samples fails exactly as
    often as its recursion in rationals does."""
    parts = []
    for horizon, n in ((2, 5), (4, 60)):
        barrier = BackupBarrier(horizon, QUARTER)
        found = simulate(barrier, n, 40, np.random.default_rng([horizon, n]))
        means = [Fraction(s, n) for s in range(n + 1)]
        fails = [replay(barrier, mean).action == B for mean in means]
        chance = Fraction(
            sum(math.comb(n, s) for s, bad in enumerate(fails) if bad), 2**n
        )
        low, high = found.interval(_BEYOND_DOUBT)
        same = chance == failure_probability(barrier, n).exact
        if not same or not low <= chance <= high:
            raise Refuted(f"H = {horizon}, n = {n}: {found.failures} of 40, {chance}")
        parts.append(f"H = {horizon}, n = {n}: {found.failures} of 40")
        parts[-1] += f" runs, probability {float(chance):.3f}"
    return "; ".join(parts) + " (confidence 1 - 1e-6)"


@paper("backup-barrier", "Theorem on Bellman backups", EXACT, "19")
def _theorem() -> Evidence:
    """For every H ≥ 1 and ε ≤ 1/2 (printed: ε < 1) there is a layered tabular MDP with
    H + 1 levels (printed: H), one or two states a level, and two functions and two
    policies, realizable, on which Bellman backups with n < 4^H/(32 ε²) samples of every
    state lose ε with probability at least 1/4, ties being broken against them."""
    checked, least, where = 0, Fraction(1), ""
    for horizon in range(1, 8):
        for epsilon in _EPSILONS:
            barrier = BackupBarrier(horizon, epsilon)
            limit = Fraction(4**horizon) / (32 * epsilon**2)
            if barrier.sample_limit != limit:
                raise Refuted(f"limit {barrier.sample_limit}, not {limit}")
            most = min(400, math.ceil(limit) - 1)
            for n in some(range(1, most + 1), least=30):
                chance = failure_probability(barrier, n).exact or Fraction(0)
                checked += 1
                if chance < least:
                    least, where = chance, f"H = {horizon}, ε = {epsilon}, n = {n}"
    barrier = BackupBarrier(4, QUARTER)
    truth = barrier.environment().truth
    policies = [TabularPolicy(np.array([B])), *[TabularPolicy(np.array([A, A]))] * 4]
    loss = truth.optimal_value - truth.policy_value(policies)
    large = [
        failure_probability(BackupBarrier(h, QUARTER), 4**h * 16 // 32 - 1)
        for h in (12, 20, 30)
    ]
    holds = least >= QUARTER and loss == QUARTER
    return Evidence(
        holds and all(p.at_least(QUARTER) for p in large),
        f"{checked} cases exactly, least probability {least} ({where}); just below the "
        f"limit at H = 12, 20, 30: at least {min(p.lower for p in large):.3f} by Berry "
        f"and Esseen; the policy loses {loss} = ε",
    )


@paper(
    "backup-barrier-slud",
    "Theorem on Bellman backups (a lower bound of the binomial tail)",
    EXACT,
    "23",
)
def _slud() -> Evidence:
    """For fair coins and d² ≤ n/32, P[S ≥ n/2 + d] ≥ 1/4, with equality for n = 2.
    Slud's inequality, from which the paper derives it, holds for integers k in [np,
    n(1-p)] only, at p = 1/2 for k = n/2; as printed it is false."""
    printed = BackupBarrier(3, HALF)
    left = failure_probability(printed, 2).exact
    right = slud_bound(printed, 2)
    # The lemma: the worst d of every n (just inside), then its proof's bound.
    tight = []
    for n in range(1, 200):
        d = Fraction(math.isqrt(n * 10**8 // 32), 10**4)
        chance = exact_fair_tail(n, math.ceil(Fraction(n, 2) + d))
        if chance < QUARTER:
            raise Refuted(f"n = {n}, d = {d}: {chance}")
        if chance == QUARTER:
            tight.append(n)
    # 1/2 - (d + 1/2) √(2/(πn)) at d = √(n/32), which grows with n.
    rest = 0.5 - 1 / (4 * math.sqrt(math.pi)) - 1 / math.sqrt(2 * math.pi * 14)
    return Evidence(
        tight == [2] and rest > 0.25 and left == QUARTER and right > 0.42,
        f"n < 200 exactly, equality for n = {tight}; from n = 14 on the proof gives at "
        f"least {rest:.4f}; as printed, n = 2, ε = 1/2, H = 3: {left} ≥ {right:.4f}",
    )


@paper("backup-barrier-ties", "Theorem on Bellman backups (its last step)", EXACT, "19")
def _ties() -> Evidence:
    """Once g_bad is taken at the last level, every later fit is an exact tie, at h = 1,
    too (printed: 1 < h < H), and so is the choice at the start; b is overestimated by ε
    even if the policy is given. Ties for the algorithm save it."""
    checked = 0
    for horizon in range(1, 7):
        for epsilon in _EPSILONS:
            barrier = BackupBarrier(horizon, epsilon)
            for mean in (barrier.threshold, (barrier.threshold + 1) / 2, Fraction(1)):
                found = replay(barrier, mean)
                kind = {*found.taken[:-1]}
                value = found.value == HALF + epsilon
                if kind - {"tie"} or found.start != "tie" or not value:
                    raise Refuted(f"H = {horizon}, mean {mean}: {found}")
                saved = replay(barrier, mean, "for")
                if saved.action != A:
                    raise Refuted(f"ties for it, H = {horizon}: {saved}")
                checked += 1
    runs = simulate(BackupBarrier(3, QUARTER), 10, 20, np.random.default_rng(0), "for")
    return Evidence(
        runs.failures == 0,
        f"{checked} cases in rationals; with ties for it {runs.failures} of "
        f"{runs.runs} runs failed",
    )


@claim(
    "backup-barrier-without-ties",
    "this project, on the theorem on Bellman backups",
    EXACT,
)
def _without_ties() -> Evidence:
    """No adversary is needed: with g_bad(x_{h,b}) = 1/2 + Δ_1/ρ^(h-1), ρ < 2 and Δ_1 >
    ε, every later fit and the choice at the start prefer g_bad and b strictly; Bellman
    backups lose ε with probability at least 1/4 for n ≤ 1/(8 Δ_H²), of order ρ^(2H),
    however ties are broken."""
    checked = 0
    for horizon in range(1, 7):
        for ratio in (Fraction(11, 10), Fraction(3, 2), Fraction(19, 10)):
            barrier = BackupBarrier(horizon, QUARTER, ratio)
            above = barrier.threshold + Fraction(1, 10**9)
            found = replay(barrier, above, "for")
            strict = {*found.taken, found.start} == {"bad"} and found.action == B
            most = min(200, math.floor(barrier.sample_limit))
            for n in some(range(1, most + 1), least=30):
                for ties in TIES:
                    chance = failure_probability(barrier, n, ties).exact
                    strict &= chance is not None and chance >= QUARTER
                    checked += 1
            if not strict:
                raise Refuted(f"H = {horizon}, ratio {ratio}: {found}")
    barrier = BackupBarrier(5, QUARTER, Fraction(3, 2))
    runs = simulate(barrier, 20, 30, np.random.default_rng(1), "for")
    exact = failure_probability(barrier, 20, "for").exact
    low, high = runs.interval(_BEYOND_DOUBT)
    return Evidence(
        exact is not None and low <= exact <= high,
        f"{checked} cases exactly; ratio 3/2, H = 5, n = 20, ties for it: "
        f"{runs.failures} of {runs.runs} runs failed, probability "
        f"{float(exact or 0):.3f}",
    )


@paper(
    "backup-barrier-other-losses", "remark after the Theorem on Bellman backups", EXACT
)
def _losses() -> Evidence:
    """Other losses do not help: with absolute loss g_bad is taken as soon as the mean
    reward exceeds 1/2, so with probability near 1/2 for every n, and later fits tie as
    before. (Q-functions: claim backup-barrier-q-functions.)"""
    checked = 0
    for horizon in range(1, 7):
        for epsilon in _EPSILONS:
            barrier = BackupBarrier(horizon, epsilon)
            for n in (1, 2, 3, 10, 10**6 + 1, 10**12):
                above = HALF + Fraction(1, n) if n > 1 else Fraction(1)
                below = HALF - Fraction(1, n) if n > 1 else Fraction(0)
                found = replay(barrier, above, loss=absolute)
                if found.action != B or {*found.taken[:-1]} - {"tie"}:
                    raise Refuted(f"H = {horizon}, mean {above}: {found}")
                if replay(barrier, below, loss=absolute).action != A:
                    raise Refuted(f"H = {horizon}, mean {below}: b")
                checked += 1
    chance = failure_probability(BackupBarrier(1, QUARTER), 1000).upper
    half = exact_fair_tail(1000, 501)
    return Evidence(
        chance < 1e-6 and half > Fraction(48, 100),
        f"{checked} cases; at n = 1000 and H = 1 square loss fails with probability "
        f"{chance:.2g}, absolute loss with {float(half):.4f}",
    )


@paper(
    "backup-barrier-assumptions",
    "Theorem on Bellman backups, and the remark after it",
    EXACT,
)
def _assumptions() -> str:
    """The classes of the barrier satisfy policy and value realizability and policy
    completeness; policy-value completeness fails from H = 2 on, for the backup of g_bad
    is missing."""
    text = ""
    for horizon in range(1, 7):
        made = BackupBarrier(horizon, QUARTER).instance()
        found = check_assumptions(made.environment, made.values, made.policies)
        kept = ("policy-realizability", "value-realizability", "policy-completeness")
        complete = found["policy-value-completeness"]
        if not all(found[name].holds for name in kept):
            raise Refuted(f"H = {horizon}: {found}")
        if complete.holds is not (horizon == 1):
            raise Refuted(f"H = {horizon}: {complete.reason}")
        text = str(complete.counterexample)
    return f"H = 1 to 6; H = 6: {text}"


@paper("backup-barrier-valor", "Theorem on Bellman backups (contrast)", STATISTICAL)
def _valor() -> Evidence:
    """VALOR finds the optimal policy on the same environment with the same classes,
    with some 1,300 trajectories for ε = 1/4 whatever H is (practical parameters), and
    at its theorem's constants."""
    best, runs, most = 0, 0, 0
    for horizon in (1, 5, 15, 40):
        barrier = BackupBarrier(horizon, QUARTER)
        truth = barrier.environment().truth
        for seed in seeds(5):
            found = run_valor(barrier, np.random.default_rng(seed))
            value = truth.policy_value(found.policies or ())
            best += value == truth.optimal_value
            runs += 1
            most = max(most, found.trajectories)
        exact = run_valor(barrier, np.random.default_rng(0), "theorem")
        if truth.policy_value(exact.policies or ()) != truth.optimal_value:
            raise Refuted(f"H = {horizon}, theorem's constants: {exact.status}")
    low, _ = clopper_pearson(best, runs)
    return Evidence(
        best == runs and most < 2000,
        f"optimal in {best} of {runs} runs (above {low:.2f} with confidence 97.5%), at "
        f"most {most:,} trajectories; the limit for Bellman backups at H = 40 is "
        f"{float(BackupBarrier(40, QUARTER).sample_limit):.2g} samples of each state",
    )


_CONTEXTS = (2, 4, 6, 8)
_POLICIES = ((0, 0), (0, 1), (1, 0), (1, 1))
_LOSSES = tuple(Fraction(k, 60) for k in range(1, 60))


@paper("average-barrier", "Proposition on expectation constraints", EXACT)
def _stuck() -> str:
    """Exploration with average constraints and exact expectations, ties broken against
    it, stops at once with a policy 1/2 below the optimum: (1/2, 1/2) satisfies all
    constraints, no other function predicts more, and under it every policy is worth as
    much as the balanced ones."""
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


@paper(
    "average-barrier-balanced",
    "proof of the Proposition on expectation constraints",
    EXACT,
    "20",
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


@paper(
    "average-barrier-contrast",
    "after the Proposition on expectation constraints",
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


@paper("square-loss-barrier", "Proposition on square loss", EXACT)
def _square_loss() -> str:
    """π̂ is ε-suboptimal and earns 0; the square loss of g* to its returns is ε, and so
    is that of g_bad = √ε, which is √ε - ε off on average: between √ε/2 and √ε for ε ≤
    1/4. g_0 has none."""
    for epsilon in _LOSSES:
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
    return f"{len(_LOSSES)} values of ε, in Q(√ε)"


def _paid(barrier: SquareLossBarrier, policy: tuple[int, int]) -> Fraction:
    """V^π in the environment itself."""
    return barrier.environment().truth.policy_value([TabularPolicy(np.array(policy))])


@paper("square-loss-barrier-worst", "after the Proposition on square loss", EXACT)
def _worst() -> Evidence:
    """A bound on the square loss to π̂'s returns keeps g* exactly if it keeps g_bad,
    and of all functions with square loss at most ε g_bad has the largest average: E[g]²
    ≤ E[g²] ≤ ε (Cauchy, Schwarz). On n returns the LS oracle prefers g_bad to g* with
    probability near 1/2, however large n is."""
    grid = [Fraction(k, 12) for k in range(13)]
    functions = 0
    for epsilon in _LOSSES[::6]:
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
