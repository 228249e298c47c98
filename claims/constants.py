"""Constants: are those stated enough, and what do accuracies add up to?

By Hoeffding's, Bernstein's and union bounds, for several algorithms; each entry is on
its algorithm's page.
"""

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np

from ..algorithms.baselines.backwards import (
    BACKUP,
    FQI,
    PSDP,
    BatchParameters,
    theorem_parameters,
)
from ..algorithms.baselines.rmax import rmax_theorem
from ..algorithms.classes import (
    FiniteValueClass,
    TabularPolicyClass,
    TabularValueClass,
    ValueClass,
    ValueClassByLevel,
)
from ..algorithms.environments import make
from ..algorithms.exact.arrays import object_array
from ..algorithms.learning.draw_classes import make_classes
from ..algorithms.learning.monitors import largest_value_deviation
from ..algorithms.learning.problem import Problem
from ..algorithms.lsvee.parameters import LsveeTheorem, Sizes
from ..algorithms.olive import parameters as olive
from ..algorithms.valor.parameters import (
    CONSTRAINED,
    VALOR,
    PracticalParameters,
    TheoremParameters,
    ValorParameters,
)
from . import DRAWN, EXACT, MONITORED, Evidence, Refuted, claims_of
from .baselines import LSVEE_SOURCE, OWN
from .instances import amplified, functions
from .samples import bernstein, hoeffding, loss
from .valor import SOURCE, accurate, learned

valor_paper = claims_of(SOURCE, "valor")
section = claims_of("paper, section VALOR", "valor")
lsvee_analysis = claims_of(LSVEE_SOURCE, "lsvee")
after_bound = claims_of("paper, section VALOR, after the PAC bound", "lsvee")
_DELTA = Fraction(1, 10)


@claims_of(OWN, "baselines")("baseline-constants", "the sizes", EXACT)
def _baselines() -> str:
    """The stated sizes are enough. By Hoeffding's inequality and a union bound the data
    of PSDP give policy values (range K), those of fitted Q iteration and of Bellman
    backups squared losses (range 6K), with probability 1 - δ within accuracies that
    bring the losses of the other entries to at most ε, and of PSDP and fitted Q
    iteration to at least 9ε/10; and with m visits of R-max the error of a known pair
    in reward plus next value is at most ε/(4H), and at least 9/10 of it."""
    compared, classes, delta = 0, {"log_G": 3.0, "log_Pi": 9.0}, 0.1
    sizes = ((1, 1, 1), (2, 2, 3), (5, 3, 2), (3, 4, 6))
    for (m, k, h), eps in itertools.product(sizes, (0.02, 0.5)):
        for name in (PSDP, FQI, BACKUP):
            p = theorem_parameters(name, eps, delta, M=m, K=k, H=h, **classes)
            least = 0.9 if name != BACKUP else 0.15 if h > 1 else 0.002
            if not least * eps <= _batch_loss(p, delta, **classes) <= eps:
                raise Refuted(f"{name}, M = {m}, K = {k}, H = {h}: n = {p.n}")
        r = rmax_theorem(eps, delta, X=m, K=k, H=h)
        inside = m * math.log(2) + math.log(8 * m * k * h / delta)
        near = math.sqrt(4 * inside / r.m)  # Hoeffding's inequality, maximal form
        if not 0.9 <= near * 4 * h / eps <= 1 or r.patience * 4 != r.n * r.eps:
            raise Refuted(f"R-max, X = {m}, K = {k}, H = {h}: m = {r.m}")
        compared += 4
    return f"{compared} sets of sizes, by the bounds of the other entries"


def _batch_loss(p: BatchParameters, delta: float, log_G: float, log_Pi: float) -> float:
    """Bound V* - V^π̂, where deviations are as Hoeffding's inequality has them."""
    logs = {PSDP: log_Pi, FQI: log_G, BACKUP: log_G + log_Pi}[p.algorithm]
    sets = {PSDP: 4 * p.H, FQI: 4 * p.H * p.K, BACKUP: 8 * p.M * p.H}[p.algorithm]
    width = p.K if p.algorithm == PSDP else 6 * p.K
    off = width * hoeffding(math.log(sets / delta) + logs, p.n, 1)
    gap = (1 - 1e-9) * (2 * off + float(p.eps_sub))  # rounding of logarithms
    levels = range(1, p.H + 1)
    if p.algorithm == PSDP:
        return gap * sum(float(p.K ** (h - 1)) for h in levels)
    if p.algorithm == FQI:
        return 2 * sum(h * math.sqrt(p.K**h * gap) for h in levels)
    worst = p.M * gap  # all of it may be in one of the states, equally weighted
    return sum(worst + 2 * (h - 1) * math.sqrt(worst) for h in levels)


