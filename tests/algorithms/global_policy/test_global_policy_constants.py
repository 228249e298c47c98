"""Constants of the global policy algorithm: the corrected ones, and the printed."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from olivine.algorithms.assumptions import check_assumptions
from olivine.algorithms.classes import FinitePolicyClass
from olivine.algorithms.exact.data import EmpiricalMeasure
from olivine.algorithms.global_policy import (
    GlobalPolicyParameters,
    GlobalPolicyPracticalParameters,
    GlobalPolicyTheoremParameters,
)
from olivine.algorithms.oracles.multi import ClassificationSet, MultiStatus
from olivine.claims.global_policy import chosen_sizes, monitored
from olivine.claims.global_policy_cases import (
    adversary,
    overpruned,
    pruned_then_learned,
    search,
    stale,
    two_states,
    worst_loss,
    worst_losses,
    worst_permitted,
)

from tests.support.depth import with_rows
from tests.support.global_policy import premises
from tests.support.refusals import refused

LONG_5 = pytest.param(5, marks=pytest.mark.long)  # quick: the ledger's claims


@given(
    st.fractions(Fraction(1, 1000), Fraction(999, 1000), max_denominator=1000),
    st.integers(1, 6),
    st.integers(1, 6),
    st.integers(1, 12),
)
def test_corrected_constants_guarantee_epsilon(eps, m, k, h) -> None:
    p = GlobalPolicyTheoremParameters(eps, 0.1, m, k, h, 3.0, 2.0)
    assert p.phi(1) == eps
    assert p.phi(h + 1) == 0
    assert p.guarantee == (eps if h > 1 else p.fit_loss)
    assert p.guarantee <= eps
    tau, errors = p.tau_val, p.eps_sub + p.eps_feas
    assert p.excess(1) == eps + 2 * tau
    assert p.identity(1) == eps + 4 * tau + p.eps_feas
    assert p.tested_loss(1) == eps + 8 * tau + errors
    assert p.fit_loss == 4 * tau + errors
    assert p.phi(h) == 12 * tau + 2 * errors
    assert p.tau_val == p.tau_pol == eps / (12 * h) * (1 - Fraction(1, 2**10))
    assert p.T_max == 3 * m**2 * h * k
    size = math.log(16 * p.T_max * m / 0.1) + 5
    assert p.n_test * 2 * float(p.tau_val) ** 2 == pytest.approx(size, rel=1e-3)
    assert p.n_train > 32 * k * (p.n_test - 1)  # 16K against 1/2
    assert p.n_train <= 32 * k * p.n_test
    bound = (1 + m) * p.T_max * p.n_test + m**2 * h * p.n_train
    assert p.trajectory_bound == bound


@settings(deadline=None, max_examples=20)
@given(st.integers(1, 12))
def test_printed_constants_do_not(h) -> None:
    p = GlobalPolicyTheoremParameters(0.3, 0.1, 2, 2, h, 3.0, 2.0, version="paper")
    assert p.tau_val == p.tau_pol == p.eps / (6 * h)
    assert p.phi(1) == Fraction(11, 6) * p.eps
    assert p.excess(1) == p.phi(1) + 2 * p.tau_val
    assert p.identity(1) == p.phi(1) + 4 * p.tau_val
    if h == 1:
        assert p.guarantee <= p.eps  # 4 τ_pol = 2ε/3
    elif h == 2:
        assert p.guarantee >= Fraction(23, 12) * p.eps
    else:
        assert p.guarantee is None  # g* may be infeasible


@with_rows(
    "chosen, message",
    ({"n_test": 0}, "n_test: 0"),
    ({"tau_val": 0}, "tau_val: 0"),
    ({"slack": -1}, "slack: -1"),
    ({"T_max": 1.5}, "T_max: 1.5"),
    ({"eps_feas": math.nan}, "nan"),
)
def test_bad_practical_parameters(chosen, message) -> None:
    refused(message, GlobalPolicyPracticalParameters, 0.3, 0.1, 2, 2, 2, **chosen)
    with pytest.raises(ValueError, match="level: 4 is not in"):
        GlobalPolicyPracticalParameters(0.3, 0.1, 2, 2, 2).phi(4)


@pytest.mark.parametrize("horizon", [2, 3, LONG_5])
def test_printed_constants_lose_more_than_epsilon(horizon) -> None:
    """Erratum 17, in honest runs inside the event."""
    printed = chosen_sizes("paper", horizon)
    run = monitored(overpruned(printed), printed, 0)
    assert premises(run)
    assert run.result.succeeded
    most = Fraction(11 * horizon - 5, 6 * horizon) * printed.eps
    assert printed.eps < most - printed.tau_val / 2 < run.loss < most
    corrected = chosen_sizes("theorem", horizon)
    run = monitored(overpruned(corrected), corrected, 0)
    assert premises(run)
    assert run.result.contradictions == []
    assert run.loss < corrected.eps


def scaled(parameters, tau):
    """Give the printed φ for another τ."""
    return GlobalPolicyParameters(**vars(parameters) | {"tau_val": tau, "tau_pol": tau})


@pytest.mark.parametrize("horizon", [2, 3, LONG_5])
def test_an_adversary_inside_the_event_reaches_the_worst_case(horizon) -> None:
    printed = chosen_sizes("paper", horizon)
    corrected = chosen_sizes("theorem", horizon)
    for parameters, ratio in (
        (printed, Fraction(11 * horizon + 1, 6 * horizon)),
        (
            scaled(printed, printed.eps / (11 * horizon)),
            Fraction(11 * horizon + 1, 11 * horizon),
        ),
        (corrected, Fraction(1)),
    ):
        case = adversary(parameters)
        run = monitored(case.instance, parameters, 0, multi_oracle=worst_permitted)
        assert premises(run)
        assert run.result.contradictions == []
        assert run.loss == case.loss
        assert ratio * Fraction(995, 1000) < run.loss / parameters.eps <= ratio
        assert (run.loss <= parameters.eps) is (parameters is corrected)


def test_the_worst_case_by_linear_programming() -> None:
    """What is optimal, what is taken: each number of the program decides one."""
    for phi in (Fraction(11), Fraction(12)):
        assert worst_losses(phi) == {
            "p for p": phi + 8,
            "p for q": phi + 12,
            "q for p": phi + 8,
            "q for q": phi + 4,
        }
        assert worst_loss(phi) == phi + 12


@settings(deadline=None, max_examples=10)
@given(st.fractions(0, 40, max_denominator=4))
def test_the_worst_case_grows_with_phi(phi) -> None:
    """φ + 12 wherever a test can pass at all and g* be feasible."""
    found = worst_loss(phi)
    assert found == phi + 12 if phi >= 4 else found >= 12


def test_the_worst_permitted_policy() -> None:
    data = EmpiricalMeasure([0, 1])
    policies = FinitePolicyClass([[0, 0], [0, 1], [1, 1]], 2)
    costs = [[0.0, 1.0], [0.0, 1.0]]
    possible, impossible = ([ClassificationSet(data, costs, b)] for b in (0.5, -1))
    found = worst_permitted(policies, possible, epsilon_feas=0.1)
    assert found.feasible
    assert found.costs.tolist() == [0.5]
    found = worst_permitted(policies, impossible, epsilon_feas=0.1)
    assert found.status is MultiStatus.UNKNOWN
    assert found.policy is None
    assert not found.honoured


@pytest.mark.long  # quick: the claim global-policy-printed-constants
def test_search_finds_printed_constants_wanting() -> None:
    printed = chosen_sizes("paper")
    found, rewards = search(np.random.default_rng(1), printed, evaluations=150)
    assert printed.eps < found <= 23 * printed.tau_val
    assert monitored(two_states(rewards), printed, 0).loss > printed.eps
    corrected = chosen_sizes("theorem")
    small, _ = search(np.random.default_rng(1), corrected, evaluations=4, grid=1)
    assert small <= corrected.eps


@pytest.mark.parametrize("horizon", [2, 3])
def test_instances_satisfy_what_the_theorem_assumes(horizon) -> None:
    names = "value-realizability", "policy-completeness"
    parameters = chosen_sizes("paper", horizon)
    made = [overpruned(parameters), adversary(parameters).instance]
    made += [pruned_then_learned(), stale(chosen_sizes("theorem", 3, 4, 3))]
    for one in made:
        arguments = one.environment, one.values, one.policies
        found = check_assumptions(*arguments, names)
        assert all(found[name].holds for name in names)
