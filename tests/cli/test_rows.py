"""The file of a sweep's rows: gone on with wherever it is cut, refused, never lost."""

import hashlib
import json
import os
import subprocess
import sys
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from olivine.cli.experiments import frame
from olivine.cli.experiments.frame import LostWorkersError, WorkersError
from olivine.cli.experiments.rows import FORMAT, open_rows
from olivine.reduction.formula.dimacs import write_dimacs
from olivine.reduction.formula.random_formula import random_ksat

from tests.support.commands import ROOT
from tests.support.depth import with_rows
from tests.support.refusals import refused

SAYS = {"kind": "formulas", "seed": 0, "variants": ["paper"]}
KEYS = [f"unit {k} «ε»" for k in range(4)]
ROWS = [{"key": key, "exit": 0, "text": "a\nb"} for key in KEYS]


def fill(path, rows=ROWS, says=SAYS):
    """Append what is missing; the keys that were there, and the remark."""
    with open_rows(path, says, KEYS) as file:
        before, remark = list(file.rows), file.remark
        for row in rows:
            if row["key"] not in file.rows:
                file.append(row)
    return before, remark


def lines(path):
    return [json.loads(line) for line in path.read_bytes().splitlines()]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    path = tmp_path_factory.mktemp("rows") / "rows.jsonl"
    fill(path)
    return path.read_bytes()


def test_rows_stand_one_a_line_below_what_they_are_of(whole):
    header, *rows = map(json.loads, whole.splitlines())
    assert header["olivine-sweep"] == FORMAT
    assert header["sweep"] == SAYS
    assert [{k: row[k] for k in ROWS[0]} for row in rows] == ROWS
    assert whole.endswith(b"\n")


@settings(deadline=None)
@given(st.data())
def test_a_file_cut_anywhere_is_gone_on_with(whole, tmp_path_factory, data):
    ends = [n + 1 for n, byte in enumerate(whole) if byte == ord("\n")]
    near = st.sampled_from([e + d for e in ends for d in (-2, -1, 0, 1)])
    cut = min(len(whole), data.draw(st.integers(0, len(whole)) | near))
    path = tmp_path_factory.mktemp("cut") / "rows.jsonl"
    path.write_bytes(whole[:cut])
    before, remark = fill(path)
    complete = whole[:cut].count(b"\n")
    assert before == KEYS[: max(0, complete - 1)]
    assert (f"line {complete + 1} was cut off" in remark) == (cut not in (0, *ends))
    assert path.read_bytes() == whole


def edited(whole, number, change):
    parts = whole.splitlines(keepends=True)
    parts[number] = change(parts[number])
    return b"".join(parts)


def header_with(**changed):
    def change(line):
        return json.dumps(json.loads(line) | changed).encode() + b"\n"

    return change


@with_rows(
    "change, words",
    (lambda w: edited(w, 0, header_with(version="0.0.1")), "olivine 0.0.1"),
    (lambda w: edited(w, 0, header_with(**{"olivine-sweep": 7})), "in format 7"),
    (
        lambda w: edited(w, 0, header_with(sweep=SAYS | {"seed": 1, "new": 2})),
        "another sweep, which differs in seed, new",
    ),
    (lambda w: edited(w, 0, header_with(sweep=None)), ":1: damaged"),
    (lambda w: edited(w, 2, lambda line: line[:9] + b"\n"), ":3: damaged"),
    (lambda w: edited(w, 2, lambda line: b"[1]\n"), ":3: damaged: no JSON object"),
    (lambda w: edited(w, 2, lambda line: b'{"key": "x"}\n'), ":3: 'x' is no unit"),
    (lambda w: edited(w, 1, lambda line: line.replace(b"0", b"2", 2)), ":2: 'unit 2"),
    (
        lambda w: edited(w, 1, lambda line: line.replace(b": 0,", b": 7,")),
        ":2: damaged: it is not as it was written",
    ),
    (
        lambda w: edited(w, 1, lambda line: line.replace(b'"a', b'null, "x": "a')),
        ":2: damaged: it is not as it was written",
    ),
    (
        lambda w: edited(w, 3, lambda line: line.partition(b", ")[0] + b"}\n"),
        ":4: damaged: it is not as it was written",
    ),
    (lambda w: edited(w, 0, header_with(more=1)), ":1: damaged: not a header"),
    (
        lambda w: edited(w, 2, lambda line: b"[" * 10**5 + b"\n"),
        ":3: damaged: maximum recursion",
    ),
    (lambda w: edited(w, 3, lambda line: b'{"key": [1]}\n'), ":4: [1] is no unit"),
    (lambda w: edited(w, 3, lambda line: b'{"a": NaN}\n'), "NaN is no number"),
    (lambda w: w + w.splitlines(keepends=True)[1], ":6: a second row"),
    (lambda w: b"p cnf 1 1\n1 0\n", ":1: damaged"),
    (lambda w: b'{"a": 1}\n', "not the rows of a sweep"),
    (lambda w: b"a letter to a friend", "not the rows of a sweep"),
    (lambda w: b"\xff\xfe\n", ":1: damaged"),
)
def test_what_cannot_be_gone_on_with_is_refused_and_stays(
    whole, tmp_path, change, words
):
    path = tmp_path / "rows.jsonl"
    path.write_bytes(change(whole))
    before = path.read_bytes()
    with pytest.raises(ValueError, match=r"rows\.jsonl") as caught:
        fill(path)
    assert words in str(caught.value)
    assert path.read_bytes() == before


