"""Certificates: every case, every variant, within limits; and none that is forged."""

import hashlib
import itertools
import json
import random
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from olivine.reduction.certificate import checker
from olivine.reduction.certificate.certificate import (
    Certificate,
    as_checked,
    make_certificate,
)
from olivine.reduction.family.family import Instance, Variant
from olivine.reduction.formula.dimacs import read_dimacs
from olivine.reduction.formula.formula import Formula
from olivine.reduction.formula.random_formula import random_ksat
from olivine.reduction.program.optimum import optimum, step
from olivine.solvers.sat.maxsat import solve_maxsat

from tests.support import certificates
from tests.support.cases import cases
from tests.support.certificates import certified, is_true, judged
from tests.support.depth import deep, spread, with_rows
from tests.support.families import ALL_EIGHT, VARIANTS, assignments, penalties
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


CHAIN = [[1, 2, 3, 4], [-1, 2], [-2], [-3], [-4], [], [1, -1, 2]]
REPEATED = [*(ALL_EIGHT * 4), [1, 2]]  # enough for the penalty to cap `paper`
FORMULAS = {
    "satisfiable": Formula.from_clauses([[1, -2], [2, 3, -1], [-3]], 4),
    "eight": Formula.from_clauses(ALL_EIGHT),
    "chain": Formula.from_clauses(CHAIN),
    "repeated": Formula.from_clauses(REPEATED),
    "weighted": Formula.from_clauses(
        [[1], [-1], [2, 3], [-2], [-3]], 3, [3, 5, 2, 7, 2]
    ),
}
CASES = [
    pytest.param(name, variant, id=f"{name}-{variant}")
    for name in FORMULAS
    for variant in VARIANTS
]
_made: dict[tuple[str, str], tuple[Instance, Certificate]] = {}


def made(name: str, variant: str) -> tuple[Instance, Certificate]:
    """One certificate of each formula and variant, made once."""
    if (name, variant) not in _made:
        fixed = Variant(variant).declaration.fixed_penalty
        chosen = name == "weighted" and fixed is None
        penalty = Fraction(1, 7) if chosen else None
        instance = Instance.of(FORMULAS[name], variant, penalty)
        _made[name, variant] = instance, certificates.certified(instance)
    return _made[name, variant]


def rejected(instance: Instance, text: str, proof: str | None) -> bool:
    """Whether the checker finds it invalid or unreadable."""
    try:
        certificates.judged(instance, text, proof)
    except (ValueError, OSError):
        return True
    return False


def survives(instance: Instance, text: str, proof: str | None) -> bool:
    """Whether it is accepted; then what it states must be true."""
    try:
        statement = certificates.judged(instance, text, proof)
    except (ValueError, OSError):
        return False
    assert certificates.is_true(instance, statement), statement
    return True


@pytest.mark.parametrize(("name", "variant"), spread(CASES, 9))
def test_certificates_are_valid_and_true(name: str, variant: str) -> None:
    instance, certificate = made(name, variant)
    assert survives(instance, certificate.text, certificate.proof)


@pytest.mark.parametrize(("name", "variant"), spread(CASES, 2))
def test_any_number_changed_is_rejected(name: str, variant: str) -> None:
    """In the JSON and in the proof; with renewed digests, unless still true."""
    instance, certificate = made(name, variant)
    content, proof = json.loads(certificate.text), certificate.proof
    for path, value in certificates.leaves(content):
        for new in certificates.other_numbers(value):
            changed = certificates.replaced(content, path, new)
            assert rejected(instance, json.dumps(changed), proof), (path, new)
            if path != ("sha256",):
                survives(instance, certificates.sealed(changed, proof), proof)
    if proof is None:
        return
    lines = proof.splitlines()
    for k, line in list(enumerate(lines))[:: deep(1, 3)]:
        for new in certificates.other_numbers(line):
            text = "\n".join([*lines[:k], new, *lines[k + 1 :], ""])
            assert rejected(instance, certificate.text, text)
            survives(instance, certificates.sealed(content, text), text)


@pytest.mark.parametrize(("name", "variant"), spread(CASES, 3))
def test_any_line_gone_or_doubled_is_rejected(name: str, variant: str) -> None:
    instance, certificate = made(name, variant)
    lines = certificate.text.splitlines(keepends=True)
    for k in range(len(lines)):
        for few in (lines[:k] + lines[k + 1 :], lines[: k + 1] + lines[k:]):
            assert rejected(instance, "".join(few), certificate.proof)
    if certificate.proof is None:
        return
    content = json.loads(certificate.text)
    steps = certificate.proof.splitlines(keepends=True)
    for k in range(len(steps)):
        for cut in ("".join(steps[:k]), "".join(steps[:k] + steps[k + 1 :])):
            assert rejected(instance, certificate.text, cut)
            survives(instance, certificates.sealed(content, cut), cut)
    assert rejected(instance, certificate.text, certificate.proof[:-1])


