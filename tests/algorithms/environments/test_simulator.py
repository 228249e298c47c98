"""Environments of a reset and a step: the same law, every bad return value named."""

import itertools
import json
import math
import re
from fractions import Fraction

import numpy as np
import olivine
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from olivine.algorithms.classes import FiniteQClass, TabularPolicyClass
from olivine.algorithms.classes.finite import TabularPolicy
from olivine.algorithms.environments.protocol import UnknownTruthError
from olivine.algorithms.environments.to_gym import MdpStepper, stepper
from olivine.algorithms.exact.arrays import END
from olivine.algorithms.mdp.tabular import TabularMDP

from tests.support.depth import deep, with_rows
from tests.support.refusals import refused
from tests.support.slipping import slipping
from tests.support.tabular import mdps

HALF = Fraction(1, 2)


def rng(seed=0):
    return np.random.default_rng(seed)


def simulated(env, **more):
    """The same process, seen through `reset` and `step` only."""
    played = stepper(env)

    def step(action):
        x, reward = played.step(action)
        return x, Fraction(reward).limit_denominator(10**6)

    codes = [env.space(h).n_codes for h in range(1, env.horizon + 1)]
    more = {"replays": 4, **more}
    return olivine.from_simulator(
        lambda seed: played.begin(rng(seed)),
        step,
        env.n_actions,
        env.horizon,
        codes=codes,
        **more,
    )


def lowest(observations):
    return np.zeros(len(observations), dtype=np.int64)


def coin(observations):
    return np.full((len(observations), 2), 0.5)


@given(st.integers(0, 10**6), st.integers(1, 3), st.integers(1, 4), st.integers(1, 3))
@settings(max_examples=15, deadline=None)
def test_the_whole_process_is_found(seed, states, horizon, actions):
    env = olivine.make(
        "tabular", seed, states=states, horizon=horizon, actions=actions,
        support=1, denominator=8,
    )  # fmt: skip
    seen = simulated(env, deterministic="everything", state="observation")
    assert seen.truth.optimal_value == env.truth.optimal_value
    reached = max(len(env.truth.reachable(h)) for h in range(1, horizon + 1))
    assert seen.max_states == reached
    tables = [rng(seed).integers(actions, size=env.space(h + 1).n_codes)
              for h in range(horizon)]  # fmt: skip
    policies = [TabularPolicy(table) for table in tables]
    value = env.truth.policy_value(policies)
    assert seen.truth.policy_value(policies) == value
    assert seen.run(policies, 10**20, rng()).mean_return == value


@given(st.integers(0, 10**6), st.booleans())
@settings(max_examples=10, deadline=None)
def test_counts_of_a_graph_add_up_at_any_size(seed, merged):
    env = olivine.make("tabular", seed, horizon=3, support=1, denominator=8)
    state = "observation" if merged else None
    seen = simulated(env, deterministic="everything", state=state, states=2)
    n = 10**25
    whole = seen.run([coin] * 3, n, rng(seed), first=5, transitions=True)
    means = [m.expectation_exact(m.exact_rewards) for m in whole.transitions]
    assert sum(means) == whole.mean_return
    alone = seen.run([coin] * 3, 5, rng(seed), first=5)
    assert alone.returns.mean() == pytest.approx(float(alone.mean_return))
    assert [m.draws for m in whole.transitions] == [n] * 3
    through = seen.draw([coin] * 3, n, rng(seed), level=1)
    true = env.truth.policy_value([coin] * 3)
    assert abs(through.expectation_exact(through.exact_rewards) - true) < 1e-9
    assert abs(whole.mean_return - true) < 1e-9


