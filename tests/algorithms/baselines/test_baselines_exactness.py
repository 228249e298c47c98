"""The baselines to the last digit: sizes, R-max's model, what monitors notice."""

import dataclasses
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from olivine.algorithms.baselines import (
    BaselineMonitors,
    RmaxParameters,
    concentrability,
    propagation,
    rmax,
    rmax_practical,
    rmax_theorem,
    theorem_parameters,
)
from olivine.algorithms.baselines.rmax import CellPolicy, Decoding, RmaxModel
from olivine.algorithms.environments import from_lists, make
from olivine.algorithms.exact.data import EmpiricalMeasure
from olivine.algorithms.learning.draw_classes import make_classes
from olivine.algorithms.learning.problem import Problem

from tests.support.baselines import Recorder, practical, run

THIRD = Fraction(1, 3)


def paying_thirds():
    """Two observations, rewards 1/3 and 2/3 with chance."""
    rewards = {"x": [{THIRD: THIRD, 0: 1 - THIRD}, THIRD], "y": [2 * THIRD, 0]}
    return from_lists([[("s", {"x": THIRD, "y": 1 - THIRD}, rewards, [])]])


def test_psdp_with_tiny_accuracy_adds_up_rationals(rng) -> None:
    env, recorder = paying_thirds(), Recorder()
    values, policies = make_classes(env, "tabular", rng)
    parameters = practical("psdp", env, n=10**20 + 7, eps_sub=Fraction(1, 10**20))
    result = run("psdp", env, values, policies, parameters, rng, [recorder])
    data = recorder.fits[0].data
    chosen = recorder.fits[0].policy(data.observations) == data.actions
    rows = zip(data.exact_rewards, data.weights, chosen, strict=True)
    earned = sum((2 * r * int(w) for r, w, taken in rows if taken), Fraction(0))
    assert result.estimate == earned / (10**20 + 7)
    assert result.inaccurate_calls == 0


def test_losses_of_fitted_q_iteration_are_weighted_by_the_number_of_actions() -> None:
    env, recorder = paying_thirds(), Recorder()
    rng = np.random.default_rng(0)
    values, policies = make_classes(env, "tabular", rng)
    parameters = practical("fqi", env, n=10**6)
    run("fqi", env, values, policies, parameters, rng, [recorder])
    (fit,) = recorder.fits
    for a, (function, loss) in enumerate(zip(fit.functions, fit.losses, strict=True)):
        errors = (function(fit.data.observations) - fit.data.rewards) ** 2
        taken = fit.data.actions == a
        mean = np.average(errors * taken, weights=fit.data.weights.astype(float))
        assert loss == pytest.approx(2 * mean)


def steps(*rows):
    """(cell, action, reward, next cell, count)."""
    x, a, r, after, w = zip(*rows, strict=True)
    return EmpiricalMeasure(x, actions=a, rewards=r, next_observations=after, weights=w)


def test_a_pair_is_known_from_m_visits_on_and_stays_as_it_was() -> None:
    states = (np.array([0]), np.array([0, 1]))
    model = RmaxModel(states, 2, 5)

    def unknown(*rows: tuple[int, ...]) -> int:
        data = steps(*rows)
        found = model.unknown(1, data)
        model.add(1, data)
        return found

    assert unknown((0, 0, 1, 0, 4)) == 4
    assert not model.known(1).any()
    assert unknown((0, 0, 0, 1, 1), (0, 1, 1, 1, 2)) == 3
    assert model.known(1).tolist() == [[True, False]]
    assert model.mean_reward(1, 0, 0) == Fraction(4, 5)
    assert model.next_shares(1, 0, 0) == [Fraction(4, 5), Fraction(1, 5)]
    assert unknown((0, 0, 0, 1, 95)) == 0
    assert model.mean_reward(1, 0, 0) == Fraction(4, 5)
    assert model.next_shares(1, 0, 0) == [Fraction(4, 5), Fraction(1, 5)]
    # Unknown pairs below are worth 1, and so is whatever would be worth more.
    values, actions = model.plan()
    assert [v.tolist() for v in values] == [[1], [1, 1]]
    assert actions[0].tolist() == [0]


def test_a_batch_that_meets_just_as_many_unknown_pairs_as_it_may_is_the_last() -> None:
    env = from_lists([[("s", {"x": 1}, {"x": [0]}, [])]])
    recorder = Recorder()
    p = rmax_practical(Fraction(1, 2), 0.1, X=1, K=1, H=1, m=100, n=8, max_batches=99)
    p = dataclasses.replace(p, m=9)  # two batches of 8 visits, then none
    rmax(env, p, np.random.default_rng(0), observers=[recorder])
    assert [batch.unknown for batch in recorder.batches] == [8, 8, 0]
    # ε = 1/2 permits one visit in a batch of 8; x, once in 8 draws, stays unknown.
    rare = {"x": Fraction(1, 8), "y": Fraction(7, 8)}
    env = from_lists([[("s", rare, {"x": [0], "y": [0]}, [])]])
    p = rmax_practical(Fraction(1, 2), 0.1, X=2, K=1, H=1, m=30, n=8)
    assert p.patience == 1
    ends = set()
    for seed in range(20):
        recorder = Recorder()
        rmax(env, p, np.random.default_rng(seed), observers=[recorder])
        *before, last = (batch.unknown for batch in recorder.batches)
        assert last <= 1 < min(before)
        ends.add(last)
    assert ends == {0, 1}


