"""Do sweeps of small formulas keep all processors busy?

Sweeps random formulas of 5 variables on all processors; the figure is wall time and
processors by the CPU time that it took, all processes together. On a machine with other
work to do it says nothing: the load before is in the note.

    python -m benchmarks sweep
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from olivine.cli.workers import cores

from benchmarks.figures import Figure, cpu

SWEEP = """
kind = "formulas"
routes = ["sat", "maxsat", "witness"]
random = { variables = 5, ratios = [3, 6], formulas = %d }
"""


def figures(full):
    """Measure: two thousand formulas when full, else 400 (where the start tells)."""
    formulas = 2000 if full else 400
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as name:
        file, rows = Path(name) / "sweep.toml", Path(name) / "rows.jsonl"
        file.write_text(SWEEP % (formulas // 2))
        command = [sys.executable, "-m", "olivine", "sweep", file, "-o", rows]
        start = time.perf_counter()
        used = cpu(lambda: subprocess.run(command, check=True, stdout=-3))
        wall = time.perf_counter() - start
        done = rows.read_bytes().count(b"\n") - 1
    assert done == formulas
    busy = used / wall / cores()
    note = (
        f"{done} formulas, {busy:.0%} of {cores()} processors, load before {load:.1f}"
    )
    yield Figure("sweep: processors / busy ones", 1 / busy, "ratio",
                 1 / 0.9 if full else None, note)  # fmt: skip
