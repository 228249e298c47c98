"""R-max where hidden states can be decoded."""

import math
from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from olivine.algorithms.baselines import rmax, rmax_practical, rmax_theorem
from olivine.algorithms.baselines.rmax import Decoding, RmaxModel
from olivine.algorithms.environments import make

from tests.support.baselines import Recorder

HALF = Fraction(1, 2)


def test_rmax_ends_when_it_hardly_meets_unknown_pairs() -> None:
    env = make("random-finite", 2, states=3, actions=3, horizon=3)
    recorder = Recorder()
    parameters = rmax_practical(0.3, 0.1, X=6, K=3, H=3)
    result = rmax(env, parameters, np.random.default_rng(0), observers=[recorder])
    assert result.trajectories == len(recorder.batches) * parameters.n
    assert result.iterations == len(recorder.batches) <= parameters.batches
    *before, last = (batch.unknown for batch in recorder.batches)
    assert last <= parameters.patience < min(before)


def test_rmax_on_decoded_features_and_on_their_codes_agree() -> None:
    for observations in ("features", "codes"):
        env = make("lock", 3, horizon=4, dimension=0, observations=observations)
        assert Decoding(env).most_cells == 3
        parameters = rmax_practical(0.2, 0.1, X=3, K=4, H=4, m=50, n=100)
        result = rmax(env, parameters, np.random.default_rng(0))
        assert result.succeeded
        assert env.truth.policy_value(result.policies) == HALF
        assert abs(result.estimate - HALF) < 0.3


def test_rmax_that_may_not_play_long_enough_fails() -> None:
    env = make("random-finite", 0)
    parameters = rmax_practical(0.3, 0.1, X=4, K=2, H=3, max_batches=2)
    result = rmax(env, parameters, np.random.default_rng(0))
    assert result.status == "failure"
    assert "2 batches" in result.reason
    assert result.iterations == 2
    assert not result.contradictions


@given(
    st.floats(0.01, 0.99),
    st.floats(1e-6, 0.99),
    st.integers(1, 50),
    st.integers(1, 10),
    st.integers(1, 30),
)
def test_rmax_batches_are_large_enough_for_the_test_that_ends_a_run(
    eps, delta, x, k, h
) -> None:
    """N ≥ 16 ln(2T/δ)/ε, which the doubling argument leaves to be checked."""
    p = rmax_theorem(eps, delta, X=x, K=k, H=h)
    assert p.batches <= 8 * p.pairs / p.eps + 1
    assert p.n >= 16 * math.log(2 * p.batches / delta) / eps
    assert p.n == p.m


def test_pairs_are_known_after_m_visits() -> None:
    model = RmaxModel([np.array([0]), np.array([0, 1])], 2, 3)
    assert model.n_known == 0
    model.visits[0][0, 0], model.visits[0][0, 1] = 2, 3
    assert model.known(1).tolist() == [[False, True]]
    assert model.known(2).tolist() == [[False, False], [False, False]]
    assert model.n_known == 1
