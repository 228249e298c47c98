"""olivine verify: what it reads, finds and says."""

import bz2
import gzip
import json
import lzma
import os
import shutil
import threading

import pytest
from olivine.cli.common import output
from olivine.reduction.family.variants import Variant
from olivine.solvers.milp.engines import engines, readers

from tests.support.commands import CASES, expected, olivine
from tests.support.depth import deep, spread

FULL2 = CASES / "cadical" / "full2.cnf"
VARIANTS = [variant.value for variant in Variant]
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
        "file", "variables", "clauses", "three_sat", "variant", "penalty",
        "satisfiable", "unsatisfied", "optimum", "optimum_by", "routes", "agree",
        "warnings", "seed", "seconds",
    }  # fmt: skip
    for found in record["routes"].values():
        assert {"status", "value", "seconds"} <= set(found)
        assert isinstance(found["seconds"], float)


@pytest.mark.parametrize(
    ("folder", "row", "variant"),
    spread(SMALL, 3),
    ids=lambda v: v if isinstance(v, str) else v["file"],
)
def test_small_cases_are_met_exactly(folder: str, row: dict, variant: str) -> None:
    file = CASES / folder / row["file"]
    done = olivine("verify", file, "--variant", variant, "--json", status=0)
    assert done.err == ""
    record = done.record
    check_schema(record)
    check(record, row, variant)
    assert record["file"] == str(file)


@pytest.mark.parametrize("variant", spread(VARIANTS, 1))
def test_larger_cases_are_met_exactly(variant: str) -> None:
    """By default one folder by the exact routes; at length all by all routes."""
    kept = deep(FOLDERS, FOLDERS[1:2])
    folders = [CASES / folder for folder in kept]
    exact = ["--route", "sat", "--route", "maxsat", "--route", "witness"]
    routes = ["--variant", variant, *deep([], exact)]
    done = olivine("verify", *folders, *routes, "--json", status=0)
    by_file = {record["file"]: record for record in done.records}
    rows = [(folder, row) for folder, row in ROWS if folder in kept]
    assert len(by_file) == len(rows)
    for folder, row in rows:
        check(by_file[str(CASES / folder / row["file"])], row, variant)


@pytest.mark.parametrize("row", spread(expected("odd"), 5), ids=lambda row: row["file"])
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


def test_a_folder_with_bad_files_goes_on_without_progress_in_the_records():
    done = olivine("verify", CASES / "odd", "--json", "--route", "sat", status=2)
    rows = {str(CASES / "odd" / row["file"]): row for row in expected("odd")}
    assert [r["file"] for r in done.records] == sorted(rows)
    for record in done.records:
        assert ("error" not in record) == rows[record["file"]]["accepted"]
    done = olivine("verify", CASES / "dense", "--json", "--route", "sat")
    assert len(done.records) == 5
    assert done.err == ""


def test_the_table_says_the_same() -> None:
    files = [CASES / "dense", CASES / "odd" / "garbage.cnf"]
    done = olivine("verify", *files, "--route", "maxsat", "--route", "witness")
    assert done.status == 2
    for row in expected("dense"):
        assert row["file"] in done.out
        assert row["optimum"]["paper"] in done.out
    assert "5 agree, 1 errors" in done.out
    assert "garbage.cnf:1:" in done.err


def test_one_file_shows_its_routes_and_standard_input_is_one(tmp_path):
    done = olivine("verify", FULL2, status=0)
    for word in ("11/12", "sat", "maxsat", "milp", "brute", "witness"):
        assert word in done.out
    assert done.err == ""
    text = (FULL2).read_bytes()
    done = olivine("verify", "-", "--json", stdin=text, status=0)
    assert done.record["file"] == "-"
    assert done.record["optimum"] == "11/12"
    file = tmp_path / "soft.wcnf"
    file.write_text("5 1 0\n3 -1 0\n2 2 0\n")
    done = olivine("verify", file, "--variant", "gap", "--json", status=0)
    assert done.record["unsatisfied"] == 3
    assert done.record["optimum"] == "37/40"
    assert done.record["agree"] is True


