from fractions import Fraction

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from olivine.algorithms.mdp.tabular import TabularMDP
from olivine.reduction.family import graph as module
from olivine.reduction.family.family import Family, Variant
from olivine.reduction.family.graph import (
    estimate_bytes,
    graph,
    graph_from_mdp,
    mdp_from_graph,
    validate_graph,
)

from tests.support.depth import with_rows
from tests.support.families import ALL_EIGHT, VARIANTS, as_three_sat, families
from tests.support.refusals import refused

THIRD = Fraction(1, 3)


def small_graph():
    """A graph as a user would write it: integers as nodes, no labels, no sizes."""
    g = nx.DiGraph()
    g.add_node(0, kind="state", level=1, start=True)
    g.add_node(1, kind="state", level=2)
    g.add_node(2, kind="state", level=2)
    g.add_node(10, kind="action", level=1, reward=0)
    g.add_node(11, kind="action", level=2, reward=1)
    g.add_node(12, kind="action", level=2, reward=Fraction(1, 2))
    g.add_node(13, kind="action", level=1, reward=Fraction(1, 4))
    g.add_edges_from([(0, 10), (1, 11), (2, 12), (0, 13)])
    g.add_edge(10, 1, probability=THIRD)
    g.add_edge(10, 2, probability=1 - THIRD)
    return g


@given(families(), st.data())
def test_a_member_and_its_graph_are_the_same(family, data):
    n = family.n_variables
    y = data.draw(st.lists(st.integers(0, 1), min_size=n, max_size=n))
    built = graph(family, y)
    validate_graph(built)
    assert mdp_from_graph(built) == family.mdp(y)
    sizes = family.measured_sizes()
    assert len(built) == sizes.states + sizes.actions
    assert built.number_of_edges() == sizes.actions + sizes.transitions
    assert built.graph["member"] == "".join(map(str, y))


def test_attributes_of_a_family():
    family = Family(as_three_sat([[1, 1, -2], [2, 2, 2]], 2), "normalized", THIRD)
    built = graph(family, [0, 1])
    assert built.graph == {
        "horizon": 3,
        "n_states": 9,
        "n_actions": 25,
        "n_transitions": 41,
        "variant": "normalized",
        "penalty": THIRD,
        "n_variables": 2,
        "n_clauses": 2,
        "total_weight": 2,
        "member": "01",
        "reward_lower": Fraction(0),
        "reward_upper": Fraction(2, 3),
    }
    assert built.nodes["s0"] == {
        "kind": "state",
        "level": 1,
        "label": "s0",
        "start": True,
    }
    assert built.nodes["x2^1 [go]"] == {
        "kind": "action",
        "level": 3,
        "label": "[go]",
        "reward": Fraction(2, 3),
    }
    # x1 x1 not-x2 under 111.
    assert built.adj["C1 111"] == {
        "x1^1": {"probability": 2 * THIRD},
        "x2^0": {"probability": THIRD},
    }
    assert all(
        type(d["reward"]) is Fraction
        for _, d in built.nodes(data=True)
        if d["kind"] == "action"
    )


def test_node_order_is_that_of_the_numbering():
    family = Family(as_three_sat(ALL_EIGHT, 3), "all-levels")
    nodes = list(graph(family))
    layout = family.layout
    assert nodes[: layout.n_states] == list(layout.state_names())
    assert nodes[layout.n_states] == "s0 [try x1]"
    assert nodes[-1] == "bottom [go]"
    assert nodes == list(graph(family))


def test_a_graph_of_the_user_becomes_an_mdp():
    mdp = mdp_from_graph(small_graph())
    assert mdp.optimal_values().value(mdp.start) == THIRD + Fraction(1, 2) * 2 * THIRD
    assert list(mdp.state_names) == ["0", "1", "2"]
    assert [list(mdp.actions(s)) for s in range(3)] == [[0, 1], [2], [3]]
    assert mdp.horizon == 2


