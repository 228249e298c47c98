from __future__ import annotations

import dataclasses
import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from olivine.algorithms.mdp.tabular import TabularMDP, random_tabular_mdp

from tests.support import tabular
from tests.support.depth import with_rows
from tests.support.refusals import refused

HALF = Fraction(1, 2)


def chain(length: int, reward: Fraction = Fraction(0)) -> TabularMDP:
    last = ("c0", length, [("end", 1, {})])
    return TabularMDP.from_lists(
        [
            *(
                (f"c{i}", length - i, [("go", reward, {f"c{i - 1}": 1})])
                for i in range(length - 1, 0, -1)
            ),
            last,
        ]
    )


@given(tabular.mdps(max_states=4))
def test_backward_induction_is_the_best_of_all_policies(mdp: TabularMDP) -> None:
    best = [tabular.slow_values(mdp, policy) for policy in tabular.all_policies(mdp)]
    found = mdp.optimal_values()
    assert found.values() == [max(column) for column in zip(*best, strict=True)]
    assert tabular.slow_values(mdp, found.policy.tolist()) == found.values()


@given(tabular.mdps())
def test_ties_go_to_the_lowest_action(mdp: TabularMDP) -> None:
    found = mdp.optimal_values()
    for state in range(mdp.n_states):
        for local in range(int(found.policy[state])):
            changed = found.policy.copy()
            changed[state] = local
            assert mdp.evaluate(changed).value(state) < found.value(state)


@given(st.data())
def test_evaluation_and_distributions_match_their_definitions(
    data: st.DataObject,
) -> None:
    mdp = data.draw(tabular.mdps())
    policy = data.draw(tabular.policies(mdp))
    pair = mdp.evaluate(policy)
    assert pair.values() == tabular.slow_values(mdp, policy)
    assert pair.policy.tolist() == policy
    for level in range(1, mdp.horizon + 1):
        found = mdp.distribution(policy, level)
        assert found.probabilities() == tabular.slow_distribution(mdp, policy, level)
        assert found.level == level


def test_mass_of_ended_episodes_is_missing() -> None:
    mdp = TabularMDP.from_lists(
        [
            ("s", 1, [("go", 0, {"t": HALF, "u": HALF})]),
            ("t", 2, [("end", 0, {})]),
            ("u", 2, [("go", 0, {"v": 1})]),
            ("v", 3, [("end", 0, {})]),
        ]
    )
    assert [mdp.distribution([0] * 4, h).mass() for h in (1, 2, 3)] == [1, 1, HALF]


@settings(max_examples=25)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 4),
    st.integers(1, 4),
    st.integers(1, 3),
    st.booleans(),
)
def test_random_mdps_are_layered_with_returns_in_range(
    seed: int, horizon: int, width: int, n_actions: int, signed: bool
) -> None:
    mdp = random_tabular_mdp(
        np.random.default_rng(seed),
        horizon=horizon,
        width=width,
        n_actions=n_actions,
        signed=signed,
    )
    mdp.validate()
    assert mdp.is_layered
    assert mdp.n_states == 1 + (horizon - 1) * width
    assert (mdp.action_counts == n_actions).all()
    values = mdp.optimal_values().values()
    assert all((-1 if signed else 0) <= v <= 1 for v in values)
    policy = mdp.optimal_values().policy
    for level in range(1, horizon + 1):
        found = mdp.distribution(policy, level)
        assert found.mass() == 1
        assert (mdp.state_level[found.states] == level).all()


def test_bad_sizes_starts_and_successors_are_refused(rng):
    refused("width 0 is below 1", random_tabular_mdp, rng, width=0)
    with pytest.raises(ValueError, match="max_successors 7"):
        random_tabular_mdp(rng, max_successors=7, denominator=6)
    states = [("s", 1, [("a", 0, {"t": 1})]), ("t", 2, [("b", 1, {})])]
    assert TabularMDP.from_lists(states, start="t").start == 1
    assert TabularMDP.from_lists(states, horizon=5).horizon == 5
    refused("unknown start state 'x'", TabularMDP.from_lists, states, start="x")
    refused(r"outside 1\.\.1", TabularMDP.from_lists, states, horizon=1)
    flat = [("s", 1, [("a", 0, {"t": 1})]), ("t", 1, [("b", 1, {})])]
    refused("can take 2 actions", TabularMDP.from_lists, flat, horizon=1)
    good = TabularMDP.from_lists(
        [
            ("s", 1, [("a", 0, {"t": HALF, "u": HALF})]),
            ("t", 2, [("b", 1, {})]),
            ("u", 2, [("c", 1, {})]),
        ]
    )
    dataclasses.replace(good, transition_target=np.array([2, 1])).validate()
    with pytest.raises(ValueError, match="action 'a' lists state 'u' twice"):
        dataclasses.replace(good, transition_target=np.array([2, 2])).validate()


