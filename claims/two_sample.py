"""The two-sample algorithm.

Runs are monitored at the theorem's corrected constants, on random environments with
tabular classes and with finite ones that are complete, with seeds 0, 1, 2, ..., and on
an instance that needs exploration on demand.
"""

import itertools
import math
import operator
import statistics
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from ..algorithms.assumptions import complete_classes, policy_value_completeness
from ..algorithms.classes import (
    FiniteValueClass,
    KernelBall,
    TabularValueClass,
    identity_kernel,
)
from ..algorithms.environments import make
from ..algorithms.environments.finite import FiniteTruth
from ..algorithms.exact.data import EmpiricalMeasure
from ..algorithms.learning.draw_classes import make_classes
from ..algorithms.learning.events import Descending, Path
from ..algorithms.learning.monitors import largest_value_deviation, value_differences
from ..algorithms.learning.problem import LearningResult, Problem
from ..algorithms.oracles.ledger import unguard
from ..algorithms.oracles.lp import mean_discrepancy
from ..algorithms.two_sample import TwoSampleMonitors
from ..algorithms.two_sample.algorithm import Visit, two_sample
from ..algorithms.two_sample.deviations import (
    differences,
    policy_value_deviation,
    squared_loss_deviation,
)
from ..algorithms.two_sample.parameters import (
    TwoSampleParameters,
    TwoSampleTheoremParameters,
)
from ..algorithms.valor import valor
from ..algorithms.valor.parameters import TheoremParameters
from . import EXACT, MONITORED, Evidence, Refuted, claim, claims_of, samples
from .instances import doubling, known_values, outvoted, two_means, unlearned

paper = claims_of(
    "paper, appendix Alternative Algorithms, Two-Sample State-Identity Test"
)
_RUNS = 6
_EPSILON, _DELTA = 0.3, 0.1


def _run(made: Problem, seed: int, **options: Any) -> samples.Run[TwoSampleParameters]:
    sizes = samples.problem(made, squared=True)
    parameters = TwoSampleTheoremParameters(_EPSILON, _DELTA, *sizes)
    learn, monitors = two_sample, TwoSampleMonitors
    return samples.monitored(learn, made, parameters, monitors, seed, **options)


def _instance(seed: int, tabular: bool) -> Problem:
    env = make("random-finite", seed, states=2, actions=2, horizon=3)
    rng = np.random.default_rng([seed, 1])
    if tabular:
        return Problem(env, *make_classes(env, "tabular", rng))
    return Problem(env, *complete_classes(env, rng, "policy-value", size=32))


@samples.made_once
def _runs() -> tuple[samples.Run[TwoSampleParameters], ...]:
    return tuple(
        _run(made, seed)
        for seed in samples.seeds(_RUNS)
        for made in (_instance(seed, True), _instance(seed, False), unlearned())
    )


def _results() -> list[LearningResult]:
    return [run.result for run in _runs()]


def _held(*names: str) -> Evidence:
    """Whether the named monitors hold in every run inside event E."""
    return samples.held(_results(), *names)


def _optimal() -> Evidence:
    """Whether enough runs are ε-optimal, and what they show."""
    return samples.mostly(_results(), "epsilon-optimal", "ε-optimal", 1 - _DELTA)


@claim(
    "two-sample-informal",
    "paper, appendix Alternative Algorithms, informal theorem (first half)",
    MONITORED,
)
def _informal() -> Evidence:
    """Under policy-value completeness there is an oracle-efficient algorithm with
    polynomial sample complexity that stores no local values: the two-sample algorithm
    calls CSC and LS H times an iteration and the LP oracle twice for each data set a
    test compares with, uses its classes in no other way, and returns an ε-optimal
    policy."""
    return _optimal() & _held("csc-calls", "ls-calls", "lp-calls", "trajectories")


@paper("two-sample-or-consensus", "(comparison with local values)", EXACT)
def _comparison() -> Evidence:
    """With G = {g*} VALOR's consensus test takes every state but the first for known,
    as the value is known; the two-sample test takes a state for new if the mean of g*
    differs from that of every state visited."""
    compared, wrong = 0, []
    for seed in samples.seeds(_RUNS):
        env, policies = make("random-finite", seed), _instance(seed, True).policies
        levels = range(1, env.horizon + 1)
        made = Problem(env, known_values(env), policies)
        run = _run(made, seed)
        means = [
            [env.truth.state_value(h, s) for s in env.truth.reachable(h)]
            for h in levels
        ]
        pairs = [pair for v in means for pair in itertools.combinations(v, 2)]
        if min(abs(a - b) for a, b in pairs) <= 4 * run.parameters.tau:
            continue
        compared += 1
        parameters = TheoremParameters(_EPSILON, _DELTA, *samples.problem(made))
        events, rng = list[Any](), np.random.default_rng([seed, 3])
        valor(*samples.parts(made), parameters, rng, observers=[events.append])
        descended = any(isinstance(event, Descending) for event in events)
        if descended or run.result.learned != tuple(map(len, means)):
            wrong.append(seed)
    text = "the two-sample algorithm learns all states, VALOR never descends"
    if wrong:
        text = f"not so with seeds {wrong}"
    return Evidence(
        compared > 0 and not wrong, f"{compared} environments with states apart: {text}"
    )


