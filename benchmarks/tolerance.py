"""How much tolerance, and how many draws, the decision by OLIVE's program withstands.

First table: the critical tolerance of small formulas, found by one MILP, with
what the closed forms say. Second table: the hard program over data sets of n
draws each; at φ, half of the closed form for one unsatisfied clause, how often
the decision is still right, with a 95 % Clopper–Pearson interval.

    python -m benchmarks.tolerance [--trials 20] [--largest 6] [--seed 0]
                                   [--time-limit 60] [--output FILE]
"""

from __future__ import annotations

import argparse
import itertools
import sys
from pathlib import Path

import numpy as np
from olivine.reduction.family.family import Family
from olivine.reduction.formula.formula import Formula
from olivine.reduction.program.tolerance import critical_tolerance, tolerance_bounds

from benchmarks.sampled_decision import survival

TWO = [[a, 2 * b] for a, b in itertools.product((1, -1), repeat=2)]
EIGHT = [[a, 2 * b, 3 * c] for a, b, c in itertools.product((1, -1), repeat=3)]
FORMULAS = {
    "x1, ¬x1": (1, [[1], [-1]]),
    "four clauses on two variables": (1, TWO),
    "three of them": (0, TWO[:3]),
    "eight clauses on three variables": (1, EIGHT),
}
SAMPLED = list(FORMULAS)[:3]
VARIANTS = ("paper", "normalized")


INTRODUCTION = """\
OLIVE's constraints have a tolerance φ. How large may it be before the program no
longer distinguishes satisfiable from unsatisfiable formulas? The table has the least
φ at which an unsatisfiable formula's optimum reaches that of a satisfiable one; below
it the optimum decides the formula. The value is attained by an exact pair. That no
smaller value is possible is proved where it equals the closed form of
`reduction/program/tolerance.py`, or its lower end."""
DATA = """\
With data sets of n draws (all-zero member, uniform actions) in place of exact
expectations, at half of the closed form for one unsatisfied clause:"""


def critical_table(options: argparse.Namespace) -> list[str]:
    lines = [
        "| formula | variant | critical φ | as a number | closed form | called exact "
        "by | seconds |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for name, (u, clauses) in FORMULAS.items():
        for variant in (*VARIANTS, "gap"):
            family = Family(Formula.from_clauses(clauses).three_sat(), variant)
            found = critical_tolerance(family, u, time_limit=options.time_limit)
            low, high = found.lower, found.upper
            form = str(low) if low == high else f"{low} to {high}"
            value = number = "–"  # where time ran out
            if found.value is not None:
                value, number = str(found.value), f"{float(found.value):.5f}"
            lines.append(
                f"| {name} | {variant} | {value} | {number} | {form} | "
                f"{found.by if found.exact else 'nothing (numerical)'} | "
                f"{found.seconds:.1f} |"
            )
            print(lines[-1], file=sys.stderr, flush=True)
    return lines


def survival_table(options: argparse.Namespace) -> list[str]:
    lines = [
        "| formula | variant | φ | n | decision right | 95 % interval |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for name, variant in itertools.product(SAMPLED, VARIANTS):
        u, clauses = FORMULAS[name]
        family = Family(Formula.from_clauses(clauses).three_sat(), variant)
        tolerance = tolerance_bounds(family.parameters, 1)[0] / 2
        for exponent in range(2, options.largest + 1):
            rng = np.random.default_rng([options.seed, exponent])
            found = survival(
                family,
                None,
                10**exponent,
                options.trials,
                rng,
                satisfiable=u == 0,
                time_limit=options.time_limit,
            )
            right, decided = found.survivors(tolerance)
            low, high = found.interval(tolerance)
            lines.append(
                f"| {name} | {variant} | {float(tolerance):.4f} | $10^{exponent}$ | "
                f"{right} of {decided} | {low:.2f} to {high:.2f} |"
            )
            print(lines[-1], file=sys.stderr, flush=True)
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--largest", type=int, default=6)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--time-limit", type=float, default=60)
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    command = (
        f"python -m benchmarks.tolerance --trials {options.trials} --largest "
        f"{options.largest} --seed {options.seed} --time-limit {options.time_limit:g}"
    )
    parts = [
        "# How much tolerance the decision withstands",
        "",
        INTRODUCTION,
        "",
        *critical_table(options),
        "",
        DATA,
        "",
        *survival_table(options),
        "",
        "Made by",
        "",
        f"    {command}",
        "",
    ]
    text = "\n".join(parts)
    if options.output is not None:
        options.output.write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
