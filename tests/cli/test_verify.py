import bz2
import gzip
import json
import lzma
import os
import shutil
import subprocess
import sys

import pytest

from tests.support.commands import CASES, ROOT, expected, olivine, run_olivine

VARIANTS = ["paper", "normalized", "gap", "all-levels", "strict"]
FOLDERS = ["satlib", "cadical", "dense"]
ROWS = [(folder, row) for folder in FOLDERS for row in expected(folder)]
# One variant each by default, all of them under the marker long.
SMALL = [
    (folder, row, VARIANTS[k % len(VARIANTS)])
    for k, (folder, row) in enumerate(ROWS)
    if row["three_sat"]["clauses"] <= 60
]


def check(record: dict, row: dict, variant: str) -> None:
    """Hold a record against a row of expected.jsonl."""
    for key in ("variables", "clauses", "three_sat", "satisfiable", "unsatisfied"):
        assert record[key] == row[key], key
    assert record["optimum"] == row["optimum"][variant]
    assert record["variant"] == variant
    assert record["agree"] is True
    assert record["optimum_by"]


def check_schema(record: dict) -> None:
    assert set(record) == {
        "file",
        "variables",
        "clauses",
        "three_sat",
        "variant",
        "penalty",
        "satisfiable",
        "unsatisfied",
        "optimum",
        "optimum_by",
        "routes",
        "agree",
        "warnings",
        "seed",
        "seconds",
    }
    for found in record["routes"].values():
        assert {"status", "value", "seconds"} <= set(found)
        assert isinstance(found["seconds"], float)


@pytest.mark.parametrize(
    ("folder", "row", "variant"),
    SMALL,
    ids=lambda v: v if isinstance(v, str) else v["file"],
)
def test_small_cases_are_met_exactly(folder: str, row: dict, variant: str) -> None:
    file = CASES / folder / row["file"]
    done = olivine("verify", file, "--variant", variant, "--json")
    assert done.status == 0
    assert done.err == ""
    record = done.record
    check_schema(record)
    check(record, row, variant)
    assert record["file"] == str(file)


def test_larger_cases_are_met_exactly_by_the_exact_routes() -> None:
    folders = [CASES / folder for folder in FOLDERS]
    routes = ["--route", "sat", "--route", "maxsat", "--route", "witness"]
    done = olivine("verify", *folders, *routes, "--json")
    assert done.status == 0
    by_file = {record["file"]: record for record in done.records}
    assert len(by_file) == len(ROWS)
    for folder, row in ROWS:
        check(by_file[str(CASES / folder / row["file"])], row, "paper")


@pytest.mark.long
@pytest.mark.parametrize("variant", VARIANTS)
def test_all_cases_are_met_exactly(variant: str) -> None:
    folders = [CASES / folder for folder in FOLDERS]
    done = olivine("verify", *folders, "--variant", variant, "--json")
    assert done.status == 0
    by_file = {record["file"]: record for record in done.records}
    assert len(by_file) == len(ROWS)
    for folder, row in ROWS:
        check(by_file[str(CASES / folder / row["file"])], row, variant)


@pytest.mark.parametrize("row", expected("odd"), ids=lambda row: row["file"])
def test_odd_inputs(row: dict) -> None:
    file = CASES / "odd" / row["file"]
    exact = ["--route", "sat", "--route", "maxsat", "--route", "witness"]
    done = olivine("verify", file, "--json", *exact)
    record = done.record
    assert "Traceback" not in done.err
    if not row["accepted"]:
        assert done.status == 2
        assert set(record) == {"file", "error"}
        assert record["error"].startswith(f"{file}:")
        return
    assert done.status == 0
    assert record["satisfiable"] == row["satisfiable"]
    assert record["variables"] == row["variables"]
    assert record["clauses"] == row["clauses"]
    assert record["agree"] is True
    assert bool(record["warnings"]) == row["warns"]
    assert bool(done.err) == row["warns"]
    strict = olivine("solve", file, "--json", "--strict")
    assert ("error" in strict.record) == row["warns"]
    assert (strict.status == 2) == row["warns"]


def test_a_folder_with_bad_files_goes_on() -> None:
    done = olivine("verify", CASES / "odd", "--json", "--route", "sat")
    assert done.status == 2
    rows = {str(CASES / "odd" / row["file"]): row for row in expected("odd")}
    assert [r["file"] for r in done.records] == sorted(rows)
    for record in done.records:
        assert ("error" not in record) == rows[record["file"]]["accepted"]


