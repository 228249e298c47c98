"""Two actions a state: the same values, the same optimum, and the run of `strict`."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from olivine.algorithms.mdp.tabular import TwoActions, random_tabular_mdp
from olivine.algorithms.olive_program.optimisers import BranchAndBound
from olivine.algorithms.olive_program.program import OliveProgram, two_action_program
from olivine.algorithms.olive_program.rounds import ExactWorld, run_rounds
from olivine.algorithms.olive_program.tiebreak import RandomTiebreak
from olivine.reduction.family.family import Family, Variant
from olivine.reduction.program.optimum import forward, optimum

from tests.support.depth import with_rows
from tests.support.families import as_three_sat, best_assignments, three_sats

LAYERED = [v for v in Variant if v is not Variant.PAPER]


@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.integers(1, 4), st.data())
def test_values_and_policies_of_any_layered_mdp(seed, horizon, width, data):
    rng = np.random.default_rng(seed)
    n_actions = data.draw(st.integers(1, 9))
    mdp = random_tabular_mdp(rng, horizon=horizon, width=width, n_actions=n_actions)
    trees = TwoActions(mdp)
    trees.mdp.validate()
    assert trees.mdp.is_layered
    assert trees.mdp.action_counts.max() <= 2
    depth = max(1, (n_actions - 1).bit_length())
    assert trees.mdp.horizon <= horizon * depth
    roots = trees.offsets[:-1]
    best, found = mdp.optimal_values(), trees.mdp.optimal_values()
    assert trees.original_pair(found).values() == best.values()
    policy = rng.integers(mdp.action_counts)
    again = trees.original_policy(trees.policy(policy))
    assert np.array_equal(again, policy)
    values = mdp.evaluate(policy)
    lifted = trees.pair(values)
    assert trees.original_pair(lifted) == values
    assert [lifted.value(int(r)) for r in roots] == values.values()
    assert lifted == trees.mdp.evaluate(trees.policy(policy))


@settings(max_examples=25)
@given(three_sats(max_variables=4, max_clauses=5), st.sampled_from(LAYERED), st.data())
def test_pairs_go_both_ways(three_sat, variant, data):
    family = Family(three_sat, variant)
    n = family.n_variables
    y = data.draw(st.lists(st.integers(0, 1), min_size=n, max_size=n))
    program = OliveProgram(family.mdp(y), family.distributions(), upper=family.ranges())
    trees, binary = two_action_program(program)
    assignment = np.array(y, dtype=bool)
    pair = forward(family, assignment)
    lifted = trees.pair(pair)
    assert binary.violations(lifted) == []
    assert binary.objective(lifted) == program.objective(pair)
    assert program.is_feasible(trees.original_pair(lifted))
    # On each member the values of each policy's best are the same, too.
    here, there = (m.optimal_values() for m in (family.mdp(y), trees.mdp))
    assert here.value(family.start) == there.value(trees.mdp.start)


TWO = [[1, 1, 1], [-1, -1, -1]]


@with_rows(
    "variant, n, clauses",
    *[(variant, 1, [[1, 1, 1]]) for variant in LAYERED],
    pytest.param("normalized", 1, TWO, marks=pytest.mark.long),
    ("strict", 1, TWO),
    pytest.param("all-levels", 1, TWO, marks=pytest.mark.long),
    pytest.param("gap", 2, [[1, 2, 2], [-1, -2, -2]], marks=pytest.mark.long),
)
def test_the_optimum_is_that_of_the_family(variant, n, clauses):
    three_sat = as_three_sat(clauses, n)
    family = Family(three_sat, variant)
    trees, binary = two_action_program(family.program())
    unsatisfied, _ = best_assignments(three_sat)
    found = BranchAndBound().maximise(binary)
    assert found.value == optimum(family.parameters, unsatisfied)
    back = trees.original_pair(found.pair)
    assert family.program().is_feasible(back)
    assert back.value(family.start) == found.value


def test_sizes():
    clauses = [list(c) for c in itertools.product((1, -1), (2, -2), (3, -3))]
    family = Family(as_three_sat(clauses, 3), "normalized")
    trees, binary = two_action_program(family.program())
    # s0 has 12 actions, clauses 7: trees of 4, 3 and 1 levels.
    assert trees.mdp.horizon == 4 + 3 + 1
    assert len(trees.nodes(0)) == 1 + 2 + 3 + 6
    assert [len(trees.nodes(1 + j)) for j in range(8)] == [1 + 2 + 4] * 8
    assert [len(trees.nodes(9 + i)) for i in range(3)] == [3] * 3
    assert len(binary.distributions) == 12 + 8 * 7 + 3 * 3 + 3
    assert trees.mdp.state_names[trees.nodes(1)[-1]] == "C1/11"
    assert set(trees.mdp.padded().action_counts) == {2}


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.long)])
def test_a_run_of_strict_that_binds_the_lowest_level(seed):
    family = Family(as_three_sat([[1, -1, 1]], 1), "strict")
    trees, binary = two_action_program(family.program())
    run = run_rounds(
        ExactWorld(OliveProgram(trees.mdp, [], upper=binary.upper_given)),
        BranchAndBound(),
        RandomTiebreak(np.random.default_rng(seed), "first"),
        stop=Fraction(0),
        all_levels=False,
        max_rounds=len(binary.distributions),
    )
    assert run.status == "round limit"
    bound = {(d.level, *d.probabilities().items()) for d in run.constraints}
    stated = {(d.level, *d.probabilities().items()) for d in binary.distributions}
    assert bound == stated
    assert len(run.rounds) == len(stated) == 3 + 7 + 3 + 1


def test_what_is_refused():
    family = Family(as_three_sat([[1, 1, 1]], 1), "paper")
    with pytest.raises(ValueError, match="only a layered MDP"):
        TwoActions(family.mdp())
    gap = Family(as_three_sat([[1, 1, 1]], 1), "gap")
    loose = OliveProgram(gap.mdp(), gap.distributions(), Fraction(1, 100))
    with pytest.raises(ValueError, match="tolerance 1/100 would add up"):
        two_action_program(loose)
