"""Graphs in files: JSON and GraphML come back as they were; DOT for Graphviz."""

import json
import re
from fractions import Fraction

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from olivine.reduction.export import graphs
from olivine.reduction.export.graphs import generate_dot, write_dot
from olivine.reduction.family.family import Family
from olivine.reduction.family.graph import graph, graph_from_mdp, mdp_from_graph

from tests.support.depth import with_rows
from tests.support.families import ALL_EIGHT, VARIANTS, as_three_sat, families
from tests.support.refusals import refused
from tests.support.tabular import mdps

FORMATS = {
    "node-link": (graphs.generate_node_link, graphs.parse_node_link),
    "graphml": (graphs.generate_graphml, graphs.parse_graphml),
}
FILES = {
    "node-link": (graphs.write_node_link, graphs.read_node_link),
    "graphml": (graphs.write_graphml, graphs.read_graphml),
}


def typed(g):
    """Everything in a graph, in order, with the types of the values."""

    def pairs(attributes):
        return sorted((name, type(value), value) for name, value in attributes.items())

    return (
        pairs(g.graph),
        [(node, pairs(attributes)) for node, attributes in g.nodes(data=True)],
        [(u, v, pairs(attributes)) for u, v, attributes in g.edges(data=True)],
    )


def through(g, name):
    generate, parse = FORMATS[name]
    return parse("\n".join(generate(g)))


@pytest.mark.parametrize("name", FORMATS)
@given(family=families(max_clauses=4), data=st.data())
@settings(max_examples=20)
def test_graphs_come_back_as_they_were(name, family, data):
    n = family.n_variables
    y = data.draw(st.lists(st.integers(0, 1), min_size=n, max_size=n))
    built = graph(family, y)
    again = through(built, name)
    assert typed(again) == typed(built)
    assert mdp_from_graph(again) == family.mdp(y)


# Any character that XML allows; empty strings do not survive GraphML.
TEXT = st.text(
    st.characters(exclude_categories=["Cs", "Cc"], include_characters="\t\n\r").filter(
        lambda c: c not in "\ufffe\uffff"
    ),
    min_size=1,
    max_size=8,
)
VALUES = st.one_of(
    TEXT,
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
)


@st.composite
def attributed_graphs(draw):
    """Directed graphs with attributes of every kind, ours among them."""
    nodes = draw(st.lists(TEXT, min_size=1, max_size=4, unique=True))
    # Names of ours are rationals, "id" and the ends of edges belong to the format.
    reserved = {"reward", "probability", "penalty", "id", "source", "target"}
    reserved |= {"reward_lower", "reward_upper", "name"}
    names = TEXT.filter(lambda name: name not in reserved)
    attributes = st.dictionaries(names, VALUES, max_size=3)
    g = nx.DiGraph(**draw(attributes))
    ratio = st.fractions()
    for node in nodes:
        g.add_node(node, **draw(attributes), reward=draw(ratio))
    for u in nodes:
        for v in nodes:
            if draw(st.booleans()):
                g.add_edge(u, v, **draw(attributes), probability=draw(ratio))
    return g


@pytest.mark.parametrize("name", FORMATS)
@given(g=attributed_graphs())
def test_any_names_and_attributes_survive(name, g):
    assert typed(through(g, name)) == typed(g)


@pytest.mark.parametrize("name", FILES)
def test_files(name, tmp_path):
    write, read = FILES[name]
    built = graph(Family(as_three_sat(ALL_EIGHT, 3), "gap"))
    path = tmp_path / "with a space"
    write(built, path)
    assert typed(read(path)) == typed(built)
    first = path.read_bytes()
    write(built, path)
    assert path.read_bytes() == first
    assert [p.name for p in tmp_path.iterdir()] == ["with a space"]


