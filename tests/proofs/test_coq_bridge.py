"""Coq computes the transitions, rewards, programs and optima that Python exports.

All 3-SAT formulas with at most two variables and two clauses, every variant,
every member y. `proofs/Bridge.v` proves that the optimum it computes is the
least upper bound; Python's comes from backward induction over all members, not
from the formula.
"""

from __future__ import annotations

import itertools
import re
from fractions import Fraction

import pytest
from olivine.reduction.family.family import Family, Variant
from olivine.reduction.formula.formula import Formula
from olivine.reduction.verify.members import best_member

from tests.support.coq import built, coqc, needs_coq

SEVENTH = Fraction(1, 7)
VARIANTS = [
    (Variant.PAPER, None),
    (Variant.NORMALIZED, None),
    (Variant.NORMALIZED, SEVENTH),
    (Variant.GAP, None),
    (Variant.ALL_LEVELS, SEVENTH),
    (Variant.STRICT, None),
]
BATCH = 99  # cases a file

pytestmark = [pytest.mark.coq, needs_coq]


def formulas():
    """Every 3-SAT form with n <= 2 and m <= 2, and a few with weights."""
    for n in (1, 2):
        literals = [sign * i for i in range(1, n + 1) for sign in (1, -1)]
        clauses = [c for k in (1, 2, 3) for c in itertools.combinations(literals, k)]
        for m in (1, 2):
            for chosen in itertools.product(clauses, repeat=m):
                yield Formula.from_clauses(chosen, n_variables=n)
    for chosen in itertools.product([(1,), (-1,), (1, -2)], repeat=2):
        yield Formula.from_clauses(chosen, n_variables=2, weights=[2, 5])


def listed(items):
    return f"[{'; '.join(items)}]"


def rational(value):
    return f"({value.numerator}, {value.denominator})"


def construction(family):
    p = f"({family.penalty.numerator} # {family.penalty.denominator})"
    return {
        Variant.PAPER: f"(paper {p})",
        Variant.NORMALIZED: f"(normalized {p})",
        Variant.GAP: "gap",
        Variant.STRICT: "strict",
        Variant.ALL_LEVELS: f"(all_levels {p})",
    }[family.variant]


def written_formula(family):
    weights = family.three_sat.weights
    if weights is None:
        weights = [1] * family.n_clauses
    return listed(
        f"signed {int(w)} {listed(str(int(literal)) for literal in clause)}"
        for w, clause in zip(weights, family.clauses, strict=True)
    )


def written_transitions(mdp):
    rows = []
    for action in range(mdp.n_actions):
        row = [int(mdp.transition_denominator[action])]
        for target, chance in mdp.successors(action):
            row += [target, int(chance * row[0])]
        rows.append(listed(map(str, row)))
    return listed(rows)


def written_rewards(family):
    members = []
    for y in itertools.product([False, True], repeat=family.n_variables):
        mdp = family.mdp(y)
        rewards = listed(rational(mdp.reward(a)) for a in range(mdp.n_actions))
        members.append(f"({listed(str(b).lower() for b in y)}, {rewards})")
    return listed(members)


def written_ranges(family):
    ends = family.ranges()
    if isinstance(ends, Fraction):
        ends = [ends] * family.mdp().n_states
    return listed(map(rational, ends))


def written_constraints(family):
    rows = []
    for d in family.distributions():
        row = [int(d.denominator)]
        for state, numerator in zip(d.states, d.numerators, strict=True):
            row += [int(state), int(numerator)]
        rows.append(listed(map(str, row)))
    return listed(rows)


def case(family, shift=Fraction(0)):
    """One comparison, the optimum off by `shift`."""
    best = best_member(family).value + shift
    return (
        f"agrees {construction(family)} {family.n_variables}%nat "
        f"{written_formula(family)}\n    (Exported {written_transitions(family.mdp())}"
        f"\n    {written_rewards(family)}\n    {written_ranges(family)}"
        f"\n    {written_constraints(family)}\n    {rational(best)})"
    )


@pytest.fixture(scope="module", autouse=True)
def definitions():
    built("Bridge.vo")


def disagreements(folder, cases):
    """The indices of the cases on which Coq and Python differ."""
    text = "From Coq Require Import List ZArith QArith.\n"
    text += "From Olivine Require Import Formula Family Bridge.\n"
    text += "Import ListNotations.\nOpen Scope Z_scope.\n"
    for index, item in enumerate(cases):
        text += f"Definition case_{index} := {item}.\n"
    names = listed(f"case_{index}" for index in range(len(cases)))
    text += f"Eval vm_compute in disagreements {names}.\n"
    file = folder / "Cases.v"
    file.write_text(text)
    done = coqc(file)
    assert done.returncode == 0, done.stdout + done.stderr
    shown = done.stdout.split("= ", 1)[1].split(":", 1)[0]
    return [int(index) for index in re.findall(r"\d+", shown)]


@pytest.mark.long
def test_coq_computes_what_python_exports(tmp_path):
    families = [
        Family(formula.three_sat(), variant, penalty)
        for formula in formulas()
        for variant, penalty in VARIANTS
    ]
    assert len(families) == len(VARIANTS) * (3 + 9 + 14 + 196 + 9)
    for start in range(0, len(families), BATCH):
        cases = [case(family) for family in families[start : start + BATCH]]
        assert disagreements(tmp_path, cases) == []


def test_coq_computes_a_few(tmp_path):
    chosen = [
        Formula.from_clauses(clauses, n_variables=n)
        for n, clauses in [
            (1, [(1,), (-1,)]),
            (2, [(1, -2), (2, -1)]),
            (2, [(1, 2, -2)]),
        ]
    ]
    cases = [
        case(Family(formula.three_sat(), variant, penalty))
        for formula in chosen
        for variant, penalty in VARIANTS
    ]
    assert disagreements(tmp_path, cases) == []


def test_the_comparison_notices_differences(tmp_path):
    three_sat = Formula.from_clauses([(1, -2), (2,)]).three_sat()
    family = Family(three_sat, Variant.NORMALIZED, SEVENTH)
    good = case(family)
    transitions, bound = written_transitions(family.mdp()), written_constraints(family)
    ends = written_ranges(family)

    def changed(part, old, new):
        assert part in good
        assert old in part
        return good.replace(part, part.replace(old, new, 1), 1)

    cases = [
        good,
        changed(transitions, "[1; 3; 1]", "[1; 4; 1]"),  # another target
        good.replace(transitions, transitions.rsplit("; [", 1)[0] + "]"),  # a row less
        changed(good, "(6, 7)", "(5, 7)"),  # another reward
        case(family, Fraction(1, 1000)),  # another optimum
        changed(ends, "(1, 1)", "(1, 2)"),  # another range
        changed(ends, "(1, 1); ", ""),  # a state less
        changed(bound, "[1; 0; 1]; ", ""),  # a constraint less
        changed(bound, "[1; 2; 1]", "[1; 1; 1]"),  # one twice, and one not at all
    ]
    assert len(set(cases)) == len(cases)
    assert disagreements(tmp_path, cases) == list(range(1, len(cases)))
