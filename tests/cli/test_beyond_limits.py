"""Numbers too large, time and memory too short: told, never waited for."""

import errno
import gc
import itertools
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from olivine.cli.common import family_folder, process
from olivine.cli.experiments import sweep_file
from olivine.cli.experiments.runs import OutOfTimeError, limited
from olivine.cli.experiments.sweep_file import read_sweep
from olivine.cli.experiments.units import check_number
from olivine.reduction.formula.dimacs import write_dimacs
from olivine.reduction.formula.random_formula import random_ksat

from tests.support.commands import CASES, olivine, run_olivine
from tests.support.depth import with_rows
from tests.support.refusals import refused

FULL3 = CASES / "cadical" / "full3.cnf"
ABSURD = 10**18
RMAX = ["learn", "rmax", "--env", "lock", "--params", "practical", "--json"]


@with_rows(
    "arguments, words",
    (["compare", "--seeds", ABSURD], "1000000"),
    (["contrast", "--instances", ABSURD, "-o", "x"], "10000"),
    (["learn", "psdp", "--env", "grid", "--set", f"horizon={ABSURD}"], "horizon"),
    (["learn", "psdp", "--env", "lock", "--set", f"horizon={ABSURD}"], "in 1.."),
    ([*RMAX, "--set", f"m={ABSURD}"], "batches"),
)
def test_absurd_numbers_are_refused_with_a_reason(arguments, words) -> None:
    done = olivine(*arguments, status=2)
    assert words in done.out + done.err


def test_a_run_of_learn_ends_at_its_limit() -> None:
    long = ["--set", "m=100000000", "--set", "n=20", "--set", "max_batches=100000000"]
    done = olivine(*RMAX, *long, "--time-limit", 0.2, status=3)
    assert done.record == {
        "algorithm": "rmax",
        "env": "lock",
        "status": "unknown",
        "reason": "limit of 0.2 s of CPU time reached",
        "seed": 0,
    }
    told = olivine(*RMAX[:-1], *long, "--time-limit", 0.2)
    assert (told.status, told.out) == (3, "")
    assert "rmax on lock: unknown" in told.err


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_limit_dropped_by_the_collector_is_told_at_the_end() -> None:
    def spin(phase: str, _info: object) -> None:
        begun = time.process_time()
        while phase == "start" and time.process_time() < begun + 0.2:
            pass

    def run() -> None:
        with limited(0.05):
            gc.collect()
            steps.append("after the callback")

    steps: list[str] = []
    gc.callbacks.append(spin)
    try:
        refused(r"0\.05 s", run, error=OutOfTimeError)
    finally:
        gc.callbacks.remove(spin)
    assert steps == ["after the callback"]


def test_a_limit_longer_than_any_timer_is_none() -> None:
    with limited(1e300):
        pass


def test_a_limit_holds_where_the_signal_comes_too_late(monkeypatch) -> None:
    """As where the kernel's tick is longer than the run."""

    def run() -> None:
        with limited(0.001):
            begun = time.process_time()
            while time.process_time() < begun + 0.002:
                pass

    monkeypatch.setattr("signal.setitimer", lambda *_: None)
    monkeypatch.setattr("olivine.cli.experiments.runs.PATIENCE", 1e6)
    refused("limit", run, error=OutOfTimeError)


def test_a_limit_that_is_not_reached_changes_nothing() -> None:
    plain, other = olivine(*RMAX), olivine(*RMAX, "--time-limit", 1000)
    assert other.status == plain.status == 0
    assert {**other.record, "seconds": 0} == {**plain.record, "seconds": 0}


@pytest.mark.skipif(sys.platform != "linux", reason="needs a limit of address space")
@with_rows(
    "verb, kib",
    *itertools.product(
        [["learn", "rmax", "--env", "lock"], ["verify", FULL3]], [60_000, 100_000]
    ),
    keep=2,
)
def test_want_of_memory_is_undecided(verb, kib: int) -> None:
    import resource

    def little_memory() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (kib * 1024, kib * 1024))

    done = run_olivine(*verb, preexec_fn=little_memory, status=3)
    assert done.out == ""
    assert done.err.startswith("olivine: out of memory")
    assert done.err.count("\n") == 1


