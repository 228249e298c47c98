"""VALOR.

Its lemmas, propositions and theorems, its constants, and what the paper remarks of it.
Runs are monitored at the theorem's constants, on random environments in which every
state has to be learned and on instances at the edge of the consensus test, with seeds
0, 1, 2, ...
"""

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from ..algorithms.classes import (
    FiniteValueClass,
    TabularPolicy,
    TabularPolicyClass,
    TabularValueClass,
    ValueClassByLevel,
)
from ..algorithms.classes.protocols import ValueClass, action_weights
from ..algorithms.environments import from_lists, make
from ..algorithms.exact.arrays import object_array
from ..algorithms.learning.draw_classes import ClassKind, make_classes
from ..algorithms.learning.events import Triple
from ..algorithms.learning.monitors import largest_value_deviation
from ..algorithms.learning.problem import LearningResult, Problem
from ..algorithms.oracles.ledger import unguard
from ..algorithms.valor.algorithm import (
    constrained_step,
    pooled_step,
    valor,
    valor_constrained,
)
from ..algorithms.valor.parameters import (
    CONSTRAINED,
    VALOR,
    PracticalParameters,
    TheoremParameters,
    ValorParameters,
)
from ..algorithms.valor.review import ValorMonitors
from . import DRAWN, EXACT, MONITORED, Evidence, Refuted, claim, claims_of, samples
from .instances import (
    amplified,
    coin,
    disagreeing,
    half_hidden,
    late_discovery,
    sacrificed,
    wrongly_pruned,
)

SOURCE = "paper, section VALOR and appendix Analysis of VALOR"
paper = claims_of(SOURCE)
ALTERNATIVES = "appendix Alternative Algorithms"
_EPSILON, _DELTA = 0.3, 0.1


def _run(name: str, made: Problem, seed: int) -> samples.Run[TheoremParameters]:
    parameters = TheoremParameters(_EPSILON, _DELTA, *samples.problem(made), name)
    learn = valor if name == VALOR else valor_constrained
    return samples.monitored(learn, made, parameters, ValorMonitors, seed, kept=Triple)


@samples.made_once
def _runs(name: str) -> tuple[samples.Run[TheoremParameters], ...]:
    """Run on random environments, tabular and finite classes, and a pruned one."""
    found = []
    kinds: tuple[ClassKind, ...] = ("tabular", "finite")
    for seed in samples.seeds(6):
        env = make("random-finite", seed, states=3, actions=3, horizon=3)
        for kind in kinds:
            rng = np.random.default_rng([seed, 1])
            made = Problem(env, *make_classes(env, kind, rng))
            found.append(_run(name, made, seed))
        found.append(_run(name, wrongly_pruned(), seed))
    found += [_run(name, made, 0) for made in _at_the_edge(name)]
    return tuple(found)


def _limits(name: str, made: Problem) -> tuple[Fraction, Fraction]:
    """φ_2, and what a consensus test at level 2 of H = 2 lets pass, as printed."""
    p = TheoremParameters(_EPSILON, _DELTA, *samples.problem(made), name)
    phi = 6 * p.eps_stat + 2 * p.eps_sub + p.eps_feas
    return phi - p.eps_stat, 2 * phi + 4 * p.eps_stat + 2 * p.eps_feas


def _at_the_edge(name: str) -> Iterator[Problem]:
    """Yield instances on which the numbers of the consensus test decide.

    Functions that differ by as much as it lets pass, or by half as much again, and two
    that a learned state allows, which a second visit must let pass.
    """
    zero, far = Fraction(0), Fraction(2, 5)
    pair = _limits(name, disagreeing([zero, far]))[1] * Fraction(999, 1000)
    yield disagreeing([zero, pair])
    yield disagreeing([zero, -pair])
    yield disagreeing([zero, pair * Fraction(3, 2)])
    near = _limits(name, disagreeing([zero, far, far, far], one_state=True))[0]
    yield disagreeing([zero, near, -near, far], one_state=True)


