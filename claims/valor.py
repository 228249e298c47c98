"""Claims about VALOR: its lemmas, propositions and theorems, and errata 9 to 11.

Runs are at the theorem's constants, on random environments in which every state
has to be learned, with seeds 0, 1, 2, ...; monitors compare each with the truth.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from ..algorithms.classes import (
    FiniteValueClass,
    TabularPolicy,
    TabularValueClass,
    ValueClassByLevel,
)
from ..algorithms.classes.policies import action_weights
from ..algorithms.environments import make
from ..algorithms.environments.finite_lists import (
    Instance,
    from_lists,
    late_discovery,
    wrongly_pruned,
)
from ..algorithms.learning.draw_classes import ClassKind, make_classes
from ..algorithms.learning.events import Triple
from ..algorithms.learning.run import LearningResult
from ..algorithms.oracles.ledger import reveal
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
from ..algorithms.valor.review import ValorMonitors
from . import runs
from .claim import EXACT, MONITORED, Evidence, Refuted, claim
from .support.instances import sacrificed

SOURCE = "paper, section VALOR and appendix Analysis of VALOR"
ALTERNATIVES = "appendix Alternative Algorithms"
_EPSILON, _DELTA = 0.3, 0.1


def _run(name: str, made: Instance, seed: int) -> runs.Run[TheoremParameters]:
    parameters = TheoremParameters(_EPSILON, _DELTA, *runs.problem(made), name)
    learn = valor if name == VALOR else valor_constrained
    return runs.monitored(learn, made, parameters, ValorMonitors, seed, kept=Triple)


@runs.made_once
def _runs(name: str) -> tuple[runs.Run[TheoremParameters], ...]:
    """Run on random environments, tabular and finite classes, and a pruned one."""
    found = []
    kinds: tuple[ClassKind, ...] = ("tabular", "finite")
    for seed in runs.seeds(6):
        env = make("random-finite", seed, states=3, actions=3, horizon=3)
        for kind in kinds:
            rng = np.random.default_rng([seed, 1])
            made = Instance(env, *make_classes(env, kind, rng))
            found.append(_run(name, made, seed))
        found.append(_run(name, wrongly_pruned(), seed))
    return tuple(found)


def _results(*algorithms: str) -> list[LearningResult]:
    """Both forms' runs, or those of the ones named."""
    names = algorithms or (VALOR, CONSTRAINED)
    return [run.result for name in names for run in _runs(name)]


@claim("valor-event-e", f"{SOURCE}, Lemma on event E", MONITORED)
def _event() -> Evidence:
    """With n_test and n_train of Table 1 the deviation bounds of all dfslearn calls
    hold together with probability at least 1 - δ/2, and then there are at most T_max =
    M H n_exp + M calls a level and no descent into a learned state. The suprema over
    tabular classes are exact (they are at 0/1 functions). The runs show a smaller
    probability, which their evidence states; that it is 1 - δ/2 rests on the union
    bound (claim `valor-constants`)."""
    inside = runs.mostly(_results(), "event", "inside E", 1 - _DELTA / 2)
    return inside & runs.held(_results(), "dfslearn-calls", "no-relearning")


@claim(
    "valor-accuracy",
    f"{SOURCE}, Lemmas on error propagation and on not recursing, Proposition "
    "on the accuracy of learned values",
    MONITORED,
)
def _accuracy() -> Evidence:
    """In event E every stored triple has |V - V*(s)| ≤ φ_h - 2ε_stat and |V_a -
    V*(s∘a)| ≤ φ_{h+1} + 3ε_stat + ε_feas + ε_sub, and g* is feasible for the consensus
    programs at all times."""
    names = ("value-accuracy", "future-accuracy", "gstar-feasible", "feasible")
    return runs.held(_results(), *names)


@claim(
    "valor-suboptimality-sum",
    f"{SOURCE}, Lemma 4.3 of Ross and Bagnell as restated",
    EXACT,
)
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
    erratum="27",
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


@claim("valor-policy", f"{SOURCE}, Proposition on the pooled policy", MONITORED)
def _pooled() -> Evidence:
    """In event E the pooled policy has V^π ≥ V* - p_ul - 2H²T_max(7ε_stat + 3ε_sub +
    2ε_feas), p_ul the probability that it meets a state not learned."""
    return runs.held(_results(VALOR), "policy-bound")


@claim(
    "valor-policy-constrained",
    f"{SOURCE}, Lemma and Proposition on constrained policy optimisation",
    MONITORED,
)
def _constrained() -> Evidence:
    """In event E π* meets the constraints of Algorithm 4, and a policy that meets them
    within ε_feas has V^π ≥ V* - p_ul - 32H²(ε_stat + ε_feas + ε_sub); the policy may be
    a mixture, as the oracle gives it."""
    inside = [r for r in _runs(CONSTRAINED) if runs.premises_hold(r.result)]
    margins = [_optimal_margin(run, t) for run in inside for t in run.events]
    if min(margins, default=Fraction(-1)) < 0:
        raise Refuted("π* breaks a constraint in event E")
    found = runs.held(_results(CONSTRAINED), "policy-bound", "feasible")
    text = f"π* meets all {len(margins)} constraints, {found.text}"
    return Evidence(found.holds, text if found.holds else found.text)