def test_episodes_have_the_law_of_the_process():
    env = olivine.make("random-finite", 3, states=3, horizon=3)
    seen, n = simulated(env), deep(300, 100)
    for path in [(), (1,), (0, 1)]:
        law = env.truth.observation_probabilities(path).astype(float)
        for data in (
            seen.draw(path, n, rng(), level=len(path) + 1),
            seen.draw((*path, "uniform"), n, rng()).marginal(),
        ):
            counts = data.weights_by_code(len(law)).astype(float)
            assert (np.abs(counts / n - law) < 5 * np.sqrt(law / n) + 1e-9).all()
    value = env.truth.policy_value([coin, lowest, coin])
    found = seen.run([coin, lowest, coin], n, rng(), transitions=True)
    assert abs(found.mean_return - value) < 5 / n**0.5
    assert found.mean_return == sum(
        m.expectation_exact(m.exact_rewards) for m in found.transitions
    )
    assert set(seen.draw([coin, lowest, coin], n, rng(), level=2).actions) == {0}
    assert (seen.draw((0, 0, "uniform"), 9, rng()).next_observations == END).all()
    assert seen.draw(["uniform"], 9, rng(), successors=False).next_observations is None


def test_the_same_generator_gives_the_same_sample():
    env = simulated(olivine.make("grid", 0))
    one, two = (env.draw(["uniform"] * 4, 50, rng(7)) for _ in range(2))
    for name in ("observations", "actions", "rewards", "next_observations", "weights"):
        assert np.array_equal(getattr(one, name), getattr(two, name))


def test_features_are_copied():
    array = np.zeros(2)

    def step(action):
        array[:] = action
        return array, 0.0

    env = olivine.from_simulator(lambda: array, step, 3, 2, dimension=2)
    data = env.draw(["uniform"], 100, rng())
    assert (data.next_observations[:, 0] == data.actions).all()
    assert env.draw((2, lambda x: x[:, 0].astype(int)), 5, rng()
                    ).actions.tolist() == [2] * 5  # fmt: skip


@given(mdps())
@settings(max_examples=20, deadline=None)
def test_any_mdp_can_be_stepped_through(mdp):
    played = MdpStepper(mdp)
    returns = []
    for seed in range(20):
        state, total, steps = played.begin(rng(seed)), 0.0, 0
        while state is not None:
            state, reward = played.step(0)
            total, steps = total + reward, steps + 1
        assert steps <= mdp.horizon
        returns.append(total)
    rewards = [float(r) for r in mdp.reward_table]
    assert min(returns) >= mdp.horizon * min(0, *rewards) - 1e-9


MDP = TabularMDP.from_lists(
    [
        ("start", 1, [("a", 0, {"left": 1}), ("b", Fraction(1, 8), {"right": 1})]),
        ("left", 2, [("a", Fraction(1, 4), {}), ("b", Fraction(3, 8), {})]),
        ("right", 2, [("a", Fraction(1, 2), {}), ("b", Fraction(5, 8), {}),
                      ("c", Fraction(3, 4), {})]),
    ],
    horizon=2,
)  # fmt: skip


@with_rows(
    "actions, seen, paid",
    ((0, 0), (1, None), (0, 1 / 4)),
    ((0, 1), (1, None), (0, 3 / 8)),
    ((1, 0), (2, None), (1 / 8, 1 / 2)),
    ((1, 2), (2, None), (1 / 8, 3 / 4)),
)
def test_an_action_of_an_mdp_pays_its_own_reward(actions, seen, paid):
    played = stepper(MDP)
    assert played.begin(rng()) == 0
    assert [played.step(a) for a in actions] == list(zip(seen, paid, strict=True))


def test_a_simulator_ends_after_its_last_level():
    seen = [0]

    def reset():
        seen[0] = 0
        return 0

    def step(action):
        seen[0] += 1
        return seen[0], action / 4  # the last observation, 2, is no code of a level

    env = olivine.from_simulator(reset, step, 2, 2, codes=[1, 2])
    played = stepper(env)
    for _ in range(2):
        assert played.begin(rng()) == 0
        assert [played.step(1), played.step(0)] == [(1, 0.25), (None, 0.0)]