def monitored_rmax():
    """A run with more than enough data, its monitors, and its last batch."""
    env = make("random-finite", 2)
    decoding, recorder = Decoding(env), Recorder()
    p = rmax_practical(0.3, 0.1, X=decoding.most_cells, K=2, H=3, m=10**7, n=10**7)
    monitors = BaselineMonitors(Problem(env, complete=True), p)
    observers = [monitors, recorder]
    result = rmax(env, p, np.random.default_rng(0), observers=observers)
    return env, decoding, monitors, result, recorder.batches[-1]


def test_rmax_monitors_notice_what_is_not_so() -> None:
    env, decoding, monitors, result, batch = monitored_rmax()
    assert all(report.holds for report in monitors.reports(result).values())

    def broken():
        return {n for n, r in monitors.reports(result).items() if r.holds is False}

    states = [env.truth.model.level(h).state_of_code for h in (1, 2, 3)]
    # Nobody knows anything: what is predicted is 1, and unknown pairs are met.
    monitors(dataclasses.replace(batch, model=RmaxModel(states, 2, 1)))
    assert broken() == {"escape"}
    # Rewards of known pairs are gone: the prediction is 0.
    for rewards in batch.model.rewards:
        rewards[...] = Fraction(0)
    monitors(batch)
    assert {"model", "optimism"} <= broken()
    assert "simulation" not in broken()
    # They are all 1, and a policy that is worth less than what is predicted.
    for rewards, visits in zip(batch.model.rewards, batch.model.visits, strict=True):
        rewards[...] = visits
    worst = [env.truth.q_values(h).argmin(axis=1).astype(np.int64) for h in (1, 2, 3)]
    poor = tuple(CellPolicy(decoding, h, a) for h, a in enumerate(worst, 1))
    result = dataclasses.replace(result, policies=poor)
    assert {"model", "simulation"} <= broken()
    assert "optimism" not in broken()


HALF = Fraction(1, 2)


def test_rmax_ends_when_it_hardly_meets_unknown_pairs() -> None:
    env = make("random-finite", 2, states=3, actions=3, horizon=3)
    recorder = Recorder()
    parameters = rmax_practical(0.3, 0.1, X=6, K=3, H=3)
    result = rmax(env, parameters, np.random.default_rng(0), observers=[recorder])
    assert result.trajectories == len(recorder.batches) * parameters.n
    assert result.iterations == len(recorder.batches) <= parameters.batches
    *before, last = (batch.unknown for batch in recorder.batches)
    assert last <= parameters.patience < min(before)


def test_rmax_on_decoded_features_and_on_their_codes_agree() -> None:
    for observations in ("features", "codes"):
        env = make("lock", 3, horizon=4, dimension=0, observations=observations)
        assert Decoding(env).most_cells == 3
        parameters = rmax_practical(0.2, 0.1, X=3, K=4, H=4, m=50, n=100)
        result = rmax(env, parameters, np.random.default_rng(0))
        assert result.succeeded
        assert env.truth.policy_value(result.policies) == HALF
        assert abs(result.estimate - HALF) < 0.3


def test_rmax_that_may_not_play_long_enough_fails() -> None:
    env = make("random-finite", 0)
    parameters = rmax_practical(0.3, 0.1, X=4, K=2, H=3, max_batches=2)
    result = rmax(env, parameters, np.random.default_rng(0))
    assert result.status == "failure"
    assert "2 batches" in result.reason
    assert result.iterations == 2
    assert not result.contradictions


@given(
    st.floats(0.01, 0.99),
    st.floats(1e-6, 0.99),
    st.integers(1, 50),
    st.integers(1, 10),
    st.integers(1, 30),
)
def test_rmax_batches_are_large_enough_for_the_test_that_ends_a_run(
    eps, delta, x, k, h
) -> None:
    """N ≥ 16 ln(2T/δ)/ε, which the doubling argument leaves to be checked."""
    p = rmax_theorem(eps, delta, X=x, K=k, H=h)
    assert p.batches <= 8 * p.pairs / p.eps + 1
    assert p.n >= 16 * math.log(2 * p.batches / delta) / eps
    assert p.n == p.m