def _results(*algorithms: str) -> list[LearningResult]:
    """Both forms' runs, or those of the ones named."""
    names = algorithms or (VALOR, CONSTRAINED)
    return [run.result for name in names for run in _runs(name)]


@paper("valor-event-e", "Lemma on event E", MONITORED)
def _event() -> Evidence:
    """With n_test and n_train of Table 1 the deviation bounds of all dfslearn calls
    hold together with probability at least 1 - δ/2, and then there are at most T_max =
    M H n_exp + M calls a level and no descent into a learned state. The suprema over
    tabular classes are exact (they are at 0/1 functions). The runs show a smaller
    probability, which their evidence states; that it is 1 - δ/2 rests on the union
    bound (claim `valor-constants`)."""
    inside = samples.mostly(_results(), "event", "inside E", 1 - _DELTA / 2)
    return inside & samples.held(_results(), "dfslearn-calls", "no-relearning")


@paper(
    "valor-accuracy",
    "Lemmas on error propagation and on not recursing, Proposition on the accuracy "
    "of learned values",
    MONITORED,
)
def _accuracy() -> Evidence:
    """In event E every stored triple has |V - V*(s)| ≤ φ_h - 2ε_stat and |V_a -
    V*(s∘a)| ≤ φ_{h+1} + 3ε_stat + ε_feas + ε_sub, and g* is feasible for the consensus
    programs at all times."""
    for name in (VALOR, CONSTRAINED):
        learned = [run.result.learned[1] for run in _runs(name)[-4:]]
        if learned != [0, 0, 1, 1]:
            raise Refuted(f"{name}: states learned at the edge of the test: {learned}")
    names = ("value-accuracy", "future-accuracy", "gstar-feasible", "feasible")
    return samples.held(_results(), *names)


@paper("valor-suboptimality-sum", "Lemma 4.3 of Ross and Bagnell as restated", EXACT)
def _suboptimality() -> str:
    """V* - V^π is the expected sum over levels of V*(s_h) - Q*(s_h, π_h)."""
    compared = 0
    for seed in range(10):
        env = make("random-finite", seed, states=3, actions=3, horizon=4)
        truth, rng = env.truth, np.random.default_rng(seed)
        sizes = [env.space(h).n_codes or 0 for h in range(1, 5)]
        tables = [rng.integers(3, size=n) for n in sizes]
        policies = [TabularPolicy(table) for table in tables]
        # The gap of a hidden state, and what the policy does there.
        total = Fraction(0)
        here: dict[tuple[int, ...], Fraction] = {(): Fraction(1)}
        for h, table in enumerate(tables, start=1):
            ahead: dict[tuple[int, ...], Fraction] = {}
            q = truth.q_values(h)
            for path, chance in here.items():
                shares = truth.observation_probabilities(path)
                for x in np.flatnonzero(shares):
                    weight, a = chance * shares[x], int(table[x])
                    total += weight * (q[x].max() - q[x, a])
                    child = (*path, a)
                    ahead[child] = ahead.get(child, Fraction(0)) + weight
            here = ahead
        compared += 1
        if total != truth.optimal_value - truth.policy_value(policies):
            raise Refuted(f"seed {seed}: {total}")
    return f"equal for {compared} random policies, exactly"


