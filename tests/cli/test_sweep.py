"""olivine sweep: its file, its rows after kills, its sums, figure and workers."""

import hashlib
import json
import os
import pickle
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import pytest
from olivine.cli.experiments import frame
from olivine.cli.experiments.frame import LostWorkersError, rows_of
from olivine.cli.experiments.summaries import phases_of
from olivine.cli.experiments.sweep_file import read_sweep
from olivine.cli.figures.sweep import save_phases
from olivine.solvers.child.process import Worker

from tests.support.commands import CASES, ROOT, olivine
from tests.support.depth import with_rows

SMALL = """
kind = "formulas"
routes = ["sat", "maxsat", "witness"]
[[random]]
variables = 5
ratios = [2, 8]
formulas = 3
"""
LEARNING = """
kind = "learning"
algorithms = ["psdp", "lsvee"]
environments = ["tabular", "threesat"]
seeds = 2
settings = { states = 2 }
"""


@pytest.fixture
def plan(tmp_path):
    """A folder with a sweep file; a function that writes another text to it."""
    file = tmp_path / "sweep.toml"

    def write(text):
        file.write_text(text)
        return file

    write(SMALL)
    return write


def keys_in(path):
    return [json.loads(line)["key"] for line in path.read_bytes().splitlines()[1:]]


def test_rows_sums_figure_and_table(plan, tmp_path):
    rows, figure = tmp_path / "rows.jsonl", tmp_path / "phase.svg"
    file = plan(SMALL)
    done = olivine("sweep", file, "-o", rows, "-j", "1", "--json", "--figure", figure)
    assert done.status == 0
    assert [r["clauses"] for r in done.records] == [10, 40]
    units = read_sweep(file).units
    assert keys_in(rows) == [unit.key for unit in units]
    found = [json.loads(line) for line in rows.read_bytes().splitlines()[1:]]
    assert all(row["agree"] for row in found)
    # A unit says the same wherever it is done.
    again = units[-1]()
    for row in (again, found[-1]):
        del row["seconds"]
        for route in row["routes"].values():
            del route["seconds"]
    del found[-1]["sha256"]
    assert again == found[-1]
    text = figure.read_text()
    for words in ("satisfiable", "Optimum", "Seconds of each route", "5 variables"):
        assert words in text
    # Nothing is missing: nothing is done, and the same is summed up.
    before = rows.read_bytes()
    second = olivine("sweep", file, "-o", rows, "--json")
    assert (second.records, second.status) == (done.records, 0)
    assert rows.read_bytes() == before
    assert "6 of 6 rows are there already" in second.err


def killed(file, rows, least):
    """Sweep in a child that is killed once there are so many rows."""
    child = Worker(lambda send: olivine("sweep", file, "-o", rows, "-j", "1"))
    child.start()
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if rows.exists() and rows.read_bytes().count(b"\n") > least:
            break
        time.sleep(0.001)
    child.close()  # SIGKILL
    return keys_in(rows) if rows.read_bytes().endswith(b"\n") else None


def test_a_sweep_killed_twice_has_each_row_once(plan, tmp_path):
    rows = tmp_path / "rows.jsonl"
    file = plan(SMALL.replace("formulas = 3", "formulas = 10"))
    first = killed(file, rows, 3)
    # As if the second kill had come in the middle of a row.
    second = killed(file, rows, 8)
    assert 3 <= len(first) < len(second) < 20
    whole = rows.read_bytes()
    rows.write_bytes(whole[:-20])
    done = olivine("sweep", file, "-o", rows, "-j", "1", status=0)
    assert f"line {len(second) + 1} was cut off" in done.err
    assert f"{len(second) - 1} of 20 rows are there already" in done.err
    keys = keys_in(rows)
    assert len(keys) == len(set(keys)) == 20
    assert rows.read_bytes().startswith(whole[: whole[:-20].rindex(b"\n")])


