"""A sweep whose files change and go, that is killed and loses its cluster."""

import hashlib
import json
import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from olivine.reduction.formula.dimacs import write_dimacs
from olivine.reduction.formula.random_formula import random_ksat

from tests.support.commands import ROOT

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
