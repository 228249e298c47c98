"""Three false variants of proved statements fail to check, where docs/proofs.md says.

That they are false is proved in `proofs/FalseStatements.v`.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROOFS = ROOT / "proofs"
ORDER = ["Formula", "Family", "Sums", "Vertex", "Optimum", "Brute", "Optima"]

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
}


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """The unchanged files, compiled in a folder of their own."""
    folder = tmp_path_factory.mktemp("coq")
    for name in ORDER:
        shutil.copy(PROOFS / f"{name}.v", folder)
        done = compile_file(folder, name)
        assert done.returncode == 0, done.stderr
    return folder


def compile_file(folder, name):
    return subprocess.run(
        ["coqc", "-Q", ".", "Olivine", f"{name}.v"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.long
@pytest.mark.skipif(shutil.which("coqc") is None, reason="Coq is missing")
@pytest.mark.parametrize("theorem", FALSE)
def test_a_false_statement_fails_at_its_theorem(compiled, tmp_path, theorem):
    file, true, false = FALSE[theorem]
    folder = tmp_path / "coq"
    shutil.copytree(compiled, folder)
    text = (folder / f"{file}.v").read_text()
    assert text.count(true) == 1
    changed = text.replace(true, false)
    (folder / f"{file}.v").write_text(changed)
    done = compile_file(folder, file)
    assert done.returncode != 0
    line = int(re.search(r"line (\d+), characters", done.stderr).group(1))
    before = "\n".join(changed.split("\n")[:line])
    names = re.findall(r"^ *(?:Theorem|Lemma|Corollary) (\w+)", before, re.M)
    assert names[-1] == theorem


def test_the_page_says_where():
    page = (ROOT / "docs" / "proofs.md").read_text()
    for theorem, (file, _, _) in FALSE.items():
        assert re.search(rf"`{theorem}`\s+in\s+{file}\.v", page)