@claim(
    "valor-unlearned-share",
    f"{SOURCE} and {ALTERNATIVES}, proofs of the Propositions on the pooled, "
    "the constrained and the two-sample policy",
    EXACT,
    "27",
)
def _unlearned_share() -> Evidence:
    """V* - V^π̂ ≤ p_ul + Σ_h (what π̂_h loses at most in a learned state). Printed
    first with a factor 1 - p_ul before the sum, which is false: a state's loss is a
    mean over its observations, and those that lead on to learned states can have all of
    it. The next line drops the factor, so nothing else changes."""
    half = Fraction(1, 2)
    unpaid, shown = {"x": [0, 0], "y": [0, 0]}, {"x": half, "y": half}
    env = from_lists(
        [
            [("s0", shown, unpaid, ["new", "known"])],
            [
                ("new", {"z": 1}, {"z": [0, 1]}, []),
                ("known", {"w": 1}, {"w": [Fraction(4, 5), 0]}, []),
            ],
        ],
        "unlearned-share",
    )
    # At x into the state that is not learned, where all is lost; at y past it.
    root = TabularPolicy(np.array([0, 1]))
    truth, policies = env.truth, [root, TabularPolicy(np.array([0, 0]))]
    lost = truth.optimal_value - truth.policy_value(policies)
    shares, q = truth.observation_probabilities(()), truth.q_values(1)
    unlearned = shares[0]
    at_root = sum(shares[x] * (q[x].max() - q[x, a]) for x, a in enumerate((0, 1)))
    printed = unlearned + (1 - unlearned) * at_root
    return Evidence(
        printed < lost <= unlearned + at_root,
        f"half of the mass goes to a state not learned, the root loses {at_root} on "
        f"average: {lost} lost, {printed} with the factor, {unlearned + at_root} "
        "without",
    )


@paper("valor-policy", "Proposition on the pooled policy", MONITORED)
def _pooled() -> Evidence:
    """In event E the pooled policy has V^π ≥ V* - p_ul - 2H²T_max(7ε_stat + 3ε_sub +
    2ε_feas), p_ul being the probability that it reaches a state that is not learned."""
    return samples.held(_results(VALOR), "policy-bound")


@paper(
    "valor-policy-constrained",
    "Lemma and Proposition on constrained policy optimisation",
    MONITORED,
)
def _constrained() -> Evidence:
    """In event E π* satisfies the constraints of Algorithm 4, and a policy that
    satisfies them within ε_feas has V^π ≥ V* - p_ul - 32H²(ε_stat + ε_feas + ε_sub);
    the policy may be a mixture, as the oracle gives it."""
    inside = [r for r in _runs(CONSTRAINED) if samples.premises_hold(r.result)]
    margins = [_optimal_margin(run, t) for run in inside for t in run.events]
    if min(margins, default=Fraction(-1)) < 0:
        raise Refuted("π* breaks a constraint in event E")
    found = samples.held(_results(CONSTRAINED), "policy-bound", "feasible")
    text = f"π* meets all {len(margins)} constraints, {found.text}"
    return Evidence(found.holds, text if found.holds else found.text)


def _optimal_margin(run: samples.Run[TheoremParameters], triple: Triple) -> Fraction:
    """By how much π* exceeds what Algorithm 4 asks on a data set; rational.

    E_D[K 1{π*(x) = a}(r + V_a)] - (V - 2φ_h + 4ε_stat + ε_sub), without ε_feas.
    """
    p, data = run.parameters, triple.data
    if data.actions is None:
        raise ValueError("data: actions are missing")
    best = run.made.environment.truth.policy(triple.level)
    chosen = best[data.observations] == data.actions
    futures = np.array(triple.futures, dtype=object)
    gains = data.exact_rewards + futures[data.actions]
    earned = p.K * Fraction((data.weights * gains)[chosen].sum()) / data.total_weight
    asked = triple.value - 2 * p.phi(triple.level) + 4 * p.eps_stat + p.eps_sub
    return earned - asked


@paper(
    "valor-theorem",
    "Theorems on oracle efficiency and PAC bound, both forms",
    MONITORED,
)
def _theorem() -> Evidence:
    """At the theorem's constants both forms return an ε-optimal policy with probability
    1 - δ, within the proof's sum of trajectories, H T_max n_train + K H T_max n_test +
    M H n_eval. (The probability rests on claim `valor-constants`; what the runs alone
    show is in the evidence.)"""
    results = _results()
    for result in results:
        if result.monitors["trajectories"].holds is not True:
            raise Refuted(result.monitors["trajectories"].first)
    good = samples.mostly(results, "epsilon-optimal", "ε-optimal", 1 - _DELTA)
    nominal = [result.trajectories for result in results]
    return Evidence(
        good.holds,
        f"{good.text} (ε = {_EPSILON}, δ = {_DELTA}); {min(nominal):.2g} to "
        f"{max(nominal):.2g} trajectories",
    )


