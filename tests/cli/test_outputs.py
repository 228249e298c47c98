"""Where output may go; devices are played by pipes."""

import errno
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.commands import CASES, ROOT, olivine
from tests.support.depth import with_rows

UNSATISFIABLE = CASES / "cadical" / "full3.cnf"
SATISFIABLE = CASES / "cadical" / "sat1.cnf"
ROUTES = ["--route", "sat", "--route", "maxsat", "--route", "witness"]


@pytest.fixture
def formula(tmp_path) -> Path:
    return Path(shutil.copy(UNSATISFIABLE, tmp_path / "in.cnf"))


@pytest.mark.parametrize("kind", ["same", "symbolic", "hard", "via"])
@pytest.mark.parametrize("verb", ["report", "certificate", "proof"])
def test_the_input_is_never_replaced(formula, tmp_path, verb: str, kind: str) -> None:
    before = formula.read_bytes()
    out = formula if kind == "same" else tmp_path / "out.drat"
    if kind == "symbolic":
        out.symlink_to(formula)
    elif kind == "hard":
        out.hardlink_to(formula)
    elif kind == "via":
        (tmp_path / "folder").mkdir()
        out = tmp_path / "folder" / ".." / "in.cnf"
    if verb == "report":
        done = olivine("report", formula, "-o", out, "--json")
    else:
        if verb == "proof":
            if out.suffix != ".drat":
                out = Path(shutil.move(formula, tmp_path / "c.drat"))
                formula = out
            out = out.with_suffix("")
        done = olivine("verify", formula, *ROUTES, "--certificate", out, "--json")
    assert done.status == 2
    assert "is the input itself" in done.record["error"]
    assert formula.read_bytes() == before


@pytest.mark.parametrize("kind", ["same", "symbolic", "hard", "via"])
@pytest.mark.parametrize("verb", ["sweep", "sweep input", "curves", "verify"])
def test_outputs_of_one_command_never_replace_each_other(
    tmp_path, verb: str, kind: str
) -> None:
    one, other = tmp_path / "a.svg", tmp_path / "b.svg"
    if verb == "verify":
        one, other = tmp_path / "c", tmp_path / "c.drat"
    one.write_bytes(b"")
    if kind == "same" and verb != "verify":
        other = one
    elif kind == "via" and verb != "verify":
        (tmp_path / "folder").mkdir()
        other = tmp_path / "folder" / ".." / one.name
    elif kind == "hard":
        other.hardlink_to(one)
    else:
        other.symlink_to(one)
    file = tmp_path / "sweep.toml"
    text = 'kind = "formulas"\nrandom = {variables = 3, ratios = 1}\n'
    if verb == "sweep input":
        text, words = text + f'files = ["{one}"]', "is the input itself"
    else:
        words = "are the same file"
    file.write_text(text)
    arguments = {
        "sweep": ("sweep", file, "-o", one, "--figure", other),
        "sweep input": ("sweep", file, "-o", other),
        "curves": (
            "curves", "--algorithms", "rmax", "--env", "grid", "--seeds", 1,
            "-o", one, "--rows", other,
        ),
        "verify": ("verify", SATISFIABLE, *ROUTES, "--certificate", one),
    }  # fmt: skip
    if verb == "curves":  # of two suffixes, so links alone can be one file
        if kind in ("same", "via"):
            return
        other = other.rename(tmp_path / "b.jsonl")
        arguments["curves"] = (*arguments["curves"][:-1], other)
    olivine(*arguments[verb], status=2, err=words)
    assert one.read_bytes() == b""


