"""Building the family and checking certificates as the formula grows.

For each size and variant: building a member's arrays, `forward`, the first
`check` (which also sets up the program), later checks, and `back`; best of
several runs, with the growth over the size before. All but the first check
should grow linearly: tenfold for ten times the clauses, a little more where
arrays outgrow the caches.

The formula is random with n = m/3, planted but for one clause, and `forward`
starts from the planted assignment: one unsatisfied clause gives the largest
denominators, 3 m^2 where the top is 1 - 1/m. At a million clauses the bound on
intermediate results then passes 2^62, Python integers take over in `check`, and
growth jumps to a hundredfold there.

    python -m benchmarks.family [--largest 1000000]
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from olivine.reduction.family.family import Family, Variant
from olivine.reduction.formula.formula import Formula, ThreeSat
from olivine.reduction.formula.random_formula import random_ksat
from olivine.reduction.program.witness import back, check, forward

STEPS = ("build", "forward", "first check", "check", "back")


def timed(function: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    value = function()
    return time.perf_counter() - start, value


def all_but_one_satisfied(
    m: int, rng: np.random.Generator
) -> tuple[ThreeSat, NDArray[np.bool_]]:
    planted = rng.random(m // 3) < 0.5
    others = random_ksat(m // 3, m - 1, 3, rng, planted=planted)
    against = np.where(planted[:3], -1, 1) * np.arange(1, 4)
    literals = np.concatenate([others.literals, against])
    formula = Formula(m // 3, literals, 3 * np.arange(m + 1))
    return formula.three_sat(), planted


def measure(m: int, variant: Variant, runs: int) -> dict[str, float]:
    rng = np.random.default_rng(m)
    three_sat, assignment = all_but_one_satisfied(m, rng)
    best = dict.fromkeys(STEPS, float("inf"))
    for _ in range(runs):
        family = Family(three_sat, variant)
        seconds = {}
        seconds["build"], _ = timed(family.mdp)
        seconds["forward"], pair = timed(lambda f=family: forward(f, assignment))
        for step in ("first check", "check"):
            seconds[step], _ = timed(lambda f=family, p=pair: check(f, p))
        seconds["back"], found = timed(lambda f=family, p=pair: back(f, p))
        assert np.array_equal(found, assignment)
        best = {step: min(best[step], seconds[step]) for step in STEPS}
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--largest", type=int, default=10**6, help="clauses")
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    sizes = [m for m in (10**4, 10**5, 10**6, 10**7) if m <= options.largest]
    print(f"{'variant':<12}{'clauses':>9}" + "".join(f"{s:>22}" for s in STEPS))
    for variant in Variant:
        before: dict[str, float] = {}
        for m in sizes:
            now = measure(m, variant, options.runs)
            cells = [
                f"{now[s]:>12.4f} s {f'x{now[s] / before[s]:.1f}' if before else '':>7}"
                for s in STEPS
            ]
            print(f"{variant.value:<12}{m:>9}" + "".join(cells), flush=True)
            before = now
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"peak memory {peak:.1f} GiB")


if __name__ == "__main__":
    main()
