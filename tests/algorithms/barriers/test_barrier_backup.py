"""The backup barrier: construction, exact probabilities, runs; VALOR on its classes."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from olivine.algorithms.assumptions import check_assumptions
from olivine.algorithms.barriers.backup import (
    EXACT_DRAWS,
    A,
    B,
    BackupBarrier,
    absolute,
    clopper_pearson,
    exact_fair_tail,
    failure_probability,
    fair_tail,
    replay,
    run_valor,
    simulate,
    slud_bound,
    valor_parameters,
)
from olivine.algorithms.baselines import BACKUP, PSDP, practical_parameters
from olivine.algorithms.baselines.backwards import backup
from scipy.stats import binomtest

from tests.support.depth import deep, spread, with_rows
from tests.support.refusals import refused

HALF, QUARTER = Fraction(1, 2), Fraction(1, 4)

epsilons = st.fractions(Fraction(1, 100), HALF, max_denominator=100)
barriers = st.one_of(
    st.builds(BackupBarrier, st.integers(1, 6), epsilons),
    st.builds(
        BackupBarrier,
        st.integers(1, 6),
        st.fractions(Fraction(1, 100), Fraction(49, 100), max_denominator=100),
        st.fractions(Fraction(11, 10), Fraction(19, 10), max_denominator=10),
    ),
)


@settings(max_examples=15, deadline=None)
@given(barriers)
def test_the_classes_hold_what_the_construction_says(barrier):
    made = barrier.instance()
    truth = made.environment.truth
    assert made.environment.horizon == barrier.H + 1
    assert truth.optimal_value == HALF + barrier.epsilon
    loses = [*made.policies.at_level(1).members]
    values = []
    for first in loses:
        rest = [made.policies.at_level(h).members[0] for h in range(2, barrier.H + 2)]
        values.append(truth.policy_value([first, *rest]))
    assert values == [HALF, HALF + barrier.epsilon]
    for h in range(1, barrier.H + 1):
        bad, good = (m.exact for m in made.values.at_level(h + 1).members)
        assert list(good) == truth.values(h + 1).tolist()
        assert bad[A] == good[A]
        assert bad[B] - good[B] == barrier.excess(h) > 0
    if barrier.ratio == 2:
        assert barrier.sample_limit == Fraction(4**barrier.H) / (
            32 * barrier.epsilon**2
        )


@given(barriers, st.integers(1, 300))
def test_below_the_limit_the_failure_has_probability_a_quarter(barrier, n):
    found = failure_probability(barrier, n).exact
    if n <= barrier.sample_limit:
        assert found >= QUARTER
        if not barrier.has_ties:
            assert failure_probability(barrier, n, "for").exact >= QUARTER
    # It is the binomial tail, summed up naively.
    naive = sum(
        math.comb(n, s)
        for s in range(n + 1)
        if replay(barrier, Fraction(s, n)).action == B
    )
    assert found == Fraction(naive, 2**n)
    favoured = sum(
        math.comb(n, s)
        for s in range(n + 1)
        if replay(barrier, Fraction(s, n), "for").action == B
    )
    assert failure_probability(barrier, n, "for").exact == Fraction(favoured, 2**n)


@given(barriers, st.fractions(0, 1))
def test_one_bad_fit_decides_all(barrier, mean):
    found = replay(barrier, mean)
    assert (found.action == B) == (mean >= barrier.threshold)
    if mean < barrier.threshold:
        assert set(found.taken[:-1]) <= {"good"}
        assert found.value == HALF
        return
    assert found.value == HALF + barrier.excess(1)
    later, start = ("tie", "tie") if barrier.ratio == 2 else ("bad", "bad")
    assert set(found.taken[:-1]) <= {later}  # h = 1 included
    assert found.start == start


def test_the_quarter_is_attained_and_only_by_two_samples():
    barrier = BackupBarrier(5, Fraction(1, 4))
    found = [failure_probability(barrier, n).exact for n in range(1, 512)]
    assert [n for n, p in enumerate(found, 1) if p <= QUARTER] == [2]
    assert found[1] == QUARTER


def test_the_lemma_on_fair_coins_and_its_strict_form():
    # P[S ≥ n/2 + d] ≥ 1/4 for d² ≤ n/32: small n exhaustively, then its proof.
    for n in range(1, 200):
        d = Fraction(math.isqrt(n * 10**8 // 32), 10**4)
        assert d**2 <= Fraction(n, 32)
        assert exact_fair_tail(n, math.ceil(Fraction(n, 2) + d)) >= QUARTER
    bound = 0.5 - 1 / (4 * math.sqrt(math.pi)) - 1 / math.sqrt(2 * math.pi * 14)
    assert bound > 0.25
    # P[S > n/2 + d] ≥ 1/4 for 0 < d ≤ √(n/32), where n/2 + d is an integer.
    for n in range(8, 400):
        for twice in range(1, 10):
            if 8 * twice**2 > n or (n + twice) % 2:
                continue
            assert exact_fair_tail(n, (n + twice) // 2 + 1) >= Fraction(1, 4)


def test_erratum_23_sluds_inequality_does_not_apply():
    barrier = BackupBarrier(3, HALF)
    assert barrier.sample_limit == 8
    for n in (2, 4, 6):
        assert failure_probability(barrier, n).upper < slud_bound(barrier, n)
        assert failure_probability(barrier, n).exact >= QUARTER


@given(st.integers(1, 120), st.integers(-3, 125))
def test_tails_are_exact(n, k):
    naive = sum(math.comb(n, i) for i in range(max(k, 0), n + 1))
    assert exact_fair_tail(n, k) == Fraction(naive, 2**n)


def test_ties_for_the_algorithm_take_a_mean_right_above_the_middle():
    """H = 1, Δ_1 = 1/2: a mean of 3/4 is a tie; 3 or 4 of 4 rewards, or all 4."""
    barrier = BackupBarrier(1, QUARTER, first_excess=HALF)
    assert barrier.threshold == Fraction(3, 4)
    assert failure_probability(barrier, 4).exact == Fraction(5, 16)
    assert failure_probability(barrier, 4, "for").exact == Fraction(1, 16)
    assert failure_probability(BackupBarrier(2, QUARTER), 4, "for").exact == 0


def test_enclosures_hold_the_exact_tail():
    n = EXACT_DRAWS + 1
    for shift in (-400, 1, 0, 50, 300)[: deep(5, 2)]:
        k = n // 2 + shift
        found, exact = fair_tail(n, k), exact_fair_tail(n, k)
        assert found.exact is None
        assert found.lower <= exact <= found.upper
        assert found.upper - found.lower < 0.004
        assert found.at_least(Fraction(exact)) is None
        assert found.at_least(exact - Fraction(1, 100)) is True
        assert found.at_least(exact + Fraction(1, 100)) is False
    assert fair_tail(10**30, 10**30).upper < 1e-11


def test_another_loss_fails_too():
    """Least absolute deviations take g_bad as soon as r̄ > 1/2, whatever n is."""
    barrier = BackupBarrier(4, QUARTER)
    just_above = HALF + Fraction(1, 10**9)
    assert replay(barrier, just_above).action == A
    assert replay(barrier, just_above, loss=absolute).action == B
    assert replay(barrier, just_above, loss=absolute).taken == ("tie",) * 3 + ("bad",)
    assert replay(barrier, HALF - Fraction(1, 10**9), loss=absolute).action == A


@pytest.mark.parametrize("H", [1, 2, 4])
def test_realizable_but_incomplete(H):
    made = BackupBarrier(H, QUARTER).instance()
    found = check_assumptions(made.environment, made.values, made.policies)
    assert found["policy-realizability"].holds
    assert found["value-realizability"].holds
    assert found["policy-completeness"].holds
    assert found["policy-value-completeness"].holds is (H == 1)
    if H > 1:
        example = found["policy-value-completeness"].counterexample
        assert example.missing == "value"
        assert example.observation == B


@with_rows(
    "arguments, word",
    ((0, QUARTER), "H: 0"),
    ((True, QUARTER), "H: True"),
    ((2, Fraction(0)), r"epsilon: 0 is not in \(0, 1/2\]"),
    ((2, Fraction(51, 100)), r"epsilon: 51/100 is not in \(0, 1/2\]"),
    ((2, QUARTER, Fraction(1)), r"ratio: 1 is not in \(1, 2\]"),
    ((2, QUARTER, Fraction(21, 10)), "ratio"),
    ((2, QUARTER, Fraction(2), Fraction(1, 5)), r"first_excess: 1/5 .*\[1/4, 1/2\]"),
    ((2, QUARTER, Fraction(2), Fraction(3, 5)), "first_excess"),
    ((2, HALF, Fraction(3, 2)), "first_excess: must exceed"),
)
def test_parameters_out_of_range(arguments, word):
    refused(word, BackupBarrier, *arguments)


def test_erratum_19_epsilon_up_to_a_half_and_one_level():
    """ε = 1/2 and H = 1 belong to the construction, ε > 1/2 does not."""
    extreme = BackupBarrier(1, HALF)
    assert extreme.environment().truth.optimal_value == 1
    assert extreme.environment().horizon == 2
    assert replay(extreme, Fraction(1)).action == B
    refused("law", BackupBarrier, 1, Fraction(3, 4))


def test_bad_arguments_and_floats_that_hold_no_ties_are_named():
    BackupBarrier(50, QUARTER).check_floats()
    refused("H: 60 is too large", BackupBarrier(60, QUARTER).check_floats)
    refused("epsilon: 1/3", BackupBarrier(2, Fraction(1, 3)).check_floats)
    BackupBarrier(30, Fraction(1, 3), Fraction(3, 2)).check_floats()
    refused("rounding", BackupBarrier(80, Fraction(1, 3), Fraction(3, 2)).check_floats)
    barrier = BackupBarrier(2, QUARTER)
    refused(r"h: 3 is not in 1\.\.2", barrier.excess, 3)
    refused("n: 0", failure_probability, barrier, 0)
    refused("mean", replay, barrier, Fraction(2))
    refused("ties: 'none'", barrier.values, "none")


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