def test_a_library_that_does_not_fit_is_undecided(monkeypatch) -> None:
    def load(*_: object, **__: object):
        raise ImportError("x.so: failed to map segment from shared object")

    monkeypatch.setattr("olivine.cli.common.reading.Reading.read", load)
    done = olivine("verify", FULL3, "--json", status=3)
    assert done.record["error"] == f"{FULL3}: out of memory"
    done = olivine("report", FULL3, "-o", "unused")
    assert (done.status, done.err) == (3, "olivine: out of memory\n")


def test_want_of_memory_is_told_apart_and_no_limits_named(monkeypatch):
    lost = "<class 'type'> returned NULL without setting an exception"
    for text in ("error return without exception set", lost):
        assert process.is_exhausted(SystemError(text))
    assert not process.is_exhausted(SystemError("bad argument to internal function"))
    assert not process.is_exhausted(RuntimeError("error return without exception set"))
    monkeypatch.setitem(sys.modules, "resource", None)
    refused("platform cannot limit", process.parse_bytes, "2GB")


@with_rows(
    "text, amount",
    ("2GB", 2 * 10**9),
    ("512 MiB", 512 << 20),
    ("1.5g", 1_500_000_000),
    ("4096", 4096),
    ("64KiB", 64 << 10),
    ("2ti", 2 << 40),
    ("1 kb", 1000),
    ("4611686018427387000", (1 << 62) - 1024),  # the largest, as a float
)
def test_amounts_of_memory(text: str, amount: int) -> None:
    assert process.parse_bytes(text) == amount


@with_rows(
    "limit, amount",
    (999, "999 B"),
    (1000, "1 KB"),
    (999_999, "1000 KB"),
    (2_345_678, "2.346 MB"),
    (10**9, "1 GB"),
    (5 * 10**15, "5000 TB"),
)
def test_limits_of_memory_in_words(limit: int, amount: str) -> None:
    assert process.reached(limit) == f"the memory limit of {amount} was reached"


@pytest.mark.skipif(sys.platform == "win32", reason="needs limits of address space")
def test_libraries_are_tried_in_a_child_where_there_is_a_limit(monkeypatch) -> None:
    import resource

    asked = []

    def run_in_child(work, **limits):
        asked.append((work, limits))
        return SimpleNamespace(status=ends.pop())

    ends = ["killed", "killed", "done"]
    monkeypatch.setattr("olivine.solvers.child.child.run_in_child", run_in_child)
    unlimited = resource.RLIM_INFINITY, resource.RLIM_INFINITY
    monkeypatch.setattr(resource, "getrlimit", lambda _: unlimited)
    assert process.why_too_small() == ""
    assert asked == []
    monkeypatch.setattr(resource, "getrlimit", lambda _: (70_000 << 10, 1 << 60))
    assert process.why_too_small() == ""
    assert asked == [(process._load, {"time_limit": 60, "cpu_limit": 5})]
    words = "under the limit of 70000 KiB of address space (ulimit -v)"
    assert words in process.why_too_small()
    monkeypatch.setattr(process, "_chosen", [10**7])
    words = "the memory limit of 10 MB was reached while numpy and scipy were loaded"
    assert process.why_too_small() == words
    process._load()
    monkeypatch.delattr(resource, "RLIMIT_AS")
    refused("platform cannot limit", process.parse_bytes, "2GB")


RANDOM = 'kind = "formulas"\nrandom = {{formulas = 1, {}}}\n'
DIGITS = f"kind = 'formulas'\nseed = {{}}\nfiles = '{FULL3}'\n".format


