"""Program files of real formulas, solved by engines that know nothing else.

In a file the objective is −g(s0), minimised, since readers disagree on how a
maximisation is said.
"""

import itertools

import pytest
from olivine.reduction.family.family import Family, Variant
from olivine.reduction.formula.dimacs import read_dimacs
from olivine.reduction.formula.formula import Formula
from olivine.reduction.program.optimum import check, optimum
from olivine.reduction.program.program import FORMS, FORMULATIONS, build
from olivine.solvers.milp import milp
from olivine.solvers.milp.engines import readers
from olivine.solvers.outcome import Status

from tests.support.cases import CASES
from tests.support.depth import deep, spread
from tests.support.families import VARIANTS

WRITERS = {"lp": milp.write_lp, "mps": milp.write_mps}
ENGINES = [
    "highs",
    pytest.param(
        "cbc",
        marks=pytest.mark.skipif(
            "cbc" not in milp.available_engines(), reason="CBC is not installed"
        ),
    ),
]


def family_of(name, variant=Variant.PAPER):
    return Family(read_dimacs(CASES / name).formula.three_sat(), variant)


def written_optimum(built, folder, extension, engine="highs"):
    """g(s0) as the engine finds it in the file, and says that it is optimal.

    Newer CBC says "within gap tolerance", of a gap of 0.
    """
    path = folder / f"program.{extension}"
    WRITERS[extension](built.model, path)
    outcome = milp.read_optimum(path, engine)
    optimal = outcome.status is Status.OPTIMAL
    assert optimal or "Optimal (within gap" in outcome.reason, outcome.reason
    return -outcome.objective


@pytest.mark.parametrize("engine", spread(ENGINES, 1))
@pytest.mark.parametrize("extension", spread(WRITERS, 1))
@pytest.mark.parametrize(
    ("name", "formulation", "expected"),
    [("satlib/uf20-01", "strengthened", 1), ("cadical/full3", "faithful", 23 / 24)],
)
def test_known_optima(tmp_path, name, formulation, expected, extension, engine):
    built = build(family_of(f"{name}.cnf"), formulation)
    value = written_optimum(built, tmp_path, extension, engine)
    assert value == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", spread(["full2", "false", "empty"], 1))
def test_faithful_files_of_small_cases(tmp_path, name, engine):
    """CBC, too, and every variant but `forced`, whose program is the largest."""
    for variant in VARIANTS[:: deep(1, 2)]:
        family = family_of(f"cadical/{name}.cnf", variant)
        value = optimum(family.parameters, int(name != "empty"))
        built = build(family, "faithful")
        found = written_optimum(built, tmp_path, "mps", engine)
        assert found == pytest.approx(float(value), abs=1e-7)


@pytest.mark.parametrize(
    ("formulation", "variant"),
    spread(
        [*itertools.product(FORMULATIONS, VARIANTS), ("projected", Variant.FORCED)], 5
    ),
)
def test_every_file_keeps_the_optimum(tmp_path, formulation, variant):
    """Both forms, LP and MPS, read back by HiGHS; and the point is still ours."""
    family = family_of("cadical/full1.cnf", variant)
    expected = optimum(family.parameters, 1)
    for form in FORMS:
        built = build(family, formulation, form)
        for extension, write in WRITERS.items():
            path = tmp_path / f"program.{extension}"
            names = write(built.model, path)
            outcome = milp.read_optimum(path)
            assert outcome.status is Status.OPTIMAL
            assert -outcome.objective == pytest.approx(float(expected), abs=1e-9)
            known = set(names.values())
            assert {v.name for v in built.model.variables} <= known
            assert {row.name for row in built.model.rows} <= known
            # MPS readers meet the columns in the order of the model.
            if extension == "mps":
                values = outcome.values[: len(built.model.variables)]
                assert check(family, built.pair(values)) == expected


@pytest.mark.parametrize("engine", readers())
def test_files_with_variables_that_occur_nowhere_are_read(tmp_path, engine) -> None:
    """SCIP refused declarations of them in LP files."""
    formula = Formula.from_clauses([[1, -1], [3]], n_variables=4)
    for formulation in FORMULATIONS:
        built = build(Family(formula.three_sat(), "paper"), formulation)
        for extension in WRITERS:
            found = written_optimum(built, tmp_path, extension, engine)
            assert found == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_names_tell_variables_and_rows_apart(formulation):
    for form in FORMS:
        for variant in VARIANTS:
            model = build(
                family_of("cadical/full3.cnf", variant), formulation, form
            ).model
            names = [v.name for v in model.variables]
            assert len(set(names)) == len(names)
            rows = [row.name for row in model.rows]
            assert len(set(rows)) == len(rows)
