"""Benign ties: the hard program is never met, and the last optimum is V*."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from olivine.algorithms.olive_program.optimisers import enumerate_policies
from olivine.algorithms.olive_program.program import (
    OliveProgram,
    average_bellman_errors,
)
from olivine.reduction.family.family import Family, Variant
from olivine.reduction.formula.random_formula import random_ksat
from olivine.reduction.run.benign import benign_run

from tests.support.depth import deep, with_rows
from tests.support.families import as_three_sat, assignments, families

ONE_LEVEL = [v for v in Variant if v is not Variant.ALL_LEVELS]
KINDS = [  # all true in the all-one member; one repeated; complementary; unused x3
    [[1, 2, 3]],
    [[1, 1, 2]],
    [[1, 1, 1], [-1, -1, -1]],
    [[1, -1, 2]],
    [[1, 2, 2], [2, 1, 1], [-1, 2, 2]],
]


def last_program(run) -> OliveProgram:
    mdp = run.family.mdp(run.member)
    return OliveProgram(mdp, run.constraints, upper=run.family.ranges())


@with_rows("clauses, variant", *itertools.product(KINDS, ONE_LEVEL), keep=3, ids=str)
def test_the_last_optimum_is_the_value_of_the_member(variant, clauses):
    """By enumeration of policies, which knows nothing of the rule."""
    family = Family(as_three_sat(clauses, 3), variant)
    for y in list(assignments(3))[:: deep(1, 3)]:
        run = benign_run(family, y)
        assert run.holds, run.failures()
        program = last_program(run)
        assert program.is_feasible(run.last)
        assert enumerate_policies(program).optimum == run.optimal_value
        mdp = family.mdp(y)
        assert average_bellman_errors(mdp, run.last) == [0, 0, 0]


@given(
    st.sampled_from(ONE_LEVEL).flatmap(lambda v: families(v, max_clauses=5)), st.data()
)
def test_each_round_is_legal_and_no_program_is_hard(family, data):
    n, m = family.n_variables, family.n_clauses
    y = data.draw(st.lists(st.booleans(), min_size=n, max_size=n))
    run = benign_run(family, y)
    assert run.holds, run.failures()
    assert all(r.optimum == 1 and r.errors[r.level - 1] > 0 for r in run.rounds)
    most = 3 * n + m + 1
    if family.layout.n_sides:  # by the general rule
        most = family.layout.n_states
    assert len(run.rounds) == len(run.constraints) <= most
    # s0 is bound last: until then the optimum is 1 whatever the formula.
    assert [r.constraint for r in run.rounds].index("s0") == len(run.rounds) - 1
    behind = [
        d
        for d in run.constraints
        if d.level == 3 and d.probabilities() not in _stated(family)
    ]
    assert behind  # such constraints tell members apart; the stated run has none


def _stated(family) -> list[dict[int, Fraction]]:
    return [d.probabilities() for d in family.distributions()]


def test_rounds_grow_with_the_formula_only_and_bind_one_level():
    rng = np.random.default_rng(2)
    for n in (10, 40):
        family = Family(random_ksat(n, 4 * n, 3, rng).three_sat(), "normalized")
        run = benign_run(family, rng.random(n) < 0.5)
        assert run.holds
        assert 2 * n + 4 * n < len(run.rounds) <= 3 * n + 4 * n + 1
    family = Family(as_three_sat([[1, 2, 2]], 2), Variant.ALL_LEVELS)
    with pytest.raises(ValueError, match="binds all levels in each round"):
        benign_run(family)
