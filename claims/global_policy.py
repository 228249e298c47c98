"""Claims about the global policy algorithm: its lemmas, and erratum 18.

All runs are monitored, at the theorem's corrected constants, ε = 0.3 and δ = 0.1, on
random environments with tabular classes and with finite policy complete ones, and on
two of the instances.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from ..algorithms.assumptions import check_assumptions, complete_classes
from ..algorithms.environments import make
from ..algorithms.environments.finite_lists import Instance
from ..algorithms.global_policy.algorithm import global_policy
from ..algorithms.global_policy.events import (
    Comparison,
    LearnedTest,
    Rechecked,
    Refit,
)
from ..algorithms.global_policy.parameters import (
    GlobalPolicyParameters,
    GlobalPolicyTheoremParameters,
)
from ..algorithms.global_policy.review import GlobalPolicyMonitors
from ..algorithms.learning.draw_classes import make_classes
from ..algorithms.learning.events import Path
from ..algorithms.learning.parameters import Version
from ..algorithms.learning.run import LearningResult
from ..algorithms.valor import valor
from ..algorithms.valor.parameters import TheoremParameters
from . import runs
from .claim import EXACT, MONITORED, Evidence, claim
from .support.global_policy import (
    incomplete,
    pruned_then_learned,
    stale,
)

SOURCE = "paper, appendix Alternative Algorithms, Global Policy Algorithm"
EPSILON, DELTA = 0.3, 0.1


def constants(
    made: Instance, version: Version = "theorem"
) -> GlobalPolicyTheoremParameters:
    """Constants of the theorem for an instance, ε = 0.3, δ = 0.1."""
    sizes = runs.problem(made)
    return GlobalPolicyTheoremParameters(EPSILON, DELTA, *sizes, version=version)


def chosen_sizes(
    version: Version, horizon: int = 2, states: int = 2, actions: int = 2
) -> GlobalPolicyTheoremParameters:
    """Constants that an instance can be made for: |G| = 1 and all policies."""
    size = states * math.log(actions)
    return GlobalPolicyTheoremParameters(
        EPSILON, DELTA, states, actions, horizon, 0.0, size, version=version
    )


def monitored(
    made: Instance, parameters: GlobalPolicyParameters, seed: int, **options: Any
) -> runs.Run[GlobalPolicyParameters]:
    """Run with monitors; further observers and the oracle are options."""
    learn, monitors = global_policy, GlobalPolicyMonitors
    return runs.monitored(learn, made, parameters, monitors, seed, **options)


def drawn(seed: int, kind: str, *, states: int = 3, actions: int = 2) -> Instance:
    """Draw a random environment, H = 3, with classes that satisfy the assumptions."""
    env = make("random-finite", seed, states=states, actions=actions, horizon=3)
    rng = np.random.default_rng([seed, 1])
    if kind == "tabular":
        return Instance(env, *make_classes(env, "tabular", rng))
    return Instance(env, *complete_classes(env, rng, "policy"))


@runs.made_once
def every_run() -> tuple[runs.Run[GlobalPolicyParameters], ...]:
    """Give the runs that the claims look at."""
    found = []
    for seed in runs.seeds(6):
        for kind in ("tabular", "finite"):
            made = drawn(seed, kind)
            found.append(monitored(made, constants(made), seed))
    for made in (pruned_then_learned(), stale(chosen_sizes("theorem", 3, 4, 3))):
        found.append(monitored(made, constants(made), 0))
    return tuple(found)


def results() -> list[LearningResult]:
    """Give what came out of them."""
    return [run.result for run in every_run()]


@claim(
    "global-policy-event",
    f"{SOURCE}, Definition and Lemma on deviation bounds",
    MONITORED,
)
def _event() -> Evidence:
    """With n_test and n_train as stated all data sets of a run are within τ_val
    (values, mean return of π̂_{h:H}) and τ_pol (policies) of their means with
    probability at least 1 - δ. (The probability rests on claim
    `global-policy-constants`; what the runs alone show is in the evidence.)"""
    margins = (result.monitors["event"].margin or Fraction(0) for result in results())
    inside = runs.mostly(results(), "event", "inside", 1 - DELTA)
    return inside & Evidence(True, f"least margin {float(min(margins)):.3g}")


@claim(
    "global-policy-tested", f"{SOURCE}, Lemma on the policy on tested states", MONITORED
)
def _tested() -> Evidence:
    """If the policy loses at most φ_h at learned paths, g* is feasible for the program
    of TestLearned, and where the test is true the policy loses at most φ_h + 8τ_val;
    where the two paths lead to the same state it is true."""
    return runs.held(results(), "gstar-feasible", "tested-policy", "same-state")


class _Between:
    """Watches what a learned path loses whenever a later level's policy changes."""

    def __init__(self, made: Instance, path: Path) -> None:
        self._truth, self._path = made.environment.truth, path
        self.largest = Fraction(0)

    def __call__(self, fit: object) -> None:
        """Measure, if the path's level has a policy already."""
        if not isinstance(fit, Refit):
            return
        policies = fit.policies
        level = len(self._path) + 1
        if fit.level > level and policies[level - 1] is not None:
            value = self._truth.policy_path_value(self._path, policies)
            lost = self._truth.path_value(self._path) - value
            self.largest = max(self.largest, lost)