@after_bound(
    "lsvee-exponents",
    "(VALOR is worse in M, H and ε; its constrained form better)",
    EXACT,
)
def _exponents() -> Evidence:
    """Up to logarithms the trajectories grow like M H⁶K²/ε³ for LSVEE, M³H⁸K/ε⁵ for
    VALOR and M H⁶K/ε³ for its constrained form: VALOR is worse in M, H and ε, and the
    constrained form better by a factor of K, which its larger constants outweigh for
    small K."""
    wanted = {"lsvee": (1, 6, 2, 3), VALOR: (3, 8, 1, 5), CONSTRAINED: (1, 6, 1, 3)}
    worst = max(
        abs(_slope(name, variable) - exponent)
        for name, exponents in wanted.items()
        for variable, exponent in zip("MHKε", exponents, strict=True)
    )
    counts = (2, 1024)
    smaller = [k for k in counts if _bound(CONSTRAINED, K=k) < _bound("lsvee", K=k)]
    return Evidence(
        worst < 0.1 and smaller == [1024],
        f"slopes from 10^40 to 10^41 differ from the exponents by {worst:.2f} at most; "
        f"of K in {counts} the constrained bound is smaller for {smaller}",
    )


def _bound(name: str, **changed: Any) -> int:
    """Trajectories at ε = 0.3, δ = 0.1, M = 2, K = 2, H = 3, 64 functions."""
    p = {"ε": Fraction(3, 10), "M": 2, "K": 2, "H": 3} | changed
    sizes = p["ε"], _DELTA, p["M"], p["K"], p["H"]
    logs = math.log(64), math.log(64)
    if name == "lsvee":
        return LsveeTheorem(*sizes, 64).trajectory_bound
    return TheoremParameters(*sizes, *logs, name).trajectory_bound


def _slope(name: str, variable: str) -> float:
    """Decimal logarithm of how the bound grows when a variable does, tenfold."""
    sizes = (10**40, 10**41)
    values = [Fraction(1, n) if variable == "ε" else n for n in sizes]
    first, second = (math.log10(_bound(name, **{variable: v})) for v in values)
    return second - first


@lsvee_analysis("lsvee-constants", "(do the constants suffice?)", EXACT)
def _lsvee() -> Evidence:
    """With tests accurate to φ/2 and Bernstein's inequality (variance of the excess
    loss at most 9 times its mean, range 5), the recalled n_test, n_train and slack keep
    Q* and bound the errors of survivors by 5φ/2; the tolerance then passes learned
    states; acceptance within ε/2 loses at most ε, and a rejected policy reaches an
    unlearned state with probability at least ε/8. Failure probabilities, with n_2 paths
    that must find that state, add up to at most δ."""
    made = [
        LsveeTheorem(eps, _DELTA, m, k, h, n)
        for eps in (0.5, 0.05)
        for m, k, h, n in ((1, 1, 1, 1), (2, 2, 3, 64), (1, 3, 2, 5), (9, 4, 9, 10**6))
    ]
    margins = [_margins(p, sizes) for p in made for sizes in (p.first, p.on_demand)]
    # In units of ε: accuracy of values at the start, of the policy, of estimates.
    checks = []
    for h in range(1, 200):
        p = LsveeTheorem(0.5, _DELTA, 1, 1, h, 1)
        start, policy = p.tolerance(0) / p.eps, 3 * h * p.phi / p.eps
        # V* ≤ V^f + start and V^f ≤ V̂* + 1/8, V̂* ≤ V̂ + 1/2, V̂ ≤ V^π + 1/8
        checks.append(start + Fraction(1, 8) + Fraction(1, 2) + Fraction(1, 8) <= 1)
        # rejected: V^π ≤ V̂ + 1/8 < V̂* - 1/2 + 1/8 ≤ V^f0 - 1/4 ≤ V^f + start - 1/4
        checks.append(Fraction(1, 4) - start - policy >= Fraction(1, 8))
    failure = max(_lsvee_failure(p) / float(_DELTA) for p in made)
    least = [float(min(column)) for column in zip(*margins, strict=True)]
    return Evidence(
        min(min(m) for m in margins) > 0 and all(checks) and failure <= 1 + 1e-9,
        f"sizes of {len(margins)} calls: slack {least[0]:.2f}φ² beyond what Q* needs; "
        f"errors of 5φ/2 show as {least[1]:.2f}φ² more than survivors may have; the "
        f"tolerance exceeds what must pass by {least[2]:.2f}√Kφ; H up to 199; failure "
        f"at most {failure:.3f} δ",
    )


