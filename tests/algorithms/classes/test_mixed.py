"""Mixtures of policies, and how any policy becomes action probabilities."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from olivine.algorithms.classes import MixedPolicy, TabularPolicy, TabularPolicyClass
from olivine.algorithms.classes.protocols import action_probabilities, sample_actions
from olivine.algorithms.exact.data import EmpiricalMeasure
from olivine.algorithms.oracles.csc import csc
from olivine.algorithms.oracles.ledger import Ledger, guard

from tests.support.depth import with_rows

A, B = TabularPolicy(np.array([0, 1, 2])), TabularPolicy(np.array([0, 2, 2]))
MIXED = MixedPolicy((A, B), (Fraction(1, 4), Fraction(3, 4)), 3)
CODES = np.array([2, 1, 0, 1])


def test_probabilities_of_a_mixture():
    expected = [[0, 0, 1], [0, 0.25, 0.75], [1, 0, 0], [0, 0.25, 0.75]]
    assert MIXED(CODES).tolist() == expected
    assert len(MIXED) == 2
    assert action_probabilities(MIXED, CODES, 3) is not None
    assert action_probabilities(MIXED, CODES, 3).tolist() == expected
    assert action_probabilities(A, CODES, 3).argmax(axis=1).tolist() == [2, 1, 0, 1]
    none = np.array([], dtype=np.int64)
    assert action_probabilities(A, none, 3).shape == (0, 3)


def test_guarded_policies_are_evaluated_and_counted():
    data = EmpiricalMeasure([0, 1])
    policies = guard(TabularPolicyClass(3, 3))
    with Ledger() as ledger:
        found = csc(policies, data, np.eye(3)[:2], epsilon_sub=0.1).policy
        assert action_probabilities(found, CODES, 3).sum() == 4
    assert (ledger.evaluations, ledger.touches) == (1, [])


def test_draws_have_their_probabilities(rng):
    drawn = [MIXED.draw(rng) is B for _ in range(4000)]
    assert np.mean(drawn) == pytest.approx(0.75, abs=0.03)
    chances = np.tile(MIXED(CODES[1:2]), (4000, 1))
    actions = sample_actions(chances, rng)
    assert np.mean(actions == 2) == pytest.approx(0.75, abs=0.03)


@given(
    st.lists(
        st.lists(st.sampled_from([0.0, 1e-300, 0.1, 0.5, 1.0]), min_size=3, max_size=3)
        .filter(any)
        .map(lambda row: (np.array(row) / sum(row)).tolist()),
        min_size=1,
        max_size=5,
    ),
    st.integers(0, 2**32 - 1),
)
@settings(max_examples=100, deadline=None)
def test_an_action_of_probability_zero_is_never_drawn(rows, seed):
    chances = np.array(rows)
    actions = sample_actions(chances, np.random.default_rng(seed))
    assert actions.dtype == np.int64
    assert (chances[np.arange(len(rows)), actions] > 0).all()


@with_rows("weights", (), (1,), (Fraction(1, 2), Fraction(1, 3)), (0, 1), (2, -1))
def test_weights_that_are_none(weights):
    with pytest.raises(ValueError, match="weights"):
        MixedPolicy((A, B), tuple(map(Fraction, weights)), 3)


@with_rows(
    "policy",
    lambda x: np.zeros((len(x), 2)),
    lambda x: np.zeros(len(x)),
    lambda x: np.full(len(x), 3),
    lambda x: np.full(len(x), -1),
    lambda x: np.zeros(1, dtype=int),
)
def test_what_is_no_policy_is_refused(policy):
    with pytest.raises(ValueError, match="policy"):
        action_probabilities(policy, CODES, 3)