def test_two_sweeps_do_not_write_to_one_file(tmp_path):
    path = tmp_path / "rows.jsonl"
    with open_rows(path, SAYS, KEYS) as file:
        file.append(ROWS[0])
        with pytest.raises(ValueError, match="another sweep is writing"):
            fill(path)
    assert fill(path)[0] == KEYS[:1]


def test_rows_reach_the_disk_every_second(tmp_path, monkeypatch):
    synced, now = [], [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    with open_rows(tmp_path / "rows.jsonl", SAYS, KEYS) as file:
        monkeypatch.setattr(os, "fsync", synced.append)
        counts = []
        for row, moment in zip(ROWS, (1.0, 1.01, 2.01, 2.02), strict=True):
            now[0] = moment
            file.append(row)
            counts.append(len(synced))
        assert counts == [0, 1, 1, 2]
    monkeypatch.setitem(sys.modules, "fcntl", None)  # where there are no locks
    assert fill(tmp_path / "rows.jsonl")[0] == KEYS


def unit(key="unit"):
    return SimpleNamespace(key=key)


@with_rows(
    "status, error, row",
    ("finished", None, {"key": "unit", "exit": 0}),
    (
        "error",
        ValueError("odd\n end"),
        {"key": "unit", "exit": 3, "error": "its worker: odd end"},
    ),
    ("error", KeyError(), {"key": "unit", "exit": 3, "error": "its worker: KeyError"}),
)
def test_what_a_worker_sends(status, error, row):
    future = SimpleNamespace(status=status, result=lambda: row, exception=lambda: error)
    assert frame._received(unit(), future) == row


def test_a_cluster_without_what_it_needs():
    lacks = SimpleNamespace(
        status="error", exception=lambda: ModuleNotFoundError("No module named 'x'")
    )
    words = "workers lack a module: No module named 'x'"
    refused(words, frame._received, unit(), lacks, error=WorkersError)
    gone = SimpleNamespace(status="cancelled")
    words = r"the cluster was lost \(a unit was cancelled\)"
    refused(words, frame._received, unit(), gone, error=LostWorkersError)


@with_rows(
    "row, said",
    ({"key": "k"}, ""),
    ({"key": "k", "error": "odd"}, "olivine: k: odd\n"),
    ({"key": "k", "file": "f", "error": "f: odd"}, "olivine: f: odd\n"),
    (
        {"key": "k", "contradictions": ["1 is 2", "3 is 4"]},
        "olivine: k: contradiction: 1 is 2\nolivine: k: contradiction: 3 is 4\n",
    ),
    ({"key": "k", "error": "odd", "traceback": "T\n"}, "olivine: k: odd\nT\n"),
)
def test_trouble_of_a_row_is_told(row, said, capsys):
    frame.tell_trouble(row)
    assert capsys.readouterr().err == said


@pytest.mark.parametrize("error", [WorkersError("none"), LostWorkersError("gone")])
def test_work_ends_where_there_are_no_workers(error, monkeypatch, capsys):
    def rows(*_):
        yield {"key": "a", "exit": 70, "error": "odd"}
        raise error

    monkeypatch.setattr(frame, "rows_of", rows)
    kept = []
    statuses = frame.work([], kept.append, "sweep", 1)
    assert statuses == [70, 3 if isinstance(error, LostWorkersError) else 2]
    assert [row["key"] for row in kept] == ["a"]
    assert capsys.readouterr().err == f"olivine: a: odd\nolivine: {error}\n"


def test_processors_where_the_system_does_not_say_which(monkeypatch):
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    for count, found in (7, 7), (None, 1):
        monkeypatch.setattr(os, "cpu_count", lambda c=count: c)
        assert frame.cores() == found


def test_a_row_that_does_not_fit_on_the_disk_leaves_no_part(tmp_path, monkeypatch):
    path = tmp_path / "rows.jsonl"
    from olivine.cli.experiments import rows

    write, calls = rows.os.write, []

    def full(descriptor, data):
        calls.append(descriptor)
        if len(calls) > 1:
            raise OSError(28, "No space left on device")
        return write(descriptor, bytes(data)[:5])

    with open_rows(path, SAYS, KEYS) as file:
        file.append(ROWS[0])
        monkeypatch.setattr(rows.os, "write", full)
        with pytest.raises(OSError, match="No space"):
            file.append(ROWS[1])
        monkeypatch.undo()
    assert [row["key"] for row in lines(path)[1:]] == KEYS[:1]
    assert fill(path) == (KEYS[:1], "")


FILES, DRAWN = 100, 400
SWEEP = f"""
kind = "formulas"
routes = ["sat", "maxsat", "witness"]
files = ["formulas"]
random = {{ variables = 6, ratios = [3, 5], formulas = {DRAWN // 2} }}
"""


class Meddler(threading.Thread):
    """Puts other content in the place of files, or removes them, for a moment."""

    def __init__(self, texts):
        super().__init__(daemon=True)
        self.texts, self.count = texts, 0
        self._rng, self._end = np.random.default_rng(1), threading.Event()

    def run(self):
        paths = list(self.texts)
        while not self._end.wait(0.002):
            path, other = (paths[k] for k in self._rng.integers(len(paths), size=2))
            if self._rng.random() < 0.5:
                path.write_bytes(self.texts[other])
            else:
                path.unlink()
            self._end.wait(0.004)
            path.write_bytes(self.texts[path])
            self.count += 1

    def end(self):
        self._end.set()
        self.join()


def count(rows):
    return max(0, rows.read_bytes().count(b"\n") - 1) if rows.exists() else 0


@pytest.mark.long
def test_five_hundred_rows_are_true_after_all_of_it(tmp_path):
    pytest.importorskip("distributed")
    folder, rows = tmp_path / "formulas", tmp_path / "rows.jsonl"
    folder.mkdir()
    texts = {}
    for k in range(FILES):  # told apart by their numbers of clauses
        formula = random_ksat(6, 8 + k, 3, np.random.default_rng(k))
        write_dimacs(formula, folder / f"{k}.cnf")
        texts[folder / f"{k}.cnf"] = (folder / f"{k}.cnf").read_bytes()
    (tmp_path / "sweep.toml").write_text(SWEEP)
    command = [sys.executable, "-m", "olivine", "sweep", tmp_path / "sweep.toml"]
    command += ["-o", rows]
    environment = os.environ | {"PYTHONPATH": str(ROOT.parent)}

    def start(*more):
        return subprocess.Popen(
            [*command, *more], env=environment, cwd=tmp_path,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    meddler = Meddler(texts)
    refused, failed, kills = 0, 0, 0
    for least in (60, 160, 260):
        while count(rows) <= least:  # a start may find a file changed or gone
            for path, text in texts.items():
                path.write_bytes(text)
            sweep = start("-j", "2")
            while sweep.poll() is None and not count(rows):
                time.sleep(0.01)  # the header is of the true content
            if not meddler.is_alive() and count(rows):
                meddler.start()
            while sweep.poll() is None and count(rows) <= least:
                time.sleep(0.01)
            if sweep.poll() is None:
                sweep.kill()
                kills += 1
                sweep.communicate()
                continue
            said = sweep.communicate()[1]
            refused += "another sweep" in said or "No such file" in said
            failed += said.count("content has changed") + said.count("No such file")
    meddler.end()
    assert kills == 3
    assert meddler.count > 100
    port = "28786"
    cluster = [
        subprocess.Popen(
            [sys.executable, "-m", f"distributed.cli.dask_{part}", *arguments,
             "--no-dashboard"],
            env=environment, cwd=tmp_path, stderr=subprocess.DEVNULL,
        )
        for part, arguments in (
            ("scheduler", ["--port", port]),
            ("worker", [f"tcp://127.0.0.1:{port}", "--nthreads", "1", "--no-nanny"]),
        )
    ]  # fmt: skip
    before = count(rows)
    try:
        sweep = start("--dask", f"tcp://127.0.0.1:{port}")
        while sweep.poll() is None and count(rows) <= before + 20:
            time.sleep(0.05)
        assert sweep.poll() is None, sweep.stderr.read()
        cluster[0].kill()
        said = sweep.communicate(timeout=120)[1]
    finally:
        for process in cluster:
            process.kill()
            process.wait()
    assert sweep.returncode == 3, said
    assert "was lost" in said
    assert "Traceback" not in said
    last = start("-j", "2")
    said = last.communicate()[1]
    assert last.returncode == 0, said
    header, *found = map(json.loads, rows.read_bytes().splitlines())
    digests = {hashlib.sha256(text).hexdigest(): text for text in texts.values()}
    assert header["sweep"]["files"] == sorted(digests)
    assert len(found) == len({row["key"] for row in found}) == FILES + DRAWN
    of_files = [row for row in found if "sha256" in row["key"]]
    assert len(of_files) == FILES
    for row in of_files:
        text = digests[row["key"].rpartition(" ")[2]]
        assert row["clauses"] == int(text.splitlines()[0].split()[3])
        assert row["agree"]
    print(f"{meddler.count} changes, {refused} starts refused, {failed} failures told")