@pytest.mark.parametrize(
    ("suffix", "compress"),
    [(".gz", gzip.compress), (".bz2", bz2.compress), (".xz", lzma.compress)],
)
def test_compressed_files_in_folders(tmp_path, suffix, compress) -> None:
    text = (FULL2).read_bytes()
    (tmp_path / f"full3.cnf{suffix}").write_bytes(compress(text))
    done = olivine("verify", tmp_path, "--json", "--route", "sat", "--route", "witness")
    assert done.status == 0
    assert done.record["optimum"] == "11/12"


@pytest.mark.children
def test_jobs_give_the_same_in_the_same_order() -> None:
    arguments = ["--route", "sat", "--route", "maxsat", "--json"]
    names = ("cadical/prime4.cnf", "cadical/full1.cnf", "odd/garbage.cnf")
    files = [*(CASES / name for name in names), "no-such-file", "-", FULL2]
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


def test_hard_clauses_become_heavy_ones(tmp_path) -> None:
    file = tmp_path / "hard.wcnf"
    file.write_text("h 1 0\n3 -1 0\n")
    done = olivine("verify", file, "--variant", "gap", "--json", status=0)
    assert done.record["hard"] == {"clauses": 1, "weight": 4, "satisfiable": True}
    assert done.record["unsatisfied"] == 3
    (told,) = done.record["warnings"]
    assert told.startswith(f"{file}:1: 1 hard clause gets weight 4,")
    done = olivine("verify", file, "--certificate", tmp_path / "c.json", status=2)
    assert "no certificate of a formula with hard clauses" in done.err
    olivine("generate", file, "-o", tmp_path / "out", status=0)


@pytest.mark.children
@pytest.mark.parametrize("engine", readers())
def test_every_engine_votes_and_reads_back(tmp_path, engine: str) -> None:
    file = tmp_path / "small.cnf"
    file.write_text("p cnf 2 3\n1 2 0\n-1 0\n-2 0\n")
    named = ["--engine", engine, "--json"]
    more = ["--formulation", "strengthened", *named]
    limited = [*more, "--time-limit", 60]
    done = olivine("verify", file, "--route", "milp", "--route", "maxsat", *limited)
    assert done.record["routes"]["milp"]["engine"] == engine
    assert done.record["agree"] is True
    formats = ["--format", "lp", "--format", "mps"]
    more += formats
    done = olivine("generate", file, "-o", tmp_path / "out", *more)
    name = engines()[engine].title
    checks = done.record["read_back"].values()
    assert all(check.startswith(f"solved by {name}: optimum") for check in checks)
    assert len(checks) == 2


@pytest.mark.parametrize("penalty", spread(["0.25", "1", "1/3", "1/100"], 2))
def test_penalties(penalty: str) -> None:
    done = olivine("verify", FULL2, "--penalty", penalty, "--json", status=0)
    assert done.record["optimum"] == ("99/100" if penalty == "1/100" else "11/12")
    assert done.record["agree"] is True


def test_limits_of_variables_and_the_format_can_be_given(tmp_path):
    file = CASES / "cadical" / "prime4.cnf"
    done = olivine("verify", file, "--max-variables", "19", "--json", status=2)
    assert f"{file}:" in done.record["error"]
    file = tmp_path / "soft"
    file.write_text("5 1 0\n3 -1 0\n")
    olivine("verify", file, "--json", status=2)
    done = olivine("verify", file, "--input-format", "wcnf", "--json", status=0)
    assert done.record["unsatisfied"] == 3


@pytest.mark.children
def test_limits_too_short_leave_it_undecided() -> None:
    done = olivine("verify", FULL2, "--time-limit", "1e-9", "--route", "sat", "--json")
    assert done.status == 3
    record = done.record
    assert record["satisfiable"] is record["optimum"] is record["agree"] is None
    assert record["routes"]["sat"]["status"] == "unknown"
    assert "time limit" in record["routes"]["sat"]["reason"]


