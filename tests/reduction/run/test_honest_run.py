"""OLIVE on members of the family, with and without an adversary."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from olivine.algorithms.mdp.planning import Distribution
from olivine.algorithms.olive_program.optimisers import BranchAndBound, Milp
from olivine.algorithms.olive_program.tiebreak import RandomTiebreak
from olivine.reduction.family.family import Family, Variant
from olivine.reduction.program.optimum import optimum
from olivine.reduction.run.honest import adversarial_tiebreak, honest_run, kind_of
from olivine.reduction.run.run import adversarial_run
from olivine.reduction.run.schedule import n_rounds

from tests.support.depth import deep, with_rows
from tests.support.families import (
    VARIANTS,
    as_three_sat,
    assignments,
    best_assignments,
    families,
)

ONE_VARIABLE = [[1, 1, 1], [-1, -1, -1]]
HALF = Fraction(1, 2)


@settings(max_examples=deep(15, 3))  # each solves the program of each round
@given(families(max_variables=2, max_clauses=3), st.data())
def test_the_adversarial_run_is_olive_with_its_ties_broken(family, data) -> None:
    """Same rounds as `olivine.reduction.run.run`, and then the hard program itself."""
    y = data.draw(st.sampled_from(list(assignments(family.n_variables))))
    every = family.variant is Variant.ALL_LEVELS
    run = honest_run(
        family,
        y,
        optimiser=BranchAndBound(),
        tiebreak=adversarial_tiebreak(family),
        all_levels=every,
        max_rounds=n_rounds(family) + 1,
    )
    stated = adversarial_run(family, y)
    assert stated.holds
    assert len(run.result.rounds) == n_rounds(family) + 1
    for mine, theirs in zip(run.result.rounds, stated.rounds, strict=False):
        assert (mine.level, mine.errors) == (theirs.level, theirs.errors)
        assert mine.optimum == theirs.optimum
        assert mine.proved
        names = [
            ", ".join(family.layout.state_name(int(s)) for s in d.states)
            for d in mine.added
        ]
        assert "; ".join(names) == theirs.constraint
    assert run.meets_hard_program
    last = run.result.rounds[-1]
    u, _ = best_assignments(family.three_sat)
    assert last.optimum == optimum(family.parameters, u)
    assert last.proved


@with_rows("variant, y", *itertools.product(VARIANTS, [[False], [True]]), keep=3)
def test_honest_runs_end_optimal(variant: Variant, y: list[bool]) -> None:
    family = Family(as_three_sat(ONE_VARIABLE, 1), variant)
    mdp = family.mdp(y)
    for tiebreak in (None, RandomTiebreak(np.random.default_rng(0))):
        run = honest_run(family, y, optimiser=BranchAndBound(), tiebreak=tiebreak)
        assert run.result.status == "finished"
        assert run.result.policy is not None
        value = mdp.evaluate(run.result.policy).value(mdp.start)
        assert value == run.optimal_value == mdp.optimal_values().value(mdp.start)
        assert len(run.kinds) == len(run.stated) == len(run.result.constraints)
        assert len(run.kinds) <= mdp.n_states
        assert sum(run.counts.values()) == len(run.kinds)
        allowed = {d for d, s in zip(run.kinds, run.stated, strict=True) if s}
        assert not allowed & {"literals", "clauses", "mixed"}


def test_a_run_with_random_ties_can_be_had_again() -> None:
    family = Family(as_three_sat(ONE_VARIABLE, 1), "normalized")

    def run(rng):
        ties = RandomTiebreak(rng)
        return honest_run(family, optimiser=BranchAndBound(), tiebreak=ties)

    first = run(np.random.default_rng(11))
    assert first.seed is not None
    assert first.seed.entropy == 11
    second = run(first.seed.generator())
    assert first.kinds == second.kinds
    assert [r.pair for r in first.result.rounds] == [
        r.pair for r in second.result.rounds
    ]
    assert honest_run(family, optimiser=BranchAndBound()).seed is None


def test_the_engine_does_as_well_and_members_need_a_value_a_variable():
    family = Family(as_three_sat(ONE_VARIABLE, 1), "normalized")
    run = honest_run(family, optimiser=Milp(time_limit=60))
    assert run.result.status == "finished"
    assert run.result.rounds[-1].optimum == run.optimal_value
    family = Family(as_three_sat(ONE_VARIABLE, 1))
    with pytest.raises(ValueError, match="1 truth values"):
        honest_run(family, [True, False])


def test_kinds_of_constraints() -> None:
    family = Family(as_three_sat([*ONE_VARIABLE, [1, 2, 2]], 2), "all-levels")
    layout = family.layout
    third = Fraction(1, 3)
    cases = {
        "start": {0: 1},
        "clause": {1: 1},
        "clauses": {1: HALF, 3: HALF},
        "variable": {layout.variable_state(1): 1},
        "pair": {layout.literal_state(1, 0): HALF, layout.literal_state(1, 1): HALF},
        "literals": {
            layout.literal_state(0, 1): HALF,
            layout.literal_state(1, 0): HALF,
        },
        "bottom": {layout.bottom_state: 1},
        "mixed": {1: HALF, layout.bottom_state: HALF},
    }
    for kind, shares in cases.items():
        assert kind_of(family, Distribution.from_fractions(shares, 2)) == kind
    uneven = {layout.literal_state(0, 0): third, layout.literal_state(0, 1): 2 * third}
    for shares in (uneven, {layout.literal_state(0, 0): 1}):
        assert kind_of(family, Distribution.from_fractions(shares, 3)) == "literals"
    stated = [kind_of(family, d) for d in family.distributions()]
    assert stated == (
        ["start", *["clause"] * 3, *["pair"] * 2, *["variable"] * 2, "bottom"]
    )