def _margins(p: LsveeTheorem, sizes: Sizes) -> tuple[Fraction, Fraction, Fraction]:
    """Compute what the sizes of a call leave over; roots are rounded against them."""
    phi = 2 * sizes.accuracy
    rate, slack = sizes.rate / phi**2, sizes.slack / phi**2
    excess = Fraction(1, 4)  # of Q*, from V̂ being off by φ/2
    optimal = excess + _root_up(18 * excess * rate) + Fraction(5, 3) * rate
    # The least an empirical excess can be: min over e of e - √(18 e rate) - 5/3 rate.
    keeps = slack - (optimal + Fraction(9, 2) * rate + Fraction(5, 3) * rate)
    largest = Fraction(25, 4)
    shown = largest - _root_up(18 * largest * rate) - Fraction(5, 3) * rate
    # What a learned state may differ by, 5√Kφ, comes on top of the next tolerance.
    steps = [p.tolerance(h) - p.tolerance(h + 1) for h in range(p.H)]
    step = min(steps) / (_root_up(Fraction(p.K)) * phi)
    return keeps, shown - (optimal + slack), step - 6


def _lsvee_failure(p: LsveeTheorem) -> float:
    """Union bound over everything that must not happen."""

    def call(sizes: Sizes) -> float:
        """One call of DFS-learn from outside: M H K tests, M H eliminations."""
        tests = p.K * 2 * p.N * math.exp(-2 * sizes.n_test * float(sizes.accuracy) ** 2)
        fits = 4 * p.N * math.exp(-sizes.n_train * float(sizes.rate))
        return p.M * p.H * (tests + fits)

    rejected = p.M * (p.H - 1)
    accuracy = float(p.eps) / 8
    on_demand = rejected * (p.H - 1) * p.n_exp * call(p.on_demand)
    missed = rejected * (1 - accuracy) ** p.n_exp
    # V̂* and one evaluation more than there are rejections
    estimates = (rejected + 2) * 2 * math.exp(-2 * p.n_eval * accuracy**2)
    return call(p.first) + on_demand + missed + estimates


def _root_up(value: Fraction) -> Fraction:
    bits = 2**40
    return Fraction(math.isqrt(math.ceil(value * bits**2)) + 1, bits)


@claims_of("Jiang et al. 2017", "olive")(
    "olive-constants", "parameters of Theorem 1 (recalled)", EXACT
)
def _olive() -> Evidence:
    """The recalled constants are those that the proof needs: 5ε/8 + ε/8 + 2·ε/8 = ε; a
    round's own error, 5ε/(8H) − ε/(8H), is 3√M times what pairs left can have, 2φ; and
    the limit on the rounds is the volume argument's for ζ/(2φ)."""
    worst, epsilon = 0.0, Fraction(3, 10)
    for m, h in itertools.product((1, 2, 7), (1, 4, 9)):
        p = olive.theorem_parameters(
            0.3, 0.1, horizon=h, n_actions=2, rank=m, log_size=3.0
        )
        own = p.stop / h - epsilon / (8 * h)
        volume = m * math.log(math.sqrt(m) / float(p.tolerance)) / math.log(5 / 3)
        for ratio in (
            float((p.stop + 3 * epsilon / 8) / epsilon),
            float(own / (2 * p.tolerance)) / (3 * math.sqrt(m)),
            volume / olive.rounds_of_a_level(0.3, horizon=h, rank=m),
        ):
            worst = max(worst, abs(ratio - 1))
    same = worst < 1e-6
    text = "all equal within 1e-6" if same else f"relative difference {worst:.1e}"
    return Evidence(same, f"9 pairs of M and H: {text}")


