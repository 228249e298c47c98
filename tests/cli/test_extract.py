"""What solvers' solutions of written programs prove, through the command line."""

import itertools
import json
import os
import re
import shutil
from fractions import Fraction

import highspy
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from olivine.cli.extract import _read_folder
from olivine.reduction.family.family import Family, Variant
from olivine.reduction.formula.dimacs import write_dimacs
from olivine.reduction.formula.formula import Formula
from olivine.reduction.program import FORMULATIONS, program
from olivine.reduction.program.optimum import optimum, possible_optima
from olivine.reduction.program.program import build, extract
from olivine.solvers.milp.milp import solve_milp
from olivine.solvers.milp.solutions import Solution, parse_solution
from olivine.solvers.model.integer_form import IntegerForm

from tests.support.commands import olivine
from tests.support.depth import deep, spread, with_rows
from tests.support.files import SOLVERS, TEXTS
from tests.support.formulas import formulas

FORMULAS = {
    "satisfiable": Formula.from_clauses([[1, 2, -3], [-1, 2, 3], [1, -2, 3]]),
    "contradiction": Formula.from_clauses([[1], [-1], [1, 2, 3, 4]]),
    "weighted": Formula.from_clauses([[1, 2], [-1], [-2], []], weights=[3, 2, 5, 1]),
}


def folder_of(tmp_path, formula, *options):
    file = tmp_path / "f.cnf"
    write_dimacs(formula, file)
    written = tmp_path / "written"
    formats = ["--format", "lp", "--format", "mps"]
    olivine("generate", file, "-o", written, *formats, "--force", *options, status=0)
    return written


def best_of(family: Family) -> Fraction:
    """By brute force over assignments."""
    n, three_sat = family.n_variables, family.three_sat
    points = itertools.product([False, True], repeat=n)
    least = min(three_sat.unsatisfied_weight(np.array(p, dtype=bool)) for p in points)
    return optimum(family.parameters, least)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(
    ("formulation", "name", "extension"),
    spread(itertools.product(FORMULATIONS, FORMULAS, ("lp", "mps")), 3),
)
def test_solvers_files_prove_what_the_optimum_is(
    tmp_path, solver, formulation, name, extension
) -> None:
    available, solve = SOLVERS[solver]
    if not available():
        pytest.skip(f"{solver} is not installed")
    variant = {"lp": "paper", "mps": "strict"}[extension]
    options = ["--formulation", formulation, "--variant", variant]
    folder = folder_of(tmp_path, FORMULAS[name], *options)
    solve(folder / f"program.{extension}", tmp_path / "x.sol")
    record = olivine("extract", folder, tmp_path / "x.sol", "--json").record
    family, _ = _read_folder(folder)
    best = best_of(family)
    assert record["value"] == str(best)
    proves = "optimum" if best == family.parameters.best else "bound"
    assert record["proves"] == proves
    bits = np.array([c == "1" for c in record["assignment"]])
    assert family.three_sat.unsatisfied_weight(bits) == record["unsatisfied"]


SMALL = formulas(max_variables=3, max_clauses=4, max_width=3, large_weights=False)


def formulations_of(family: Family) -> list[str]:
    """Give what goes with a family: `strengthened` has no place for side states."""
    sides = family.layout.n_sides
    return [name for name in FORMULATIONS if name != "strengthened" or not sides]


@given(SMALL, st.sampled_from(Variant), st.data())
@settings(max_examples=deep(20, 4))
def test_extract_equals_the_route_in_process(formula, variant, data) -> None:
    family = Family(formula.three_sat(), variant)
    formulation = data.draw(st.sampled_from(formulations_of(family)))
    built = build(family, formulation)
    form = IntegerForm(built.model)
    outcome = solve_milp(built.model)
    values = point_of(form, outcome.values)
    objective = sum(c * values[j] for j, c in form.objective.items())
    for solver, text in TEXTS.items():
        found = parse_solution(
            text(objective, values), "x", columns=len(form), rows=len(form.table)
        )
        assert found.solver == solver
        result = extract(built, form, found)
        assert result.value == best_of(family)
        assert result.pair_value <= result.value


