"""A new kind of oracle is one file with a declaration: a toy comes and goes."""

import importlib.util
import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from olivine.algorithms.classes import TabularPolicyClass
from olivine.algorithms.exact.data import EmpiricalMeasure
from olivine.algorithms.learning.problem import LearningResult
from olivine.algorithms.oracles.csc import csc
from olivine.algorithms.oracles.ledger import GuardedFunction, Ledger, guard
from olivine.algorithms.oracles.testing import csc_problems, growth, verify_csc

TOY = '''
"""The toy oracle: the dearest policy, by CSC on the negated costs."""

from dataclasses import replace

import numpy as np
from olivine.algorithms.oracles.csc import csc
from olivine.algorithms.oracles.ledger import oracle


def _rows(policy_class, data, *args, **kwargs):
    return len(data)


@oracle("dearest", rows=_rows, function="policy")
def dearest(policy_class, /, data, costs, *, epsilon_sub):
    found = csc(policy_class, data, -np.asarray(costs), epsilon_sub=epsilon_sub)
    return replace(found, cost=-found.cost)
'''
COSTS = [[1, 0], [0, 3], [0, 1]]
DATA = EmpiricalMeasure([0, 1, 1])


@pytest.fixture(scope="module")
def dearest(tmp_path_factory):
    """The function of a file that is not the project's."""
    path = tmp_path_factory.mktemp("toy") / "dearest.py"
    path.write_text(TOY)
    spec = importlib.util.spec_from_file_location("olivine_toy_oracle", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.dearest


def test_a_new_kind_is_counted_guarded_and_reported(dearest) -> None:
    with Ledger() as ledger:
        found = dearest(guard(TabularPolicyClass(2, 2)), DATA, COSTS, epsilon_sub=0.1)
        csc(TabularPolicyClass(2, 2), DATA, COSTS, epsilon_sub=0.1)
    assert isinstance(found.policy, GuardedFunction)
    assert found.policy(np.array([0, 1])).tolist() == [0, 1]
    assert found.cost == pytest.approx(5 / 3)
    assert ledger.calls == {"dearest": 1, "csc": 1}
    assert ledger.inner_calls == {"csc": 1}
    result = LearningResult(
        "toy", "grid", "success", policies=None, estimate=None, trajectories=0,
        calls=ledger.calls,
    )  # fmt: skip
    counted = {"csc": 1, "lp": 0, "ls": 0, "multi": 0, "dearest": 1}
    assert list(result.to_json()["calls"].items()) == list(counted.items())


@given(csc_problems())
def test_the_property_tests_judge_it(dearest, problem) -> None:
    """The dearest policy for negated costs is the cheapest."""

    def cheapest(policy_class, data, costs, *, epsilon_sub):
        found = dearest(policy_class, data, -costs, epsilon_sub=epsilon_sub)
        return replace(found, cost=-found.cost)

    assert verify_csc(cheapest, problem, epsilon_sub=1e-6).honoured


def test_its_growth_is_measured_and_it_is_no_module_of_the_project(dearest):
    def cost(size: int) -> int:
        data, costs = EmpiricalMeasure(np.arange(size)), np.ones((size, 2))
        found = dearest(TabularPolicyClass(size, 2), data, costs, epsilon_sub=1)
        return found.operations

    assert growth(cost, [64, 128, 256]).exponent < 1.1
    assert "olivine_toy_oracle" not in sys.modules
