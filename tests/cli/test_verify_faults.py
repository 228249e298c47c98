"""olivine verify where routes, disks or we ourselves fail: what stands, stands."""

import dataclasses
import errno
import os
import signal
from types import SimpleNamespace

import pytest
from olivine.cli.common import family_folder
from olivine.cli.common.output import ContradictionError, ExitStatus, FileError
from olivine.cli.common.reading import guarded
from olivine.cli.report import verdict
from olivine.cli.verify import _totals, _unsatisfied
from olivine.reduction import multi
from olivine.reduction.run import ties
from olivine.solvers.outcome import LinearOutcome, Status

from tests.support.commands import CASES, olivine
from tests.support.depth import spread, with_rows

pytestmark = pytest.mark.children

FULL2 = CASES / "cadical" / "full2.cnf"


@pytest.mark.parametrize("verb", ["verify", "generate"])
def test_an_engine_that_is_not_installed(tmp_path, monkeypatch, verb: str) -> None:
    monkeypatch.setattr(
        "olivine.solvers.milp.milp.available_engines", lambda: ("highs",)
    )
    arguments = ["-o", tmp_path / "out"] if verb == "generate" else []
    done = olivine(verb, FULL2, *arguments, "--engine", "cbc", status=2)
    assert "engine cbc is not installed; there is highs" in " ".join(done.err.split())


def test_a_killed_solver_is_unknown_and_one_that_lies_an_error(monkeypatch):
    def die(*arguments):
        os.kill(os.getpid(), signal.SIGKILL)

    monkeypatch.setattr("olivine.solvers.sat.sat._solve", die)
    done = olivine("verify", FULL2, "--route", "sat", "--json", status=3)
    assert done.record["routes"]["sat"]["status"] == "unknown"
    assert "SIGKILL" in done.record["routes"]["sat"]["reason"]
    lie = (True, bytes(1))  # all false, which falsifies a clause
    monkeypatch.setattr("olivine.solvers.sat.sat._solve", lambda *_: lie)
    done = olivine("verify", FULL2, "--json")
    record = done.record
    assert record["routes"]["sat"]["status"] == "error"
    assert "falsifies" in record["routes"]["sat"]["reason"]
    assert (done.status, record["satisfiable"]) == (0, False)


def raising(*_: object, **__: object):
    raise RuntimeError("it broke")


ENGINES = {  # by route: where the engine or the work of the route is called
    "sat": "olivine.solvers.sat.sat._solve",
    "maxsat": "olivine.reduction.verify.optimise.solve_maxsat",
    "milp": "olivine.reduction.verify.routes.build",
    "brute": "olivine.reduction.verify.routes.best_member",
    "witness": "olivine.reduction.verify.routes.best_assignment",
}


@pytest.mark.parametrize("route", spread(ENGINES, 1))
def test_a_route_that_raises_costs_the_others_nothing(monkeypatch, route) -> None:
    whole = olivine("verify", FULL2, "--json").record
    monkeypatch.setattr(ENGINES[route], raising)
    done = olivine("verify", FULL2, "--json")
    record = done.record
    failed = record["routes"].pop(route)
    assert failed["status"] == "error"
    assert "it broke" in failed["reason"]
    assert "in raising" in failed["traceback"]
    assert failed["value"] is None
    for name, found in record["routes"].items():
        assert found["value"] == whole["routes"][name]["value"]
    assert (record["satisfiable"], record["agree"]) == (False, True)
    assert record["optimum"] == whole["optimum"]
    assert done.status == 0
    assert f"route {route} failed" in done.err
    olivine("verify", FULL2, status=0, out="it broke")


@pytest.mark.parametrize("raised", [MemoryError(), OSError(12, "Cannot allocate")])
def test_a_system_that_gives_no_more_is_a_limit(monkeypatch, raised) -> None:
    def refuse(*_: object, **__: object):
        raise raised

    monkeypatch.setattr("olivine.reduction.verify.optimise.solve_maxsat", refuse)
    done = olivine("verify", FULL2, "--json")
    assert done.record["routes"]["maxsat"]["status"] == "unknown"
    assert done.record["routes"]["maxsat"]["reason"]


def full(*_: object, **__: object):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def refuse_to_write(monkeypatch) -> None:
    """Let the disk be full once the place has been tried."""
    monkeypatch.setattr("olivine.solvers.files._replace", full)


