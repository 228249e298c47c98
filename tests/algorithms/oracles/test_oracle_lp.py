"""The LP oracle: three implementations, certificates, infeasibility, sessions."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from olivine.algorithms.classes import (
    FiniteValueClass,
    KernelBall,
    LinearValueClass,
    TabularValueClass,
    ValueClassByLevel,
    identity_kernel,
    zero_class,
)
from olivine.algorithms.exact.arrays import END
from olivine.algorithms.exact.data import EmpiricalMeasure
from olivine.algorithms.oracles import lp_polyhedral, random_lp
from olivine.algorithms.oracles.lp import (
    Constraint,
    Functional,
    LpStatus,
    ValueProgram,
    exact_value,
    lp,
)
from olivine.algorithms.oracles.testing import growth, lp_problems, verify_lp
from olivine.claims.ellipsoid import _Search, cube_side, ellipsoid_lp, iteration_bound

from tests.support.depth import with_rows
from tests.support.refusals import refused


def expectation(codes, weights=None):
    return Functional.expectation(EmpiricalMeasure(codes, weights=weights))


def accuracies(epsilon):
    return {"epsilon_sub": epsilon, "epsilon_feas": epsilon}


def solved(problem, values=None, epsilon=1e-9, **more):
    """The answer to a drawn program, over its tabular class or another one."""
    if values is None:
        values = TabularValueClass(problem.n_observations)
    given = {"maximise": problem.maximise} | accuracies(epsilon) | more
    return lp(values, problem.objective, problem.constraints, **given)


@given(lp_problems(max_observations=6, max_constraints=6))
@settings(max_examples=500)
def test_the_three_implementations_agree(problem):
    exact = solved(problem, epsilon=1e-30)
    fast = verify_lp(lp, problem, reference=exact, **accuracies(1e-6))
    assert fast.honoured
    slow = verify_lp(
        ellipsoid_lp, problem, epsilon_sub=0.05, epsilon_feas=0.02, reference=exact
    )
    assert slow.honoured
    assert slow.iterations <= slow.iteration_bound


@given(lp_problems(max_observations=3))
def test_tabular_against_a_grid_of_values(problem):
    """No point of a grid beats the optimum; the feasible ones refute INFEASIBLE."""
    found = solved(problem)
    quarters = map(Fraction, [0, "1/4", "1/2", "3/4", 1])
    grid = list(itertools.product(quarters, repeat=problem.n_observations))
    best = solved(problem, FiniteValueClass(np.array(grid, dtype=object)), exact=True)
    if best.feasible:
        assert found.feasible
        gain = best.exact_value - Fraction(found.value)
        assert (gain if problem.maximise else -gain) <= Fraction(1e-8)


@given(lp_problems(), st.data())
def test_finite_class_is_enumerated(problem, data):
    eighths = st.integers(0, 8).map(lambda k: Fraction(k, 8))
    table = st.lists(
        eighths, min_size=problem.n_observations, max_size=problem.n_observations
    )
    members = FiniteValueClass(
        np.array(data.draw(st.lists(table, min_size=1, max_size=5)), dtype=object)
    )
    exact = solved(problem, members, exact=True)
    fast = verify_lp(
        lp, problem, value_class=members, reference=exact, **accuracies(1e-9)
    )
    assert fast.honoured
    assert fast.feasible or not exact.feasible  # else infeasible by a hair
    feasible = [m for m in members.members if meets(m, problem.constraints)]
    assert exact.feasible == bool(feasible)
    if feasible:
        pick = max if problem.maximise else min
        values = [exact_value(problem.objective, m) for m in feasible]
        assert exact.exact_value == pick(values)
        assert exact.function is feasible[values.index(pick(values))]


def meets(member, constraints):
    for c in constraints:
        value = exact_value(c.functional, member)
        if c.lower is not None and value < c.lower:
            return False
        if c.upper is not None and value > c.upper:
            return False
    return True


@given(lp_problems(), st.integers(0, 2**32))
def test_linear_class(problem, seed):
    rng = np.random.default_rng(seed)
    features = rng.integers(0, 3, (problem.n_observations, 2)) / 2
    for values in (
        LinearValueClass(features, bound=2.0),
        LinearValueClass(lambda x: features[x], bound=2.0, dimension=2),
    ):
        result = solved(problem, values, 1e-6, exact=True)
        fast = solved(problem, values, 1e-6)
        assert fast.honoured
        if not fast.feasible:
            assert not result.feasible
            continue
        assert np.abs(fast.function.theta).max() <= 2
        for c in problem.constraints:
            value = c.functional(fast.function)
            assert c.upper is None or value <= float(c.upper) + 1.1e-6
            assert c.lower is None or value >= float(c.lower) - 1.1e-6
        if result.feasible:
            lost = float(result.exact_value) - problem.objective(fast.function)
            assert (lost if problem.maximise else -lost) <= 1.1e-6


def test_one_hot_features_make_linear_values_tabular():
    problem = random_lp(np.random.default_rng(0), 8, 3)
    linear = solved(problem, LinearValueClass(np.eye(8), bound=1.0), 1e-7)
    tabular = solved(problem, epsilon=1e-7)
    assert np.isclose(linear.value, tabular.value, atol=3e-7)


def test_linear_values_keep_their_range_at_all_observations_so_far():
    values = LinearValueClass(1, bound=10.0)
    at = accuracies(1e-6)
    here, far = Functional([[1.0]], [1.0]), Functional([[4.0]], [1.0])
    program = ValueProgram(values)
    assert program.optimise(here, **at).value == pytest.approx(1)
    assert program.optimise(far, **at).value == pytest.approx(1)
    # Now 4θ ≤ 1 as well: the class is that of the data seen.
    assert program.optimise(here, **at).value == pytest.approx(0.25)
    exact = program.optimise(here, exact=True, **at)
    assert exact.exact_value == Fraction(1, 4)
    assert exact.function.exact == (Fraction(1, 4),)


def test_accuracies_and_coefficients_below_the_engines_count():
    data = EmpiricalMeasure([0, 1], weights=[1, 3 * 10**18])
    near = Constraint.near(Functional.expectation(data), Fraction(1, 3), 0)
    objective = expectation([1, 2])
    result = lp(
        TabularValueClass(3), objective, [near], epsilon_sub=1e-15, epsilon_feas=1e-15
    )
    assert result.exact
    assert result.violation == 0
    table = result.function.exact
    assert data.expectation_exact(data.at(np.array(table))) == Fraction(1, 3)
    assert result.exact_value == (table[1] + 1) / 2
    # The engine ignores coefficients below 1e-12; the certificate does not.
    tiny = Functional([0, 1], [1.0, 1e-14])
    must = Constraint(tiny, lower=1 + 5e-15)
    result = lp(
        TabularValueClass(2),
        Functional([1], [-1.0]),
        [must],
        epsilon_sub=1e-3,
        epsilon_feas=1e-16,
    )
    assert result.exact
    assert float(result.function.exact[1]) == pytest.approx(0.5, rel=0.1)


def test_infeasible_is_decided_in_floats_or_rationals():
    seen = expectation([0, 1])
    program = ValueProgram(TabularValueClass(2), [Constraint(seen, upper=0.4)])
    at = accuracies(1e-6)
    assert program.optimise(seen, **at).value == pytest.approx(0.4)
    program.add(Constraint(seen, lower=0.5))
    for exact in (False, True):
        result = program.optimise(seen, exact=exact, **at)
        assert result.status is LpStatus.INFEASIBLE
        assert result.function is None
        assert result.value is None
        assert result.exact is exact
        assert result.honoured
    seen = expectation([0, 1, 2], [1, 1, 1])
    hair = Fraction(1, 10**14)
    program = ValueProgram(
        TabularValueClass(3),
        [
            Constraint(seen, upper=Fraction(1, 3)),
            Constraint(seen, lower=Fraction(1, 3) + hair),
        ],
    )
    assert program.optimise(seen, epsilon_sub=1e-6, epsilon_feas=1e-6).honoured
    tight = program.optimise(seen, epsilon_sub=1e-16, epsilon_feas=1e-16)
    assert tight.status is LpStatus.INFEASIBLE


def test_a_session_agrees_with_fresh_programs_and_keeps_the_engine(monkeypatch):
    opened = []

    class Counting(lp_polyhedral.ArrayLp):
        def __init__(self, *args):
            opened.append(1)
            super().__init__(*args)

    monkeypatch.setattr(lp_polyhedral, "ArrayLp", Counting)
    problem = random_lp(np.random.default_rng(3), 12, 6)
    session = ValueProgram(TabularValueClass(12))
    at = accuracies(1e-7)
    values = []
    for constraint in problem.constraints:
        session.add(constraint)
        for maximise in (True, False):
            result = session.optimise(problem.objective, maximise=maximise, **at)
            values.append(result.value)
    assert len(opened) == 1
    for i, value in enumerate(values):
        fresh = lp(
            TabularValueClass(12),
            problem.objective,
            problem.constraints[: i // 2 + 1],
            maximise=i % 2 == 0,
            **at,
        )
        assert fresh.value == pytest.approx(value, abs=3e-7)
    exact = [
        session.optimise(problem.objective, exact=True, **at).exact_value
        for _ in range(2)
    ]
    assert exact[0] == exact[1]
    assert float(exact[0]) == pytest.approx(values[-2], abs=3e-7)


def test_the_cube_of_good_answers_is_one():
    rng = np.random.default_rng(5)
    for _ in range(20):
        problem = random_lp(rng, 4, 2)
        rows = np.array([c.functional.coefficients for c in problem.constraints])
        objective = problem.objective.coefficients
        best = solved(problem)
        side = cube_side(rows, objective, 0.03, 0.02)
        for corner in itertools.product((0.0, 1.0), repeat=4):
            point = (1 - side) * best.function.values + side * np.array(corner)
            assert objective @ point >= best.value - 0.03 - 1e-8
            for row, c in zip(rows, problem.constraints, strict=True):
                assert float(c.lower) - 0.02 - 1e-8 <= row @ point
                assert row @ point <= float(c.upper) + 0.02 + 1e-8


def test_the_bound_is_met_in_volume():
    """The bound is enough for any sequence of central cuts, not only for a run."""
    for n in (1, 2, 3, 8, 15):
        for side in (1.0, 0.1, 1e-3):
            bound = iteration_bound(n, side)
            if n == 1:
                per_cut = np.log(0.5)
            else:
                per_cut = np.log(n / (n + 1)) + (n - 1) / 2 * np.log(
                    n * n / (n * n - 1)
                )
            start = {1: np.log(2 * 0.5), 2: np.log(np.pi * 0.5)}.get(n)
            if start is not None:
                assert start + bound * per_cut <= n * np.log(side)
            assert per_cut < -1 / (2 * (n + 1))


def test_iterations_grow_within_the_proven_exponent():
    def run(n):
        problem = random_lp(np.random.default_rng(n), n, 3)
        result = verify_lp(ellipsoid_lp, problem, epsilon_sub=0.02, epsilon_feas=0.01)
        assert result.iterations <= result.iteration_bound
        return result.iterations

    assert growth(run, [2, 4, 8, 16]).exponent <= 2.6
    bounds = growth(lambda n: iteration_bound(n, 1e-3), [16, 32, 64, 128, 256])
    assert 1.9 <= bounds.exponent <= 2.1


@pytest.mark.long
def test_ellipsoid_on_fifteen_observations():
    for seed in range(5):
        problem = random_lp(np.random.default_rng(seed), 15, 8)
        result = verify_lp(ellipsoid_lp, problem, epsilon_sub=1e-3, epsilon_feas=1e-3)
        assert result.honoured
        assert result.iterations <= result.iteration_bound


def test_ellipsoid_ends_without_a_function_where_there_is_none():
    seen = expectation([0, 1])
    result = ellipsoid_lp(
        TabularValueClass(3),
        seen,
        [Constraint(seen, upper=0.2), Constraint(seen, lower=0.5)],
        epsilon_sub=0.01,
        epsilon_feas=0.01,
    )
    assert result.status is LpStatus.INFEASIBLE
    assert result.iterations <= result.iteration_bound
    with pytest.raises(ValueError, match="beyond the ellipsoid"):
        ellipsoid_lp(TabularValueClass(3), seen, epsilon_sub=1e-9, epsilon_feas=0.1)


def test_kernel_ball_in_closed_form():
    ball = KernelBall(identity_kernel)
    objective = Functional([0, 1, 0], [1.0, -2.0, 2.0])
    at = accuracies(1e-9)
    best = lp(ball, objective, **at)
    # Over 1/2 + f/2 with ‖f‖ ≤ 1 in R^2: (3 - 2)/2 + ‖(3, -2)‖/2.
    assert best.value == pytest.approx(0.5 + 13**0.5 / 2)
    assert best.honoured
    assert objective(best.function) == pytest.approx(best.value)
    worst = lp(ball, objective, maximise=False, **at)
    assert worst.value == pytest.approx(0.5 - 13**0.5 / 2)
    assert lp(ball, Functional([0, 0], [1.0, -1.0]), **at).value == 0
    with pytest.raises(ValueError, match="objectives only"):
        lp(ball, objective, [Constraint(objective, upper=1)], **at)
    refused("irrational", lp, ball, objective, exact=True, **at)


def test_a_kernel_function_stays_in_its_ball_where_rounding_is_as_large():
    """Two measures that differ by about what float64 sums to: the norm is ≤ 1."""
    near = 7e-15  # squared distance 2 · near, next to 7e-15 of rounding

    def kernel(a, b):
        return 1 - near * np.not_equal.outer(a, b)

    objective = Functional([0, 1], [1.0, -1.0])
    found = lp(KernelBall(kernel), objective, epsilon_sub=1e-3, epsilon_feas=1e-3)
    a, b = (Fraction(c) for c in found.function.coefficients.tolist())
    square = a * a + b * b + 2 * a * b * Fraction(float(kernel(0, 1)))
    assert 0 < square <= Fraction(1, 4)
    best = (2 * (1 - Fraction(float(kernel(0, 1))))) ** Fraction(1, 2) / 2
    assert best <= found.value + found.suboptimality


def test_members_are_compared_in_rationals_in_both_directions():
    members = FiniteValueClass([[0.25, 0.5], [0.75, 0.125], [0.5, 1.0]])
    at = accuracies(1e-6) | {"exact": True}
    objective, first = Functional([0, 1], [1, -2]), Functional([0], [1.0])
    inside = [Constraint(first, upper=0.6)]
    for maximise, constraints, wanted in (
        (True, [], Fraction(1, 2)),
        (False, [], Fraction(-3, 2)),
        (True, inside, Fraction(-3, 4)),
        (False, inside, Fraction(-3, 2)),
    ):
        found = lp(members, objective, constraints, maximise=maximise, **at)
        assert found.exact_value == wanted
    assert not lp(members, objective, [Constraint(first, upper=0.1)], **at)\
        .feasible  # fmt: skip


def test_the_violation_reported_covers_a_limit_that_was_rounded():
    """1 - 2^-60 is 1 as a float; the member 1 violates it all the same."""
    limit = 1 - Fraction(1, 2**60)
    found = lp(
        FiniteValueClass([[1.0]]), Functional([0], [1.0]),
        [Constraint(Functional([0], [1.0]), upper=limit)],
        epsilon_sub=1e-6, epsilon_feas=1e-6,
    )  # fmt: skip
    assert found.feasible
    assert found.violation >= 1 - limit


def test_the_ellipsoid_and_bad_classes():
    none = np.zeros((0, 1)), np.zeros(0)
    search = _Search(*none, np.ones(1), 0.1, 0.1)
    search._cut(np.ones(1))
    assert search.centre[0] == 0.25
    assert 0.25 <= search.factor[0, 0] <= 0.25 * (1 + 1e-6)
    refused("no LP oracle for str", ValueProgram, "values")


def test_past_the_last_level_every_value_is_zero():
    at = accuracies(1e-9)
    objective = expectation([0, 7])
    levels = ValueClassByLevel.stationary(TabularValueClass(9), 2)
    for values in (zero_class(), levels.at_level(3)):
        assert lp(values, objective, **at).value == 0
    must = Constraint(objective, lower=0.5)
    assert not lp(zero_class(), objective, [must], **at).feasible
    ended = EmpiricalMeasure([0, 0], next_observations=[END, 3])
    following = Functional.expectation(ended, field="next_observations")
    assert len(following) == 1
    assert lp(levels.at_level(2), following, **at).value == 0.5


def test_differences_of_expectations_are_exact():
    a, b = expectation([0, 1], [1, 2]), expectation([1, 2], [10**30, 1])
    integers, unit = a.minus(b).rational
    assert [i * unit for i in integers] == [
        Fraction(1, 3),
        Fraction(2, 3),
        -Fraction(10**30, 10**30 + 1),
        -Fraction(1, 10**30 + 1),
    ]


def test_empty_functionals_and_no_constraints():
    at = accuracies(1e-9)
    nothing = Functional([], [])
    for values in (
        TabularValueClass(2),
        FiniteValueClass([[0.5, 0.5]]),
        LinearValueClass(np.eye(2), bound=1.0),
    ):
        assert lp(values, nothing, **at).value == 0
        assert not lp(values, nothing, [Constraint(nothing, lower=1)], **at).feasible
    assert ellipsoid_lp(TabularValueClass(2), nothing, **at).value == 0


@with_rows(
    "make, message",
    (lambda: Functional([0, 1], [1.0, np.nan]), "coefficients, row 1: NaN"),
    (lambda: Functional([0, 1], [1.0]), "coefficients: expected shape"),
    (lambda: Functional([0, -1], [1.0, 1.0]), "observations, row 1: negative"),
    (lambda: Constraint(Functional([0], [1.0])), "neither"),
    (lambda: Constraint(Functional([0], [1.0]), upper=np.inf), "upper: inf"),
    (
        lambda: Functional.expectation(
            EmpiricalMeasure([0]), field="next_observations"
        ),
        "next_observations: this measure has none",
    ),
    (
        lambda: Functional([0], [1.0]).minus(Functional([[0.0]], [1.0])),
        "differ in kind",
    ),
)
def test_bad_functionals_are_named(make, message):
    refused(message, make)


@pytest.mark.parametrize("oracle", [lp, ellipsoid_lp])
def test_bad_programs_are_named(oracle):
    good = Functional([0], [1.0])
    outside = Functional([0, 5], [1.0, 1.0])
    at = accuracies(0.1)
    values = TabularValueClass(2)
    refused("objective, row 1: outside", oracle, values, outside, **at)
    with pytest.raises(ValueError, match="observations, row 1: outside"):
        oracle(values, good, [Constraint(outside, upper=1)], **at)
    for name in at:
        refused(name, oracle, values, good, **{**at, name: 0.0})
    refused("no LP oracle for int", lp, 3, good, **at)