def test_pairs_are_known_after_m_visits() -> None:
    model = RmaxModel([np.array([0]), np.array([0, 1])], 2, 3)
    assert model.n_known == 0
    model.visits[0][0, 0], model.visits[0][0, 1] = 2, 3
    assert model.known(1).tolist() == [[False, True]]
    assert model.known(2).tolist() == [[False, False], [False, False]]
    assert model.n_known == 1


accuracies = st.fractions(Fraction(1, 1000), Fraction(999, 1000))
chances = st.fractions(Fraction(1, 10**6), Fraction(999, 1000))
sizes = st.tuples(st.integers(1, 9), st.integers(1, 5), st.integers(1, 9))
logs = st.floats(0, 500)
SLACK = 1e-6


def just_enough(n, width, deviation, union) -> bool:
    """Whether n is the least number with n ≥ width² union / (2 deviation²)."""
    rate = 2 * deviation**2 / Fraction(width) ** 2
    return float((n - 1) * rate) <= union + SLACK and float(n * rate) >= union - SLACK


@given(accuracies, chances, sizes, logs)
def test_psdp(eps, delta, size, log_policies) -> None:
    m, k, h = size
    p = theorem_parameters("psdp", eps, delta, M=m, K=k, H=h, log_Pi=log_policies)
    reach = sum(k ** (level - 1) for level in range(1, h + 1))
    assert concentrability(k, h) == reach
    deviation = (eps / reach - p.eps_sub) / 2  # of a level's gap, twice
    assert deviation == eps / (4 * reach)
    union = math.log(4 * h) - math.log(delta) + log_policies
    assert just_enough(p.n, k, deviation, union)


@given(accuracies, chances, sizes, logs)
def test_fitted_q_iteration(eps, delta, size, log_values) -> None:
    m, k, h = size
    p = theorem_parameters("fqi", eps, delta, M=m, K=k, H=h, log_G=log_values)
    tau = (eps / propagation(k, h)) ** 2
    lost = 2 * sum(level * math.sqrt(k**level * tau) for level in range(1, h + 1))
    assert lost <= eps * (1 + 1e-12)
    assert 2 * lost >= eps  # rounding roots up costs less than a factor of 2
    deviation = (tau - p.eps_sub) / 2
    assert deviation == tau / 4
    union = math.log(4 * h * k) - math.log(delta) + log_values
    assert just_enough(p.n, 6 * k, deviation, union)


@given(accuracies, chances, sizes, logs, logs)
def test_bellman_backups(eps, delta, size, log_values, log_policies) -> None:
    m, k, h = size
    p = theorem_parameters(
        "backup", eps, delta, M=m, K=k, H=h, log_G=log_values, log_Pi=log_policies
    )
    # What M states lose together may be one state's: so much for a policy, and
    # as much again for the square of a value function's error.
    deviation = p.eps_sub / 2
    half = m * (2 * deviation + p.eps_sub)
    error = eps / (2 * h**2)
    assert 2 * half == error**2
    assert h * half + h * (h - 1) * error <= eps
    union = math.log(8 * m * h) - math.log(delta) + log_values + log_policies
    assert just_enough(p.n, 6 * k, deviation, union)


@given(accuracies, chances, sizes)
def test_rmax(eps, delta, size) -> None:
    x, k, h = size
    p = rmax_theorem(eps, delta, X=x, K=k, H=h)
    # Known pairs are off by `deviation`: half of it in the reward, half in what
    # follows, each after at most 2m - 1 visits. The value is off by 2H times that,
    # and by the chance to meet an unknown pair, twice the share the test permits.
    deviation = eps / (4 * h)
    assert 2 * h * deviation + 2 * p.patience / p.n == eps
    exponent = (p.m * deviation / 2) ** 2 * 2 / Fraction(2 * p.m)
    rewards = math.log(2 * p.pairs) - float(exponent)
    moves = math.log(p.pairs) + x * math.log(2) - float(exponent)
    failed = math.exp(rewards) + math.exp(moves)
    ended = p.batches * math.exp(-p.n * float(eps) / 16)
    assert failed + ended <= delta
    union = x * math.log(2) + math.log(8 * p.pairs) - math.log(delta)
    assert float((p.m - 1) * deviation**2 / 4) <= union + SLACK


@given(sizes, st.integers(1, 50), st.integers(1, 50), accuracies)
def test_rmax_batches(size, m, n, eps) -> None:
    """Batches with barely too many visits to unknown pairs use all of them up."""
    x, k, h = size
    p = RmaxParameters(eps=eps, delta=Fraction(1, 10), X=x, K=k, H=h, m=m, n=n)
    least = (
        math.floor(p.patience) + 1
    )  # visits to unknown pairs in a batch that goes on
    most = p.pairs * (m - 1 + n)  # a pair is unknown up to m - 1, a batch adds n
    assert p.batches >= most // least + 1
    assert p.batches * p.patience <= most + p.patience
