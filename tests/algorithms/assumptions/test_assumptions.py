"""The assumptions' checkers on instances by hand; classes made to satisfy or violate.

test_assumptions_by_hand.py has the checkers against the definitions.
"""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from olivine.algorithms.assumptions import (
    CLIPPED,
    NAMES,
    check_assumptions,
    policy_completeness,
    policy_realizability,
    policy_value_completeness,
    value_realizability,
)
from olivine.algorithms.assumptions.closure import (
    complete_classes,
    evaluation_closed,
    evaluation_closed_classes,
    violating_classes,
)
from olivine.algorithms.assumptions.members import HiddenModel
from olivine.algorithms.classes import (
    FinitePolicyClass,
    FiniteValueClass,
    LinearPolicyClass,
    LinearValueClass,
    PolicyClassByLevel,
    TabularPolicyClass,
    TabularValueClass,
    ValueClassByLevel,
)
from olivine.algorithms.environments import from_lists, make, random_finite
from olivine.algorithms.learning.draw_classes import make_classes
from olivine.claims.setting import separations, two_doors, value_complete_only

from tests.support.refusals import refused

PR, VR, PV, PC = NAMES
HALF = Fraction(1, 2)


def fractions(table):
    rows = [[Fraction(v) for v in row] for row in table]
    out = np.empty((len(rows), len(rows[0])), dtype=object)
    for i, row in enumerate(rows):
        out[i] = row
    return out


@st.composite
def environments(draw, horizon=2):
    """Small, with ties: coarse rewards, states of equal value."""
    return random_finite(
        np.random.default_rng(draw(st.integers(0, 10**6))),
        states=draw(st.integers(1, 2)),
        actions=draw(st.integers(1, 2)),
        horizon=draw(st.integers(1, horizon)),
        observations=draw(st.integers(1, 2)),
        denominator=draw(st.sampled_from([1, 2, 12])),
        distinct=False,
    )


def test_erratum_24_value_completeness_does_not_imply_policy_completeness() -> None:
    made = value_complete_only()
    case = made.environment, made.values, made.policies
    found = check_assumptions(*case)
    assert found[PV].holds is True
    example = found[PC].counterexample
    assert (example.level, example.missing, example.nearest) == (1, "policy", 0)
    assert example.wanted == ((1,),)
    assert example.given == ((2, (1, 0)),)
    assert evaluation_closed(*case).holds is False


@settings(max_examples=15, deadline=None)
@given(environments(horizon=3), st.integers(0, 10**6))
def test_the_fact_with_closure_under_evaluation(env, seed) -> None:
    classes = evaluation_closed_classes(env, np.random.default_rng(seed))
    assert evaluation_closed(env, *classes).holds is True
    holds = {n: a.holds for n, a in check_assumptions(env, *classes).items()}
    assert holds == dict.fromkeys(NAMES, True)


def test_eight_combinations() -> None:
    found = set()
    for name, made in separations().items():
        checked = check_assumptions(made.environment, made.values, made.policies)
        assert {n for n, a in checked.items() if a.holds} == made.holds, name
        assert all(a.holds is not None for a in checked.values())
        found.add(made.holds)
    assert len(found) == 8


@settings(max_examples=10, deadline=None)
@given(environments(), st.integers(0, 10**6))
def test_tabular_classes(env, seed) -> None:
    """What is argued in general agrees with finite classes that contain the worst."""
    classes = make_classes(env, "tabular", np.random.default_rng(seed))
    found = check_assumptions(env, *classes, [*NAMES, CLIPPED])
    model = HiddenModel(env)
    early = any(model.rewards(h).any() for h in range(1, env.horizon))
    assert found[PV].holds is not early
    for name in (PR, VR, PC, CLIPPED):
        assert found[name].holds is True, name


def test_erratum_25_all_functions_to_the_unit_interval() -> None:
    env = make("random-finite", 0)
    classes = make_classes(env, "tabular", np.random.default_rng(0))
    found = policy_value_completeness(env, *classes)
    example = found.counterexample
    assert found.holds is False
    assert "none is missing" in found.reason
    assert example.nearest is None
    assert set(example.given[0][1]) == {1}
    assert example.wanted[example.codes.index(example.observation)] > 1
    written = HiddenModel(env).rewards(2).max(axis=1) + 1
    assert list(example.wanted) == written.tolist()
    assert policy_value_completeness(env, *classes, clipped=True).holds is True
    doors = two_doors()  # pays at the last level only
    every = make_classes(doors, "tabular", np.random.default_rng(0))
    assert policy_value_completeness(doors, *every).holds is True


