"""What linear programs cost beside the engine: forms, PuLP, files, exactness.

Run from the top folder: ``python -m benchmarks.linear [most clauses]``. The
models are MaxSAT of random 3-SAT with as many variables as clauses, so easy for
HiGHS that what is around it shows; one row a clause. Every line shows the times
of one model as ratios to the time that HiGHS itself takes on it; going down,
models grow fourfold.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pulp
from olivine.solvers import highs, pulp_adapter
from olivine.solvers.integer_form import integer_form
from olivine.solvers.lp import LpSession, solve_lp
from olivine.solvers.milp import confirm, solve_milp, write_lp, write_mps
from olivine.solvers.model import LinearModel
from olivine.solvers.objective import scaled_objective


def max_sat(clauses: int, seed: int) -> LinearModel:
    """Maximise the share of satisfied clauses of a random formula."""
    rng = np.random.default_rng(seed)
    size = max(3, clauses)
    model = LinearModel("max-sat")
    for i in range(size):
        model.add_variable(f"x{i}", 0, 1, integer=True)
    for j in range(clauses):
        miss = model.add_variable(f"y{j}", 0, 1)
        chosen = rng.choice(size, 3, replace=False).tolist()
        signs = rng.choice([-1, 1], 3).tolist()
        negative = signs.count(-1)
        model.add_row([*chosen, miss], [*signs, 1], ">=", 1 - negative, f"C{j}")
    share = [Fraction(-1, clauses)] * clauses
    model.set_objective(range(size, size + clauses), share, maximise=True, constant=1)
    return model


def dense_program(size: int, seed: int) -> LinearModel:
    """Draw a feasible program with dense rows."""
    rng = np.random.default_rng(seed)
    model = LinearModel("dense")
    for j in range(size):
        model.add_variable(f"x{j}", 0, 10)
    point = rng.integers(0, 11, size)
    for _ in range(size // 2):
        row = rng.integers(-9, 10, size)
        model.add_row(range(size), row.tolist(), "<=", int(row @ point))
    model.set_objective(range(size), rng.integers(-9, 10, size).tolist(), maximise=True)
    return model


def timed(function: Callable[..., Any], *args: Any, **kwargs: Any) -> tuple[float, Any]:
    start = time.perf_counter()
    value = function(*args, **kwargs)
    return time.perf_counter() - start, value


def engine_alone(problem: pulp.LpProblem) -> tuple[float, float]:
    """Time what PuLP does before HiGHS runs, and HiGHS itself."""
    solver = pulp.HiGHS(msg=False, gapRel=0.0, gapAbs=0.0, threads=1)
    solver.createAndConfigureSolver(problem)
    load, _ = timed(solver.buildSolverModel, problem)
    run, _ = timed(solver.callSolver, problem)
    return load, run


def mixed(most: int) -> None:
    head = ["form", "PuLP", "load", "all", "confirm", "LP file", "MPS file"]
    print(f"{'clauses':>8} {'HiGHS s':>8} " + " ".join(f"{h:>8}" for h in head))
    clauses = 400
    while clauses <= most:
        model = max_sat(clauses, 0)
        form_time, form = timed(
            lambda m: integer_form(scaled_objective(m).model), model
        )
        pulp_time, made = timed(pulp_adapter.from_form, form)
        load, run = engine_alone(made.problem)
        whole, outcome = timed(solve_milp, model)
        confirm_time, point = timed(confirm, model, outcome)
        assert point.exact
        with TemporaryDirectory() as folder:
            lp, _ = timed(write_lp, model, Path(folder, "a.lp"))
            mps, _ = timed(write_mps, model, Path(folder, "a.mps"))
        times = [form_time, pulp_time, load, whole, confirm_time, lp, mps]
        ratios = " ".join(f"{t / run:8.2f}" for t in times)
        print(f"{clauses:>8} {run:8.3f} {ratios}")
        clauses *= 4


def linear() -> None:
    print(f"{'columns':>8} {'HiGHS s':>8} {'exact':>8} {'warm':>8} {'warm exact':>10}")
    for size in (25, 50, 100, 200):
        model = dense_program(size, 0)
        run, _ = timed(solve_lp, model)
        exact, outcome = timed(solve_lp, model, exact=True)
        assert outcome.exact
        session = LpSession(model)
        session.solve()
        session.add_row(range(size), [1] * size, "<=", 4 * size)
        warm, _ = timed(session.solve)
        session.add_row(range(size), [1] * size, "<=", 3 * size)
        warm_exact, _ = timed(session.solve, exact=True)
        ratios = f"{exact / run:8.2f} {warm / run:8.2f} {warm_exact / run:10.2f}"
        print(f"{size:>8} {run:8.3f} {ratios}")


if __name__ == "__main__":
    highs.new_highs()  # prints its banner, if anywhere, before the tables
    print("Mixed-integer programs, as ratios to HiGHS itself")
    mixed(int(sys.argv[1]) if len(sys.argv) > 1 else 25_600)
    print("\nLinear programs, as ratios to HiGHS in floating point")
    linear()
