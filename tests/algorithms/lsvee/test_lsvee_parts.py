"""LSVEE's averages over successors, its constants, and functions taken apart."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from olivine.algorithms.assumptions.checks import realizability
from olivine.algorithms.classes import FiniteQClass
from olivine.algorithms.environments import make
from olivine.algorithms.exact.data import EmpiricalMeasure
from olivine.algorithms.learning.draw_classes import make_q_class
from olivine.algorithms.lsvee import LsveePractical, LsveeTheorem
from olivine.algorithms.lsvee.algorithm import Cells, risks, state_value_averages
from olivine.algorithms.lsvee.parameters import root_down
from olivine.claims.instances import decoupled

from tests.support.depth import with_rows
from tests.support.refusals import refused

HALF = Fraction(1, 2)


sixths = st.builds(Fraction, st.integers(0, 6), st.just(6))


@st.composite
def averaged(draw):
    """A class of one level, data on it, values V̂ of next states."""
    n, codes, k = (draw(st.integers(1, 3)) for _ in range(3))
    flat = draw(st.lists(sixths, min_size=n * codes * k, max_size=n * codes * k))
    table = np.empty((n, codes, k), dtype=object)
    table.ravel()[:] = flat
    rows = draw(
        st.lists(
            st.tuples(
                st.integers(0, codes - 1),
                st.integers(0, k - 1),
                st.builds(Fraction, st.integers(0, 5), st.just(5)),
                st.integers(0, 10**20),
            ),
            min_size=1,
            max_size=6,
        )
    )
    x, a, r, w = zip(*rows, strict=True)
    weights = [max(w[0], 1), *w[1:]]
    data = EmpiricalMeasure(x, actions=a, rewards=list(r), weights=weights)
    sevenths = st.builds(Fraction, st.integers(0, 7), st.just(7))
    ahead = np.empty((n, k), dtype=object)
    ahead.ravel()[:] = draw(st.lists(sevenths, min_size=n * k, max_size=n * k))
    members = draw(st.lists(st.integers(0, n - 1), min_size=1, unique=True))
    return table, data, ahead, members


@given(averaged())
def test_averages_are_those_written_out(case):
    table, data, ahead, members = case
    functions = FiniteQClass([table])
    values = state_value_averages(functions, 1, data, members)
    cells = Cells.of(functions, 1, data)
    found = risks(functions, 1, cells, ahead[members], members)
    for j, i in enumerate(members):
        best = [max(table[i, x]) for x in data.observations]
        assert values[j] == data.expectation_exact(best)
        squares = [
            (table[i, x, a] - r - ahead[i, a]) ** 2
            for x, a, r in zip(
                data.observations, data.actions, data.exact_rewards, strict=True
            )
        ]
        assert found[j] == data.expectation_exact(squares)


def test_averages_on_features_are_floats_and_refuse_what_is_missing():
    functions = FiniteQClass(
        [[[[0.1, 0.7], [0.2, 0.3]]]], [lambda x: x[:, 0].astype(np.int64)]
    ).as_exact()
    data = EmpiricalMeasure(
        np.array([[0.0], [1.0], [0.0], [0.0]]),
        actions=[0, 1, 1, 1],
        rewards=[0.5, 0.1, 0.3, 0.3],
    )
    (value,) = state_value_averages(functions, 1, data, [0])
    assert value == (3 * Fraction(0.7) + Fraction(0.3)) / 4
    ahead = np.array([[Fraction(0), Fraction(1, 3)]], dtype=object)
    (risk,) = risks(functions, 1, Cells.of(functions, 1, data), ahead, [0])
    third = Fraction(1, 3)
    squares = [
        (Fraction(0.1) - HALF) ** 2,
        (Fraction(0.3) - Fraction(0.1) - third) ** 2,
        2 * (Fraction(0.7) - Fraction(0.3) - third) ** 2,
    ]
    assert risk == sum(squares) / 4
    exact, floats = FiniteQClass([[[[1, 0]]]]), FiniteQClass([[[[0.5, 0.0]]]])
    data = EmpiricalMeasure([0])
    refused("actions or rewards", Cells.of, exact, 1, data)
    refused("floats", state_value_averages, floats, 1, data, [0])


def test_the_theorems_constants():
    p = LsveeTheorem(0.3, 0.1, M=2, K=2, H=3, N=64)
    phi = 0.3 / (320 * 9 * math.sqrt(2))
    assert math.isclose(p.phi, phi, rel_tol=1e-12)
    share = 0.05 / (2 * 2 * 2 * 3)
    assert math.isclose(p.first.n_test, 2 * math.log(128 / share) / phi**2)
    fits = math.log(256 / (0.05 / (2 * 2 * 3)))
    assert math.isclose(p.first.n_train, 24 * fits / phi**2)
    excess = 22 * fits / p.first.n_train
    assert math.isclose(p.first.slack, 2 * phi**2 + excess)
    assert p.n_exp == math.ceil(8 * math.log(6 * 6 / 0.1) / 0.3)
    assert p.n_eval == math.ceil(32 * math.log(12 * 6 / 0.1) / 0.09)
    demand = 0.1 / (6 * 2 * 9 * p.n_exp) / 24
    assert math.isclose(p.on_demand.n_test, 2 * math.log(128 / demand) / phi**2)
    for level in (1, 2):
        recalled = 20 * (3 - (level - 1) - 1.25) * math.sqrt(2) * phi
        assert math.isclose(p.tolerance(level), recalled)
    assert p.tolerance(3) == 0
    assert p.to_json()["N"] == 64
    assert LsveeTheorem(0.3, 0.1, 2, 2, 3, 64, "paper").first == p.first


@given(st.fractions(min_value=0, max_value=10**6), st.integers(0, 200))
def test_roots_are_rounded_down(value, exponent):
    value /= 2**exponent
    root = root_down(value)
    assert root**2 <= value <= (root * (1 + Fraction(1, 2**60))) ** 2


@with_rows(
    "eps, delta, M, K, H, N, name",
    (0, 0.1, 1, 1, 1, 1, "epsilon"),
    (1, 0.1, 1, 1, 1, 1, "epsilon"),
    (math.nan, 0.1, 1, 1, 1, 1, "no finite number"),
    (0.3, 0, 1, 1, 1, 1, "delta"),
    (0.3, 0.1, 0, 1, 1, 1, "M"),
    (0.3, 0.1, 1, 1.5, 1, 1, "K"),
    (0.3, 0.1, 1, 1, True, 1, "H"),
    (0.3, 0.1, 1, 1, 1, 0, "N"),
)
def test_bad_parameters(eps, delta, M, K, H, N, name):
    for kind in (LsveeTheorem, LsveePractical):
        refused(name, kind, eps, delta, M, K, H, N)


@with_rows(
    "chosen",
    {"n_test": 0},
    {"n_train": 0},
    {"slack": -0.1},
    {"tolerance": -0.1},
    {"n_exp": 0},
    {"n_eval": 0},
    {"max_eliminations": 0},
    {"max_iterations": 0},
)
def test_bad_practical_parameters(chosen):
    refused(next(iter(chosen)), LsveePractical, 0.3, 0.1, 2, 2, 3, 4, **chosen)
    refused("n_eval", LsveePractical, 0.3, 0.1, 2, 2, 3, 4, n_exp=20, n_eval=10)
    refused("version", LsveeTheorem, 0.3, 0.1, 2, 2, 3, 4, "practical")
    with pytest.raises(ValueError, match="level"):
        LsveeTheorem(0.3, 0.1, 2, 2, 3, 4).tolerance(4)


@pytest.mark.parametrize("name", ["random-finite", "grid", "lock"])
def test_functions_taken_apart_stay_realizable(name):
    env = make(name, 2)
    functions = make_q_class(env, np.random.default_rng(0), size=20)
    values, policies = decoupled(functions)
    for h in range(1, env.horizon + 1):
        assert len(values.at_level(h)) <= 20
        if env.space(h).is_finite:
            x = np.arange(env.space(h).n_codes)
        else:
            state = next(iter(env.truth.reachable(h)))
            x = env.truth.emission.listed(h, state)
        best = functions.state_values(h, x).astype(np.float64).tolist()
        found = values.at_level(h).evaluate_all(x).astype(np.float64).tolist()
        assert {*map(tuple, best)} == {*map(tuple, found)}
        greedy = {*map(tuple, functions.actions(h, x).tolist())}
        assert greedy == {*map(tuple, policies.at_level(h).evaluate_all(x).tolist())}
    if name != "lock":
        assert realizability(env, values, policies).holds
