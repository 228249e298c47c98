import errno
import gzip
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from olivine.reduction.formula.dimacs import read_dimacs
from olivine.solvers.files import write_texts

from tests.support.certificates import replay
from tests.support.commands import CASES, expected, olivine
from tests.support.depth import deep, spread, with_rows
from tests.support.families import VARIANTS

SMALL = [
    (folder, row["file"])
    for folder in ("satlib", "cadical", "dense")
    for row in expected(folder)
    if row["three_sat"]["clauses"] <= 100
]
UNSATISFIABLE = CASES / "cadical" / "full3.cnf"
SATISFIABLE = CASES / "cadical" / "sat1.cnf"
ROUTES = ["--route", "sat", "--route", "maxsat", "--route", "witness"]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with a certificate of an unsatisfiable formula, and its proof."""
    folder = tmp_path_factory.mktemp("made")
    path = folder / "c.json"
    olivine("verify", UNSATISFIABLE, *ROUTES, "--certificate", path, status=0)
    return folder


@pytest.fixture
def certificate(made, tmp_path):
    """A certificate of the test's own."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    return tmp_path / "c.json"


@pytest.mark.parametrize(("folder", "name"), spread(SMALL, 3))
def test_verify_then_check(folder: str, name: str, tmp_path) -> None:
    file, path = CASES / folder / name, tmp_path / "c.json"
    variant = VARIANTS[len(name) % len(VARIANTS)]
    options = ["--variant", variant, *ROUTES, "--certificate", path, "--json"]
    made = olivine("verify", file, *options, status=0)
    assert made.record["certificate"]["file"] == str(path)
    assert made.record["certificate"]["reason"] == ""
    done = olivine("check", path, file, "--variant", variant, "--json", status=0)
    assert done.err == ""
    record = done.record
    assert record["valid"] is True
    assert record["reason"] == ""
    statement = record["statement"]
    assert statement["optimum"] == made.record["optimum"]
    assert statement["satisfiable"] == made.record["satisfiable"]
    assert statement["penalty"] == made.record["penalty"]


def test_output_for_people(certificate, tmp_path) -> None:
    done = olivine("check", certificate, UNSATISFIABLE, status=0)
    assert done.out == (
        "valid: variant paper, penalty 1/8\n"
        "satisfiable: no\n"
        "unsatisfied: 1\n"
        "optimum: 23/24\n"
    )
    capped = tmp_path / "capped.json"
    file = CASES / "dense" / "random1.cnf"
    made = olivine("verify", file, *ROUTES, "--certificate", capped)
    assert f"certificate in {capped}" in made.err
    olivine("check", capped, file, out="unsatisfied: 3 to 5\n")


