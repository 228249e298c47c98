"""Constants of the two-sample algorithm, and what its proof asks of them."""

import math
from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from olivine.algorithms.two_sample.parameters import (
    TwoSamplePracticalParameters,
    TwoSampleTheoremParameters,
)
from olivine.claims.two_sample import exponents

from tests.support.depth import with_rows

epsilons = st.floats(0.001, 0.999)
sizes = st.integers(1, 30)
logs = st.floats(0, 500)
problems = given(epsilons, epsilons, sizes, sizes, sizes, logs, logs)


@problems
@example(0.3, 0.1, 2, 2, 3, 8 * math.log(2), 4 * math.log(2))
@example(0.5, 0.5, 1, 1, 1, 0.0, 0.0)
def test_formulas(eps, delta, m, k, h, log_g, log_pi) -> None:
    e = Fraction(str(eps))
    for version in ("theorem", "paper"):
        p = TwoSampleTheoremParameters(
            eps, delta, m, k, h, log_g, log_pi, version=version
        )
        assert p.n_exp == math.ceil(8 * math.log(4 * m * h / delta) / eps * (1 + 1e-13))
        assert p.n_eval == pytest.approx(32 * math.log(8 * m * h / delta) / eps**2, 1)
        assert p.T_max == m * (k + 1) * (1 + h * p.n_exp)
        assert p.tau == e / (192 * h**2)
        if version == "paper":
            assert p.tau_V == e**2 / (20736 * m**2 * h**4)
            assert p.tau_L == e**2 / (1152 * h**4 * p.T_max)
        else:  # erratum 15
            assert p.tau_V == e**2 / (20736 * m * h**4 * p.T_max)
            assert p.tau_L == e**2 / (1152 * h**4 * m)
            assert p.tau_L == 18 * p.T_max * p.tau_V
        rate = 16 * k * (2 / p.tau_L**2 + 1 / p.tau_V**2)
        inside = math.log(12 * h * p.T_max / delta) + 2 * log_g + log_pi
        assert float(p.n_train / rate) == pytest.approx(inside, 1e-9)
        assert isinstance(p.n_train, int)
        assert p.trajectory_bound == h * p.T_max * p.n_train + m * h * p.n_eval
        assert p.iterations == m * h
        assert p.visits == m * k + m * h * p.n_exp * (k + 1) <= p.T_max


@problems
@example(0.99, 0.5, 1, 1, 1, 0.0, 0.0)
def test_erratum_15_the_corrected_constants_give_the_last_line_of_the_proof(
    eps, delta, m, k, h, log_g, log_pi
) -> None:
    """In rationals: every term of 2H ε_V + H²(2ε_V + √(4M ε_V + 2ε_L) + 8τ)."""
    e = Fraction(str(eps))
    p = TwoSampleTheoremParameters(eps, delta, m, k, h, log_g, log_pi)
    # As the proof has it, with perfect oracles: each of three terms is at most ε/24.
    policy, loss = p.T_max * p.tau_V, m * p.tau_L
    assert 6**2 * h**4 * m * policy <= (e / 24) ** 2  # 6H²√(M ε_V)
    assert h**4 * 2 * loss <= (e / 24) ** 2  # H²√(2 ε_L)
    assert 8 * h**2 * p.tau <= e / 24
    assert policy <= 1  # so that ε_V ≤ √ε_V, which the proof uses
    # The whole, oracles' accuracies included, √ rounded up.
    assert p.policy_bound <= e / 8
    assert p.estimate_bound <= e / 8
    share = p.oracle_share
    root = p.level_error - p.policy_step - p.tau * (8 + 2 * share)
    square = 2 * m * p.policy_step + m * p.tau_L * (2 + share)
    assert square <= root**2 <= square + Fraction(1, 2**200)
    assert p.policy_step >= 2 * policy
    for level in range(1, h + 1):
        assert p.value_bound(level) <= p.value_bound(1) <= p.policy_bound
        assert p.loss_bound(level) <= p.policy_bound
    # The proposition's sum over the levels.
    assert sum(p.loss_bound(level) for level in range(1, h + 1)) <= p.policy_bound


def test_bounds_are_those_of_the_propositions_and_the_oracles() -> None:
    """At round numbers: ε_V = 4/50, ε_L = 6/80; oracles all but exact."""
    tau_v, tau_l, tau = Fraction(1, 50), Fraction(3, 80), Fraction(1, 100)
    tiny = Fraction(1, 10**60)
    p = TwoSamplePracticalParameters(
        0.3, 0.1, 2, 2, 3, tau=tau, tau_V=tau_v, tau_L=tau_l, T_max=4, oracle_share=tiny
    )
    policy, level = 2 * 4 * tau_v, p.level_error  # 4·2·(4/50) + 2·2·(3/80) = 0.79
    assert level > policy + 8 * tau
    assert abs((level - policy - 8 * tau) ** 2 - Fraction(79, 100)) < Fraction(
        1, 10**50
    )
    assert abs(p.policy_step - policy) < Fraction(1, 10**50)
    for h in (1, 2, 3):
        assert p.value_bound(h) == (4 - h) * level
        assert p.loss_bound(h) == p.policy_step + 2 * (3 - h) * level
    assert p.policy_bound == 3 * p.policy_step + 9 * level
    assert p.estimate_bound == 3 * level + tau
    # Each oracle's share is counted, once (CSC, LS) or twice (LP).
    share = Fraction(1, 10)
    q = TwoSamplePracticalParameters(
        0.3,
        0.1,
        2,
        2,
        3,
        tau=tau,
        tau_V=tau_v,
        tau_L=tau_l,
        T_max=4,
        oracle_share=share,
    )
    assert q.policy_step == policy + 4 * share * tau_v
    rest = q.level_error - q.policy_step - (8 + 2 * share) * tau
    square = 4 * q.policy_step + 2 * (2 + share) * tau_l
    assert square <= rest**2 <= square + Fraction(1, 2**200)


