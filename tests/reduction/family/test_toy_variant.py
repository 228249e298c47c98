"""A variant is one declaration: a toy is made, tried, and taken away."""

from fractions import Fraction

import pytest
from olivine.reduction.certificate.certificate import make_certificate
from olivine.reduction.family import variants
from olivine.reduction.family.family import Family, Instance
from olivine.reduction.family.variants import Declaration, Rewards, Variant, as_variant
from olivine.reduction.formula.formula import Formula
from olivine.reduction.program.optimum import optimum
from olivine.reduction.program.reduction_model import faithful
from olivine.reduction.program.tolerance import tolerance_bounds
from olivine.reduction.run.benign import benign_run
from olivine.reduction.run.run import adversarial_run
from olivine.reduction.verify.verification import verify
from olivine.solvers.milp.milp import confirm, solve_milp

from tests.support.depth import with_rows
from tests.support.families import ALL_EIGHT
from tests.support.refusals import refused

QUARTER = Fraction(1, 4)
HALVED = Rewards(top=2 * QUARTER, solve=QUARTER, try_variable=QUARTER / 2, try_clause=0)


def declared(rewards: Rewards, **changes) -> Declaration:
    return Declaration(
        "a toy: all at half price",
        "3/4 − u/(6m)",
        lambda p: rewards,
        lambda m: QUARTER,
        fixed_penalty=QUARTER,
        **changes,
    )


@pytest.fixture
def toy(monkeypatch):
    """Declare the variant `toy`: its name and its declaration."""
    name = str.__new__(Variant, "toy")
    name._name_, name._value_ = "TOY", "toy"
    monkeypatch.setitem(Variant._value2member_map_, "toy", name)
    monkeypatch.setitem(Variant._member_map_, "TOY", name)
    monkeypatch.setattr(Variant, "_member_names_", [*Variant._member_names_, "TOY"])

    def declare(declaration: Declaration) -> None:
        monkeypatch.setitem(variants.DECLARATIONS, name, declaration)

    declare(declared(HALVED))
    return declare


@with_rows(
    "clauses, value, quits",
    ([[1, 2, 3]], Fraction(3, 4), True),
    (ALL_EIGHT, Fraction(3, 4) - Fraction(1, 48), False),
)
def test_its_optimum_is_theorem_os(toy, clauses, value, quits) -> None:
    toy(declared(HALVED, quit=quits))
    formula = Formula.from_clauses(clauses)
    family = Family(formula.three_sat(), "toy")
    assert optimum(family.parameters, int(len(clauses) > 1)) == value
    answer = verify(formula, variant="toy")
    assert (answer.agree, answer.optimum) == (True, value)
    if len(clauses) == 1:
        model = faithful(family).model
        found = confirm(model, solve_milp(model), bound=value)
        assert (found.exact, found.objective) == (True, value)
    assert benign_run(family).failures() == []


def test_what_no_declaration_can_know_is_refused(toy) -> None:
    instance = Instance.of(Formula.from_clauses([[1, 2, 3]]), "toy")
    family = instance.family
    with pytest.raises(ValueError, match="no tolerance is known for variant toy"):
        tolerance_bounds(family.parameters, 0)
    refused("no run is stated for variant toy", adversarial_run, family)
    with pytest.raises(RuntimeError, match="no variant 'toy'"):
        make_certificate(instance, Fraction(3, 4), [True] * 3)


@with_rows(
    "declaration, message",
    (declared(Rewards(2 * QUARTER, QUARTER, 0, QUARTER)), "is to lose p"),
    (declared(Rewards(2 * QUARTER, QUARTER, 1, 0)), "not to beat"),
    (declared(HALVED, ranges=variants.Ranges(literal=QUARTER)), "in the ranges of g"),
)
def test_a_declaration_that_theorem_o_does_not_cover_is_refused(
    toy, declaration, message
) -> None:
    toy(declaration)
    refused(message, Family, Formula.from_clauses([[1]]).three_sat(), "toy")


def test_the_toy_is_gone() -> None:
    refused("unknown variant 'toy'", as_variant, "toy")
    assert set(variants.DECLARATIONS) == set(Variant)