def test_finite_before_tabular() -> None:
    """A finite G_h cannot hold the backups of all functions."""
    env = two_doors()
    for members in ([[1]], [[1], [0], [HALF], [Fraction(1, 3)]]):
        values = ValueClassByLevel(
            [FiniteValueClass(fractions(members)), TabularValueClass(2)]
        )
        policies = PolicyClassByLevel(
            [TabularPolicyClass(1, 2), TabularPolicyClass(2, 2)]
        )
        for clipped in (False, True):
            found = policy_value_completeness(env, values, policies, clipped=clipped)
            example = found.counterexample
            assert (found.holds, example.level, example.missing) == (False, 1, "value")
            assert list(example.wanted) not in members


def test_finite_policies_before_tabular_values() -> None:
    """Where nothing is paid, the strict orders of the next states decide."""
    env = two_doors()
    values = ValueClassByLevel([TabularValueClass(1), TabularValueClass(2)])
    for actions, holds in (([[0], [1]], True), ([[0]], False)):
        policies = PolicyClassByLevel(
            [FinitePolicyClass(actions, 2), TabularPolicyClass(2, 2)]
        )
        assert policy_value_completeness(env, values, policies).holds is holds
    paid = from_lists(
        [
            [("s", {"x": 1}, {"x": [0, HALF]}, ["t", "t"])],
            [("t", {"y": 1}, {"y": [0, HALF]}, [])],
        ]
    )
    values = ValueClassByLevel([TabularValueClass(1), TabularValueClass(1)])
    one = [FinitePolicyClass([[1]], 2), TabularPolicyClass(1, 2)]
    found = policy_value_completeness(
        paid, values, PolicyClassByLevel(one), clipped=True
    )
    assert found.holds is None
    assert "rewards" in found.reason


def met_at_once(moves, policies):
    """States s, r, each met at first, which lead to t, u, v; all that pays is last."""
    last = [(s, {s: 1}, {s: [0, i * HALF]}, []) for i, s in enumerate("tuv")]
    first = [(s, {s: 1}, {s: [0, 0]}, m) for s, m in zip("sr", moves, strict=True)]
    env = from_lists([first, last], start={"s": HALF, "r": HALF})
    values = ValueClassByLevel([TabularValueClass(2), TabularValueClass(3)])
    chosen = [FinitePolicyClass(policies, 2), TabularPolicyClass(3, 2)]
    return policy_value_completeness(env, values, PolicyClassByLevel(chosen))


def test_orders_of_the_next_states_decide_where_moves_are_certain():
    # s compares t with u, and r compares u with v: any two answers are possible.
    moves = [["t", "u"], ["u", "v"]]
    all_of_them = [[0, 0], [0, 1], [1, 0], [1, 1]]
    for policies in itertools.combinations(all_of_them, 3):
        assert met_at_once(moves, policies).holds is False
    assert met_at_once(moves, all_of_them).holds is True
    # (0, 1) is the best answer to g' = (0, 3/5, 1), and to no order.
    third = Fraction(1, 3)
    moves = [["u", {"t": HALF, "v": HALF}], ["u", {"t": third, "v": 1 - third}]]
    found = met_at_once(moves, [[0, 0], [1, 1]])
    assert found.holds is None
    assert "stochastic" in found.reason


def test_only_what_can_be_observed_counts() -> None:
    """A state that no path reaches, whose returns are even above 1."""
    env = from_lists(
        [
            [("s", {"x": 1}, {"x": [1, 0]}, ["t", "t"])],
            [
                ("t", {"y": 1}, {"y": [0, 0]}, []),
                ("never", {"z": 1}, {"z": [HALF, 1]}, []),
            ],
        ]
    )
    values = ValueClassByLevel(
        [FiniteValueClass(fractions([[1]])), FiniteValueClass(fractions([[0, 0]]))]
    )
    policies = PolicyClassByLevel(
        [FinitePolicyClass([[0]], 2), FinitePolicyClass([[0, 0]], 2)]
    )
    for assumption in check_assumptions(env, values, policies).values():
        assert assumption.holds is True, assumption


