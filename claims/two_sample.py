"""Claims about runs of the two-sample algorithm, monitored.

Runs are at the theorem's constants (corrected), on random environments with
tabular classes and with finite ones that are complete, with seeds 0, 1, 2, ..., and
on an instance that needs exploration on demand; monitors compare each with the truth.
"""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..algorithms.assumptions import complete_classes, policy_value_completeness
from ..algorithms.classes import (
    FiniteValueClass,
    TabularValueClass,
    ValueClassByLevel,
)
from ..algorithms.environments import make
from ..algorithms.environments.finite_lists import Instance
from ..algorithms.environments.protocol import Environment
from ..algorithms.learning.draw_classes import make_classes
from ..algorithms.learning.events import Descending
from ..algorithms.learning.run import LearningResult
from ..algorithms.two_sample.algorithm import two_sample
from ..algorithms.two_sample.parameters import (
    TwoSampleParameters,
    TwoSampleTheoremParameters,
)
from ..algorithms.two_sample.review import TwoSampleMonitors
from ..algorithms.valor import valor
from ..algorithms.valor.parameters import TheoremParameters
from . import runs
from .claim import EXACT, MONITORED, Evidence, Refuted, claim
from .support.two_sample import amplified, unlearned

SOURCE = "paper, appendix Alternative Algorithms, Two-Sample State-Identity Test"
_RUNS = 6
_EPSILON, _DELTA = 0.3, 0.1


def _run(made: Instance, seed: int) -> runs.Run[TwoSampleParameters]:
    sizes = runs.problem(made, squared=True)
    parameters = TwoSampleTheoremParameters(_EPSILON, _DELTA, *sizes)
    return runs.monitored(two_sample, made, parameters, TwoSampleMonitors, seed)


def _instance(seed: int, kind: Literal["tabular", "complete"]) -> Instance:
    env = make("random-finite", seed, states=2, actions=2, horizon=3)
    rng = np.random.default_rng([seed, 1])
    if kind == "tabular":
        return Instance(env, *make_classes(env, "tabular", rng))
    return Instance(env, *complete_classes(env, rng, "policy-value", size=32))


@runs.made_once
def _runs() -> tuple[runs.Run[TwoSampleParameters], ...]:
    found = []
    for seed in runs.seeds(_RUNS):
        found.append(_run(_instance(seed, "tabular"), seed))
        found.append(_run(_instance(seed, "complete"), seed))
        found.append(_run(unlearned(), seed))
    return tuple(found)


def _results() -> list[LearningResult]:
    return [run.result for run in _runs()]


def _held(*names: str) -> Evidence:
    """Whether the named monitors hold in every run inside event E."""
    return runs.held(_results(), *names)


def _optimal() -> Evidence:
    """Whether enough runs are ε-optimal, and what they show."""
    return runs.mostly(_results(), "epsilon-optimal", "ε-optimal", 1 - _DELTA)


@claim(
    "two-sample-informal",
    "paper, appendix Alternative Algorithms, informal theorem (first half)",
    MONITORED,
)
def _informal() -> Evidence:
    """Under policy-value completeness there is an oracle-efficient algorithm with
    polynomial sample complexity that stores no local values: the two-sample algorithm
    calls CSC and LS H times an iteration and the LP oracle twice for each data set a
    test compares with, touches its classes in no other way, and returns an ε-optimal
    policy."""
    return _optimal() & _held("csc-calls", "ls-calls", "lp-calls", "trajectories")


@claim("two-sample-or-consensus", f"{SOURCE} (comparison with local values)", EXACT)
def _comparison() -> Evidence:
    """With G = {g*} VALOR's consensus test takes every state but the first for known,
    as the value is known; the two-sample test takes a state for new if the mean of g*
    differs from that of every state visited."""
    compared, wrong = 0, []
    for seed in runs.seeds(_RUNS):
        env, policies = make("random-finite", seed), _instance(seed, "tabular").policies
        levels = range(1, env.horizon + 1)
        only = ValueClassByLevel([FiniteValueClass(_table(env, h)) for h in levels])
        made = Instance(env, only, policies)
        run = _run(made, seed)
        means = [
            [env.truth.state_value(h, s) for s in env.truth.reachable(h)]
            for h in levels
        ]
        pairs = [pair for v in means for pair in itertools.combinations(v, 2)]
        if min(abs(a - b) for a, b in pairs) <= 4 * run.parameters.tau:
            continue
        compared += 1
        parameters = TheoremParameters(_EPSILON, _DELTA, *runs.problem(made))
        events, rng = list[Any](), np.random.default_rng([seed, 3])
        valor(*runs.parts(made), parameters, rng, observers=[events.append])
        descended = any(isinstance(event, Descending) for event in events)
        if descended or run.result.learned != tuple(map(len, means)):
            wrong.append(seed)
    return Evidence(
        compared > 0 and not wrong,
        f"{compared} environments with states apart: "
        + (
            f"not so with seeds {wrong}"
            if wrong
            else "the two-sample algorithm learns all states, VALOR never descends"
        ),
    )


