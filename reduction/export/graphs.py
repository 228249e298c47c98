"""Graphs of MDPs in files: DOT to look at, GraphML and node-link JSON to read back.

In DOT states are ellipses, the start doubly framed, in ranks by level; actions are
boxes with their reward where it is not 0; transitions carry their probability where it
is not 1. Neither GraphML (Gephi, yEd, igraph) nor JSON (networkx, D3) knows rationals:
they are strings, "1/3", for the attributes that `olivine.reduction.family.graph`
defines as rationals only, so that a user's own "1/2" stays a string.

GraphML has the nearest float beside each, ``reward_float`` to ``reward``, which is
dropped on reading. A graph whose nodes are integers comes back with their digits as
names, and empty attributes are lost (networkx's reader drops them). In JSON edges are
called ``edges``; ``links``, as networkx had it before 3.4, is read too. A node or an
edge stands on a line, so that files can be compared by lines.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from fractions import Fraction
from io import BytesIO
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import ParseError
from xml.sax.saxutils import escape, quoteattr

import networkx as nx

from ...solvers.files import write_text

NODE_RATIONALS = frozenset({"reward"})
EDGE_RATIONALS = frozenset({"probability"})
GRAPH_RATIONALS = frozenset({"penalty", "reward_lower", "reward_upper"})


def encode(attributes: dict[str, Any]) -> dict[str, Any]:
    """Copy attributes with every Fraction turned into a string."""
    return {
        name: str(value) if isinstance(value, Fraction) else value
        for name, value in attributes.items()
    }


def decode(
    attributes: dict[str, Any], rationals: frozenset[str], where: str
) -> dict[str, Any]:
    """Copy attributes with the named ones turned into Fractions.

    A string is read as Fraction reads it ("1/3", "0.25", "1e-3"); a float
    stands for the decimal that it is printed as, so 0.1 is 1/10.
    """
    decoded = dict(attributes)
    for name in rationals & attributes.keys():
        value = attributes[name]
        try:
            if isinstance(value, bool) or not isinstance(value, str | int | float):
                raise ValueError
            decoded[name] = Fraction(repr(value) if isinstance(value, float) else value)
        except (ValueError, ZeroDivisionError):
            raise ValueError(f"{where}: {name} is {value!r}, no number") from None
    return decoded


def generate_dot(graph: nx.DiGraph[Any]) -> Iterator[str]:
    """Yield the lines of the DOT text of a graph, without line ends."""
    if len({str(node) for node in graph}) < len(graph):
        raise ValueError("two nodes have the same name as strings")
    yield "digraph mdp {"
    yield "  rankdir=LR;"
    yield '  node [fontname="sans-serif", fontsize=11];'
    yield '  edge [fontname="sans-serif", fontsize=9];'
    levels: dict[int, list[str]] = {}
    for node, data in graph.nodes(data=True):
        label = str(data.get("label", node))
        if data.get("kind") == "state":
            levels.setdefault(data.get("level", 0), []).append(_dot_quoted(str(node)))
            frame = ", peripheries=2" if data.get("start") is True else ""
            yield f"  {_dot_quoted(str(node))} [label={_dot_quoted(label)}{frame}];"
        elif data.get("kind") == "action":
            reward = data.get("reward", Fraction(0))
            shown = f"{label}\n{reward}" if reward else label
            yield f"  {_dot_quoted(str(node))} [label={_dot_quoted(shown)}, shape=box];"
        else:
            raise ValueError(f"node {node!r} is neither a state nor an action")
    for level in sorted(levels):
        yield "  { rank=same; " + "; ".join(levels[level]) + "; }"
    for u, v, data in graph.edges(data=True):
        probability = data.get("probability", Fraction(1))
        shown = "" if probability == 1 else f" [label={_dot_quoted(str(probability))}]"
        yield f"  {_dot_quoted(str(u))} -> {_dot_quoted(str(v))}{shown};"
    yield "}"


def write_dot(graph: nx.DiGraph[Any], path: str | Path) -> None:
    """Write a graph in DOT; the file appears complete or not at all."""
    write_text(path, (line + "\n" for line in generate_dot(graph)))


def _dot_quoted(text: str) -> str:
    """Quote a DOT string: backslashes are literal, line breaks centre the lines."""
    text = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "\\n".join(text.splitlines() or [""]) + '"'


def generate_graphml(graph: nx.DiGraph[Any]) -> Iterator[str]:
    """Yield the lines of the GraphML text of a graph, without line ends.

    Not by networkx, which holds a second copy of the graph and takes several times as
    long.
    """
    if len({str(node) for node in graph}) < len(graph):
        raise ValueError("two nodes have the same name as strings")
    keys = _keys(graph)  # of the exact attributes and their twins
    yield '<?xml version="1.0" encoding="utf-8"?>'
    yield '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">'
    for (scope, name, kind), key in keys.items():
        yield (
            f'  <key id="{key}" for="{scope}" attr.name={_xml_quoted(name)} '
            f'attr.type="{kind}"/>'
        )
    yield '  <graph edgedefault="directed">'
    yield from _data("    ", "graph", graph.graph, keys)
    for node, attributes in graph.nodes(data=True):
        yield f"    <node id={_xml_quoted(str(node))}>"
        yield from _data("      ", "node", attributes, keys)
        yield "    </node>"
    for u, v, attributes in graph.edges(data=True):
        yield f"    <edge source={_xml_quoted(str(u))} target={_xml_quoted(str(v))}>"
        yield from _data("      ", "edge", attributes, keys)
        yield "    </edge>"
    yield "  </graph>"
    yield "</graphml>"


def parse_graphml(text: str | bytes) -> nx.DiGraph[Any]:
    """Turn GraphML text into a graph."""
    content = text.encode() if isinstance(text, str) else text
    try:
        graph = nx.read_graphml(BytesIO(content))
    except (ParseError, nx.NetworkXError, KeyError) as error:
        raise ValueError(f"no GraphML: {error}") from None
    if not graph.is_directed() or graph.is_multigraph():
        raise ValueError("the graph must be directed and without parallel edges")
    for default in ("node_default", "edge_default"):  # added by the reader
        if not graph.graph.get(default, True):
            del graph.graph[default]
    decoded: nx.DiGraph[Any] = nx.DiGraph(
        **_decoded(graph.graph, GRAPH_RATIONALS, "graph")
    )
    for node, data in graph.nodes(data=True):
        decoded.add_node(node, **_decoded(data, NODE_RATIONALS, f"node {node!r}"))
    for u, v, data in graph.edges(data=True):
        where = f"edge {u!r} -> {v!r}"
        decoded.add_edge(u, v, **_decoded(data, EDGE_RATIONALS, where))
    return decoded


def write_graphml(graph: nx.DiGraph[Any], path: str | Path) -> None:
    """Write a graph as GraphML; the file appears complete or not at all."""
    write_text(path, (line + "\n" for line in generate_graphml(graph)))


def read_graphml(path: str | Path) -> nx.DiGraph[Any]:
    """Read a graph from a GraphML file."""
    try:
        return parse_graphml(Path(path).read_bytes())
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


_TWIN = "_float"
_Key = tuple[str, str, str]
_KINDS = {str: "string", Fraction: "string", bool: "boolean", int: "long"}
_KINDS[float] = "double"
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def _keys(graph: nx.DiGraph[Any]) -> dict[_Key, str]:
    """Assign an id to each (scope, attribute, type), in order of occurrence."""
    keys: dict[_Key, str] = {}
    scopes: list[tuple[str, Iterable[dict[str, Any]]]] = [
        ("graph", [graph.graph]),
        ("node", (attributes for _, attributes in graph.nodes(data=True))),
        ("edge", (attributes for *_, attributes in graph.edges(data=True))),
    ]
    for scope, dictionaries in scopes:
        for attributes in dictionaries:
            for name, value in attributes.items():
                kind = _KINDS.get(type(value))
                if kind is None:
                    raise ValueError(
                        f"{scope} attribute {name!r}: GraphML has no type for {value!r}"
                    )
                keys.setdefault((scope, name, kind), f"d{len(keys)}")
                if isinstance(value, Fraction):
                    _nearest(scope, name, value, attributes)
                    twin = (scope, f"{name}{_TWIN}", "double")
                    keys.setdefault(twin, f"d{len(keys)}")
    return keys


def _data(
    indent: str, scope: str, attributes: dict[str, Any], keys: dict[_Key, str]
) -> Iterator[str]:
    for name, value in attributes.items():
        key = keys[scope, name, _KINDS[type(value)]]
        text = str(value).lower() if isinstance(value, bool) else str(value)
        text = escape(_allowed(text), {"\r": "&#13;"})
        yield f'{indent}<data key="{key}">{text}</data>'
        if isinstance(value, Fraction):
            key = keys[scope, f"{name}{_TWIN}", "double"]
            yield f'{indent}<data key="{key}">{float(value)!r}</data>'


def _nearest(
    scope: str, name: str, value: Fraction, attributes: dict[str, Any]
) -> None:
    """Refuse a Fraction that no float is near, or whose twin's name is taken."""
    if f"{name}{_TWIN}" in attributes:
        raise ValueError(f"{scope} attribute {name + _TWIN!r}: the name is taken")
    try:
        float(value)
    except OverflowError:
        raise ValueError(f"{scope} attribute {name!r}: no float is near it") from None


