"""Graphs of MDPs in DOT, the language of Graphviz, for looking at.

States are ellipses, the start doubly framed, in ranks by level; actions are boxes with
their reward where it is not 0; transitions carry their probability where it is not 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import networkx as nx

from ...solvers.files import write_text


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
            levels.setdefault(data.get("level", 0), []).append(_quoted(str(node)))
            frame = ", peripheries=2" if data.get("start") is True else ""
            yield f"  {_quoted(str(node))} [label={_quoted(label)}{frame}];"
        elif data.get("kind") == "action":
            reward = data.get("reward", Fraction(0))
            shown = f"{label}\n{reward}" if reward else label
            yield f"  {_quoted(str(node))} [label={_quoted(shown)}, shape=box];"
        else:
            raise ValueError(f"node {node!r} is neither a state nor an action")
    for level in sorted(levels):
        yield "  { rank=same; " + "; ".join(levels[level]) + "; }"
    for u, v, data in graph.edges(data=True):
        probability = data.get("probability", Fraction(1))
        shown = "" if probability == 1 else f" [label={_quoted(str(probability))}]"
        yield f"  {_quoted(str(u))} -> {_quoted(str(v))}{shown};"
    yield "}"


def write_dot(graph: nx.DiGraph[Any], path: str | Path) -> None:
    """Write a graph in DOT; the file appears complete or not at all."""
    write_text(path, (line + "\n" for line in generate_dot(graph)))


def _quoted(text: str) -> str:
    """Quote a DOT string: backslashes are literal, line breaks centre the lines."""
    text = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "\\n".join(text.splitlines() or [""]) + '"'
