"""`olivine generate` on planted formulas: its rate and its memory.

Figures, for each program file and for DRN: CPU seconds per 20 MB of that file, at
most 1 where the rate is 20 MB/s; and the peak memory of the process. The whole
process is timed: the start of Python, reading, the model, and family.json with its
map of names, which is not counted in the size.

    python -m benchmarks generate
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from olivine.cli.family_folder import FILES
from olivine.reduction.formula.dimacs_write import write_dimacs

from benchmarks.decide import planted
from benchmarks.figures import Figure, cpu, process

RATE = 20e6
"""Bytes a second that are asked for."""

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
    """Measure: a hundred thousand clauses when full, else ten thousand."""
    m = 100_000 if full else 10_000
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "planted.cnf"
        write_dimacs(planted(m // 3, m, 1), path)
        for kind, formulation in WRITTEN:
            out = Path(folder) / f"{kind}-{formulation}"
            call = ["-m", "olivine", "generate", str(path), "-o", str(out)]
            call += ["--format", kind, "--formulation", formulation]
            peaks: list[float] = []
            seconds = cpu(lambda call=call, to=peaks: to.append(process(call)))
            size = (out / FILES[kind]).stat().st_size
            what = kind if kind == "drn" else f"{kind}, {formulation}"
            note = f"planted, m = {m}, {size / 1e6:.0f} MB in {seconds:.1f} CPU s"
            yield Figure(
                f"generate {what} / 20 MB/s",
                seconds * RATE / size,
                "ratio",
                1.0 if full else None,
                note,
            )
            yield Figure(f"generate {what}, peak memory", peaks[0], "MiB", 1024, note)