def test_the_table_says_the_same() -> None:
    files = [CASES / "dense", CASES / "odd" / "garbage.cnf"]
    done = olivine("verify", *files, "--route", "maxsat", "--route", "witness")
    assert done.status == 2
    for row in expected("dense"):
        assert row["file"] in done.out
        assert row["optimum"]["paper"] in done.out
    assert "5 agree, 1 errors" in done.out
    assert "garbage.cnf:1:" in done.err


def test_a_single_file_shows_its_routes() -> None:
    done = olivine("verify", CASES / "cadical" / "full3.cnf")
    assert done.status == 0
    for word in ("23/24", "sat", "maxsat", "milp", "brute", "witness"):
        assert word in done.out
    assert done.err == ""


def test_standard_input() -> None:
    text = (CASES / "cadical" / "full3.cnf").read_bytes()
    done = olivine("verify", "-", "--json", stdin=text)
    assert done.status == 0
    assert done.record["file"] == "-"
    assert done.record["optimum"] == "23/24"


@pytest.mark.parametrize(
    ("suffix", "compress"),
    [(".gz", gzip.compress), (".bz2", bz2.compress), (".xz", lzma.compress)],
)
def test_compressed_files_in_folders(tmp_path, suffix, compress) -> None:
    text = (CASES / "cadical" / "full3.cnf").read_bytes()
    (tmp_path / f"full3.cnf{suffix}").write_bytes(compress(text))
    done = olivine("verify", tmp_path, "--json", "--route", "sat", "--route", "witness")
    assert done.status == 0
    assert done.record["optimum"] == "23/24"


def test_jobs_give_the_same_in_the_same_order() -> None:
    arguments = ["--route", "sat", "--route", "maxsat", "--json"]
    files = [CASES / "dense", CASES / "odd" / "garbage.cnf", "no-such-file", "-"]
    text = b"p cnf 1 1\n1 0\n"

    def lines(*more):
        done = olivine("verify", *files, *arguments, *more, stdin=text)
        records = done.records
        for record in records:
            record.pop("seconds", None)
            for route in record.get("routes", {}).values():
                del route["seconds"]
        return done.status, records

    assert lines() == lines("--jobs", "2")


def test_hard_clauses_are_refused(tmp_path) -> None:
    file = tmp_path / "hard.wcnf"
    file.write_text("h 1 0\n3 -1 0\n")
    for verb in (["verify"], ["solve"], ["generate", "-o", tmp_path / "out"]):
        done = olivine(*verb, file, "--json")
        assert done.status == 2
        assert "hard" in done.record["error"]
        assert done.record["error"].startswith(f"{file}: ")
    assert not (tmp_path / "out").exists()


def test_weighted_formulas(tmp_path) -> None:
    file = tmp_path / "soft.wcnf"
    file.write_text("5 1 0\n3 -1 0\n2 2 0\n")
    done = olivine("verify", file, "--variant", "gap", "--json")
    assert done.status == 0
    assert done.record["unsatisfied"] == 3
    assert done.record["optimum"] == "37/40"
    assert done.record["agree"] is True


def test_an_unknown_name_of_weights_can_be_told(tmp_path) -> None:
    file = tmp_path / "soft"
    file.write_text("5 1 0\n3 -1 0\n")
    assert olivine("verify", file, "--json").status == 2
    done = olivine("verify", file, "--input-format", "wcnf", "--json")
    assert done.status == 0
    assert done.record["unsatisfied"] == 3


@pytest.mark.parametrize("penalty", ["1", "1/3", "0.25", "1/100"])
def test_penalties(penalty: str) -> None:
    file = CASES / "cadical" / "full3.cnf"
    done = olivine("verify", file, "--penalty", penalty, "--json")
    assert done.status == 0
    assert done.record["optimum"] == ("99/100" if penalty == "1/100" else "23/24")
    assert done.record["agree"] is True


def test_max_variables() -> None:
    file = CASES / "cadical" / "prime4.cnf"
    done = olivine("verify", file, "--max-variables", "19", "--json")
    assert done.status == 2
    assert f"{file}:" in done.record["error"]


