"""Coq computes the transitions, rewards and optima that Python exports.

All 3-SAT formulas with at most two variables and two clauses, every variant,
every member y. `proofs/Bridge.v` proves that the optimum it computes is the
least upper bound; Python's comes from backward induction over all members, not
from the formula.
"""

from __future__ import annotations

import itertools
import re
import shutil
import subprocess
from fractions import Fraction
from pathlib import Path

import pytest
from olivine.reduction.family.family import Family, Variant
from olivine.reduction.formula.formula import Formula
from olivine.reduction.verify.members import best_member

PROOFS = Path(__file__).resolve().parents[2] / "proofs"
USED = ["Formula", "Family", "Sums", "Vertex", "Optimum", "Brute", "Optima", "Bridge"]
SEVENTH = Fraction(1, 7)
VARIANTS = [
    (Variant.PAPER, None),
    (Variant.NORMALIZED, None),
    (Variant.NORMALIZED, SEVENTH),
    (Variant.GAP, None),
    (Variant.ALL_LEVELS, SEVENTH),
]

pytestmark = [
    pytest.mark.coq,
    pytest.mark.skipif(shutil.which("coqc") is None, reason="Coq is missing"),
]


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


def case(family, shift=Fraction(0)):
    """One comparison, the optimum off by `shift`."""
    best = best_member(family).value + shift
    return (
        f"agrees {construction(family)} {family.n_variables}%nat "
        f"{written_formula(family)}\n    (Exported {written_transitions(family.mdp())}"
        f"\n    {written_rewards(family)}\n    {rational(best)})"
    )


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """The definitions, compiled in a folder of their own."""
    folder = tmp_path_factory.mktemp("coq")
    for name in USED:
        shutil.copy(PROOFS / f"{name}.v", folder)
        coq(folder, f"{name}.v")
    return folder


def coq(folder, name):
    done = subprocess.run(
        ["coqc", "-Q", ".", "Olivine", name],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def disagreements(folder, cases):
    """The indices of the cases on which Coq and Python differ."""
    text = "From Coq Require Import List ZArith QArith.\n"
    text += "From Olivine Require Import Formula Family Bridge.\n"
    text += "Import ListNotations.\nOpen Scope Z_scope.\n"
    for index, item in enumerate(cases):
        text += f"Definition case_{index} := {item}.\n"
    names = listed(f"case_{index}" for index in range(len(cases)))
    text += f"Eval vm_compute in disagreements {names}.\n"
    (folder / "Cases.v").write_text(text)
    shown = coq(folder, "Cases.v").split("= ", 1)[1].split(":", 1)[0]
    return [int(index) for index in re.findall(r"\d+", shown)]


@pytest.mark.long
def test_coq_computes_what_python_exports(compiled):
    families = [
        Family(formula.three_sat(), variant, penalty)
        for formula in formulas()
        for variant, penalty in VARIANTS
    ]
    assert len(families) == 5 * (3 + 9 + 14 + 196 + 9)
    assert disagreements(compiled, [case(family) for family in families]) == []


def test_coq_computes_a_few(compiled):
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
    assert disagreements(compiled, cases) == []


def test_the_comparison_notices_differences(compiled):
    three_sat = Formula.from_clauses([(1, -2), (2,)]).three_sat()
    family = Family(three_sat, Variant.NORMALIZED, SEVENTH)
    good = case(family)
    transitions = written_transitions(family.mdp())
    moved = transitions.replace("[1; 3; 1]", "[1; 4; 1]", 1)
    other_target = good.replace(transitions, moved)
    missing_row = good.replace(transitions, transitions.rsplit("; [", 1)[0] + "]")
    other_reward = good.replace("(6, 7)", "(5, 7)", 1)
    other_optimum = case(family, Fraction(1, 1000))
    cases = [good, other_target, missing_row, other_reward, other_optimum]
    assert len(set(cases)) == len(cases)
    assert disagreements(compiled, cases) == [1, 2, 3, 4]
