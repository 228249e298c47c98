"""Claims about φ > 0: how much tolerance the decision stands, and honest OLIVE."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from olivine.algorithms.olive.optimisers import BranchAndBound
from olivine.algorithms.olive.tiebreak import RandomTiebreak, SolverTiebreak
from olivine.cli.ledger.claim import Evidence, claim
from olivine.cli.ledger.support.families import (
    contradiction,
    eight_clauses,
    least_unsatisfied,
    random_formula,
)
from olivine.reduction.family.family import Family, Variant
from olivine.reduction.program.optimum import optimum
from olivine.reduction.program.tolerance import critical_tolerance
from olivine.reduction.run.honest import adversarial_tiebreak, honest_run
from olivine.reduction.run.schedule import n_rounds

_FORMULAS = 8
_SMALL = Fraction(1, 20)
# The default penalties, and one so small that p/4 is the least of the three.
_FAMILIES: tuple[tuple[Variant, Fraction | None], ...] = (
    *((variant, None) for variant in Variant),
    (Variant.NORMALIZED, _SMALL),
    (Variant.ALL_LEVELS, _SMALL),
)


@claim(
    "critical-tolerance",
    source="docs/reduction.md, tolerances",
    statement="The least φ at which an unsatisfiable formula's optimum reaches 1 is "
    "min(u(1−p)/(12W−2u), p/4, (1−p)/6) in normalized, gap and all-levels; in paper it "
    "is at least min(u/(3W+8u), p, 1/4).",
    method="exhaustive on small instances",
)
def _critical_tolerance() -> Evidence:
    rng = np.random.default_rng(0)
    equal = above = capped = 0
    for number in range(_FORMULAS):
        formula = random_formula(rng, max_variables=2, max_clauses=3)
        three_sat = formula.three_sat()
        for variant, penalty in _FAMILIES:
            family = Family(three_sat, variant, penalty)
            u = least_unsatisfied(family)
            found = critical_tolerance(family, u)
            if found.value is None or found.value < found.lower:
                return Evidence(False, f"formula {number}, {variant}: {found.value}")
            if found.value != found.lower:
                if variant is not Variant.PAPER:
                    return Evidence(
                        False,
                        f"formula {number}, {variant}, p = {family.penalty}: "
                        f"{found.value}, the closed form "
                        f"says {found.lower}",
                    )
                above += 1
            equal += found.value == found.lower
            capped += found.value == family.penalty / 4
    return Evidence(
        capped > 0,
        f"{_FORMULAS} random formulas, four variants, two of them with p = "
        f"{_SMALL}, too: {equal} equal to the closed form, {capped} of them to p/4, "
        f"{above} above it (paper)",
    )


@claim(
    "critical-tolerance-eight-clauses",
    source="docs/reduction.md, tolerances",
    statement="All eight clauses on three variables have critical φ 1/32 in paper.",
    method="by certificate",
)
def _eight_clauses() -> Evidence:
    family = Family(eight_clauses().three_sat())
    found = critical_tolerance(family, 1)
    return Evidence(
        found.value == Fraction(1, 32) and found.exact,
        f"{found.value}, attained by an exact pair, {found.by} from below",
    )


@claim(
    "olive-meets-hard-program",
    source="paper, thm:olive_nphard_f",
    statement="OLIVE itself, its ties broken against it, meets the hard program, whose "
    "optimum decides the formula; with its ties broken otherwise it still ends with an "
    "optimal policy.",
    method="exhaustive on small instances",
)
def _meets_hard_program() -> Evidence:
    three_sat = contradiction().three_sat()
    runs = 0
    for variant in Variant:
        family = Family(three_sat, variant)
        for y in ([False], [True]):
            run = honest_run(
                family,
                y,
                optimiser=BranchAndBound(),
                tiebreak=adversarial_tiebreak(family),
                all_levels=variant is Variant.ALL_LEVELS,
                max_rounds=n_rounds(family) + 1,
            )
            last = run.result.rounds[-1]
            expected = optimum(family.parameters, 1)
            if not run.meets_hard_program or last.optimum != expected:
                return Evidence(False, f"{variant}, y = {y}: {last.optimum}")
            ties = (SolverTiebreak(), RandomTiebreak(np.random.default_rng(0)))
            for tiebreak in ties:
                honest = honest_run(
                    family, y, optimiser=BranchAndBound(), tiebreak=tiebreak
                )
                if honest.result.rounds[-1].optimum != honest.optimal_value:
                    return Evidence(False, f"{variant}, y = {y}: not optimal")
                runs += 1
    return Evidence(
        True,
        f"x, ¬x in every variant and member: the hard program and its optimum; {runs} "
        "honest runs end with an optimal policy",
    )
