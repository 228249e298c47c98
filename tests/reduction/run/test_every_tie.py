"""Theorem T by search: in `strict` every legal run meets exactly the hard program."""

import itertools
from collections.abc import Iterator

import pytest
from olivine.reduction.family.family import Family
from olivine.reduction.run.every_tie import every_tie

from tests.support.depth import spread
from tests.support.families import as_three_sat

FEW = [
    (1, [[1, 1, 1]]),
    (1, [[1, -1, 1]]),
    (2, [[1, 2, 2]]),
    (1, [[1, 1, 1], [-1, -1, -1]]),
]


def up_to_renaming(n: int, m: int) -> Iterator[list[list[int]]]:
    """Formulas with exactly n variables and m clauses; signs matter, as y is zero."""
    literals = [x for i in range(1, n + 1) for x in (i, -i)]
    clauses = list(itertools.combinations_with_replacement(literals, 3))
    seen = set()
    for rows in itertools.combinations_with_replacement(clauses, m):
        forms = []
        for order in itertools.permutations(range(1, n + 1)):
            to = {s * (i + 1): s * k for i, k in enumerate(order) for s in (1, -1)}
            forms.append(tuple(sorted(tuple(sorted(to[x] for x in r)) for r in rows)))
        if min(forms) not in seen:
            seen.add(min(forms))
            yield [list(r) for r in rows]


@pytest.mark.parametrize("levels", ["lowest", "largest"])
@pytest.mark.parametrize(("n", "clauses"), spread(FEW, 2))
def test_every_run_meets_the_hard_program(n, clauses, levels):
    found = every_tie(Family(as_three_sat(clauses, n), "strict"), levels=levels)
    assert found.always, found.example
    assert found.rounds == len(clauses) + 2 * n + 1
    # Any subset of the X_i, then of the C_j, then of the pairs, after s0.
    assert found.programs == 1 + 2**n + 2 ** len(clauses) - 1 + 2**n - 2
    assert found.faces >= found.programs


@pytest.mark.parametrize(("n", "clauses"), FEW)
def test_with_any_level_some_run_does_not(n, clauses):
    found = every_tie(Family(as_three_sat(clauses, n), "strict"), levels="any")
    assert not found.always
    assert found.example


@pytest.mark.parametrize("variant", ["paper", "normalized"])
@pytest.mark.parametrize("levels", ["lowest", "largest"])
def test_in_the_other_variants_some_run_does_not(variant, levels):
    family = Family(as_three_sat([[1, 2, 2]], 2), variant)
    assert not every_tie(family, levels=levels).always


@pytest.mark.long
def test_all_small_formulas():
    searched = 0
    for n, m in itertools.product((1, 2), (1, 2)):
        for clauses in up_to_renaming(n, m):
            family = Family(as_three_sat(clauses, n), "strict")
            for levels in ("lowest", "largest"):
                found = every_tie(family, levels=levels)
                assert found.always, (clauses, levels, found.example)
            searched += 1
    assert searched == 4 + 10 + 10 + 110
