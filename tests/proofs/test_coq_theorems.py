"""docs/proofs.md and proofs/Theorems.v name the same theorems, and Coq checks them.

Names alone would pin nothing: what Coq prints for each statement, and for each
definition under it, is compared with proofs/statements.txt.
"""

from __future__ import annotations

import re
import runpy
import shutil
import subprocess

import pytest

from tests.support.commands import ROOT
from tests.support.coq import PROOFS, built, coqc, make, needs_coq
from tests.support.depth import with_rows

PAGE = (ROOT / "docs" / "proofs.md").read_text()
LISTED = re.findall(
    r"^Print Assumptions (\w+)\.", (PROOFS / "Theorems.v").read_text(), re.M
)
ROWS = re.findall(r"^\| (.+) \| `(\w+)` \| (\w+\.v) \| (none|ℝ) \|$", PAGE, re.M)


def test_the_page_lists_the_theorems_that_are_checked() -> None:
    assert sorted(name for _, name, *_ in ROWS) == sorted(LISTED)
    assert len(set(LISTED)) == len(LISTED)


@pytest.mark.parametrize(("name", "file"), [row[1:3] for row in ROWS])
def test_the_theorem_is_in_its_file(name: str, file: str) -> None:
    text = (PROOFS / file).read_text()
    assert re.search(rf"^ *(Theorem|Lemma|Corollary) {name}\b", text, re.M)


@pytest.mark.coq
@needs_coq
def test_the_statements_are_those_committed() -> None:
    done = make("check-statements")
    assert done.returncode == 0, done.stdout + done.stderr


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
    module = theorem.partition(".")[0]
    built(f"{module}.vo")
    for compiled in PROOFS.glob("*.vo"):
        shutil.copy(compiled, tmp_path)
    true, false = MUTANTS[theorem]
    text = (PROOFS / f"{module}.v").read_text()
    assert text.count(true) == 1
    file = tmp_path / f"{module}.v"
    file.write_text(text.replace(true, false))
    done = coqc(file, tmp_path)
    assert done.returncode == 0, done.stderr
    printed = runpy.run_path(str(PROOFS / "statements.py"))["printed"]
    committed = (PROOFS / "statements.txt").read_text()
    blocks = printed([theorem], tmp_path).split("\n\n")
    assert any(block.strip() not in committed for block in blocks[1:])
    blocks = printed([theorem]).split("\n\n")
    assert all(block.strip() in committed for block in blocks[1:])


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
