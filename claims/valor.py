"""VALOR.

Its lemmas, propositions and theorems, its constants, and what the paper remarks of it.
Runs are monitored at the theorem's constants, on random environments in which every
state has to be learned and on instances at the edge of the consensus test, with seeds
0, 1, 2, ...
"""

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from ..algorithms.classes import (
    FiniteValueClass,
    TabularPolicy,
    TabularValueClass,
    ValueClassByLevel,
)
from ..algorithms.classes.protocols import action_weights
from ..algorithms.environments import from_lists, make
from ..algorithms.learning.draw_classes import ClassKind, make_classes
from ..algorithms.learning.events import Triple
from ..algorithms.learning.problem import LearningResult, Problem
from ..algorithms.oracles.ledger import unguard
from ..algorithms.valor import ValorMonitors
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
)
from . import EXACT, MONITORED, Evidence, Refuted, claim, claims_of, samples
from .instances import (
    HALF,
    coin,
    disagreeing,
    fork,
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
        tables = [rng.integers(3, size=n) for n in samples.codes(env)]
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
    unpaid, shown = {"x": [0, 0], "y": [0, 0]}, {"x": HALF, "y": HALF}
    ends = fork([0, 1], [Fraction(4, 5), 0])[1]  # not learned, and learned
    truth = from_lists([[("s0", shown, unpaid, ["left", "right"])], ends]).truth
    # At x into the state that is not learned, where all is lost; at y past it.
    policies = [TabularPolicy(np.array(row)) for row in ([0, 1], [0, 0])]
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
    good = samples.mostly(results, "epsilon-optimal", "ε-optimal", 1 - _DELTA)
    nominal = [result.trajectories for result in results]
    return Evidence(
        good.holds and samples.count(results, "trajectories") == len(results),
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
    result, horizon, printed = _late(), 7, 2 * 2
    for seed in range(12):
        half = _run(VALOR, half_hidden(), seed).result
        if half.iterations != 2 or half.monitors["progress"].holds is not True:
            raise Refuted(f"seed {seed}: {half.monitors['progress'].first}")
        if not _run(VALOR, coin(), seed).result.succeeded:
            raise Refuted(f"seed {seed}: an optimal policy is rejected")
    return Evidence(
        result.succeeded and printed < result.iterations <= 2 * horizon,
        f"M = 2, K = 2, H = {horizon}: {result.iterations} iterations, more than M K = "
        f"{printed} and at most M H = {2 * horizon}",
    )


def _late() -> LearningResult:
    """Run where H = 7 iterations are needed, M = K = 2."""
    return learned(late_discovery(7), accurate((2, 2, 7), n_exp=2))[0]


@paper("valor-calls", "proof of the Theorem on oracle efficiency", MONITORED, "10")
def _calls() -> Evidence:
    """At most 2 T_max H K LP calls (two a consensus test; printed T_max H K) and T_max
    H + M H² CSC calls (H an iteration; printed M H for the policies), or M H² multi
    calls with the constrained step; more than printed can be needed."""
    names = ("csc-calls", "lp-calls", "multi-calls")
    found = samples.held(_results(), *names)
    # As few dfslearn calls a level as T_max allows, so that the count is tight.
    env = make("tabular", 0, states=2, actions=2, horizon=3)
    made = Problem(env, *make_classes(env, "tabular", np.random.default_rng(0)))
    result = learned(made, accurate(samples.problem(made)[:3]))[0]
    tests = result.calls["lp"] // 2
    visits = sum(2 * n for n in result.learned[:-1])
    longer = _late().calls["csc"], _late().learned
    steps = longer[0] - sum(longer[1])
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


def accurate(
    sizes: tuple[int, int, int],
    draws: int = 10**13,
    eps_stat: Fraction = Fraction(1, 10**5),
    **chosen: Any,
) -> PracticalParameters:
    """Give accurate data for M, K and H, φ as in the analysis, each path once."""
    fine = Fraction(1, 10**5)
    options: dict[str, Any] = {"n_test": draws, "n_train": draws, "eps_stat": eps_stat}
    options |= {"eps_sub": fine, "eps_feas": fine, "slack": None, "fall_back": False}
    return PracticalParameters(_EPSILON, _DELTA, *sizes, **options | chosen)


def learned(
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