def point_of(form: IntegerForm, values) -> list[float]:
    """A point of the form from one of the model: those added follow from rows."""
    point = [*values, *(float(v.lower) for v in form.variables[form.own :])]
    for row in form.rows:
        j, *others = row.indices
        if j >= form.own and form.names[f"x{j}"] == "objective of the model":
            pairs = zip(others, row.coefficients[1:], strict=True)
            rest = row.rhs - sum(a * point[i] for i, a in pairs)
            point[j] = rest / row.coefficients[0]
    return point


@given(st.data())
@settings(max_examples=deep(1000, 40))
def test_perturbed_solutions_are_never_accepted_with_a_wrong_value(data) -> None:
    """What is proved is attained: nothing above the optimum, nothing that is not so."""
    formulation = data.draw(st.sampled_from(FORMULATIONS))
    name = data.draw(st.sampled_from([*FORMULAS]))
    family, built, form, values = _perturbed_case(formulation, name)
    point = np.array(values)
    for _ in range(data.draw(st.integers(1, 3))):
        j = data.draw(st.integers(0, len(point) - 1))
        change = data.draw(
            st.sampled_from([1e-9, -1e-7, 1e-4, 0.5, 1, -1]) | st.floats(-2, 2)
        )
        point[j] = data.draw(st.sampled_from([point[j] + change, 1 - point[j], change]))
    objective = float(sum(c * point[j] for j, c in form.objective.items()))
    stated = objective + data.draw(st.sampled_from([0, 0, 1e-7, 0.1]))
    found = Solution("x", "", True, stated, point)
    if abs(stated - objective) > 1e-4:
        with pytest.raises(ValueError, match="another program"):
            extract(built, form, found)
        return
    result = extract(built, form, found)
    if result.proves == "nothing":
        assert result.reason
        assert result.value is None
        return
    best = best_of(family)
    assert result.pair_value <= result.value <= best
    assert result.value in possible_optima(family.parameters)
    assert (result.proves == "optimum") == (result.value == family.parameters.best)
    left = family.three_sat.unsatisfied_weight(result.assignment)
    assert left == result.unsatisfied
    if result.value > family.parameters.best - family.parameters.penalty:
        assert result.value == optimum(family.parameters, left)


_CASES: dict = {}


def _perturbed_case(formulation, name):
    if (formulation, name) not in _CASES:
        family = Family(FORMULAS[name].three_sat(), "paper")
        built = build(family, formulation)
        form = IntegerForm(built.model)
        values = point_of(form, solve_milp(built.model).values)
        _CASES[formulation, name] = family, built, form, values
    return _CASES[formulation, name]


@pytest.mark.parametrize(("off", "doubted"), [(0.0, False), (5e-6, True)])
def test_an_optimum_between_those_possible_is_doubted(off, doubted: bool) -> None:
    """A solver's word counts up to its accuracy, 1e-6; the reason says so."""
    _, built, form, values = _perturbed_case("projected", "contradiction")
    objective = sum(c * values[j] for j, c in form.objective.items()) - off
    text = TEXTS["HiGHS"](objective, values)
    found = parse_solution(text, "x", columns=len(form), rows=len(form.table))
    result = extract(built, form, found)
    assert result.proves == "bound"
    assert ("in floating point: " in result.reason) == doubted