def test_a_verdict_survives_a_full_disk(monkeypatch, tmp_path) -> None:
    refuse_to_write(monkeypatch)
    target = tmp_path / "c.json"
    done = olivine("verify", FULL2, "--certificate", target, "--json", status=2)
    assert (done.record["satisfiable"], done.record["agree"]) == (False, True)
    made = done.record["certificate"]
    assert made["file"] is None
    assert f"{target}" in made["reason"]
    assert "No space left" in made["reason"]
    table = olivine("verify", FULL2, "--certificate", target, status=2)
    assert done.record["optimum"] in table.out
    assert str(target) in table.err
    assert list(tmp_path.iterdir()) == []


def test_a_certificate_that_fails_costs_no_verdict(monkeypatch, tmp_path) -> None:
    monkeypatch.setattr(
        "olivine.reduction.certificate.certificate.make_certificate", raising
    )
    target = tmp_path / "c.json"
    done = olivine("verify", FULL2, "--certificate", target, "--json", status=70)
    assert done.record["satisfiable"] is False
    assert "it broke" in done.record["certificate"]["reason"]


def test_a_certificate_without_room_costs_no_verdict(monkeypatch, tmp_path) -> None:
    place = "olivine.reduction.certificate.certificate.make_certificate"
    target = tmp_path / "c.json"
    for fails, words in (full, "No space left"), (exhausted, "MemoryError"):
        monkeypatch.setattr(place, fails)
        done = olivine("verify", FULL2, "--certificate", target, "--json", status=3)
        assert done.record["satisfiable"] is False
        made = done.record["certificate"]
        assert (made["file"], made["seconds"]) == (None, 0)
        assert made["reason"].startswith(f"no certificate: {words}")


def exhausted(*_: object, **__: object):
    raise MemoryError


def test_a_contradiction_is_reported(monkeypatch, tmp_path) -> None:
    import olivine.reduction.verify.optimise as maxsat_route
    from olivine.solvers.outcome import MaxSatOutcome, SatStatus

    def wrong(formula, n_variables, weights, **options):
        import numpy as np

        model = np.zeros(n_variables, dtype=np.bool_)
        return MaxSatOutcome(SatStatus.SATISFIABLE, 2, model, 0.0, "wrong")

    monkeypatch.setattr(maxsat_route, "solve_maxsat", wrong)
    done = olivine("verify", FULL2, CASES / "odd" / "garbage.cnf", "--json", status=1)
    first = done.records[0]
    assert first["agree"] is False
    assert first["optimum"] is None
    assert first["contradictions"]
    assert "please report" in done.err
    table = olivine("verify", FULL2, FULL2, CASES / "odd" / "garbage.cnf", status=1)
    assert "2 contradictions, 1 errors" in table.out
    out = tmp_path / "c.json"
    done = olivine("verify", FULL2, "--certificate", out, "--json", status=1)
    reason = "no certificate: the routes contradict each other"
    assert done.record["certificate"]["reason"] == reason
    done = olivine("generate", FULL2, "-o", out, "--solve", status=1)
    words = "optimum: maxsat says 5/6, witness says 11/12"
    assert done.err == f"olivine: contradiction: {words}\n"
    assert not out.exists()


def test_our_own_failure_is_no_bad_input(monkeypatch) -> None:
    import olivine.reduction.verify.verification as verification

    def broken(*arguments, **options):
        raise ValueError("a bug")

    monkeypatch.setattr(verification, "verify_instance", broken)
    files = [FULL2, CASES / "odd" / "garbage.cnf"]
    done = olivine("verify", *files, "--json", status=70)
    assert "internal error: ValueError: a bug" in done.records[0]["error"]
    assert len(done.records) == 2


def test_other_verbs_report_contradictions(monkeypatch) -> None:
    real = multi.verify_multi_hardness

    def contradicting(*arguments, **options):
        found = real(*arguments, **options)
        return dataclasses.replace(found, contradictions=("1 is 2",))

    monkeypatch.setattr(multi, "verify_multi_hardness", contradicting)
    done = olivine("multi", FULL2, "--json", status=1, err="contradiction: 1 is 2")
    assert done.record["contradictions"] == ["1 is 2"]
    answer = SimpleNamespace(contradictions=("1 is 2", "3 is 4"))
    assert verdict(answer, weighted=False) == "Contradiction: 1 is 2; 3 is 4"


