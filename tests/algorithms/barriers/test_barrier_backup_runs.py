"""The backup barrier, run: the algorithm on samples, and VALOR on the same classes."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from olivine.algorithms.barriers.backup import (
    B,
    BackupBarrier,
    clopper_pearson,
    failure_probability,
    replay,
    run_valor,
    simulate,
    valor_parameters,
)
from olivine.algorithms.baselines import BACKUP, PSDP, practical_parameters
from olivine.algorithms.baselines.backwards import backup
from scipy.stats import binomtest

from tests.support.depth import deep, spread
from tests.support.refusals import refused

HALF, QUARTER = Fraction(1, 2), Fraction(1, 4)


class Watch:
    """Keeps what the algorithm fitted, and to which data."""

    def __init__(self):
        self.fits = []

    def __call__(self, fit):
        self.fits.append(fit)


def parameters(barrier, n, **chosen):
    chosen = {"eps_sub": Fraction(1, 10**20), "per_action": True} | chosen
    sizes = {"M": 2, "K": 2, "H": barrier.H + 1}
    return practical_parameters(BACKUP, QUARTER, QUARTER, n=n, **sizes, **chosen)


@settings(max_examples=15, deadline=None)
@given(
    st.integers(1, 5),
    st.sampled_from([HALF, QUARTER, Fraction(3, 8), Fraction(1, 64)]),
    st.sampled_from([Fraction(2), Fraction(3, 2)]),
    st.integers(1, 50) | st.just(10**20),
    st.sampled_from(["against", "for"]),
    st.integers(0, 2**32),
)
def test_runs_do_what_the_recursion_in_rationals_says(H, epsilon, ratio, n, ties, seed):
    """Function by function, level by level, from the mean reward that was drawn."""
    if ratio < 2 and epsilon == HALF:
        return
    barrier = BackupBarrier(H, epsilon, ratio)
    made, watch = barrier.instance(ties), Watch()
    result = backup(
        made.environment,
        made.values,
        made.policies,
        parameters(barrier, n),
        np.random.default_rng(seed),
        observers=[watch],
    )
    last = watch.fits[0].data
    paid = last.exact_rewards * last.weights.astype(object)
    action = result.policies[H](np.array([B]))[0]
    at_b = (last.observations == B) & (last.actions == action)
    expected = replay(barrier, Fraction(sum(paid[at_b])) / n, ties)
    assert result.policies[0](np.array([0]))[0] == expected.action
    for h, fit in zip(range(H, 0, -1), watch.fits, strict=False):
        value = Fraction(fit.functions[0](np.array([B]))[0])
        tie = expected.taken[h - 1] == "tie"
        bad = expected.taken[h - 1] == "bad" or (tie and ties == "against")
        wanted = HALF + barrier.excess(h) if bad else HALF
        assert value == Fraction(float(wanted))
    assert result.trajectories == 2 * n * (2 * H + 1)
    assert result.calls["csc"] == result.calls["ls"] == H + 1


@pytest.mark.parametrize(
    ("H", "ratio", "n"),
    spread(
        [(1, 2, 1), (4, 2, 127), (4, 2, 2000), (6, Fraction(3, 2), 50), (3, 2, 2)], 2
    ),
)
def test_they_fail_as_often_as_the_binomial_says(H, ratio, n):
    barrier = BackupBarrier(H, QUARTER, Fraction(ratio))
    found = simulate(barrier, n, deep(30, 15), np.random.default_rng([H, n]))
    exact = failure_probability(barrier, n).exact
    assert binomtest(found.failures, found.runs, float(exact)).pvalue > 1e-6
    assert {*found.losses} <= {0, barrier.epsilon}
    assert found.seed.to_json()["entropy"] == [H, n]


def test_ties_for_the_algorithm_save_it_and_without_ties_nothing_does():
    barrier = BackupBarrier(4, QUARTER)
    runs = deep(20, 8)
    assert simulate(barrier, 16, runs, np.random.default_rng(1), "for").failures == 0
    strict = BackupBarrier(4, QUARTER, Fraction(3, 2))
    assert simulate(strict, 16, runs, np.random.default_rng(1), "for").failures > 0


@pytest.mark.parametrize("H", spread([1, 3, 30], 2))
def test_valor_learns_with_few_trajectories(H):
    """At H = 30 far below the limit, and hardly more than at H = 1."""
    barrier = BackupBarrier(H, QUARTER)
    truth = barrier.environment().truth
    good = 0
    for seed in range(deep(4, 2)):
        result = run_valor(barrier, np.random.default_rng(seed))
        assert result.trajectories < 2000
        assert result.policies is not None
        good += truth.policy_value(result.policies) == truth.optimal_value
    assert good >= deep(3, 2)
    result = run_valor(barrier, np.random.default_rng(0), "theorem")
    assert truth.policy_value(result.policies) == truth.optimal_value
    assert valor_parameters(barrier).eps == barrier.epsilon / 2


def test_bad_arguments_are_named(rng):
    barrier = BackupBarrier(2, QUARTER)
    refused("n: 0", simulate, barrier, 0, 1, rng)
    refused("runs: 0", simulate, barrier, 1, 0, rng)
    refused("epsilon: 1/3", simulate, BackupBarrier(2, Fraction(1, 3)), 1, 1, rng)
    refused("successes", clopper_pearson, 3, 2)
    refused("confidence", clopper_pearson, 1, 2, 1.0)
    refused("per_action: not together", parameters, barrier, 1, on_policy=True)
    with pytest.raises(ValueError, match="per_action: psdp has no"):
        practical_parameters(PSDP, HALF, HALF, M=1, K=1, H=1, per_action=True)
    assert clopper_pearson(5, 5) == (pytest.approx(0.025 ** (1 / 5)), 1.0)


def test_sampling_each_action_costs_k_times_as_much():
    barrier = BackupBarrier(3, QUARTER)
    each, once = parameters(barrier, 7), parameters(barrier, 7, per_action=False)
    assert each.trajectory_bound == 2 * once.trajectory_bound
    assert each.to_json()["per_action"] is True
    assert "per_action" not in once.to_json()
