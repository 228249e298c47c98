"""`olivine generate --jobs 2` on a folder, against a call for each formula in process.

Figures: CPU seconds of the whole batch, the start of Python and all children included,
as a multiple of what the formulas take one after the other in this process; and the
same of the further formulas of a larger batch, without the start. The formulas have the
size of uf50.

    python -m benchmarks batch
    python -m benchmarks --full batch
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from olivine.cli.common.reading import Reading
from olivine.cli.generate import Content, FormatName, Job
from olivine.reduction.formula.dimacs import write_dimacs
from olivine.reduction.formula.random_formula import random_ksat

from benchmarks.figures import Figure, cpu, process

MOST = 1.3
SIZES, FULL_SIZES = (10, 30), (250, 1000)
"""Formulas of the two batches."""
SINGLE = 30
"""Formulas at most that are also done in this process."""
LP = Content(formats=[FormatName.LP])
CONTENTS = {
    "lp": LP,
    "lp, --solve --start": LP._replace(solve=True, start=True),
    "all formats": Content(),
}


def figures(full: bool) -> Iterator[Figure]:
    """Measure: a thousand formulas when full, else thirty, as LP only."""
    small, large = FULL_SIZES if full else SIZES
    rng = np.random.default_rng(27)
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        for count in (small, large):
            (place / str(count)).mkdir()
            for k in range(count):
                formula = random_ksat(50, 218, 3, rng)
                write_dimacs(formula, place / str(count) / f"{k:04}.cnf")
        for what, content in CONTENTS.items() if full else [("lp", LP)]:
            files = sorted((place / str(large)).iterdir())[:SINGLE]
            single = _single(files, place / "single", content)
            less = _batch(place / str(small), place / "out", content)
            more = _batch(place / str(large), place / "out", content)
            note = f"{1000 * more / large:.0f} ms a formula"
            target = MOST if full else None
            title = f"generate -j 2, {what}"
            ratio = more / large / single
            yield Figure(f"{title}, {large} formulas", ratio, "ratio", target, note)
            further = (more - less) / (large - small) / single
            note = f"from {small} to {large} formulas"
            yield Figure(f"{title}, further formulas", further, "ratio", MOST, note)


def _single(files: list[Path], out: Path, content: Content) -> float:
    """CPU seconds of a formula in this process, which has done one before."""
    places = {str(file): out / file.name for file in files}
    job = Job(Reading(), "paper", None, content, False, None, places)

    def work(chosen: list[Path]) -> None:
        for file in chosen:
            record, status = job(str(file))
            if status:
                raise RuntimeError(f"{file}: {record}")

    work(files[:1])
    seconds = cpu(work, files[1:])
    shutil.rmtree(out)
    return seconds / (len(files) - 1)


def _batch(folder: Path, out: Path, content: Content) -> float:
    """CPU seconds of a batch, all processes together."""
    options = [word for name in content.formats or () for word in ("--format", name)]
    options += ["--solve"] * content.solve + ["--start"] * content.start
    call = ["-m", "olivine", "generate", str(folder), "-o", str(out), "--json"]
    seconds = cpu(process, [*call, "--jobs", "2", *options])
    shutil.rmtree(out)
    return seconds
