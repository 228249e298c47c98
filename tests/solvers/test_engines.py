"""An engine is one file, as a toy shows; one that crashes or lies gives no answer."""

from __future__ import annotations

import os
import stat
import sys
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import highspy
import pytest
from olivine.cli.common.options import engine_names
from olivine.solvers.child.child import run_in_child
from olivine.solvers.lp import highs as highs_module
from olivine.solvers.milp import engines, milp
from olivine.solvers.milp.engines import Engine, available_engines, cbc, highs
from olivine.solvers.milp.milp import confirm, read_optimum, solve_milp
from olivine.solvers.model import LinearModel
from olivine.solvers.model.integer_form import IntegerRow, IntegerVariable
from olivine.solvers.outcome import Status

from tests.support.depth import with_rows
from tests.support.linear import small_knapsack
from tests.support.refusals import refused

TOY = """
import itertools

from olivine.solvers.milp.engines import Engine
from olivine.solvers.outcome import Answer, Status


def run(model, limit, threads):
    best = None
    ranges = [range(int(v.lowBound), int(v.upBound) + 1) for v in model.variables]
    for point in itertools.product(*ranges):
        for variable, value in zip(model.variables, point, strict=True):
            variable.varValue = value
        if model.problem.valid():
            found = model.problem.objective.value(), point
            best = found if best is None else min(best, found)
    if best is None:
        return Answer(Status.INFEASIBLE)
    return Answer(Status.OPTIMAL, best[1], best[0])


ENGINE = Engine("toy", lambda: AVAILABLE, run, "Toy")
"""


@pytest.fixture
def toy(tmp_path, monkeypatch):
    """A file beside the engines' own, for as long as the test runs."""
    (tmp_path / "toy.py").write_text("AVAILABLE = True\n" + TOY)
    monkeypatch.setattr(engines, "__path__", [*engines.__path__, str(tmp_path)])
    yield
    sys.modules.pop("olivine.solvers.milp.engines.toy", None)
    vars(engines).pop("toy", None)


def test_an_engine_is_one_file(toy) -> None:
    assert available_engines()[0] == "highs"
    assert "toy" in available_engines()
    model = small_knapsack()
    told, right = solve_milp(model, engine="toy"), solve_milp(model)
    assert (told.status, told.objective) == (Status.OPTIMAL, right.objective)
    assert told.engine == "toy"
    assert told.bound == right.bound
    assert confirm(model, told).exact


def test_an_engine_that_is_not_here_is_refused(toy) -> None:
    sys.modules["olivine.solvers.milp.engines.toy"] = module = type(sys)("toy")
    module.ENGINE = Engine("toy", lambda: False, lambda *_: [][1], "Toy")
    with pytest.raises(ValueError, match="'toy' is not available; there is highs"):
        solve_milp(small_knapsack(), engine="toy")


def test_an_engine_without_a_reader_reads_nothing(toy, tmp_path) -> None:
    with pytest.raises(ValueError, match="'toy' is not available to read files"):
        read_optimum(tmp_path / "program.lp", "toy")
    assert "toy" not in engines.readers()
    assert engines.readers()[0] == "highs"


def test_engines_are_named_by_their_files_and_the_toy_is_gone():
    for name, engine in engines.engines().items():
        assert type(engine.available()) is bool
        assert sys.modules[f"olivine.solvers.milp.engines.{name}"].ENGINE is engine
    assert engine_names() == list(engines.engines())
    assert "toy" not in engines.engines()
    with pytest.raises(ValueError, match="'toy' is not available"):
        solve_milp(small_knapsack(), engine="toy")


def test_what_an_engine_is_refused_and_its_leaving_are_its_failure(monkeypatch) -> None:
    for error, reason in (
        (SystemExit(3), "highs left with SystemExit(3)"),
        (OSError(24, "Too many open files"), "highs failed: [Errno 24] Too many"),
    ):

        def leave(*_: object, error: BaseException = error) -> None:
            raise error

        monkeypatch.setattr(highs, "ENGINE", replace(highs.ENGINE, run=leave))
        outcome = solve_milp(small_knapsack())
        assert outcome.status is Status.UNKNOWN
        assert outcome.reason.startswith(reason)


def test_a_folder_that_cannot_be_read_is_said(monkeypatch) -> None:
    """Not that there is no engine."""

    def refuse(_: object) -> list[str]:
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(os, "listdir", refuse)
    with pytest.raises(OSError, match="Too many open files"):
        solve_milp(small_knapsack())