def test_a_sweep_of_learning(plan, tmp_path):
    file, rows = plan(LEARNING), tmp_path / "rows.jsonl"
    done = olivine("sweep", file, "-o", rows, "-j", "1", "--json", status=0)
    pairs = [(record["env"], record["algorithm"]) for record in done.records]
    assert pairs == [
        ("tabular", "psdp"), ("tabular", "lsvee"),
        ("threesat", "psdp"), ("threesat", "lsvee"),
    ]  # fmt: skip
    assert [record["successes"] for record in done.records] == [2, 2, 2, 0]
    assert "stochastic" in done.records[-1]["refused"]
    assert len(keys_in(rows)) == 8
    olivine("sweep", file, "-o", rows, out="2 of 2")


def test_rows_become_parquet(plan, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    rows, target = tmp_path / "rows.jsonl", tmp_path / "rows.parquet"
    olivine("sweep", plan(SMALL), "-o", rows, "-j", "1", "--parquet", target)
    table = parquet.read_table(target).to_pylist()
    for row, line in zip(table, rows.read_bytes().splitlines()[1:], strict=True):
        found = json.loads(line)
        assert row["key"] == found["key"]
        assert row["optimum"] == found["optimum"]
        assert row["optimum.float"] == float(Fraction(found["optimum"]))
        assert row["routes.sat.seconds"] == found["routes"]["sat"]["seconds"]
        assert row["satisfiable"] is found["satisfiable"]


FORMULAS, LEARN = 'kind = "formulas"\n', 'kind = "learning"\n'
BAD = [
    ("kind = 3.", "no TOML"),
    (FORMULAS + "seed = " + "1" * 5000, ":2: seed: an integer of more than 40"),
    (FORMULAS + "seed = 0x" + "f" * 5000, "seed: an integer of more than 40"),
    ("a = 1", "kind: None is none of formulas, learning"),
    (SMALL + "penal = 3", "random.penal: unknown"),
    (FORMULAS + 'route = ["sat"]', "did you mean 'routes'"),
    (FORMULAS, "nothing is to be done"),
    (FORMULAS + 'variants = ["papr"]', "'papr' is none of paper"),
    (FORMULAS + "routes = []", "routes: none is named"),
    (FORMULAS + "routes = 3", "routes: 3 is no list of words"),
    (FORMULAS + 'files = ["absent.cnf"]', "absent.cnf: No such file"),
    (FORMULAS + 'files = ["."]', "no .cnf, .dimacs or .wcnf"),
    (FORMULAS + 'penalty = "1/0"', "penalty: '1/0' is no number"),
    (FORMULAS + 'penalty = 0.5\nvariants = ["strict"]', "penalty"),
    (FORMULAS + "time_limit = -1", "time_limit: -1 is no positive"),
    (FORMULAS + "time_limit = nan", "time_limit: nan is no positive"),
    (FORMULAS + "seed = true", "seed: True is no integer"),
    (FORMULAS + "random = [7]", "random: 7 is no table"),
    (FORMULAS + "random = {ratios = 3}", "random.variables: None"),
    (FORMULAS + "random = {variables = 2}", "random.variables: 2"),
    (FORMULAS + "random = {variables = 3}", "random.ratios: missing"),
    (
        FORMULAS + "random = {variables = 3, ratios = [1e300]}",
        "random: more than 100000000 cl",
    ),
    (
        FORMULAS + "random = {variables = 9, ratios = [1e308]}",
        "random: more than 100000000 cl",
    ),
    (SMALL + "width = 5\nclauses = 99999999", "more than 300000000 literals in a form"),
    (
        FORMULAS + "random = {variables = 99999999, clauses = 1}",
        "random.variables: 99999999 is above 10000000",
    ),
    (
        SMALL.replace("formulas = 3", "formulas = 10000001"),
        "20000002 rows are too many; at most 1000000 can be",
    ),
    (LEARN + "seeds = 99999999", "rows are too many"),
    ("a = " + "[" * 5000, "no TOML: maximum recursion depth"),
    (FORMULAS + 'files = ["/dev/zero"]', "/dev/zero: not a regular file"),
    (SMALL + "#" * (1 << 24), "more than 16777216 bytes"),
    (SMALL + SMALL[SMALL.index("[[") :], "would be done twice"),
    (LEARN + 'algorithms = ["valr"]', "did you mean 'valor'"),
    (LEARN + 'environments = ["gird"]', "did you mean 'grid'"),
    (LEARN + "epsilon = 2", "--epsilon: 2.0 is not in (0, 1)"),
    (LEARN + "settings = { no = 1 }", "unknown 'no'"),
    (LEARN + "seeds = 0", "seeds: 0 is no integer from 1"),
]


@pytest.mark.parametrize(("text", "words"), BAD)
def test_a_bad_sweep_file_is_refused_with_the_reason(plan, tmp_path, text, words):
    file, rows = plan(text), tmp_path / "rows.jsonl"
    olivine("sweep", file, "-o", rows, status=2, err=(str(file), words))
    assert not rows.exists()


def test_a_formula_that_changed_makes_another_sweep(plan, tmp_path):
    formula = tmp_path / "f.cnf"
    formula.write_text("p cnf 1 1\n1 0\n")
    file, rows = plan('kind = "formulas"\nfiles = ["f.cnf"]'), tmp_path / "rows.jsonl"
    assert olivine("sweep", file, "-o", rows, "--json").record["satisfiable"] == 1
    formula.write_text("p cnf 1 2\n1 0\n-1 0\n")
    before = rows.read_bytes()
    done = olivine("sweep", file, "-o", rows, "--json", status=2)
    assert "another sweep, which differs in files" in done.record["error"]
    assert rows.read_bytes() == before


def test_failures_have_no_row_and_are_done_again(plan, tmp_path):
    """A bad file, one that changes or goes midway: told, and done once it is right."""
    (tmp_path / "bad.cnf").write_text("p cnf 1\n")
    text = 'kind = "formulas"\nroutes = ["maxsat", "sat"]\nfiles = ["bad.cnf", "{}"]'
    file = plan(text.format(CASES / "cadical" / "full3.cnf"))
    rows = tmp_path / "rows.jsonl"
    for _ in range(2):
        done = olivine("sweep", file, "-o", rows, "-j", "1", "--json", status=2)
        assert "bad.cnf:1" in done.err
        assert "1 of 2 are missing" in done.err
        assert done.record["unsatisfiable"] == 1
        assert len(keys_in(rows)) == 1


@pytest.mark.parametrize("change", ["other", "gone", "pipe", "folder"])
def test_a_row_is_of_the_content_that_the_header_names(
    plan, tmp_path, monkeypatch, change
):
    texts = [f"p cnf 2 {k}\n" + "1 0\n" * k for k in (1, 2, 3)]
    for k, formula in enumerate(texts):
        (tmp_path / f"{k}.cnf").write_text(formula)
    file = plan('kind = "formulas"\nroutes = ["maxsat", "sat"]\nfiles = ["."]')
    rows, last = tmp_path / "rows.jsonl", tmp_path / "2.cnf"
    do = frame.rows_of

    def meddle(units, jobs, address):
        for number, row in enumerate(do(units, jobs, address)):
            yield row
            if number == 0 and last.exists():
                last.unlink()
                if change == "other":
                    last.write_text(texts[0])
                elif change == "pipe":
                    os.mkfifo(last)
                elif change == "folder":
                    last.mkdir()

    monkeypatch.setattr(frame, "rows_of", meddle)
    first = olivine("sweep", file, "-o", rows, "-j", "1", "--json", status=2)
    assert str(last) in first.err
    assert ("content has changed" in first.err) == (change == "other")
    assert [r["clauses"] for r in first.records] == [1, 2]
    before = rows.read_bytes()
    olivine("sweep", file, "-o", rows, "--json", status=2)
    assert rows.read_bytes() == before
    if last.is_dir():
        last.rmdir()
    last.unlink(missing_ok=True)
    last.write_text(texts[2])
    done = olivine("sweep", file, "-o", rows, "-j", "1", "--json", status=0)
    assert [r["clauses"] for r in done.records] == [1, 2, 3]
    digests = [hashlib.sha256(formula.encode()).hexdigest() for formula in texts]
    assert keys_in(rows) == [f"paper: sha256 {digest}" for digest in digests]
    header = json.loads(rows.read_bytes().splitlines()[0])
    assert header["sweep"]["files"] == sorted(digests)


def test_the_same_files_elsewhere_are_the_same_sweep(plan, tmp_path, monkeypatch):
    shutil.copytree(CASES / "cadical", tmp_path / "a")
    text = 'kind = "formulas"\nroutes = ["sat"]\nfiles = ["{}", "{}/full3.cnf"]'
    rows = tmp_path / "rows.jsonl"
    plan(text.format("a", "a"))
    monkeypatch.chdir(tmp_path)
    first = olivine("sweep", "sweep.toml", "-o", rows, "-j", "1", "--json")
    before = rows.read_bytes()
    (tmp_path / "a").rename(tmp_path / "b")
    monkeypatch.chdir(tmp_path / "b")
    file = plan(text.format(tmp_path / "b", tmp_path / "b"))
    assert olivine("sweep", file, "-o", rows, "--json").records == first.records
    assert rows.read_bytes() == before
    assert sum(key.endswith(", copy 2") for key in keys_in(rows)) == 1


@with_rows(
    "arguments, words",
    (("-o", "{}/no/rows.jsonl"), "No such file"),
    (("-o", "{}/sweep.toml"), "is the input itself"),
    (("-o", "{}/r.jsonl", "--figure", "{}/f.txt"), ".svg, .png or .pdf"),
    (("-o", "{}/r.jsonl", "--parquet", "{}/f.csv"), "ends in .parquet"),
    (("-o", "{}/r.jsonl", "--dask", "nowhere"), "no scheduler at 'nowhere'"),
    (("-o", "{}/r.jsonl", "--dask", "tls://a:1"), "no scheduler at 'tls://a:1'"),
    (("-o", "-"), "a name of a file is needed"),
)
def test_bad_options(plan, tmp_path, arguments, words):
    if "--dask" in arguments:
        pytest.importorskip("distributed")
    given = [a.format(tmp_path) for a in arguments]
    olivine("sweep", plan(SMALL), *given, status=2, err=words)


@dataclass
class Made:
    """A unit whose row is what a function of its key gives."""

    key: str
    make: Callable[[str], object] = lambda key: {"key": key}

    def load(self):
        """Nothing is needed."""

    def __call__(self):
        return self.make(self.key)


def test_workers_of_this_machine(plan):
    """With units that load little there; what a sweep's unit says when sent to one."""
    keys = [f"unit {k}" for k in range(6)]
    found = rows_of(map(Made, keys), 2, None)
    assert sorted(row["key"] for row in found) == keys
    unit = read_sweep(plan(SMALL)).units[0]
    sent = pickle.loads(pickle.dumps(unit))
    assert sent.key == unit.key
    assert sent()["agree"]


@pytest.mark.children
def test_a_worker_that_dies_costs_its_own_unit():
    units = [Made("dies", lambda _: os._exit(1)), Made("a"), Made("b")]
    found = {row["key"]: row for row in rows_of(units, 2, None)}
    assert found["a"] == {"key": "a"}
    assert found["b"] == {"key": "b"}
    assert found["dies"]["exit"] == 3
    assert "its process: the child left with exit status 1" in found["dies"]["error"]


COMMAND = 'exec "$0" -P -m olivine sweep "$1" -o "$2" -j 2 '


@pytest.mark.parametrize(("folder", "closed"), [("shadow", ""), ("", "2>&-")])
def test_workers_take_nothing_from_where_they_start(plan, tmp_path, folder, closed):
    """Neither a module of the current folder nor a descriptor that is closed."""
    rows, file = tmp_path / "rows.jsonl", plan(SMALL)
    (tmp_path / folder).mkdir(exist_ok=True)
    if folder:
        for name in ("random", "types", "queue", "token"):
            (tmp_path / folder / f"{name}.py").write_text("open('ran', 'w')\n")
    done = subprocess.run(
        ["sh", "-c", COMMAND + closed, sys.executable, str(file), str(rows)],
        cwd=tmp_path / folder,
        env=os.environ | {"PYTHONPATH": str(ROOT.parent)},
        check=False,
    )
    assert done.returncode == 0
    assert len(keys_in(rows)) == 6
    assert not list(tmp_path.rglob("ran"))


class Lost:
    """A client of Dask whose cluster goes, as its attributes say."""

    def __init__(self, status="running", threads=(), error=None):
        self.status, self._threads, self._error = status, list(threads), error

    def nthreads(self):
        if self._error is not None:
            raise self._error
        return {"worker": self._threads.pop(0) if len(self._threads) > 1 else 0}

    def submit(self, call, unit, pure):
        return Pending()


class Pending:
    status = "pending"

    def done(self):
        return False


@with_rows(
    "client, words",
    (Lost("closed"), "the scheduler was lost"),
    (Lost(error=OSError("gone\naway")), "the scheduler was lost: gone away"),
    (Lost(threads=(1, 1, 0)), "no worker came back for 0"),
)
def test_a_lost_cluster_ends_the_sweep(monkeypatch, client, words):
    distributed = pytest.importorskip("distributed")
    monkeypatch.setattr(frame, "_connected", lambda _: nullcontext(client))
    monkeypatch.setattr(frame, "PATIENCE", 0)
    monkeypatch.setattr(distributed, "wait", lambda *_, **__: None)
    with pytest.raises(LostWorkersError, match=words):
        list(rows_of([Made("a")], 1, "address"))


def test_rows_stay_when_workers_are_lost(plan, tmp_path, monkeypatch):
    def lost(units, jobs, address):
        yield units[0]()
        raise LostWorkersError("a worker was lost: out of memory")

    monkeypatch.setattr(frame, "rows_of", lost)
    rows = tmp_path / "rows.jsonl"
    done = olivine("sweep", plan(SMALL), "-o", rows, status=3)
    assert "a worker was lost: out of memory" in done.err
    assert f"5 of 6 are missing; rows so far are in {rows}" in done.err
    assert len(keys_in(rows)) == 1


def test_a_dask_cluster_with_one_thread_does_the_work(plan, tmp_path):
    distributed = pytest.importorskip("distributed")
    rows, file = tmp_path / "rows.jsonl", plan(SMALL)
    cluster = distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None
    )
    with cluster:
        address = cluster.scheduler_address
        done = olivine("sweep", file, "-o", rows, "--dask", address, "--json")
        here = threading.get_ident()
        units = [Made("who", lambda key: {"key": threading.get_ident()})]
        (row,) = rows_of(units, 1, address)
    assert done.status == 0
    assert len(set(keys_in(rows))) == 6
    assert row["key"] != here