@paper("valor-on-demand", "exploration on demand", EXACT)
def _on_demand() -> Evidence:
    """The identity test can prune a state that was never visited, because all functions
    agree on its value, and leave its policy arbitrary; exploration on demand learns it.
    """
    run = _run(VALOR, wrongly_pruned(), 0)
    good = run.result.monitors["epsilon-optimal"].holds is True
    return Evidence(
        good and run.result.iterations == 2,
        f"{run.result.iterations} iterations, data sets a level {run.result.learned}",
    )


@paper(
    "valor-pooling-sacrifices", "extension with constrained policy optimisation", EXACT
)
def _sacrifice() -> Evidence:
    """Pooling can sacrifice a state with few data sets for small gains on many others;
    the constrained step does not."""
    run = sacrificed(np.random.default_rng(0))
    rare = np.array([1])
    pooled = action_weights(unguard(pooled_step(run, 2)), rare, 2)[0].tolist()
    found = action_weights(unguard(constrained_step(run, 2)), rare, 2)[0].tolist()
    lost = Fraction(found[1], 2 * sum(found))
    return Evidence(
        pooled[0] == 0 and lost <= 2 * run.parameters.phi(2),
        f"at the rare state pooling loses 1/2, constraints {float(lost):.3g}",
    )


@paper("valor-iterations", "three lemmas on MetaAlg", EXACT, "9")
def _iterations() -> Evidence:
    """MetaAlg ends within M H iterations (printed: M K), for each rejected iteration
    learns a state; more than M K can be needed."""
    made, horizon = late_discovery(7), 7
    parameters = _practical(made, n_exp=2)
    result = valor(*samples.parts(made), parameters, _generator())
    printed = parameters.M * parameters.K
    for seed in range(12):
        half = _run(VALOR, half_hidden(), seed).result
        if half.iterations != 2 or half.monitors["progress"].holds is not True:
            raise Refuted(f"seed {seed}: {half.monitors['progress'].first}")
        if not _run(VALOR, coin(), seed).result.succeeded:
            raise Refuted(f"seed {seed}: an optimal policy is rejected")
    return Evidence(
        result.succeeded and printed < result.iterations <= parameters.M * horizon,
        f"M = 2, K = 2, H = {horizon}: {result.iterations} iterations, more than M K = "
        f"{printed} and at most M H = {parameters.M * horizon}",
    )


@paper("valor-calls", "proof of the Theorem on oracle efficiency", MONITORED, "10")
def _calls() -> Evidence:
    """At most 2 T_max H K LP calls (two a consensus test; printed T_max H K) and T_max
    H + M H² CSC calls (H an iteration; printed M H for the policies), or M H² multi
    calls with the constrained step; more than printed can be needed."""
    names = ("csc-calls", "lp-calls", "multi-calls")
    found = samples.held(_results(), *names)
    # As few dfslearn calls a level as T_max allows, so that the count is tight.
    env = make("tabular", 0, states=2, actions=2, horizon=3)
    made = Problem(env, *make_classes(env, "tabular", _generator()))
    result = valor(*samples.parts(made), _practical(made), _generator())
    tests = result.calls["lp"] // 2
    visits = sum(2 * n for n in result.learned[:-1])
    late = late_discovery(7)
    longer = valor(*samples.parts(late), _practical(late, n_exp=2), _generator())
    steps = longer.calls["csc"] - sum(longer.learned)
    printed = 2 * 7
    return Evidence(
        found.holds and tests == visits and steps > printed,
        f"{found.text}; {result.calls['lp']} LPs for {visits} tests; {steps} CSC calls "
        f"for policies where M H = {printed}",
    )