@pytest.mark.parametrize(("name", "variant"), spread(CASES, 3))
def test_fields_missing_unknown_or_of_another_type_are_rejected(
    name: str, variant: str
) -> None:
    """With the digests renewed."""
    instance, certificate = made(name, variant)
    content, proof = json.loads(certificate.text), certificate.proof
    for path in certificates.objects(content):
        inner = content
        for key in path:
            inner = inner[key]
        more = certificates.replaced(content, path, inner | {"more": 1})
        assert rejected(instance, certificates.sealed(more, proof), proof)
        for key in inner:
            fewer = {k: v for k, v in inner.items() if k != key}
            without = certificates.replaced(content, path, fewer)
            if path == () and key == "sha256":  # which sealing puts back
                assert rejected(instance, json.dumps(without), proof)
                continue
            assert rejected(instance, certificates.sealed(without, proof), proof)
            for other in (
                None,
                True,
                False,
                [],
                {},
                [[]],
                3,
                "",
                inner[key],
                [inner[key]],
            ):
                if json.dumps(other) != json.dumps(inner[key]):
                    wrong = certificates.replaced(content, (*path, key), other)
                    # The digest of the proof is not renewed: it is a field too.
                    text = certificates.sealed(wrong, None)
                    assert rejected(instance, text, proof), (path, key, other)


@pytest.mark.parametrize("name", FORMULAS)
def test_other_formulas_and_variants_are_rejected(name: str) -> None:
    instance, certificate = made(name, "paper")
    clauses = [list(clause) for clause in instance.formula.clauses()]
    n, weights = instance.formula.n_variables, instance.formula.weights
    others = [
        Formula.from_clauses(clauses, n + 1, weights),
        Formula.from_clauses(
            clauses[:-1], n, None if weights is None else weights[:-1]
        ),
        Formula.from_clauses(clauses[1:] + clauses[:1], n, weights),
        Formula.from_clauses([[-x for x in c] for c in clauses], n, weights),
        Formula.from_clauses(clauses, n, [9] * len(clauses)),
    ]
    for other in others:
        with pytest.raises(ValueError, match="formula"):
            checker.judge(
                certificate.text.encode(),
                (certificate.proof or "").encode,
                as_checked(other),
            )
    content = json.loads(certificate.text)
    for variant in VARIANTS[1:]:
        family = content["family"] | {"variant": str(variant)}
        changed = content | {"family": family}
        assert not survives(
            instance, certificates.sealed(changed, certificate.proof), certificate.proof
        )


REFUSED = [
    ('"at_least": 1', '"at_least": 1.0', "1.0"),
    ('"at_least": 1', '"at_least": 1e0', "1e0"),
    ('"at_least": 1', '"at_least": NaN', "NaN"),
    ('"at_least": 1', '"at_least": -Infinity', "Infinity"),
    ('"at_least": 1', '"at_least": true', "at_least"),
    ('"at_least": 1', '"at_least": "1"', "at_least"),
    ('"at_least": 1', '"at_least": -1', "at_least"),
    ('"at_least": 1', '"at_least": 1, "at_least": 1', "twice"),
    ('"at_least": 1', '"at_least": ' + "9" * 201, "too long"),
    ('"at_least": 1', '"at_least": ' + "9" * 20000, "too long"),
    ('"optimum": "23/24"', '"optimum": "46/48"', "optimum"),
    ('"optimum": "23/24"', '"optimum": "0.958"', "optimum"),
    ('"penalty": "1/8"', '"penalty": "2/16"', "no rational"),
    ('"penalty": "1/8"', '"penalty": "0.125"', "no rational"),
    ('"penalty": "1/8"', '"penalty": 0.125', "floating-point"),
    ('"penalty": "1/8"', '"penalty": "1e-999999999"', "no rational"),
    ('"penalty": "1/8"', '"penalty": "1/' + "8" * 5000 + '"', "too long"),
    ('"penalty": "1/8"', '"penalty": "0"', "penalty 0"),
    ('"penalty": "1/8"', '"penalty": "-1/8"', "penalty -1/8"),
    ('"variant": "paper"', '"variant": "Paper"', "variant"),
    ('"variant": "paper"', '"variant": ["paper"]', "variant"),
    ('"variant": "paper"', '"variant": "gap"', "penalty"),
    ("certificate 1", "certificate 2", "format"),
    ('"s0": "[solve]"', '"s0": "[try C9]"', "s0"),
    ('"s0": "[solve]"', '"s0": "[try x01]"', "s0"),
    ('"C": ["', '"C": ["000", "', "000"),
    ('"C": ["', '"C": ["[quit]"], "D": ["', "pi"),
    ("{", "[" * 100000 + "{", "nest|recursion"),
]