def test_limits_too_short_leave_it_undecided() -> None:
    file = CASES / "cadical" / "full3.cnf"
    done = olivine("verify", file, "--time-limit", "1e-9", "--route", "sat", "--json")
    assert done.status == 3
    record = done.record
    assert record["satisfiable"] is record["optimum"] is record["agree"] is None
    assert record["routes"]["sat"]["status"] == "unknown"
    assert "time limit" in record["routes"]["sat"]["reason"]


def test_a_killed_solver_is_unknown(monkeypatch) -> None:
    import os
    import signal

    from olivine.solvers import sat

    def die(*arguments):
        os.kill(os.getpid(), signal.SIGKILL)

    monkeypatch.setattr(sat, "_solve", die)
    file = CASES / "cadical" / "full3.cnf"
    done = olivine("verify", file, "--route", "sat", "--json")
    assert done.status == 3
    assert done.record["routes"]["sat"]["status"] == "unknown"
    assert "SIGKILL" in done.record["routes"]["sat"]["reason"]


def test_a_contradiction_is_reported(monkeypatch) -> None:
    import olivine.reduction.verify.routes as routes
    from olivine.solvers.outcome import MaxSatOutcome, SatStatus

    def wrong(formula, n_variables, weights, **options):
        import numpy as np

        model = np.zeros(n_variables, dtype=np.bool_)
        return MaxSatOutcome(SatStatus.SATISFIABLE, 2, model, 0.0, "wrong")

    monkeypatch.setattr(routes, "solve_maxsat", wrong)
    file = CASES / "cadical" / "full3.cnf"
    done = olivine("verify", file, CASES / "odd" / "garbage.cnf", "--json")
    assert done.status == 1
    first = done.records[0]
    assert first["agree"] is False
    assert first["optimum"] is None
    assert first["contradictions"]
    assert "please report" in done.err


def test_our_own_failure_is_no_bad_input(monkeypatch) -> None:
    import olivine.reduction.verify.verification as verification

    def broken(*arguments, **options):
        raise ValueError("a bug")

    monkeypatch.setattr(verification, "verify_instance", broken)
    files = [CASES / "cadical" / "full3.cnf", CASES / "odd" / "garbage.cnf"]
    done = olivine("verify", *files, "--json")
    assert done.status == 1
    assert "internal error: ValueError: a bug" in done.records[0]["error"]
    assert len(done.records) == 2


def test_file_names_that_are_no_text(tmp_path) -> None:
    name = b"\xff[red]\n.cnf"
    shutil.copy(CASES / "cadical" / "full3.cnf", bytes(tmp_path) + b"/" + name)
    done = run_olivine("verify", tmp_path, "--json", "--route", "sat")
    assert json.loads(done.out)["file"].endswith("\udcff[red]\n.cnf")
    table = run_olivine("verify", tmp_path, "--route", "sat", "--route", "witness")
    assert table.status == 0
    assert "[red]" in table.out


def test_progress_goes_to_standard_error_only(tmp_path) -> None:
    done = run_olivine("verify", CASES / "dense", "--json", "--route", "sat")
    assert len(done.records) == 5
    assert done.err == ""


def test_pipes_in_folders_are_not_opened(tmp_path) -> None:
    os.mkfifo(tmp_path / "a.cnf")
    (tmp_path / "b.cnf").symlink_to("a.cnf")
    (tmp_path / "c.cnf").symlink_to("nowhere")
    (tmp_path / "d.cnf").write_text("p cnf 1 1\n1 0\n")
    done = olivine("verify", tmp_path, "--route", "sat", "--json")
    assert done.status == 2
    *errors, last = done.records
    assert [record["error"] for record in errors] == [
        f"{tmp_path / 'a.cnf'}: not a regular file",
        f"{tmp_path / 'b.cnf'}: not a regular file",
        f"{tmp_path / 'c.cnf'}: No such file or directory",
    ]
    assert last["satisfiable"] is True


def test_a_pipe_that_is_named_is_read() -> None:
    line = (
        f"{sys.executable} -m olivine verify --route sat --json "
        "<(printf 'p cnf 1 1\\n1 0\\n')"
    )
    done = subprocess.run(
        ["bash", "-c", line], capture_output=True, cwd=ROOT, check=True
    )
    assert json.loads(done.stdout)["satisfiable"] is True
