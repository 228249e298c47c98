"""Sample sizes of the baselines: enough by the stated arguments, and not one more."""

import math
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st
from olivine.algorithms.baselines import (
    RmaxParameters,
    concentrability,
    propagation,
    rmax_theorem,
    theorem_parameters,
)

accuracies = st.fractions(Fraction(1, 1000), Fraction(999, 1000))
chances = st.fractions(Fraction(1, 10**6), Fraction(999, 1000))
sizes = st.tuples(st.integers(1, 9), st.integers(1, 5), st.integers(1, 9))
logs = st.floats(0, 500)
SLACK = 1e-6


def just_enough(n, width, deviation, union) -> bool:
    """Whether n is the least number with n ≥ width² union / (2 deviation²)."""
    rate = 2 * deviation**2 / Fraction(width) ** 2
    return float((n - 1) * rate) <= union + SLACK and float(n * rate) >= union - SLACK


@given(accuracies, chances, sizes, logs)
def test_psdp(eps, delta, size, log_policies) -> None:
    m, k, h = size
    p = theorem_parameters("psdp", eps, delta, M=m, K=k, H=h, log_Pi=log_policies)
    reach = sum(k ** (level - 1) for level in range(1, h + 1))
    assert concentrability(k, h) == reach
    deviation = (eps / reach - p.eps_sub) / 2  # of a level's gap, twice
    assert deviation == eps / (4 * reach)
    union = math.log(4 * h) - math.log(delta) + log_policies
    assert just_enough(p.n, k, deviation, union)


@given(accuracies, chances, sizes, logs)
def test_fitted_q_iteration(eps, delta, size, log_values) -> None:
    m, k, h = size
    p = theorem_parameters("fqi", eps, delta, M=m, K=k, H=h, log_G=log_values)
    tau = (eps / propagation(k, h)) ** 2
    lost = 2 * sum(level * math.sqrt(k**level * tau) for level in range(1, h + 1))
    assert lost <= eps * (1 + 1e-12)
    assert 2 * lost >= eps  # rounding roots up costs less than a factor of 2
    deviation = (tau - p.eps_sub) / 2
    assert deviation == tau / 4
    union = math.log(4 * h * k) - math.log(delta) + log_values
    assert just_enough(p.n, 6 * k, deviation, union)


@given(accuracies, chances, sizes, logs, logs)
def test_bellman_backups(eps, delta, size, log_values, log_policies) -> None:
    m, k, h = size
    p = theorem_parameters(
        "backup", eps, delta, M=m, K=k, H=h, log_G=log_values, log_Pi=log_policies
    )
    # What M states lose together may be one state's: so much for a policy, and
    # as much again for the square of a value function's error.
    deviation = p.eps_sub / 2
    half = m * (2 * deviation + p.eps_sub)
    error = eps / (2 * h**2)
    assert 2 * half == error**2
    assert h * half + h * (h - 1) * error <= eps
    union = math.log(8 * m * h) - math.log(delta) + log_values + log_policies
    assert just_enough(p.n, 6 * k, deviation, union)


@given(accuracies, chances, sizes)
def test_rmax(eps, delta, size) -> None:
    x, k, h = size
    p = rmax_theorem(eps, delta, X=x, K=k, H=h)
    # Known pairs are off by `deviation`: half of it in the reward, half in what
    # follows, each after at most 2m - 1 visits. The value is off by 2H times that,
    # and by the chance to meet an unknown pair, twice the share the test permits.
    deviation = eps / (4 * h)
    assert 2 * h * deviation + 2 * p.patience / p.n == eps
    exponent = (p.m * deviation / 2) ** 2 * 2 / Fraction(2 * p.m)
    rewards = math.log(2 * p.pairs) - float(exponent)
    moves = math.log(p.pairs) + x * math.log(2) - float(exponent)
    failed = math.exp(rewards) + math.exp(moves)
    ended = p.batches * math.exp(-p.n * float(eps) / 16)
    assert failed + ended <= delta
    union = x * math.log(2) + math.log(8 * p.pairs) - math.log(delta)
    assert float((p.m - 1) * deviation**2 / 4) <= union + SLACK


@given(sizes, st.integers(1, 50), st.integers(1, 50), accuracies)
def test_rmax_batches(size, m, n, eps) -> None:
    """Batches with barely too many visits to unknown pairs use all of them up."""
    x, k, h = size
    p = RmaxParameters(eps=eps, delta=Fraction(1, 10), X=x, K=k, H=h, m=m, n=n)
    least = (
        math.floor(p.patience) + 1
    )  # visits to unknown pairs in a batch that goes on
    most = p.pairs * (m - 1 + n)  # a pair is unknown up to m - 1, a batch adds n
    assert p.batches >= most // least + 1
    assert p.batches * p.patience <= most + p.patience
