import itertools
import json
import random
import signal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from olivine.cli.common import process
from olivine.reduction.family.family import Instance
from olivine.reduction.family.variants import Variant
from olivine.reduction.formula.dimacs import read_dimacs
from olivine.reduction.formula.formula import Formula
from olivine.reduction.formula.prepare import without_hard
from olivine.reduction.program.optimum import optimum
from olivine.reduction.verify import optimise as optimisation
from olivine.reduction.verify.optimise import optimise
from olivine.reduction.verify.verification import verify
from olivine.solvers.outcome import MaxSatOutcome, SatStatus

from tests.support.commands import CASES, expected, olivine
from tests.support.depth import spread, with_rows

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


FORMATS = {
    "2022": "h 1 2 0\nh -1 -2 0\n3 -1 0\n4 -2 0\n2 3 0\n",
    "top": "p wcnf 3 5 10\n10 1 2 0\n12 -1 -2 0\n3 -1 0\n4 -2 0\n2 3 0\n",
}


@st.composite
def partial(draw) -> Formula:
    n = draw(st.integers(1, 4))
    literal = st.integers(1, n).flatmap(lambda v: st.sampled_from([v, -v]))
    m = draw(st.integers(1, 6))
    clauses = draw(st.lists(st.lists(literal, max_size=4), min_size=m, max_size=m))
    weights = draw(st.lists(st.integers(1, 5), min_size=m, max_size=m))
    hard = draw(st.lists(st.booleans(), min_size=m, max_size=m))
    return Formula.from_clauses(clauses, n, weights, hard)


def brute(formula: Formula) -> int | None:
    """Least soft weight among the assignments that keep the hard clauses."""
    costs = []
    for y in itertools.product([False, True], repeat=formula.n_variables):
        held = formula.satisfied(list(y))
        if formula.hard is None or held[formula.hard].all():
            costs.append(formula.unsatisfied_weight(list(y)))
    return min(costs, default=None)


@settings(max_examples=25, deadline=None)
@given(partial())
def test_the_optimum_and_the_hard_clauses_are_those_of_brute_force(formula) -> None:
    hardened = without_hard(formula)
    soft = formula if hardened is None else hardened.formula
    instance = Instance.of(soft, "gap")
    expected = brute(formula)
    best = optimise(instance, hardened)
    assert best.cost == expected
    assert (best.status == "unsatisfiable") == (expected is None)
    if best.assignment is not None:
        assert formula.unsatisfied_weight(best.assignment) == expected
    # The translated formula, whose clauses are all soft, tells the same.
    found = verify(soft, "gap", routes="maxsat")
    if hardened is not None:
        assert hardened.satisfiable(found.unsatisfied) == (expected is not None)
    if expected is not None:
        assert found.unsatisfied == expected


@pytest.mark.parametrize("variant", [*Variant, "paper p=1/3", "normalized p=1/4"])
def test_which_optima_tell_whether_the_hard_clauses_hold(variant) -> None:
    # docs/dimacs.md: gap, strict and large penalties do, the default of paper does
    # not where there are many soft clauses.
    clauses = [[1]] * 40 + [[-1], [1]]
    hardened = without_hard(
        Formula.from_clauses(clauses, 1, [1] * 42, [False] * 40 + [True] * 2)
    )
    assert hardened is not None
    name, _, penalty = variant.partition(" p=")
    instance = Instance.of(
        hardened.formula, name, Fraction(penalty) if penalty else None
    )
    parameters = instance.family.parameters
    weight = hardened.weight
    tells = optimum(parameters, weight) < optimum(parameters, weight - 1)
    assert tells == ("=" in variant or variant in ("gap", "strict", "forced"))


@pytest.mark.parametrize("text", FORMATS.values(), ids=FORMATS)
def test_the_protocol_of_the_maxsat_evaluation(tmp_path, text: str) -> None:
    file = tmp_path / "x.wcnf"
    file.write_text(text)
    done = olivine("solve", file, status=30)
    lines = [line for line in done.out.splitlines() if not line.startswith("c")]
    assert lines == ["o 3", "s OPTIMUM FOUND", "v 101"]
    assert "2 hard clauses get weight 10 each" in done.err
    done = olivine("solve", file, "--json")
    assert (done.record["cost"], done.record["satisfiable"]) == (3, False)
    assert done.record["model"] == [1, -2, 3]


def test_hard_clauses_that_conflict(tmp_path) -> None:
    file = tmp_path / "x.wcnf"
    file.write_text("h 1 0\nh -1 0\n3 1 0\n")
    done = olivine("solve", file, status=20)
    lines = [line for line in done.out.splitlines() if not line.startswith("c")]
    assert lines == ["s UNSATISFIABLE"]
    done = olivine("verify", file, "--variant", "gap", "--json", status=0)
    assert done.record["hard"] == {"clauses": 2, "weight": 4, "satisfiable": False}


@pytest.mark.children
def test_a_limit_leaves_it_unknown(tmp_path) -> None:
    file = tmp_path / "x.wcnf"
    file.write_text(FORMATS["2022"])
    done = olivine("solve", file, "--time-limit", "1e-9", status=0)
    assert "s UNKNOWN" in done.out.splitlines()


def test_the_milp_is_held_against_maxsat(tmp_path) -> None:
    file = tmp_path / "x.wcnf"
    file.write_text(FORMATS["2022"])
    done = olivine("solve", file, "--engine", "milp", "--variant", "gap", status=30)
    assert "c milp (strengthened): optimum " in done.out or "(faithful)" in done.out


