"""Numbers too large, time and memory too short: told, never waited for."""

import itertools
import sys

import pytest

from tests.support.commands import CASES, olivine, run_olivine
from tests.support.depth import spread

FULL3 = CASES / "cadical" / "full3.cnf"
ABSURD = 10**18
RMAX = ["learn", "rmax", "--env", "lock", "--params", "practical", "--json"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["learn", "all", "--seeds", ABSURD], "1000000"),
        (["contrast", "--instances", ABSURD, "-o", "x"], "10000"),
        (["learn", "psdp", "--env", "grid", "--set", f"horizon={ABSURD}"], "horizon"),
        (["learn", "psdp", "--env", "lock", "--set", f"horizon={ABSURD}"], "in 1.."),
        ([*RMAX, "--set", f"m={ABSURD}"], "batches"),
    ],
)
def test_absurd_numbers_are_refused_with_a_reason(arguments, words) -> None:
    done = olivine(*arguments)
    assert done.status == 2
    assert words in done.out + done.err


def test_a_run_of_learn_ends_at_its_limit() -> None:
    long = ["--set", "m=100000000", "--set", "n=20", "--set", "max_batches=100000000"]
    done = olivine(*RMAX, *long, "--time-limit", 0.5)
    assert done.status == 3
    assert done.record == {
        "algorithm": "rmax",
        "env": "lock",
        "status": "unknown",
        "reason": "limit of 0.5 s of CPU time reached",
        "seed": 0,
    }
    told = olivine(*RMAX[:-1], *long, "--time-limit", 0.5)
    assert (told.status, told.out) == (3, "")
    assert "rmax on lock: unknown" in told.err


def test_a_limit_that_is_not_reached_changes_nothing() -> None:
    plain, limited = olivine(*RMAX), olivine(*RMAX, "--time-limit", 1000)
    assert limited.status == plain.status == 0
    assert {**limited.record, "seconds": 0} == {**plain.record, "seconds": 0}


@pytest.mark.skipif(sys.platform != "linux", reason="needs a limit of address space")
@pytest.mark.parametrize(
    ("verb", "kib"),
    spread(
        itertools.product(
            [["learn", "rmax", "--env", "lock"], ["verify", FULL3]], [60_000, 100_000]
        ),
        2,
    ),
)
def test_want_of_memory_is_undecided(verb, kib: int) -> None:
    import resource

    def little_memory() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (kib * 1024, kib * 1024))

    done = run_olivine(*verb, preexec_fn=little_memory)
    assert done.status == 3
    assert done.out == ""
    assert done.err.startswith("olivine: out of memory")
    assert done.err.count("\n") == 1


def test_a_library_that_does_not_fit_is_undecided(monkeypatch) -> None:
    def load(*_: object, **__: object):
        raise ImportError("x.so: failed to map segment from shared object")

    monkeypatch.setattr("olivine.cli.common.Reading.read_instance", load)
    done = olivine("verify", FULL3, "--json")
    assert done.status == 3
    assert done.record["error"] == f"{FULL3}: out of memory"
    done = olivine("report", FULL3, "-o", "unused")
    assert (done.status, done.err) == (3, "olivine: out of memory\n")
