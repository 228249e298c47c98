"""Making certificates: every case, every variant, deterministic, within limits."""

import json
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from olivine.reduction.certificate import checker
from olivine.reduction.certificate.certificate import as_checked, make_certificate
from olivine.reduction.family.family import Instance
from olivine.reduction.formula.dimacs import read_dimacs
from olivine.reduction.formula.formula import Formula
from olivine.reduction.formula.random_formula import random_ksat
from olivine.reduction.program.optimum import optimum
from olivine.solvers.sat.maxsat import solve_maxsat

from tests.support.cases import cases
from tests.support.certificates import certified, is_true, judged
from tests.support.depth import deep, with_rows
from tests.support.families import VARIANTS, penalties
from tests.support.formulas import formulas

FOLDERS = ("satlib", "cadical", "dense")
SMALL = 60  # clauses, to be certified in every variant without -m long


def check_case(case, variant: str, tmp_path) -> None:
    """Make the case's certificate, read everything back and judge it."""
    formula = read_dimacs(case.path).formula
    instance = Instance.of(formula, variant)
    best = solve_maxsat(formula, formula.n_variables, formula.weights).model
    value = Fraction(case.expected["optimum"][variant])
    outcome = make_certificate(instance, value, instance.family.three_sat.extend(best))
    assert outcome.certificate is not None, outcome.reason
    target = tmp_path / "c.json"
    outcome.certificate.write(target)
    proof = tmp_path / "c.json.drat"
    assert proof.exists() is not case.expected["satisfiable"]
    theirs = checker.read_formula(str(case.path))
    statement = checker.judge(target.read_bytes(), proof.read_bytes, theirs)
    assert statement["satisfiable"] is case.expected["satisfiable"]
    least = case.expected["unsatisfied"]
    assert statement["at_least"] <= least == statement["at_most"]
    assert statement["optimum"] == case.expected["optimum"][variant]
    if variant == "paper":
        assert statement["at_least"] == min(least, 3)
    if variant == "gap":
        assert statement["at_least"] == least


@with_rows(
    "case, variant",
    *(
        pytest.param(case, variant, id=f"{case.path.name}-{variant}")
        for case in cases(*FOLDERS)
        for variant in VARIANTS
        if variant == "paper" or case.expected["three_sat"]["clauses"] <= SMALL
    ),
    keep=8,
)
def test_cases_certify(case, variant: str, tmp_path) -> None:
    check_case(case, variant, tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("variant", VARIANTS)
def test_all_cases_certify_in_all_variants(variant: str, tmp_path) -> None:
    for k, case in enumerate(cases(*FOLDERS)):
        folder = tmp_path / str(k)
        folder.mkdir()
        check_case(case, variant, folder)


@given(formulas(max_width=4, large_weights=False), st.data())
def test_any_formula_certifies(formula, data) -> None:
    variant = data.draw(st.sampled_from(VARIANTS))
    instance = Instance.of(formula, variant, data.draw(penalties(variant)))
    made = certified(instance)
    assert judged(instance, made.text, made.proof) == made.statement
    assert is_true(instance, made.statement)


def test_the_text_is_json_line_by_line_and_repeats():
    formula = read_dimacs(cases("dense")[deep(-1, 0)].path).formula
    first, second = (certified(Instance.of(formula, "gap")) for _ in range(2))
    assert first == second
    assert first.proof is not None
    made = certified(Instance.of(Formula.from_clauses([[1], [-1]])))
    content = json.loads(made.text)
    assert len(made.text.splitlines()) == len(content) + 2
    assert made.text.isascii()


@pytest.mark.children
def test_a_short_time_limit_leaves_none() -> None:
    formula = random_ksat(200, 860, 3, np.random.default_rng(3))
    instance = Instance.of(formula)
    assignment = np.zeros(instance.family.n_variables, dtype=np.bool_)
    capped = optimum(instance.family.parameters, 3)  # any pair that tries a clause
    outcome = make_certificate(instance, capped, assignment, time_limit=0.0005)
    assert outcome.certificate is None
    assert "time limit" in outcome.reason


def test_a_wrong_optimum_or_assignment_is_refused():
    # The assignment leaves two clauses, another leaves one.
    instance = Instance.of(Formula.from_clauses([[1], [1], [-1], [2]]), "gap")
    with pytest.raises(RuntimeError, match="leaves less than 2"):
        make_certificate(instance, Fraction(7, 8), [False, True])
    instance = Instance.of(Formula.from_clauses([[1]]))
    with pytest.raises(ValueError, match="attains 2/3, not 1"):
        make_certificate(instance, Fraction(1), [False])


def test_bounds_that_take_too_long_to_count_are_refused(monkeypatch) -> None:
    most = deep(checker.MAX_CLAUSES, 10**5)
    monkeypatch.setattr(checker, "MAX_CLAUSES", most)
    clauses = [[sign * i] for i in range(1, 31) for sign in (1, -1)]
    weights = [2**i for i in range(30) for _ in range(2)]
    instance = Instance.of(Formula.from_clauses(clauses, 30, weights), "gap")
    value = optimum(instance.family.parameters, 2**30 - 1)
    outcome = make_certificate(instance, value, [True] * 30)
    assert outcome.certificate is None
    assert f"over {most} clauses" in outcome.reason


def test_large_weights_and_wide_clauses_certify_and_long_numbers_do_not():
    big = 2**61
    clauses, weights = [[1], [-1], [2]], [big, big, 5]
    instance = Instance.of(Formula.from_clauses(clauses, 2, weights), "gap")
    made = certified(instance)
    assert made.statement["at_least"] == made.statement["at_most"] == big
    wide = Formula.from_clauses([list(range(1, 2001))])
    instance = Instance.of(wide)
    assignment = instance.family.three_sat.extend(np.ones(2000, dtype=np.bool_))
    assert make_certificate(instance, Fraction(1), assignment).certificate is not None
    assert len(checker.three_sat(as_checked(wide)).clauses) == 1998
    penalty = Fraction(1, 10**250)
    instance = Instance.of(Formula.from_clauses([[1]]), "normalized", penalty)
    outcome = make_certificate(instance, Fraction(1), [True])
    assert outcome.certificate is None
    assert "too long" in outcome.reason


def test_a_folder_that_is_not_there_is_an_os_error(tmp_path) -> None:
    made = certified(Instance.of(Formula.from_clauses([[1], [-1]])))
    with pytest.raises(OSError):
        made.write(tmp_path / "none" / "c.json")