@section("valor-bias-is-linear", "What is new compared to LSVEE", EXACT)
def _bias() -> Evidence:
    """The bias of values adds up over levels and does not multiply: the lemmas'
    recursion, a learned state's error at most the largest of V_a's plus ε_stat + ε_sub
    and V_a's at a pruned one φ_{h+1} + 3ε_stat + ε_feas + ε_sub, gives φ_h - 2ε_stat,
    (H-h+1)(6ε_stat + 2ε_sub + ε_feas) less 2ε_stat. On the instance where fitted Q
    iteration's errors grow by 3/2 a level (claim `backup-barrier-q-functions`) VALOR
    keeps that bound at 26 levels."""
    for horizon in (1, 2, 7, 60):
        p = accurate((3, 3, horizon), 10**9, Fraction(1, 50))
        step = 6 * p.eps_stat + 2 * p.eps_sub + p.eps_feas
        worst = Fraction(0)  # of V_a past the last level
        for levels in range(1, horizon + 1):
            worst += p.eps_stat + p.eps_sub
            if worst > levels * step - 2 * p.eps_stat:
                raise Refuted(f"H = {horizon}, {levels} levels: {worst}")
            pruned = p.phi(horizon - levels + 1)
            pruned += 3 * p.eps_stat + p.eps_feas + p.eps_sub
            worst = max(worst, pruned)
    horizon = 26
    p = accurate((4, 4, horizon), 10**9, Fraction(1, 1000))
    result, errors = learned(amplified(horizon), p)
    kept = all(error <= p.phi(h) - 2 * p.eps_stat for h, error in errors.items())
    grown = float(p.eps_stat) * 1.5 ** (horizon - 1)
    return Evidence(
        result.succeeded and kept,
        f"the recursion, exactly, for H up to 60; at H = {horizon} stored values are "
        f"off by {float(max(errors.values())):.1g} at most, where ε_stat = "
        f"{p.eps_stat} allows {float(p.phi(1)):.2g} at the start; factors of 3/2 would "
        f"make {grown:.2g} of it",
    )


@section(
    "valor-infinite-classes",
    "remark after the PAC bound (Natarajan and pseudo-dimension)",
    DRAWN,
)
def _infinite() -> Evidence:
    """Finite classes are not needed: for G = all functions to [0, 1] of |X|
    observations, infinite, of pseudo-dimension |X|, the largest deviation of a data set
    is that of the 2^|X| functions to {0, 1}; for all policies, of Natarajan dimension
    |X|, there are K^|X|. So |X| ln 2 and |X| ln K stand for ln |G| and ln |Π|, and the
    trajectories grow linearly in them. (For other infinite classes: standard tools,
    Jiang et al. 2017, section 5.3, assumed.)"""
    rng, compared = np.random.default_rng(0), 0
    for size in (1, 2, 4, 7):
        corners = FiniteValueClass(list(itertools.product((0.0, 1.0), repeat=size)))
        for _ in range(5):
            counts = rng.integers(1, 51, size)
            shares, truth = rng.multinomial(64, counts / counts.sum()), counts.tolist()
            pairs = zip(shares.tolist(), truth, strict=True)
            off = object_array(
                [Fraction(a, 64) - Fraction(b, sum(truth)) for a, b in pairs]
            )
            largest = largest_value_deviation(TabularValueClass(size), off)
            listed = largest_value_deviation(corners, off)
            inner = max(abs(float((g * off).sum())) for g in rng.random((50, size)))
            if largest is None or listed is None or largest < inner - 1e-12:
                raise Refuted(f"|X| = {size}: {largest}, inside {inner}")
            if abs(largest - listed) > 1e-12:
                raise Refuted(f"|X| = {size}: {largest}, listed {listed}")
            compared += 1
    bounds = []
    for size in (10**6, 2 * 10**6, 3 * 10**6):
        logs = (
            TabularValueClass(size).log_size(),
            TabularPolicyClass(size, 3).log_size(),
        )
        parameters = TheoremParameters(0.3, 0.1, 3, 3, 3, *logs)
        bounds.append(parameters.trajectory_bound)
    first, second = bounds[1] - bounds[0], bounds[2] - bounds[1]
    off_line = abs(second / first - 1)
    return Evidence(
        off_line < 1e-9 and bounds[1] < 2 * bounds[0],
        f"{compared} data sets over 1 to 7 observations; trajectories at |X| = 1, 2, 3 "
        f"million are on a line within {max(off_line, 1e-12):.0e}",
    )


