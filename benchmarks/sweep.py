"""Do sweeps of small formulas keep all processors busy?

    python -m benchmarks.sweep [FORMULAS]

Sweeps so many random formulas of 5 variables (2,000) on all processors and prints the
CPU time that it took, all processes together, by wall time and processors. On a machine
with other work to do the figure says nothing: the load before is printed beside it.
"""

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from olivine.cli.workers import cores

SWEEP = """
kind = "formulas"
routes = ["sat", "maxsat", "witness"]
random = { variables = 5, ratios = [3, 6], formulas = %d }
"""


def main() -> None:
    formulas = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as name:
        file, rows = Path(name) / "sweep.toml", Path(name) / "rows.jsonl"
        file.write_text(SWEEP % -(-formulas // 2))
        command = [sys.executable, "-m", "olivine", "sweep", file, "-o", rows]
        start = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        wall = time.perf_counter() - start
        done = rows.read_bytes().count(b"\n") - 1
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = used.ru_utime + used.ru_stime
    print(
        f"{done} formulas in {wall:.1f} s, {cpu:.1f} s of CPU time: "
        f"{cpu / wall / cores():.0%} of {cores()} processors (load before: {load:.1f})"
    )


if __name__ == "__main__":
    main()
