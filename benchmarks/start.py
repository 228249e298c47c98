"""What a verb takes to start: whole processes, against an interpreter's imports.

`solve` decides and `check` judges a formula of 100 variables; beside them an
interpreter imports PySAT's solvers and NumPy, which the first needs and the second
does not. Bytecode is compiled before, as it is where the project is installed.

    python -m benchmarks start
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import partial

from benchmarks.decide import CASES
from benchmarks.figures import Figure, in_turns, least

BARE = ["-c", "import numpy, pysat.solvers"]
FORMULA = str(CASES / "satlib" / "uf100-01.cnf")


def run(cache: str, arguments: list[str], status: int = 0) -> None:
    """Run Python to its end, with bytecode in a folder."""
    environment = os.environ | {"PYTHONPYCACHEPREFIX": cache}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    done = subprocess.run(
        [sys.executable, *arguments],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=False,
    )
    if done.returncode != status:
        raise RuntimeError(f"{' '.join(arguments)} ended with {done.returncode}")


def figures(full: bool) -> Iterator[Figure]:
    """Measure; more runs when full."""
    repeats = 40 if full else 30
    with tempfile.TemporaryDirectory() as folder:
        cache, certificate = f"{folder}/cache", f"{folder}/certificate.json"
        verify = ["-m", "olivine", "verify", FORMULA]
        run(cache, [*verify, "--certificate", certificate])
        for name, arguments, status in (
            ("solve", [FORMULA], 10),
            ("check", [certificate, FORMULA], 0),
        ):
            ask = partial(run, cache, ["-m", "olivine", name, *arguments], status)
            ask()
            ratio, ours, bare = in_turns(ask, partial(run, cache, BARE), repeats)
            note = f"uf100-01, {1000 * ours:.0f} and {1000 * bare:.0f} CPU ms"
            yield Figure(
                f"olivine {name} / import of PySAT and NumPy", ratio, "ratio", 1.5, note
            )
        used = least(partial(run, cache, verify), 3)
        yield Figure("olivine verify", used, "CPU s", None, "uf100-01, with the MILP")
