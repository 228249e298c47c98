"""Formulas and families that the checks of claims go through."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from olivine.cli.ledger import runs
from olivine.reduction.family.family import Family, Variant
from olivine.reduction.family.variants import as_variant
from olivine.reduction.formula.formula import Formula
from olivine.reduction.program.program import build
from olivine.reduction.program.witness import check
from olivine.solvers.milp import solve_milp

ODD: tuple[tuple[int, list[list[int]]], ...] = (
    (0, []),
    (2, []),
    (0, [[]]),
    (1, [[], [1]]),
    (1, [[1], [-1]]),
    (2, [[1, -1], [1, -1, 2]]),
    (2, [[1, 1], [-1, -1, -1], [2, 2, 1]]),
    (3, [[2]]),
    (2, [[1, 2], [1, -2], [-1, 2], [-1, -2]]),
    (2, [[1, 2], [1, 2], [-1], [-2]]),
)
"""Variables and clauses of formulas with something unusual about each."""


def random_formula(
    rng: np.random.Generator,
    *,
    max_variables: int,
    max_clauses: int,
    max_width: int = 3,
    weighted: bool = False,
) -> Formula:
    """Draw a formula whose clauses may repeat literals and be empty."""
    n = int(rng.integers(1, max_variables + 1))
    rows = [
        (rng.integers(1, n + 1, width) * rng.choice([-1, 1], width)).tolist()
        for width in rng.integers(0, max_width + 1, rng.integers(1, max_clauses + 1))
    ]
    weights = rng.integers(1, 10, len(rows)).tolist() if weighted else None
    return Formula.from_clauses(rows, n, weights)


def formulas(
    seed: int,
    count: int,
    *,
    max_variables: int = 4,
    max_clauses: int = 4,
    max_width: int = 3,
) -> Iterator[Formula]:
    """Yield formulas, an odd one and a random one in turn while odd ones last.

    Every other random one is weighted. At most `runs.INSTANCES` of them.
    """
    rng = np.random.default_rng(seed)
    odd = [Formula.from_clauses(rows, n) for n, rows in ODD]
    for k in range(runs.instances(count)):
        if k % 2 == 0 and k // 2 < len(odd):
            yield odd[k // 2]
            continue
        yield random_formula(
            rng,
            max_variables=max_variables,
            max_clauses=max_clauses,
            max_width=max_width,
            weighted=k % 4 == 1,
        )


def families(
    variant: Variant | str, seed: int, count: int, **sizes: int
) -> Iterator[Family]:
    """Yield families of `formulas`; a third has the default penalty.

    The others have one between 1/100 and 1, unless the variant fixes it.
    """
    rng = np.random.default_rng(seed + 1)
    declared = as_variant(variant).declaration
    for k, formula in enumerate(formulas(seed, count, **sizes)):
        penalty = None
        if k % 3 and declared.fixed_penalty is None:
            end = 101 if declared.largest_penalty_fits else 100
            percent = int(rng.integers(1, end))
            penalty = Fraction(percent, 100)
        yield Family(formula.three_sat(), variant, penalty)


def eight_clauses() -> Formula:
    """All eight clauses on three variables: every assignment falsifies one."""
    signs = itertools.product((1, -1), repeat=3)
    return Formula.from_clauses([[a, 2 * b, 3 * c] for a, b, c in signs], 3)


def contradiction() -> Formula:
    """Return x1 and its negation as two unit clauses."""
    return Formula.from_clauses([[1], [-1]], 1)


def assignments(n_variables: int) -> Iterator[NDArray[np.bool_]]:
    """Yield all 2^n assignments."""
    for bits in itertools.product((False, True), repeat=n_variables):
        yield np.array(bits, dtype=np.bool_)


def least_unsatisfied(family: Family) -> int:
    """Find u by trying every assignment."""
    return min(
        family.three_sat.unsatisfied_weight(a) for a in assignments(family.n_variables)
    )


def milp_value(family: Family, formulation: str, form: str) -> Fraction | None:
    """Exact value of the solution of a formulation by HiGHS, None without one.

    The pair read off the solution is checked against the program; that nothing
    is better is the engine's word.
    """
    built = build(family, formulation, form)
    outcome = solve_milp(built.model)
    if outcome.values is None:
        return None
    return check(family, built.pair(outcome.values))
