"""Run the benchmarks that have targets and print each figure beside its target.

    python -m benchmarks                    quick: some minutes
    python -m benchmarks --full --json b.json
    python -m benchmarks scale treewidth    some of them
    python -m benchmarks --compare b.json   beside an earlier run

Run it alone on the machine. Exit status 1: a target is missed.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from dataclasses import asdict
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.figures import Figure

MODULES = ("scale", "generate", "search", "milp", "treewidth", "trace")
"""Each has a function `figures(full)` that yields what it measures."""

PACKAGES = ("numpy", "python-sat", "pulp", "highspy", "networkx", "scipy")


def machine() -> dict[str, Any]:
    """What the figures depend on beside the code."""
    return {
        "python": platform.python_version(),
        "system": platform.platform(),
        "cores": len(os.sched_getaffinity(0)),
        "threads": os.environ.get("OMP_NUM_THREADS", "not pinned"),
        "packages": {name: version(name) for name in PACKAGES},
    }


def row(figure: Figure, before: float | None) -> str:
    target = "-" if figure.target is None else f"{figure.target:g}"
    mark = {True: "met", False: "MISSED", None: ""}[figure.met]
    change = "" if before is None else f"{figure.value / before:8.2f} of before"
    return (
        f"{figure.name:44} {figure.value:9.3g} {figure.unit:9} {target:>6} {mark:7}"
        f"{change} {figure.note}"
    )


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
    if options.compare is not None:
        try:
            record = json.loads(options.compare.read_text(encoding="utf-8"))
            before = {f["name"]: f["value"] for f in record["figures"]}
        except (OSError, ValueError, KeyError, TypeError) as error:
            parser.error(f"{options.compare}: no figures of an earlier run ({error})")
    found: list[Figure] = []
    for name in options.modules or MODULES:
        for figure in import_module(f"benchmarks.{name}").figures(options.full):
            found.append(figure)
            print(row(figure, before.get(figure.name)), flush=True)
    if options.json is not None:
        rows = [asdict(f) | {"met": f.met} for f in found]
        record = {"full": options.full, "machine": machine(), "figures": rows}
        draft = options.json.with_name(options.json.name + ".new")
        draft.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
        draft.replace(options.json)
    return 1 if any(f.met is False for f in found) else 0


if __name__ == "__main__":
    # One thread: the figures are CPU time, and BLAS would spread it.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    sys.exit(main())
