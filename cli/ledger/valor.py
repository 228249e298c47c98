"""Claims about VALOR: its lemmas, propositions and theorems, and errata 9 to 13.

Runs are at the theorem's constants, on random environments in which every state
has to be learned, with seeds 0, 1, 2, ...; monitors compare each with the truth.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from olivine.algorithms.classes import (
    FiniteValueClass,
    TabularValueClass,
    ValueClassByLevel,
)
from olivine.algorithms.classes.policy_tables import action_weights
from olivine.algorithms.environments import make
from olivine.algorithms.environments.named import (
    Instance,
    late_discovery,
    sacrificed,
    wrongly_pruned,
)
from olivine.algorithms.learning.draw_classes import ClassKind, make_classes
from olivine.algorithms.learning.events import Triple
from olivine.algorithms.learning.monitors import with_monitors
from olivine.algorithms.learning.result import LearningResult
from olivine.algorithms.oracles.ledger import reveal
from olivine.algorithms.valor.algorithm import (
    constrained_step,
    pooled_step,
    valor,
    valor_constrained,
)
from olivine.algorithms.valor.parameters import (
    CONSTRAINED,
    VALOR,
    PracticalParameters,
    TheoremParameters,
    ValorParameters,
)
from olivine.algorithms.valor.review import ValorMonitors
from olivine.cli.ledger.claim import Evidence, claim

SOURCE = "paper, section VALOR and appendix Analysis of VALOR"
_RUNS = 6
_EPSILON, _DELTA = 0.3, 0.1


@dataclass(frozen=True)
class _Run:
    made: Instance
    parameters: ValorParameters
    result: LearningResult
    triples: tuple[Triple, ...]


def _run(name: str, made: Instance, seed: int) -> _Run:
    env = made.environment
    parameters = TheoremParameters(
        _EPSILON,
        _DELTA,
        env.max_states,
        env.n_actions,
        env.horizon,
        made.values.log_size(),
        made.policies.log_size(),
        name,
    )
    monitors = ValorMonitors(env, made.values, made.policies, parameters)
    events: list[Any] = []
    learn = valor if name == VALOR else valor_constrained
    result = learn(
        env,
        made.values,
        made.policies,
        parameters,
        np.random.default_rng([seed, 2]),
        observers=[monitors, events.append],
    )
    result = with_monitors(result, monitors.reports(result))
    triples = tuple(e for e in events if isinstance(e, Triple))
    return _Run(made, parameters, result, triples)


@functools.cache
def _runs(name: str) -> tuple[_Run, ...]:
    """Run on random environments, tabular and finite classes, and a pruned one."""
    found = []
    kinds: tuple[ClassKind, ...] = ("tabular", "finite")
    for seed in range(_RUNS):
        env = make("random-finite", seed, states=3, actions=3, horizon=3)
        for kind in kinds:
            rng = np.random.default_rng([seed, 1])
            made = Instance(env, *make_classes(env, kind, rng))
            found.append(_run(name, made, seed))
        found.append(_run(name, wrongly_pruned(), seed))
    return tuple(found)


def _monitored(names: Sequence[str], *algorithms: str) -> Evidence:
    """Whether the named monitors hold in every run that is inside event E."""
    runs = [run for algorithm in algorithms for run in _runs(algorithm)]
    inside = [r for r in runs if r.result.monitors["event"].holds]
    if not inside:
        return Evidence(False, "no run was inside event E")
    for name in names:
        if not any(run.result.monitors[name].checks for run in inside):
            return Evidence(False, f"{name} was never checked")
    checks, margins = 0, []
    for run in inside:
        for name in names:
            report = run.result.monitors[name]
            if report.holds is not True:
                return Evidence(False, f"{name}: {report.first}")
            checks += report.checks
            margins.append(report.margin)
    least = min((m for m in margins if m is not None), default=Fraction(0))
    return Evidence(
        True,
        f"{checks} checks in {len(inside)} of {len(runs)} runs (the others left event "
        f"E); least margin {float(least):.3g}",
    )


@claim(
    "valor-event-e",
    source=f"{SOURCE}, Lemma on event E",
    statement="With n_test and n_train of Table 1 the deviation bounds of all dfslearn "
    "calls hold together with probability at least 1 - δ/2, and then there are at most "
    "T_max = M H n_exp + M calls a level and no descent into a learned state. "
    "The suprema over tabular classes are exact (they are at 0/1 functions).",
    method="monitored in runs",
)
def _event() -> Evidence:
    runs = [*_runs(VALOR), *_runs(CONSTRAINED)]
    inside = sum(r.result.monitors["event"].holds is True for r in runs)
    calls = _monitored(("dfslearn-calls", "no-relearning"), VALOR, CONSTRAINED)
    enough = inside >= (1 - _DELTA / 2) * len(runs)
    return Evidence(
        enough and calls.holds, f"inside E: {inside} of {len(runs)}; {calls.text}"
    )


@claim(
    "valor-accuracy",
    source=f"{SOURCE}, Lemmas on error propagation and on not recursing, Proposition "
    "on the accuracy of learned values",
    statement="In event E every stored triple has |V - V*(s)| ≤ φ_h - 2ε_stat and "
    "|V_a - V*(s∘a)| ≤ φ_{h+1} + 3ε_stat + ε_feas + ε_sub, and g* is feasible for the "
    "consensus programs at all times.",
    method="monitored in runs",
)
def _accuracy() -> Evidence:
    names = ("value-accuracy", "future-accuracy", "gstar-feasible", "feasible")
    return _monitored(names, VALOR, CONSTRAINED)


@claim(
    "valor-suboptimality-sum",
    source=f"{SOURCE}, Lemma 4.3 of Ross and Bagnell as restated",
    statement="V* - V^π is the expected sum over levels of V*(s_h) - Q*(s_h, π_h).",
    method="exact",
)
def _suboptimality() -> Evidence:
    compared = 0
    for seed in range(10):
        env = make("random-finite", seed, states=3, actions=3, horizon=4)
        truth, rng = env.truth, np.random.default_rng(seed)
        policies = []
        for h in range(1, 5):
            table = rng.integers(3, size=env.space(h).n_codes or 0)
            policies.append(lambda x, table=table: table[x])
        # The gap of a hidden state, and what the policy does there.
        total = Fraction(0)
        here: dict[tuple[int, ...], Fraction] = {(): Fraction(1)}
        for h in range(1, 5):
            ahead: dict[tuple[int, ...], Fraction] = {}
            q = truth.q_values(h)
            for path, chance in here.items():
                shares = truth.observation_probabilities(path)
                for x in np.flatnonzero(shares):
                    weight = chance * shares[x]
                    rule = policies[h - 1]
                    weights = action_weights(rule, np.array([x]), 3)[0]
                    a = int(weights.argmax())
                    total += weight * (q[x].max() - q[x, a])
                    child = (*path, a)
                    ahead[child] = ahead.get(child, Fraction(0)) + weight
            here = ahead
        compared += 1
        if total != truth.optimal_value - truth.policy_value(policies):
            return Evidence(False, f"seed {seed}: {total}")
    return Evidence(True, f"equal for {compared} random policies, exactly")


@claim(
    "valor-policy",
    source=f"{SOURCE}, Proposition on the pooled policy",
    statement="In event E the pooled policy has V^π ≥ V* - p_ul - 2H²T_max(7ε_stat + "
    "3ε_sub + 2ε_feas), p_ul the probability that it meets a state not learned.",
    method="monitored in runs",
)
def _pooled() -> Evidence:
    return _monitored(("policy-bound",), VALOR)


@claim(
    "valor-policy-constrained",
    source=f"{SOURCE}, Lemma and Proposition on constrained policy optimisation",
    statement="In event E π* meets the constraints of Algorithm 4, and a policy that "
    "meets them within ε_feas has V^π ≥ V* - p_ul - 32H²(ε_stat + ε_feas + ε_sub); the "
    "policy may be a mixture, as the oracle gives it.",
    method="monitored in runs",
)
def _constrained() -> Evidence:
    inside = [r for r in _runs(CONSTRAINED) if r.result.monitors["event"].holds]
    margins = [_optimal_margin(run, t) for run in inside for t in run.triples]
    if min(margins, default=Fraction(-1)) < 0:
        return Evidence(False, "π* breaks a constraint in event E")
    found = _monitored(("policy-bound", "feasible"), CONSTRAINED)
    text = f"π* meets all {len(margins)} constraints, {found.text}"
    return Evidence(found.holds, text if found.holds else found.text)


def _optimal_margin(run: _Run, triple: Triple) -> Fraction:
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
    source=f"{SOURCE}, Theorems on oracle efficiency and PAC bound, both forms",
    statement="At the theorem's constants both forms return an ε-optimal policy with "
    "probability 1 - δ, within the proof's sum of trajectories, H T_max n_train + "
    "K H T_max n_test + M H n_eval.",
    method="monitored in runs",
)
def _theorem() -> Evidence:
    runs = [*_runs(VALOR), *_runs(CONSTRAINED)]
    good = 0
    for run in runs:
        if run.result.monitors["trajectories"].holds is not True:
            return Evidence(False, run.result.monitors["trajectories"].first)
        good += run.result.monitors["epsilon-optimal"].holds is True
    nominal = [run.result.trajectories for run in runs]
    return Evidence(
        good >= (1 - _DELTA) * len(runs),
        f"{good} of {len(runs)} runs ε-optimal (ε = {_EPSILON}, δ = {_DELTA}), "
        f"{min(nominal):.2g} to {max(nominal):.2g} trajectories",
    )


@claim(
    "valor-on-demand",
    source=f"{SOURCE}, exploration on demand",
    statement="The identity test can prune a state that was never visited, because "
    "all functions agree on its value, and leave its policy arbitrary; exploration on "
    "demand learns it.",
    method="exact",
)
def _on_demand() -> Evidence:
    run = _run(VALOR, wrongly_pruned(), 0)
    good = run.result.monitors["epsilon-optimal"].holds is True
    return Evidence(
        good and run.result.iterations == 2,
        f"{run.result.iterations} iterations, data sets a level {run.result.learned}",
    )


@claim(
    "valor-pooling-sacrifices",
    source=f"{SOURCE}, extension with constrained policy optimisation",
    statement="Pooling can sacrifice a state with few data sets for small gains on "
    "many others; the constrained step does not.",
    method="exact",
)
def _sacrifice() -> Evidence:
    run = sacrificed(np.random.default_rng(0))
    rare = np.array([1])
    pooled = action_weights(reveal(pooled_step(run, 2)), rare, 2)[0].tolist()
    found = action_weights(reveal(constrained_step(run, 2)), rare, 2)[0].tolist()
    lost = Fraction(found[1], 2 * sum(found))
    return Evidence(
        pooled[0] == 0 and lost <= 2 * run.parameters.phi(2),
        f"at the rare state pooling loses 1/2, constraints {float(lost):.3g}",
    )


@claim(
    "valor-iterations",
    source=f"{SOURCE}, three lemmas on MetaAlg",
    statement="MetaAlg ends within M H iterations (printed: M K), for each rejected "
    "iteration learns a state; more than M K can be needed.",
    method="exact",
    erratum="9",
)
def _iterations() -> Evidence:
    made, horizon = late_discovery(7), 7
    parameters = _practical(made, n_exp=2)
    result = valor(
        made.environment, made.values, made.policies, parameters, _generator()
    )
    printed = parameters.M * parameters.K
    return Evidence(
        result.succeeded and printed < result.iterations <= parameters.M * horizon,
        f"M = 2, K = 2, H = {horizon}: {result.iterations} iterations, more than M K = "
        f"{printed} and at most M H = {parameters.M * horizon}",
    )


@claim(
    "valor-calls",
    source=f"{SOURCE}, proof of the Theorem on oracle efficiency",
    statement="At most 2 T_max H K LP calls (two a consensus test; printed T_max H K) "
    "and T_max H + M H² CSC calls (H an iteration; printed M H for the policies), or "
    "M H² multi calls with the constrained step; more than printed can be needed.",
    method="monitored in runs",
    erratum="10",
)
def _calls() -> Evidence:
    names = ("csc-calls", "lp-calls", "multi-calls")
    found = _monitored(names, VALOR, CONSTRAINED)
    # As few dfslearn calls a level as T_max allows, so that the count is tight.
    env = make("tabular", 0, states=2, actions=2, horizon=3)
    values, policies = make_classes(env, "tabular", _generator())
    made = Instance(env, values, policies)
    result = valor(env, values, policies, _practical(made), _generator())
    tests = result.calls["lp"] // 2
    visits = sum(2 * n for n in result.learned[:-1])
    late = late_discovery(7)
    longer = valor(
        late.environment,
        late.values,
        late.policies,
        _practical(late, n_exp=2),
        _generator(),
    )
    steps = longer.calls["csc"] - sum(longer.learned)
    printed = 2 * 7
    return Evidence(
        found.holds and tests == visits and steps > printed,
        f"{found.text}; {result.calls['lp']} LPs for {visits} tests; {steps} CSC calls "
        f"for policies where M H = {printed}",
    )


@claim(
    "valor-infeasible",
    source=f"{SOURCE}, Lemma on event E (end of its proof)",
    statement="An infeasible consensus program has no value and gives no V_a, so it "
    "cannot make the test pass (as printed); in event E with g* in G it does not "
    "occur, and it is reported as a failed event.",
    method="exact",
    erratum="11",
)
def _infeasible() -> Evidence:
    good = wrongly_pruned()
    wrong = FiniteValueClass([[0.0, 0.0], [0.25, 0.75]])
    values = ValueClassByLevel([TabularValueClass(1), wrong])
    made = Instance(good.environment, values, good.policies)
    result = _run(VALOR, made, 0).result
    never = _monitored(("feasible",), VALOR, CONSTRAINED)
    return Evidence(
        result.event_failed and result.status == "failure" and never.holds,
        f"without g*: {result.status}, {result.reason}; with it: {never.text}",
    )


@claim(
    "valor-n-exp",
    source=f"{SOURCE}, Algorithm 1",
    statement="n_expl is n_exp; the paths explored are those of the first n_exp of the "
    "n_eval trajectories, so n_exp ≤ n_eval is needed; at the theorem's constants it "
    "holds because 32 ln(8MH/δ)/ε² > 8 ln(4MH/δ)/ε.",
    method="exact",
    erratum="12",
)
def _n_exp() -> Evidence:
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
    source=f"{SOURCE}, proof of the Lemma on event E",
    statement="Centred values of functions into [0, 1] have moment generating function "
    "at most exp(λ²/8), which gives the stated deviation √(ln(2K|G|/δ')/(2 n_test)). "
    "The printed exp(λ²/2) gives twice that.",
    method="exhaustive on small instances",
    erratum="13",
)
def _hoeffding() -> Evidence:
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


def _generator() -> np.random.Generator:
    return np.random.default_rng(0)


def _practical(made: Instance, **chosen: Any) -> PracticalParameters:
    """Accurate data, φ as in the analysis, each path once."""
    env = made.environment
    fine = dict.fromkeys(("eps_stat", "eps_sub", "eps_feas"), Fraction(1, 10**5))
    return PracticalParameters(
        _EPSILON,
        _DELTA,
        env.max_states,
        env.n_actions,
        env.horizon,
        n_test=10**13,
        n_train=10**13,
        slack=None,
        fall_back=False,
        **fine | chosen,
    )
