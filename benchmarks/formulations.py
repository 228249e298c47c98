"""How fast the formulations of OLIVE's program are, as ratios within one run.

Run from the top folder: ``python -m benchmarks.formulations [repeats]``. All
times are of `solve_milp` with HiGHS, one thread, its process included. Branch
and bound is chaotic, so each formula is solved in several disguises (variables
renamed and negated, clauses shuffled), the same for both sides; the first is
the formula itself. The clock is that of the CPU, so that other work on the
machine matters little.

1. `projected` against the plain MaxSAT model of the same formula, both with
   tolerance 0: at most 1.1 is asked for on the uuf50 and uuf75 formulas.
2. `strengthened` against `faithful` as random formulas grow, as long as
   `faithful` finishes: at least 5 times as fast is asked for.
3. `verify` by its own routes, `strict` against `normalized`: at most 1.2 is asked for.

What makes engines fast beside the formulation is measured in `benchmarks.milp`.
"""

from __future__ import annotations

import statistics
import sys

import numpy as np
from olivine.reduction.family.family import Family
from olivine.reduction.formula.dimacs import read_dimacs
from olivine.reduction.formula.formula import Formula
from olivine.reduction.program.program import FORMS, build
from olivine.reduction.verify.verification import verify
from olivine.solvers.child.child import children_seconds, cpu_seconds
from olivine.solvers.milp.milp import solve_milp
from olivine.solvers.model import LinearModel
from olivine.solvers.outcome import Status

from benchmarks.decide import CASES, uniform

SATLIB = CASES / "satlib"
UNSATISFIABLE = ("uuf50-01", "uuf50-02", "uuf50-03", "uuf75-01")
LIMIT = 120.0


def plain_maxsat(formula: Formula) -> LinearModel:
    """Minimise the number of unsatisfied clauses, as in any textbook."""
    model = LinearModel("maxsat", maximise=False)
    for i in range(formula.n_variables):
        model.add_variable(f"x{i}", 0, 1, integer=True)
    missing = []
    for clause in formula.clauses():
        y = model.add_variable(f"y{len(missing)}", 0, 1, integer=True)
        missing.append(y)
        negative = sum(x < 0 for x in clause)
        model.add_row(
            [y, *(abs(x) - 1 for x in clause)],
            [1, *(1 if x > 0 else -1 for x in clause)],
            ">=",
            1 - negative,
        )
    model.set_objective(missing, [1] * len(missing), maximise=False)
    return model


def disguised(formula: Formula, seed: int) -> Formula:
    """Rename and negate variables and shuffle clauses; seed 0 changes nothing."""
    if seed == 0:
        return formula
    rng = np.random.default_rng(seed)
    names = rng.permutation(formula.n_variables) + 1
    signs = rng.choice([-1, 1], formula.n_variables)
    clauses = [
        [int(names[abs(x) - 1] * signs[abs(x) - 1]) * (1 if x > 0 else -1) for x in c]
        for c in formula.clauses()
    ]
    rng.shuffle(clauses)
    return Formula.from_clauses(clauses, formula.n_variables)


def seconds(model: LinearModel) -> float | None:
    """CPU seconds that solving takes in the child, None if it does not finish."""
    before = children_seconds()
    outcome = solve_milp(model, time_limit=LIMIT)
    return children_seconds() - before if outcome.status is Status.OPTIMAL else None


def median(times: list[float | None]) -> float:
    finished = [t for t in times if t is not None]
    return statistics.median(finished) if len(finished) == len(times) else float("nan")


def projected_against_maxsat(repeats: int) -> None:
    print("1. projected : plain MaxSAT, ratio of the medians (at most 1.1)")
    variants = ("paper", "normalized")
    head = " ".join(f"{v:>12}" for v in variants)
    print(f"{'formula':>10} {'m':>5} {'plain s':>8} {head}")
    for name in UNSATISFIABLE:
        formula = read_dimacs(SATLIB / f"{name}.cnf").formula
        plain: list[float | None] = []
        ours: dict[str, list[float | None]] = {v: [] for v in variants}
        for seed in range(repeats):
            same = disguised(formula, seed)
            plain.append(seconds(plain_maxsat(same)))
            for variant in variants:
                family = Family(same.three_sat(), variant)
                ours[variant].append(seconds(build(family, "projected").model))
        base = median(plain)
        ratios = " ".join(f"{median(ours[v]) / base:12.2f}" for v in variants)
        print(f"{name:>10} {len(formula):>5} {base:8.3f} {ratios}", flush=True)


def faithful_against_strengthened(repeats: int) -> None:
    print("\n2. faithful : strengthened, ratio of the medians (at least 5)")
    print(
        f"{'n':>3} {'m':>4} {'strengthened s':>15} "
        + "".join(f"{f:>15}" for f in FORMS)
    )
    for n, m in ((4, 8), (4, 12), (5, 16), (5, 20), (5, 24), (5, 28)):
        times: dict[tuple[str, str], list[float | None]] = {}
        for seed in range(repeats):
            formula = uniform(n, m, 1000 * m + seed)
            family = Family(formula.three_sat())
            for formulation in ("strengthened", "faithful"):
                for form in FORMS:
                    model = build(family, formulation, form).model
                    found = times.setdefault((formulation, form), [])
                    found.append(seconds(model))
        base = median(times["strengthened", FORMS[0]])
        ratios = "".join(
            f"{median(times['faithful', f]) / median(times['strengthened', f]):15.1f}"
            for f in FORMS
        )
        print(f"{n:>3} {m:>4} {base:15.3f} {ratios}", flush=True)


def strict_against_normalized(repeats: int) -> None:
    print("\n3. verify: strict : normalized, ratio of the medians (at most 1.2)")
    print(f"{'formula':>10} {'normalized s':>13} {'strict s':>9} {'ratio':>6}")
    for name in ("uf100-01", "uuf100-01"):
        formula = read_dimacs(SATLIB / f"{name}.cnf").formula
        times: dict[str, list[float]] = {"normalized": [], "strict": []}
        verify(formula)  # imports
        for seed in range(repeats):
            for variant, found in times.items():
                before = cpu_seconds()
                verified = verify(disguised(formula, seed), variant)
                assert verified.satisfiable == (name == "uf100-01")
                found.append(cpu_seconds() - before)
        base, ours = map(statistics.median, times.values())
        print(f"{name:>10} {base:13.2f} {ours:9.2f} {ours / base:6.2f}", flush=True)


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    projected_against_maxsat(2 * count + 1)
    faithful_against_strengthened(min(count, 3))
    strict_against_normalized(2 * count + 1)