def _decoded(
    attributes: dict[str, Any], rationals: frozenset[str], where: str
) -> dict[str, Any]:
    """Drop the float twins of exact attributes, and make these Fractions."""
    twins = {f"{name}{_TWIN}" for name in rationals & attributes.keys()}
    kept = {name: v for name, v in attributes.items() if name not in twins}
    return decode(kept, rationals, where)


def _xml_quoted(text: str) -> str:
    return quoteattr(_allowed(text))


def _allowed(text: str) -> str:
    if _FORBIDDEN.search(text):
        raise ValueError(f"XML does not allow all characters of {text!r}")
    return text


def generate_node_link(graph: nx.DiGraph[Any]) -> Iterator[str]:
    """Yield the lines of the JSON text of a graph, without line ends."""
    yield '{"directed": true, "multigraph": false,'
    yield f'"graph": {_dump(encode(graph.graph), "graph")},'
    yield '"nodes": ['
    yield from _separated(
        _dump(_joined({"id": _checked_id(node)}, data), f"node {node!r}")
        for node, data in graph.nodes(data=True)
    )
    yield '], "edges": ['
    yield from _separated(
        _dump(_joined({"source": u, "target": v}, data), f"edge {u!r} -> {v!r}")
        for u, v, data in graph.edges(data=True)
    )
    yield "]}"


