import itertools
import json

import pytest
from olivine.reduction.family.family import Variant, declared_sizes
from olivine.reduction.formula.dimacs import read_dimacs
from olivine.reduction.run import run as run_module
from olivine.reduction.run.schedule import schedule
from olivine.solvers.outcome import SatOutcome, SatStatus

from tests.support.commands import CASES, olivine
from tests.support.depth import spread, with_rows

UF20 = CASES / "satlib" / "uf20-01.cnf"
FULL3 = CASES / "cadical" / "full3.cnf"
VARIANTS = [v.value for v in Variant]


def rounds_of(variant: str, n: int, m: int) -> int:
    """A round for each constraint, or for each clause and variable."""
    if Variant(variant).declaration.every_level:
        return m + n
    return declared_sizes(variant, n, m).constraints


@with_rows(
    "variant, member", *itertools.product(VARIANTS, ["zero", "random", "sat"]), keep=4
)
def test_uf20(variant: str, member: str) -> None:
    done = olivine("trace", UF20, "--variant", variant, "--member", member, "--json")
    assert done.status == 0
    assert bool(done.err) == bool(done.record["warnings"])  # its '%' tail
    record = done.record
    n, m = record["three_sat"]["variables"], record["three_sat"]["clauses"]
    assert (n, m) == (20, 91)
    assert record["variant"] == variant
    assert record["member"] == member
    assert record["program_as_stated"] is True
    assert record["failures"] == []
    assert ("seed" in record) == (member == "random")
    rounds = record["rounds"]
    assert len(rounds) == rounds_of(variant, n, m)
    assert [r["round"] for r in rounds] == list(range(1, len(rounds) + 1))
    for row in rounds:
        assert set(row["checks"]) == {
            "maximiser",
            "positive_error",
            "constraint_as_stated",
        }
        assert all(value is True for value in row["checks"].values())
        assert row["optimum"] == "1" or variant in ("strict", "forced")
        assert len(row["errors"]) == 3
        assert all(isinstance(error, str) for error in row["errors"])
    bits = record["assignment"]
    if member == "sat":
        for clause in read_dimacs(UF20).formula.clauses():
            assert any((bits[abs(x) - 1] == "1") == (x > 0) for x in clause)
    else:
        assert (bits == "0" * n) == (member == "zero")


@pytest.mark.parametrize("variant", spread(VARIANTS, 1))
def test_members_have_the_same_run(variant: str) -> None:
    """All but the errors at level 3, behind a clause."""
    runs = []
    for member in (["zero"], ["random"], ["random", "--seed", "1"], ["sat"]):
        done = olivine(
            "trace", UF20, "--variant", variant, "--json", "--member", *member
        )
        rows = done.record["rounds"]
        for row in rows:
            if "C" in row["action"]:
                del row["errors"][2]
        runs.append(rows)
    assert all(rows == runs[0] for rows in runs)


def test_the_rounds_of_the_paper() -> None:
    record = olivine("trace", FULL3, "--json").record
    told = [(r["action"], r["level"], r["constraint"]) for r in record["rounds"]]
    assert told == [
        *((f"[try C{j}]", 2, f"C{j}") for j in range(1, 9)),
        *((f"[try x{i}]", 2, f"x{i}^0, x{i}^1") for i in range(1, 4)),
        ("[try x1]", 1, "s0"),
    ]
    assert [r["errors"][:2] for r in record["rounds"]] == [
        *[["1/8", "1"]] * 8,
        *[["0", "1/2"]] * 3,
        ["1/2", "0"],
    ]
    assert record["least_total_error"] == "1/8"


def test_a_table_for_people() -> None:
    done = olivine("trace", FULL3, "--variant", "normalized", "--penalty", "1/5")
    assert done.status == 0
    lines = done.out.splitlines()
    assert "normalized, penalty 1/5" in lines[0]
    assert len(lines) == 3 + 8 + 2 * 3 + 1
    assert lines[10].split() == [
        "9", "[try", "x1]", "3", "0,", "0,", "2/5", "x1^0,", "x1^1", "1", "ok",
    ]  # fmt: skip
    assert "15 rounds, final program as stated" in lines[-1]


def test_weights_and_wide_clauses(tmp_path) -> None:
    file = tmp_path / "weighted.wcnf"
    file.write_text("3 1 -2 3 4 5 0\n7 -1 0\n2 0\n")
    for variant in VARIANTS:
        done = olivine("trace", file, "--variant", variant, "--json", status=0)
        sizes = done.record["three_sat"]
        n, m = sizes["variables"], sizes["clauses"]
        assert len(done.record["rounds"]) == rounds_of(variant, n, m)


