"""Linear oracles run with one BLAS thread, and leave the setting as it was."""

import numpy as np
import pytest
from olivine.algorithms.classes import LinearPolicyClass, LinearValueClass
from olivine.algorithms.exact.arrays import single_threaded
from olivine.algorithms.exact.data import EmpiricalMeasure
from olivine.algorithms.oracles.csc import csc
from olivine.algorithms.oracles.least_squares import least_squares
from threadpoolctl import threadpool_info, threadpool_limits


def threads():
    """Threads of each BLAS that is loaded."""
    return {i["num_threads"] for i in threadpool_info() if i["user_api"] == "blas"}


@pytest.fixture(autouse=True)
def two_threads():
    with threadpool_limits(2, "blas"):
        if threads() != {2}:
            pytest.skip("this BLAS has one thread only")
        yield


def test_one_thread_within_and_the_setting_after_an_error_too():
    assert single_threaded(threads)() == {1}
    assert threads() == {2}
    with pytest.raises(ZeroDivisionError):
        single_threaded(lambda: 1 / 0)()
    assert threads() == {2}


@pytest.mark.parametrize("oracle", [csc, least_squares])
def test_linear_oracles(oracle):
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