@with_rows(
    "text, words",
    (RANDOM.format("variables = 3, clauses = 100000000"), ""),
    (RANDOM.format("variables = 3, clauses = 100000001"), "more than 100000000 cl"),
    (RANDOM.format("variables = 4, width = 4, clauses = 75000000"), ""),
    (RANDOM.format("variables = 4, width = 4, clauses = 75000001"), "300000000 lit"),
    (RANDOM.format("variables = 10000000, ratios = [1]"), ""),
    (RANDOM.format("variables = 10000001, ratios = [1]"), "is above 10000000"),
    (RANDOM.format("variables = 2, clauses = 1"), "2, but clauses have 3 each"),
    (RANDOM.format("variables = 3, clauses = 0"), "0 is no integer from 1 on"),
    (RANDOM.format("variables = 3, clauses = 1, seed = -1"), "no integer from 0 on"),
    (DIGITS(10**40 - 1), ""),
    (DIGITS(10**40), "seed: an integer of more than 40 digits"),
    (DIGITS("-1"), "seed: -1 is no integer from 0 on"),
    (DIGITS("0\nformulation = ['faithful', 'projected']"), "formulation: one at most"),
    (DIGITS("0\nformulation = 'projected'"), ""),
    ('kind = "learning"\nparams = 3', "params: 3 is no word"),
    ('kind = "learning"\nsettings = 3', "settings: 3 is no table"),
)
def test_sizes_of_a_sweep_up_to_their_limits(text, words, tmp_path) -> None:
    file = tmp_path / "sweep.toml"
    file.write_text(text)
    if words:
        refused(words, read_sweep, file)
    else:
        assert len(read_sweep(file).units) == 1


def test_the_largest_sweep(tmp_path, monkeypatch) -> None:
    check_number(10**6)
    refused("1000001 rows are too many; at most 1000000", check_number, 10**6 + 1)
    file, text = tmp_path / "sweep.toml", DIGITS(0)
    monkeypatch.setattr(sweep_file, "LARGEST", len(text))
    file.write_text(text)
    assert read_sweep(file).says["seed"] == 0
    file.write_text(f"{text}#")
    refused(f"more than {len(text)} bytes", read_sweep, file)


@pytest.mark.parametrize("text", ["", "x", "2 XB", "-1GB", "0", "0.0GB", "9" * 30, "B"])
def test_what_is_no_amount_of_memory(text: str) -> None:
    refused("memory", process.parse_bytes, text)
    refused("memory", process.parse_bytes, str(1 << 62))
    olivine("verify", FULL3, f"--memory={text}", status=2, err="--memory")


@pytest.mark.skipif(sys.platform != "linux", reason="needs a limit of address space")
def test_the_limit_holds_within_and_not_after() -> None:
    import resource

    used = int(Path("/proc/self/statm").read_text().split()[0])
    limit = used * resource.getpagesize() + (64 << 20)
    before = resource.getrlimit(resource.RLIMIT_AS)
    with process.limited_memory(limit):
        told = process.want_of_memory()
        with pytest.raises(MemoryError) as caught:
            bytearray(1 << 30)
    assert told.startswith("the memory limit of ")
    assert told == process.reached(limit)
    assert process.is_exhausted(caught.value)
    assert process.want_of_memory() == "out of memory"
    assert resource.getrlimit(resource.RLIMIT_AS) == before
    assert len(bytearray(1 << 28)) == 1 << 28
    with pytest.raises(KeyError), process.limited_memory(limit):
        raise KeyError
    assert resource.getrlimit(resource.RLIMIT_AS) == before


@pytest.mark.skipif(sys.platform != "linux", reason="needs a limit of address space")
@pytest.mark.long
def test_memory_limits_of_whole_runs(tmp_path) -> None:
    """The quick twins are the tests above and below, step by step."""
    file = tmp_path / "f.cnf"
    write_dimacs(
        random_ksat(6000, 20_000, 3, np.random.default_rng(1), planted=True), file
    )
    done = run_olivine("verify", file, "--memory", "40MB", status=3)
    assert done.err == (
        "olivine: the memory limit of 40 MB was reached while numpy and scipy "
        "were loaded\n"
    )
    done = run_olivine("generate", file, "-o", tmp_path / "out", "--memory", "330MB")
    assert done.status == 3
    assert "the memory limit of 330 MB was reached at " in done.err
    assert "nothing is written" in done.err
    assert list(tmp_path.iterdir()) == [file]
    for verb in ("verify", "solve"):
        assert run_olivine(verb, file, "--memory", "2GB").status in (0, 10)


