"""The verbs contrast and multi."""

import errno
import json
import os
from xml.etree import ElementTree

import pytest
from matplotlib.figure import Figure
from olivine.cli.contrast import _short
from olivine.cli.figures.contrast import _panel, title
from olivine.reduction import multi
from olivine.reduction.contrast import SERIES, Fit, Measurement, Plan

from tests.support.commands import CASES, olivine
from tests.support.depth import with_rows

pytestmark = pytest.mark.children

QUICK = ["--instances", 1, "--time-limit", 0.2]
HASTY = ["--instances", 1, "--time-limit", 0.1]


def test_it_writes_a_folder(tmp_path):
    folder, n = tmp_path / "out", 5
    done = olivine("contrast", "--max-n", n, *QUICK, "-o", folder, "--json", status=0)
    assert done.err == ""
    record = done.record
    written = {file.name for file in folder.iterdir()}
    assert written == {"contrast.json", "contrast.md", "contrast.png", "contrast.svg"}
    data = json.loads((folder / "contrast.json").read_text())
    assert record == {"directory": str(folder)} | data
    assert data["plan"] == vars(Plan(n, 1, 0.2)) | {"sizes": [*range(3, n + 1)]}
    assert data["plan"]["seed"] == 0
    series = {m["series"] for m in data["measurements"]}
    assert series == set(SERIES) == set(data["fits"])
    for m in data["measurements"]:
        assert m["m"] == round(4.26 * m["n"])
        assert not m["censored"] or m["seconds"] > 0
    slope = data["fits"]["csc"]["work"]["slope"]
    assert 1 < slope < 3
    assert (folder / "contrast.png").read_bytes().startswith(b"\x89PNG")
    svg = ElementTree.parse(folder / "contrast.svg")
    text = " ".join(svg.getroot().itertext())
    for label in (
        "branch-and-bound nodes",
        "CPU time [s]",
        "CSC",
        "limit 0.2 s by the clock",
    ):
        assert label in text
    table = (folder / "contrast.md").read_text()
    assert f"| {n} | " in table
    assert f"`olivine contrast --max-n {n}" in table


@pytest.fixture
def undrawn(monkeypatch):
    """Let figures be empty files: to draw them takes longer than all else."""
    monkeypatch.setattr(Figure, "savefig", lambda *_, **__: None)


@pytest.mark.usefixtures("undrawn")
def test_tables_for_people_and_bad_folders(tmp_path):
    arguments = ["contrast", "--max-n", 3, *HASTY, "-o", tmp_path / "new"]
    done = olivine(*arguments, status=0, out="growth")
    assert "operations" in done.out
    olivine(*arguments, status=2, err="not empty")
    olivine(*arguments, "--json", status=2, error="not empty")


@with_rows(
    "bad",
    ["--max-n", 2],
    ["--max-n", 10**6],
    ["--instances", 0],
    ["--time-limit", 0],
    ["--variant", "none"],
)
def test_bad_usage(tmp_path, bad):
    olivine("contrast", *bad, "-o", tmp_path / "out", status=2)
    assert not (tmp_path / "out").exists()


@pytest.mark.usefixtures("undrawn")
def test_what_was_measured_survives_a_disk_that_is_full_at_the_end(
    tmp_path, monkeypatch
):
    def full(*_):
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))

    monkeypatch.setattr("olivine.solvers.files._replace", full)
    out = tmp_path / "new" / "out"
    done = olivine("contrast", "--max-n", 3, *HASTY, "-o", out, "--json", status=2)
    assert done.record["error"].startswith(f"{out}/contrast.")
    assert done.record["error"].endswith("File too large")
    assert {m["n"] for m in done.record["measurements"]} == {3}
    assert list(tmp_path.iterdir()) == []


def test_an_engine_that_fails_costs_its_own_series(monkeypatch):
    from olivine.reduction import contrast

    def broken(*_, **__):
        raise RuntimeError("it broke")

    monkeypatch.setattr(contrast, "solve_milp", broken)
    found = contrast.measure_one(Plan(3, 1, 1.0), 3, 0)
    failed = {m.series for m in found if m.status == "error"}
    assert failed == {"faithful", "strengthened", "projected"}
    assert all(m.censored == (m.series in failed) for m in found)


def test_multi_decides_files_and_names_bad_input():
    yes, no = CASES / "satlib" / "uf20-01.cnf", CASES / "cadical" / "full3.cnf"
    done = olivine("multi", yes, no, "--json", status=0)
    first, second = done.records
    assert (first["satisfiable"], second["satisfiable"]) == (True, False)
    for record in done.records:
        assert record["agree"] is True
        assert record["mixture"]["status"] == "feasible"
        assert record["routes"]["deterministic"]["seconds"] > 0
    assert second["routes"]["brute"] == second["routes"]["brute"] | {
        "status": "infeasible",
        "policies": 8,
    }
    assert first["data_sets"] == 91
    shown = olivine("multi", no, out="unsatisfiable")
    assert "mixture" in shown.out
    garbage = CASES / "odd" / "garbage.cnf"
    good = CASES / "cadical" / "full1.cnf"
    bad, fine = olivine("multi", garbage, good, "--json", status=2).records
    assert "garbage.cnf" in bad["error"]
    assert fine["satisfiable"] is False
    hard = b"h 1 0\n1 -1 0\n"
    read = olivine("multi", "--input-format", "wcnf", "--json", "-", stdin=hard)
    assert read.status == 0
    assert read.record["satisfiable"] is False  # of all clauses, hard or not
    assert "1 hard clause gets weight 2" in read.err


@pytest.mark.parametrize(("option", "seconds"), [((), 60), (("--time-limit", 3), 3)])
def test_multi_gives_each_engine_60_seconds_by_default(option, seconds, monkeypatch):
    asked, true = [], multi.verify_multi_hardness

    def limited(formula, *, time_limit):
        asked.append(time_limit)
        return true(formula, time_limit=time_limit)

    monkeypatch.setattr(multi, "verify_multi_hardness", limited)
    assert olivine("multi", CASES / "cadical" / "full1.cnf", *option).status == 0
    assert asked == [seconds]


@pytest.mark.parametrize(("slope", "lines"), [(1.0, 1), (0.1, 0), (-1.0, 0)])
def test_a_line_is_drawn_only_where_growth_is_clear(slope, lines) -> None:
    law = Fit("exponential", slope, 0.0, 0.1, 0.1, 3, 6, 4, 0)
    measured = [
        Measurement("faithful", n, 4 * n, 0, 1.0, 1, False, "optimal")
        for n in (3, 4, 5, 6)
    ]
    axes = Figure().subplots()
    _panel(axes, ["faithful"], "seconds", measured, {"faithful": {"seconds": law}})
    drawn = [line for line in axes.lines if len(line.get_xdata()) > 4]
    assert len(drawn) == lines


def test_numbers_of_the_table_are_short() -> None:
    values = (0.0123, 7, 99.4, 99.7, 123.4, 999_999, 1e6, 1.26e12)
    short = "0.012 7 99 100 123 999999 1.0e6 1.3e12"
    assert " ".join(map(_short, values)) == short


def test_the_figure_counts_its_formulas() -> None:
    one, many = (title(Plan(3, k, 1.0, 0, "paper")) for k in (1, 2))
    assert "1 formula a size" in one
    assert "2 formulas a size" in many
