"""Monitors of OLIVE: true errors, and that violations are seen."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from olivine.algorithms.environments import from_mdp, make
from olivine.algorithms.learning.draw_classes import make_q_class, optimal_member
from olivine.algorithms.learning.problem import contradictions
from olivine.algorithms.mdp.tabular import random_tabular_mdp
from olivine.algorithms.olive import review
from olivine.algorithms.olive.parameters import (
    OliveParameters,
    practical_parameters,
    rounds_of_a_level,
    theorem_parameters,
    trajectory_bound,
)
from olivine.algorithms.olive.run import LayeredEnvironment, olive_sampled
from olivine.algorithms.olive_program.program import average_bellman_errors
from olivine.algorithms.olive_program.sampled_program import FinitePairs

from tests.support.depth import deep
from tests.support.refusals import refused

EPSILON = 0.3


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 3), st.integers(1, 3))
def test_true_errors_of_an_mdp_are_its_exact_ones(seed, horizon, width) -> None:
    """Stochastic dynamics; X = S, in the order of levels."""
    rng = np.random.default_rng(seed)
    mdp = random_tabular_mdp(rng, horizon=horizon, width=width)
    environment = from_mdp(mdp)
    functions = make_q_class(environment, rng, size=6)
    layered = LayeredEnvironment(environment, functions)
    truth = review.TrueErrors(environment, layered.offsets, functions)
    order = np.argsort(mdp.state_level, kind="stable")
    for pair in layered.pairs(functions):
        values = dict(zip(order.tolist(), pair.values(), strict=True))
        actions = dict(zip(order.tolist(), pair.policy.tolist(), strict=True))
        n = mdp.n_states
        local = [min(actions[s], int(mdp.action_counts[s]) - 1) for s in range(n)]
        own = type(pair).from_fractions([values[s] for s in range(n)], local)
        errors = average_bellman_errors(mdp, own)
        levels = range(1, horizon + 1)
        assert [truth.error(pair, pair, h) for h in levels] == errors
        assert truth.value(pair) == own.value(mdp.start)
        # They add up to what is promised less what is kept.
        value = environment.truth.policy_value(layered.policies(pair.policy))
        assert sum(errors, Fraction(0)) == truth.value(pair) - value


def drawn(name, seed):
    """Draw twelve functions for an environment."""
    environment = make(name, seed)
    functions = make_q_class(environment, np.random.default_rng(0), size=12)
    return environment, functions, LayeredEnvironment(environment, functions)


@pytest.mark.parametrize("name", ["random-finite", "grid", "lock", "diabolical-lock"])
def test_the_optimal_pair_has_no_error_under_any_policy(name) -> None:
    environment, functions, layered = drawn(name, 2)
    truth = review.TrueErrors(environment, layered.offsets, functions)
    members = layered.pairs(functions)
    best = members[optimal_member(functions, environment)]
    assert truth.value(best) == environment.truth.optimal_value
    for pair in members:
        for level in range(1, environment.horizon + 1):
            assert truth.error(best, pair, level) == 0
            assert sum(truth.states(pair, level).values()) == 1


def test_estimates_of_features_approach_the_true_errors() -> None:
    environment, functions, layered = drawn("diabolical-lock", 0)
    truth = review.TrueErrors(environment, layered.offsets, functions)
    finite = FinitePairs(layered.pairs(functions))
    parameters = OliveParameters(
        Fraction(0), Fraction(0), 10, 100, deep(100_000, 30_000), 1
    )
    rng = np.random.default_rng(1)
    result = olive_sampled(layered, parameters, rng, optimiser=finite, all_levels=True)
    (played,) = result.rounds
    for constraint in played.added:
        for pair, error in zip(finite.pairs, finite.errors(constraint), strict=True):
            exact = truth.error(pair, played.pair, constraint.level)
            assert abs(float(error - exact)) < 0.1  # over 5 standard errors, K = 10


def test_unknown_truth_says_so() -> None:
    environment, functions, layered = drawn("lock-gaussian", 0)
    unknown = partial(refused, error=review.UnknownTruthError)
    unknown("no exact", review.TrueErrors, environment, layered.offsets, functions)
    unknown("no decoders", review.TrueErrors, make("lock", 0), layered.offsets)


class Judged:
    """A run with what it is judged by."""

    def __init__(self, seed=0, size=64, parameters=None, name="random-finite"):
        self.environment = make(name, seed)
        rng = np.random.default_rng([seed, 1])
        functions = make_q_class(self.environment, rng, size=size)
        self.layered = LayeredEnvironment(self.environment, functions)
        self.finite = FinitePairs(self.layered.pairs(functions))
        best = self.finite.pairs[optimal_member(functions, self.environment)]
        self.parameters = parameters or theorem_parameters(
            EPSILON, 0.1, horizon=3, n_actions=2, rank=2, log_size=functions.log_size()
        )
        self.setting = review.Setting(
            self.layered,
            self.finite,
            best,
            self.parameters,
            EPSILON,
            2,
            parameters is None,
        )
        self.truth = review.TrueErrors(
            self.environment, self.layered.offsets, functions
        )
        self.result = olive_sampled(
            self.layered, self.parameters, rng, optimiser=self.finite
        )

    def reports(self, result=None, **changes):
        setting = replace(self.setting, **changes)
        return review.olive_reports(setting, result or self.result, self.truth)


@pytest.mark.parametrize("seed", range(3))
def test_a_run_at_the_theorems_constants_is_clean(seed) -> None:
    judged = Judged(seed)
    reports = judged.reports()
    assert all(report.holds for report in reports.values())
    assert contradictions(reports) == []
    rounds = len(judged.result.rounds)
    checks = {name: report.checks for name, report in reports.items()}
    assert checks["initial"] == 64
    assert checks["evaluation"] == 3 * rounds
    assert checks["deviations"] == 64 * (rounds - 1)
    assert checks["optimism"] == rounds
    assert reports["epsilon-optimal"].scope == "probable"
    assert reports["rounds"].scope == "event"


def test_tiny_data_break_the_premises_and_bind_nothing() -> None:
    tiny = OliveParameters(Fraction(1, 100), Fraction(1, 10), 1, 2, 3, 4)
    for seed in range(deep(4, 2)):
        reports = Judged(seed, parameters=tiny).reports()
        assert not all(
            reports[name].holds for name in ("initial", "evaluation", "deviations")
        )
        assert contradictions(reports) == []
        assert reports["rounds"].scope == "fact"


@settings(max_examples=20, deadline=None)
@given(
    st.integers(0, 2**32),
    st.tuples(*[st.sampled_from([1, 30, 3000, 10**6, 10**12])] * 3),
    st.sampled_from([0, Fraction(1, 200), Fraction(1, 60), Fraction(1, 20)]),
    st.sampled_from([0, Fraction(1, 100), Fraction(1, 5)]),
    st.integers(0, 12),
)
def test_no_parameters_contradict_the_lemmas(seed, sizes, tolerance, more, limit):
    """Whatever the accuracies are: where the premises hold, so do the lemmas."""
    stop = 3 * tolerance + more
    parameters = OliveParameters(Fraction(tolerance), Fraction(stop), *sizes, limit)
    judged = Judged(seed, size=20, parameters=parameters)
    assert contradictions(judged.reports()) == []


@pytest.mark.parametrize(("times", "scope"), [("1.9", "fact"), ("2.1", "event")])
def test_progress_is_promised_where_errors_exceed_twice_the_tolerance(
    times, scope
) -> None:
    """A true error of stop/H - ε/(8H) is seen again, off by the tolerance."""
    tolerance, epsilon = Fraction(1, 50), Fraction(str(EPSILON))
    stop = 3 * Fraction(times) * tolerance + epsilon / 8
    parameters = OliveParameters(tolerance, stop, 100, 100, 100, 4)
    assert Judged(parameters=parameters).reports()["progress"].scope == scope


@pytest.mark.parametrize(("factor", "good"), [(0.99, True), (1.01, False)])
def test_errors_of_a_round_are_meant_within_epsilon_over_8h(factor, good) -> None:
    judged = Judged()
    first, *others = judged.result.rounds
    off = Fraction(factor) * Fraction(str(EPSILON)) / 24
    exact = tuple(judged.truth.error(first.pair, first.pair, h) for h in (1, 2, 3))
    moved = replace(first, errors=(exact[0], exact[1] - off, exact[2]))
    result = replace(judged.result, rounds=(moved, *others))
    assert judged.reports(result)["evaluation"].holds is good


def test_a_missed_maximiser_or_pair_is_a_contradiction():
    judged = Judged()
    played = judged.result.rounds[0]
    promised = judged.result.program.objective(judged.setting.best)
    low = replace(played, optimum=promised - Fraction(1, 2))
    result = replace(judged.result, rounds=(low, *judged.result.rounds[1:]))
    reports = judged.reports(result)
    assert reports["maximiser"].holds is False
    assert reports["optimism"].holds is False
    assert any("maximiser" in found for found in contradictions(reports))
    reports = judged.reports(replace(judged.result, status="no pair left"))
    assert any("maximiser" in found for found in contradictions(reports))
    assert reports["finishes"].holds is False
    assert reports["epsilon-optimal"].holds is False


def test_a_constraint_that_keeps_its_own_pair_is_seen() -> None:
    judged = Judged()
    first, *others = judged.result.rounds
    assert first.added
    kept = replace(first, pair=judged.setting.best)
    result = replace(judged.result, rounds=(kept, *others))
    reports = judged.reports(result)
    assert reports["progress"].holds is False
    assert reports["progress"].scope == "event"
    loose = replace(judged.parameters, tolerance=Fraction(1, 20))
    assert judged.reports(parameters=loose)["progress"].scope == "fact"


def test_too_many_rounds_trajectories_and_too_much_loss_are_seen() -> None:
    judged = Judged()
    first, last = judged.result.rounds[0], judged.result.rounds[-1]
    many = replace(judged.result, rounds=(first,) * 30 + (last,))
    assert judged.reports(many)["rounds"].holds is False
    costly = replace(judged.result, trajectories=10**12)
    assert judged.reports(costly)["trajectories"].holds is False
    truth = judged.environment.truth
    worst = min(
        judged.finite.pairs,
        key=lambda p: truth.policy_value(judged.layered.policies(p.policy)),
    )
    bad = replace(judged.result, rounds=(first, replace(last, pair=worst)))
    reports = judged.reports(bad, epsilon=0.01)
    assert reports["epsilon-optimal"].holds is False
    loss = truth.optimal_value - truth.policy_value(
        judged.layered.policies(worst.policy)
    )
    for factor, good in ((Fraction(101, 100), True), (Fraction(99, 100), False)):
        stop = factor * loss - Fraction(3, 8) * Fraction(1, 100)
        allowed = replace(judged.parameters, stop=stop)
        reports = judged.reports(bad, epsilon=0.01, parameters=allowed)
        assert reports["policy-bound"].holds is good
    limited = replace(judged.result, status="round limit")
    assert judged.reports(limited)["epsilon-optimal"].first.startswith("round limit")


def test_giving_up_and_an_unknown_truth_claim_nothing():
    judged = Judged()
    reports = judged.reports(replace(judged.result, status="undecided", reason="time"))
    assert reports["finishes"].holds is None
    assert reports["epsilon-optimal"].holds is None
    assert "time" in reports["finishes"].first
    reports = review.olive_reports(judged.setting, judged.result, "nobody knows")
    assert reports["deviations"].holds is None
    assert reports["deviations"].first == "nobody knows"
    assert reports["trajectories"].holds is True
    assert contradictions(reports) == []


def test_nothing_is_bound_without_the_optimum_or_the_rank():
    reports = Judged().reports(best=None)
    assert reports["realizable"].holds is False
    assert reports["optimum-kept"].checks == 0
    reports = Judged().reports(rank=1)
    assert reports["rounds"].scope == "fact"
    assert reports["epsilon-optimal"].scope == "fact"


def test_the_optimal_pair_of_a_finite_environment() -> None:
    environment = make("random-finite", 4)
    layered = LayeredEnvironment(environment)
    pair = review.optimal_pair(layered)
    value = environment.truth.policy_value(layered.policies(pair.policy))
    assert value == environment.truth.optimal_value
    assert review.TrueErrors(environment, layered.offsets).value(pair) == value


def test_the_theorems_constants_give_what_its_proof_needs() -> None:
    """φ, stop and the accuracies of the estimates, as the proof puts them together."""
    for m in (1, 2, 5, 9):
        for h in (1, 3, 10):
            p = theorem_parameters(
                EPSILON, 0.1, horizon=h, n_actions=2, rank=m, log_size=1.0
            )
            epsilon = Fraction(3, 10)
            assert abs(p.stop + epsilon / 8 + 2 * epsilon / 8 - epsilon) < 1e-9
            own = p.stop / h - epsilon / (8 * h)  # the error of a round's own pair
            assert abs(float(own / (2 * p.tolerance)) / (3 * m**0.5) - 1) < 1e-3
            per_level = rounds_of_a_level(EPSILON, horizon=h, rank=m)
            assert p.max_rounds - 1 >= h * per_level
            # ζ/(2φ): a volume argument over balls of radius ζ, ellipsoids of 2φ.
            ratio = 2 * m**0.5 / (2 * float(p.tolerance))
            assert per_level == pytest.approx(
                m * np.log(ratio) / np.log(5 / 3), rel=1e-3
            )


def test_the_trajectories_that_the_theorem_promises() -> None:
    p = theorem_parameters(0.2, 0.05, horizon=4, n_actions=3, rank=2, log_size=5.0)
    sizes = {"epsilon": 0.2, "delta": 0.05, "M": 2, "K": 3, "H": 4, "log_size": 5.0}
    bound = trajectory_bound(**sizes)
    assert bound == p.n_est + p.max_rounds * (p.n_eval + p.n_train)
    assert p.trajectory_bound(4) == bound + 3 * p.max_rounds * p.n_train
    assert replace(p, max_rounds=None).trajectory_bound() is None
    harder = {"epsilon": 0.1, "delta": 0.01, "M": 4, "K": 6, "H": 8, "log_size": 9.0}
    grown = {k: trajectory_bound(**sizes | {k: v}) for k, v in harder.items()}
    assert all(n > bound for n in grown.values())
    assert grown["epsilon"] > 4 * bound


def test_practical_parameters_and_their_refusals() -> None:
    sizes = {"horizon": 3, "n_actions": 2, "rank": 2}
    p = practical_parameters(EPSILON, **sizes)
    assert (p.tolerance, p.stop) == (Fraction(1, 60), Fraction(3, 20))
    assert p.n_train == 4 * 2 * 60**2
    assert (p.n_est, p.n_eval) == (712, 1600)  # 64/ε² and 16H²/ε², up
    assert p.stop > 3 * p.tolerance
    own = practical_parameters(EPSILON, **sizes, tolerance=0.01, n_eval=7)
    assert (own.tolerance, own.n_eval) == (Fraction(1, 100), 7)
    assert own.n_train == 80_000
    refused("epsilon", practical_parameters, 0.0, **sizes)
    wrong = {"n_est": 0, "n_eval": 1.5, "n_train": True, "max_rounds": -1}
    for field, value in wrong.items():
        refused(field, practical_parameters, EPSILON, **sizes, **{field: value})