@pytest.mark.children
def test_a_limit_leaves_the_best_that_is_known(tmp_path) -> None:
    drawn = random.Random(1)
    lines = ["h 1 2 0"]
    for _ in range(600):
        literals = [v * drawn.choice([1, -1]) for v in drawn.sample(range(1, 61), 3)]
        lines.append(" ".join(map(str, [drawn.randint(1, 99), *literals, 0])))
    file = tmp_path / "x.wcnf"
    file.write_text("\n".join(lines))
    for seconds in ("0.5", "4", "32"):  # a busy machine needs longer for a model
        done = olivine("solve", file, "--time-limit", seconds, "--json")
        if done.status == 10:
            break
    found = done.record
    assert (done.status, found["answer"]) == (10, "SATISFIABLE")
    assert found["satisfiable"] is None
    assert {1, 2} & set(found["model"])
    kept = set(found["model"])
    falsified = [
        int(fields[0])
        for fields in (line.split() for line in lines[1:])
        if not kept & set(map(int, fields[1:-1]))
    ]
    assert sum(falsified) == found["cost"] > 0
    assert "at least" in found["remarks"][-1]


@pytest.mark.parametrize("text", ["", "c no clause\n\n", "%\nwhatever"])
def test_a_file_without_clauses_has_optimum_0(tmp_path, text) -> None:
    """By its name or by --input-format; under another name it is no formula."""
    for name, options in (("x.wcnf", []), ("x", ["--input-format", "wcnf"])):
        file = tmp_path / name
        file.write_text(text)
        done = olivine("solve", file, *options, status=30)
        lines = [line for line in done.out.splitlines() if not line.startswith("c")]
        assert lines == ["o 0", "s OPTIMUM FOUND", "v "]
    olivine("solve", file, status=2)
    done = olivine("verify", tmp_path / "x.wcnf", "--certificate", tmp_path / "c.json")
    assert done.status == 0
    olivine("check", tmp_path / "c.json", tmp_path / "x.wcnf", status=0)


def test_lines_and_weights_that_are_none_are_refused_by_name(tmp_path):
    # Lines that end in CR alone are one line, here a comment.
    file = tmp_path / "x.wcnf"
    file.write_bytes(b"c a comment\rh 1 0\r2 -1 0\r")
    olivine("solve", file, status=2, err="this file has CR alone")
    file.write_text("p wcnf 2 2\nh 1 0\n3 -1 0\n")
    done = olivine("solve", file, status=2)
    assert f"{file}:2: 'h' marks hard clauses in headerless WCNF only" in done.err
    assert "remove that line, or write its top weight" in done.err
    file.write_text(f"h 1 0\n{2**63 - 1} -1 0\n")
    done = olivine("verify", file, status=2)
    assert done.err == (
        f"olivine: {file}:1: the hard clauses would need the weight {2**63}, above "
        "2^63 - 1\n"
    )


@with_rows(
    "clauses, cost, message",
    ([[1], [2]], 1, "weight 1 gives a pair of value 1"),
    # From 3 on the penalty caps the optimum: only the assignment tells.
    ([[1], [-1]] * 4 + [[2]] * 9, 5, "the pair's assignment has 4, not 5"),
)
def test_a_weight_that_its_pair_does_not_show_is_an_error(
    monkeypatch, clauses, cost, message
) -> None:
    formula = Formula.from_clauses(clauses, weights=[1] * len(clauses))
    model = np.ones(formula.n_variables, dtype=np.bool_)
    outcome = MaxSatOutcome(SatStatus.SATISFIABLE, cost, model, 0.0, "rc2")
    monkeypatch.setattr(optimisation, "least_unsatisfied", lambda *_, **__: outcome)
    with pytest.raises(RuntimeError, match=message):
        optimise(Instance.of(formula))


SOFT = {"stdin": b"3 1 0\n4 -1 0\n1 2 0\n"}
ASK = ("solve", "-", "--input-format", "wcnf")


def test_a_stop_amid_the_search_shows_the_best_so_far(monkeypatch) -> None:
    promised: list[int | None] = []
    for place in ("solve", "common.process"):
        name = f"olivine.cli.{place}.ignore_signals"
        monkeypatch.setattr(name, lambda answer=None: promised.append(answer))

    def stop_after(*costs: int, by: int | None = signal.SIGTERM) -> None:
        def searching(instance, *_, better, **__):
            for cost in costs:
                better(cost, np.array([cost == 5, cost == 3]))
            monkeypatch.setattr(process, "_received", by)
            raise SystemExit(143) if by else KeyboardInterrupt

        monkeypatch.setattr(optimisation, "optimise", searching)
        promised.clear()

    stop_after(5, 3)
    lines = olivine(*ASK, **SOFT, status=10).out.splitlines()
    shown = [line for line in lines if not line.startswith("c ")]
    assert shown == ["o 5", "o 3", "s SATISFIABLE", "v 01"]
    assert "c stopped by SIGTERM" in lines
    assert promised == [None, 10]
    record = olivine(*ASK, "--json", **SOFT, status=10).record
    found = {"answer": "SATISFIABLE", "cost": 3, "satisfiable": None, "model": [-1, 2]}
    found |= {"remarks": ["stopped by SIGTERM"], "decided_by": None}
    assert record | found == record
    stop_after()
    lines = olivine(*ASK, **SOFT, status=0).out.splitlines()
    assert lines[-2:] == ["c stopped by SIGTERM", "s UNKNOWN"]
    record = olivine(*ASK, "--json", **SOFT, status=0).record
    reason = "stopped by SIGTERM"
    assert record == {"file": "-", "answer": "UNKNOWN", "reason": reason}
    assert promised == [0, 0]
    stop_after(5, by=None)  # Python's own interrupt is no limit
    assert olivine(*ASK, **SOFT, status=130).out.endswith("\no 5\n")
    assert promised == []
