"""Runs by their ties: in `strict` no tie helps; elsewhere it does, the benign most."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from olivine.algorithms.olive_program.optimisers import (
    BranchAndBound,
    enumerate_policies,
)
from olivine.algorithms.olive_program.program import (
    OliveProgram,
    average_bellman_errors,
)
from olivine.algorithms.olive_program.tiebreak import RandomTiebreak
from olivine.reduction.family.family import Family, Variant
from olivine.reduction.formula.random_formula import random_ksat
from olivine.reduction.program.optimum import optimum
from olivine.reduction.run.benign import benign_run
from olivine.reduction.run.honest import honest_run
from olivine.reduction.run.replay import LEVEL_RULES, allowed_levels, chosen_level
from olivine.reduction.run.run import adversarial_run
from olivine.reduction.run.ties import TIES, traced_run

from tests.support.depth import deep, spread, with_rows
from tests.support.families import (
    ALL_EIGHT,
    as_three_sat,
    assignments,
    best_assignments,
    families,
)
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
    whole = Family(as_three_sat(ALL_EIGHT, 3), "all-levels")
    assert traced_run(whole, levels="all").meets_hard_program
    refused("levels lowest do not go with", traced_run, whole, levels="lowest")
    errors = [0, 2, 3, 3]
    assert allowed_levels("any", errors) == [2, 3, 4]
    assert allowed_levels("lowest", errors) == [2]
    assert allowed_levels("largest", errors) == [3, 4]
    assert chosen_level("largest", errors) is None
    assert chosen_level("lowest", [-1, 0]) is None
    refused("unknown level rule 'highest'", allowed_levels, "highest", errors)


@with_rows("variant, rules", ("paper", ("largest",)), ("gap", ("lowest", "largest")))
def test_the_rules_that_stated_runs_follow(variant, rules):
    family = Family(as_three_sat([[1, 1, 1], [-1, -1, -1]], 1), variant)
    assert adversarial_run(family).follows == rules


def refusal(family, ties, levels) -> str | None:
    """What is said of a choice that does not go with a family; None if it goes."""
    every = family.layout.declaration.every_level
    if ties == "benign" and every:
        others = (v for v in Variant if not v.declaration.every_level)
        return f"the other variants: {', '.join(others)}"
    if levels == "any":
        return None
    if every:
        return "it goes with any"
    if ties == "benign":
        return "use --levels any"
    rules = adversarial_run(family).follows
    if ties == "adversary" and levels not in rules:
        return f"it goes with {' and '.join(['any', *rules])}"
    return None


@pytest.mark.parametrize("variant", spread(list(Variant), 2))
def test_all_ties_and_levels_run_or_are_refused_with_those_that_do(variant):
    family = Family(as_three_sat([[1, 1, 1], [-1, -1, -1]], 1), variant)
    for i, (ties, levels) in enumerate(itertools.product(TIES, LEVEL_RULES)):
        rng = np.random.default_rng(0)
        message = refusal(family, ties, levels)
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


ONE_LEVEL = [v for v in Variant if v is not Variant.ALL_LEVELS]
KINDS = [  # all true in the all-one member; one repeated; complementary; unused x3
    [[1, 2, 3]],
    [[1, 1, 2]],
    [[1, 1, 1], [-1, -1, -1]],
    [[1, -1, 2]],
    [[1, 2, 2], [2, 1, 1], [-1, 2, 2]],
]


def last_program(run) -> OliveProgram:
    mdp = run.family.mdp(run.member)
    return OliveProgram(mdp, run.constraints, upper=run.family.ranges())


@with_rows("clauses, variant", *itertools.product(KINDS, ONE_LEVEL), keep=3, ids=str)
def test_the_last_optimum_is_the_value_of_the_member(variant, clauses):
    """By enumeration of policies, which knows nothing of the rule."""
    family = Family(as_three_sat(clauses, 3), variant)
    for y in list(assignments(3))[:: deep(1, 3)]:
        run = benign_run(family, y)
        assert run.holds, run.failures()
        program = last_program(run)
        assert program.is_feasible(run.last)
        assert enumerate_policies(program).optimum == run.optimal_value
        mdp = family.mdp(y)
        assert average_bellman_errors(mdp, run.last) == [0, 0, 0]


@given(
    st.sampled_from(ONE_LEVEL).flatmap(lambda v: families(v, max_clauses=5)), st.data()
)
def test_each_round_is_legal_and_no_program_is_hard(family, data):
    n, m = family.n_variables, family.n_clauses
    y = data.draw(st.lists(st.booleans(), min_size=n, max_size=n))
    run = benign_run(family, y)
    assert run.holds, run.failures()
    assert all(r.optimum == 1 and r.errors[r.level - 1] > 0 for r in run.rounds)
    most = 3 * n + m + 1
    if family.layout.n_sides:  # by the general rule
        most = family.layout.n_states
    assert len(run.rounds) == len(run.constraints) <= most
    # s0 is bound last: until then the optimum is 1 whatever the formula.
    assert [r.constraint for r in run.rounds].index("s0") == len(run.rounds) - 1
    behind = [
        d
        for d in run.constraints
        if d.level == 3 and d.probabilities() not in _stated(family)
    ]
    assert behind  # such constraints tell members apart; the stated run has none


def _stated(family) -> list[dict[int, Fraction]]:
    return [d.probabilities() for d in family.distributions()]


def test_rounds_grow_with_the_formula_only_and_bind_one_level():
    rng = np.random.default_rng(2)
    for n in (10, 40):
        family = Family(random_ksat(n, 4 * n, 3, rng).three_sat(), "normalized")
        run = benign_run(family, rng.random(n) < 0.5)
        assert run.holds
        assert 2 * n + 4 * n < len(run.rounds) <= 3 * n + 4 * n + 1
    family = Family(as_three_sat([[1, 2, 2]], 2), Variant.ALL_LEVELS)
    with pytest.raises(ValueError, match="binds all levels in each round"):
        benign_run(family)
