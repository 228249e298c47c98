"""olivine verify where routes, disks or we ourselves fail: what stands, stands."""

import errno
import os
import signal

import pytest

from tests.support.commands import CASES, olivine
from tests.support.depth import spread

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


FULL_DISK = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def refuse_to_write(monkeypatch) -> None:
    """Let the disk be full once the place has been tried."""

    def full(*_: object, **__: object):
        raise FULL_DISK

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


def test_a_contradiction_is_reported(monkeypatch) -> None:
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


def test_our_own_failure_is_no_bad_input(monkeypatch) -> None:
    import olivine.reduction.verify.verification as verification

    def broken(*arguments, **options):
        raise ValueError("a bug")

    monkeypatch.setattr(verification, "verify_instance", broken)
    files = [FULL2, CASES / "odd" / "garbage.cnf"]
    done = olivine("verify", *files, "--json", status=70)
    assert "internal error: ValueError: a bug" in done.records[0]["error"]
    assert len(done.records) == 2
