"""Large planted formulas through whole processes, against PySAT on the same file.

Figures: reading to exact witness in one warm process; `olivine solve` and
`olivine verify` as processes, with their peak memory; and the exponent in m of all but
the engine. CaDiCaL, in a process of its own, takes most of the time; how reading and
deciding grow under PySAT alone is in the note.

    python -m benchmarks scale
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from olivine.reduction.formula.dimacs import write_dimacs

from benchmarks.decide import by_olivine, by_pysat, planted
from benchmarks.figures import Figure, growth, in_sum, process

PYSAT = (
    "import sys; from pysat.formula import CNF; from pysat.solvers import Solver; "
    "s = Solver('cadical153', bootstrap_with=CNF(from_file=sys.argv[1]).clauses); "
    "s.solve(); s.get_model()"
)


def figures(full: bool) -> Iterator[Figure]:
    """Measure: a million clauses when full, else a hundred thousand."""
    largest, repeats = (1_000_000, 3) if full else (100_000, 5)
    sizes = [largest >> k for k in range(4, -1, -1)]
    with tempfile.TemporaryDirectory() as folder:
        paths = {m: str(Path(folder) / f"{m}.cnf") for m in sizes}
        for m, path in paths.items():
            write_dimacs(planted(m // 3, m, 1), path)
        path, note = paths[largest], f"planted, m = {largest}"
        sides = partial(by_olivine, path), partial(by_pysat, path)
        ratio = in_sum(*sides, 3 if full else 15)
        yield Figure("reading to witness / PySAT, warm", ratio, "ratio", 1.5, note)
        calls = [partial(by_olivine, p) for p in paths.values()]
        slope, _ = growth(sizes, calls, 1, time.process_time)
        theirs, _ = growth(sizes, [partial(by_pysat, p) for p in paths.values()], 1)
        name = "reading to witness but for the engine, in m"
        beside = f"{note}; PySAT with its engine {theirs:.2f}"
        yield Figure(name, slope, "exponent", 1.1, beside)
        yield from _processes(path, note, repeats, full)


def _processes(path: str, note: str, repeats: int, full: bool) -> Iterator[Figure]:
    solve, verify = (["-m", "olivine", verb, path] for verb in ("solve", "verify"))
    peaks: list[float] = []
    wanted = (1.3, 1.5) if full else (None, None)

    def ours() -> None:
        peaks.append(process(solve, [10]))

    ratio = in_sum(ours, lambda: process(["-c", PYSAT, path]), repeats)
    name = "olivine solve / PySAT, processes"
    yield Figure(name, ratio, "ratio", wanted[0], note)
    yield Figure("olivine solve, peak memory", max(peaks), "MiB", 450, note)
    ratio = in_sum(lambda: process(verify), ours, repeats)
    yield Figure("olivine verify / olivine solve", ratio, "ratio", wanted[1], note)
