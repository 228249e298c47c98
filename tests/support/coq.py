"""Running Coq over `proofs/`, which is built once for all workers."""

from __future__ import annotations

import fcntl
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.commands import ROOT

PROOFS = ROOT / "proofs"
needs_coq = pytest.mark.skipif(shutil.which("coqc") is None, reason="Coq is missing")


def make(target: str) -> subprocess.CompletedProcess[str]:
    """Run make in `proofs/`; only one worker at a time."""
    with open(PROOFS / "Makefile") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        command = ["make", "-C", str(PROOFS), target]
        return subprocess.run(command, capture_output=True, text=True, check=False)


def built(target: str) -> Path:
    """Build a target of `proofs/` and return its path."""
    done = make(target)
    assert done.returncode == 0, done.stdout + done.stderr
    return PROOFS / target


def coqc(file: Path, library: Path = PROOFS) -> subprocess.CompletedProcess[str]:
    """Compile a file against the compiled files of a folder."""
    return subprocess.run(
        ["coqc", "-Q", str(library), "Olivine", file.name],
        cwd=file.parent,
        capture_output=True,
        text=True,
        check=False,
    )
