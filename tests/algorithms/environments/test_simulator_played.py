"""Simulators played again, and samples of what is drawn: slips, limits, blocks."""

import itertools
from fractions import Fraction

import numpy as np
import olivine
import pytest
from olivine.algorithms.classes.finite import TabularPolicy
from olivine.algorithms.environments import simulator_calls
from olivine.algorithms.environments.protocol import STOCHASTIC, UnknownTruthError
from olivine.algorithms.environments.simulator_calls import ReplayError
from olivine.algorithms.learning import registry
from olivine.algorithms.learning.events import Evaluation

from tests.algorithms.environments.test_simulator import HALF, coin, rng
from tests.support.depth import with_rows
from tests.support.refusals import refused
from tests.support.slipping import slipping


@pytest.mark.parametrize("ask", ["draw", "run", "truth", "evaluate", "learn"])
def test_a_process_that_slips_after_learning_is_refused_for_good(ask):
    lock, env = slipping(replays=10)
    result = olivine.learn("valor", env)
    assert result.evaluation == Evaluation(1.0, 0.0, 10)
    lock.slips = True
    with pytest.raises(ReplayError, match=r"step\(1\) after .* gave reward 1.0, and"):
        env.run(result.policies, 2000, rng())
    lock.slips = False
    questions = {
        "draw": lambda: env.draw([0], 5, rng()),
        "run": lambda: env.run(result.policies, 1, rng()),
        "truth": lambda: env.truth,
        "evaluate": lambda: olivine.evaluate(env, result.policies, 5),
        "learn": lambda: olivine.learn("psdp", env),
    }
    refused(r"on replay 0.0; declare .*'nothing'", questions[ask], error=ReplayError)


def test_what_was_learned_is_played_again_before_it_is_given():
    lock, env = slipping(replays=10)
    switch = [].append

    def slip_from_now_on(event):
        lock.slips |= type(event).__name__ == "Iteration"
        switch(event)

    with pytest.raises(ReplayError, match="deterministic in 'everything', but"):
        olivine.learn("valor", env, observers=[slip_from_now_on])


@pytest.mark.parametrize("declared", ["nothing", "everything"])
def test_an_evaluation_plays_every_episode(declared):
    lock, env = slipping(deterministic=declared, replays=7)
    opened = [TabularPolicy(np.array([a, a])) for a in lock.code]
    before = lock.plays
    found = olivine.evaluate(env, opened, 40)
    assert lock.plays - before >= 40
    assert (found.mean, found.standard_error, found.episodes) == (1, 0, 40)
    half = olivine.evaluate(env, [opened[0], coin, opened[2]], 40)
    assert 0.2 < half.mean < 0.8
    spread = (half.mean * (1 - half.mean) / 39) ** 0.5
    assert half.standard_error == pytest.approx(spread)
    assert half.overlooked(0.05) == pytest.approx(0.95**40)
    refused(r"slip: 0\.0 is not in", half.overlooked, 0)
    refused("episodes: 1 is no integer of at least 2", olivine.evaluate, env, opened, 1)
    refused("policies: some are missing", olivine.evaluate, env, [None, *opened[1:]], 5)


@pytest.mark.parametrize("name", ["tabular", "lock", "grid"])
def test_evaluations_are_near_the_truth(name):
    env = olivine.make(name, 1, horizon=3)
    policies = env.truth.optimal_policies()
    found = olivine.evaluate(env, policies, 2000, seed=3)
    error = abs(found.mean - float(env.truth.optimal_value))
    assert error <= 5 * found.standard_error + 1e-9
    assert found == olivine.evaluate(env, policies, 2000, seed=3)
    kept = env.run(policies, 50, rng(), first=50, transitions=True)
    assert kept.returns.mean() == pytest.approx(float(kept.mean_return))
    plain = env.run(policies, 50, rng(), first=50)
    assert plain.returns.mean() == pytest.approx(float(plain.mean_return))


def test_messages_name_the_algorithms_for_drawn_dynamics():
    refused = set()
    last = [(s, {s: 1}, {s: [s == "a", s == "b"]}, []) for s in "ab"]
    first = ("start", {"x": 1}, {"x": [0, 0]}, [{"a": HALF, "b": HALF}, "b"])
    env = olivine.from_lists([[first], last])
    for algorithm in registry.algorithms():
        if algorithm.name in STOCHASTIC.replace(" and", ",").split(", "):
            olivine.learn(algorithm.name, env, parameters="practical")
            continue
        with pytest.raises(ValueError, match=f"need that; {STOCHASTIC} learn there"):
            olivine.learn(algorithm.name, env, parameters="practical")
        refused.add(algorithm.name)
    assert len(refused) == len(registry.algorithms()) - 4


