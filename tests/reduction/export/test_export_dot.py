"""DOT text read back by a reader of its quoted strings."""

import re
from fractions import Fraction

import networkx as nx
import pytest
from hypothesis import given
from olivine.reduction.export.graphs import generate_dot, write_dot
from olivine.reduction.family.family import Family
from olivine.reduction.family.graph import graph, graph_from_mdp

from tests.support.families import VARIANTS, as_three_sat
from tests.support.tabular import mdps

STRING = r'"((?:[^"\\]|\\.)*)"'


def unquoted(text: str) -> str:
    return re.sub(r"\\(.)", lambda m: "\n" if m[1] == "n" else m[1], text)


def parse(lines: list[str]) -> nx.DiGraph:
    """Read nodes and edges with their attributes."""
    built = nx.DiGraph()
    assert lines[0] == "digraph mdp {"
    assert lines[-1] == "}"
    for line in lines[4:-1]:
        if line.startswith("  { rank=same; "):
            for name in re.findall(STRING, line):
                assert unquoted(name) in built
        elif found := re.fullmatch(rf"  {STRING} -> {STRING}(?: \[(.*)\])?;", line):
            u, v = unquoted(found[1]), unquoted(found[2])
            assert u in built
            assert v in built
            assert not built.has_edge(u, v)
            built.add_edge(u, v, **attributes(found[3] or ""))
        else:
            found = re.fullmatch(rf"  {STRING} \[(.*)\];", line)
            assert found, line
            assert unquoted(found[1]) not in built
            built.add_node(unquoted(found[1]), **attributes(found[2]))
    return built


def attributes(text: str) -> dict[str, str]:
    return {
        name: unquoted(quoted) if quoted or not bare else bare
        for name, quoted, bare in re.findall(rf"(\w+)=(?:{STRING}|(\w+))", text)
    }


def same(drawn: nx.DiGraph, original: nx.DiGraph) -> None:
    assert list(drawn) == list(original)
    assert set(drawn.edges) == set(original.edges)
    for node, data in original.nodes(data=True):
        got = drawn.nodes[node]
        assert (got.get("shape") == "box") == (data["kind"] == "action")
        assert ("peripheries" in got) == (data.get("start") is True)
        label, _, reward = got["label"].partition("\n")
        assert label == data["label"]
        if data["kind"] == "action":
            assert Fraction(reward or 0) == data["reward"]
    for u, v, data in original.edges(data=True):
        shown = drawn.edges[u, v].get("label", "1")
        assert Fraction(shown) == data.get("probability", 1)


@pytest.mark.parametrize("variant", VARIANTS)
def test_members(tmp_path, variant):
    family = Family(as_three_sat([[1, -2, 3], [-1, -1, 2]], 3), variant)
    original = graph(family, [True, False, True])
    lines = list(generate_dot(original))
    same(parse(lines), original)
    write_dot(original, tmp_path / "graph.dot")
    assert (tmp_path / "graph.dot").read_text() == "\n".join(lines) + "\n"


@given(mdps())
def test_any_mdp(mdp):
    original = graph_from_mdp(mdp)
    same(parse(list(generate_dot(original))), original)


def test_quotes_backslashes_and_graphs_of_others():
    original = nx.DiGraph()
    odd = 'a "quoted" \\n name; } \\'
    original.add_node(odd, kind="state", level=1, label=odd, start=True)
    original.add_node("go", kind="action", level=1, label="go", reward=Fraction(1, 3))
    original.add_edge(odd, "go")
    same(parse(list(generate_dot(original))), original)
    original.add_node("other")
    with pytest.raises(ValueError, match="'other' is neither a state nor an action"):
        list(generate_dot(original))
    twice = nx.DiGraph()
    twice.add_nodes_from([(1, {"kind": "state"}), ("1", {"kind": "state"})])
    with pytest.raises(ValueError, match="same name"):
        list(generate_dot(twice))
