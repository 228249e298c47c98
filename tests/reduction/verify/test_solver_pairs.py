"""Theorem O and `back` on OLIVE's program itself, solved by those who know no SAT.

One side enumerates policies and solves linear programs exactly, the other is a
MILP engine confirmed in exact arithmetic; neither knows formula or theorem.
"""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from olivine.algorithms.olive_program.model import program_model
from olivine.algorithms.olive_program.optimisers import enumerate_policies
from olivine.reduction.family.family import Family
from olivine.reduction.program.optimum import optimum
from olivine.reduction.program.witness import back, check, forward
from olivine.solvers.milp.milp import confirm, solve_milp
from olivine.solvers.outcome import Status

from tests.support.depth import deep, spread
from tests.support.families import (
    ALL_EIGHT,
    VARIANTS,
    as_three_sat,
    best_assignments,
    families,
    unsatisfied_weight,
)


def assert_comes_back(family, pair):
    """The pair is optimal by Theorem O, and so is the assignment it gives."""
    u, _ = best_assignments(family.three_sat)
    value = check(family, pair)
    assert value == optimum(family.parameters, u)
    assignment = back(family, pair)
    assert check(family, forward(family, assignment)) == value
    if pair.policy[family.start] == family.layout.solve:
        assert unsatisfied_weight(family.three_sat, assignment) == u


def milp_pair(family, form):
    """Optimal pair by HiGHS: its binaries kept, all else solved exactly."""
    built = program_model(family.program(), form)
    outcome = confirm(built.model, solve_milp(built.model, time_limit=60))
    assert outcome.exact
    assert outcome.status in (Status.OPTIMAL, Status.FEASIBLE)
    return built.pair(outcome.values)


@given(families(max_variables=deep(3, 2), max_clauses=deep(4, 2)))
@settings(max_examples=deep(150, 25))
def test_enumeration_of_policies(family):
    found = enumerate_policies(family.program(), max_policies=10**6)
    assert found.optimum == check(family, found.pair)
    assert_comes_back(family, found.pair)


@pytest.mark.parametrize("form", ["value-policy", "q-function"])
@given(family=families(max_variables=2, max_clauses=2, weighted=False))
@settings(max_examples=deep(6, 3))  # two exact solutions each
def test_milp_on_small_families(form, family):
    assert_comes_back(family, milp_pair(family, form))


@pytest.mark.parametrize("variant", spread(VARIANTS, 3))
def test_milp_on_all_sign_patterns_of_two_and_three_variables(variant):
    clauses = [[1, 2, 2], [1, -2, -2], [-1, 2, 2], [-1, -2, -2]]
    for patterns, n in [(clauses, 2), (ALL_EIGHT, 3)][: deep(2, 1)]:
        family = Family(as_three_sat(patterns, n), variant)
        assert_comes_back(family, milp_pair(family, "value-policy"))


@pytest.mark.long
def test_milp_on_random_families():
    rng = np.random.default_rng(20)
    for k in range(60):
        n, m = int(rng.integers(1, 5)), int(rng.integers(1, 9))
        clauses = rng.integers(1, n + 1, (m, 3)) * rng.choice([-1, 1], (m, 3))
        variant = VARIANTS[k % 4]
        penalty = None if variant == "gap" else Fraction(1, int(rng.integers(2, 60)))
        family = Family(as_three_sat(clauses.tolist(), n), variant, penalty)
        assert_comes_back(family, milp_pair(family, "value-policy"))
