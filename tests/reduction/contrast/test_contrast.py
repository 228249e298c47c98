"""What the contrast measures, and the laws it fits."""

import math

import numpy as np
import olivine.reduction.contrast
import pytest
from hypothesis import given
from hypothesis import strategies as st
from olivine.reduction.contrast import (
    EASY,
    GIVE_UP,
    HARD,
    SERIES,
    Measurement,
    Plan,
    describe,
    fit,
    fits,
    measure,
    measure_one,
    oracle_data,
)
from olivine.reduction.family.family import Family
from olivine.reduction.formula.formula import Formula
from olivine.reduction.formula.random_formula import random_ksat
from olivine.solvers.outcome import LinearOutcome, Status

from tests.support.depth import with_rows
from tests.support.families import VARIANTS


@given(st.sampled_from(["power", "exponential"]), st.floats(-1, 3), st.floats(-5, 5))
def test_an_exact_law_is_found_again(law, slope, intercept):
    n = [4, 6, 9, 14, 20]
    x = np.log(n) if law == "power" else np.array(n)
    found = fit(law, n, np.exp(intercept + slope * x), [False] * 5)
    assert found.slope == pytest.approx(slope, abs=1e-6)
    assert found.intercept == pytest.approx(intercept, abs=1e-5)
    assert found(np.array([9]))[0] == pytest.approx(
        math.exp(intercept + slope * x[2]), rel=1e-4
    )


def noisy(rng, slope=0.5, sizes=range(4, 24), each=4):
    n = np.repeat(list(sizes), each)
    return n, np.exp(-3 + slope * n + rng.normal(0, 0.6, len(n)))


def test_what_a_limit_cuts_off_does_not_bias_the_slope():
    errors = {"cut": [], "taken": [], "dropped": []}
    for seed in range(12):
        n, seconds = noisy(np.random.default_rng(seed))
        limit = math.exp(3)
        cut = seconds > limit
        seen = np.minimum(seconds, limit)
        none = np.zeros(len(n), dtype=bool)
        errors["cut"].append(fit("exponential", n, seen, cut).slope - 0.5)
        errors["taken"].append(fit("exponential", n, seen, none).slope - 0.5)
        kept = fit("exponential", n[~cut], seen[~cut], none[~cut])
        errors["dropped"].append(kept.slope - 0.5)
    means = {name: float(np.mean(values)) for name, values in errors.items()}
    assert abs(means["cut"]) < 0.02
    assert means["dropped"] < -0.03
    assert means["taken"] < -0.1
    assert max(map(abs, errors["cut"])) < 0.1


def test_overhead_is_left_out_and_too_little_is_not_fitted():
    n, values = [3, 4, 5, 6, 7, 8], [0.05, 0.05, 0.05, 1.0, 2.0, 4.0]
    found = fit("exponential", n, values, [False] * 6, floor=0.1)
    assert (found.first, found.last, found.points) == (6, 8, 3)
    assert found.doubling == pytest.approx(1)
    assert found.describe() == "×2 every 1.0 ± 0.0 variables"
    assert fit("exponential", n, values, [False] * 6, floor=10) is None
    assert fit("exponential", n[:4], values[:4], [False] * 4, floor=0.1) is None
    cut = [False, False, False, False, True, True]
    assert fit("exponential", n, values, cut, floor=0.1) is None
    assert fit("power", n, values, [False] * 6).describe().startswith("n to the ")
    flat = fit("exponential", n, [2.0, 2, 2, 2, 2, 1.9], [False] * 6)
    assert flat.describe() == "no clear growth"
    dip = [0.05, 3.0, 0.05, 1.0, 2.0, 4.0]
    assert fit("exponential", n, dip, [False] * 6, floor=0.1).first == 6
    assert fit("power", [], [], []) is None


@pytest.mark.parametrize("variant", VARIANTS)
def test_data_come_from_the_member(variant):
    rng = np.random.default_rng(4)
    family = Family(random_ksat(5, 12, 3, rng).three_sat(), variant)
    data = oracle_data(family, rng)
    mdp = family.mdp()
    assert data.n_states == mdp.n_states
    assert data.n_actions == int(mdp.action_counts.max())
    codes = data.data.observations
    following = data.data.next_observations
    for x, a, y in zip(codes, data.data.actions, following, strict=True):
        own = mdp.actions(int(x))
        targets = [t for t, _ in mdp.successors(own[int(a) % len(own)])]
        assert int(y) in targets if targets else int(y) == -1
    # Every successor of some action of s0 or a clause occurs in its share.
    assert set(following[following >= 0]) <= set(range(mdp.n_states))
    found = data.lp()
    assert found.feasible
    assert 0 <= found.value <= 1
    assert data.csc().honoured
    assert data.least_squares().honoured