def leaking_chain(length: int) -> TabularMDP:
    """A chain that loses a share of its mass a step, with large denominators."""
    prime = 2**31 - 1
    states = []
    for h in range(1, length):
        on = Fraction(h, prime + h)
        successors = {f"s{h + 1}": on, f"dead{h + 1}": 1 - on}
        states.append((f"s{h}", h, [("go", Fraction(1, prime), successors)]))
    dead = [(f"dead{h}", h, [("end", 0, {})]) for h in range(2, length + 1)]
    end = (f"s{length}", length, [("end", 1, {})])
    return TabularMDP.from_lists([*states, end, *dead])


def test_values_beyond_64_bits_are_exact_and_such_probabilities_refused():
    mdp = leaking_chain(8)
    found = mdp.optimal_values()
    policy = [0] * mdp.n_states
    assert found.numerators.dtype == object
    assert found.values() == tabular.slow_values(mdp, policy)
    assert mdp.evaluate(policy) == found
    last = mdp.distribution(policy, 8)
    assert last.numerators.dtype == object
    assert last.probabilities() == tabular.slow_distribution(mdp, policy, 8)
    end = [("t", 2, [("end", 1, {})]), ("u", 2, [("end", 0, {})])]
    small = Fraction(1, 2**63)
    for shares in ({"t": small, "u": 1 - small}, {"t": 2**63}):
        with pytest.raises(ValueError, match=r"state 's', action 'go': .* 64 bits"):
            TabularMDP.from_lists([("s", 1, [("go", 0, shares)]), *end])


def test_a_long_chain_is_no_recursion() -> None:
    n = 1500  # beyond the interpreter's limit of 1000
    mdp = chain(n, Fraction(1, 7))
    assert mdp.horizon == n
    assert mdp.heights.tolist() == list(range(n, 0, -1))
    assert mdp.topological_order().tolist() == list(range(n))
    assert mdp.optimal_values().value(mdp.start) == Fraction(n - 1, 7) + 1


@given(tabular.mdps())
def test_topological_order_puts_states_before_their_successors(mdp: TabularMDP) -> None:
    place = np.argsort(mdp.topological_order())
    for state in range(mdp.n_states):
        for action in mdp.actions(state):
            for target, _ in mdp.successors(action):
                assert place[state] < place[target]
                assert mdp.heights[state] > mdp.heights[target]


def test_accessors_give_back_what_was_written() -> None:
    mdp = TabularMDP.from_lists(
        [
            ("s", 1, [("l", 0, {"t": Fraction(1, 3), "u": Fraction(2, 3)})]),
            ("t", 2, [("end", 1, {}), ("too", Fraction(1, 4), {"u": 1, "s": 0})]),
            ("u", 2, [("end", 0, {})]),
        ]
    )
    assert (mdp.n_states, mdp.n_actions, mdp.n_transitions) == (3, 4, 3)
    assert mdp.successors(0) == [(1, Fraction(1, 3)), (2, Fraction(2, 3))]
    assert [mdp.reward(a) for a in range(4)] == [0, 1, Fraction(1, 4), 0]
    assert list(mdp.actions(1)) == [1, 2]
    assert mdp.action_index(1, "too") == 1
    assert mdp.state_index["u"] == 2
    assert mdp.horizon == 3  # s, t, u in a row, whatever the labels say
    assert not mdp.is_layered
    refused("state 'u' has no action 'too'", mdp.action_index, 2, "too")


@given(st.data())
def test_padding_changes_no_value_and_no_policy(data: st.DataObject) -> None:
    mdp = data.draw(tabular.mdps())
    padded = mdp.padded()
    padded.validate()
    assert len(set(padded.action_counts.tolist())) == 1
    assert padded.action_counts[0] == mdp.action_counts.max()
    assert padded.optimal_values() == mdp.optimal_values()
    policy = data.draw(tabular.policies(padded))
    folded = np.minimum(policy, mdp.action_counts - 1)
    assert padded.evaluate(policy).values() == mdp.evaluate(folded).values()
    assert padded.padded() == padded


@settings(max_examples=20)
@given(tabular.mdps())
def test_pickling_keeps_everything(mdp: TabularMDP) -> None:
    mdp.heights  # noqa: B018 - fill the cache first
    copy = pickle.loads(pickle.dumps(mdp))
    assert copy == mdp
    copy.validate()


