"""What makes the program fast for MILP engines, one change at a time.

python -m benchmarks milp                figures with targets
python -m benchmarks.milp highs|scip [SECONDS [FORMULA ...]]
                                         table of docs/formulations.md

Each entry of the table is the CPU time of the engine, one thread, with the number of
nodes. The start is the best assignment of a local search; no formula here has a better
one, so that each cut-off leaves nothing.
"""

from __future__ import annotations

import importlib.util
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from itertools import combinations
from operator import attrgetter, methodcaller
from pathlib import Path
from typing import Any

import highspy
import numpy as np
from olivine.reduction.family.family import Family
from olivine.reduction.formula.dimacs import read_dimacs
from olivine.reduction.formula.local_search import walksat
from olivine.reduction.program.program import build, solve_program, with_cut_off
from olivine.reduction.program.projected import ProjectedModel
from olivine.reduction.program.reduction_model import ReductionModel
from olivine.solvers.lp import highs
from olivine.solvers.milp.milp import scaled_objective, write_mps
from olivine.solvers.model import LinearModel
from olivine.solvers.outcome import Status

from benchmarks.decide import CASES, uniform
from benchmarks.figures import Figure, cpu

TARGETS = {"uuf50-01": 3.0, "uuf75-01": 60.0}
MORE = {"uuf50-02": 3.0, "uuf50-03": 3.0, "uuf100-01": None}
TABLE = ("uuf50-01", "uuf50-02", "uuf50-03", "50, 250, 1", "50, 300, 1")
"""Files, and n, m and seed of uniform formulas; of these two leave 2 clauses."""


def family_of(name: str) -> Family:
    """Family of a file, or of a uniform formula."""
    if "," in name:
        n, m, seed = map(int, name.split(","))
        return Family(uniform(n, m, seed).three_sat())
    file = CASES / "satlib" / f"{name}.cnf"
    return Family(read_dimacs(file).formula.three_sat())


def figures(full: bool) -> Iterator[Figure]:
    """Measure the whole: building, local search and engine."""
    engines = ["highs", *(["scip"] if importlib.util.find_spec("pyscipopt") else [])]
    for name, target in (TARGETS | (MORE if full else {})).items():
        family = family_of(name)
        for engine in engines:
            for formulation in ("strengthened", "projected"):
                seconds = cpu(partial(_solve, family, formulation, engine))
                title = f"MILP {formulation} by {engine}, {name}"
                yield Figure(title, seconds, "CPU s", target, "u = 1")


def _solve(family: Family, formulation: str, engine: str) -> None:
    outcome = solve_program(build(family, formulation), engine=engine, time_limit=120)
    assert outcome.status is Status.OPTIMAL, outcome.reason


# ------------------------------------------------------------------- the table

Change = Callable[[ReductionModel], LinearModel]


@dataclass(frozen=True)
class Row:
    """A formulation, what is made of its model, and what the engine is told."""

    name: str
    formulation: str
    change: Change
    cut_off: bool = True
    start: bool = False
    """Whether the engine is handed the start itself."""
    options: dict[str, Any] = field(default_factory=dict)
    tell: Callable[[Any], None] | None = None
    """For SCIP: changes its model."""


as_written: Change = attrgetter("model")
lean: Change = methodcaller("lean")


def resolved(built: ReductionModel) -> LinearModel:
    """Add a row for each resolvent of two clauses with at most three literals.

    Where both y are 0 both clauses hold, so their resolvent does; hence
    y_i + y_j + (its literals) >= 1.
    """
    assert isinstance(built, ProjectedModel)
    model = replace(built.lean(), rows=list(built.model.rows))
    clauses = {j: {*built.family.clauses[j].tolist()} for j in built.missing_index}
    for (i, first), (j, second) in combinations(clauses.items(), 2):
        clash = {abs(x) for x in first if -x in second}
        literals = {x for x in first | second if abs(x) not in clash}
        if len(clash) == 1 and len(literals) <= 3:
            model.add_row(
                [built.missing_index[i], built.missing_index[j]]
                + [built.truth_index[abs(x) - 1] for x in literals],
                [1, 1] + [1 if x > 0 else -1 for x in literals],
                ">=",
                1 - sum(x < 0 for x in literals),
            )
    return model


FORMULATIONS = [
    Row(f"`{name}`, {text}", name, change, cut_off, start)
    for name in ("strengthened", "projected")
    for change, cut_off, start, text in (
        (as_written, False, False, "as written"),
        (as_written, False, True, "start"),
        (as_written, True, False, "cut-off"),
        (lean, False, False, "lean"),
        (lean, False, True, "lean, start"),
        (lean, True, False, "**lean, cut-off**"),
    )
]


def _also(name: str, change: Change = lean, **told: Any) -> Row:
    return Row(f"… {name}", "projected", change, **told)


def without_objective(built: ReductionModel) -> LinearModel:
    return built.lean()