@claim(
    "global-policy-quality",
    f"{SOURCE}, Lemma on the quality of the policy",
    MONITORED,
    erratum="18",
)
def _quality() -> Evidence:
    """Whenever dfslearn returns from level h to h-1, the policy loses at most φ_h at
    learned and φ_h + 8τ_val at pruned paths of level h, with φ_h = (H-h+1)(8τ_val +
    4τ_pol) and the oracles' errors. Printed: for learned paths at all times; while
    another path of the level is being learned, a learned one can lose more, for later
    levels' policies have changed."""
    found = runs.held(results(), "learned-quality", "pruned-quality")
    parameters = chosen_sizes("theorem", 3, 4, 3)
    made = stale(parameters)
    watcher = _Between(made, (0,))
    run = monitored(made, parameters, 0, observers=[watcher])
    ratio = watcher.largest / parameters.phi(2)
    holds = found.holds and ratio > 1 and not run.result.contradictions
    return Evidence(holds, f"{found.text}; {float(ratio):.3f} φ_2 during a call")


@claim("global-policy-termination", f"{SOURCE}, Lemma on termination", MONITORED)
def _termination() -> Evidence:
    """At most M paths of a level are learned, at most K M were ever pruned, and there
    are at most T_max = 3M²HK calls of dfslearn and as many of TestLearned."""
    names = "no-relearning", "pruned-paths", "dfslearn-calls", "test-calls"
    return runs.held(results(), *names)


@claim("global-policy-oracles", f"{SOURCE}, Computational efficiency", MONITORED)
def _oracles() -> Evidence:
    """The algorithm needs the LP oracle, CSC and the multi-data-set oracle, and nothing
    else of the classes; at most M T_max, M² H and M H calls."""
    return runs.held(results(), "csc-calls", "lp-calls", "multi-calls", "oracles")


@claim("global-policy-listing", f"{SOURCE}, Algorithm (listing)", EXACT, erratum="18")
def _listing() -> Evidence:
    """The level of path p is |p|+1; dfslearn returns past level H, for TestLearned is
    false where nothing is learned; without learned paths it needs no data, and then no
    policy is played before it is set; mean returns estimate V of π̂_{h:H}; a pass
    through the pruned paths, which learning one of them changes, goes through those
    pruned when it began."""
    made = pruned_then_learned()
    seen = (LearnedTest, Comparison, Rechecked)
    run = monitored(made, constants(made), 0, kept=seen)
    failed = [e.path for e in run.events if isinstance(e, Rechecked) and not e.passed]
    learned_all = run.result.learned == (1, 3) and failed == [(1,)]
    # Data for D, once a test, and one D' or more a comparison; the rest is training.
    compared = [e for e in run.events if isinstance(e, Comparison)]
    tests = sum(isinstance(e, LearnedTest) for e in run.events)
    with_data = sum(e.first for e in compared)
    drawn = run.result.trajectories - 7 * run.parameters.n_train
    sets, rest = divmod(drawn, run.parameters.n_test)
    right = rest == 0 and sets == len(compared) + with_data
    return Evidence(
        learned_all and right and run.result.succeeded,
        f"p was pruned, failed its test after a change of policy and was learned; "
        f"{tests} tests, {tests - with_data} of them without data, {sets} data sets",
    )


@claim(
    "global-policy-completeness",
    f"{SOURCE}, Theorem (its assumption of policy completeness)",
    EXACT,
)
def _completeness() -> Evidence:
    """Realizability of G and Π does not suffice: on an instance where the fit is
    infeasible, because no policy is best for the policies of later levels, the
    algorithm fails inside the event, where VALOR succeeds."""
    made = incomplete()
    run = monitored(made, constants(made), 0)
    parameters = TheoremParameters(EPSILON, DELTA, *runs.problem(made))
    other = valor(*runs.parts(made), parameters, np.random.default_rng(0))
    names = "value-realizability", "policy-realizability", "policy-completeness"
    found = check_assumptions(*runs.parts(made), names)
    checked = [found[name].holds for name in names]
    monitors, lost = run.result.monitors, runs.loss(made, other)
    holds = (
        checked == [True, True, False]
        and monitors["event"].holds is True
        and monitors["complete"].holds is False
        and run.result.event_failed
        and other.succeeded
        and lost <= Fraction(EPSILON)
    )
    return Evidence(
        holds,
        f"realizable; {run.result.status}: {run.result.reason}; VALOR: {other.status}, "
        f"loses {float(lost):.3g}",
    )
