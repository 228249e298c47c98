"""Theorem T by runs: in `strict` no tie helps; elsewhere it does."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from olivine.algorithms.olive_program.optimisers import BranchAndBound
from olivine.algorithms.olive_program.tiebreak import RandomTiebreak
from olivine.reduction.family.family import Family, Variant
from olivine.reduction.program.optimum import optimum
from olivine.reduction.run.honest import honest_run
from olivine.reduction.run.levels import LEVEL_RULES, allowed_levels, chosen_level
from olivine.reduction.run.ties import TIES, traced_run

from tests.support.depth import deep, spread, with_rows
from tests.support.families import ALL_EIGHT, as_three_sat, best_assignments, families
from tests.support.refusals import refused


@given(
    families(variant=Variant.STRICT, max_variables=2, max_clauses=2),
    st.integers(0, 2**32),
    st.sampled_from(["first", "largest"]),
)
@settings(max_examples=deep(15, 2))
def test_every_run_meets_the_hard_program(family, seed, rule):
    """Exactly after m + 2n + 1 rounds, each program before it solved exactly."""
    n, m = family.n_variables, family.n_clauses
    rng = np.random.default_rng(seed)
    run = honest_run(
        family,
        rng.random(n) < 0.5,
        optimiser=BranchAndBound(),
        tiebreak=RandomTiebreak(rng, rule),
        max_rounds=m + 2 * n + 2,
    )
    assert run.meets_hard_program
    assert all(run.stated[: m + 2 * n + 1])
    assert len(run.stated[: m + 2 * n + 1]) == m + 2 * n + 1
    u, _ = best_assignments(family.three_sat)
    assert run.result.rounds[m + 2 * n + 1].optimum == optimum(family.parameters, u)


@pytest.mark.parametrize("variant", spread(["paper", "normalized", "strict"], 1))
def test_random_ties_and_levels_need_not_meet_it(variant):
    """With any level, some of a few random runs take a telling constraint."""
    family = Family(as_three_sat([[1, 2, 2], [-1, -2, -2]], 2), variant)
    runs = [
        traced_run(family, ties="random", rng=np.random.default_rng(seed))
        for seed in range(deep(3, 1))
    ]
    assert not all(run.meets_hard_program for run in runs)
    assert all(run.ending == "finished" for run in runs)
    assert all(run.value == run.optimal_value for run in runs)


def test_rules_of_levels_and_of_the_stated_run():
    for variant, rule in (("paper", "lowest"), ("normalized", None), ("strict", None)):
        family = Family(as_three_sat(ALL_EIGHT, 3), variant)
        for levels in ("any", "lowest", "largest"):
            if levels == rule:
                refused(r"goes with any and largest", traced_run, family, levels=levels)
            else:
                assert traced_run(family, levels=levels).meets_hard_program
    errors = [0, 2, 3, 3]
    assert allowed_levels("any", errors) == [2, 3, 4]
    assert allowed_levels("lowest", errors) == [2]
    assert allowed_levels("largest", errors) == [3, 4]
    assert chosen_level("largest", errors) is None
    assert chosen_level("lowest", [-1, 0]) is None
    refused("unknown level rule 'highest'", allowed_levels, "highest", errors)


REFUSED = {
    ("paper", "adversary", "lowest"): "it goes with any and largest",
    **{
        (variant, "benign", levels): "use --levels any"
        for variant in ("paper", "normalized", "gap", "strict")
        for levels in ("lowest", "largest")
    },
    **{
        ("all-levels", ties, levels): "it goes with any"
        for ties in ("adversary", "solver", "random")
        for levels in ("lowest", "largest")
    },
    **{
        ("all-levels", "benign", levels): "the other variants: paper, normalized, gap"
        for levels in LEVEL_RULES
    },
}


@pytest.mark.parametrize("variant", spread([v.value for v in Variant], 2))
def test_all_ties_and_levels_run_or_are_refused_with_those_that_do(variant):
    family = Family(as_three_sat([[1, 1, 1], [-1, -1, -1]], 1), variant)
    for i, (ties, levels) in enumerate(itertools.product(TIES, LEVEL_RULES)):
        rng = np.random.default_rng(0)
        message = REFUSED.get((variant, ties, levels))
        if message is None:
            if i % deep(1, 4):
                continue  # all refusals, of the runs some
            run = traced_run(family, ties=ties, levels=levels, rng=rng)
            assert not run.failures
            assert run.ending in ("hard program", "finished")
            continue
        refused(message, traced_run, family, ties=ties, levels=levels, rng=rng)


@with_rows(
    "ties, levels, message",
    ("kind", "any", "unknown ties 'kind': choose from adversary, solver"),
    ("adversary", "last", "unknown level rule 'last': choose from lowest, largest"),
    ("adversary", "all", "levels all go with ties solver and random"),
    ("random", "any", "need a generator"),
)
def test_what_is_not_known_is_refused(ties, levels, message):
    family = Family(as_three_sat([[1, 2, 2]], 2), "paper")
    refused(message, traced_run, family, ties=ties, levels=levels)


def test_pairs_that_are_nearly_maximisers():
    """Below 1/50 every run of `strict` meets the hard program, whatever is drawn."""
    family = Family(as_three_sat([[1, 2, 2], [-1, -2, -2]], 2), "strict")
    rng, gamma = np.random.default_rng(9), Fraction(1, 51)
    nearly = 0
    for rule in ("lowest", "largest"):
        run = traced_run(family, None, "random", rule, gamma=gamma, rng=rng)
        assert run.meets_hard_program
        for done in run.rounds[:7]:
            assert done.total_error > 0
        nearly += sum(r.errors[0] + r.errors[1] == 0 for r in run.rounds)
    assert nearly


@pytest.mark.parametrize("ties", ["adversary", "solver", "benign"])
def test_only_random_pairs_may_be_nearly_maximisers(ties):
    family = Family(as_three_sat([[1, 2, 2]], 2), "strict")
    with pytest.raises(ValueError, match="goes with ties random"):
        traced_run(family, ties=ties, gamma=Fraction(1, 100))


@pytest.mark.parametrize("variant", ["normalized", "forced"])
def test_every_level_may_be_bound_in_any_variant(variant):
    family = Family(as_three_sat([[1, 1, 1]], 1), variant)
    run = traced_run(family, ties="solver", levels="all")
    assert run.ending == "finished"
    assert run.value == run.optimal_value
    # Literals behind the clause tell the member in normalized; forced is made for it.
    assert run.meets_hard_program == (variant == "forced")