def row(satisfiable, optimum, seconds, variant="paper", clauses=8):
    routes = {
        name: {"status": "optimal" if found else "unknown", "seconds": found or 9}
        for name, found in seconds.items()
    }
    return {
        "variant": variant, "variables": 4, "clauses": clauses, "routes": routes,
        "satisfiable": satisfiable, "optimum": optimum,
    }  # fmt: skip


def test_what_rows_say_together():
    rows = [
        row(True, "1", {"sat": 1.0, "milp": 5.0}),
        row(False, "23/24", {"sat": 3.0, "milp": None}),
        row(None, None, {"sat": None}),
        row(True, "1", {"sat": 2.0}, "gap"),
        row(True, "1", {"sat": 2.0}, clauses=4),
    ]
    gap, small, paper = phases_of(rows)
    assert (gap.variant, small.ratio, paper.ratio) == ("gap", 1, 2)
    assert (paper.formulas, paper.satisfiable, paper.unsatisfiable) == (3, 1, 1)
    assert paper.share == (1 / 3, 2 / 3)
    assert paper.to_json()["undecided"] == 1
    assert paper.to_json()["optimum"] == {
        "proved": 2, "median": "47/48", "least": "23/24", "most": "1"
    }  # fmt: skip
    assert paper.seconds == {"sat": 2.0, "milp": 5.0}
    assert paper.unfinished == {"sat": 1, "milp": 1}