class Counter:
    """Counts actions of 1; what it returns can be spoilt at the third step."""

    def __init__(self, spoil=None):
        self.spoil, self.calls = spoil, 0

    def reset(self, seed):
        self.seed, self.level, self.count = seed, 0, 0
        return 0

    def step(self, action):
        self.level, self.count = self.level + 1, self.count + action
        self.calls += 1
        found = (self.count, self.count / 8 if self.level == 4 else 0.0)
        return self.spoil(self, found) if self.spoil and self.level == 3 else found


def environment(counter, **more):
    return olivine.from_simulator(counter.reset, counter.step, 2, 4, codes=5, **more)


BAD = [
    (lambda s, f: (f[0], 1.5), "reward 1.5; expected a number in"),
    (lambda s, f: (f[0], -0.1), "reward -0.1; expected a number in"),
    (lambda s, f: (f[0], float("nan")), "reward nan; expected a number in"),
    (lambda s, f: (f[0], "one"), "reward 'one'; expected a number in"),
    (lambda s, f: (f[0], "0"), "reward '0'; expected a number in"),
    (lambda s, f: (f[0], np.float64("inf")), "expected a number in"),
    (lambda s, f: (9, 0.0), "observation 9; expected a code, an integer in 0..4"),
    (lambda s, f: (-1, 0.0), "observation -1; expected a code"),
    (lambda s, f: (0.5, 0.0), "observation 0.5; expected a code"),
    (lambda s, f: (None, 0.0), "observation None; expected a code"),
    (lambda s, f: (np.zeros(2, dtype=int), 0.0), "expected a code"),
    (lambda s, f: (*f, True), "the episode ended after 3 actions; expected a horizon"),
    (lambda s, f: f[0], "int .; expected a tuple"),
]


@pytest.mark.parametrize(("spoil", "message"), BAD)
def test_a_bad_return_value_is_named(spoil, message):
    refused(r"step\(\d\) after actions \[.*" + message, environment, Counter(spoil))
    # And in the midst of sampling, after a good start.
    counter = Counter()
    env = environment(counter)
    before = env.run([lowest] * 4, 10, rng())
    counter.spoil = spoil
    refused("simulator .*level", env.run, [coin] * 4, 10, rng())
    counter.spoil = None  # nothing is lost
    assert env.run([lowest] * 4, 10, rng()).mean_return == before.mean_return == 0


def test_episodes_too_long_and_states_that_are_none_are_refused():
    counter = Counter()
    with pytest.raises(ValueError, match="did not end after 4 actions"):
        olivine.from_simulator(
            counter.reset, lambda a: (*counter.step(a), False), 2, 4, codes=5
        )
    with pytest.raises(
        ValueError, match=r"state\(\) after reset.*list \[1\]; expected"
    ):
        environment(Counter(), deterministic="transitions", state=lambda: [1])
    with pytest.raises(ValueError, match=r"gave tuple \(nan, 1\); expected no NaN"):
        environment(Counter(), deterministic="transitions", state=lambda: (math.nan, 1))
    env = environment(counter, deterministic="everything", state=lambda: 0)
    refused("lead to the same state, but", env.draw, (0, 1, "uniform"), 10, rng())


@pytest.mark.parametrize("deterministic", ["nothing", "everything"])
def test_returns_above_one_are_refused(deterministic):
    def step(action):
        return 0, 0.6

    with pytest.raises(ValueError, match="at most 1"):
        olivine.from_simulator(lambda: 0, step, 2, 2, codes=1,
                               deterministic=deterministic)  # fmt: skip


@pytest.mark.parametrize(
    "value", [np.zeros(3), [0.0], np.array([0.0, np.nan]), "ab", np.zeros((1, 2)), 3.0]
)
def test_features_of_another_shape_are_refused(value):
    given = np.zeros(2)
    env = olivine.from_simulator(lambda: given, lambda a: (given, 0), 2, 2, dimension=2)
    given = value
    refused(r"expected 2 finite features|level 1", env.draw, (), 5, rng(), level=1)