@pytest.mark.parametrize("given", [3, None, ("optimal",)])
def test_an_engine_that_gives_no_answer_is_named(toy, given) -> None:
    sys.modules["olivine.solvers.milp.engines.toy"] = module = type(sys)("toy")
    module.ENGINE = Engine("toy", lambda: True, lambda *_: given, "Toy")
    outcome = solve_milp(small_knapsack(), engine="toy")
    assert outcome.status is Status.UNKNOWN
    assert outcome.reason == f"toy gave {type(given).__name__}; expected an Answer"


pytestmark = pytest.mark.children

needs_cbc = pytest.mark.skipif(
    "cbc" not in available_engines(), reason="CBC is not installed"
)


@pytest.fixture
def fake_cbc(tmp_path, monkeypatch):
    """Put a program in CBC's place; it knows `model`, `solution` and `time`."""

    def install(body: str) -> None:
        script = tmp_path / "fake cbc"
        script.write_text(
            f"#!{sys.executable}\n"
            "import os, signal, sys, time\n"
            "model = sys.argv[1]\n"
            "solution = sys.argv[sys.argv.index('-solution') + 1]\n" + body
        )
        script.chmod(script.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setattr(cbc, "cbc_path", lambda: str(script))

    return install


def answer_of(text: str) -> str:
    return f"open(solution, 'w').write({text!r})\n"


def test_an_engines_infeasible_or_unbounded_is_no_proof(fake_cbc):
    fake_cbc(answer_of("Infeasible - objective value 0.0\n"))
    model = small_knapsack()
    outcome = solve_milp(model, engine="cbc")
    assert outcome.status is Status.INFEASIBLE
    assert not outcome.exact
    assert confirm(model, outcome) == outcome
    assert not confirm(model, outcome).exact
    fake_cbc(answer_of("Unbounded - objective value 0\n"))
    outcome = solve_milp(small_knapsack(), engine="cbc")
    assert outcome.status is Status.INFEASIBLE_OR_UNBOUNDED
    engine = highs_module.new_highs()
    engine.addVar(0, highspy.kHighsInf)
    engine.changeColCost(0, -1.0)
    assert highs_module.run(engine) is Status.INFEASIBLE_OR_UNBOUNDED


def test_an_infeasible_relaxation_is_proved():
    model = LinearModel()
    model.add_variable("x", 0, 1, integer=True)
    model.add_row([0], [3], ">=", 4)
    proof = confirm(model, solve_milp(model))
    assert proof.status is Status.INFEASIBLE
    assert proof.exact
    model.rows.clear()
    model.add_row([0], [2], "==", 1)
    unproved = confirm(model, solve_milp(model))
    assert unproved.status is Status.INFEASIBLE
    assert not unproved.exact


@with_rows(
    "verdict",
    "Stopped on time (no integer solution - continuous used) - objective value 1",
    "Stopped on iterations - no integer solution",
    "Unknown - objective value 1",
)
def test_values_without_a_verdict_are_dropped(fake_cbc, verdict):
    fake_cbc(answer_of(f"{verdict}\n      0 X0000000      1      0\n"))
    outcome = solve_milp(small_knapsack(), engine="cbc")
    assert outcome.status is Status.UNKNOWN
    assert outcome.values is outcome.objective is None
    assert outcome.reason.startswith("CBC: ")


def test_an_incumbent_is_not_optimal(fake_cbc):
    fake_cbc(
        answer_of(
            "Stopped on time - objective value -3\n"
            "      0 X0000000      1      0\n      4 X0000004      3.33333333 0\n"
        )
    )
    outcome = solve_milp(small_knapsack(), engine="cbc")
    assert outcome.status is Status.FEASIBLE
    assert outcome.objective == pytest.approx(10 / 3)


@with_rows(
    "columns, fault",
    ("0 X0000000 0.5 0", "x0, an integer variable, is 0.5"),
    ("0 X0000000 2 0", "outside"),
    ("2 X0000002 1 0\n      3 X0000003 1 0", "is missed by"),
)
def test_impossible_points_are_dropped(fake_cbc, columns, fault):
    fake_cbc(answer_of(f"Optimal - objective value -9\n      {columns}\n"))
    outcome = solve_milp(small_knapsack(), engine="cbc")
    assert outcome.status is Status.UNKNOWN
    assert outcome.values is None
    assert fault in outcome.reason


@needs_cbc
def test_cbc_calls_a_feasible_program_infeasible():
    """PuLP 3's CBC does so on these rows, when they are not scaled.

    Whether it errs or not, a point comes only with a verdict.
    """
    names = [f"x{j}" for j in range(5)]
    form = SimpleNamespace(negated=False)
    form.variables = [IntegerVariable(name, 0, 1, True) for name in names]
    form.names = dict(zip(names, names, strict=True))
    form.objective = {0: 1, 4: 1}
    form.rows = [
        IntegerRow("c0", (4, 1), (1, 1), ">=", 1),
        IntegerRow("c1", (2, 0), (1, 1), ">=", 1),
        IntegerRow("c2", (3, 1), (1, 1), "<=", 1),
        IntegerRow("c3", (3, 2), (1, 1), "<=", 1),
        IntegerRow("c4", (0, 2, 3), (9000, 7200, 7200), ">=", 16200),
    ]

    answer = run_in_child(
        engines.solve, form, "cbc", cbc.ENGINE.run, float("inf"), 1
    ).value
    if answer.status is Status.INFEASIBLE:
        assert answer.values is None
    else:
        assert answer.status is Status.OPTIMAL
        assert answer.values[0] + answer.values[4] == 1


def test_a_crashed_engine_is_unknown(fake_cbc):
    fake_cbc("os.kill(os.getpid(), signal.SIGSEGV)\n")
    outcome = solve_milp(small_knapsack(), engine="cbc")
    assert outcome.status is Status.UNKNOWN
    assert outcome.reason.startswith("cbc failed: ")


def test_a_deaf_engine_is_killed(fake_cbc, tmp_path):
    fake_cbc(
        f"open({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid()))\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "time.sleep(600)\n"
    )
    outcome = solve_milp(small_knapsack(), engine="cbc", time_limit=0.5)
    assert outcome.status is Status.UNKNOWN
    assert "time limit" in outcome.reason
    pid = int((tmp_path / "pid").read_text())
    for _ in range(200):
        if not lives(pid):
            return
        time.sleep(0.05)
    pytest.fail(f"the engine's process {pid} lives on")


def lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{pid}/stat")
    return not state.exists() or state.read_text().rpartition(")")[2].split()[0] != "Z"


def test_a_killed_child_is_unknown_and_our_own_error_is_one(monkeypatch):
    monkeypatch.setattr(engines, "solve", lambda *_: os.abort())
    outcome = solve_milp(small_knapsack())
    assert outcome.status is Status.UNKNOWN
    assert "SIGABRT" in outcome.reason
    monkeypatch.setattr(engines, "solve", lambda *_: [][1])
    with pytest.raises(RuntimeError, match="IndexError"):
        solve_milp(small_knapsack())


def test_a_scaled_program_whose_child_fails_is_unknown_or_an_error(monkeypatch):
    solve, model = milp.solve_scaled_milp, small_knapsack()
    assert (solve(model).status, solve(model).engine) == (Status.OPTIMAL, "highs")
    assert 0 < solve(model).seconds < 600
    refused("time limit", solve, model, time_limit=-1)
    monkeypatch.setattr(milp, "_solve_scaled", lambda *_: os.abort())
    assert solve(model).status is Status.UNKNOWN
    assert "SIGABRT" in solve(model).reason
    monkeypatch.setattr(milp, "_solve_scaled", lambda *_: [][1])
    refused("highs.*IndexError", solve, model, error=RuntimeError)


@with_rows(
    "verdict, status",
    ("Optimal - objective value 1", "optimal"),
    ("Optimal (within gap tolerance) - objective value 1", "optimal"),
    ("Infeasible - objective value 1", "infeasible"),
    ("Integer infeasible - objective value 1", "infeasible"),
    ("Unbounded - objective value 1", "infeasible-or-unbounded"),
    ("Stopped on time - objective value 1", "feasible"),
    ("Stopped on time (no integer solution - x) - objective value 1", "unknown"),
    ("Status unknown", "unknown"),
)
def test_verdicts_of_cbc(verdict, status) -> None:
    reason = f"CBC: {verdict}" if verdict[0] == "S" else ""
    assert cbc._status(verdict) == (Status(status), reason)
