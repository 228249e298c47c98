"""docs/proofs.md and proofs/Theorems.v name the same theorems, and Coq checks them."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest

from tests.support.commands import ROOT
from tests.support.coq import PROOFS, coqc, make, needs_coq

PAGE = (ROOT / "docs" / "proofs.md").read_text()
LISTED = re.findall(
    r"^Print Assumptions (\w+)\.", (PROOFS / "Theorems.v").read_text(), re.M
)
ROWS = re.findall(r"^\| (.+) \| `(\w+)` \| (\w+\.v) \|$", PAGE, re.M)


def test_the_page_lists_the_theorems_that_are_checked() -> None:
    assert sorted(name for _, name, _ in ROWS) == sorted(LISTED)
    assert len(set(LISTED)) == len(LISTED)


@pytest.mark.parametrize(("statement", "name", "file"), ROWS, ids=[r[1] for r in ROWS])
def test_the_theorem_is_in_its_file(statement: str, name: str, file: str) -> None:
    assert statement
    text = (PROOFS / file).read_text()
    assert re.search(rf"^ *(Theorem|Lemma|Corollary) {name}\b", text, re.M)


@pytest.mark.coq
@needs_coq
def test_assumptions() -> None:
    done = make("check-assumptions")
    assert done.returncode == 0, done.stdout + done.stderr
    for name in LISTED:
        assert f"{name}: " in done.stdout


@pytest.mark.coq
@needs_coq
@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Lemma hole : False. Admitted.\n", "unfinished"),
        ("Axiom hole : False.\n", "unfinished"),
        (
            "Require Import Classical.\n"
            "Lemma hole : forall P : Prop, P \\/ ~ P. Proof. apply classic. Qed.\n"
            "Print Assumptions hole.\n",
            "rests on classic",
        ),
    ],
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
