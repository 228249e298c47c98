"""Enumeration of policies, and Theorem K: benign ties end with an optimal policy."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from olivine.algorithms.mdp.planning import Distribution
from olivine.algorithms.mdp.tabular import ActionData, TabularMDP, random_tabular_mdp
from olivine.algorithms.olive_program.model import policy_optimum, program_model
from olivine.algorithms.olive_program.optimisers import (
    enumerate_policies,
    policy_choices,
)
from olivine.algorithms.olive_program.program import (
    OliveProgram,
    average_bellman_errors,
)
from olivine.algorithms.olive_program.tiebreak import _off_the_edge, benign_rounds
from olivine.reduction.family.family import Family
from olivine.solvers.milp.milp import solve_milp
from olivine.solvers.outcome import Status

from tests.support.depth import deep, spread, with_rows
from tests.support.families import as_three_sat
from tests.support.refusals import refused
from tests.support.tabular import all_policies, mdps, one_variable_family, programs


def by_hand() -> OliveProgram:
    return OliveProgram(*one_variable_family())


def drawn_program(
    seed: int, tolerance: Fraction | int, lower: int, n_constraints: int
) -> OliveProgram:
    """A program that a run of OLIVE could meet: distributions of policies."""
    rng = np.random.default_rng(seed)
    mdp = random_tabular_mdp(rng, horizon=3, width=3, signed=lower < 0)
    collected = [
        mdp.distribution(rng.integers(0, 2, mdp.n_states), int(rng.integers(1, 4)))
        for _ in range(n_constraints)
    ]
    return OliveProgram(mdp, collected, tolerance, lower, 1)


run_programs = st.builds(
    drawn_program,
    st.integers(0, 2**32 - 1),
    st.sampled_from([0, Fraction(1, 20)]),
    st.sampled_from([0, -1]),
    st.integers(1, 5),
)


@settings(max_examples=deep(30, 5))  # all policies each
@given(programs(max_states=4))
@example(by_hand())
def test_enumeration_is_the_best_of_all_policies(program: OliveProgram) -> None:
    best = None
    for policy in all_policies(program.mdp):
        pair = policy_optimum(program, policy)
        if pair is not None:
            assert pair.policy.tolist() == policy
            assert program.is_feasible(pair)
            value = program.objective(pair)
            best = value if best is None else max(best, value)
    found = enumerate_policies(program)
    assert found.optimum == best
    assert found.solved + found.bounded + found.covered == found.policies
    if found.pair is None:
        assert best is None
    else:
        assert program.is_feasible(found.pair)
        assert program.objective(found.pair) == best


@pytest.mark.parametrize("form", ["value-policy", "q-function"])
@settings(max_examples=deep(20, 5))  # a MILP and an enumeration each
@given(program=st.one_of(programs(max_states=4), run_programs))
@example(program=by_hand())
def test_the_models_have_the_optimum_of_the_enumeration(
    form: str, program: OliveProgram
) -> None:
    expected = enumerate_policies(program)
    built = program_model(program, form)
    outcome = solve_milp(built.model)
    if expected.optimum is None:
        assert outcome.status in (Status.INFEASIBLE, Status.INFEASIBLE_OR_UNBOUNDED)
        return
    assert outcome.status is Status.OPTIMAL
    assert outcome.objective == pytest.approx(float(expected.optimum), abs=1e-6)
    # exactly: the policy found attains the optimum, and the enumerated pair is a
    # point of the model with the same objective
    pair = policy_optimum(program, built.policy(outcome.values))
    assert pair is not None
    assert program.objective(pair) == expected.optimum
    point = built.point(expected.pair)
    assert built.model.is_feasible(point)
    assert built.model.objective_value(point) == expected.optimum


@settings(max_examples=20)
@given(st.data())
def test_the_optimum_is_optimistic(data: st.DataObject) -> None:
    mdp = data.draw(mdps(max_states=4))
    optimal = mdp.optimal_values()
    values = optimal.values()
    met = [mdp.distribution(optimal.policy, h) for h in range(1, mdp.horizon + 1)]
    program = OliveProgram(mdp, met, 0, min(values), max(values))
    assert enumerate_policies(program).optimum >= optimal.value(mdp.start)


@settings(max_examples=15)
@given(run_programs, st.sampled_from([Fraction(1, 50), Fraction(1, 3)]))
def test_a_larger_tolerance_never_lowers_the_optimum(
    program: OliveProgram, more: Fraction
) -> None:
    wider = OliveProgram(
        program.mdp,
        program.distributions,
        program.tolerance + more,
        program.lower,
        program.upper,
    )
    assert enumerate_policies(wider).optimum >= enumerate_policies(program).optimum


def test_the_paper_s_family_by_hand() -> None:
    program = by_hand()
    found = enumerate_policies(program)
    assert found.optimum == Fraction(5, 6)
    assert found.policies == 4 * 3 * 3  # seven actions, three of them distinct
    # the range of the paper's proof changes nothing
    wide = OliveProgram(program.mdp, program.distributions, 0, -1, 1)
    assert enumerate_policies(wide).optimum == Fraction(5, 6)
    # without the constraint on the pair both literals can be 1
    loose = OliveProgram(program.mdp, program.distributions[:3])
    assert enumerate_policies(loose).optimum == 1
    assert enumerate_policies(OliveProgram(program.mdp, [])).policies == 1


@with_rows(
    "policy, optimum",
    ([3, 6, 6, 0, 0], Fraction(1, 2)),  # [solve], both clauses by 111
    ([3, 0, 6, 0, 0], Fraction(5, 6)),  # [solve], C1 by 001
    ([0, 6, 6, 0, 0], Fraction(1, 2)),  # [try x1]
    ([1, 6, 6, 0, 0], Fraction(1, 2)),  # [try C1]
)
def test_the_optimum_of_a_policy(policy: list[int], optimum: Fraction) -> None:
    program = by_hand()
    pair = policy_optimum(program, policy)
    assert program.objective(pair) == optimum


def test_a_program_without_feasible_pair() -> None:
    mdp = TabularMDP.from_lists([("s", 1, [("a", 2, {}), ("b", 3, {})])])
    at_start = [Distribution.from_fractions({0: 1}, 1)]
    program = OliveProgram(mdp, at_start)
    found = enumerate_policies(program)
    assert (found.optimum, found.pair, found.policies) == (None, None, 2)
    assert policy_optimum(program, [0]) is None
    for form in ("value-policy", "q-function"):
        outcome = solve_milp(program_model(program, form).model)
        assert outcome.status is Status.INFEASIBLE
    assert enumerate_policies(OliveProgram(mdp, at_start, 1)).optimum == 1


def test_too_many_policies_are_refused() -> None:
    program = by_hand()
    choices = policy_choices(program)
    assert choices == {0: [0, 1, 2, 3], 1: [0, 2, 6], 2: [0, 2, 6]}
    assert math.prod(map(len, choices.values())) == 36
    refused("36 policies in 3 states", enumerate_policies, program, max_policies=35)
    assert enumerate_policies(program, max_policies=36).policies == 36
    refused("policy takes action 9", policy_optimum, program, [9, 0, 0, 0, 0])


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
    refused("met at two levels", next, benign_rounds(paper))
    for rewards in ((1, 1), (1, Fraction(1, 16)), (0, Fraction(-1, 16))):
        refused(r"values in \[0, 1\]", next, benign_rounds(chain(*rewards)))


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
