"""Finite classes of Q-functions, and classes made to hold Q* among distractors."""

import itertools
import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from olivine.algorithms.classes import FiniteQClass
from olivine.algorithms.environments import from_lists, make
from olivine.algorithms.learning.draw_classes import make_q_class, optimal_member

from tests.support.depth import deep, with_rows
from tests.support.refusals import refused

HALF = Fraction(1, 2)
fractions = st.builds(Fraction, st.integers(0, 6), st.just(6))


@st.composite
def exact_tables(draw):
    """Tables of 1 to 3 levels."""
    n, k = draw(st.integers(1, 4)), draw(st.integers(1, 3))
    tables = []
    for _ in range(draw(st.integers(1, 3))):
        codes = draw(st.integers(1, 3))
        flat = draw(st.lists(fractions, min_size=n * codes * k, max_size=n * codes * k))
        table = np.empty((n, codes, k), dtype=object)
        table.ravel()[:] = flat
        tables.append(table)
    return tables


@given(exact_tables())
def test_members_are_their_tables(tables):
    functions = FiniteQClass(tables)
    n, _, k = tables[0].shape
    assert (len(functions), functions.horizon) == (n, len(tables))
    assert functions.n_actions == k
    assert functions.exact
    assert functions.log_size() == math.log(n)
    for h, table in enumerate(tables, 1):
        codes = np.arange(table.shape[1])
        assert functions.n_codes(h) == len(codes)
        assert (functions.values(h, codes) == table).all()
        assert (functions.table(h) == table).all()
        whole = functions.numerators(h, codes).astype(object)
        assert (whole == table * functions.denominator).all()
        best = functions.state_values(h, codes)
        assert (best * functions.denominator == whole.max(axis=2)).all()
        assert (functions.numerator_table(h, best=True) == whole.max(axis=2)).all()
        for i in range(n):
            member = functions.member(i)
            (actions,) = functions.actions(h, codes, [i])
            assert (member.values(h, codes) == table[i]).all()
            assert (member.state_values(h, codes) == best[i]).all()
            assert (functions.greedy(i)[h - 1](codes) == actions).all()
            for x, a in enumerate(actions):
                row = table[i, x].tolist()
                assert a == row.index(max(row))  # the lowest of the best


def test_past_the_last_level_everything_is_0():
    functions = FiniteQClass([[[[1, 0]], [[0, 1]]]])
    assert functions.state_values(2, np.array([-1, -1, -1])).tolist() == [[0] * 3] * 2
    assert functions.member(1).state_values(2, np.array([-1])).tolist() == [0]
    floats = FiniteQClass([[[[1.0, 0.5]]]])
    assert floats.state_values(2, np.array([-1])).dtype == np.float64


def test_floats_and_mixtures_are_floats_and_have_an_exact_form():
    functions = FiniteQClass([[[[0.1, HALF]]], [[[1, 0]]]])
    assert not functions.exact
    assert functions.denominator is None
    assert functions.values(1, np.array([0])).dtype == np.float64
    refused("floats", functions.numerators, 1, np.array([0]))
    exact = functions.as_exact()
    assert exact.exact
    assert exact.as_exact() is exact
    assert exact.values(1, np.array([0]))[0, 0, 0] == Fraction(0.1)
    for denominator, kind in ((2**62 - 1, np.int64), (2**62, object)):
        least = Fraction(1, denominator)
        narrow = FiniteQClass([[[[least, 1 - least]]]])
        numerators = narrow.numerators(1, np.array([0]))
        assert numerators.dtype == kind
        assert numerators.tolist() == [[[1, denominator - 1]]]
    wide = FiniteQClass([[[[5e-324, 1.0]]]]).as_exact()
    assert wide.numerators(1, np.array([0]))[0, 0].tolist() == [1, wide.denominator]


def nearest(features):
    """Decode one feature by rounding."""
    return features[:, 0].round().astype(np.int64)


def test_functions_of_features_decode_them():
    functions = FiniteQClass([[[[0, 1], [1, 0]]]], [nearest])
    x = np.array([[0.1], [0.9]])
    assert functions.values(1, x).tolist() == [[[0, 1], [1, 0]]]
    (policy,) = functions.greedy(0)
    assert policy(x).tolist() == [1, 0]
    assert pickle.loads(pickle.dumps(policy))(x).tolist() == [1, 0]
    refused("outside the class", functions.values, 1, np.array([[2.0]]))
    refused("NaN", functions.values, 1, np.array([[math.nan]]))