@paper("two-sample-nested", "Definition and Fact on learned states", MONITORED)
def _nested() -> Evidence:
    """Whenever polvalfun is called, states with a val set are learned, learned states
    were reached by dfslearn, and so were all their children. (While a call is in
    progress the last need not hold.)"""
    return _held("nested")


@paper("two-sample-event-e", "Lemma on event E", MONITORED)
def _event() -> Evidence:
    """With n_train as stated the deviation bounds τ, τ_V, τ_L hold for all data sets
    together with probability 1 - δ/2, and then there are at most T_max = M(K+1)(1 + H
    n_exp) calls and learned states a level, at most M val sets, no two of one state,
    and no recursion in a state that has one. (The probability rests on claim
    `two-sample-variance`; what the runs alone show is in the evidence.)"""
    val = []
    for share in (Fraction(1999, 1000), Fraction(2001, 1000)):
        made = two_means(share * Fraction(3, 10) / (2**6 * 3 * 2**2))  # τ, H = 2
        visits = _run(made, 0, kept=Visit).events
        val.append(sum(v.new for v in visits if v.level == 2))
    if val != [1, 2]:
        raise Refuted(f"val sets of means 1.999τ and 2.001τ apart: {val}")
    names = "dfslearn-calls", "no-relearning", "same-state", "val-sets", "learned-sets"
    inside = samples.mostly(_results(), "event", "inside E", 1 - _DELTA / 2)
    return inside & _held(*names)


@paper("two-sample-accuracy", "Proposition on learned values", MONITORED, "15")
def _accuracy() -> Evidence:
    """In event E, with ε_V = T_max τ_V and ε_L = M τ_L (printed the other way round),
    |E_s[ĝ_h] - E_s[g*]| ≤ (H+1-h)(2ε_V + √(4M ε_V + 2ε_L) + 8τ) in every state reached,
    and V*(s) - Q*(s, π̂_h) ≤ 2ε_V + 2(H-h)(the same) in every learned one."""
    return _held("value-accuracy", "policy-loss", "estimate-accuracy")


@paper("two-sample-policy", "Proposition on the policy returned", MONITORED, "15")
def _policy() -> Evidence:
    """In event E, V^π̂ ≥ V* - p_ul - 2H ε_V - H²(2ε_V + √(4M ε_V + 2ε_L) + 8τ), p_ul
    being the probability that π̂ reaches a state that is not learned; ε_V = T_max τ_V,
    ε_L = M τ_L."""
    return _held("policy-bound")


@paper("two-sample-metaalg", "Lemma on MetaAlg", MONITORED, "9")
def _metaalg() -> Evidence:
    """With probability 1 - δ MetaAlg returns an ε-optimal policy after at most M H
    iterations (printed: M K), for each rejected one learns a state."""
    progress = _held("progress", "evaluation")
    enough = _optimal()
    most = max(r.result.iterations - r.parameters.iterations for r in _runs())
    twice = sum(r.result.iterations == 2 for r in _runs())
    return Evidence(
        progress.holds and enough.holds and most <= 0,
        f"{enough.text}; {twice} runs with a rejected iteration; {progress.text}",
    )


@paper("two-sample-theorem", "Theorem on sample complexity", MONITORED, "15")
def _theorem() -> Evidence:
    """Where the process is an MDP over observations and G, Π are policy-value complete,
    the corrected constants give an ε-optimal policy with probability 1 - δ within H
    T_max n_train + M H n_eval trajectories. (The probability rests on claims
    `two-sample-constants` and `two-sample-variance`; what the runs alone show is in the
    evidence.)"""
    within = _held("trajectories", "complete", "markov")
    enough = _optimal()
    counts = [r.result.trajectories for r in _runs()]
    return Evidence(
        within.holds and enough.holds,
        f"{enough.text} (ε = {_EPSILON}, δ = {_DELTA}); {min(counts):.2g} to "
        f"{max(counts):.2g} trajectories",
    )