@paper("valor-infeasible", "Lemma on event E (end of its proof)", EXACT, "11")
def _infeasible() -> Evidence:
    """An infeasible consensus program has no value and gives no V_a, so it cannot make
    the test pass (as printed); in event E with g* in G it does not occur, and it is
    reported as a failed event."""
    good = wrongly_pruned()
    wrong = FiniteValueClass([[0.0, 0.0], [0.25, 0.75]])
    values = ValueClassByLevel([TabularValueClass(1), wrong])
    made = Problem(good.environment, values, good.policies)
    result = _run(VALOR, made, 0).result
    never = samples.held(_results(), "feasible")
    return Evidence(
        result.event_failed and result.status == "failure" and never.holds,
        f"without g*: {result.status}, {result.reason}; with it: {never.text}",
    )


def _generator() -> np.random.Generator:
    return np.random.default_rng(0)


def _practical(made: Problem, **chosen: Any) -> PracticalParameters:
    """Accurate data, φ as in the analysis, each path once."""
    sizes = dict.fromkeys(("n_test", "n_train"), 10**13)
    fine = dict.fromkeys(("eps_stat", "eps_sub", "eps_feas"), Fraction(1, 10**5))
    options: dict[str, Any] = {"slack": None, "fall_back": False}
    m_k_h = samples.problem(made)[:3]
    return PracticalParameters(
        _EPSILON, _DELTA, *m_k_h, **sizes | fine | options | chosen
    )


section = claims_of("paper, section VALOR")
_DRAWS = 10**9
_RUNS = 6


@section("valor-bias-is-linear", "What is new compared to LSVEE", EXACT)
def _bias() -> Evidence:
    """The bias of values adds up over levels and does not multiply: the lemmas'
    recursion, a learned state's error at most the largest of V_a's plus ε_stat + ε_sub
    and V_a's at a pruned one φ_{h+1} + 3ε_stat + ε_feas + ε_sub, gives φ_h - 2ε_stat,
    (H-h+1)(6ε_stat + 2ε_sub + ε_feas) less 2ε_stat. On the instance where fitted Q
    iteration's errors grow by 3/2 a level (claim `backup-barrier-q-functions`) VALOR
    keeps that bound at 26 levels."""
    for horizon in (1, 2, 7, 60):
        p = _accurate(3, 3, horizon, Fraction(1, 50))
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
    p = _accurate(4, 4, horizon, Fraction(1, 1000))
    result, errors = _learn(amplified(horizon), p)
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
    bounds = [_bound(size) for size in (10**6, 2 * 10**6, 3 * 10**6)]
    first, second = bounds[1] - bounds[0], bounds[2] - bounds[1]
    off_line = abs(second / first - 1)
    return Evidence(
        off_line < 1e-9 and bounds[1] < 2 * bounds[0],
        f"{compared} data sets over 1 to 7 observations; trajectories at |X| = 1, 2, 3 "
        f"million are on a line within {max(off_line, 1e-12):.0e}",
    )


def _bound(size: int) -> int:
    """Trajectories of VALOR with tabular classes over that many observations."""
    values, policies = TabularValueClass(size), TabularPolicyClass(size, 3)
    sizes = values.log_size(), policies.log_size()
    return TheoremParameters(0.3, 0.1, 3, 3, 3, *sizes).trajectory_bound


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
    good, stopped, largest = 0, 0, 0.0
    for seed in range(_RUNS):
        env = make("random-finite", seed, states=3, actions=2, horizon=3)
        rng = np.random.default_rng([seed, 1])
        levels: list[ValueClass] = [TabularValueClass(env.space(1).n_codes or 0)]
        for h in (2, 3):
            values = np.array(env.truth.values(h), dtype=object)
            signs = np.where(values > Fraction(1, 2), -1, 1)  # stays in [0, 1]
            near = np.array([v + s * theta for v, s in zip(values, signs, strict=True)])
            others = [rng.permutation(near) for _ in range(7)]
            levels.append(FiniteValueClass(np.array([near, *others], dtype=object)))
        policies = make_classes(env, "tabular", rng)[1]
        made = Problem(env, ValueClassByLevel(levels), policies)
        wide = _accurate(3, 2, 3, fine + theta)
        result, errors = _learn(made, wide)
        kept = all(e <= wide.phi(h) - 2 * wide.eps_stat for h, e in errors.items())
        good += result.succeeded and kept and samples.loss(made, result) <= wide.eps
        largest = max(largest, *map(float, errors.values()))
        stopped += _learn(made, _accurate(3, 2, 3, fine))[0].event_failed
    return Evidence(
        good == _RUNS and stopped > 0,
        f"θ = {theta}, ε_stat = {fine}: {good} of {_RUNS} runs as accurate as with "
        f"{fine + theta}, values off by {largest:.2g} at most; with {fine} alone "
        f"{stopped} of {_RUNS} meet an infeasible program",
    )


