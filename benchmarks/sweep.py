"""Do sweeps of small formulas keep all processors busy?

Sweeps random formulas of 5 variables on all processors; the figure is wall time and
processors, less what the host of a virtual machine took, by the CPU time that it took,
all processes together. On a machine with other work to do it says nothing: the load
before is in the note.

    python -m benchmarks sweep
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from olivine.cli.experiments.frame import cores

from benchmarks.figures import Figure, cpu

SWEEP = """
kind = "formulas"
routes = ["sat", "maxsat", "witness"]
random = { variables = 5, ratios = [3, 6], formulas = %d }
"""


def figures(full):
    """Measure: two thousand formulas three times when full, else 400 (mostly start)."""
    formulas, goes = (2000, 3) if full else (400, 1)
    load = os.getloadavg()[0]
    ratio = median(free(formulas) for _ in range(goes))
    note = (
        f"{formulas} formulas, {1 / ratio:.0%} of {cores()} processors, "
        f"load before {load:.1f}"
    )
    yield Figure("sweep: processors / busy ones", ratio, "ratio",
                 1 / 0.9 if full else None, note)  # fmt: skip


def free(formulas):
    """Sweep; time that the processors could have used by time used."""
    with tempfile.TemporaryDirectory() as name:
        file, rows = Path(name) / "sweep.toml", Path(name) / "rows.jsonl"
        file.write_text(SWEEP % (formulas // 2))
        command = [sys.executable, "-m", "olivine", "sweep", file, "-o", rows]
        start, before = time.perf_counter(), stolen()
        used = cpu(lambda: subprocess.run(command, check=True, stdout=-3))
        had = cores() * (time.perf_counter() - start) - (stolen() - before)
        assert rows.read_bytes().count(b"\n") - 1 == formulas
    return had / used


def stolen():
    """Seconds of all processors that the host took so far; 0 where none are told."""
    try:
        first = Path("/proc/stat").read_text().split("\n", 1)[0].split()
    except OSError:
        return 0.0
    return int(first[8]) / os.sysconf("SC_CLK_TCK")