@pytest.mark.parametrize("name", FILES)
def test_a_failed_write_leaves_the_old_file(name, tmp_path):
    write, _ = FILES[name]
    path = tmp_path / "graph"
    path.write_text("old")
    bad = nx.DiGraph()
    bad.add_node("a", thing=object())
    refused("object", write, bad, path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_networkx_reads_our_files(tmp_path):
    built = graph(Family(as_three_sat(ALL_EIGHT, 3)))
    data = json.loads("\n".join(graphs.generate_node_link(built)))
    theirs = nx.node_link_graph(data, edges="edges")
    assert list(theirs) == list(built)
    assert theirs.nodes["s0 [try C1]"]["reward"] == "-1/8"
    graphs.write_graphml(built, tmp_path / "g")
    theirs = nx.read_graphml(tmp_path / "g")
    assert set(theirs.edges) == set(built.edges)
    assert theirs.edges["C1 111", "x1^1"]["probability"] == "1/3"
    # Beside each exact string a number.
    assert theirs.edges["C1 111", "x1^1"]["probability_float"] == 1 / 3
    assert theirs.nodes["s0 [try C1]"]["reward_float"] == -0.125
    for _, data in theirs.nodes(data=True):
        assert ("reward" in data) == ("reward_float" in data)
    assert theirs.graph["penalty_float"] == 0.125


def test_igraph_computes_with_the_numbers(tmp_path):
    igraph = pytest.importorskip("igraph", reason="needs igraph")
    graphs.write_graphml(graph(Family(as_three_sat(ALL_EIGHT, 3))), tmp_path / "g")
    theirs = igraph.Graph.Read_GraphML(str(tmp_path / "g"))
    out = [
        sum(theirs.es[e]["probability_float"] for e in theirs.incident(v))
        for v in range(theirs.vcount())
        if str(theirs.vs[v]["id"]) == "s0 [solve]"
    ]
    assert out == [pytest.approx(1)]


def test_we_read_networkx_files(tmp_path):
    built = graph(Family(as_three_sat(ALL_EIGHT, 3)))
    texts = built.copy()
    for *_, attributes in [*texts.nodes(data=True), *texts.edges(data=True)]:
        for key, value in attributes.items():
            if isinstance(value, Fraction):
                attributes[key] = str(value)
    for key, value in texts.graph.items():
        if isinstance(value, Fraction):
            texts.graph[key] = str(value)
    data = nx.node_link_data(texts, edges="edges")
    assert typed(graphs.parse_node_link(json.dumps(data))) == typed(built)
    data["links"] = data.pop("edges")  # as networkx wrote it before 3.4
    assert typed(graphs.parse_node_link(json.dumps(data))) == typed(built)
    nx.write_graphml(texts, tmp_path / "g")
    assert mdp_from_graph(graphs.read_graphml(tmp_path / "g")) == mdp_from_graph(built)


def test_numbers_stand_for_their_decimals():
    text = json.dumps(
        {
            "directed": True,
            "nodes": [
                {"id": 1, "kind": "state", "level": 1, "start": True},
                {"id": 2, "kind": "action", "level": 1, "reward": 0.1},
                {"id": 3, "kind": "state", "level": 2},
                {"id": 4, "kind": "action", "level": 2, "reward": "1e-3"},
            ],
            "edges": [
                {"source": 1, "target": 2},
                {"source": 2, "target": 3, "probability": 1},
                {"source": 3, "target": 4},
            ],
        }
    )
    g = graphs.parse_node_link(text)
    assert g.nodes[2]["reward"] == Fraction(1, 10)
    assert mdp_from_graph(g).optimal_values().value(0) == Fraction(101, 1000)


GRAPHML = '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">{}</graphml>'
BAD_JSON = [
    ("", "Expecting value"),
    ("[]", "list of nodes"),
    ('{"nodes": []}', "list of edges"),
    ('{"nodes": [], "edges": []}', "directed"),
    ('{"directed": true, "multigraph": true, "nodes": [], "edges": []}', "multi"),
    ('{"directed": true, "graph": 1, "nodes": [], "edges": []}', "no object"),
    ('{"directed": true, "nodes": [{}], "edges": []}', "with an id"),
    ('{"directed": true, "nodes": [{"id": [1]}], "edges": []}', "neither a string"),
    (
        '{"directed": true, "nodes": [{"id": 1}, {"id": 1}], "edges": []}',
        "node 1 is listed twice",
    ),
    (
        '{"directed": true, "nodes": [{"id": 1}], '
        '"edges": [{"source": 1, "target": 2}]}',
        "there is no node 2",
    ),
    (
        '{"directed": true, "nodes": [{"id": 1}], "edges": '
        '[{"source": 1, "target": 1}, {"source": 1, "target": 1}]}',
        "edge 1 -> 1 is listed twice",
    ),
    ('{"directed": true, "nodes": [], "edges": [{}]}', "source and target"),
    (
        '{"directed": true, "nodes": [{"id": 1, "reward": "much"}], "edges": []}',
        "node 1: reward is 'much', no number",
    ),
    (
        '{"directed": true, "nodes": [{"id": 1, "reward": "1/0"}], "edges": []}',
        "no number",
    ),
]
BAD_GRAPHML = [
    ("", "no GraphML"),
    ("<graphml>", "no GraphML"),
    ("<svg/>", "no GraphML"),
    (GRAPHML.format('<graph edgedefault="undirected"/>'), "directed"),
    (
        GRAPHML.format(
            '<graph edgedefault="directed"><node id="a"/>'
            '<edge source="a" target="a"/><edge source="a" target="a"/></graph>'
        ),
        "parallel",
    ),
    (
        GRAPHML.format(
            '<key id="r" for="node" attr.name="reward" attr.type="string"/>'
            '<graph edgedefault="directed"><node id="a"><data key="r">lot</data>'
            "</node></graph>"
        ),
        "node 'a': reward is 'lot'",
    ),
]


@with_rows(
    "read, text, message",
    *((graphs.read_node_link, *row) for row in BAD_JSON),
    *((graphs.read_graphml, *row) for row in BAD_GRAPHML),
)
def test_bad_files_are_refused_by_name(read, text, message, tmp_path):
    path = tmp_path / "bad"
    path.write_text(text)
    with pytest.raises(ValueError) as raised:
        read(path)
    assert str(raised.value).startswith(f"{path}: ")
    assert message in str(raised.value)


@with_rows(
    "g, message",
    (nx.DiGraph(name="\x00"), "XML does not allow"),
    (nx.DiGraph([("a\x0b", "b")]), "XML does not allow"),
    (nx.DiGraph(thing=None), "no type for None"),
    (nx.DiGraph([(1, "1")]), "same name"),
    (nx.DiGraph(penalty=Fraction(1), penalty_float=2.0), "name is taken"),
    (nx.DiGraph(penalty=Fraction(10**400)), "no float is near"),
)
def test_what_does_not_go_into_graphml(g, message):
    refused(message, list, graphs.generate_graphml(g))


def test_what_does_not_go_into_json():
    named_id = nx.DiGraph()
    named_id.add_node("a", id=3)
    for g, message in (
        (nx.DiGraph([((1, 2), 3)]), "neither a string nor an integer"),
        (nx.DiGraph(x=float("nan")), "graph: "),
        (nx.DiGraph(x={1, 2}), "graph: "),
        (named_id, "no place for an attribute 'id'"),
    ):
        refused(message, list, graphs.generate_node_link(g))


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
