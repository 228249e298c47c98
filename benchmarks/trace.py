"""The run that leaves OLIVE's hard program, and its check, as the formula grows.

For random 3-SAT at 4.26 clauses a variable, doubling sizes: processor seconds for
the run on a random member with every round checked (without reading the formula),
the growth over the size before, microseconds a round, how many constraints were
evaluated in all and in the round that touches most, and the growth that the bound
allows, that of (m + n) times the size of a round's touched constraints.
What a round touches is the constraints of the clauses of one variable: at a
fixed ratio its mean stays, so the whole is linear in m + n.

The second table lets one variable occur in every clause: a round then touches
all clauses, but few rounds do, and the whole stays linear.

The third compares with evaluating every constraint in every round, which is
quadratic.

    python -m benchmarks.trace [--largest 6400]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator

import numpy as np
from olivine.algorithms.olive.program import OliveProgram
from olivine.reduction.family.family import Family, Variant
from olivine.reduction.formula.formula import Formula, ThreeSat
from olivine.reduction.formula.random_formula import random_ksat
from olivine.reduction.run.benign import benign_run
from olivine.reduction.run.functions import q_functions
from olivine.reduction.run.run import Run, adversarial_run

from benchmarks.figures import Figure, cpu, exponent

RATIO = 4.26


def uniform(n: int) -> ThreeSat:
    return random_ksat(n, int(RATIO * n), 3, np.random.default_rng(n)).three_sat()


def hub(n: int) -> ThreeSat:
    """Put variable 1 first in every clause."""
    drawn = random_ksat(n, int(RATIO * n), 3, np.random.default_rng(n))
    clauses = drawn.literals.reshape(-1, 3).copy()
    clauses[:, 0] = np.sign(clauses[:, 0])
    return Formula.from_clauses(clauses.tolist(), n).three_sat()


def timed(family: Family) -> tuple[float, Run]:
    y = np.random.default_rng(0).random(family.n_variables) < 0.5
    start = time.process_time()
    run = adversarial_run(family, y)
    assert run.holds, run.failures()[:3]
    return time.process_time() - start, run


def figures(full: bool) -> Iterator[Figure]:
    """Measure the adversarial run as n doubles, and the benign one at n = 200."""
    sizes = [100 << k for k in range(7 if full else 5)]
    families = [Family(uniform(n), Variant.PAPER) for n in sizes]
    seconds = [min(timed(family)[0] for _ in range(2)) for family in families]
    found = exponent(sizes[-4:], seconds[-4:])
    yield Figure("adversarial run, in n", found, "exponent", 1.1, f"to n = {sizes[-1]}")
    family = Family(uniform(200), Variant.NORMALIZED)
    run = benign_run(family)
    assert run.holds, run.failures()[:3]
    used = cpu(benign_run, family)
    yield Figure("benign run", used, "CPU s", 20, "n = 200, m = 852, normalized")


def growth(variant: Variant, make, sizes: list[int]) -> None:
    print(
        f"{'variant':<12}{'n':>7}{'m':>8}{'rounds':>8}{'seconds':>9}{'growth':>8}"
        f"{'allowed':>9}{'us/round':>10}{'evaluated':>11}{'largest':>9}"
    )
    before: tuple[float, float] | None = None
    for n in sizes:
        family = Family(make(n), variant)
        seconds, run = timed(family)
        evaluated = [r.evaluated for r in run.rounds]
        bound = (family.n_clauses + n) * max(evaluated)
        grown = f"x{seconds / before[0]:.1f}" if before else ""
        allowed = f"x{bound / before[1]:.1f}" if before else ""
        print(
            f"{variant.value:<12}{n:>7}{family.n_clauses:>8}{len(run.rounds):>8}"
            f"{seconds:>9.2f}{grown:>8}{allowed:>9}"
            f"{1e6 * seconds / len(run.rounds):>10.0f}"
            f"{sum(evaluated):>11}{max(evaluated):>9}",
            flush=True,
        )
        before = seconds, float(bound)


def against_everything(sizes: list[int]) -> None:
    print(f"{'n':>7}{'touched only':>14}{'everything':>12}{'ratio':>8}")
    for n in sizes:
        family = Family(uniform(n))
        seconds, _ = timed(family)
        mdp, collected = family.mdp(), []
        start = time.process_time()
        for move, f in q_functions(family):
            assert OliveProgram(mdp, collected).is_feasible(f.pair(family))
            collected.append(mdp.distribution(f.policy, move.level))
        everything = time.process_time() - start
        ratio = everything / seconds
        print(f"{n:>7}{seconds:>12.2f} s{everything:>10.2f} s{ratio:>8.1f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--largest", type=int, default=6400, help="variables")
    options = parser.parse_args()
    sizes = [n for n in (100 * 2**k for k in range(12)) if n <= options.largest]
    for variant in Variant:
        growth(variant, uniform, sizes)
    print("one variable in every clause")
    growth(Variant.PAPER, hub, sizes)
    print("against evaluating every constraint in every round")
    against_everything([n for n in (50, 100, 200) if n <= options.largest])


if __name__ == "__main__":
    main()