def test_any_mdp_has_a_graph():
    mdp = TabularMDP.from_lists(
        [
            ("s", 1, [("a", 0, {"t": THIRD, "u": 1 - THIRD}), ("b", 1, {"t": 1})]),
            ("t", 1, [("end", -1, {}), ("on", 2, {"u": 1})]),
            ("u", 4, [("end", Fraction(22, 7), {})]),
        ]
    )
    built = graph_from_mdp(mdp)
    validate_graph(built)
    assert mdp_from_graph(built) == mdp


def test_parallel_actions_stay_apart_and_colliding_names_are_refused():
    # Two actions between the same states, which a plain DiGraph would merge.
    mdp = TabularMDP.from_lists(
        [("s", 1, [("a", 0, {"t": 1}), ("b", 1, {"t": 1})]), ("t", 2, [("end", 0, {})])]
    )
    assert graph_from_mdp(mdp).number_of_edges() == 5
    assert mdp_from_graph(graph_from_mdp(mdp)) == mdp
    mdp = TabularMDP.from_lists(
        [("s", 1, [("a", 0, {"s a": 1})]), ("s a", 2, [("end", 0, {})])]
    )
    with pytest.raises(ValueError, match="not distinct"):
        graph_from_mdp(mdp)


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_graph_that_does_not_fit_is_refused_before_it_is_built(variant):
    family = Family(as_three_sat(ALL_EIGHT, 3), variant)
    sizes = family.declared_sizes()
    needed = estimate_bytes(sizes.actions, sizes.transitions)
    assert len(graph(family, memory_limit=needed))
    with pytest.raises(ValueError, match=r"GiB.*use the arrays of Family\.mdp"):
        graph(family, memory_limit=needed - 1)
    with pytest.raises(ValueError, match="above the limit"):
        graph_from_mdp(family.mdp(), memory_limit=needed - 1)


@with_rows("two_actions, more, words", (False, 1, "; --format lp"), (True, 3, "GiB$"))
def test_a_large_graph_is_refused_unbuilt(monkeypatch, two_actions, more, words):
    family = Family(as_three_sat([[1, 2, 2]], 2))
    sizes, built = family.declared_sizes(), family.program()
    needed = estimate_bytes(more * sizes.actions, sizes.transitions)
    monkeypatch.setattr(module, "DEFAULT_MEMORY_LIMIT", needed)
    module.refuse_large(family, two_actions=two_actions)
    monkeypatch.setattr(module, "DEFAULT_MEMORY_LIMIT", needed - 1)
    refused(words, module.refuse_large, family, two_actions=two_actions)
    assert family.program() is built
    family.forget()
    assert family.program() is not built


def broken(change):
    g = small_graph()
    change(g)
    return g


def set_node(node, **attributes):
    return lambda g: g.nodes[node].update(attributes)


