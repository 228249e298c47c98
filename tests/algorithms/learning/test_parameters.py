"""Table 1 of the paper, its sums, and what parameters refuse."""

import math
from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from olivine.algorithms.exact.arrays import ratio_up, rational
from olivine.algorithms.global_policy import (
    GlobalPolicyTheoremParameters as GlobalTheorem,
)
from olivine.algorithms.two_sample import TwoSampleTheoremParameters as TwoSampleTheorem
from olivine.algorithms.valor.parameters import (
    CONSTRAINED,
    VALOR,
    PracticalParameters,
    TheoremParameters,
)

from tests.support.depth import with_rows
from tests.support.refusals import refused

epsilons = st.floats(0.001, 0.999)
sizes = st.integers(1, 30)
logs = st.floats(0, 500)


@given(epsilons, epsilons, sizes, sizes, sizes, logs, logs)
@example(0.2, 0.1, 3, 3, 4, math.log(120), 5.0)
@example(0.5, 0.5, 1, 1, 1, 0.0, 0.0)
def test_table_1(eps, delta, m, k, h, log_g, log_pi) -> None:
    for algorithm in (VALOR, CONSTRAINED):
        p = TheoremParameters(eps, delta, m, k, h, log_g, log_pi, algorithm)
        e = Fraction(str(eps))
        assert p.n_exp == math.ceil(8 * math.log(4 * m * h / delta) / eps * (1 + 1e-13))
        assert p.T_max == m * h * p.n_exp + m
        share = 2**6 * 7 * h**2 * p.T_max if algorithm == VALOR else 2**10 * h**2
        assert p.eps_stat == p.eps_sub == p.eps_feas == e / share
        for size, factor, square in (
            (p.n_test, 12 * k * h * p.T_max, 2 * p.eps_stat**2),
            (p.n_train, 12 * h * p.T_max, p.eps_stat**2 / (16 * k)),
        ):
            more = log_g + (log_pi if size == p.n_train else 0)
            inside = math.log(factor / delta) + more
            above = size * float(square) - inside  # rounded up, by less than one
            assert -1e-9 * inside <= above <= float(square) + 1e-9 * inside
            assert isinstance(size, int)
        assert p.n_eval == pytest.approx(32 * math.log(8 * m * h / delta) / eps**2, 1)
        step = 6 * p.eps_stat + 2 * p.eps_sub + p.eps_feas
        assert [p.phi(level) for level in (1, h, h + 1)] == [h * step, step, 0]
        assert p.iterations == m * h


@given(epsilons, epsilons, sizes, sizes, sizes, logs, logs)
def test_the_choices_serve_the_proof(eps, delta, m, k, h, log_g, log_pi) -> None:
    """What the proofs ask of the constants, inequality by inequality."""
    e = Fraction(str(eps))
    for algorithm in (VALOR, CONSTRAINED):
        p = TheoremParameters(eps, delta, m, k, h, log_g, log_pi, algorithm)
        assert p.phi(1) - 2 * p.eps_stat <= e / 8
        if algorithm == VALOR:
            loss = 7 * p.eps_stat + 3 * p.eps_sub + 2 * p.eps_feas
            assert 2 * p.T_max * h**2 * loss <= e / 8
        else:
            assert 32 * h**2 * (p.eps_stat + p.eps_sub + p.eps_feas) <= e / 8
        # n_exp: no new state in none of MH iterations but with probability δ/4.
        assert m * h * math.exp(-eps * p.n_exp / 8) <= delta / 4 * (1 + 1e-9)
        # n_eval: Hoeffding at ε/8 over MH iterations, with probability δ/4.
        tail = 2 * m * h * math.exp(-2 * p.n_eval * eps**2 / 64)
        assert tail <= delta / 4 * (1 + 1e-9)
        # n_test, n_train: the three deviation bounds of one call take 3 shares of
        # δ' = δ/(6 H T_max).
        share = math.log(delta / (6 * h * p.T_max))
        square = float(p.eps_stat) ** 2
        hoeffding = math.log(2 * k) + log_g - 2 * p.n_test * square
        assert hoeffding <= share + 1e-6
        range_, variance = 2 * k, 2 * k
        bernstein = math.log(2) + log_pi
        bernstein -= p.n_train * square / (2 * (variance + range_ * p.eps_stat / 3))
        assert bernstein <= share + 1e-6


@given(epsilons, epsilons, sizes, sizes, sizes, logs, logs)
def test_the_sum_of_the_theorem_is_the_sum_of_the_proof(
    eps, delta, m, k, h, log_g, log_pi
) -> None:
    """H T n_train + K H T n_test + M H n_eval, term by term, and its order."""
    for algorithm in (VALOR, CONSTRAINED):
        p = TheoremParameters(eps, delta, m, k, h, log_g, log_pi, algorithm)
        t = p.T_max
        proof = h * t * p.n_train + k * h * t * p.n_test + m * h * p.n_eval
        assert p.trajectory_bound == proof
        n_exp_term = math.log(4 * m * h / delta)
        largest = math.log(12 * k * h * t / delta) + log_g + log_pi
        if algorithm == VALOR:  # O(T³ K H⁵/ε² log) with T = O(MH/ε log)
            order = t**3 * k * h**5 / eps**2 * largest
            constant = 17 * (2**6 * 7) ** 2
        else:
            order = t * k * h**5 / eps**2 * largest
            constant = 17 * 2**20
        rest = m * h / eps**2 * 32 * math.log(8 * m * h / delta)
        assert proof <= (constant * order + rest) * (1 + 1e-6) + 4 * h * t * (k + 1)
        assert t <= m * h * (8 * n_exp_term / eps + 1) * (1 + 1e-9) + m


