"""A program modelled in arrays is the one modelled state by state, in another order."""

from fractions import Fraction

import pytest
from hypothesis import given
from olivine.algorithms.olive_program import bulk_model as bulk
from olivine.algorithms.olive_program import model as plain
from olivine.algorithms.olive_program.program import OliveProgram, two_action_program
from olivine.reduction.family.family import Family, Variant
from olivine.reduction.formula.formula import Formula

from tests.support.depth import spread
from tests.support.tabular import programs

FORMS = ("value-policy", "q-function")
MAPS = ("value_index", "policy_index", "q_index", "backup_index")


def described(built) -> tuple:
    """Rows, variables and maps by names."""
    model = built.model
    variables = list(model.variables)
    rows = {
        row.name: (
            {
                variables[j].name: c
                for j, c in zip(row.indices, row.coefficients, strict=True)
            },
            row.sense,
            row.rhs,
        )
        for row in model.rows
    }
    maps = [
        {
            key: variables[found].name
            if isinstance(found, int)
            else {a: variables[j].name for a, j in found.items()}
            for key, found in getattr(built, name).items()
        }
        for name in MAPS
    ]
    objective = {variables[j].name: c for j, c in model.objective.items()}
    assert len(rows) == len(model.rows)
    return {v.name: v for v in variables}, rows, maps, objective, model.maximise


def assert_same(program: OliveProgram) -> None:
    assert bulk.fits(program)
    for form in FORMS:
        one = plain.program_model(program, form)
        two = plain.ProgramModel(program, form, *bulk.bulk_model(program, form))
        assert described(one) == described(two)
        assert len(one.model.variables) == len(two.model.variables)
        pair = program.mdp.optimal_values()
        names = [v.name for v in one.model.variables]
        mine = dict(zip(names, one.point(pair), strict=True))
        others = (v.name for v in two.model.variables)
        assert mine == dict(zip(others, two.point(pair), strict=True))


@given(programs())
def test_any_program(program: OliveProgram) -> None:
    assert_same(program)


@pytest.mark.parametrize("variant", spread(Variant, 3))
def test_families_with_odd_clauses(variant: Variant) -> None:
    clauses = [[1, 2, 2], [1], [-1, 2, 3], [1, -1, 3]]
    family = Family(Formula.from_clauses(clauses).three_sat(), variant)
    assert_same(family.program())
    if variant is not Variant.PAPER:
        assert_same(two_action_program(family.program())[1])


def test_marks_that_agree_by_chance_are_found_out(monkeypatch) -> None:
    """Kinds are told apart by their contents, whatever the hashes say."""
    monkeypatch.setattr(bulk, "mixed", lambda values: (values * 0).astype("uint64"))
    clauses = [[1, 2, 3], [1, 1, 2], [-1, 2, 3], [1], [2, -3, 3]]
    assert_same(Family(Formula.from_clauses(clauses).three_sat()).program())


def test_large_programs_are_modelled_in_bulk_and_longer_numbers_singly(monkeypatch):
    family = Family(Formula.from_clauses([[1, 2, 3]]).three_sat())
    monkeypatch.setattr(plain, "LARGE", 0)
    built = plain.program_model(family.program())
    assert isinstance(built.value_index, bulk.Late)
    monkeypatch.setattr(plain, "LARGE", 10**6)
    assert described(built) == described(plain.program_model(family.program()))
    # Over a common denominator they would not fit into 64 bits.
    monkeypatch.setattr(plain, "LARGE", 0)
    family = Family(Formula.from_clauses([[1, 2, 3]]).three_sat())
    own = family.program()
    program = OliveProgram(own.mdp, own.distributions, upper=1 + Fraction(1, 2**61 - 1))
    assert not bulk.fits(program)
    assert isinstance(plain.program_model(program).model.variables, list)