def parse_node_link(text: str | bytes) -> nx.DiGraph[Any]:
    """Turn JSON text into a graph."""
    data = json.loads(text)
    if not isinstance(data, dict) or not isinstance(data.get("nodes"), list):
        raise ValueError("node-link JSON is an object with a list of nodes")
    edges = data.get("edges", data.get("links"))
    if not isinstance(edges, list):
        raise ValueError("node-link JSON is an object with a list of edges")
    if data.get("directed") is not True or data.get("multigraph", False) is not False:
        raise ValueError("the graph must be directed and no multigraph")
    attributes = data.get("graph", {})
    if not isinstance(attributes, dict):
        raise ValueError("the entry 'graph' is no object")
    graph: nx.DiGraph[Any] = nx.DiGraph()
    graph.graph.update(decode(attributes, GRAPH_RATIONALS, "graph"))
    for node in data["nodes"]:
        _add_node(graph, node)
    for edge in edges:
        _add_edge(graph, edge)
    return graph


def write_node_link(graph: nx.DiGraph[Any], path: str | Path) -> None:
    """Write a graph as JSON; the file appears complete or not at all."""
    write_text(path, (line + "\n" for line in generate_node_link(graph)))


def read_node_link(path: str | Path) -> nx.DiGraph[Any]:
    """Read a graph from a JSON file."""
    try:
        return parse_node_link(Path(path).read_bytes())
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def _separated(items: Iterator[str]) -> Iterator[str]:
    previous: str | None = None
    for item in items:
        if previous is not None:
            yield previous + ","
        previous = item
    if previous is not None:
        yield previous


def _joined(own: dict[str, Any], attributes: dict[str, Any]) -> dict[str, Any]:
    """Put the format's own entries before attributes, which must not be called so."""
    for name in own.keys() & attributes.keys():
        raise ValueError(f"node-link JSON has no place for an attribute {name!r}")
    return {**own, **encode(attributes)}


def _dump(value: dict[str, Any], where: str) -> str:
    try:
        return json.dumps(value, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{where}: {error}") from None


def _checked_id(node: Any) -> str | int:
    if isinstance(node, bool) or not isinstance(node, str | int):
        raise ValueError(f"node {node!r} is neither a string nor an integer")
    return node


def _add_node(graph: nx.DiGraph[Any], entry: object) -> None:
    if not isinstance(entry, dict) or "id" not in entry:
        raise ValueError(f"a node is an object with an id, not {entry!r}")
    attributes = dict(entry)
    node = _checked_id(attributes.pop("id"))
    if node in graph:
        raise ValueError(f"node {node!r} is listed twice")
    graph.add_node(node, **decode(attributes, NODE_RATIONALS, f"node {node!r}"))


def _add_edge(graph: nx.DiGraph[Any], entry: object) -> None:
    if not isinstance(entry, dict) or not {"source", "target"} <= entry.keys():
        raise ValueError(f"an edge is an object with source and target, not {entry!r}")
    attributes = dict(entry)
    ends = [_checked_id(attributes.pop(name)) for name in ("source", "target")]
    where = f"edge {ends[0]!r} -> {ends[1]!r}"
    for node in ends:
        if node not in graph:
            raise ValueError(f"{where}: there is no node {node!r}")
    if graph.has_edge(*ends):
        raise ValueError(f"{where} is listed twice")
    graph.add_edge(*ends, **decode(attributes, EDGE_RATIONALS, where))