BY_HIGHS = [
    _also("resolvents", resolved),
    _also("no objective", without_objective),
    _also("no symmetry detection", options={"mip_detect_symmetry": False}),
    _also("no heuristics", options={"mip_heuristic_effort": 0.0}),
    _also("no restarts", options={"mip_allow_restart": False}),
    _also(
        "no cuts below the root", options={"mip_allow_cut_separation_at_nodes": False}
    ),
    _also("no presolve", options={"presolve": "off"}),
    _also("pseudo-costs trusted after 1", options={"mip_pscost_minreliable": 1}),
    _also("pseudo-costs trusted after 32", options={"mip_pscost_minreliable": 32}),
]


def _emphasis(name: str) -> Callable[[Any], None]:
    def tell(model: Any) -> None:
        from pyscipopt import SCIP_PARAMEMPHASIS  # optional

        model.setEmphasis(getattr(SCIP_PARAMEMPHASIS, name))

    return tell


def _no_heuristics(model: Any) -> None:
    from pyscipopt import SCIP_PARAMSETTING  # optional

    model.setHeuristics(SCIP_PARAMSETTING.OFF)


def _priorities(model: Any) -> None:
    """Branch on the variables with the most rows first."""
    counts: dict[str, int] = {}
    for row in model.getConss():
        for name in model.getValsLinear(row):
            counts[name] = counts.get(name, 0) + 1
    for variable in model.getVars():
        model.chgVarBranchPriority(variable, counts.get(variable.name, 0))


BY_SCIP = [
    _also("resolvents", resolved),
    _also("no objective", without_objective),
    _also("emphasis on feasibility", tell=_emphasis("FEASIBILITY")),
    _also("emphasis on constraints", tell=_emphasis("CPSOLVER")),
    _also("emphasis on optimality", tell=_emphasis("OPTIMALITY")),
    _also("no heuristics", tell=_no_heuristics),
    _also("priorities by occurrences", tell=_priorities),
]


Start = list[float] | None


def by_highs(path: str, row: Row, start: Start, limit: float) -> tuple[str, int]:
    engine = highs.new_highs()
    highs.set_options(engine, **row.options)
    highs.demand(engine.readModel(path))
    if start is not None:
        point = highspy.HighsSolution()
        point.col_value = start
        highs.demand(engine.setSolution(point))
    end = time.process_time() + limit  # the engine's own limit is wall time

    def stop(event: Any) -> None:
        if time.process_time() > end:
            event.interrupt()

    engine.cbMipInterrupt.subscribe(stop)
    status = highs.run(engine)
    return status.value, int(engine.getInfo().mip_node_count)


def by_scip(path: str, row: Row, start: Start, limit: float) -> tuple[str, int]:
    from pyscipopt import Model  # optional

    model = Model()
    model.hideOutput()
    model.readProblem(path)
    model.setParams({"limits/gap": 0.0, "limits/absgap": 0.0, "limits/time": limit})
    model.setParam("numerics/feastol", highs.TOLERANCE)
    model.setParam("timing/clocktype", 1)  # CPU
    if row.tell is not None:
        row.tell(model)
    if start is not None:
        point = model.createSol()
        for variable in model.getVars():
            model.setSolVal(point, variable, start[int(variable.name[1:])])
        assert model.addSol(point)
    model.optimize()
    return model.getStatus(), int(model.getNTotalNodes())


def entry(family: Family, row: Row, engine: Callable[..., Any], limit: float) -> str:
    """CPU seconds and nodes; `>` where the limit was reached."""
    built = build(family, row.formulation)
    model = row.change(built)
    search = walksat(family.three_sat, np.random.default_rng(0), max_flips=20_000)
    point = built.point(search.assignment)
    if row.cut_off:
        model = with_cut_off(model, family, built.model.objective_value(point))
    start = [float(v) for v in point] if row.start else None
    if row.change is without_objective:
        model = replace(model, objective={}, objective_constant=Fraction(0))
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "program.mps")
        write_mps(scaled_objective(model).model, path)
        begin = time.process_time()
        status, nodes = engine(path, row, start, limit)
        seconds = time.process_time() - begin
    done = status == ("infeasible" if row.cut_off else "optimal")
    return f"{'' if done else '>'}{seconds:.2f} / {nodes}"


def main() -> None:
    name = sys.argv[1]
    limit = float(sys.argv[2]) if len(sys.argv) > 2 else 15.0
    engine, more = {"highs": (by_highs, BY_HIGHS), "scip": (by_scip, BY_SCIP)}[name]
    titles = sys.argv[3:] or TABLE
    families = [family_of(title) for title in titles]
    print(f"| {name} | {' | '.join(titles)} |")
    print(f"| --- |{' --: |' * len(titles)}")
    for row in (*FORMULATIONS, *more):
        cells = [entry(family, row, engine, limit) for family in families]
        print(f"| {row.name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