@paper(
    "two-sample-clipped",
    "Proposition on learned values (its assumption)",
    MONITORED,
    "25",
)
def _clipped() -> Evidence:
    """All functions to [0, 1] are not policy-value complete where rewards are paid
    before the last level, as r + g' leaves [0, 1]; completeness up to clipping at 1 is
    enough for the proof, and tabular classes have it."""
    letter, clipped, fine, tabular = 0, 0, 0, 0
    for run in _runs()[::3]:  # those with tabular classes
        tabular, given = tabular + 1, samples.parts(run.made)
        letter += policy_value_completeness(*given).holds is True
        clipped += policy_value_completeness(*given, clipped=True).holds is True
        fine += run.result.monitors["value-accuracy"].holds is True
    return Evidence(
        letter == 0 and clipped == fine == tabular > 0,
        f"{tabular} tabular instances: complete to the letter {letter}, up to clipping "
        f"{clipped}, proposition holds in {fine}",
    )


@paper(
    "two-sample-needs-completeness", "(its assumption, against realizability)", EXACT
)
def _incomplete() -> Evidence:
    """Realizability is not enough: with g* ∈ G, π* ∈ Π but G not complete, each level
    can double the error of the next, and at the theorem's own constants, in event E,
    the policy returned is more than ε short of V*. VALOR finds an optimal one with the
    same classes."""
    made = doubling(Fraction(str(_EPSILON)))
    run = _run(made, 0)
    monitors = run.result.monitors
    parameters = TheoremParameters(_EPSILON, _DELTA, *samples.problem(made))
    local = valor(*samples.parts(made), parameters, np.random.default_rng(0))
    if run.result.policies is None or local.policies is None:
        raise Refuted("a run without a policy")
    lost, other = run.loss, samples.loss(made, local)
    return Evidence(
        all(monitors[name].holds for name in ("event", "oracles", "markov"))
        and monitors["complete"].holds is False
        and lost > run.parameters.eps
        and local.succeeded
        and other == 0,
        f"loses {float(lost):.3f} > ε = {_EPSILON} inside event E; VALOR loses "
        f"{float(other):.3g}",
    )


@paper("two-sample-mmd", "Computational considerations", EXACT)
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


@paper("two-sample-variance", "proof of the Lemma on event E", EXACT, "16")
def _variance() -> Evidence:
    """For K ≥ 2 the squared losses have variance up to 16(K-1), not at most 4K: r + g'
    reaches 2. Policy values likewise 4(K-1), for K ≥ 3 more than 2K. Bernstein's
    inequality with 16K and 4K gives τ_L and τ_V from n_train = 16K(2/τ_L² + 1/τ_V²)
    ln(12 H T_max |G|²|Π|/δ) at the corrected constants, but not τ_L from 32K/τ_L²
    ln(...), the lemma's."""
    # Of K 1{a = 0} · v, a uniform, at K = 3
    loss, value = (statistics.pvariance([3 * v, 0, 0]) for v in (4, 2))
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
            off = samples.bernstein(inside, p.n_train, accuracy, spread, span)
            worst = max(worst, off)
        # The lemma's n = 32K ln/τ_L²: √(2·16K ln/n) + 4K ln/(3n), over τ_L.
        draws = 32 * k / p.tau_L**2
        root = Fraction(2 * 16 * k) / draws / p.tau_L**2  # a square, of 1
        lemma = min(lemma, root + Fraction(4 * k, 3) / draws / p.tau_L)
    return Evidence(
        # 1/√2 for τ_V: √(2·4K/16K)
        loss > 4 * 3 and value > 2 * 3 and 0.7 <= worst <= 1 < lemma,
        f"K = 3: variances {loss} > 12 and {value} > 6; deviations at most "
        f"{worst:.3g} of τ_L and τ_V, by the lemma's draws (1 + "
        f"{float(lemma - 1):.1g}) τ_L",
    )


@paper("two-sample-constants", "Lemma on MetaAlg (its constants)", EXACT, "15")
def _constants() -> Evidence:
    """dfslearn's policy sums run over the learned sets, up to T_max, and its loss sums
    over the val sets, up to M. So τ_V = ε²/(2⁸3⁴ M H⁴ T_max) and τ_L = ε²/(2⁷3² H⁴ M)
    bring the loss below ε/8; the printed τ_V = ε²/(2⁸3⁴M²H⁴), τ_L = ε²/(2⁷3²H⁴T_max) do
    not for any δ ≤ 1/2: the proof's bound can exceed ε."""
    worst, shares = Fraction(0), []
    for sizes in itertools.product(
        (0.01, 0.3, 0.99), (_DELTA, 0.5), (1, 3, 50), (1, 4, 50), (1, 3, 50)
    ):
        right = TwoSampleTheoremParameters(*sizes, 1.0, 1.0)
        wrong = TwoSampleTheoremParameters(*sizes, 1.0, 1.0, version="paper")
        e, h4 = right.eps, 2**7 * 3**2 * right.H**4
        stated = e**2 / (2 * 3**2 * right.M * right.T_max * h4), e**2 / (h4 * right.M)
        if (right.tau_V, right.tau_L) != stated:
            raise Refuted(f"τ_V, τ_L = {right.tau_V}, {right.tau_L} for {stated}")
        worst = max(worst, right.policy_bound / e, right.estimate_bound / e)
        shares.append(wrong.policy_bound / wrong.eps)
    least, most = min(shares), max(shares)
    return Evidence(
        worst <= Fraction(1, 8) < least and most > 1,
        f"{len(shares)} problems: corrected at most {float(worst):.4f} ε; printed "
        f"{float(least):.2f} ε to {float(most):.0f} ε",
    )