def test_members_share_structure_and_equality_is_by_value():
    mdp = chain(3)
    member = mdp.with_rewards([1, 0, 0], [Fraction(0), HALF])
    for name in ("action_offset", "transition_target", "transition_numerator"):
        assert np.shares_memory(getattr(member, name), getattr(mdp, name))
    assert member.optimal_values().value(0) == HALF
    refused("3 actions", mdp.with_rewards, [0], [HALF])
    with pytest.raises(ValueError, match="action 'go' has reward index 2"):
        mdp.with_rewards([0, 2, 0], [Fraction(0), HALF])
    mdp = chain(2)
    table = (Fraction(5), *mdp.reward_table)
    assert mdp.with_rewards(mdp.reward_index + 1, table) == mdp
    assert mdp.with_rewards(mdp.reward_index, table) != mdp
    assert mdp != chain(3)
    assert mdp != "an MDP"
    renamed = dataclasses.replace(mdp, action_names=("go", "stop"))
    assert (renamed != mdp, renamed.start, renamed.horizon) == (True, 0, 2)


def test_arrays_are_read_only_and_the_caller_s_stay_writeable() -> None:
    levels = np.array([1], dtype=np.int32)
    mdp = dataclasses.replace(chain(1), state_level=levels)
    with pytest.raises(ValueError, match="read-only"):
        mdp.state_level[0] = 2
    levels[0] = 1


@with_rows(
    "states, message",
    ([], "at least one state"),
    ([("s", 1, [])], "state 's' has no action"),
    ([("s", 0, [("a", 0, {})])], "state 's' has level 0"),
    ([("s", 1, [("a", 0.5, {})])], "state 's', action 'a': reward 0.5"),
    ([("s", 1, [("a", True, {})])], "reward True"),
    ([("s", 1, [("a", 0, {"t": 1})])], "unknown successor 't'"),
    (
        [("s", 1, [("a", 0, {"t": HALF})]), ("t", 1, [("b", 0, {})])],
        "state 's', action 'a' sum to 1/2, not 1",
    ),
    (
        [("s", 1, [("a", 0, {"t": -HALF})]), ("t", 1, [("b", 0, {})])],
        "probability -1/2 of 't' is negative",
    ),
    ([("s", 1, [("a", 0, {"s": 1})])], "cycle reachable from state 's'"),
    (
        [("s", 2, [("a", 0, {"t": 1})]), ("t", 1, [("b", 0, {})])],
        "leads from level 2 down to state 't' of level 1",
    ),
    ([("s", 1, [("a", 0, {})]), ("s", 1, [("a", 0, {})])], "two states are called"),
    ([("s", 1, [("a", 0, {}), ("a", 1, {})])], "two actions called 'a'"),
)
def test_bad_data_is_refused_by_name(states: list, message: str) -> None:
    refused(message, TabularMDP.from_lists, states)


@with_rows(
    "field, value, message",
    ("start", 3, "start 3 is none of the 2 states"),
    ("action_offset", [0, 2, 1], "action_offset"),
    ("action_offset", [0, 0, 2], "state 's' has no action"),
    ("transition_offset", [0, 2, 1], "transition_offset"),
    ("transition_offset", [], "transition_offset must run from 0 to 1"),
    ("transition_offset", [1, 1, 1], "transition_offset must run from 0 to 1"),
    ("transition_offset", [0, 0, 0], "transition_offset must run from 0 to 1"),
    ("state_level", [1], "state_level has length 1 instead of 2"),
    ("transition_target", [7], "leads to 7"),
    ("transition_numerator", [0], "not positive"),
    ("transition_denominator", [2, 1], "sum to 1/2"),
    ("transition_denominator", [1, 2], "denominator must be 1"),
    ("reward_table", (Fraction(0), 0.5), "no Fraction"),
    ("reward_index", [0, -1], "reward index -1"),
    ("horizon", 0, "horizon 0"),
    ("action_names", ["a"], "action_names has length 1"),
)
def test_bad_arrays_are_refused(field: str, value: object, message: str) -> None:
    good = TabularMDP.from_lists(
        [("s", 1, [("a", 0, {"t": 1})]), ("t", 2, [("b", 1, {})])]
    )
    bad = (
        value
        if not isinstance(value, list) or field.endswith("names")
        else (np.array(value))
    )
    refused(message, dataclasses.replace(good, **{field: bad}).validate)


@with_rows("array", np.array([0.0, 1.0]), np.array([[0, 1]]), np.array([0, 2**40]))
def test_arrays_are_never_silently_converted(array: np.ndarray) -> None:
    refused("reward_index", dataclasses.replace, chain(2), reward_index=array)


@pytest.mark.parametrize("policy", [[0], [0, 1], [0, -1], [0.0, 0.0]])
def test_bad_policies_are_refused(policy: list) -> None:
    mdp = chain(2)
    for use in (mdp.evaluate, mdp.global_actions, lambda p: mdp.distribution(p, 1)):
        refused("policy", use, policy)


@pytest.mark.parametrize("level", [0, 3])
def test_time_steps_outside_the_horizon_are_refused(level: int) -> None:
    refused(r"outside 1\.\.2", chain(2).distribution, [0, 0], level)
