"""Run the benchmarks that have targets and print each figure beside its target.

    python -m benchmarks                    quick: some minutes
    python -m benchmarks --full --json b.json
    python -m benchmarks scale treewidth    some of them
    python -m benchmarks --compare b.json   beside an earlier run

Run it alone on the machine. A figure is a ratio within this run where it can be; times
are CPU seconds, with one BLAS thread. A quick module is measured three times, and each
figure is the median of its three values. A machine that others share changes its speed,
so a fixed piece of work is timed before and after each measurement: times of two runs
are compared by it, exponents fitted to times at one speed, and a target of time that is
missed counts as met, "if fast" in the table, where it would be met by a machine that
does the piece of work in 8 ms. A target is the most that was asked for. Exit status 1:
one is missed.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

from olivine.cli.experiments.frame import cores

from benchmarks.figures import PIECE, Figure, piece_of_work

MODULES = (
    "start",
    "decide",
    "scale",
    "read_dimacs",
    "family",
    "certificate",
    "generate",
    "batch",
    "search",
    "milp",
    "treewidth",
    "trace",
    "olive_program",
    "oracles",
    "environments",
    "simulator",
    "valor",
    "valor_linear",
    "theorems",
    "sweep",
    "proofs",
)
"""Each has a function `figures(full)` that yields what it measures."""

CHANGED = 1.2
"""Factor between two runs from which on a figure counts as changed."""

TIMES_QUICK = 3
"""How often a quick module is measured; odd, for the median."""
TIMES = ("CPU s", "ms")
"""Units that are compared by the speed of the machine."""

PACKAGES = ("numpy", "python-sat", "pulp", "highspy", "networkx", "scipy")


def machine() -> dict[str, Any]:
    """What the figures depend on beside the code."""
    return {
        "python": platform.python_version(),
        "system": platform.platform(),
        "cores": cores(),
        "load": round(os.getloadavg()[0], 1),
        "threads": os.environ.get("OMP_NUM_THREADS", "not pinned"),
        "packages": {name: version(name) for name in PACKAGES},
    }


def measured(name: str, full: bool) -> list[tuple[Figure, float]]:
    """Measure a module: each figure, and the piece of work about that time."""
    module, found = import_module(f"benchmarks.{name}"), []
    for _ in range(1 if full else TIMES_QUICK):
        before = piece_of_work()
        figures = list(module.figures(full))
        work = (before + piece_of_work()) / 2
        found.append([(figure, work) for figure in figures])
    middle = len(found) // 2
    rows = zip(*found, strict=True)
    return [sorted(row, key=lambda pair: pair[0].value)[middle] for row in rows]


def verdict(figure: Figure, work: float) -> str:
    """Say how a target stands, given the time that the piece of work took."""
    if figure.target is None:
        return ""
    if figure.value <= figure.target:
        return "met"
    timed = figure.unit in TIMES
    fast = timed and figure.value * PIECE <= figure.target * work
    return "if fast" if fast else "MISSED"


def row(figure: Figure, work: float, before: float | None) -> str:
    """Show a figure, how its target stands, and why it is not met as measured."""
    target = "-" if figure.target is None else f"{figure.target:g}"
    mark, note = verdict(figure, work), figure.note
    change = f"{figure.value / before:8.2f} of before" if before else ""
    if mark == "if fast":
        slower = work / PIECE
        note += f"; {figure.value / slower:.3g} on a machine {slower:.1f} times as fast"
    return (
        f"{figure.name:44} {figure.value:9.3g} {figure.unit:9} {target:>6} {mark:7}"
        f"{change} {note}"
    )


def summary(verdicts: Sequence[str]) -> str:
    """Count the targets."""
    counts = Counter(filter(None, verdicts))
    text = f"{counts['met']} of {counts.total()} targets met"
    if fast := counts["if fast"]:
        text += f", {fast} more if the machine were as fast as they mean"
    return text


def changes(found: Mapping[str, Figure], before: Mapping[str, float]) -> str:
    """Name what is not as it was in an earlier run."""
    both = [name for name in found if name in before]
    changed = [n for n in both if _factor(found[n].value, before[n]) > CHANGED]
    return (
        f"{len(both) - len(changed)} of {len(both)} figures within a factor of "
        f"{CHANGED} of before; others: {', '.join(changed) or 'none'}"
    )


def _factor(value: float, before: float) -> float:
    """By how much two figures differ; infinite where one of them is 0."""
    if value == before:
        return 1.0
    low, high = sorted((value, before))
    return high / low if low > 0 else math.inf


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("modules", nargs="*", help=f"of {', '.join(MODULES)}; all")
    parser.add_argument("--full", action="store_true", help="sizes of the targets")
    parser.add_argument("--json", type=Path, help="write the figures to a file")
    parser.add_argument("--compare", type=Path, help="a file of an earlier run")
    options = parser.parse_args()
    if wrong := set(options.modules) - set(MODULES):
        parser.error(f"no benchmark {', '.join(sorted(wrong))}; there are {MODULES}")
    before: dict[str, float] = {}
    earlier: dict[str, tuple[float, float]] = {}
    work: dict[str, float] = {}
    folder = None if options.json is None else options.json.parent
    if folder is not None and not folder.is_dir():  # not after an hour
        parser.error(f"{folder}: no such folder")
    if options.compare is not None:
        try:
            record = json.loads(options.compare.read_text(encoding="utf-8"))
            earlier = {f["name"]: (f["value"], f["work"]) for f in record["figures"]}
            if record["full"] != options.full:
                raise ValueError("one of the two runs is --full")
        except (OSError, ValueError, KeyError, TypeError) as error:
            parser.error(f"{options.compare}: no figures of an earlier run ({error})")
    setting = machine()
    print(", ".join(f"{k} {v}" for k, v in setting.items()), file=sys.stderr)
    found: dict[str, Figure] = {}
    for name in options.modules or MODULES:
        for figure, seconds in measured(name, options.full):
            if figure.name in found:
                raise RuntimeError(f"two figures are called {figure.name!r}")
            found[figure.name], work[figure.name] = figure, seconds
            if figure.name in earlier:
                value, then = earlier[figure.name]
                slower = seconds / then if figure.unit in TIMES else 1.0
                before[figure.name] = value * slower
            print(row(figure, seconds, before.get(figure.name)), flush=True)
        if options.json is not None:  # each time: the next may fail
            rows = [
                asdict(f) | {"verdict": verdict(f, work[name]), "work": work[name]}
                for name, f in found.items()
            ]
            record = {"full": options.full, "machine": setting, "figures": rows}
            draft = options.json.with_name(options.json.name + ".new")
            draft.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
            draft.replace(options.json)
    verdicts = [verdict(figure, work[name]) for name, figure in found.items()]
    print(summary(verdicts))
    if before:
        print(changes(found, before))
    return int("MISSED" in verdicts)


if __name__ == "__main__":
    sys.exit(main())