@with_rows(
    "arguments",
    ("report", SATISFIABLE, "-o", "-"),
    ("draw", SATISFIABLE, "-o", "-"),
    ("verify", SATISFIABLE, "--certificate", "-"),
    ("barrier", "average", "-o", "-"),
)
def test_a_dash_is_no_file(arguments, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    olivine(*arguments, status=2)
    assert list(tmp_path.iterdir()) == []


def test_redirected_input_is_never_replaced(formula) -> None:
    before = formula.read_bytes()
    with open(formula, "rb") as source:
        done = subprocess.run(
            [sys.executable, "-m", "olivine", "report", "-", "-o", str(formula)],
            stdin=source,
            capture_output=True,
            check=False,
            cwd=ROOT,
        )
    assert done.returncode == 2
    assert formula.read_bytes() == before


def test_generate_replaces_neither_input_nor_pipe(tmp_path):
    out = tmp_path / "out"
    olivine("generate", UNSATISFIABLE, "-o", out, "--format", "dot", status=0)
    before = {file.name: file.read_bytes() for file in out.iterdir()}
    done = olivine("generate", out / "three_sat.cnf", "-o", out, "--force")
    assert done.status == 2
    assert "is the input itself" in done.err
    assert {file.name: file.read_bytes() for file in out.iterdir()} == before
    pipes = tmp_path / "pipes"
    pipes.mkdir()
    os.mkfifo(pipes / "three_sat.cnf")
    done = olivine("generate", UNSATISFIABLE, "-o", pipes, "--force")
    assert done.status == 2
    assert "not a regular file" in done.err
    assert [file.name for file in pipes.iterdir()] == ["three_sat.cnf"]


@pytest.mark.parametrize("kind", ["pipe", "link to pipe", "folder", "circle"])
@pytest.mark.parametrize("which", ["report", "certificate", "proof"])
def test_only_regular_files_are_replaced(
    tmp_path, which: str, kind: str, monkeypatch
) -> None:
    monkeypatch.setattr(
        "olivine.reduction.verify.verification.verify_instance", None
    )  # no work
    place = tmp_path / "c.drat"
    if (which, kind) == ("certificate", "folder"):
        kind = "pipe"  # a folder takes certificates
    if kind == "pipe":
        os.mkfifo(place)
    elif kind == "link to pipe":
        os.mkfifo(tmp_path / "pipe")
        place.symlink_to("pipe")
    elif kind == "folder":
        place.mkdir()
    else:
        place.symlink_to("c.drat")
    before = {file.name: file.lstat().st_mode for file in tmp_path.iterdir()}
    if which == "report":
        done = olivine("report", UNSATISFIABLE, "-o", place)
    else:
        path = place if which == "certificate" else tmp_path / "c"
        done = olivine("verify", UNSATISFIABLE, "--certificate", path)
    assert done.status == 2
    assert done.err.startswith(f"olivine: {place}: ")
    after = {file.name: file.lstat().st_mode for file in tmp_path.iterdir()}
    assert after == before


def test_links_are_followed(tmp_path) -> None:
    (tmp_path / "there").mkdir()
    link, end = tmp_path / "page.html", tmp_path / "there" / "end"
    link.symlink_to(Path("there") / "end")
    for _ in range(2):  # at first the link leads nowhere
        olivine("report", SATISFIABLE, "-o", link, status=0)
        assert link.is_symlink()
        assert end.read_text().startswith("<!DOCTYPE")
        assert [file.name for file in end.parent.iterdir()] == ["end"]
        end.write_text("old")


def test_a_certificate_that_fails_leaves_nothing(tmp_path, monkeypatch) -> None:
    real, path = os.replace, tmp_path / "c.json"

    def replace(old, new):
        if Path(new).name == path.name:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(old))
        real(old, new)

    monkeypatch.setattr(os, "replace", replace)
    done = olivine("verify", UNSATISFIABLE, *ROUTES, "--certificate", path)
    assert done.status == 2
    assert f"no certificate: {path}: No space left on device" in done.err
    assert list(tmp_path.iterdir()) == []


def test_a_satisfiable_certificate_drops_the_former_proof(tmp_path) -> None:
    path = tmp_path / "c.json"
    (tmp_path / "d.json.drat").write_text("another's")
    for file, names in (
        (UNSATISFIABLE, {"c.json", "c.json.drat", "d.json.drat"}),
        (SATISFIABLE, {"c.json", "d.json.drat"}),
    ):
        olivine("verify", file, *ROUTES, "--certificate", path, status=0)
        assert {made.name for made in tmp_path.iterdir()} == names
        olivine("check", path, file, status=0)