def test_an_error_of_the_simulator_itself_is_named_with_its_place():
    counter = Counter()
    env = environment(counter)
    counter.spoil = lambda s, f: 1 // 0
    place = rf"\({re.escape(__file__)}:\d+\)"
    why = rf"raised ZeroDivisionError: integer .*{place}"
    with pytest.raises(ValueError, match=rf"episode 0 of a sample, .*{why}") as caught:
        env.run([lowest] * 4, 3, rng())
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    counter.spoil = lambda s, f: {}["x"]
    refused(rf"step\(.* raised KeyError: 'x' {place}", environment, counter)
    counter.spoil = lambda s, f: {}[s.level]
    declared = {"deterministic": "transitions", "state": lambda: ("s", counter.count)}
    with pytest.raises(ValueError, match=r"in state \('s', \d\) raised KeyError"):
        environment(counter, **declared)
    declared["state"] = lambda: 1 // 0
    with pytest.raises(ValueError, match=r"state\(\) after reset\(.* raised Zero"):
        environment(Counter(), **declared)


def test_a_limit_that_comes_during_a_step_stays_one():
    def out_of_memory(s, f):
        raise MemoryError

    counter = Counter()
    env = environment(counter)
    counter.spoil = out_of_memory
    with pytest.raises(MemoryError):
        env.run([lowest] * 4, 3, rng())


@with_rows(
    "more, message",
    ({"horizon": 10**9}, r"horizon: 1000000000 is not in 1\.\.100000"),
    ({"horizon": 2.0}, "horizon: 2.0 is no positive integer"),
    ({"state": 3}, "state: 3 is no function and not 'observation'"),
    ({"state": "hidden"}, "state: 'hidden' is no function"),
    ({"codes": np.array([2, 0, 2])}, "codes: 0 is no positive integer"),
    ({"codes": 2.0}, "codes: 2.0 is no positive integer"),
    ({"codes": [2, 2]}, "codes: 2 numbers for 3 levels"),
    ({"codes": None}, "codes, dimension: give exactly one"),
    ({"codes": None, "dimension": 0}, "dimension: 0 is no positive integer"),
    ({"dimension": 2}, "codes, dimension: give exactly one"),
    ({"features": np.eye(3)}, "features: 3 rows for"),
    ({"features": 2}, "features: an array"),
    ({"codes": None, "dimension": 2, "features": np.eye(2)}, "features: an array"),
    ({"deterministic": "transitions"}, "state: where the observation is the state"),
    ({"deterministic": "rewards"}, "state: where the observation is the state"),
    ({"states": 0}, "states: 0 is no positive integer"),
    ({"replays": True}, "replays: True is no positive integer"),
    ({"seed": -1}, "seed: -1 is no integer of at least 0"),
    ({"seed": "a"}, "seed: 'a' is no integer of at least 0"),
    ({"seed": 1.5}, "seed: 1.5 is no integer of at least 0"),
    ({"state": math.nan}, "state: nan is no function and not 'observation'"),
    ({"deterministic": "all"}, "deterministic: 'all' is none of nothing"),
)
def test_arguments_out_of_range_are_named(more, message):
    refused(message, slipping, **more)


def test_numbers_of_numpy_are_numbers():
    _, env = slipping(
        n_actions=np.int64(2), horizon=np.int32(3), codes=np.array([2, 2, 2]),
        states=np.uint8(2), replays=np.int16(3),
    )  # fmt: skip
    assert slipping(codes=np.int64(2))[1].space(3).n_codes == 2
    assert [t.tolist() for t in slipping(features=np.eye(2))[1].features] == [
        [[1, 0], [0, 1]]
    ] * 3
    assert type(env.horizon) is type(env.n_actions) is type(env.space(1).n_codes) is int
    rules = np.array([1, 0, 1])
    data = env.draw(rules, np.int64(9), rng(), level=np.int64(1))
    assert data.expectation_exact(data.exact_rewards) == 1
    sizes = {"n_train": np.int64(300), "n_test": np.int32(300)}
    result = olivine.learn(
        "valor", env, parameters="practical", epsilon=np.float32(0.25), **sizes
    )
    assert result.parameters["n_train"] == 300
    json.dumps(result.to_json())
    assert (
        olivine.make("lock", 0, horizon=np.int64(2), dimension=np.int64(3)).horizon == 2
    )