@with_rows(
    "tables, message",
    ([], "tables: none"),
    ([[[1, 0]]], "level 1: expected shape"),
    ([[[[0, 2]]]], "level 1, member 0, code 0, action 1: 2 is outside"),
    ([[[[0, 1.5]]]], "outside"),
    ([[[[0, -HALF]]]], "outside"),
    ([[[[0, math.nan]]]], "outside"),
    ([[[["a", "b"]]]], "not real numbers"),
    ([[[[0, 1]]], [[[0]]]], "level 2: 1 members with 1 actions"),
    ([[[[0, 1]]], [[[0, 1]], [[0, 1]]]], "level 2: 2 members"),
    ([np.zeros((0, 1, 1))], "none of them 0"),
)
def test_bad_tables(tables, message):
    refused(message, FiniteQClass, tables)


def test_bad_arguments_and_sizes():
    functions = FiniteQClass([[[[0, 1]]]])
    for call in (functions.member, functions.greedy):
        for number in (-1, 1, True):
            refused("member", call, number)
    for level in (0, 2):
        refused("level", functions.values, level, np.array([0]))
        refused("level", functions.table, level)
    refused("row 0", functions.values, 1, np.array([1]))
    refused("decoders: 2 for 1", FiniteQClass, [[[[0, 1]]]], [nearest, nearest])
    with pytest.raises(ValueError, match=r"size: .* more than 5000000"):
        make_q_class(make("grid"), np.random.default_rng(0), size=10**6)
    refused("size", make_q_class, make("tabular"), np.random.default_rng(0), size=0)


@given(
    st.integers(0, 10**6),
    st.integers(1, 3),
    st.integers(1, 3),
    st.integers(1, 3),
    st.integers(1, 40),
)
@settings(deadline=None, max_examples=25)
def test_classes_hold_one_optimal_function(seed, states, actions, horizon, size):
    sizes = {"states": states, "actions": actions, "horizon": horizon}
    env = make("random-finite", seed, distinct=False, **sizes)
    functions = make_q_class(env, np.random.default_rng(seed), size=size)
    assert 1 <= len(functions) <= size
    assert functions.exact
    number = optimal_member(functions, env)
    assert number is not None
    levels = range(1, horizon + 1)
    for h in levels:
        assert (functions.table(h)[number] == env.truth.q_values(h)).all()
    assert env.truth.policy_value(functions.greedy(number)) == env.truth.optimal_value
    for i, j in itertools.combinations(range(len(functions)), 2):
        same = all(
            (functions.table(h)[i] == functions.table(h)[j]).all() for h in levels
        )
        assert not same


@pytest.mark.parametrize("name", ["lock", "lock-gaussian", "diabolical-lock", "grid"])
def test_classes_for_other_environments(name):
    env = make(name, 1)
    functions = make_q_class(env, np.random.default_rng(0))
    assert len(functions) == 64
    number = optimal_member(functions, env)
    policies = functions.greedy(number)
    if env.truth.exact:
        best = env.truth.optimal_value
        assert env.truth.policy_value(policies) == best
        others = range(0, 64, deep(1, 8))
        assert min(env.truth.policy_value(functions.greedy(i)) for i in others) < best
    else:
        rng = np.random.default_rng(1)
        mean, error = env.truth.estimate_policy_value(policies, 2000, rng)
        assert abs(mean - env.truth.optimal_value) <= 0.01 + 5 * error


def test_distractors_are_right_in_value_and_wrong_in_action():
    env = make("random-finite", 3, horizon=1, observations=3, actions=3)
    functions = make_q_class(env, np.random.default_rng(0))
    number = optimal_member(functions, env)
    codes = np.arange(3)
    right = functions.member(number).state_values(1, codes)
    misleading = [
        i
        for i in range(len(functions))
        if (functions.member(i).state_values(1, codes) == right).all()
        and env.truth.policy_value(functions.greedy(i)) < env.truth.optimal_value
    ]
    assert misleading


def test_unreachable_states_do_not_matter():
    env = from_lists(
        [
            [("s", {"x": 1}, {"x": [0, 0]}, ["t", "t"])],
            [("t", {"y": 1}, {"y": [0, 1]}, []), ("u", {"z": 1}, {"z": [1, 0]}, [])],
        ]
    )
    functions = make_q_class(env, np.random.default_rng(0))
    assert (functions.table(2)[:, 1] == env.truth.q_values(2)[1]).all()
    other = functions.table(2).copy()
    other[:, 1] = Fraction(0)
    changed = FiniteQClass([functions.table(1), other])
    assert optimal_member(changed, env) == optimal_member(functions, env)


def test_a_class_without_q_star():
    env = make("random-finite", 0)
    functions = make_q_class(env, np.random.default_rng(0))
    number = optimal_member(functions, env)
    tables = [np.delete(functions.table(h), number, axis=0) for h in (1, 2, 3)]
    assert optimal_member(FiniteQClass(tables), env) is None
    refused("levels", optimal_member, FiniteQClass(tables[:2]), env)
