"""Environments: how they are made, what they refuse, where they are exact."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from olivine.algorithms import environments
from olivine.algorithms.classes.finite import TabularPolicy
from olivine.algorithms.classes.protocols import MixedPolicy
from olivine.algorithms.environments import (
    from_lists,
    from_mdp,
    make,
    names,
    options,
    register,
)
from olivine.algorithms.environments.finite import FiniteEnvironment
from olivine.algorithms.environments.finite_model import FiniteLevel, FiniteModel
from olivine.algorithms.environments.latent import MAX_BYTES
from olivine.algorithms.environments.protocol import (
    Environment,
    ObservationSpace,
    require_deterministic,
)
from olivine.algorithms.mdp.tabular import TabularMDP, random_tabular_mdp
from olivine.cli.experiments.runs import register_environments

from tests.support.depth import deep, with_rows
from tests.support.refusals import refused

HALF = Fraction(1, 2)


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 10**6))
def test_default_instances_have_states_worth_learning(seed):
    truth = make("random-finite", seed, states=3, actions=3, horizon=4).truth
    for h in range(1, 5):
        assert truth.reachable(h) == frozenset(range(truth.n_states(h)))
        values = {truth.state_value(h, s) for s in range(truth.n_states(h))}
        assert len(values) == truth.n_states(h)
    assert [truth.n_states(h) for h in range(1, 5)] == [1, 3, 3, 3]


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 10**6), st.integers(1, 3), st.integers(1, 3))
def test_an_mdp_is_an_environment_with_the_same_values(seed, horizon, width):
    rng = np.random.default_rng(seed)
    mdp = random_tabular_mdp(rng, horizon=horizon, width=width)
    env = from_mdp(mdp)
    assert env.truth.optimal_value == mdp.optimal_values().value(mdp.start)
    members = [np.flatnonzero(mdp.state_level == h + 1) for h in range(horizon)]
    chosen = rng.integers(2, size=mdp.n_states)
    policies = [TabularPolicy(chosen[states]) for states in members]
    assert env.truth.policy_value(policies) == mdp.evaluate(chosen).value(mdp.start)
    run = env.run(policies, 10**20, rng)
    assert abs(run.mean_return - env.truth.policy_value(policies)) < 1e-8


def test_stochastic_dynamics_are_refused_with_the_reason():
    env = from_lists(
        [
            [("s", {"x": 1}, {"x": [0]}, [{"t": HALF, "u": HALF}])],
            [("t", {"y": 1}, {"y": [1]}, []), ("u", {"z": 1}, {"z": [0]}, [])],
        ],
        "coin",
    )
    assert env.truth.optimal_value == HALF
    assert (
        sum(env.draw((0,), 10**30, np.random.default_rng(0), level=2).weights) == 10**30
    )
    with pytest.raises(ValueError, match="valor: environment 'coin' has stochastic"):
        require_deterministic(env, "valor")
    refused("stochastic", env.truth.state, (0,))
    require_deterministic(make("tabular"), "valor")


def two_levels(reward=HALF, emitted=1, target="t", second="y"):
    return [
        [("s", {"x": emitted}, {"x": [reward]}, [target])],
        [("t", {"y": 1}, {"y": [HALF]}, []), ("u", {second: 1}, {second: [0]}, [])],
    ]


@with_rows(
    "changes, message",
    ({"second": "z", "reward": 1}, "a return of 3/2 is possible"),
    ({"second": "z", "reward": -1}, "level 1: negative reward"),
    ({"second": "z", "emitted": HALF}, "state 's': probabilities sum to 1/2"),
    ({"second": "z", "target": "v"}, "state 's': unknown 'v'"),
    ({"second": "z", "target": {"t": HALF}}, "probabilities sum to 1/2"),
    ({"second": "z", "reward": {0: HALF, 1: HALF, HALF: HALF}}, "sum to 3/2"),
    ({"second": "z", "reward": {}}, "a reward without values"),
    ({"second": "y"}, "observation 'y': emitted by two"),
)
def test_bad_environments_are_refused(changes, message):
    from_lists(two_levels(second="z"))
    for none in ([], [[]]):
        refused("levels: there is none, or one without states", from_lists, none)
    uneven = [[("s", {"x": HALF, "y": HALF}, {"x": [0, 0], "y": [0]}, [])]]
    refused("observation 'y': 1 rewards for 2 actions", from_lists, uneven)
    refused(message, from_lists, two_levels(**changes))


def test_unreachable_or_impossible_rewards_do_not_count_as_returns():
    env = from_lists(
        [
            [("s", {"x": 1}, {"x": [{1: 1, 2: 0}]}, ["t"])],
            [("t", {"y": 1}, {"y": [0]}, []), ("u", {"z": 1}, {"z": [1]}, [])],
        ]
    )
    assert env.truth.optimal_value == 1


def test_shapes_are_checked():
    one = np.ones((1, 1), dtype=np.int64)
    cube = np.ones((1, 1, 1), dtype=np.int64)
    last = FiniteLevel(one, cube, cube, cube[:, :, :0])
    FiniteModel((last,), 1, np.array([1]))
    cases = [
        ((), np.array([1]), "no level"),
        ((last,), np.array([1, 1]), "start: shape"),
        ((last,), np.array([0]), "sum to 0"),
        ((FiniteLevel(one, cube, cube, cube),), np.array([1]), "transitions of shape"),
        ((FiniteLevel(-one, cube, cube, cube[:, :, :0]),), np.array([1]), "negative"),
        (
            (FiniteLevel(one, cube[:0], cube, last.transitions),),
            np.array([1]),
            "rewards",
        ),
    ]
    for levels, start, message in cases:
        refused(message, FiniteModel, levels, 1, start)
    refused("expected integers", FiniteLevel, one / 2, cube, cube, cube)
    refused("unit: 0 is below 1", FiniteModel, (last,), 0, [1])
    idle = FiniteLevel(one, cube[:, :0], cube[:, :0], cube[:, :0, :0])
    refused("level 1: 1 states, 0 actions", FiniteModel, (idle,), 1, [1])
    both = FiniteLevel([[1, 0], [1, 1]], *[np.ones((2, 1, 1), int)] * 2,
                       np.ones((2, 1, 0), int))  # fmt: skip
    refused("level 1: two hidden states emit observation 0", FiniteModel, (both,), 2,
            [1, 1])  # fmt: skip


def test_an_mdp_that_skips_a_level_is_refused():
    ends = ("t", 3, [("end", 0, {})])
    mdp = TabularMDP.from_lists([("s", 1, [("go", 0, {"t": 1})]), ends])
    refused("mdp: not layered", from_mdp, mdp)


ASKED = [  # of an environment e, with its best policies p and a generator r
    (lambda e, p, r: e.draw(("uniform",), 0, r), "n: 0 is no positive"),
    (lambda e, p, r: e.draw(("uniform",), -3, r), "n: -3 is no positive"),
    (lambda e, p, r: e.draw((), 1.5, r, level=1), "n: 1.5 is no positive"),
    (lambda e, p, r: e.draw((5, 0), 1, r), "path: action 5 at level 1"),
    (lambda e, p, r: e.draw((0, 0, 0), 1, r, level=4), "level: 4 is not in 1..3"),
    (lambda e, p, r: e.draw((2,), 1, r), "action: 2 is not in 0..1"),
    (lambda e, p, r: e.draw(("greedy",), 1, r), "unknown rule 'greedy'"),
    (lambda e, p, r: e.draw((), 1, r), r"level: 0 is not in 1\.\.1, 0 rules"),
    (lambda e, p, r: e.run(p, 2, r, first=3), "first: 3 is not in 0..2"),
    (lambda e, p, r: e.draw((*p, 0), 1, r), "rules: 4 for 3 levels"),
    (lambda e, p, r: e.draw(p, 1, r, level=0), "level: 0"),
    (lambda e, p, r: e.draw(p[:1], 1, r, level=3), r"level: 3 is not in 1\.\.2"),
    (lambda e, p, r: e.space(0), "level: 0 is not in 1..3"),
    (
        lambda e, p, r: e.run([TabularPolicy(np.full(9, 7))] * 3, 2, r),
        "an action is not in 0..1",
    ),
    (
        lambda e, p, r: e.draw([lambda x: np.full((len(x), 2), 0.4)], 1, r),
        "are no probabilities",
    ),
    (lambda e, p, r: e.truth.action_expectation((), p[0], [0]), "future: 1 values"),
    (lambda e, p, r: e.truth.expectation((), [0.0]), "values: shape"),
    (lambda e, p, r: e.truth.path_value((0, 0, 9)), "path: action 9"),
    (lambda e, p, r: e.truth.path_value((0, 0, 0, 0)), "beyond the horizon"),
    (lambda e, p, r: e.truth.estimate_policy_value(p, 1, r), "no standard error"),
]
ASKED_OF_LOCK = [
    (lambda e, p, r: e.draw(["uniform"], 10**20, r), str(MAX_BYTES)),
    (lambda e, p, r: e.draw((), 10**9, r, level=1), "sampled one by one"),
    (lambda e, p, r: e.run(p, 10**10, r), "10000000000 episodes"),
    (lambda e, p, r: e.run(p, 10**8, r, transitions=True), "bytes"),
    (lambda e, p, r: e.run(p, 0, r), "n: 0"),
    (lambda e, p, r: e.run(p[:1], 5, r), "policies: 1 for 5"),
    (lambda e, p, r: e.draw((7, 0), 5, r), "action 7"),
    (lambda e, p, r: e.draw((4,), 5, r), "action: 4"),
    (lambda e, p, r: e.draw(["best"], 5, r), "unknown rule"),
    (lambda e, p, r: e.run([lambda x: np.full(len(x), 9)] * 5, 2, r), "action: 9"),
    (lambda e, p, r: e.draw((0,) * 5, 5, r, level=6), "level: 6 is not in"),
]


@with_rows(
    "name, call, message",
    *(("random-finite", *row) for row in ASKED),
    *(("lock", *row) for row in ASKED_OF_LOCK),
)
def test_bad_questions_are_refused_and_not_counted(name, call, message):
    env = make(name, 0)
    refused(message, call, env, env.truth.optimal_policies(), np.random.default_rng(0))
    assert env.trajectories == 0


def test_floats_in_floats_out():
    truth = make("random-finite", 0).truth
    policy = truth.optimal_policies()[0]
    exact = truth.action_expectation((), policy, [HALF, Fraction(1, 3)])
    rounded = truth.action_expectation((), policy, [0.5, 1 / 3])
    assert isinstance(rounded, float)
    assert rounded == pytest.approx(float(exact), abs=1e-15)


def test_randomised_policies_that_return_floats_are_taken_as_they_are():
    truth = make("tabular", 0).truth

    def coin(codes):
        return np.full((len(codes), 2), [0.25, 0.75])

    mixed = [
        MixedPolicy(
            (TabularPolicy(np.zeros(9, int)), TabularPolicy(np.ones(9, int))),
            (Fraction(1, 4), Fraction(3, 4)),
            2,
        )
    ] * 3
    assert truth.policy_value([coin] * 3) == truth.policy_value(mixed)
    estimate, error = truth.estimate_policy_value(
        [coin] * 3, 20_000, np.random.default_rng(0)
    )
    assert abs(estimate - truth.policy_value(mixed)) < 5 * error


def test_the_registry_suggests_and_refuses(monkeypatch):
    monkeypatch.setattr(environments, "_ATTEMPTS", deep(1000, 100))
    assert set(names()) >= {"random-finite", "tabular", "lock", "lock-gaussian"}
    for name in ("random-finite", "tabular", "lock", "diabolical-lock", "grid"):
        env = make(name)
        assert isinstance(env, Environment)
        assert env.name == name
        assert "horizon" in options(name)
    for call, message in [
        (lambda: make("lok"), "unknown environment 'lok', did you mean 'lock'"),
        (lambda: make("lock", horizn=3), "unknown option 'horizn', did you mean"),
        (lambda: make("lock", horizon=2.5), "horizon=2.5 is no integer"),
        (lambda: make("lock", horizon="x"), "horizon='x' is no number"),
        (lambda: make("random-finite", states=0), "states: 0 is below 1"),
        (lambda: register("lock", make), "registered already"),
        (
            lambda: make(
                "tabular", denominator=1, support=1, horizon=2, states=3, actions=3
            ),
            f"distinct values in {deep(1000, 100)} attempts",
        ),
    ]:
        refused(message, call)


def test_seeds_fix_environments_and_data():
    def first(seed):
        env = make("random-finite", seed)
        return env.draw(
            (0, "uniform"), 10**20, np.random.default_rng(5)
        ).weights.tolist()

    assert first(3) == first(3)
    assert first(3) != first(4)
    assert isinstance(
        make("random-finite", np.random.default_rng(1)), FiniteEnvironment
    )


@pytest.mark.parametrize(
    "given", [{}, {"n_codes": 2, "dimension": 2}, {"n_codes": 0}, {"dimension": -1}]
)
def test_an_observation_space_is_finite_or_continuous(given):
    refused(r"observation space: n_codes .* exactly one", ObservationSpace, **given)
    assert ObservationSpace(n_codes=1).is_finite
    assert not ObservationSpace(dimension=1).is_finite


def test_states_have_successors_and_a_start_of_weight_zero_is_none():
    ends = ("end", {"x": 1}, {"x": [0, 1]}, [])
    for moves in (["end"], ["end"] * 3, []):
        first = ("start", {"x": 1}, {"x": [0, 0]}, moves)
        message = f"state 'start': {len(moves)} next states"
        refused(message, from_lists, [[first], [ends]])
    refused("state 'end': 2 next states", from_lists, [[(*ends[:3], ["end", "end"])]])
    one, moves = np.ones((2, 1, 1), dtype=np.int64), np.zeros((2, 1, 0), dtype=np.int64)
    level = FiniteLevel(np.eye(2, dtype=np.int64), one, one, moves)
    assert FiniteModel((level,), 1, [1, 0]).deterministic
    assert not FiniteModel((level,), 1, [1, 1]).deterministic
    assert FiniteModel([level], 1, [1, 0]).levels == (level,)


def test_the_moves_between_widest_levels_are_counted_by_their_product(monkeypatch):
    monkeypatch.setattr(environments, "_MOST_WEIGHTS", 100)
    make("random-finite", 0, states=7, horizon=4, actions=2)  # 98
    with pytest.raises(ValueError, match="makes a table of 128 numbers"):
        make("random-finite", 0, states=8, horizon=4, actions=2)


EXTREMES = [10**18, 10**9, -1, 1e300, 1e-300, math.inf, math.nan, 2**63]
register_environments()


def spellings(value, default) -> set[str]:
    """The value as it was given, and as the type of the option."""
    shown = {str(value), repr(value)}
    if isinstance(default, (int, float)) and math.isfinite(value):
        shown.add(str(type(default)(value)))
    return shown


def refusal(name: str, option: str, value) -> str:
    try:
        make(name, 0, **{option: value})
    except ValueError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("name", names())
def test_extreme_options_work_or_are_refused_by_name(name: str) -> None:
    refused = 0
    for option, default in options(name).items():
        for value in EXTREMES:
            if reason := refusal(name, option, value):
                refused += 1
                assert option in reason
                assert any(s in reason for s in spellings(value, default)), reason
    assert refused >= 10


@with_rows(
    "name, chosen, reason",
    ("lock", {"horizon": 2000}, "horizon: 2000 with dimension = 2000 makes"),
    ("lock", {"actions": 10**6}, "actions: 1000000 with horizon = 5 makes"),
    ("lock-gaussian", {"dimension": 4000}, "dimension: 4000 with horizon = 5"),
    ("diabolical-lock", {"actions": 10**6}, "actions: 1000000 with horizon = 5"),
    ("diabolical-lock", {"cost": 100}, "reward: 5.0 does not pay for cost: 100"),
    ("random-finite", {"horizon": 10**7}, "horizon: 10000000 with actions = 2"),
    ("threesat", {"clauses": 10**5}, "clauses: 100000 with variables = 3 makes"),
)
def test_sizes_that_do_not_fit_together(name: str, chosen, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        make(name, 0, **chosen)
