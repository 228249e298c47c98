"""False variants of proved statements fail to check, where docs/proofs.md says.

That they are false is proved in `proofs/FalseStatements.v`.
"""

from __future__ import annotations

import re
import shutil

import pytest

from tests.support.commands import ROOT
from tests.support.coq import PROOFS, built, coqc, needs_coq

FALSE = {
    "try_variable_value": (
        "Optimum",
        "g Start = Q2R (variable_reward c) + Q2R (top c) / 2.",
        "g Start = Q2R (variable_reward c) + Q2R (top c).",
    ),
    "spelled_vertex": (
        "Vertex",
        "if clause_true a (body w) then 1 else 2 / 3.",
        "if clause_true a (body w) then 1 else 1 / 2.",
    ),
    "optimum_paper": (
        "Optima",
        "hard_optimum (paper p) n f y (1 - Rmin (IZR u / (3 * W)) (Q2R p)).",
        "hard_optimum (paper p) n f y "
        "(1 - Rmin (IZR u / (3 * INR (length f))) (Q2R p)).",
    ),
    "strict_solve": ("Tolerance", "(3 / 2 + s / 3) * t.", "(3 / 2 + s / 4) * t."),
    "ceiling_small": (
        "Tolerance",
        "(9 - 5 * s) / (50 * (9 - 2 * s)).",
        "(9 - 5 * s) / (49 * (9 - 2 * s)).",
    ),
    "optimum_gap_within": ("Tolerance", "(1 / 4 + 2 * t / 3)).", "(1 / 4 + t / 3))."),
    "estimates_decide": (
        "Tolerance",
        "  3 * eta + s * (phi + eta) / 3 < s / 60.\nProof.",
        "  2 * eta + s * (phi + eta) / 3 < s / 60.\nProof.",
    ),
    "round_pair": ("StrictRounds", "gamma N < 1 / 50 + phi", "gamma N <= 1 / 50 + phi"),
    "fits_near": ("Strict", "0 <= g < 1 / 50 ->", "0 <= g < 1 / 49 ->"),
    "fiftieth_strays": ("StrictSharp", "1 / 50 <= g ->", "1 / 51 <= g ->"),
    "constant_accuracy": ("Strict", "eps <= 2 / 25", "eps <= 3 / 37"),
    "two_trees_exist": (
        "TwoStrict",
        "(forall x, second n f x -> deep (trees x) 3)",
        "(forall x, second n f x -> deep (trees x) 2)",
    ),
    "worth_bound": (
        "ForcedOptimum",
        "floor - u / (6000 * W).",
        "floor - u / (6001 * W).",
    ),
    "raise_end": (
        "ForcedRounds",
        "g Start = 131 / 2000 + floor + 1 / 180.",
        "g Start = 131 / 2000 + floor + 1 / 170.",
    ),
    "theorem_R": (
        "ForcedRuns",
        "follows r M rounds ds -> length rounds = (2 * (n + 2 * length f) + 5)%nat ->",
        "follows r M rounds ds -> length rounds = (2 * (n + 2 * length f) + 4)%nat ->",
    ),
    "critical_tolerance_of_eight_signs": (
        "FalseStatements",
        "optimum_within (1 / 740) strict",
        "optimum_within (1 / 741) strict",
    ),
}


@pytest.mark.coq
@needs_coq
@pytest.mark.parametrize("theorem", FALSE)
def test_a_false_statement_fails_at_its_theorem(tmp_path, theorem):
    name, true, false = FALSE[theorem]
    built(f"{name}.vo")  # and what it needs
    for compiled in PROOFS.glob("*.vo"):
        shutil.copy(compiled, tmp_path)
    text = (PROOFS / f"{name}.v").read_text()
    assert text.count(true) == 1
    changed = text.replace(true, false)
    file = tmp_path / f"{name}.v"
    file.write_text(changed)
    done = coqc(file, tmp_path)
    assert done.returncode != 0
    line = int(re.search(r"line (\d+), characters", done.stderr).group(1))
    before = "\n".join(changed.split("\n")[:line])
    names = re.findall(r"^ *(?:Theorem|Lemma|Corollary) (\w+)", before, re.M)
    assert names[-1] == theorem


def test_the_page_says_where():
    page = (ROOT / "docs" / "proofs.md").read_text()
    for theorem, (file, _, _) in FALSE.items():
        assert re.search(rf"`{theorem}`\s+in\s+{file}\.v", page)
