"""OLIVE on the environments of the project."""

from fractions import Fraction

import numpy as np
import pytest
from olivine.algorithms.environments import from_mdp, make
from olivine.algorithms.exact.arrays import END
from olivine.algorithms.mdp.tabular import random_tabular_mdp
from olivine.algorithms.olive.parameters import OliveParameters
from olivine.algorithms.olive.run import LayeredEnvironment, olive_sampled

from tests.support.depth import deep

# Means over 10^12 draws are within 10^-5 of the truth, far below 1/100.
PARAMETERS = OliveParameters(
    Fraction(1, 100), Fraction(1, 10), 10**12, 10**12, 10**12, 40
)


def lost(environment, layered, policy) -> Fraction:
    truth = environment.truth
    return truth.optimal_value - truth.policy_value(layered.policies(policy))


@pytest.mark.parametrize("name", ["random-finite", "tabular"])
def test_it_ends_near_the_optimum(name) -> None:
    for seed in range(deep(3, 1)):
        environment = make(name, seed=seed, horizon=2)
        layered = LayeredEnvironment(environment)
        result = olive_sampled(layered, PARAMETERS, np.random.default_rng(seed))
        assert result.status == "finished"
        assert result.policy is not None
        # Predicted at least the optimum less the tolerances, errors at most stop.
        assert lost(environment, layered, result.policy) <= Fraction(3, 20)
        assert result.trajectories == environment.trajectories


def test_codes_run_through_the_levels(rng) -> None:
    environment = make("random-finite", seed=1)
    layered = LayeredEnvironment(environment)
    offsets = layered.offsets
    sizes = [environment.space(h).n_codes for h in (1, 2, 3)]
    assert np.diff(offsets).tolist() == sizes
    assert len(layered.action_counts) == offsets[-1]
    policy = np.zeros(offsets[-1], dtype=int)
    for level, data in enumerate(layered.run(policy, 1000, rng), start=1):
        tuples = data.tuples
        assert (tuples.actions == 0).all()
        codes, following = tuples.observations, tuples.next_observations
        assert ((offsets[level - 1] <= codes) & (codes < offsets[level])).all()
        if level == 3:
            assert (following == END).all()
        else:
            assert (offsets[level] <= following).all()
            assert (following < offsets[level + 1]).all()
    explored = layered.draw([*[policy] * 1, "uniform"], 1000, rng).tuples
    assert set(explored.actions.tolist()) == {0, 1}


def test_stochastic_dynamics_are_taken() -> None:
    mdp = random_tabular_mdp(np.random.default_rng(3), horizon=2, width=2)
    environment = from_mdp(mdp)
    layered = LayeredEnvironment(environment)
    result = olive_sampled(layered, PARAMETERS, np.random.default_rng(0))
    assert result.status == "finished"
    assert lost(environment, layered, result.policy) <= Fraction(3, 20)


def test_bad_input(rng) -> None:
    with pytest.raises(ValueError, match="feature vectors"):
        LayeredEnvironment(make("lock-gaussian"))
    layered = LayeredEnvironment(make("tabular"))
    with pytest.raises(ValueError, match="rules: 4 for"):
        layered.draw(
            [*[np.zeros(layered.offsets[-1], dtype=int)] * 3, "uniform"], 10, rng
        )
    with pytest.raises(ValueError, match="policy has shape"):
        layered.run([0], 10, rng)
