import os
import signal
from pathlib import Path

import pytest
from olivine.cli.common.output import ExitStatus
from olivine.cli.common.reading import in_order, in_parallel

pytestmark = pytest.mark.children


def job(file: str):
    """Die over files called so, and answer for the others."""
    if Path(file).name == "deadly":
        os.kill(os.getpid(), signal.SIGKILL)
    return {"file": file, "process": os.getpid()}, ExitStatus.DONE


def test_results_come_in_the_order_of_the_files():
    files = [f"file {k}" for k in range(6)] + ["-"]
    results = list(in_order(in_parallel(job, files, 2)))
    assert [record["file"] for record, _ in results] == files
    assert results[-1][0]["process"] == os.getpid()
    assert all(r["process"] != os.getpid() for r, _ in results[:-1])
    assert list(in_parallel(job, [], 3)) == []


def test_a_worker_that_dies_costs_its_own_file_only() -> None:
    files = ["a", "b", "deadly", "c"]
    results = list(in_order(in_parallel(job, files, 2)))
    assert [record["file"] for record, _ in results] == files
    assert [status for _, status in results] == [
        ExitStatus.DONE,
        ExitStatus.DONE,
        ExitStatus.UNDECIDED,
        ExitStatus.DONE,
    ]
    assert "died" in results[2][0]["error"]