LIMITS = {
    "time": (OutOfTimeError("late"), "limit of 600 s of CPU time reached"),
    "memory": (MemoryError(), "the memory limit of 900 GB was reached"),
    "system": (OSError(errno.ENOMEM, "Cannot allocate memory"), "900 GB was reached"),
}


@pytest.fixture
def unproved(monkeypatch) -> None:
    """Leave out the trial whether the libraries load, which takes a second."""
    monkeypatch.setattr("olivine.cli.common.command.why_too_small", lambda: "")


@pytest.mark.usefixtures("unproved")
@pytest.mark.parametrize("limit", LIMITS)
def test_a_limit_at_each_step_of_generate_leaves_nothing(
    tmp_path, monkeypatch, limit: str
) -> None:
    error, words = LIMITS[limit]
    steps = family_folder.stages(list(family_folder.FILES))
    limits = ["--time-limit", "600", "--memory", "900GB", "--json"]
    for number, step in enumerate(steps):

        def stopped(stage, *others, number=number):
            at = others[-1]
            for name in steps[: number + 1]:
                at(name)
            (stage / "program.lp").write_text("a part")
            raise error

        monkeypatch.setattr(family_folder, "write_folder", stopped)
        done = olivine("generate", FULL3, "-o", tmp_path / "out", *limits, status=3)
        reason = done.record["reason"]
        assert words in reason
        assert f"at {step}, {number} of {len(steps)} steps done" in reason
        assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("unproved")
def test_memory_that_runs_out_while_reading(monkeypatch, tmp_path) -> None:
    def read(*_: object) -> None:
        raise MemoryError

    reached = "the memory limit of 900 GB was reached"
    monkeypatch.setattr("olivine.cli.common.reading.Reading.read", read)
    limit = ("--memory", "900GB")
    done = olivine("generate", FULL3, "-o", tmp_path / "out", *limit, "--json")
    assert done.status == 3
    assert done.record["reason"] == f"{reached} in reading it"
    done = olivine("verify", FULL3, *limit, "--json", status=3)
    assert done.record["error"] == f"{FULL3}: {reached}"
    done = olivine("solve", FULL3, *limit)
    assert (done.status, done.out) == (3, "")
    assert done.err == f"olivine: {reached}\n"


@pytest.mark.usefixtures("unproved")
@with_rows(
    "route, error",
    ("sat", MemoryError()),
    ("maxsat", MemoryError()),
    ("brute", OSError(errno.ENOMEM, "no memory")),
    ("witness", MemoryError()),
)
def test_a_route_without_memory_costs_the_others_nothing(
    monkeypatch, route: str, error: Exception
) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(f"olivine.reduction.verify.routes.{route}_route", fail)
    file = CASES / "cadical" / "full2.cnf"
    done = olivine("verify", file, "--memory", "900GB", "--json")
    routes = done.record["routes"]
    assert routes[route]["status"] == "unknown"
    assert "memory" in routes[route]["reason"]
    assert done.record["optimum"] == "11/12"
    assert [name for name in routes if routes[name]["status"] == "unknown"] == [route]


@pytest.mark.children
@pytest.mark.parametrize("route", ["sat", "maxsat", "milp", "brute", "witness"])
def test_the_time_limit_at_each_route_of_verify(route: str) -> None:
    file = CASES / "satlib" / "uf50-01.cnf"
    done = olivine("verify", file, "--route", route, "--time-limit", "1e-9", "--json")
    own = done.record["routes"][route]
    assert done.status == 3
    # MaxSAT and the witness may know a bound, which is told.
    assert own["status"] in ("unknown", "feasible")
    assert own["reason"] or own["lower"] is not None