def _optimal_margin(run: runs.Run[TheoremParameters], triple: Triple) -> Fraction:
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


@claim(
    "valor-theorem",
    f"{SOURCE}, Theorems on oracle efficiency and PAC bound, both forms",
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
    good = runs.mostly(results, "epsilon-optimal", "ε-optimal", 1 - _DELTA)
    nominal = [result.trajectories for result in results]
    return Evidence(
        good.holds,
        f"{good.text} (ε = {_EPSILON}, δ = {_DELTA}); {min(nominal):.2g} to "
        f"{max(nominal):.2g} trajectories",
    )


@claim("valor-on-demand", f"{SOURCE}, exploration on demand", EXACT)
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


@claim(
    "valor-pooling-sacrifices",
    f"{SOURCE}, extension with constrained policy optimisation",
    EXACT,
)
def _sacrifice() -> Evidence:
    """Pooling can sacrifice a state with few data sets for small gains on many others;
    the constrained step does not."""
    run = sacrificed(np.random.default_rng(0))
    rare = np.array([1])
    pooled = action_weights(reveal(pooled_step(run, 2)), rare, 2)[0].tolist()
    found = action_weights(reveal(constrained_step(run, 2)), rare, 2)[0].tolist()
    lost = Fraction(found[1], 2 * sum(found))
    return Evidence(
        pooled[0] == 0 and lost <= 2 * run.parameters.phi(2),
        f"at the rare state pooling loses 1/2, constraints {float(lost):.3g}",
    )


@claim("valor-iterations", f"{SOURCE}, three lemmas on MetaAlg", EXACT, erratum="9")
def _iterations() -> Evidence:
    """MetaAlg ends within M H iterations (printed: M K), for each rejected iteration
    learns a state; more than M K can be needed."""
    made, horizon = late_discovery(7), 7
    parameters = _practical(made, n_exp=2)
    result = valor(*runs.parts(made), parameters, _generator())
    printed = parameters.M * parameters.K
    return Evidence(
        result.succeeded and printed < result.iterations <= parameters.M * horizon,
        f"M = 2, K = 2, H = {horizon}: {result.iterations} iterations, more than M K = "
        f"{printed} and at most M H = {parameters.M * horizon}",
    )


@claim(
    "valor-calls",
    f"{SOURCE}, proof of the Theorem on oracle efficiency",
    MONITORED,
    erratum="10",
)
def _calls() -> Evidence:
    """At most 2 T_max H K LP calls (two a consensus test; printed T_max H K) and T_max
    H + M H² CSC calls (H an iteration; printed M H for the policies), or M H² multi
    calls with the constrained step; more than printed can be needed."""
    names = ("csc-calls", "lp-calls", "multi-calls")
    found = runs.held(_results(), *names)
    # As few dfslearn calls a level as T_max allows, so that the count is tight.
    env = make("tabular", 0, states=2, actions=2, horizon=3)
    made = Instance(env, *make_classes(env, "tabular", _generator()))
    result = valor(*runs.parts(made), _practical(made), _generator())
    tests = result.calls["lp"] // 2
    visits = sum(2 * n for n in result.learned[:-1])
    late = late_discovery(7)
    longer = valor(*runs.parts(late), _practical(late, n_exp=2), _generator())
    steps = longer.calls["csc"] - sum(longer.learned)
    printed = 2 * 7
    return Evidence(
        found.holds and tests == visits and steps > printed,
        f"{found.text}; {result.calls['lp']} LPs for {visits} tests; {steps} CSC calls "
        f"for policies where M H = {printed}",
    )


@claim(
    "valor-infeasible",
    f"{SOURCE}, Lemma on event E (end of its proof)",
    EXACT,
    erratum="11",
)
def _infeasible() -> Evidence:
    """An infeasible consensus program has no value and gives no V_a, so it cannot make
    the test pass (as printed); in event E with g* in G it does not occur, and it is
    reported as a failed event."""
    good = wrongly_pruned()
    wrong = FiniteValueClass([[0.0, 0.0], [0.25, 0.75]])
    values = ValueClassByLevel([TabularValueClass(1), wrong])
    made = Instance(good.environment, values, good.policies)
    result = _run(VALOR, made, 0).result
    never = runs.held(_results(), "feasible")
    return Evidence(
        result.event_failed and result.status == "failure" and never.holds,
        f"without g*: {result.status}, {result.reason}; with it: {never.text}",
    )


def _generator() -> np.random.Generator:
    return np.random.default_rng(0)


def _practical(made: Instance, **chosen: Any) -> PracticalParameters:
    """Accurate data, φ as in the analysis, each path once."""
    sizes = dict.fromkeys(("n_test", "n_train"), 10**13)
    fine = dict.fromkeys(("eps_stat", "eps_sub", "eps_feas"), Fraction(1, 10**5))
    options: dict[str, Any] = {"slack": None, "fall_back": False}
    m_k_h = runs.problem(made)[:3]
    return PracticalParameters(
        _EPSILON, _DELTA, *m_k_h, **sizes | fine | options | chosen
    )
