"""The proofs in Coq, and the checker that is extracted from them.

Only where Coq and OCaml are installed, and when full: everything is proved again.

    python -m benchmarks --full proofs
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from benchmarks.decide import CASES
from benchmarks.figures import Figure, cpu, least

PROOFS = Path(__file__).parent.parent / "proofs"
FORMULA = CASES / "satlib" / "uuf100-01.cnf"


def figures(full: bool) -> Iterator[Figure]:
    """Measure; nothing when quick."""
    if not full or not (shutil.which("coqc") and shutil.which("ocamlopt")):
        return
    run = partial(subprocess.run, check=True, stdout=subprocess.DEVNULL)
    with tempfile.TemporaryDirectory() as folder:
        proofs, certificate = Path(folder) / "proofs", Path(folder) / "c.json"
        built = ("*.vo*", "*.glob", ".*.aux", ".depend", "*.cm*", "*.o", "core.ml*")
        built += ("assumptions.txt", "olivine_checker")
        shutil.copytree(PROOFS, proofs, ignore=shutil.ignore_patterns(*built))
        used = cpu(partial(run, ["make", "-C", proofs, "assumptions.txt"]))
        yield Figure("make -C proofs", used, "CPU s", 300, "from scratch")
        run(["make", "-C", proofs])
        olivine = [sys.executable, "-m", "olivine"]
        run([*olivine, "verify", FORMULA, "--certificate", certificate])
        ours = least(partial(run, [*olivine, "check", certificate, FORMULA]), 3)
        checker = proofs / "checker" / "olivine_checker"
        extracted = least(partial(run, [checker, certificate, FORMULA]), 3)
        note = f"uuf100-01, {extracted:.2f} and {ours:.2f} CPU s"
        yield Figure("extracted checker / olivine check", extracted / ours, "ratio",
                     10, note)  # fmt: skip