def test_a_failing_round_is_named(monkeypatch) -> None:
    def shortened(family):
        moves = list(schedule(family))
        return iter([*moves[:3], *moves[4:]])

    monkeypatch.setattr(run_module, "schedule", shortened)
    done = olivine("trace", FULL3, "--json", status=1)
    record = done.record
    assert record["program_as_stated"] is False
    assert record["failures"] == [
        line.removeprefix(f"olivine: {FULL3}: ") for line in done.err.splitlines()
    ]
    assert any("round 4, [try C5]" in line for line in record["failures"])
    assert not record["rounds"][3]["checks"]["maximiser"]
    table = olivine("trace", FULL3, status=1, out="failed: maximiser")
    assert "NOT as stated" in table.out


def test_no_satisfying_member_and_standard_input():
    done = olivine("trace", FULL3, "--member", "sat", "--json", status=2)
    assert "the formula is unsatisfiable" in done.record["error"]
    assert str(FULL3) in done.record["error"]
    done = olivine("trace", "-", "--json", stdin=b"p cnf 1 1\n1 0\n", status=0)
    assert done.out.count("\n") == 1
    assert json.loads(done.out)["file"] == "-"


def test_a_satisfying_member_not_found_in_time(monkeypatch) -> None:
    def slow(*_arguments, time_limit, **_options):
        assert time_limit == 2.5
        return SatOutcome(SatStatus.UNKNOWN, None, 2.5, "x", reason="time limit")

    monkeypatch.setattr("olivine.solvers.sat.sat.solve_sat", slow)
    done = olivine("trace", FULL3, "--member", "sat", "--time-limit", "2.5", status=3)
    assert "time limit" in done.err


@with_rows(
    "arguments, what",
    (["no-such-file.cnf"], "no-such-file.cnf"),
    ([CASES / "odd" / "garbage.cnf"], "garbage.cnf:"),
    ([FULL3, "--variant", "gap", "--penalty", "1/3"], "1/4"),
    ([FULL3, "--variant", "normalized", "--penalty", "1"], "0 < p < 1"),
    ([FULL3, "--member", "best"], "best"),
)
def test_bad_input(arguments, what: str) -> None:
    assert olivine("trace", *arguments, status=2, err=what).out == ""


def test_strict_says_at_which_accuracy_it_decides() -> None:
    found = olivine("trace", UF20, "--variant", "strict", "--json").record["decides"]
    assert (found["exact_up_to"], found["least_share"]) == ("2/25", "1/91")
    # sigma/(180 + 40 sigma) = epsilon/(36 sqrt(M)), M = 20 + 91 + 1 states of level 2.
    assert found["rank"] == 112
    due = 36 * 112**0.5 / (180 * 91 + 40)
    assert found["sampled_below"] == pytest.approx(due)
    # (m + 3)^2/9 of them are enough.
    more = found["unused_variables_for_1/15"]
    assert 0 < more <= 94**2 / 9 - 111
    done = olivine("trace", UF20, "--variant", "strict")
    assert f"1/15 with {more} unused variables more" in done.out
    small = olivine("trace", FULL3, "--variant", "strict")
    assert "and below 1/15 with OLIVE's own samples" in small.out
    assert "decides" not in olivine("trace", FULL3, "--json").record


@with_rows(
    "options, status, message",
    (("--ties", "random", "--gamma", "1/100"), 0, ""),
    (("--gamma", "1/100"), 2, "goes with ties random"),
    (("--ties", "random", "--gamma", "-1"), 2, "outside 0 <= γ <= 1"),
    (("--ties", "random", "--gamma", "small"), 2, "is no number like"),
    (("--levels", "all"), 2, "levels all go with ties solver and random"),
)
def test_gamma_and_all_levels(options, status, message) -> None:
    file = CASES / "cadical" / "full1.cnf"
    done = olivine("trace", file, "--variant", "strict", *options, "--json")
    assert done.status == status
    assert message in " ".join((done.out + done.err).replace("│", " ").split())
    if not status:
        assert done.record["gamma"] == "1/100"


def test_a_long_run_shows_signs_of_life(monkeypatch) -> None:
    """Eight patterns of signs over three variables take minutes in `forced`."""
    monkeypatch.setattr("olivine.cli.common.output.FIRST_BEAT", 0.001)
    done = olivine("trace", FULL3, "--ties", "solver")
    assert "running OLIVE, at most 60 s for each program, after 0 s" in done.err
