"""`olivine generate` on planted formulas: its rate, its growth and its memory.

Figures, for each program file and for DRN: CPU seconds per 20 MB written (40 MB for
MPS), at most 1 where the rate is 20 MB/s (40), with the rate in the note; the peak
memory; and, in full, the exponent in m over four doublings. The whole process is timed:
the start of Python, reading, the model. So all that it writes counts: beside the
program stand three_sat.cnf and family.json, whose map of names is as long as a program.

    python -m benchmarks generate
    python -m benchmarks generate --full
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from olivine.cli.common.family_folder import FILES
from olivine.reduction.formula.dimacs import write_dimacs

from benchmarks.decide import planted
from benchmarks.figures import Figure, exponent, process, with_pace

RATES = {"lp": 20e6, "mps": 40e6, "drn": 20e6}
"""Bytes per second that are asked for."""
PEAKS = {"faithful": 6, "strengthened": 3, "projected": 3}
"""Gigabytes of memory at most, for a million clauses."""
QUICK = (10_000,)
FULL = tuple(1_000_000 >> k for k in (4, 3, 2, 1, 0))
"""Clauses."""

WRITTEN = (
    ("lp", "projected"),
    ("lp", "strengthened"),
    ("lp", "faithful"),
    ("mps", "projected"),
    ("mps", "strengthened"),
    ("mps", "faithful"),
    ("drn", "faithful"),
)


def figures(full: bool) -> Iterator[Figure]:
    """Measure: up to a million clauses when full, else ten thousand."""
    sizes = FULL if full else QUICK
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for m in sizes:
            write_dimacs(planted(m // 3, m, 1), folder / f"{m}.cnf")
        for kind, formulation in WRITTEN:
            what = kind if kind == "drn" else f"{kind}, {formulation}"
            times = []
            for m in sizes:
                call = ["--format", kind, "--formulation", formulation]
                seconds, steady, peak, size, own = _run(folder, m, call, FILES[kind])
                times.append(steady)
            note = (
                f"planted, m = {m}: {size / 1e6:.0f} MB ({FILES[kind]} {own / 1e6:.0f})"
                f" in {seconds:.1f} CPU s, {size / seconds / 1e6:.1f} MB/s"
            )
            each = seconds * RATES[kind] / size
            target = 1.0 if full else None
            share = f"{RATES[kind] / 1e6:.0f} MB"
            yield Figure(f"generate {what}, per {share}", each, "CPU s", target, note)
            limit, most = PEAKS[formulation] * 953.7, f"{PEAKS[formulation]} GB"
            yield Figure(f"generate {what}, peak memory", peak, "MiB", limit, most)
            if full:
                growth = exponent(sizes, times)
                note = f"planted, m = {sizes[0]} to {m}"
                yield Figure(f"generate {what}, in m", growth, "exponent", 1.1, note)


def _run(
    folder: Path, m: int, options: list[str], file: str
) -> tuple[float, float, float, int, int]:
    """Both times of `with_pace`, peak in MiB, bytes of the folder and of a file."""
    out = folder / "out"
    call = ["-m", "olivine", "generate", str(folder / f"{m}.cnf"), "-o", str(out)]
    peaks: list[float] = []
    times = with_pace(lambda: peaks.append(process([*call, *options])))
    size = sum(entry.stat().st_size for entry in out.iterdir())
    own = (out / file).stat().st_size
    shutil.rmtree(out)
    return *times, peaks[0], size, own