def test_stochastic_dynamics() -> None:
    third = Fraction(1, 3)
    env = from_lists(
        [
            [("s", {"x": 1}, {"x": [0, 0]}, [{"t": third, "u": 1 - third}, "t"])],
            [
                ("t", {"y": 1}, {"y": [0, third]}, []),
                ("u", {"z": 1}, {"z": [1, 0]}, []),
            ],
        ]
    )
    for kind, names in (("both", NAMES), ("policy-value", (PR, VR, PV))):
        classes = complete_classes(env, np.random.default_rng(0), kind, size=9)
        found = check_assumptions(env, *classes, names)
        assert all(a.holds is True for a in found.values())
    bad = PolicyClassByLevel(
        [FinitePolicyClass([[0]], 2), FinitePolicyClass([[1, 0], [1, 1]], 2)]
    )
    # After π_2 = (1, 1) action 0 is worth 1/9 and action 1 is worth 1/3.
    example = policy_completeness(env, bad).counterexample
    assert (example.level, example.wanted, example.given) == (
        1,
        ((1,),),
        ((2, (1, 1)),),
    )


def test_numbers_beyond_64_bits() -> None:
    """Weights times gains exceed 2^64: values of policies stay exact."""
    tiny, odd = Fraction(1, 10**12 + 39), Fraction(1, 10**9 + 7)
    rewards = {"y": [tiny, 0], "z": [0, HALF]}
    env = from_lists(
        [
            [("s", {"x": 1}, {"x": [0, 0]}, ["t", "t"])],
            [("t", {"y": odd, "z": 1 - odd}, rewards, [])],
        ]
    )
    model = HiddenModel(env)
    gains = model.gains(2, ())
    found = model.followed(2, gains, np.array([[0, 0], [0, 1], [1, 0]]))
    values = [odd * tiny, odd * tiny + (1 - odd) * HALF, Fraction(0)]
    assert found == {(v,): i for i, v in enumerate(values)}


def test_floats_stand_for_what_rounds_to_them() -> None:
    third = Fraction(1, 3)
    env = from_lists([[("s", {"x": 1}, {"x": [third, 0]}, [])]])
    rounded = FiniteValueClass([[1 / 3]])
    assert value_realizability(env, ValueClassByLevel([rounded])).holds is True
    near = FiniteValueClass([[float(np.nextafter(1 / 3, 1))]])
    assert value_realizability(env, ValueClassByLevel([near])).holds is False
    exact = FiniteValueClass(fractions([[Fraction(1 / 3)]]))
    assert value_realizability(env, ValueClassByLevel([exact])).holds is False


def test_limits_and_other_classes(rng) -> None:
    env = make("random-finite", 1, states=3, actions=3, horizon=4)
    _, policies = complete_classes(env, rng, "policy", size=30)
    assert policy_completeness(env, policies).holds is True
    short = policy_completeness(env, policies, limit=3)
    assert short.holds is None
    assert "more than 3 combinations" in short.reason
    with pytest.raises(ValueError, match="limit"):
        policy_completeness(env, policies, limit=0)
    # Enough is looked at to see a violation, whatever the limit.
    made = value_complete_only()
    assert policy_completeness(made.environment, made.policies, limit=2).holds is False
    lock = make("lock", 0)
    found = check_assumptions(lock, *make_classes(lock, "finite", rng))
    assert all(a.holds is None and "not finite" in a.reason for a in found.values())
    doors = two_doors()
    linear = PolicyClassByLevel([LinearPolicyClass(np.eye(n), 2) for n in (1, 2)])
    values = ValueClassByLevel([LinearValueClass(np.eye(n), bound=2.0) for n in (1, 2)])
    assert policy_completeness(doors, linear).holds is None
    assert policy_value_completeness(doors, values, linear).holds is None
    assert value_realizability(doors, values).holds is True
    small = ValueClassByLevel([LinearValueClass(np.eye(n), bound=0.5) for n in (1, 2)])
    assert value_realizability(doors, small).holds is False
    assert policy_realizability(doors, linear).holds is not False
    with pytest.raises(ValueError, match="names: 'completeness'"):
        check_assumptions(doors, values, linear, ["completeness"])