def test_calls_as_corrected_and_as_printed() -> None:
    """Erratum 10: two programs a test, M H² policies; printed T H K and M H."""
    sizes = (3, 2, 4)
    right = TheoremParameters(0.2, 0.1, *sizes, 1.0, 1.0)
    t = right.T_max
    assert right.call_bounds == {"csc": 4 * t + 3 * 16, "lp": 2 * t * 4 * 2, "multi": 0}
    printed = TheoremParameters(0.2, 0.1, *sizes, 1.0, 1.0, version="paper")
    assert printed.call_bounds == {"csc": 4 * t + 12, "lp": t * 8, "multi": 0}
    other = TheoremParameters(0.2, 0.1, *sizes, 1.0, 1.0, CONSTRAINED)
    assert other.call_bounds == {"csc": 4 * t, "lp": 16 * t, "multi": 48}


def test_the_nominal_trajectories_of_the_issue() -> None:
    p = TheoremParameters(0.2, 0.1, 3, 3, 4, math.log(120), math.log(120))
    assert 10**18 < p.n_train < 10**20
    assert p.n_exp == 247


@pytest.mark.parametrize("kind", [TheoremParameters, TwoSampleTheorem, GlobalTheorem])
@with_rows(
    "change, message",
    ({"eps": 0}, "epsilon: 0"),
    ({"eps": 1}, "epsilon: 1"),
    ({"eps": -0.1}, "epsilon: -0.1"),
    ({"eps": math.nan}, "finite"),
    ({"delta": 1.5}, "delta: 1.5"),
    ({"delta": 0.0}, "delta: 0.0"),
    ({"M": 0}, "M: 0"),
    ({"K": 2.5}, "K: 2.5"),
    ({"H": True}, "H: True"),
    ({"log_G": -1.0}, "log_G: -1.0"),
    ({"log_Pi": math.inf}, "log_Pi: inf"),
    ({"algorithm": "nobody"}, "algorithm: 'nobody' has no constants"),
    ({"version": "draft"}, "version: 'draft'"),
)
def test_bad_theorem_parameters(kind, change, message) -> None:
    good = {"eps": 0.3, "delta": 0.1, "M": 2, "K": 2, "H": 2, "log_G": 1, "log_Pi": 1}
    refused(message, kind, **good | change)


@with_rows(
    "change, message",
    ({"n_exp": 20, "n_eval": 10}, "n_eval"),
    ({"n_test": 0}, "n_test"),
    ({"eps_stat": 0}, "eps_stat"),
    ({"eps_feas": "x"}, "number"),
    ({"slack": -1}, "slack"),
    ({"max_iterations": 0}, "max_iterations"),
    ({"eps_stat": float("inf")}, "eps_stat: inf is no finite number"),
    ({"slack": True}, "slack: True is no finite number"),
    ({"slack": 0}, "slack: 0 stays 0"),
    ({"n_exp": "abc"}, "n_exp: 'abc' is no positive integer"),
    ({"n_exp": None}, "n_exp: None"),
    ({"repeat_paths": "foo"}, "repeat_paths: 'foo' is neither true nor false"),
    ({"fall_back": 3}, "fall_back: 3 is neither"),
    ({"clip": math.inf}, "clip: inf is neither"),
    ({"balanced": None}, "balanced: None is neither"),
)
def test_bad_practical_parameters(change, message) -> None:
    """Erratum 12 among them: the paths are the first n_exp of the n_eval."""
    refused(message, PracticalParameters, 0.3, 0.1, 2, 2, 2, **change)


def test_practical_parameters_are_free_but_for_a_bound_on_states():
    p = PracticalParameters(0.3, 0.1, 2, 2, 3, n_exp=7, n_eval=7, slack=None)
    assert p.phi(2) == 2 * (6 * p.eps_stat + 2 * p.eps_sub + p.eps_feas)
    assert PracticalParameters(0.3, 0.1, 2, 2, 3, slack=0.25).phi(3) == Fraction(1, 4)
    assert PracticalParameters(0.3, 0.1, 2, 2, 3, slack=0.25).phi(4) == 0
    refused("level", p.phi, 5)
    # Doubling 0 for ever is what the refusal above keeps a run from.
    assert PracticalParameters(0.3, 0.1, 2, 2, 2, slack=0, fall_back=False).phi(1) == 0
    refused("M: None is no positive integer", PracticalParameters, 0.3, 0.1, None, 2, 2)


def test_numbers_stand_for_their_digits() -> None:
    assert rational(0.1) == Fraction(1, 10)
    assert ratio_up(1.0, Fraction(1, 3)) in (3, 4)
