"""Graphs of MDPs as node-link JSON, the format of networkx and of D3.

Edges are called ``edges``; ``links``, as networkx had it before 3.4, is read too. A
node or an edge a line, so that files can be compared by lines. Fractions are strings.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import networkx as nx

from ...solvers.files import write_text
from .rationals import EDGE_RATIONALS, GRAPH_RATIONALS, NODE_RATIONALS, decode, encode


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