def test_a_point_without_a_pair_and_a_pair_without_the_value(monkeypatch) -> None:
    _, built, form, values = _perturbed_case("projected", "contradiction")
    objective = sum(c * values[j] for j, c in form.objective.items())
    found = Solution("x", "odd", True, objective, np.array(values))
    value = extract(built, form, found).value
    for off, words in (1e-4, "not attained by an exact pair"), (0, "solver's word"):
        monkeypatch.setattr(program, "certify", lambda *_, v=off: value - Fraction(v))
        result = extract(built, form, found)
        assert (result.proves, result.value) == ("bound", value - Fraction(off))
        assert words in result.reason
    assert "does not say" in extract(built, form, found._replace(optimal=False)).reason
    monkeypatch.setattr(program, "back", lambda *_: int("two"))
    none = "there is no point: x says 'odd'"
    for gone, words in (
        ({"values": None}, none),
        ({"objective": None}, none),
        ({}, "no pa"),
    ):
        result = extract(built, form, found._replace(**gone))
        assert (result.proves, result.reason[: len(words)]) == ("nothing", words)


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A folder, and the values of a solution."""
    folder = folder_of(
        tmp_path_factory.mktemp("extract"),
        FORMULAS["contradiction"],
        "--formulation",
        "projected",
    )
    family, formulation = _read_folder(folder)
    built = build(family, formulation)
    form = IntegerForm(built.model)
    values = point_of(form, solve_milp(built.model).values)
    return folder, values, sum(c * values[j] for j, c in form.objective.items())


@pytest.mark.parametrize("solver", TEXTS)
def test_bad_files_are_refused_by_line(written, tmp_path, solver) -> None:
    folder, values, objective = written
    path = tmp_path / "bad.sol"

    def told(text: str) -> str:
        path.write_text(text)
        done = olivine("extract", folder, path, status=2)
        assert done.out == ""
        assert done.err.count("\n") == 1
        assert str(path) in done.err
        return done.err

    good = TEXTS[solver](objective, values)
    last = len(values) - 1
    for bad, reason in (
        ("inf", "not finite"),
        ("nan", "not finite"),
        ("1a", "number"),
        ("1_0", "number"),
        ("\u0661", "number"),
    ):
        text = TEXTS[solver](objective, [*values[:-1], 987654.0])
        assert text.count("987654") == 1
        message = told(text.replace("987654", bad))
        assert reason in message
        line = text[: text.index("987654")].count("\n") + 1
        assert f"{path}:{line}: " in message
    more = TEXTS[solver](objective, [*values, 1.0])
    assert f"unknown name 'x{last + 1}'" in told(more)
    assert "unknown name 'x000" in told(good.replace("x1", "x" + "0" * 5000 + "1", 1))
    assert "unknown name 'y1'" in told(good.replace("x1", "y1", 1))
    assert "comes twice" in told(good.replace(f"x{last}", "x1", 1))
    cut = good[: good.index(f"x{last}") + 2]
    assert f"{path}:" in told(cut)
    assert told("nonsense\n").endswith(
        "no solution file of HiGHS, CBC, SCIP, Gurobi, CPLEX or glpsol\n"
    )
    assert f"{path}:1: the file is empty" in told("")
    shifted = told(TEXTS[solver](objective - 0.25, values))
    assert "truncated, or of another program" in shifted
    assert re.search(rf"{path}:\d+: the values", shifted)


def test_what_proves_nothing_is_said(written, tmp_path) -> None:
    folder, values, objective = written
    path = tmp_path / "x.sol"
    flipped = [1 - v if j < 4 else v for j, v in enumerate(values)]
    for text, reason in (
        ("Model status\nInfeasible\n\n# Primal solution values\nNone\n", "no point"),
        ("Infeasible - objective value 0.0\n", "no point: CBC says 'Infeasible'"),
        ("Status unknown - objective value 0.0\n", "-solve must come before -solution"),
        ("no solution available\n", "there is no point"),
        (TEXTS["CPLEX"](objective, [0.5, *values[1:]]), "x0, an integer variable"),
        (TEXTS["CPLEX"](objective, [3, *values[1:]]), "x0 is 3.0, outside 0 to 1"),
        (TEXTS["CPLEX"](objective, flipped), "is missed by"),
    ):
        path.write_text(text)
        olivine("extract", folder, path, status=3, err=("proves nothing", reason))
        record = olivine("extract", folder, path, "--json").record
        assert (record["proves"], record["value"]) == ("nothing", None)


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("name", spread([*FORMULAS], 1))
def test_a_start_is_a_point_that_solvers_take(tmp_path, formulation, name) -> None:
    options = ["--formulation", formulation, "--start"]
    folder = folder_of(tmp_path, FORMULAS[name], *options)
    found = olivine("extract", folder, folder / "start.sol", "--json").record
    said = json.loads((folder / "family.json").read_text())["program"]["start"]
    assert found["value"] == found["pair"] == said["value"]
    assert found["unsatisfied"] == said["unsatisfied"]
    engine = highspy.Highs()
    engine.setOptionValue("output_flag", False)
    engine.readModel(str(folder / "program.mps"))
    assert engine.readSolution(str(folder / "start.sol"), 0) == highspy.HighsStatus.kOk
    engine.setOptionValue("mip_max_nodes", 0)
    engine.run()
    at_most = engine.getInfo().objective_function_value
    assert at_most <= -float(Fraction(said["value"])) + 1e-6
    mst = (folder / "start.mst").read_text().splitlines()
    assert mst[0].startswith("# MIP start")
    assert mst[1:] == [
        line
        for line in (folder / "start.sol").read_text().splitlines()
        if line[:1] == "x"
    ]


def test_a_start_without_a_program_is_refused(tmp_path) -> None:
    file = tmp_path / "f.cnf"
    write_dimacs(FORMULAS["satisfiable"], file)
    for options, reason in (
        (["--format", "json"], "--format lp or mps"),
        (["--two-actions", "--variant", "gap"], "own actions"),
    ):
        out = tmp_path / "out"
        olivine("generate", file, "-o", out, "--start", *options, status=2, err=reason)
        assert not out.exists()


def test_what_never_ends_or_is_raw_is_refused(written, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for name in (tmp_path / "pipe", tmp_path, "/dev/zero"):
        done = olivine("extract", written[0], name, status=2)
        assert done.err.startswith(f"olivine: {name}: ")
    path = tmp_path / "raw.sol"
    path.write_text("c Problem:    model\ns mip 1 2 o -1\nj 1 1\ne o f\n")
    done = olivine("extract", written[0], path, status=2)
    assert f"{path}:1: glpsol -w numbers variables" in done.err


def test_folders_that_are_none_of_ours_are_refused(tmp_path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    olivine("extract", empty, "x.sol", status=2, err="neither program.lp")
    folder = folder_of(tmp_path, FORMULAS["satisfiable"])
    done = olivine("extract", folder, tmp_path / "absent.sol", status=2)
    assert "absent.sol: No such file" in done.err
    write_dimacs(FORMULAS["contradiction"], folder / "three_sat.cnf")
    olivine("extract", folder, "x.sol", status=2, err="another formula")
    text = (folder / "program.lp").read_text()
    write_dimacs(FORMULAS["satisfiable"], folder / "three_sat.cnf")
    for old, new in (
        ('"paper"', '"papr"'),
        ('"faithful"', '"faith"'),
        ('"1/3"', '"one"'),
        ('"penalty"', '"p"'),
        ('"variant"', "variant"),
    ):
        assert text.count(old) == 1
        (folder / "program.lp").write_text(text.replace(old, new))
        done = olivine("extract", folder, "x.sol", status=2, err="bad remark")
    (folder / "program.lp").write_text("\\ mine\nMinimize\n")
    olivine("extract", folder, "x.sol", status=2, err="no remark says")
    two = tmp_path / "two"
    two.mkdir()
    trees = folder_of(two, FORMULAS["satisfiable"], "--two-actions", "--variant", "gap")
    olivine("extract", trees, "x.sol", status=2, err="two actions a state")


@with_rows(
    "line, reason",
    ("Objective ", ":6: the objective '' is no number"),
    ("# Rows -1", ":6: '-1' is no count of values"),
    ("# Columns ", ":6: '' is no count of values"),
    ("# Columns 1e300", ":6: '1e300' is no count of values"),
)
def test_a_count_that_is_none_ends_the_reading(written, tmp_path, line, reason) -> None:
    """A negative one led back to its own line for ever."""
    path = tmp_path / "y.sol"
    head = "Model status\nOptimal\n\n# Primal solution values\nFeasible\n"
    path.write_text(f"{head}{line}\n")
    done = olivine("extract", written[0], path)
    assert (done.status, done.err) == (2, f"olivine: {path}{reason}\n")


@pytest.mark.parametrize("penalty", ["1e999999999", "1/0", "-1", "nan"])
def test_a_penalty_that_is_none_is_refused(written, tmp_path, penalty) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(written[0], folder)
    program = next(folder / name for name in ("program.lp", "program.mps")
                   if (folder / name).exists())  # fmt: skip
    text = program.read_text()
    program.write_text(re.sub('"penalty": "[^"]*"', f'"penalty": "{penalty}"', text))
    done = olivine("extract", folder, tmp_path / "none.sol", status=2)
    assert f"{penalty!r} is no penalty" in done.err