@pytest.mark.parametrize(("clauses", "shown"), [((4, 24), True), ((4, 16), False)])
def test_the_threshold_is_drawn_where_ratios_reach_it(monkeypatch, clauses, shown):
    figures = []
    keep = lambda path, drawn: figures.append(drawn)  # noqa: E731
    monkeypatch.setattr("olivine.cli.figures.sweep.write_figure", keep)
    rows = [row(True, "1", {"sat": 1.0}, clauses=m) for m in clauses]
    save_phases(Path("f.svg"), phases_of(rows))
    panel = figures[0].axes[0]
    dotted = [line for line in panel.lines if line.get_linestyle() == ":"]
    assert [line.get_xdata()[0] for line in dotted] == [4.267] * shown
    assert any("4.267" in text.get_text() for text in panel.texts) == shown


def test_formulations_and_engines_of_a_route_are_lines_of_their_own(monkeypatch):
    rows = [row(False, "23/24", {"milp": seconds, "sat": 1.0}) for seconds in (1.0, 9)]
    for told, formulation in zip(rows, ("strengthened", "projected"), strict=True):
        told["routes"]["milp"]["formulation"] = formulation
    (phase,) = phases_of(rows)
    assert phase.ways == {"milp, strengthened": 1, "sat": 1, "milp, projected": 9}
    assert phase.seconds == {"milp": 5, "sat": 1}
    figures = []
    keep = lambda path, drawn: figures.append(drawn)  # noqa: E731
    monkeypatch.setattr("olivine.cli.figures.sweep.write_figure", keep)
    save_phases(Path("f.svg"), [phase])
    labels = figures[0].axes[2].get_legend_handles_labels()[1]
    assert labels == ["milp, strengthened", "sat", "milp, projected"]