@problems
@example(0.999, 0.5, 1, 1, 1, 0.0, 0.0)
@example(0.999, 0.999, 1, 1, 1, 0.0, 0.0)
@example(0.7, 0.9, 1, 1, 1, 0.0, 0.0)
def test_erratum_15_the_printed_constants_do_not(
    eps, delta, m, k, h, log_g, log_pi
) -> None:
    """From T_max = 36 M on, H²√(4M ε_V) ≥ ε/12, to which 8H²τ = ε/24 comes."""
    p = TwoSampleTheoremParameters(eps, delta, m, k, h, log_g, log_pi, version="paper")
    assert 8 * h**2 * p.tau == p.eps / 24
    root = 4 * m * p.T_max * p.tau_V * h**4  # a square
    assert root == p.eps**2 * Fraction(p.T_max, m) / 72**2
    if delta <= 0.5:
        assert p.T_max >= 36 * m
    if p.T_max >= 36 * m:
        assert p.policy_bound > p.eps / 8
    if (m, k, h) == (1, 1, 1) and eps >= 0.9 and delta >= 0.9:  # hardly a problem
        assert p.policy_bound < p.eps / 8


def test_erratum_15_at_a_problem_of_usual_size_the_printed_bound_exceeds_epsilon() -> (
    None
):
    printed = TwoSampleTheoremParameters(0.1, 0.1, 3, 10, 5, 5.0, 5.0, version="paper")
    assert printed.policy_bound > printed.eps
    assert TwoSampleTheoremParameters(
        0.1, 0.1, 3, 10, 5, 5.0, 5.0
    ).policy_bound < Fraction(1, 80)


@problems
@example(0.99, 0.99, 1, 30, 1, 0.0, 0.0)
def test_erratum_16_draws_suffice_for_the_three_deviations(
    eps, delta, m, k, h, log_g, log_pi
) -> None:
    """Hoeffding, and Bernstein with variances of 4K and 16K, a third of δ' each."""
    p = TwoSampleTheoremParameters(eps, delta, m, k, h, log_g, log_pi)
    share = math.log(6 * h * p.T_max / delta)  # ln(1/δ'), δ' = δ/(6 H T_max)
    assert float(2 * p.n_train * p.tau**2) >= (math.log(2) + log_g + share) * (1 - 1e-9)
    for accuracy, variance, width, functions in (
        (p.tau_V, 4 * k, 2 * k, log_g + log_pi),
        # Tabular classes: at the corners the width is 4.5K.
        (p.tau_L, 16 * k, Fraction(9, 2) * k, 2 * log_g + log_pi),
    ):
        rate = p.n_train * accuracy**2 / (2 * (variance + width * accuracy / 3))
        assert float(rate) >= (math.log(2) + functions + share) * (1 - 1e-9)
    # The lemma's 32K/τ_L² would not do: the root alone is τ_L, and there is more.
    lemma = 32 * k / p.tau_L**2  # draws for each unit of the logarithm
    assert 2 * 16 * k / lemma == p.tau_L**2
    assert p.n_train >= lemma * (math.log(2) + 2 * log_g + log_pi + share)
    # n_exp, n_eval: as for VALOR.
    assert m * h * math.exp(-eps * p.n_exp / 8) <= delta / 4 * (1 + 1e-9)
    tail = 2 * m * h * math.exp(-2 * p.n_eval * eps**2 / 64)
    assert tail <= delta / 4 * (1 + 1e-9)


def test_erratum_14_the_sum_of_the_proof_is_not_that_of_the_theorem() -> None:
    found = exponents("theorem", 10**6)
    assert [round(v) for v in found.values()] == [5, 4, 12, 7]
    small = TwoSampleTheoremParameters(0.1, 0.1, 10, 10, 10, 1.0, 1.0)
    stated = 10**2 * 10**2 * 10**6 / 0.1**4
    logarithms = math.log(10**9) ** 4 * 10**3
    assert small.trajectory_bound > stated * logarithms * 10**6


def test_calls_and_practical_parameters_are_free():
    p = TwoSampleTheoremParameters(0.3, 0.1, 3, 2, 4, 1.0, 1.0)
    assert p.call_bounds == {"csc": 48, "ls": 48, "lp": 2 * 3 * 4 * p.T_max}
    p = TwoSamplePracticalParameters(
        0.3, 0.1, 2, 3, 2, tau=0.05, n_train=100, max_iterations=5
    )
    assert p.tau == Fraction(1, 20)
    assert p.iterations == 5
    # Balanced: n_train is rounded up to a multiple of K.
    assert p.trajectory_bound == 2 * p.T_max * 102 + 5 * p.n_eval
    assert p.to_json()["tau"] == 0.05


@with_rows(
    "change, message",
    ({"n_exp": 20, "n_eval": 10}, "n_eval"),
    ({"n_exp": 0}, "n_exp"),
    ({"n_train": 0}, "n_train"),
    ({"tau": 0}, "tau"),
    ({"tau_L": "x"}, "number"),
    ({"oracle_share": -1}, "oracle_share"),
    ({"max_iterations": 0}, "max_iterations"),
    ({"balanced": 3}, "balanced"),
)
def test_bad_practical_parameters(change, message) -> None:
    with pytest.raises(ValueError, match=message):
        TwoSamplePracticalParameters(0.3, 0.1, 2, 2, 2, **change)