def forks(pay, states=("one", "one")):
    """Two levels; the second pays by the action of the first."""
    path = []

    def reset():
        path.clear()
        return 0

    def step(action):
        path.append(action)
        return 0, pay[path[0]] if len(path) == 2 else 0

    return olivine.from_simulator(
        reset, step, 2, 2, codes=1, deterministic="everything",
        state=lambda: states[path[0]] if path else "start",
    )  # fmt: skip


def test_paths_to_one_state_go_on_alike():
    env = forks((0, HALF))
    message = r"\[0, 0\] and \[1, 0\] lead to .*, but reward 0 f.* and 1/2 the second"
    for _ in range(2):  # refused for good
        with pytest.raises(ReplayError, match=message):
            _ = env.truth
    assert forks((HALF, HALF)).truth.optimal_value == HALF
    apart = forks((0, HALF), states=("one", "two"))
    assert apart.max_states == 2
    with pytest.raises(UnknownTruthError, match="level 2: two hidden states emit obs"):
        _ = apart.truth


def test_rewards_are_multiples_of_what_fits_64_bits():
    least = Fraction(1, 2**61)
    assert forks([least] * 2).truth.optimal_value == least
    with pytest.raises(UnknownTruthError, match="rewards are multiples of no unit"):
        _ = forks([Fraction(1, 2**61 + 1)] * 2).truth


def test_observations_that_differ_when_played_again_are_refused():
    seen = [0]
    env = olivine.from_simulator(
        lambda: 0, lambda a: (seen[0], 0), 2, 2, codes=2, states=1,
        deterministic="everything",
    )  # fmt: skip
    env.run([0, 0], 5, rng())
    seen[0] = 1
    message = r"step\(0\) after .* gave observation 0, and on replay 1; decl.*'rewards'"
    refused(message, env.run, [0, 0], 5, rng(), error=ReplayError)


def test_what_a_sample_alone_shows_is_refused_with_its_episode():
    pays, codes = [], [np.uint64(1)]

    def step(action):
        return codes[0], pays.pop() if pays else 0.25

    env = olivine.from_simulator(lambda: 0, step, 2, 3, codes=2)
    data = env.draw([0, 1], 4, rng())
    assert (data.observations.tolist(), data.observations.dtype) == ([1], np.int64)
    pays += [0.5] * 3 + [0.25] * 3
    message = r"episode 1 of a sample gave rewards \[0.5, 0.5, 0.5\] with sum 1.5; exp"
    refused(message, env.run, [0, 1, 0], 2, rng())
    for bad in (2, [1], "1"):
        codes[0] = bad
        call = r"level 2 of episode 0 of a sample gave observation .*; expected a code"
        refused(call, env.run, [0, 1, 0], 2, rng())
    codes[0] = 2
    table = TabularPolicy(np.array([0, 1]))
    refused(r"at level 2, gave observation 2; exp", env.run, [table] * 3, 2, rng())


def three_features(reset=lambda: np.zeros(3)):
    return olivine.from_simulator(reset, lambda a: (np.zeros(3), 0), 2, 2, dimension=3)


@with_rows(
    "limit, value, more, most",
    ("MAX_BYTES", 240, {"level": 1}, 10),  # one level is kept
    ("MAX_BYTES", 240, {}, 5),
    ("MOST_EPISODES", 7, {}, 7),
)
def test_samples_are_limited(monkeypatch, limit, value, more, most):
    monkeypatch.setattr(simulator_calls, limit, value)
    env = three_features()
    assert env.draw(["uniform"], most, rng(), **more).draws == most
    message = f"n: {most + 1} episodes of .* {value}[ ,]"
    refused(message, env.draw, ["uniform"], most + 1, rng(), **more)


def test_samples_are_played_in_blocks(monkeypatch):
    played = itertools.count()
    env = three_features(lambda: np.full(3, next(played) % 5, dtype=float))
    monkeypatch.setattr(simulator_calls, "_BLOCK", 3)
    first = next(played) + 1
    data = env.draw([1], 8, rng())
    assert data.observations[:, 0].tolist() == [(first + i) % 5 for i in range(8)]
    assert data.actions.tolist() == [1] * 8
    found = env.run([1, coin], 8, rng(), first=5, transitions=True)
    assert found.paths.shape == (5, 2)
    assert [len(m) for m in found.transitions] == [8, 8]
