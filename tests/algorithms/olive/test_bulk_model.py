"""A program modelled in bulk is the one modelled state by state."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from olivine.algorithms.olive import bulk_kinds
from olivine.algorithms.olive import bulk_model as bulk
from olivine.algorithms.olive import model as plain
from olivine.algorithms.olive.program import OliveProgram, two_action_program
from olivine.reduction.family.family import Family, Variant
from olivine.reduction.formula.formula import Formula

from tests.support.depth import spread
from tests.support.tabular import programs

FORMS = ("value-policy", "q-function")
MAPS = ("value_index", "policy_index", "q_index", "backup_index")


def assert_same(program: OliveProgram) -> None:
    for form in FORMS:
        one, two = plain.program_model(program, form), bulk.bulk_model(program, form)
        assert list(two.model.variables) == one.model.variables
        assert list(two.model.rows) == one.model.rows
        assert two.model.objective == one.model.objective
        assert (two.model.maximise, two.model.name) == (True, one.model.name)
        for name in MAPS:
            mine, other = getattr(one, name), getattr(two, name)
            assert list(mine.items()) == list(other.items())
        pair = program.mdp.optimal_values()
        assert one.point(pair) == two.point(pair)


@given(programs(), st.sampled_from([1, 2, 4096]), st.sampled_from([0, 32]))
def test_any_program(program: OliveProgram, states: int, wide: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bulk, "_STATES", states)
        patch.setattr(bulk_kinds, "WIDE", wide)
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
    for module in (bulk, bulk_kinds):
        monkeypatch.setattr(
            module, "mixed", lambda values: (values * 0).astype("uint64")
        )
    clauses = [[1, 2, 3], [1, 1, 2], [-1, 2, 3], [1], [2, -3, 3]]
    assert_same(Family(Formula.from_clauses(clauses).three_sat()).program())


def test_large_programs_are_modelled_in_bulk(monkeypatch) -> None:
    family = Family(Formula.from_clauses([[1, 2, 3]]).three_sat())
    monkeypatch.setattr(plain, "LARGE", 0)
    built = plain.program_model(family.program())
    assert isinstance(built.value_index, bulk.Late)
    monkeypatch.setattr(plain, "LARGE", 10**6)
    small = plain.program_model(family.program())
    assert list(built.model.rows) == small.model.rows
