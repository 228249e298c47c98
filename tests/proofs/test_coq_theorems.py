"""docs/proofs.md, the ledger and proofs/Theorems.v name the same, and Coq checks it.

Names alone would pin nothing: what Coq prints for each statement, and for each
definition under it, is compared with proofs/statements.txt. False variants of proved
statements fail to check, where docs/proofs.md says; that they are false is proved in
`proofs/FalseStatements.v`.
"""

from __future__ import annotations

import re
import runpy
import shutil
import subprocess

import pytest
from olivine.claims import PROOFS as CLAIMED
from olivine.claims import digest, load

from tests.support.commands import ROOT
from tests.support.coq import PROOFS, built, coqc, make, needs_coq
from tests.support.depth import with_rows

PAGE = (ROOT / "docs" / "proofs.md").read_text()
LISTED = re.findall(
    r"^Print Assumptions (\w+)\.", (PROOFS / "Theorems.v").read_text(), re.M
)
OPENING = r"^ *(?:Theorem|Lemma|Corollary) "
ROWS = re.findall(r"^\| (.+) \| `(\w+)` \| (\w+\.v) \| (none|ℝ) \|$", PAGE, re.M)


def test_the_page_lists_the_theorems_that_are_checked() -> None:
    assert sorted(name for _, name, *_ in ROWS) == sorted(LISTED)
    assert len(set(LISTED)) == len(LISTED)


@pytest.mark.parametrize(("name", "file"), [row[1:3] for row in ROWS])
def test_the_theorem_is_in_its_file(name: str, file: str) -> None:
    text = (PROOFS / file).read_text()
    assert re.search(rf"{OPENING}{name}\b", text, re.M)


@pytest.mark.parametrize("name", sorted(CLAIMED))
def test_an_entry_names_theorems_and_its_statement_is_the_one_proved(name):
    (entry,) = [e for e in load() if e.id == name]
    assert digest(entry.statement) == CLAIMED[name].statement, (
        "hold the new statement against the theorem, then renew its digest"
    )
    sources = "".join(file.read_text("utf-8") for file in PROOFS.glob("*.v"))
    for theorem in CLAIMED[name].theorems:
        assert theorem in LISTED
        assert f"`{theorem}`" in PAGE
        assert re.search(rf"{OPENING}{theorem}\b", sources, re.M)


@pytest.mark.coq
@needs_coq
def test_the_statements_are_those_committed() -> None:
    done = make("check-statements")
    assert done.returncode == 0, done.stdout + done.stderr


def changed(module, true, false, folder):
    """Compile a changed file beside what it needs; its text, and how it went."""
    built(f"{module}.vo")
    for compiled in PROOFS.glob("*.vo"):
        shutil.copy(compiled, folder)
    text = (PROOFS / f"{module}.v").read_text()
    assert text.count(true) == 1
    file = folder / f"{module}.v"
    file.write_text(text.replace(true, false))
    return file.read_text(), coqc(file, folder)


MUTANTS = {
    "Multi.multi_size": (
        "Theorem multi_size f :",
        "Theorem multi_size : True. Proof. exact I. Qed.\n"
        "Theorem multi_size_before f :",
    ),
    "Multi.multi_decides_three_sat": (  # a definition under the statement
        "DataSet (map (fun l => Example (variable l) (falsified l)) (body w)) (2 # 3).",
        "DataSet (map (fun l => Example (variable l) (falsified l)) (body w)) (4 # 6).",
    ),
    "StrictAny.any_level_strays": (
        "Theorem any_level_strays : exists g pi h,",
        "Theorem any_level_strays : exists k, k = 0%nat.\n"
        "Proof. exists 0%nat. reflexivity. Qed.\n"
        "Theorem any_level_strays_before : exists g pi h,",
    ),
}


@pytest.mark.coq
@needs_coq
@pytest.mark.parametrize("theorem", MUTANTS)
def test_a_weaker_statement_shows(theorem: str, tmp_path) -> None:
    """The name, the English text and the axioms stay; what Coq prints does not."""
    _, done = changed(theorem.partition(".")[0], *MUTANTS[theorem], tmp_path)
    assert done.returncode == 0, done.stderr
    printed = runpy.run_path(str(PROOFS / "statements.py"))["printed"]
    committed = (PROOFS / "statements.txt").read_text()
    blocks = printed([theorem], tmp_path).split("\n\n")
    assert any(block.strip() not in committed for block in blocks[1:])
    blocks = printed([theorem]).split("\n\n")
    assert all(block.strip() in committed for block in blocks[1:])


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
    text, done = changed(*FALSE[theorem], tmp_path)
    assert done.returncode != 0
    line = int(re.search(r"line (\d+), characters", done.stderr).group(1))
    names = re.findall(rf"{OPENING}(\w+)", "\n".join(text.split("\n")[:line]), re.M)
    assert names[-1] == theorem


def test_the_page_says_where():
    for theorem, (file, _, _) in FALSE.items():
        assert re.search(rf"`{theorem}`\s+in\s+{file}\.v", PAGE)


@pytest.mark.coq
@needs_coq
def test_assumptions() -> None:
    done = make("check-assumptions")
    assert done.returncode == 0, done.stdout + done.stderr
    answers = {"none": "no axiom", "ℝ": "axioms of the real numbers"}
    for _, name, _, axioms in ROWS:
        assert f"\n{name}: {answers[axioms]}\n" in done.stdout


@pytest.mark.coq
@needs_coq
@with_rows(
    "text, reason",
    ("Lemma hole : False. Admitted.\n", "unfinished"),
    ("Axiom hole : False.\n", "unfinished"),
    (
        "Require Import Classical.\n"
        "Lemma hole : forall P : Prop, P \\/ ~ P. Proof. apply classic. Qed.\n"
        "Print Assumptions hole.\n",
        "rests on classic",
    ),
)
def test_a_hole_is_found(text: str, reason: str, tmp_path) -> None:
    """In a copy whose list of theorems is just the hole."""
    shutil.copy(PROOFS / "check_assumptions.sh", tmp_path)
    theorems = tmp_path / "Theorems.v"
    theorems.write_text(text)
    (tmp_path / "assumptions.txt").write_text(coqc(theorems).stdout)
    done = subprocess.run(
        [str(tmp_path / "check_assumptions.sh")], capture_output=True, text=True
    )
    assert done.returncode == 1
    assert reason in done.stdout + done.stderr
