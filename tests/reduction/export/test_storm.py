"""Storm computes V* of members from our files, in exact arithmetic.

Needs the package stormpy (2.0 or later, tested with 2.0.0); run with

    pytest -m storm tests/reduction/export/test_storm.py
"""

from fractions import Fraction

import pytest
from olivine.reduction.export.model_checkers import write_drn, write_prism
from olivine.reduction.family.family import Family, Variant
from olivine.reduction.formula.dimacs import read_dimacs
from olivine.reduction.formula.formula import Formula

from tests.support.cases import CASES
from tests.support.families import VARIANTS

pytestmark = pytest.mark.storm
stormpy = pytest.importorskip("stormpy", minversion="2.0", reason="needs stormpy")

# Large enough to let members differ: the default caps all values of large formulas.
PENALTIES = {
    v: None if v.declaration.fixed_penalty else Fraction(1, 7) for v in VARIANTS
} | {Variant.PAPER: Fraction(1)}
PROPERTY = 'R{"reward"}max=? [F "end"]'
FORMULAS = {
    "full3": lambda: read_dimacs(CASES / "cadical" / "full3.cnf").formula,
    "uf20-01": lambda: read_dimacs(CASES / "satlib" / "uf20-01.cnf").formula,
    "weighted": lambda: Formula.from_clauses(
        [[1, -2, 3, 4], [-1], [2, -3], []], weights=[3, 2**40, 1, 5]
    ),
}


def by_drn(path) -> Fraction:
    model = stormpy.build_model_from_drn[stormpy.Rational](str(path))
    return answer(model, stormpy.parse_properties(PROPERTY)[0])


def by_prism(path) -> Fraction:
    program = stormpy.parse_prism_program(str(path))
    (wanted,) = stormpy.parse_properties(PROPERTY, program)
    return answer(stormpy.build_model[stormpy.Rational](program, [wanted]), wanted)


def answer(model, wanted) -> Fraction:
    (start,) = model.initial_states
    value = stormpy.model_checking(model, wanted).get_value(start)
    assert isinstance(value, stormpy.Rational)
    return Fraction(str(value))


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("name", FORMULAS)
def test_storm_agrees_on_ten_members(tmp_path, name, variant, rng):
    family = Family(FORMULAS[name]().three_sat(), variant, PENALTIES[variant])
    found = set()
    for number in range(10):
        mdp = family.mdp(rng.random(family.n_variables) < 0.5)
        value = mdp.optimal_values().value(mdp.start)
        found.add(value)
        write_drn(mdp, tmp_path / f"{number}.drn")
        write_prism(mdp, tmp_path / f"{number}.prism")
        assert by_drn(tmp_path / f"{number}.drn") == value
        assert by_prism(tmp_path / f"{number}.prism") == value
    assert len(found) > 1 or name == "full3"


def test_storm_agrees_on_large_numbers(tmp_path):
    three_sat = Formula.from_clauses([[1, 2], [-1, 2]]).three_sat()
    mdp = Family(three_sat, "normalized", Fraction(1, 10**40)).mdp()
    value = mdp.optimal_values().value(mdp.start)
    assert value.denominator > 10**39
    write_drn(mdp, tmp_path / "a.drn")
    write_prism(mdp, tmp_path / "a.prism")
    assert by_drn(tmp_path / "a.drn") == by_prism(tmp_path / "a.prism") == value