@section(
    "valor-approximate-realizability",
    "remark after the PAC bound ('we further expect')",
    MONITORED,
)
def _approximate() -> Evidence:
    """If G has a function within θ of g* instead of g*, and Π has π*, VALOR keeps its
    accuracies with ε_stat + θ in place of ε_stat: a data set's mean of that function is
    then within ε_stat + θ of V*, which is all that its lemmas use of g*. With ε_stat as
    it was the consensus program can be infeasible. (An approximate π* is not covered.)
    """
    theta, fine = Fraction(1, 100), Fraction(1, 10_000)
    runs, good, stopped, largest = 6, 0, 0, 0.0
    for seed in range(runs):
        env = make("random-finite", seed, states=3, actions=2, horizon=3)
        rng = np.random.default_rng([seed, 1])
        levels: list[ValueClass] = [TabularValueClass(env.space(1).n_codes or 0)]
        for h in (2, 3):
            values = np.array(env.truth.values(h), dtype=object)
            signs = np.where(values > Fraction(1, 2), -1, 1)  # stays in [0, 1]
            near = values + signs * theta
            levels.append(functions(near, *[rng.permutation(near) for _ in range(7)]))
        policies = make_classes(env, "tabular", rng)[1]
        made = Problem(env, ValueClassByLevel(levels), policies)
        wide = accurate((3, 2, 3), 10**9, fine + theta)
        result, errors = learned(made, wide)
        kept = all(e <= wide.phi(h) - 2 * wide.eps_stat for h, e in errors.items())
        good += result.succeeded and kept and loss(made, result) <= wide.eps
        largest = max(largest, *map(float, errors.values()))
        narrow = accurate((3, 2, 3), 10**9, fine)
        stopped += learned(made, narrow)[0].event_failed
    return Evidence(
        good == runs and stopped > 0,
        f"θ = {theta}, ε_stat = {fine}: {good} of {runs} runs as accurate as with "
        f"{fine + theta}, values off by {largest:.2g} at most; with {fine} alone "
        f"{stopped} of {runs} meet an infeasible program",
    )


@valor_paper("valor-constants", "Table 1, Lemma 1 and Lemma on MetaAlg", EXACT)
def _valor() -> Evidence:
    """The constants of both forms are enough. Bernstein's inequality with variance 4K
    and range 2K (r + V_a reaches 2; the printed 2K is for r + V_a ≤ 1) and Hoeffding's
    give deviations within ε_stat from n_train and n_test, all of them together with
    probability 1 - δ/2. Then values are within ε/8, the policy loses at most ε/8 where
    all is learned, n_exp paths of a rejected policy reach an unlearned state and n_eval
    give its value within ε/8 in all M H iterations but with probability δ/2: an
    accepted policy loses at most 3ε/4 with probability 1 - δ."""
    grid = [
        (TheoremParameters(eps, _DELTA, m, k, h, size, size, name), size)
        for name in (VALOR, CONSTRAINED)
        for eps, m, k, h, size in itertools.product(
            (0.01, 0.3, 0.99), (1, 3, 50), (1, 2, 50), (1, 3, 50), (0.0, 8.0)
        )
    ]
    # ε_stat, ε_stat, ε and δ are 1.
    trains, tests, losses, failures = map(
        max, zip(*(_used(*c) for c in grid), strict=True)
    )
    near = 1e-9  # of logarithms; ε/8 and the sizes are exact
    holds = max(trains, tests, failures) <= 1 + near and losses <= Fraction(1, 8)
    return Evidence(
        holds,
        f"{len(grid)} sets of constants: deviations at most {trains:.3g} ε_stat from "
        f"n_train and {tests:.3g} from n_test, values and policies at most "
        f"{float(losses):.3g} ε off where all is learned, failure at most "
        f"{failures:.3g} δ",
    )