def test_successors_occur_in_their_proportions(rng):
    from olivine.reduction.contrast import _successors

    family = Family(Formula.from_clauses([[1, 2, 3], [-1, 1, 2]]).three_sat())
    mdp = family.mdp()
    for action in range(mdp.n_actions):
        drawn = _successors(mdp, np.full(4000, action), rng)
        expected = mdp.successors(action)
        if not expected:
            assert set(drawn) == {-1}
            continue
        for target, chance in expected:
            assert np.mean(drawn == target) == pytest.approx(float(chance), abs=0.05)
        assert set(drawn) == {t for t, _ in expected}


def test_one_formula_is_measured_by_every_series_and_again_the_same():
    plan = Plan(5, time_limit=20)
    found = measure_one(plan, 3, 0)
    assert [m.series for m in found] == list(SERIES)
    assert all(m.seconds > 0 and not m.censored for m in found)
    assert {(m.n, m.m) for m in found} == {(3, 13)}
    again = measure_one(plan, 3, 0, ["csc", "ls", "lp", "mixture"])
    assert [(m.series, m.work) for m in again] == [
        (m.series, m.work) for m in found if m.series in EASY
    ]


@with_rows(
    "outcome, expected",
    (RuntimeError("it crashed"), (0, True, "error")),
    (LinearOutcome(Status.FEASIBLE, nodes=7), (7, True, "feasible")),
    (LinearOutcome(Status.OPTIMAL), (0, False, "optimal")),
)
def test_what_an_engine_leaves_open_is_censored(monkeypatch, outcome, expected) -> None:
    def answer(*_: object, **__: object) -> LinearOutcome:
        if isinstance(outcome, RuntimeError):
            raise outcome
        return outcome

    monkeypatch.setattr(olivine.reduction.contrast, "solve_milp", answer)
    (found,) = measure_one(Plan(5, ratio=0.1), 3, 0, ["projected"])
    assert (found.work, found.censored, found.status) == expected
    assert (found.series, found.n, found.m) == ("projected", 3, 1)


def test_a_series_that_solves_nothing_is_given_up(monkeypatch):
    asked = []

    def fake(plan, n, instance, series):
        asked.append((n, tuple(series)))
        return [
            Measurement(s, n, 4 * n, instance, 1.0, 1, s in HARD and n > 4, "x")
            for s in series
        ]

    monkeypatch.setattr(olivine.reduction.contrast, "measure_one", fake)
    plan = Plan(9, instances=2)
    total = [m for _, found in measure(plan) for m in found]
    assert plan.sizes == [3, 4, 5, 6, 7, 8, 9]
    assert {n for n, series in asked if "faithful" in series} == {3, 4, 5, 6}
    assert {n for n, series in asked if "csc" in series} == set(plan.sizes)
    assert sum(m.censored for m in total) == len(HARD) * 2 * GIVE_UP


def test_growth_in_words():
    ms = [Measurement("csc", n, n, 0, 1e-4, n * n, False, "") for n in (3, 5, 9)]
    ms += [Measurement("projected", n, n, 0, 0.05, 0, False, "") for n in (3, 5, 9)]
    laws = fits(ms)
    assert laws["csc"]["work"].slope == pytest.approx(2)
    text = describe(laws["projected"]["work"], "projected", "work", ms)
    assert text == "no growth seen up to n = 9"
    text = describe(laws["faithful"]["work"], "faithful", "work", ms)
    assert text == "too few sizes beyond the root node"
    text = describe(laws["csc"]["seconds"], "csc", "seconds", ms)
    assert text == "no growth seen up to n = 9"
    late = [Measurement("ls", n, n, 0, n / 100, n, False, "") for n in (3, 5)]
    text = describe(fits(late)["ls"]["seconds"], "ls", "seconds", late)
    assert text == "too few sizes for a fit"
    assert describe(None, "csc", "work", []) == "too few sizes for a fit"
    assert describe(None, HARD[0], "seconds", []) == "too few sizes for a fit"
    cut = Measurement("ls", 9, 9, 0, 0.0, 0, True, "")  # says nothing of growth
    assert describe(None, "ls", "seconds", [cut]) == "too few sizes for a fit"


@with_rows(
    "change, message",
    ({"max_n": 2}, "max_n"),
    ({"instances": 0}, "instances"),
    ({"time_limit": 0}, "time_limit"),
    ({"time_limit": float("nan")}, "time_limit"),
    ({"ratio": -1}, "ratio"),
)
def test_plans_out_of_range(change, message):
    with pytest.raises(ValueError, match=message):
        Plan(**({"max_n": 5} | change))


def test_sizes_grow_by_a_fifth_beyond_8_and_end_at_the_largest():
    assert Plan(40).sizes == [3, 4, 5, 6, 7, 8, 10, 12, 14, 17, 20, 24, 29, 35, 40]
