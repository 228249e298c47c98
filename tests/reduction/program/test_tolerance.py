"""Critical tolerances: closed forms, proofs, and decisions from data."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from olivine.algorithms.olive_program.optimisers import LeastTolerance, least_tolerance
from olivine.algorithms.olive_program.program import OliveProgram
from olivine.reduction.family.family import Family, Variant
from olivine.reduction.family.variants import Parameters
from olivine.reduction.program.tolerance import (
    accuracy,
    critical_tolerance,
    decides,
    optimum_within,
    tolerance_bounds,
    tolerance_ceiling,
)

from benchmarks.sampled_decision import Survival, sampled_program, survival
from tests.support.depth import deep, spread, with_rows
from tests.support.families import (
    ALL_EIGHT,
    VARIANTS,
    as_three_sat,
    best_assignments,
    families,
)
from tests.support.refusals import refused

ONE_VARIABLE = [[1, 1, 1], [-1, -1, -1]]
TWO_VARIABLES = [[1, 2, 2], [-1, 2, 2], [1, -2, -2], [-1, -2, -2]]
SATISFIABLE = TWO_VARIABLES[:3]
THREE_AND_ONE = [*TWO_VARIABLES[1:], [-1, -1, 2]]
OTHERS = [v for v in VARIANTS if v is not Variant.PAPER]


def family_of(clauses, variant, penalty=None) -> Family:
    n = max(abs(literal) for clause in clauses for literal in clause)
    return Family(as_three_sat(clauses, n), variant, penalty)


def at_tolerance(family: Family, tolerance: Fraction) -> OliveProgram:
    return OliveProgram(
        family.mdp(), family.distributions(), tolerance, upper=family.ranges()
    )


@with_rows(
    "variant, expected",
    # quick: the claim critical-tolerance-eight-clauses
    pytest.param("paper", Fraction(1, 32), marks=pytest.mark.long),
    pytest.param("normalized", Fraction(7, 752), marks=pytest.mark.long),
    pytest.param("strict", Fraction(1, 740), marks=pytest.mark.long),
)
def test_eight_clauses_on_three_variables(variant: str, expected: Fraction) -> None:
    """1/32, 7/752 and 1/740."""
    family = family_of(ALL_EIGHT, variant)
    found = critical_tolerance(family, 1, time_limit=120)
    assert found.value == expected == found.lower
    assert (found.exact, found.by) == (True, "closed form")
    assert found.pair is not None
    assert found.pair.value(family.start) == family.parameters.best
    assert at_tolerance(family, expected).is_feasible(found.pair)
    slightly = expected - Fraction(1, 10**9)
    assert not at_tolerance(family, slightly).is_feasible(found.pair)


@settings(max_examples=deep(15, 6))  # some MILPs each
@given(families(max_variables=2, max_clauses=4))
def test_the_milp_finds_what_the_closed_forms_say(family: Family) -> None:
    u, _ = best_assignments(family.three_sat)
    lower, upper = tolerance_bounds(family.parameters, u)
    found = critical_tolerance(family, u, time_limit=60)
    assert found.value is not None
    assert lower <= found.value
    if family.total_weight < 10**4:  # beyond, the value is lost in the tolerances
        assert found.value <= upper
        assert family.variant is Variant.PAPER or found.value == lower
    assert found.exact == (found.value == lower)
    assert found.pair is not None
    assert at_tolerance(family, found.value).is_feasible(found.pair)
    if found.value:
        less = found.value * Fraction(999, 1000)
        assert not at_tolerance(family, less).is_feasible(found.pair)


@with_rows(
    "clauses, variant",
    *((ONE_VARIABLE, variant) for variant in VARIANTS),
    (THREE_AND_ONE, Variant.PAPER),
    *(
        pytest.param(THREE_AND_ONE, variant, marks=pytest.mark.long)
        for variant in OTHERS
    ),
    keep=2,
)
def test_branch_and_bound_proves_the_critical_tolerance(clauses, variant) -> None:
    family = family_of(clauses, variant)
    u, _ = best_assignments(family.three_sat)
    proved = critical_tolerance(family, u, prove=True)
    assert proved.exact
    assert proved.value == critical_tolerance(family, u).value
    lower, upper = tolerance_bounds(family.parameters, u)
    assert proved.value is not None
    assert lower <= proved.value <= upper
    if variant is Variant.PAPER and u:
        assert proved.by == "branch and bound"  # the bound is not attained here


def test_bounds_that_some_formulas_attain_and_satisfiable_ones_do_not_need():
    one = critical_tolerance(family_of(ONE_VARIABLE, "paper"), 1, prove=True)
    assert (one.lower, one.value) == (Fraction(1, 14), Fraction(1, 11))
    four = critical_tolerance(family_of(TWO_VARIABLES, "paper"), 1)
    assert four.value == four.lower == Fraction(1, 20)
    found = critical_tolerance(family_of(SATISFIABLE, "paper"), 0)
    assert (found.value, found.exact, found.by) == (0, True, "closed form")


def test_one_bound_is_that_of_trying_a_clause_or_a_variable() -> None:
    cheap = family_of(ONE_VARIABLE, "paper", Fraction(1, 50))
    found = critical_tolerance(cheap, 1)
    assert (found.value, found.by) == (Fraction(1, 50), "closed form")
    clause = family_of(ONE_VARIABLE, "normalized", Fraction(1, 50))
    assert critical_tolerance(clause, 1).value == Fraction(1, 200)
    variable = family_of(ONE_VARIABLE, "normalized", Fraction(9, 10))
    parameters = variable.parameters
    assert tolerance_ceiling(parameters) == Fraction(1, 60)
    assert critical_tolerance(variable, 1).value == tolerance_bounds(parameters, 1)[0]


def test_which_tolerances_still_decide() -> None:
    """Those below the first bound do, those from the second on do not."""
    parameters = family_of(ALL_EIGHT, "paper").parameters
    assert tolerance_bounds(parameters, 1) == (Fraction(1, 32), Fraction(1, 8))
    assert tolerance_bounds(parameters, 0) == (0, 0)
    exact = family_of(ALL_EIGHT, "normalized").parameters
    assert tolerance_bounds(exact, 1) == (Fraction(7, 752),) * 2
    # the weaker sufficient tolerance for `paper` is within ours
    assert Fraction(1, 6 * 8 + 2) < tolerance_bounds(parameters, 1)[0]


def test_wrong_claims_limits_and_ceilings():
    satisfiable = family_of(SATISFIABLE, "normalized")
    with pytest.raises(RuntimeError, match="below the closed form"):
        critical_tolerance(satisfiable, 1)
    family = family_of(ONE_VARIABLE, "normalized")
    with pytest.raises(RuntimeError, match="exceeds the closed form"):
        critical_tolerance(family, 0, prove=True)
    refused(r"weight 2 is outside 0\.\.1", critical_tolerance, family, 2)
    program = family_of(ONE_VARIABLE, "paper").program()
    refused("ceiling 0 is not positive", least_tolerance, program, 1, 0)
    low = least_tolerance(program, 1, Fraction(1, 20), prove=True)
    assert (low.tolerance, low.proved, low.reason) == (None, True, "")
    late = least_tolerance(program, 1, 1, prove=True, time_limit=0)
    assert (late.tolerance, late.proved) == (None, False)
    assert late.reason == "time limit reached"


@settings(max_examples=10)
@given(st.fractions(Fraction(5, 6), 1, max_denominator=60))
def test_any_value_can_be_demanded(value: Fraction) -> None:
    """x, ¬x has optimum 5/6: below it no tolerance is needed, above it grows."""
    family = family_of(ONE_VARIABLE, "paper")
    found = least_tolerance(family.program(), value, 1, prove=True)
    assert found.tolerance is not None
    assert found.pair is not None
    assert found.pair.value(family.start) >= value
    assert (found.tolerance == 0) == (value == Fraction(5, 6))
    assert found.tolerance <= Fraction(1, 11)


def test_many_draws_find_the_exact_tolerance(rng) -> None:
    family = family_of(ONE_VARIABLE, "normalized")
    found = survival(family, [True], 10**9, 2, rng, satisfiable=False, time_limit=60)
    for trial in found.trials:
        assert trial.tolerance is not None
        assert float(trial.tolerance) == pytest.approx(1 / 44, abs=1e-4)
    assert found.survivors(Fraction(1, 50)) == (2, 2)
    assert found.survivors(Fraction(1, 40)) == (0, 2)


@pytest.mark.parametrize("variant", spread(["paper", "normalized"], 1))
def test_survival_of_a_satisfiable_formula(variant: str) -> None:
    family = family_of(SATISFIABLE, variant)
    rng = np.random.default_rng(1)
    found = survival(family, None, 10**6, 3, rng, satisfiable=True, time_limit=60)
    assert found.ceiling == 2 * tolerance_ceiling(family.parameters)
    assert found.survivors(Fraction(1, 50)) == (3, 3)
    tolerances = [trial.tolerance for trial in found.trials]
    assert all(t is not None and t < Fraction(1, 100) for t in tolerances)


def test_survival_can_be_had_again() -> None:
    family = family_of(SATISFIABLE, "paper")

    def run(rng):
        return survival(family, None, 200, 2, rng, satisfiable=True, time_limit=60)

    rng = np.random.default_rng(12)
    rng.random()
    first = run(rng)
    assert first.seed is not None
    assert first.seed.entropy == 12
    again = run(first.seed.generator())
    assert [t.tolerance for t in first.trials] == [t.tolerance for t in again.trials]


def test_sampled_pairs_are_checked_against_the_data() -> None:
    family = family_of(SATISFIABLE, "paper")
    program = sampled_program(family, None, 100, np.random.default_rng(3))
    found = least_tolerance(program, 1, 1, time_limit=60)
    assert found.tolerance is not None
    assert found.pair is not None
    errors = program.errors(found.pair)
    assert max(map(abs, errors)) == found.tolerance
    levels = [c.level for c in program.constraints]
    assert levels == [d.level for d in family.distributions()]


def trial(tolerance: Fraction | None, reason: str = "") -> LeastTolerance:
    return LeastTolerance(tolerance, None, False, 0.0, reason)


def test_survivors_and_intervals_are_counted() -> None:
    trials = [trial(Fraction(k, 10)) for k in range(4)] + [
        trial(None),
        trial(None, "x"),
    ]
    sat = Survival(True, 9, Fraction(1, 2), tuple(trials))
    unsat = Survival(False, 9, Fraction(1, 2), tuple(trials))
    assert sat.survivors(Fraction(1, 10)) == (2, 5)
    assert unsat.survivors(Fraction(1, 10)) == (3, 5)
    low, high = sat.interval(Fraction(1, 10))
    assert (low, high) == pytest.approx((0.0527, 0.8534), abs=1e-4)
    none = Survival(True, 9, Fraction(1, 2), (trial(None),))
    assert none.interval(Fraction(0))[0] == 0
    assert (
        Survival(False, 9, Fraction(1, 2), (trial(None),)).interval(Fraction(0))[1] == 1
    )
    refused("above 1/2", sat.survivors, Fraction(1))
    refused("confidence 1", sat.interval, Fraction(0), 1)
    with pytest.raises(ValueError, match="0 trials"):
        survival(
            family_of(SATISFIABLE, "paper"),
            None,
            9,
            0,
            np.random.default_rng(0),
            satisfiable=True,
        )


@with_rows(
    "clauses, expected",
    (ONE_VARIABLE, Fraction(1, 38_000)),
    pytest.param([*ONE_VARIABLE, [-1] * 3], "1/57200", marks=pytest.mark.long),
)
def test_forced_by_branch_and_bound(clauses, expected) -> None:
    """u/(19200W − 400u), of which nothing else is known: the program is a large one."""
    family = family_of(clauses, "forced")
    found = critical_tolerance(family, 1, prove=True, time_limit=120)
    assert found.value == Fraction(expected) == found.lower
    assert found.exact
    assert at_tolerance(family, found.value).is_feasible(found.pair)


@with_rows(
    "variant, penalty, one, two, ceiling",  # for W = 8, by the forms on the page
    ("paper", "1/8", "1/32", "1/20", "1/8"),
    ("paper", "1/25", "1/32", "1/25", "1/25"),
    ("paper", "9/10", "1/32", "1/20", "1/4"),
    ("normalized", "1/8", "7/752", "7/368", "1/32"),
    ("all-levels", "1/2", "1/188", "1/92", "1/12"),
    ("gap", "1/4", "3/376", "3/184", "1/16"),
    ("strict", "1/20", "1/740", "1/380", "1/100"),
    ("forced", "3/6250", "1/153200", "1/76400", "1/6250"),
)
def test_closed_forms(variant, penalty, one, two, ceiling) -> None:
    given, most = Parameters(variant, Fraction(penalty), 8), Fraction(ceiling)
    assert tolerance_ceiling(given) == most
    for u, least in (0, 0), (1, Fraction(one)), (2, Fraction(two)):
        upper = most if u and variant == "paper" else least
        assert tolerance_bounds(given, u) == (least, upper)
    assert tolerance_bounds(given, 4)[0] >= Fraction(two)
    for u in (-1, 5):
        refused(rf"weight {u} is outside 0\.\.4", tolerance_bounds, given, u)


def test_optima_with_a_tolerance_and_what_estimates_decide() -> None:
    eighth, tau = Fraction(1, 8), Fraction(1, 100)
    strict = Fraction(3, 20) - Fraction(1, 480) + Fraction(37, 2400)
    assert optimum_within(Variant.STRICT, eighth, tau) == strict
    assert optimum_within(Variant.GAP, eighth, tau) == 1  # not 1 + 1/125
    assert optimum_within(Variant.GAP, Fraction(1, 2), tau) == Fraction(547, 600)
    refused("gap, not for paper", optimum_within, Variant.PAPER, eighth, tau)
    for parts, known in (1480, False), (1481, True):  # η < σ/(180 + 40σ)
        assert decides(eighth, *[Fraction(1, parts)] * 2) == known
    refused("strict, not gap", accuracy, family_of(ONE_VARIABLE, "gap"))