@pytest.mark.parametrize(("old", "new", "reason"), REFUSED, ids=lambda v: v[:30])
def test_reasons(old: str, new: str, reason: str) -> None:
    """The digest is renewed where the text still parses."""
    instance, certificate = made("eight", "paper")
    assert old in certificate.text
    text = certificate.text.replace(old, new, 1)
    try:
        content = checker.parse(text.encode())
    except (ValueError, OSError):
        pass
    else:
        text = certificates.sealed(content, certificate.proof)
    with pytest.raises((ValueError, OSError), match=reason):
        certificates.judged(instance, text, certificate.proof)


@pytest.mark.parametrize(("name", "variant"), spread(CASES, 3))
def test_two_hundred_forgeries(name: str, variant: str) -> None:
    """Digests renewed: rejected, or still a true statement."""
    instance, certificate = made(name, variant)
    content, draw = json.loads(certificate.text), random.Random(f"{name} {variant}")
    for _ in range(deep(200, 60)):
        forged, proof = certificates.forgery(content, certificate.proof, draw)
        survives(instance, certificates.sealed(forged, proof), proof)


def test_a_forgery_can_be_another_proof_of_the_truth() -> None:
    """Under [try C_j] the other clause actions only have to match their values."""
    instance, certificate = made("repeated", "paper")
    content = json.loads(certificate.text)
    assert content["pi"]["s0"].startswith("[try C")
    others = dict.fromkeys(checker.ACTIONS)
    found = 0
    for j, action in list(enumerate(content["pi"]["C"]))[:: deep(1, 2)]:
        for other in others:
            changed = certificates.replaced(content, ("pi", "C", j), other)
            accepted = survives(
                instance,
                certificates.sealed(changed, certificate.proof),
                certificate.proof,
            )
            found += accepted and other != action
    assert found


def consistent(instance: Instance, variant: str) -> Iterator[dict[str, Any]]:
    """Yield certificates, but for proofs, that meet every constraint of the program.

    For every assignment, each kind of action at s0, every bound up to one more
    than the assignment leaves, and both optima that could be claimed.
    """
    family = instance.family
    three = checker.three_sat(as_checked(instance.formula))
    names = list(checker.ACTIONS)
    for assignment in assignments(three.n):
        x = assignment.tolist()
        truth = [[x[abs(v) - 1] == (v > 0) for v in c] for c in three.clauses]
        spelled = [max(4 * a + 2 * b + c, 1) for a, b, c in truth]
        for start in ("[solve]", "[try C1]", "[try x1]"):
            pi = {"s0": start, "C": [names[code - 1] for code in spelled]}
            g, left = checker.values(three, variant, family.penalty, x, pi)
            for at_least in range(left + 2):
                loss = min(step(family.parameters) * at_least, family.penalty)
                for value in {g["s0"], family.parameters.best - loss}:
                    claim = {
                        "satisfiable": left == 0,
                        "at_least": at_least,
                        "at_most": left,
                        "optimum": value,
                    }
                    yield {"claim": claim, "pi": pi, "g": g}


@pytest.mark.parametrize(
    ("name", "variant"),
    spread(itertools.product(["satisfiable", "weighted", "eight"], VARIANTS), 3),
)
def test_consistent_forgeries(name: str, variant: str) -> None:
    """Only the proof, or the bound that it lacks, can give these away."""
    instance, certificate = made(name, variant)
    content, accepted = json.loads(certificate.text), 0
    for fields in itertools.islice(consistent(instance, variant), 0, None, deep(1, 2)):
        forged = json.loads(checker.canonical(content | fields))
        at_least = forged["claim"]["at_least"]
        for proof in {certificate.proof or "0\n", "0\n", "1 0\n-1 0\n0\n"}:
            digest = hashlib.sha256(proof.encode()).hexdigest()
            forged["proof"] = digest if at_least else None
            accepted += survives(instance, certificates.sealed(forged, None), proof)
    assert accepted


def test_a_true_bound_needs_its_proof() -> None:
    instance, certificate = made("eight", "paper")
    content = json.loads(certificate.text)
    for proof in ("0\n", "1 0\n-1 0\n0\n", "1 2 0\n"):
        with pytest.raises(ValueError, match="proof"):
            certificates.judged(instance, certificates.sealed(content, proof), proof)
