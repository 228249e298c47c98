"""Exact numbers, recorded seeds, and the one BLAS thread of linear oracles."""

from fractions import Fraction

import numpy as np
import olivine
import pytest
from hypothesis import given
from hypothesis import strategies as st
from olivine.algorithms.classes import LinearPolicyClass, LinearValueClass
from olivine.algorithms.exact.arrays import (
    MOST_NUMBERS,
    as_rational,
    check_sizes,
    single_threaded,
    weighted_sum,
)
from olivine.algorithms.exact.data import EmpiricalMeasure
from olivine.algorithms.exact.multinomial import RecordedSeed
from olivine.algorithms.mdp.tabular import TabularMDP
from olivine.algorithms.oracles.csc import csc
from olivine.algorithms.oracles.least_squares import least_squares
from threadpoolctl import threadpool_info, threadpool_limits

from tests.support.refusals import refused


@pytest.mark.parametrize("value", [3, np.int64(3), np.uint8(3), Fraction(3)])
def test_exact_numbers_become_fractions_of_python_integers(value) -> None:
    found = as_rational("reward", value)
    assert found == 3
    assert type(found.numerator) is int
    assert found * 2**80 == 3 * 2**80  # which numpy's integers do not hold


@pytest.mark.parametrize("value", [True, np.bool_(True), 0.5, np.float64(1), "1", None])
def test_what_is_not_exact_is_refused(value) -> None:
    refused(r"^reward .* is neither Fraction nor integer", as_rational, "reward", value)


def test_rewards_of_numpy_are_those_of_python() -> None:
    def mdp(one) -> TabularMDP:
        ending = ("t", 2, [("end", one, {})])
        return TabularMDP.from_lists([("s", 1, [("go", 0, {"t": one})]), ending])

    best = mdp(np.int64(1)).optimal_values()
    assert best.value(0) == mdp(1).optimal_values().value(0) == 1


@given(st.lists(st.tuples(st.integers(0, 10**20), st.fractions() | st.integers())))
def test_a_weighted_sum_is_that_of_the_products(terms) -> None:
    weights, values = [w for w, _ in terms], [v for _, v in terms]
    found = weighted_sum(weights, values)
    assert type(found) is Fraction
    assert found == sum((w * v for w, v in terms), Fraction(0))


def test_sizes_are_refused_just_outside_their_bounds() -> None:
    check_sizes(2, actions=2, horizon=MOST_NUMBERS)
    refused("actions: 1 is below 2", check_sizes, 2, actions=1)
    with pytest.raises(ValueError, match=r"horizon: 10000001 is not in 2\.\.10000000"):
        check_sizes(2, horizon=MOST_NUMBERS + 1)


@given(
    entropy=st.one_of(
        st.integers(0, 2**70), st.lists(st.integers(0, 2**32), min_size=1, max_size=3)
    ),
    before=st.integers(0, 5),
    after=st.integers(0, 5),
)
def test_the_generator_comes_back(entropy, before, after):
    rng = np.random.default_rng(entropy)
    rng.random(before)
    seed = RecordedSeed.of(rng)
    rng.random(after)
    again = seed.generator()
    again.random(after)
    assert (
        rng.integers(2**60, size=4).tolist() == again.integers(2**60, size=4).tolist()
    )
    kept = tuple(entropy) if isinstance(entropy, list) else entropy
    assert seed.entropy == kept
    assert seed.spawn_key == ()


@pytest.mark.parametrize("kind", [np.random.MT19937, np.random.Philox])
def test_other_bit_generators_and_children(kind):
    child = np.random.SeedSequence(5).spawn(3)[2]
    rng = np.random.Generator(kind(child))
    seed = RecordedSeed.of(rng)
    assert seed.to_json() == {"entropy": 5, "spawn_key": [2]}
    assert rng.random() == seed.generator().random()


@pytest.mark.parametrize("seed", [-1, "a", 1.5, object()])
def test_what_is_no_seed_is_named(seed):
    world, one = olivine.make("lock"), olivine.Formula.from_clauses([[1]])
    for call in (
        lambda: olivine.make("lock", seed),
        lambda: olivine.learn("rmax", world, seed=seed),
        lambda: olivine.check_environment(world, seed=seed),
        lambda: olivine.evaluate(world, [], 2, seed=seed),
        lambda: olivine.verify(one, seed=seed),
        lambda: olivine.curves(world, "rmax", seeds=1, first_seed=seed),
        lambda: olivine.compare(world, "rmax", seeds=1, first_seed=seed),
    ):
        refused(r"seed: .* is no integer of at least 0", call)


def threads():
    """Threads of each BLAS that is loaded."""
    return {i["num_threads"] for i in threadpool_info() if i["user_api"] == "blas"}


@pytest.fixture
def two_threads():
    with threadpool_limits(2, "blas"):
        if threads() != {2}:
            pytest.skip("this BLAS has one thread only")
        yield


def test_one_thread_within_and_the_setting_after_an_error_too(two_threads):
    assert single_threaded(threads)() == {1}
    assert threads() == {2}
    with pytest.raises(ZeroDivisionError):
        single_threaded(lambda: 1 / 0)()
    assert threads() == {2}


@pytest.mark.parametrize("oracle", [csc, least_squares])
def test_linear_oracles_run_with_one_blas_thread(oracle, two_threads):
    seen = set()

    def features(observations):
        seen.update(threads())
        return np.stack([np.ones(len(observations)), observations], axis=1)

    data = EmpiricalMeasure(np.arange(3))
    if oracle is csc:
        costs = np.array([[0.0, 1.0], [1.0, 0.0], [0.5, 0.25]])
        found = csc(
            LinearPolicyClass(features, 2, dimension=2), data, costs, epsilon_sub=1e-6
        )
    else:
        values = LinearValueClass(features, dimension=2, bound=2.0)
        targets = np.array([0.0, 0.5, 1.0])
        found = least_squares(values, data, targets, epsilon_sub=1e-6)
    assert found.suboptimality >= 0
    assert seen == {1}
    assert threads() == {2}