def _table(env: Environment, level: int) -> NDArray[Any]:
    """Tabulate the only member, g* of a level."""
    return np.asarray(env.truth.values(level)[None])


@claim(
    "two-sample-nested", f"{SOURCE}, Definition and Fact on learned states", MONITORED
)
def _nested() -> Evidence:
    """Whenever polvalfun is called, states with a val set are learned, learned states
    were reached by dfslearn, and so were all their children. (While a call is in
    progress the last need not hold.)"""
    return _held("nested")


@claim("two-sample-event-e", f"{SOURCE}, Lemma on event E", MONITORED)
def _event() -> Evidence:
    """With n_train as stated the deviation bounds τ, τ_V, τ_L hold for all data sets
    together with probability 1 - δ/2, and then there are at most T_max = M(K+1)(1 + H
    n_exp) calls and learned states a level, at most M val sets, no two of one state,
    and no recursion in a state that has one. (The probability rests on claim
    `two-sample-variance`; what the runs alone show is in the evidence.)"""
    names = "dfslearn-calls", "no-relearning", "same-state", "val-sets", "learned-sets"
    inside = runs.mostly(_results(), "event", "inside E", 1 - _DELTA / 2)
    return inside & _held(*names)


@claim(
    "two-sample-accuracy",
    f"{SOURCE}, Proposition on learned values",
    MONITORED,
    erratum="15",
)
def _accuracy() -> Evidence:
    """In event E, with ε_V = T_max τ_V and ε_L = M τ_L (printed the other way round),
    |E_s[ĝ_h] - E_s[g*]| ≤ (H+1-h)(2ε_V + √(4M ε_V + 2ε_L) + 8τ) in every state reached,
    and V*(s) - Q*(s, π̂_h) ≤ 2ε_V + 2(H-h)(the same) in every learned one."""
    return _held("value-accuracy", "policy-loss", "estimate-accuracy")


@claim(
    "two-sample-policy",
    f"{SOURCE}, Proposition on the policy returned",
    MONITORED,
    erratum="15",
)
def _policy() -> Evidence:
    """In event E, V^π̂ ≥ V* - p_ul - 2H ε_V - H²(2ε_V + √(4M ε_V + 2ε_L) + 8τ), p_ul
    the probability that π̂ meets a state that is not learned; ε_V = T_max τ_V, ε_L = M
    τ_L."""
    return _held("policy-bound")


@claim("two-sample-metaalg", f"{SOURCE}, Lemma on MetaAlg", MONITORED, erratum="9")
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


@claim(
    "two-sample-theorem",
    f"{SOURCE}, Theorem on sample complexity",
    MONITORED,
    erratum="15",
)
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


@claim(
    "two-sample-clipped",
    f"{SOURCE}, Proposition on learned values (its assumption)",
    MONITORED,
    erratum="25",
)
def _clipped() -> Evidence:
    """All functions to [0, 1] are not policy-value complete where rewards are paid
    before the last level, as r + g' leaves [0, 1]; completeness up to clipping at 1 is
    enough for the proof, and tabular classes have it."""
    letter, clipped, fine, tabular = 0, 0, 0, 0
    for run in _runs():
        made = run.made
        if made.environment.name != "random-finite" or not isinstance(
            made.values.at_level(1), TabularValueClass
        ):
            continue
        tabular, given = tabular + 1, runs.parts(made)
        letter += policy_value_completeness(*given).holds is True
        clipped += policy_value_completeness(*given, clipped=True).holds is True
        fine += run.result.monitors["value-accuracy"].holds is True
    return Evidence(
        letter == 0 and clipped == fine == tabular > 0,
        f"{tabular} tabular instances: complete to the letter {letter}, up to clipping "
        f"{clipped}, proposition holds in {fine}",
    )


@claim(
    "two-sample-needs-completeness",
    f"{SOURCE} (its assumption, against realizability)",
    EXACT,
)
def _incomplete() -> Evidence:
    """Realizability is not enough: with g* ∈ G, π* ∈ Π but G not complete, each level
    can double the error of the next, and at the theorem's own constants, in event E,
    the policy returned is more than ε short of V*. VALOR finds an optimal one with the
    same classes."""
    made = amplified(Fraction(str(_EPSILON)))
    run = _run(made, 0)
    monitors = run.result.monitors
    parameters = TheoremParameters(_EPSILON, _DELTA, *runs.problem(made))
    local = valor(*runs.parts(made), parameters, np.random.default_rng(0))
    if run.result.policies is None or local.policies is None:
        raise Refuted("a run without a policy")
    lost, other = run.loss, runs.loss(made, local)
    premises = {k: monitors[k].holds for k in ("event", "oracles", "markov")}
    return Evidence(
        all(premises.values())
        and monitors["complete"].holds is False
        and lost > run.parameters.eps
        and local.succeeded
        and other == 0,
        f"loses {float(lost):.3f} > ε = {_EPSILON} inside event E; VALOR loses "
        f"{float(other):.3g}",
    )