def test_tabular_after_finite_policies() -> None:
    """Π_1 must answer to every policy of a tabular Π_2."""
    env = two_doors()
    for actions, holds in (([[0], [1]], True), ([[0]], False)):
        policies = PolicyClassByLevel(
            [FinitePolicyClass(actions, 2), TabularPolicyClass(2, 2)]
        )
        assert policy_completeness(env, policies).holds is holds
        # Π_2 has 4 policies, each with values of its own.
        assert policy_completeness(env, policies, limit=4).holds is holds
        short = policy_completeness(env, policies, limit=3).holds
        assert short is (None if holds else False)


def test_words_and_json() -> None:
    made = value_complete_only()
    found = policy_completeness(made.environment, made.policies)
    assert str(found.counterexample) == found.reason
    assert "Π_1 lacks a policy for π_2 = [1 0]" in found.reason
    assert found.to_json()["counterexample"] == {
        "missing": "policy",
        "level": 1,
        "codes": [0],
        "wanted": [[1]],
        "observation": 0,
        "state": 0,
        "nearest": 0,
        "given": {"2": [1, 0]},
    }


ASKED = {"policy-value": (PR, VR, PV), "policy": (PR, VR, PC), "both": NAMES}


@given(st.data())
def test_complete_classes_are_complete(data) -> None:
    env = random_finite(
        np.random.default_rng(data.draw(st.integers(0, 10**6))),
        states=data.draw(st.integers(1, 3)),
        actions=data.draw(st.integers(1, 3)),
        horizon=data.draw(st.integers(1, 3)),
        observations=data.draw(st.integers(1, 2)),
        denominator=data.draw(st.sampled_from([1, 12])),
        distinct=False,
    )
    kind = data.draw(st.sampled_from(sorted(ASKED)))
    size = data.draw(st.sampled_from([1, 2, 7, 30]))
    classes = complete_classes(env, np.random.default_rng(0), kind, size=size)
    found = check_assumptions(env, *classes, ASKED[kind])
    assert {n: a.holds for n, a in found.items()} == dict.fromkeys(ASKED[kind], True)
    for family in classes:
        assert all(1 <= len(c) <= size for c in family.classes)
    again = complete_classes(env, np.random.default_rng(0), kind, size=size)
    for h in range(1, env.horizon + 1):
        codes = np.arange(env.space(h).n_codes)
        for one, other in zip(classes, again, strict=True):
            first = one.at_level(h).evaluate_all(codes)
            assert np.array_equal(first, other.at_level(h).evaluate_all(codes))


def test_there_is_something_to_learn() -> None:
    env = make("random-finite", 0, states=3, actions=3, horizon=3)
    for kind in ASKED:
        values, policies = complete_classes(env, np.random.default_rng(0), kind)
        for h in (2, 3):
            assert len(values.at_level(h)) > 8
            assert len(policies.at_level(h)) > 2


@pytest.mark.parametrize("name", [*NAMES, CLIPPED])
@pytest.mark.parametrize("env", ["random-finite", "tabular"])
def test_violating_classes(name, env) -> None:
    made = make(env, 1, states=2, actions=2, horizon=3)
    classes = violating_classes(made, np.random.default_rng(0), name, size=16)
    found = check_assumptions(made, *classes, [*NAMES, CLIPPED])
    assert found[name].holds is False
    if name not in (PR, VR):
        assert found[PR].holds is True
        assert found[VR].holds is True


def test_refusals() -> None:
    env, rng = (
        make("tabular", 0, states=1, actions=1, horizon=1),
        np.random.default_rng(0),
    )
    refused("kind: 'value'", complete_classes, env, rng, "value")
    refused("size", complete_classes, env, rng, size=0)
    refused("not finite", complete_classes, make("lock", 0), rng)
    refused("violate: 'complete'", violating_classes, env, rng, "complete")
    refused("no classes found", violating_classes, env, rng, PC)