@with_rows(
    "error, status, words",
    (FileError("x", "x: odd", ExitStatus.UNDECIDED), 3, "x: odd"),
    (ContradictionError("1 is 2"), 1, "f: contradiction: 1 is 2"),
    (MemoryError(), 3, "f: out of memory"),
    (ValueError("a bug"), 70, "f: internal error: ValueError: a bug (this should"),
)
def test_whatever_happens_to_a_file_is_its_record(error, status, words) -> None:
    def work(_: str):
        raise error

    record, found = guarded(work, "f")
    assert (record["file"], found) == ("f", status)
    assert record["error"].startswith(words)
    assert ("in work" in record.get("traceback", "")) == (status == 70)


def test_a_table_has_bounds_of_what_is_not_proved() -> None:
    record = {"unsatisfied": None, "routes": {"maxsat": {"at_least": 1, "at_most": 3}}}
    assert _unsatisfied(record) == "1 to 3"
    assert _unsatisfied(record | {"unsatisfied": 0}) == "0"
    assert _unsatisfied(record | {"routes": {}}) == "?"
    proved = {"agree": True, "satisfiable": True, "optimum": "1"}
    records = [proved, proved | {"agree": False}, proved | {"optimum": None}]
    records += [proved | {"satisfiable": None}, proved | {"agree": None}, {"error": ""}]
    assert _totals(records) == "1 agree, 2 undecided, 1 contradictions, 1 errors"


OTHER = "program.lp: HiGHS finds 1, the optimum is 11/12"


@with_rows(
    "outcome, status, words",
    (LinearOutcome(Status.OPTIMAL, -11 / 12), 0, "solved by HiGHS: optimum 11/12"),
    (LinearOutcome(Status.FEASIBLE, -1.0), 0, "not solved: feasible"),
    (LinearOutcome(Status.OPTIMAL), 0, "not solved: optimal"),
    (LinearOutcome(Status.UNKNOWN, reason="late"), 0, "not solved: late"),
    (LinearOutcome(Status.OPTIMAL, -1.0), 1, OTHER),
)
def test_what_is_read_back(outcome, status, words, tmp_path, monkeypatch) -> None:
    place = "olivine.solvers.milp.engines.read_optimum"
    monkeypatch.setattr(place, lambda *_, **__: outcome)
    arguments = ("generate", FULL2, "-o", tmp_path / "out", "--format", "lp", "--json")
    done = olivine(*arguments, status=status)
    if status:
        assert (done.out, done.err) == ("", f"olivine: contradiction: {words}\n")
    else:
        assert done.record["read_back"] == {"program.lp": words}


def test_a_folder_of_which_something_is_odd(tmp_path, monkeypatch) -> None:
    assert family_folder._library("of-no-such-name") == ("of-no-such-name", "unknown")
    monkeypatch.setattr(family_folder, "write_folder", raising)
    files, out = (FULL2, CASES / "cadical" / "full1.cnf"), ("-o", tmp_path / "out")
    for given in files[:1], files:
        done = olivine("generate", *given, *out, status=70)
        assert done.err.count("in raising") == len(given)
        assert done.err.count("internal error: RuntimeError: it broke") == len(given)


def test_a_trace_whose_program_is_not_solved(monkeypatch) -> None:
    real = ties.traced_run

    def cut(*arguments, **options):
        run = real(*arguments, **options)
        rounds = run.rounds[:2]
        return dataclasses.replace(
            run, rounds=rounds, ending="undecided", reason="late"
        )

    monkeypatch.setattr(ties, "traced_run", cut)
    done = olivine("trace", FULL2, "--ties", "random", "--json", status=3)
    assert done.err == f"olivine: {FULL2}: round 3: late\n"
    monkeypatch.setattr("olivine.solvers.sat.sat.solve_sat", raising)
    done = olivine("trace", FULL2, "--member", "sat", status=3)
    assert done.err == f"olivine: {FULL2}: --member sat: it broke\n"


def test_folders_that_cannot_be_listed_are_named(tmp_path, monkeypatch) -> None:
    def refuse(path):
        raise PermissionError(errno.EACCES, "Permission denied", path)

    monkeypatch.setattr(os, "scandir", refuse)
    record = olivine("verify", tmp_path, "--json", status=2).record
    assert record["file"] == str(tmp_path)
    assert record["error"] == f"{tmp_path}: Permission denied"


def test_a_page_of_claims_that_cannot_be_written(tmp_path, monkeypatch) -> None:
    refuse_to_write(monkeypatch)
    page = tmp_path / "page.md"
    done = olivine("claims", "lemma-1", "--page", page, "--run", "--json", status=2)
    assert done.record["id"] == "lemma-1"
    assert done.err == f"olivine: {page}: No space left on device\n"