@paper("two-sample-outvoted", "Proposition on learned values (as printed)", EXACT, "15")
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
    chosen = unguard(run.policy_step(2, ()))(np.array([1])).tolist()
    lost = found.loss if chosen == [1] else Fraction(0)
    printed, right = 2 * p.M * p.tau_V, p.loss_bound(2)
    return Evidence(
        inside and len(run.learned[1]) <= p.T_max and printed < lost <= right,
        f"{len(run.learned[1])} sets inside event E; loses {float(lost):.3g}, printed "
        f"bound {float(printed):.3g}, corrected {float(right):.3g}",
    )


def _largest_deviations(
    made: Problem, data: EmpiricalMeasure, path: Path
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


@paper(
    "two-sample-trajectories", "Theorem on sample complexity (its rate)", EXACT, "14"
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
            holds &= abs(power - exponent) < 1e-3 and exponent >= stated[name]
        powers = " ".join(f"{name}^{power:.1f}" for name, power in found.items())
        text.append(f"{version} at M = {states:g}: {powers}".replace("ε^", "(1/ε)^"))
    return Evidence(holds, "logarithms divided out, " + "; ".join(text))


def exponents(version: Literal["theorem", "paper"], states: int) -> dict[str, float]:
    """Exponents of H T_max n_train in M, K, H and 1/ε, between large sizes.

    Logarithms, ln(4MH/δ) in n_exp to its power and that of n_train, are divided
    out; the power of the first is that of T_max in the sum: as printed 2 where 2/τ_L²
    outweighs 1/τ_V².
    """
    base = {"M": states, "K": 10**6, "H": 10**6, "ε": 10**6}

    def logarithm(sizes: dict[str, int]) -> float:
        m, k, h, inverse = sizes.values()
        given = Fraction(1, inverse), _DELTA, m, k, h, 0.0, 0.0
        p = TwoSampleTheoremParameters(*given, version=version)
        inner = Fraction(math.log(4 * m * h / _DELTA))
        outer = Fraction(math.log(12 * h * p.T_max / _DELTA))
        power = 2 if version == "theorem" or 2 / p.tau_L**2 > 1 / p.tau_V**2 else 0
        product = h * (p.T_max / inner) * (p.n_train / outer / inner**power)
        return math.log2(product.numerator) - math.log2(product.denominator)

    return {
        name: logarithm(base | {name: 2 * size}) - logarithm(base)
        for name, size in base.items()
    }


@paper("two-sample-end", "Algorithm 5 (dfslearn)", EXACT, "16")
def _end() -> Evidence:
    """As printed dfslearn has no end: below the last level there is no data set to
    compare with, the minimum is infinite, and each call adds its data set and descends.
    Returning at level H+1 ends it."""
    deepest = printed_depth(limit=200)
    made = unlearned()
    horizon = made.environment.horizon
    p = TwoSampleTheoremParameters(Fraction(3, 10), _DELTA, *samples.problem(made))
    result = two_sample(*samples.parts(made), p, np.random.default_rng(0))
    ended = result.succeeded and len(result.learned) == horizon
    return Evidence(
        deepest == 200 and ended,
        f"as printed it passes {deepest} levels beyond H; with the return a run over "
        f"H = {horizon} levels ends: {result.status}",
    )


def printed_depth(limit: int) -> int:
    """Follow the printed dfslearn below level H, G = {0}, and stop at a limit."""
    sets = [0] * limit  # data sets of each level beyond H

    def dfslearn(depth: int) -> int:
        if depth == limit:
            return depth
        distance = 0.0 if sets[depth] else math.inf  # all functions agree: 0
        if distance <= 0:
            return depth  # is_recursive_call
        sets[depth] += 1
        return dfslearn(depth + 1)  # the first action

    return dfslearn(0)