@pytest.mark.parametrize("horizon", [10, 13, 49])
def test_steps_of_one_over_h_sum_to_one(horizon):
    """As floats, 49 times 1/49 is more than 1."""
    env = olivine.from_simulator(
        lambda: 0, lambda a: (0, a / horizon), 2, horizon, codes=1,
        deterministic="everything", state="observation", replays=2,
    )  # fmt: skip
    assert env.truth.optimal_value == 1
    assert env.run([1] * horizon, 5, rng()).mean_return == 1


def test_returns_that_rounding_takes_above_one_count_as_one():
    pays = [0.1 + 0.2, 0.6 + 0.1 + 1e-12]  # 1 + 10^-12: no small fractions
    level = 0

    def step(action):
        nonlocal level
        level += 1
        return 0, pays[level - 1] * action

    def reset():
        nonlocal level
        level = 0
        return 0

    env = olivine.from_simulator(reset, step, 2, 2, codes=1, replays=2,
                                 deterministic="everything", state="observation"
                                 )  # fmt: skip
    assert env.truth.optimal_value == 1
    result = olivine.learn("valor", env)
    assert result.monitors
    assert not result.contradictions


def test_algorithms_run_where_the_truth_is_not_known():
    """R-max needs no classes, OLIVE takes tabular ones, finite ones are refused."""
    _, env = slipping(deterministic="nothing", state=None)
    rules = olivine.learn("rmax", env, parameters="practical", epsilon=0.1, n=50)
    assert rules.evaluation.mean == 1
    found = olivine.learn(
        "olive", env, parameters="practical", epsilon=0.2, n_train=200
    )
    assert found.parameters["pairs"] is None
    assert found.evaluation.mean == 1
    for name in ("olive", "psdp", "fqi"):
        with pytest.raises(
            ValueError, match="are not known; take tabular or linear cla"
        ):
            olivine.learn(name, env, "finite", parameters="practical")
    with pytest.raises(
        UnknownTruthError, match="they are where deterministic='everyth"
    ):
        _ = env.truth
    features = olivine.from_simulator(
        lambda: [0.0], lambda a: ([1.0], 0), 2, 2, dimension=1, states=1
    )
    with pytest.raises(ValueError, match=r"rmax: the observations .* such as psdp"):
        olivine.learn("rmax", features, parameters="practical")


def by_seed(share):
    """Spoils a part of all episodes, by their seed."""
    return lambda s: s.seed % 100 < share


@pytest.mark.parametrize("share", [20, 50])
@with_rows(
    "declared, spoil, what",
    ("everything", lambda f: (f[0] % 4 + 1, f[1]), "observation"),
    ("everything", lambda f: (f[0], 0.125), "reward"),
    ("rewards", lambda f: (f[0], 0.125), "reward"),
)
def test_a_process_that_differs_on_replay_is_found_out(share, declared, spoil, what):
    def spoilt(s, found):
        return spoil(found) if by_seed(share)(s) else found

    def sample():
        env = environment(Counter(spoilt), deterministic=declared, states=5)
        for path in itertools.product((0, 1), repeat=3):
            env.draw((*path, "uniform"), 50, rng())

    named = rf"step\(.\) after .* gave {what} .*on replay"
    refused(named, sample)


def test_hidden_transitions_are_compared_where_the_state_is_told():
    counter = Counter()

    def stumble(s, found):
        s.count = 0 if by_seed(50)(s) else s.count
        return 0, 0.0

    counter.spoil = stumble
    with pytest.raises(ValueError, match=r"gave hidden state .*'nothing' \(olive"):
        environment(counter, deterministic="transitions",
                    state=lambda: (counter.level, counter.count))  # fmt: skip


