"""The MaxSAT evaluation's protocol, with real processes: o lines, signals, limits."""

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from olivine.reduction.formula.dimacs import read_dimacs

from tests.support.commands import ROOT
from tests.support.depth import with_rows

pytestmark = [
    pytest.mark.children,
    pytest.mark.skipif(sys.platform != "linux", reason="finds processes in /proc"),
]


def vertex_cover(n: int) -> str:
    """Write the smallest cover of a random graph's edges, which takes some hours."""
    drawn = random.Random(1)
    edges = [(i, j) for i in range(n) for j in range(i) if drawn.random() < 0.35]
    hard = [f"h {i + 1} {j + 1} 0" for i, j in edges]
    return "\n".join([*hard, *(f"1 -{i + 1} 0" for i in range(n))]) + "\n"


@pytest.fixture(scope="module")
def file(tmp_path_factory) -> Path:
    file = tmp_path_factory.mktemp("wcnf") / "cover.wcnf"
    file.write_text(vertex_cover(200))
    return file


class Run:
    """A run of `solve`, its output as it comes, and whatever it leaves."""

    def __init__(self, file: Path, folder: Path, *options: str) -> None:
        self.file, self.folder = file, folder
        self.mark = f"OLIVINE_TEST={folder}"
        name, _, value = self.mark.partition("=")
        self.process = subprocess.Popen(
            [sys.executable, "-m", "olivine", "solve", file, *options],
            cwd=ROOT,
            env=os.environ | {"TMPDIR": str(folder), name: value},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        self.lines: list[str] = []

    def until(self, start: str) -> None:
        """Read on until a line begins so."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line.rstrip("\n"))
            if line.startswith(start):
                return
        raise AssertionError(self.lines)

    def end(self) -> int:
        """Read the rest; return the exit status once nothing is left behind."""
        assert self.process.stdout is not None
        self.lines += self.process.stdout.read().splitlines()
        self.process.stdout.close()
        status = self.process.wait()
        for _ in range(500):
            if not self._processes():
                break
            time.sleep(0.01)
        assert self._processes() == []
        assert list(self.folder.iterdir()) == []
        return status

    def _processes(self) -> list[str]:
        found = []
        for entry in Path("/proc").iterdir():
            with contextlib.suppress(OSError):
                if self.mark.encode() in (entry / "environ").read_bytes():
                    found.append(entry.name)
        return found

    def best(self) -> int:
        """Return the cost of the last o line, which the v line must have."""
        costs = [int(line[2:]) for line in self.lines if line.startswith("o ")]
        assert costs == sorted(set(costs), reverse=True)
        (bits,) = [line[2:] for line in self.lines if line.startswith("v ")]
        formula = read_dimacs(self.file).formula
        assignment = [bit == "1" for bit in bits]
        assert formula.satisfied(assignment)[formula.hard].all()
        assert formula.unsatisfied_weight(assignment) == costs[-1]
        return costs[-1]

    def answers(self) -> list[str]:
        return [line for line in self.lines if line.startswith("s ")]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_is_a_limit_of_time(file, tmp_path, number) -> None:
    run = Run(file, tmp_path)
    run.until("o ")
    for _ in range(3):  # some senders send it more than once
        run.process.send_signal(number)
    assert run.end() == 10
    assert run.answers() == ["s SATISFIABLE"]
    assert run.best() > 0
    assert any(f"stopped by {number.name}" in line for line in run.lines)


def pigeons(mark: str) -> str:
    """Write 15 pigeons into 14 holes, which takes hours to refute."""
    holes, birds = 14, 15
    rows = [[p * holes + h + 1 for h in range(holes)] for p in range(birds)]
    rows += [
        [-(p * holes + h + 1), -(q * holes + h + 1)]
        for h in range(holes)
        for p in range(birds)
        for q in range(p)
    ]
    return "".join(f"{mark}{' '.join(map(str, row))} 0\n" for row in rows)


@with_rows(
    "name, text, status, answers",
    ("x.wcnf", pigeons("h ") + "1 1 0\n", 0, ["s UNKNOWN"]),
    ("x.txt", pigeons("h ") + "1 1 0\n", 0, ["s UNKNOWN"]),
    ("x.cnf", "p cnf 210 1485\n" + pigeons(""), 143, []),
)
def test_a_signal_before_any_model_is_unknown(
    tmp_path, name, text, status, answers
) -> None:
    """Of WCNF by any name; a formula to be decided has no limit but its own."""
    hard, folder = tmp_path / name, tmp_path / "temporary"
    hard.write_text(text)
    folder.mkdir()
    run = Run(hard, folder)
    run.until("c family")
    run.process.send_signal(signal.SIGTERM)
    assert run.end() == status
    assert run.answers() == answers
    assert not any(line.startswith(("o ", "v ")) for line in run.lines)


def test_json_of_a_run_that_is_stopped(file, tmp_path) -> None:
    for seconds in ("1", "4", "16", "64"):  # a busy machine needs longer for a model
        run = Run(file, tmp_path, "--json", "--time-limit", seconds)
        status = run.end()
        (line,) = run.lines
        if status == 10:
            break
    assert status == 10
    assert '"answer": "SATISFIABLE"' in line


def test_a_reader_that_goes_away_ends_it(file, tmp_path) -> None:
    run = Run(file, tmp_path)
    run.until("o ")
    run.process.stdout.close()
    assert run.process.wait() == 141
    assert list(tmp_path.iterdir()) == []