def _used(p: ValorParameters, size: float) -> tuple[Any, ...]:
    """What constants leave: deviations over ε_stat, loss over ε, failure over δ.

    The deviations are Bernstein's for K 1{a = π(x)}(r + V_a) from n_train draws and
    Hoeffding's for g(x) from n_test; ``size`` is ln |G| and ln |Π|. The loss is that of
    V at the start, or of the policy where all states are learned.
    """
    stat, sub, feas = p.eps_stat, p.eps_sub, p.eps_feas
    sets = p.H * p.T_max  # of data, with their means of g and policy values; K as many
    inside = math.log(12 * sets / p.delta)
    trains = bernstein(inside + 2 * size, p.n_train, stat, 4 * p.K, 2 * p.K)
    tests = hoeffding(math.log(12 * p.K * sets / p.delta) + size, p.n_test, stat)
    policy = 32 * p.H**2 * (stat + sub + feas)
    if p.algorithm == VALOR:
        policy = 2 * p.H**2 * p.T_max * (7 * stat + 3 * sub + 2 * feas)
    accuracy = float(p.eps) / 8
    wrong = 2 * math.exp(size - float(2 * p.n_test * stat**2))
    event = sets * 4 * math.exp(-inside) + p.K * sets * wrong
    missed = (1 - accuracy) ** p.n_exp
    estimates = 2 * math.exp(-2 * p.n_eval * accuracy**2)
    failure = event + p.M * p.H * (missed + estimates)
    return (
        trains,
        tests,
        max(p.phi(1) - 2 * stat, policy) / p.eps,
        failure / float(_DELTA),
    )


@valor_paper("valor-n-exp", "Algorithm 1", EXACT, "12")
def _n_exp() -> Evidence:
    """n_expl is n_exp; the paths explored are those of the first n_exp of the n_eval
    trajectories, so n_exp ≤ n_eval is needed; at the theorem's constants it holds
    because 32 ln(8MH/δ)/ε² > 8 ln(4MH/δ)/ε."""
    refused = False
    try:
        PracticalParameters(0.3, 0.1, 2, 2, 2, n_exp=5, n_eval=4)
    except ValueError as error:
        refused = "n_exp" in str(error)
    shares = (0.01, 0.5, 0.99)
    grid = [
        TheoremParameters(eps, delta, m, 2, h, 1.0, 1.0)
        for eps, delta, m, h in itertools.product(
            shares, shares, (1, 5, 100), (1, 7, 50)
        )
    ]
    holds = all(p.n_exp <= p.n_eval for p in grid)
    return Evidence(
        refused and holds, f"{len(grid)} sets of constants; free ones are refused"
    )


@valor_paper("valor-hoeffding", "proof of the Lemma on event E", EXACT, "13")
def _hoeffding() -> Evidence:
    """Centred values of functions into [0, 1] have moment generating function at most
    exp(λ²/8), which gives the stated deviation √(ln(2K|G|/δ')/(2 n_test)). The printed
    exp(λ²/2) gives twice that."""
    worst = 0.0
    for p, rate in itertools.product(np.linspace(0.01, 0.99, 99), range(-80, 81)):
        if rate:
            x = rate / 10
            moment = p * math.exp(x * (1 - p)) + (1 - p) * math.exp(-x * p)
            worst = max(worst, 8 * math.log(moment) / x**2)
    # Chernoff with exp(c λ²): the deviation is 2 √(c ln(2/δ)/n).
    stated = math.sqrt(math.log(2 / 0.1) / (2 * 1000))
    deviations = [2 * math.sqrt(c * math.log(2 / 0.1) / 1000) for c in (1 / 8, 1 / 2)]
    return Evidence(
        worst <= 1 + 1e-12
        and math.isclose(deviations[0], stated)
        and math.isclose(deviations[1], 2 * stated),
        f"8 ln E[exp(λY)]/λ² ≤ {worst:.6f} over 15,840 Bernoulli cases (the extremes "
        f"of [0,1]); deviation {deviations[0]:.4f} as stated, {deviations[1]:.4f} "
        "from exp(λ²/2)",
    )
