"""Building the family and checking pairs as the formula grows.

The formula is random with n = m/3, planted but for one clause, and `forward` starts
from the planted assignment: one unsatisfied clause gives the largest denominators. The
first check, which also sets up the program, is timed with `build`.

    python -m benchmarks family
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray
from olivine.reduction.family.family import Family, Variant
from olivine.reduction.formula.formula import Formula, ThreeSat
from olivine.reduction.formula.random_formula import random_ksat
from olivine.reduction.program.optimum import back, check, forward

from benchmarks.figures import Figure, growth


def all_but_one_satisfied(m: int) -> tuple[ThreeSat, NDArray[np.bool_]]:
    rng = np.random.default_rng(m)
    planted = rng.random(m // 3) < 0.5
    others = random_ksat(m // 3, m - 1, 3, rng, planted=planted)
    against = np.where(planted[:3], -1, 1) * np.arange(1, 4)
    literals = np.concatenate([others.literals, against])
    return Formula(m // 3, literals, 3 * np.arange(m + 1)).three_sat(), planted


def steps(m: int, variant: Variant) -> dict[str, Callable[[], object]]:
    three_sat, assignment = all_but_one_satisfied(m)
    family = Family(three_sat, variant)
    pair = forward(family, assignment)

    def build() -> None:
        fresh = Family(three_sat, variant)
        check(fresh, pair)

    assert np.array_equal(back(family, pair), assignment)
    return {
        "build and check": build,
        "forward": lambda: forward(family, assignment),
        "check": lambda: check(family, pair),
        "back": lambda: back(family, pair),
    }


def figures(full: bool) -> Iterator[Figure]:
    """Measure all variants to half a million clauses when full; else two to 64,000."""
    sizes = [(512_000 if full else 64_000) >> k for k in range(4, -1, -1)]
    for variant in Variant if full else (Variant.PAPER, Variant.STRICT):
        made = [steps(m, variant) for m in sizes]
        for step in made[0]:
            slope, most = growth(sizes, [of[step] for of in made], 5 if full else 1)
            note = f"to m = {sizes[-1]}, {most:.3f} CPU s there"
            yield Figure(f"{step}, {variant}, in m", slope, "exponent", 1.1, note)
