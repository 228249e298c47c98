"""Graphs of MDPs as GraphML, for tools such as Gephi, yEd and igraph.

Fractions are strings, and beside each stands the nearest float, ``reward_float`` to
``reward``, which is dropped on reading. A graph whose nodes are integers comes back
with their digits as names, and empty attributes are lost (networkx's reader drops
them).
"""

from __future__ import annotations

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
from .rationals import EDGE_RATIONALS, GRAPH_RATIONALS, NODE_RATIONALS, decode


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
            f'  <key id="{key}" for="{scope}" attr.name={_quoted(name)} '
            f'attr.type="{kind}"/>'
        )
    yield '  <graph edgedefault="directed">'
    yield from _data("    ", "graph", graph.graph, keys)
    for node, attributes in graph.nodes(data=True):
        yield f"    <node id={_quoted(str(node))}>"
        yield from _data("      ", "node", attributes, keys)
        yield "    </node>"
    for u, v, attributes in graph.edges(data=True):
        yield f"    <edge source={_quoted(str(u))} target={_quoted(str(v))}>"
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
        yield f'{indent}<data key="{key}">{_escaped(text)}</data>'
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


def _escaped(text: str) -> str:
    return escape(_allowed(text), {"\r": "&#13;"})


def _quoted(text: str) -> str:
    return quoteattr(_allowed(text))


def _allowed(text: str) -> str:
    if _FORBIDDEN.search(text):
        raise ValueError(f"XML does not allow all characters of {text!r}")
    return text
