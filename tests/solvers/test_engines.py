"""An engine is one file: a toy is made, asked, and taken away."""

import os
import sys
from dataclasses import replace

import pytest
from olivine.cli.common.options import engine_names
from olivine.solvers.milp import engines
from olivine.solvers.milp.engines import Engine, available_engines, highs
from olivine.solvers.milp.milp import confirm, read_optimum, solve_milp
from olivine.solvers.outcome import Status

from tests.support.linear import small_knapsack

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
