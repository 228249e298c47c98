import json

import pytest
from olivine.reduction.formula.dimacs import read_dimacs

from tests.support.commands import CASES, expected, olivine
from tests.support.depth import spread

ROWS = [
    (folder, row)
    for folder in ("satlib", "cadical", "dense")
    for row in expected(folder)
]
ACCEPTED = [("odd", row) for row in expected("odd") if row["accepted"]]
STATUS = {True: 10, False: 20}
ANSWER = {True: "SATISFIABLE", False: "UNSATISFIABLE"}


def parse(out: str) -> tuple[str, list[int] | None]:
    """Read a solver's output as the SAT competition defines it."""
    answers, values = [], []
    for line in out.splitlines():
        kind, _, rest = line.partition(" ")
        assert kind in ("c", "s", "v"), line
        if kind == "s":
            answers.append(rest)
        elif kind == "v":
            assert len(line) <= 78
            values += map(int, rest.split())
    (answer,) = answers
    if not values:
        return answer, None
    assert values[-1] == 0
    assert 0 not in values[:-1]
    return answer, values[:-1]


@pytest.mark.parametrize(
    ("folder", "row"), spread(ROWS + ACCEPTED, 8), ids=lambda v: str(v)[:30]
)
def test_answers(folder: str, row: dict) -> None:
    file = CASES / folder / row["file"]
    done = olivine("solve", file)
    assert done.status == STATUS[row["satisfiable"]]
    answer, values = parse(done.out)
    assert answer == ANSWER[row["satisfiable"]]
    assert bool(done.err) == bool(row.get("warns"))
    if not row["satisfiable"]:
        assert values is None
        return
    formula = read_dimacs(str(file)).formula
    # Every variable of the input once, no fresh one.
    assert [abs(v) for v in values or []] == list(range(1, row["variables"] + 1))
    for clause in formula.clauses():
        assert set(clause) & set(values or [])


def test_odd_formulas_and_streams_have_answers(tmp_path):
    done = olivine("solve", CASES / "odd" / "nothing.cnf", status=10)
    assert "v 0" in done.out.splitlines()
    done = olivine("solve", CASES / "cadical" / "full3.cnf", "--json", status=20)
    assert done.record["satisfiable"] is False
    assert done.record["value"] is done.record["model"] is None
    done = olivine("solve", "-", "--json", stdin=b"p cnf 2 1\n-2 0\n", status=10)
    assert json.loads(done.out)["model"][1] == -2
    file = tmp_path / "a\ns SATISFIABLE\n.cnf"
    file.write_text("p cnf 1 2\n1 0 -1 0\n")
    done = olivine("solve", file, status=20)
    assert parse(done.out) == ("UNSATISFIABLE", None)


@pytest.mark.parametrize("variant", ["paper", "normalized", "gap", "all-levels"])
def test_json(variant: str) -> None:
    file = CASES / "odd" / "width-four.cnf"
    record = olivine("solve", file, "--variant", variant, "--json", status=10).record
    assert set(record) == {
        "file", "variables", "clauses", "three_sat", "variant", "penalty",
        "satisfiable", "value", "model", "decided_by", "remarks", "warnings",
        "seconds",
    }  # fmt: skip
    assert record["satisfiable"] is True
    assert record["value"] == "1"
    assert [abs(v) for v in record["model"]] == [1, 2, 3, 4]
    assert record["decided_by"] == "sat"


@pytest.mark.parametrize("formulation", ["faithful", "strengthened", "projected"])
def test_the_milp_proves_a_yes_by_its_witness(formulation: str) -> None:
    file = CASES / "cadical" / "sat1.cnf"
    done = olivine("solve", file, "--engine", "milp", "--formulation", formulation)
    assert done.status == 10
    assert "c milp" in done.out
    assert "g(s0) = 1" in done.out


def test_the_milp_has_its_no_confirmed() -> None:
    done = olivine("solve", CASES / "cadical" / "full2.cnf", "--engine", "milp")
    assert done.status == 20
    assert "c confirmed by the SAT solver" in done.out.splitlines()


def test_an_unconfirmed_no_of_the_milp_is_no_answer(monkeypatch) -> None:
    import numpy as np
    import olivine.reduction.verify.decision as decision
    from olivine.solvers.outcome import SatOutcome, SatStatus

    def unknown(*arguments, **options):
        return SatOutcome(SatStatus.UNKNOWN, None, 0.0, "sat", reason="time limit")

    monkeypatch.setattr(decision, "solve_sat", unknown)
    file = CASES / "cadical" / "full2.cnf"
    done = olivine("solve", file, "--engine", "milp", status=0)
    assert parse(done.out) == ("UNKNOWN", None)
    assert "c not confirmed by the SAT solver" in done.out.splitlines()

    model = np.zeros(2, dtype=np.bool_)

    def refuted(*arguments, **options):
        return SatOutcome(SatStatus.SATISFIABLE, model, 0.0, "sat")

    # A model that is none: our own check must find out.
    monkeypatch.setattr(decision, "solve_sat", refuted)
    olivine("solve", file, "--engine", "milp", status=70, err="internal error")


@pytest.mark.children
@pytest.mark.parametrize("engine", ["sat", "milp"])
def test_a_limit_makes_it_unknown(engine: str) -> None:
    file = CASES / "satlib" / "uuf100-01.cnf"
    done = olivine("solve", file, "--engine", engine, "--time-limit", "0.001", status=0)
    assert parse(done.out) == ("UNKNOWN", None)
    assert "time limit" in done.out


def test_a_bad_file() -> None:
    file = CASES / "odd" / "two-headers.cnf"
    done = olivine("solve", file, status=2)
    assert done.out == ""
    assert done.err.startswith(f"olivine: {file}:")
    done = olivine("solve", file, "--json", status=2)
    assert set(done.record) == {"file", "error"}
