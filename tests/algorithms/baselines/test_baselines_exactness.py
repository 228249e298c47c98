"""What the baselines compute to the last digit, and what R-max's monitors notice."""

import dataclasses
from fractions import Fraction

import numpy as np
import pytest
from olivine.algorithms.baselines import BaselineMonitors, rmax, rmax_practical
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