def test_what_is_not_known_is_said():
    counter = Counter()
    env = environment(counter, deterministic="everything", states=5)
    assert env.deterministic
    with pytest.raises(UnknownTruthError, match="true values are not known"):
        _ = env.truth
    features = olivine.from_simulator(
        lambda: [0.0], lambda a: ([1.0], 0), 2, 2, dimension=1
    )
    with pytest.raises(ValueError, match="`states` is missing"):
        _ = features.max_states
    assert not features.deterministic
    refused("one by one are too many", features.draw, (), 10**12, rng(), level=1)
    with pytest.raises(ValueError, match="stochastic hidden dynamics"):
        olivine.learn("valor", environment(counter), parameters="practical")


def test_fractions_stay_exact_and_returns_are_at_most_one():
    third = Fraction(1, 3)
    env = olivine.from_simulator(
        lambda: 0, lambda a: (0, third), 2, 3, codes=1,
        deterministic="everything", state="observation",
    )  # fmt: skip
    assert env.truth.optimal_value == 1
    assert env.run([coin] * 3, 10, rng()).mean_return == 1
    env = olivine.from_simulator(
        lambda: 0, lambda a: (0, 0.5 + 2e-10), 2, 2, codes=1, replays=1
    )
    assert env.draw([0, 0], 3, rng(), level=1).rewards.tolist() == [1.0]


@pytest.mark.parametrize("algorithm", ["valor", "psdp", "fqi", "olive", "rmax"])
def test_algorithms_learn_a_simulator(algorithm):
    counter = Counter()
    env = environment(counter, deterministic="everything", state="observation")
    kind = "finite" if algorithm == "olive" else "tabular"
    result = olivine.learn(algorithm, env, kind, parameters="practical")
    assert result.succeeded
    assert result.contradictions == []
    assert env.run(result.policies, 5, rng()).mean_return == Fraction(1, 2)


@with_rows(
    "call, message",
    (lambda e: olivine.learn("valr", e), "did you mean 'valor'"),
    (lambda e: olivine.learn("valor", e, n_tran=3), "did you mean 'n_train'"),
    (lambda e: olivine.learn("valor", object()), "object, which lacks name, horizon"),
    (lambda e: olivine.learn("valor", e, "trees"), "'trees' is none of tabular"),
    (lambda e: olivine.learn("valor", e, (1, 2)), "G, a value class: int lacks admit"),
    (lambda e: olivine.learn("valor", e, epsilon=2), "epsilon"),
    (
        lambda e: olivine.learn("psdp", e, FiniteQClass([[[[0]]]])),
        "Q-functions are for",
    ),
    (
        lambda e: olivine.learn("psdp", e, (None, TabularPolicyClass(3, 2)), size=3),
        "size: the classes are given, none are drawn",
    ),
    (lambda e: olivine.learn("lsvee", e, "tabular"), "take finite"),
    (lambda e: olivine.learn("valor", e.name), r"olivine.make\('tabular', seed\)"),
    (
        lambda e: olivine.learn("valor", "mine:make"),
        "that function, called with a seed",
    ),
    (
        lambda e: olivine.learn(
            "valor",
            olivine.from_simulator(
                lambda: [0.0],
                lambda a: ([0.0], 0),
                2,
                2,
                dimension=1,
                states=1,
                deterministic="transitions",
                state=lambda: 0,
            ),
            parameters="practical",
        ),
        "are features .take linear classes, or your own, with practical parameters.",
    ),
    (lambda e: olivine.learn("valor", len), "call it to make the environment"),
    (lambda e: olivine.learn("psdp", e, (None, set)), "the class set; give an object"),
    (lambda e: olivine.learn("valor", e, seed=-1), "seed: -1 is no integer"),
)
def test_learn_names_what_is_wrong(call, message):
    refused(message, call, olivine.make("tabular", 0))