def page(language):
    text = (ROOT / "docs" / "experiments.md").read_text("utf-8")
    return [part.split("```")[0] for part in text.split(f"```{language}\n")[1:]]


def test_the_page_s_files_are_read_and_its_options_known(plan, tmp_path):
    example, learning = page("toml")
    shipped = ROOT / "examples" / "phase.toml"
    assert example in shipped.read_text()
    assert len(read_sweep(shipped).units) == 200
    assert len(read_sweep(plan(learning)).units) == 40
    curves, sweep = (block.split()[1:] for block in page("sh"))
    # Refused for what is added, after all that stands before it was read.
    olivine(*curves, "-o", "f.txt", err="f.txt: a figure's name")
    absent = tmp_path / "absent" / "rows.jsonl"
    olivine(*sweep, "-o", absent, err="No such file")


@pytest.mark.long
def test_the_commands_of_the_page_run(tmp_path, monkeypatch):
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    for block in page("sh"):
        done = olivine(*block.split()[1:])
        assert done.status in (0, 3), done.err
    for name in ("curves.svg", "curves.jsonl", "phase.svg", "rows.jsonl"):
        assert (tmp_path / name).stat().st_size > 1000


def test_rows_are_no_formula_and_dask_is_an_extra(plan, tmp_path, monkeypatch):
    # Not by their name: the sweep could not be resumed from its own folder.
    done = olivine("sweep", plan(SMALL), "-o", tmp_path / "rows.cnf.gz")
    assert (done.status, "by its name a formula" in done.err) == (2, True)
    assert not (tmp_path / "rows.cnf.gz").exists()
    monkeypatch.setitem(sys.modules, "distributed", None)
    done = olivine("sweep", plan(SMALL), "-o", tmp_path / "r.jsonl", "--dask", "a:1")
    assert done.status == 2
    assert "pip install distributed" in done.err


def test_a_table_of_a_file_whose_name_is_not_utf_8(plan, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
    try:
        (tmp_path / os.fsdecode(b"f\xff.cnf")).write_text("p cnf 1 1\n1 0\n")
    except OSError:
        pytest.skip("this system takes no such name")
    file, table = plan('kind = "formulas"\nfiles = ["."]'), tmp_path / "t.parquet"
    olivine("sweep", file, "-o", tmp_path / "rows.jsonl", "--parquet", table, status=0)
    (row,) = parquet.read_table(table).to_pylist()
    assert row["file"] == f"{tmp_path}/f\\xff.cnf"