@with_rows(
    "change, message",
    (lambda g: g.clear(), "no node"),
    (lambda g: g.add_node(3), "node 3: kind is None"),
    (set_node(1, kind="place"), "node 1: kind is 'place'"),
    (set_node(1, level=0), "node 1: level is 0"),
    (set_node(1, level=True), "node 1: level is True"),
    (set_node(1, level=2.0), "node 1: level is 2.0"),
    (set_node(11, reward=0.5), "node 11: reward is 0.5, no exact"),
    (set_node(11, reward="1/2"), "node 11: reward is '1/2', no exact"),
    (lambda g: g.nodes[11].pop("reward"), "node 11: reward is None"),
    (lambda g: g.graph.update(horizon="2"), "horizon is '2'"),
    (lambda g: g.graph.update(reward_lower=0.1), "reward_lower is 0.1"),
    (lambda g: g.add_edge(0, 1), "node 0: an edge leads from state to state, 1"),
    (lambda g: g.add_edge(10, 11), "node 10: an edge leads from action to action"),
    (lambda g: g.remove_node(12), "node 2: the state has no action"),
    (lambda g: g.add_edge(1, 13), "node 13: the action belongs to 2 states"),
    (lambda g: g.remove_edge(0, 13), "node 13: the action belongs to 0 states"),
    (set_node(0, start=False), "0 states have start=True"),
    (set_node(2, start=True), "2 states have start=True"),
    (set_node(2, start=1), "node 2: start is 1"),
    (set_node(13, start=True), "node 13: an action cannot be the start"),
    (set_node(2, label="1"), "node 2: has the label '1' of 1"),
    (set_node(13, label="10"), "node 13: has the label '10' of 10"),
    (
        lambda g: g.adj[10][1].update(probability=Fraction(1, 4)),
        "node 10: probabilities add up to 11/12, not 1",
    ),
    (
        lambda g: g.adj[10][1].update(probability=0.25),
        "node 10: no exact positive probability to 1: 0.25",
    ),
    (
        lambda g: (
            g.adj[10][1].update(probability=0),
            g.adj[10][2].update(probability=1),
        ),
        "node 10: no exact positive probability to 1: 0",
    ),
    (lambda g: g.adj[10][2].pop("probability"), "to 2: None"),
    (lambda g: g.graph.update(reward_upper=THIRD), "node 11: reward 1 is above 1/3"),
    (lambda g: g.graph.update(reward_lower=THIRD), "node 10: reward 0 is below 1/3"),
    (set_node(13, level=2), "node 13: level 2, but its state has level 1"),
    (
        lambda g: g.add_edge(11, 0, probability=1),
        "node 11: leads from level 2 back to 0 at level 1",
    ),
    (lambda g: g.add_edge(11, 1, probability=1), "lies on a cycle"),
    (lambda g: g.graph.update(horizon=1), "level 2 is beyond the horizon 1"),
    (
        lambda g: g.add_edge(11, 2, probability=1) or g.graph.update(horizon=2),
        "node 0: an episode can take 3 actions, more than the horizon 2",
    ),
    (lambda g: g.graph.update(n_states=4), "n_states is 4, but there are 3"),
    (lambda g: g.graph.update(n_actions=3), "n_actions is 3, but there are 4"),
    (lambda g: g.graph.update(n_transitions=3), "n_transitions is 3"),
)
def test_validation_names_what_is_wrong(change, message):
    g = broken(change)
    with pytest.raises(ValueError) as raised:
        validate_graph(g)
    assert message in str(raised.value)
    with pytest.raises(ValueError):
        mdp_from_graph(g)


def test_right_graphs_have_no_problem_within_their_rewards():
    validate_graph(small_graph())
    validate_graph(small_graph(), reward_lower=0, reward_upper=1)
    with pytest.raises(ValueError, match="node 11: reward 1 is above"):
        validate_graph(small_graph(), reward_upper=Fraction(1, 2))
    for variant in (Variant.NORMALIZED, Variant.GAP, Variant.ALL_LEVELS):
        built = graph(Family(as_three_sat(ALL_EIGHT, 3), variant))
        validate_graph(built, reward_lower=0, reward_upper=1)
    paper = graph(Family(as_three_sat(ALL_EIGHT, 3)))
    with pytest.raises(ValueError, match=r"s0 \[try C1\]': reward -1/8 is below 0"):
        validate_graph(paper, reward_lower=0)


@pytest.mark.parametrize("kind", [nx.Graph, nx.MultiDiGraph])
def test_other_classes_of_graphs_are_refused(kind):
    with pytest.raises(ValueError, match="directed graph without parallel edges"):
        validate_graph(kind(small_graph()))


@given(families(max_variables=2, max_clauses=2), st.data())
def test_damage_to_a_family_is_found(family, data):
    """Dropping or adding any node or edge leaves no valid graph."""
    built = graph(family)
    kind = data.draw(st.sampled_from(["drop node", "drop edge", "add edge"]))
    if kind == "drop node":
        built.remove_node(data.draw(st.sampled_from(sorted(built))))
    elif kind == "drop edge":
        built.remove_edge(*data.draw(st.sampled_from(sorted(built.edges))))
    else:
        ends = st.tuples(*[st.sampled_from(sorted(built))] * 2)
        new = data.draw(ends.filter(lambda edge: not built.has_edge(*edge)))
        built.add_edge(*new, probability=Fraction(1, 3))
    with pytest.raises(ValueError):
        validate_graph(built)