def test_file_names_that_are_no_text(tmp_path) -> None:
    name = b"\xff[red]\n.cnf"
    shutil.copy(FULL2, bytes(tmp_path) + b"/" + name)
    done = olivine("verify", tmp_path, "--json", "--route", "sat")
    assert json.loads(done.out)["file"].endswith("\udcff[red]\n.cnf")
    table = olivine("verify", tmp_path, "--route", "sat", "--route", "witness")
    assert table.status == 0
    assert "[red]" in table.out


def test_pipes_are_read_only_where_they_are_named(tmp_path):
    os.mkfifo(tmp_path / "a.cnf")
    (tmp_path / "b.cnf").symlink_to("a.cnf")
    (tmp_path / "c.cnf").symlink_to("nowhere")
    (tmp_path / "d.cnf").write_text("p cnf 1 1\n1 0\n")
    done = olivine("verify", tmp_path, "--route", "sat", "--json", status=2)
    *errors, last = done.records
    assert [record["error"] for record in errors] == [
        f"{tmp_path / 'a.cnf'}: not a regular file",
        f"{tmp_path / 'b.cnf'}: not a regular file",
        f"{tmp_path / 'c.cnf'}: No such file or directory",
    ]
    assert last["satisfiable"] is True
    # As a shell hands over what <(a command) writes.
    reader, writer = os.pipe()
    try:
        os.write(writer, b"p cnf 1 1\n1 0\n")
        os.close(writer)
        done = olivine("verify", "--route", "sat", "--json", f"/dev/fd/{reader}")
    finally:
        os.close(reader)
    assert done.record["satisfiable"] is True


def test_what_is_not_proved_is_explained(monkeypatch):
    monkeypatch.setattr("olivine.reduction.verify.routes.FLIPS", 1000)
    done = olivine("verify", FULL2, "--route", "witness", status=3, out="≥ 11/12")
    assert "no route proved that it is not higher" in " ".join(done.out.split())
    assert "agree ?: fewer than two routes finished" in done.out
    done = olivine("verify", FULL2, "--route", "milp", "--route", "maxsat", status=0)
    assert "proves nothing" in done.out


def test_a_milp_is_measured_against_the_optimum_of_its_variant(tmp_path) -> None:
    routes = ("--variant", "strict", "--route", "milp", "--route", "sat")
    satisfiable, not_satisfiable = tmp_path / "yes.cnf", tmp_path / "no.cnf"
    satisfiable.write_text("p cnf 1 1\n1 0\n")
    not_satisfiable.write_text("p cnf 1 2\n1 0\n-1 0\n")
    proved = olivine("verify", satisfiable, *routes, status=0)
    assert "proves nothing" not in proved.out
    vote = olivine("verify", not_satisfiable, *routes)
    best = json.loads(olivine("verify", satisfiable, *routes, "--json").out)
    optimum = best["routes"]["milp"]["value"]
    assert optimum != "1"
    assert f"below {optimum} its optimum" in " ".join(vote.out.split())


def test_a_pipe_is_told_that_work_goes_on(monkeypatch, capsys) -> None:
    monkeypatch.setattr(output, "FIRST_BEAT", 0.01)
    told = threading.Event()
    say = output.say
    monkeypatch.setattr(output, "say", lambda text: (say(text), told.set()))
    with output.progress_bar("verifying", 2, json_lines=True) as progress:
        progress.advance(progress.task_ids[0])
        assert told.wait(60)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "olivine: verifying, 1 of 2 done after" in shown.err


def test_the_treewidth_route_by_name() -> None:
    file = CASES / "cadical" / "full3.cnf"
    done = olivine("verify", file, "--route", "treewidth", "--json")
    found = done.record["routes"]["treewidth"]
    assert (done.status, list(done.record["routes"])) == (0, ["treewidth"])
    assert (found["status"], found["unsatisfied"], found["width"]) == ("optimal", 1, 2)
    assert done.record["optimum_by"] == ["treewidth"]
    wide = CASES / "satlib" / "uf100-01.cnf"
    done = olivine("verify", wide, "--route", "treewidth", "--json", status=3)
    assert "more than 22" in done.record["routes"]["treewidth"]["reason"]