def _accurate(m: int, k: int, horizon: int, eps_stat: Fraction) -> PracticalParameters:
    """Give data of 10⁹ draws, and φ as in the analysis for an accuracy."""
    sizes = {"n_test": _DRAWS, "n_train": _DRAWS, "slack": None, "fall_back": False}
    fine = dict.fromkeys(("eps_sub", "eps_feas"), Fraction(1, 10**5))
    options: dict[str, Any] = sizes | fine | {"eps_stat": eps_stat}
    return PracticalParameters(0.3, 0.1, m, k, horizon, **options)


def _learn(
    made: Problem, parameters: PracticalParameters
) -> tuple[LearningResult, dict[int, Fraction]]:
    """Run VALOR; its result and the largest |V − V*| of each level."""
    truth, found = made.environment.truth, dict[int, Fraction]()

    def compare(event: object) -> None:
        if isinstance(event, Triple):
            error = abs(event.value - truth.path_value(event.path))
            found[event.level] = max(error, found.get(event.level, error))

    arguments = *samples.parts(made), parameters, np.random.default_rng(0)
    return valor(*arguments, observers=[compare]), found


_TENTH = Fraction(1, 10)


@paper("valor-constants", "Table 1, Lemma 1 and Lemma on MetaAlg", EXACT)
def _constants() -> Evidence:
    """The constants of both forms are enough. Bernstein's inequality with variance 4K
    and range 2K (r + V_a reaches 2; the printed 2K is for r + V_a ≤ 1) and Hoeffding's
    give deviations within ε_stat from n_train and n_test, all of them together with
    probability 1 - δ/2. Then values are within ε/8, the policy loses at most ε/8 where
    all is learned, n_exp paths of a rejected policy reach an unlearned state and n_eval
    give its value within ε/8 in all M H iterations but with probability δ/2: an
    accepted policy loses at most 3ε/4 with probability 1 - δ."""
    grid = [
        (TheoremParameters(eps, _TENTH, m, k, h, size, size, name), size)
        for name in (VALOR, CONSTRAINED)
        for eps, m, k, h, size in itertools.product(
            (0.01, 0.3, 0.99), (1, 3, 50), (1, 2, 50), (1, 3, 50), (0.0, 8.0)
        )
    ]
    trains = max(_train_deviation(p, size) for p, size in grid)
    tests = max(_test_deviation(p, size) for p, size in grid)
    losses = max(float(loss / p.eps) for p, _ in grid for loss in _losses(p))
    failures = max(_failure(p, size) / float(_TENTH) for p, size in grid)
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
    return samples.bernstein(inside, p.n_train, p.eps_stat, 4 * p.K, 2 * p.K)


def _test_deviation(p: ValorParameters, size: float) -> float:
    """Hoeffding's bound for g(x) from n_test draws, over ε_stat."""
    inside = math.log(12 * p.K * p.H * p.T_max / p.delta) + size
    return samples.hoeffding(inside, p.n_test, p.eps_stat)


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


@paper("valor-n-exp", "Algorithm 1", EXACT, "12")
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


@paper("valor-hoeffding", "proof of the Lemma on event E", EXACT, "13")
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