def test_check_never_imports_the_rest(certificate) -> None:
    """Not even numpy, so that nothing of ours can help a certificate through."""
    script = (
        "import sys; from olivine.cli.main import command_line\n"
        "try: command_line()(sys.argv[1:])\n"
        "except SystemExit as done: assert done.code == 0\n"
        "home = 'olivine.reduction'\n"
        "known = {home, f'{home}.certificate', f'{home}.certificate.checker'}\n"
        "known |= {f'{home}.family', f'{home}.family.variants'}  # names, for --help\n"
        "ours = (home, 'olivine.algorithms', 'olivine.solvers', 'numpy', 'pysat')\n"
        "found = {m for m in sys.modules if m.startswith(ours)}\n"
        "assert found == known, found\n"
    )
    command = [sys.executable, "-c", script, "check", certificate, UNSATISFIABLE]
    done = subprocess.run(command, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()


def invalid(path: Path, file: Path, reason: str, *options: str) -> None:
    """Status 1 with the reason, as JSON and for people."""
    done = olivine("check", path, file, *options, "--json", status=1)
    assert done.record["valid"] is False
    assert done.record["statement"] is None
    assert reason in done.record["reason"]
    people = olivine("check", path, file, *options, status=1)
    assert people.out == ""
    assert reason in people.err


def test_another_formula_variant_or_proof_is_invalid(certificate):
    invalid(certificate, SATISFIABLE, "it is a certificate for another formula than ")
    invalid(certificate, UNSATISFIABLE, "variant paper, not gap", "--variant", "gap")
    invalid(certificate, UNSATISFIABLE, "penalty 1/8, not 1/9", "--penalty", "1/9")
    olivine("check", certificate, UNSATISFIABLE, "--penalty", "0.125", status=0)
    proof = Path(f"{certificate}.drat")
    proof.write_bytes(proof.read_bytes()[:-3])
    invalid(certificate, UNSATISFIABLE, "proof")
    proof.write_bytes(b"")
    invalid(certificate, UNSATISFIABLE, "proof")


@with_rows(
    "old, new, reason",
    ('"at_least": 1', '"at_least": 1.0', "1.0 is a floating-point number"),
    ('"at_least": 1', '"at_least": NaN', "NaN is a floating-point number"),
    ('"at_least": 1', '"at_least": 1, "at_least": 1', "'at_least' occurs twice"),
    ('"penalty": "1/8"', '"penalty": "1/' + "9" * 300 + '"', "sha256"),
    ('"at_most": 1', '"at_most": ' + "9" * 300, "too long"),
    ('"optimum": "23/24"', '"optimum": "24/24"', "sha256"),
    keep=3,
)
def test_damage(certificate, old: str, new: str, reason: str) -> None:
    text = certificate.read_text()
    assert old in text
    certificate.write_text(text.replace(old, new))
    invalid(certificate, UNSATISFIABLE, reason)


def unreadable(path: Path, file: Path, culprit: Path, reason: str) -> None:
    """Status 2 with the culprit and the reason, as JSON and for people."""
    done = olivine("check", path, file, "--json", status=2)
    assert set(done.record) == {"file", "error"}
    assert done.record["file"] == str(culprit)
    assert done.record["error"].startswith(f"{culprit}: ")
    assert reason in done.record["error"]
    olivine("check", path, file, status=2, err=reason)


def test_unreadable_inputs(certificate, tmp_path) -> None:
    none, garbage = tmp_path / "none", CASES / "odd" / "garbage.cnf"
    for bad, reason in ((none, "No such file"), (tmp_path, "Is a directory")):
        unreadable(bad, UNSATISFIABLE, bad, reason)
        unreadable(certificate, bad, bad, reason)
    unreadable(certificate, garbage, garbage, "")
    unreadable(UNSATISFIABLE, UNSATISFIABLE, UNSATISFIABLE, "no JSON")
    proof = Path(f"{certificate}.drat")
    proof.unlink()
    unreadable(certificate, UNSATISFIABLE, proof, "No such file")
    certificate.write_bytes(b"\xff\xfe\xff")
    unreadable(certificate, UNSATISFIABLE, certificate, "no JSON")
    certificate.write_text("[" * 100_000)
    unreadable(certificate, UNSATISFIABLE, certificate, "nested too deeply")


def test_swapped_arguments_and_hard_clauses_are_unreadable(certificate, tmp_path):
    unreadable(UNSATISFIABLE, certificate, certificate, "certificate comes first")
    assert "comes first" not in olivine("check", certificate, "no.cnf").err
    path = tmp_path / "f.wcnf"
    path.write_text("h 1 0\n2 -1 0\n")
    unreadable(certificate, path, path, "hard")


def test_standard_input_and_compression(certificate, tmp_path) -> None:
    text = UNSATISFIABLE.read_bytes()
    path = tmp_path / "f.cnf.gz"
    path.write_bytes(gzip.compress(text))
    olivine("check", certificate, path, status=0)
    olivine("check", certificate, "-", stdin=text, status=0)
    other = tmp_path / "d.json"
    olivine("verify", "-", "--certificate", other, "--json", stdin=text, status=0)
    assert other.read_bytes() == certificate.read_bytes()


def test_weighted_and_headerless(tmp_path) -> None:
    text = "7 1 0\n5 -1 0\n9 2 -1 0\n"
    named, plain = tmp_path / "f.wcnf", tmp_path / "f.txt"
    named.write_text(text)
    plain.write_text(text)
    path = tmp_path / "c.json"
    for variant in VARIANTS[:: deep(1, 4)]:
        options = ["--variant", variant, *ROUTES, "--certificate", path]
        olivine("verify", named, *options, status=0)
        olivine("check", path, named, status=0)
        olivine("check", path, plain, status=2)
        olivine("check", path, plain, "--input-format", "wcnf", status=0)


@pytest.mark.children
def test_no_proof_within_the_time_limit(tmp_path, monkeypatch) -> None:
    """The routes have all the time they need, the proof has none."""
    monkeypatch.setattr("olivine.reduction.certificate.certificate.SECONDS", 0.0005)
    path = tmp_path / "c.json"
    options = [*ROUTES, "--certificate", path]
    done = olivine("verify", UNSATISFIABLE, *options, "--json", status=3)
    assert done.record["optimum"] == "23/24"
    assert done.record["certificate"]["file"] is None
    assert "time limit" in done.record["certificate"]["reason"]
    assert not path.exists()
    olivine("verify", UNSATISFIABLE, *options, status=3, err="no certificate")


def test_no_certificate_of_an_unknown_optimum_or_over_its_input(tmp_path, monkeypatch):
    monkeypatch.setattr("olivine.reduction.verify.routes.FLIPS", 1000)
    path = tmp_path / "c.json"
    options = ["--variant", "gap", "--route", "witness", "--certificate", path]
    done = olivine("verify", UNSATISFIABLE, *options, "--json", status=3)
    assert "not known" in done.record["certificate"]["reason"]
    assert not path.exists()
    file = tmp_path / "f.cnf"
    file.write_bytes(SATISFIABLE.read_bytes())
    olivine("verify", file, "--certificate", file, status=2)
    assert file.read_bytes() == SATISFIABLE.read_bytes()
    nowhere = tmp_path / "none" / "c.json"
    olivine("verify", file, "--certificate", nowhere, "--json", status=2, error="none")


def test_without_a_bound_there_is_no_proof(tmp_path):
    path = tmp_path / "c.json"
    olivine("verify", SATISFIABLE, *ROUTES, "--certificate", path, status=0)
    assert json.loads(path.read_text())["proof"] is None
    assert not Path(f"{path}.drat").exists()
    proofs = tmp_path / "proofs"
    export = ("--export", proofs)
    olivine("check", path, SATISFIABLE, *export, status=0, err="refutes nothing")
    assert not proofs.exists()


@pytest.mark.long
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("folder", ["satlib", "cadical", "dense"])
def test_every_case(folder: str, variant: str, tmp_path) -> None:
    for row in expected(folder):
        file, path = CASES / folder / row["file"], tmp_path / f"{row['file']}.json"
        options = ["--variant", variant, *ROUTES, "--certificate", path]
        olivine("verify", file, *options, status=0)
        done = olivine("check", path, file, "--variant", variant, "--json", status=0)
        assert done.record["statement"]["optimum"] == row["optimum"][variant]
        assert done.record["seconds"] < 30


PROOF_FILES = ["README.txt", "bound.cnf", "bound.drat", "bound.lrat"]


def replayed(folder: Path) -> str:
    """Why an exported LRAT proof does not refute its formula; "" if it does."""
    formula = read_dimacs(folder / "bound.cnf", strict=True).formula
    lines = (folder / "bound.lrat").read_text("ascii").splitlines()
    return replay(formula.clauses(), lines)


def test_the_proof_in_standard_formats(certificate, tmp_path) -> None:
    folder = tmp_path / "new" / "proofs"
    olivine("check", certificate, UNSATISFIABLE, "--export", folder, status=0)
    assert sorted(p.name for p in folder.iterdir()) == PROOF_FILES
    assert replayed(folder) == ""
    assert (folder / "bound.drat").read_text() == Path(
        f"{certificate}.drat"
    ).read_text()
    assert "lrat-check bound.cnf bound.lrat" in (folder / "README.txt").read_text()


def test_an_invalid_certificate_exports_nothing(certificate, tmp_path) -> None:
    proof = Path(f"{certificate}.drat")
    proof.write_text("0\n")
    done = olivine("check", certificate, UNSATISFIABLE, "--export", tmp_path / "proofs")
    assert done.status == 1
    assert not (tmp_path / "proofs").exists()


def test_certificates_of_a_folder(tmp_path) -> None:
    """Each formula has a certificate of its own, and a folder of proofs."""
    source = tmp_path / "formulas"
    (source / "below").mkdir(parents=True)
    for file in (SATISFIABLE, UNSATISFIABLE):
        (source / "below" / file.name).write_bytes(file.read_bytes())
    (source / "bad.cnf").write_text("p cnf 1 1\n1\n")
    places = ["--certificate", tmp_path / "c", "--proofs", tmp_path / "p"]
    done = olivine("verify", source, *ROUTES, *places, "--json")
    assert done.status == 2  # of the bad one
    made = [r["certificate"] for r in done.records if "certificate" in r]
    assert [Path(m["file"]).parent for m in made] == [tmp_path / "c"] * 2
    for file in (SATISFIABLE, UNSATISFIABLE):
        path = tmp_path / "c" / f"{file.name}.json"
        olivine("check", path, file, status=0)
    assert {m["proofs"] for m in made} == {
        None,
        str(tmp_path / "p" / UNSATISFIABLE.name),
    }
    assert replayed(tmp_path / "p" / UNSATISFIABLE.name) == ""


def test_certificates_that_would_share_a_name_are_kept_apart(tmp_path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "f.cnf").write_text("p cnf 1 1\n1 0\n")
    olivine("verify", tmp_path, "--certificate", tmp_path / "c", status=0)
    for folder in ("a", "b"):
        assert (tmp_path / "c" / f"{folder}_f.cnf.json").is_file()
    (tmp_path / "a_f.cnf").write_text("p cnf 1 1\n1 0\n")
    done = olivine("verify", tmp_path, "--certificate", tmp_path / "d", status=2)
    assert "would both be written to" in done.err
    (tmp_path / "file").write_text("")
    done = olivine("verify", tmp_path, "--certificate", tmp_path / "file", status=2)
    assert "need a folder" in done.err
    olivine("verify", UNSATISFIABLE, "--proofs", "p", err="--certificate")


def test_an_export_never_stands_beside_a_newer_certificate(tmp_path) -> None:
    """Where nothing is refuted any more, or the export fails."""
    formula, c, folder = tmp_path / "f.cnf", tmp_path / "c.json", tmp_path / "p"
    verify = ["verify", formula, *ROUTES, "--certificate", c, "--proofs", folder]
    for file, left in [(UNSATISFIABLE, PROOF_FILES), (SATISFIABLE, [])] * 2:
        formula.write_bytes(file.read_bytes())
        olivine(*verify, status=0)
        assert sorted(p.name for p in folder.iterdir()) == left
    satisfiable = c.read_bytes()
    formula.write_bytes(UNSATISFIABLE.read_bytes())
    olivine(*verify, status=0)
    c.write_bytes(satisfiable)
    olivine("check", c, SATISFIABLE, "--export", folder, status=0)
    assert list(folder.iterdir()) == []


def test_proofs_that_cannot_be_written(tmp_path, monkeypatch) -> None:
    """The certificate is there, and the command says so."""

    def full(contents) -> None:
        if tmp_path / "p" / "bound.lrat" in contents:
            raise OSError(errno.ENOSPC, "No space left on device", "p/bound.lrat")
        write_texts(contents)

    monkeypatch.setattr("olivine.reduction.certificate.certificate.write_texts", full)
    places = ["--certificate", tmp_path / "c.json", "--proofs", tmp_path / "p"]
    done = olivine("verify", UNSATISFIABLE, *ROUTES, *places, "--json")
    made = done.record["certificate"]
    assert (done.status, made["file"], made["proofs"]) == (2, str(places[1]), None)
    assert made["reason"] == "no proofs: p/bound.lrat: No space left on device"
    assert f"certificate in {places[1]}, but no proofs: p/" in done.err
    olivine("check", places[1], UNSATISFIABLE, status=0)


def test_an_export_replaces_none_but_an_export(certificate, tmp_path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "README.txt").write_text("mine")
    places = ["--certificate", tmp_path / "d.json", "--proofs", folder]
    for command in (
        ["verify", UNSATISFIABLE, *ROUTES, *places],
        ["check", certificate, UNSATISFIABLE, "--export", folder],
    ):
        olivine(*command, status=2, err="no file of an earlier export")
    assert [p.read_text() for p in folder.iterdir()] == ["mine"]
    assert not (tmp_path / "d.json").exists()


@pytest.mark.parametrize("name", ["bound.cnf", "bound.lrat", "README.txt"])
def test_an_export_replaces_no_input_and_no_certificate(tmp_path, name) -> None:
    folder = tmp_path / "p"
    folder.mkdir()
    formula, certificate = folder / name, tmp_path / "c.json"
    formula.write_bytes(UNSATISFIABLE.read_bytes())
    places = ["--certificate", certificate, "--proofs", folder]
    olivine("verify", formula, *ROUTES, *places, status=2, err="is the input itself")
    olivine("verify", formula, *ROUTES, *places[:2], status=0)
    done = olivine("check", certificate, formula, "--export", folder)
    assert (done.status, "is the input itself" in done.err) == (2, True)
    assert formula.read_bytes() == UNSATISFIABLE.read_bytes()
    inside = ["--certificate", folder / "bound.drat", "--proofs", folder]
    done = olivine("verify", UNSATISFIABLE, *ROUTES, *inside)
    assert (done.status, "are the same file" in done.err) == (2, True)
    assert sorted(p.name for p in folder.iterdir()) == [name]


def test_proofs_need_folders_of_their_own(tmp_path) -> None:
    """A file lies there, or the next run would read its formula."""
    source, other = tmp_path / "in", tmp_path / "other"
    for folder in (source, other):
        folder.mkdir()
        (folder / "a.cnf").write_bytes(UNSATISFIABLE.read_bytes())
    (tmp_path / "link").symlink_to(source)
    for place, words in (
        (other, "Not a directory"),
        (source, "whose formulas are read"),
        (tmp_path / "link" / "new", "whose formulas are read"),
    ):
        places = ["--certificate", tmp_path / "c", "--proofs", place]
        olivine("verify", source, *ROUTES, *places, status=2, err=words)
    assert [p.name for p in source.iterdir()] == ["a.cnf"]
    assert (other / "a.cnf").read_bytes() == UNSATISFIABLE.read_bytes()
