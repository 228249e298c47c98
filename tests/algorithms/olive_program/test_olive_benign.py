"""Theorem K on any layered MDP: benign ties end with an optimal policy."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from olivine.algorithms.mdp.tabular import ActionData, TabularMDP, random_tabular_mdp
from olivine.algorithms.olive_program.optimisers import enumerate_policies
from olivine.algorithms.olive_program.program import (
    OliveProgram,
    average_bellman_errors,
)
from olivine.algorithms.olive_program.tiebreak import _off_the_edge, benign_rounds
from olivine.reduction.family.family import Family

from tests.support.depth import deep, spread
from tests.support.families import as_three_sat

HALF = Fraction(1, 2)


def interior(mdp: TabularMDP) -> TabularMDP:
    """Move rewards into (0, 1/H), so that all values lie in (0, 1)."""
    table = [(r + Fraction(1, mdp.horizon)) / 3 for r in mdp.reward_table]
    return mdp.with_rewards(mdp.reward_index, table)


def played(mdp: TabularMDP) -> OliveProgram:
    """Play the rule, check each round with OLIVE's program, and give the last."""
    program = OliveProgram(mdp, [])
    for pair, level in benign_rounds(mdp):
        assert program.is_feasible(pair)
        assert program.objective(pair) == 1  # the largest there is
        assert average_bellman_errors(mdp, pair)[level - 1] > 0
        program = program.extended([mdp.distribution(pair.policy, level)])
    return program


@given(st.integers(0, 2**32), st.integers(1, 4), st.integers(1, 3), st.integers(1, 3))
@settings(max_examples=deep(40, 5))  # an enumeration of policies each
def test_the_last_optimum_is_that_of_the_mdp(seed, horizon, width, n_actions):
    """By enumeration of policies, which knows nothing of the rule."""
    rng = np.random.default_rng(seed)
    mdp = interior(
        random_tabular_mdp(rng, horizon=horizon, width=width, n_actions=n_actions)
    )
    program = played(mdp)
    levels = [d.level for d in program.distributions]
    assert len(levels) <= mdp.n_states
    assert levels == sorted(levels, reverse=True)
    assert levels.count(1) == 1
    best = mdp.optimal_values()
    assert program.is_feasible(best)
    if n_actions ** (mdp.n_states) <= 20_000:
        found = enumerate_policies(program)
        assert found.optimum == best.value(mdp.start)
        assert not any(average_bellman_errors(mdp, found.pair)[1:])


@given(st.integers(0, 2**32))
def test_on_the_edge_each_round_is_legal(seed):
    """Rewards 0 and 1/H occur, so that values 0 and 1 do."""
    mdp = random_tabular_mdp(np.random.default_rng(seed), denominator=3)
    assert played(mdp).is_feasible(mdp.optimal_values())


@pytest.mark.parametrize("variant", spread(["normalized", "gap", "all-levels"], 2))
def test_on_members_the_edge_does_no_harm(variant):
    family = Family(as_three_sat([[1, 2, 2], [-1, -2, -2]], 2), variant)
    for y in ([0, 0], [0, 1], [1, 1]):
        mdp = family.mdp(np.array(y, dtype=bool))
        program = played(mdp)
        value = mdp.optimal_values().value(mdp.start)
        assert enumerate_policies(program).optimum == value


def chain(*rewards: Fraction | int) -> TabularMDP:
    def action(h: int) -> ActionData:
        ahead = {f"s{h + 1}": Fraction(1)} if h < len(rewards) else {}
        return "go", Fraction(rewards[h - 1]), ahead

    states = [(f"s{h}", h, [action(h)]) for h in range(1, len(rewards) + 1)]
    return TabularMDP.from_lists(states, horizon=len(rewards))


def test_states_worth_1_are_left_free_and_worthless_ones_bound():
    # The state is worth 1: no pair promises more, and none is ever wrong by it.
    mdp = chain(0, 1)
    assert list(benign_rounds(mdp)) == []
    assert enumerate_policies(OliveProgram(mdp, [])).optimum == 1
    mdp = chain(0, 0)
    assert [level for _, level in benign_rounds(mdp)] == [2, 1]


def test_what_the_rule_does_not_know_is_refused():
    paper = Family(as_three_sat([[1, 2, 2]], 2), "paper").mdp()
    with pytest.raises(ValueError, match="met at two levels"):
        next(benign_rounds(paper))
    for rewards in ((1, 1), (1, Fraction(1, 16)), (0, Fraction(-1, 16))):
        with pytest.raises(ValueError, match=r"values in \[0, 1\]"):
            next(benign_rounds(chain(*rewards)))


def test_the_policy_leaves_the_edge_where_some_action_does():
    """By the first action that does; the optimal one stays where none does."""
    ends = {"t": [1, 0, HALF, Fraction(1, 3)], "u": [0, 1], "v": [HALF, 1]}
    mdp = TabularMDP.from_lists(
        [
            ("s", 1, [(name, 0, {name: 1}) for name in ends]),
            *((n, 2, [(f"a{i}", r, {}) for i, r in enumerate(rs)])
              for n, rs in ends.items()),
        ]
    )  # fmt: skip
    best = mdp.optimal_values()
    assert best.policy.tolist() == [0, 0, 1, 1]
    assert _off_the_edge(mdp, best, 2).tolist() == [0, 2, 1, 0]
    assert _off_the_edge(mdp, best, 1).tolist() == best.policy.tolist()
