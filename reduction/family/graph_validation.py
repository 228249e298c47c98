"""Whether a networkx graph is an MDP by the conventions of `family.graph`, exactly."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import networkx as nx


def validate_graph(
    graph: nx.DiGraph[Any],
    *,
    reward_lower: Fraction | int | None = None,
    reward_upper: Fraction | int | None = None,
) -> None:
    """Check that a graph is a finite MDP."""

    def rewards(checked: nx.DiGraph[Any]) -> Iterator[str]:
        return _rewards(checked, reward_lower, reward_upper)

    for find in (
        _class,
        _attributes,
        _neighbours,
        _start,
        _labels,
        _probabilities,
        rewards,
        _levels,
        _horizon,
        _sizes,
    ):
        for problem in find(graph):
            raise ValueError(problem)


def _class(graph: nx.DiGraph[Any]) -> Iterator[str]:
    if not graph.is_directed() or graph.is_multigraph():
        yield f"an MDP is a directed graph without parallel edges, not {graph!r}"
    elif not len(graph):
        yield "the graph has no node"


def _attributes(graph: nx.DiGraph[Any]) -> Iterator[str]:
    for node, data in graph.nodes(data=True):
        kind = data.get("kind")
        if kind not in ("state", "action"):
            yield f"node {node!r}: kind is {kind!r}, neither 'state' nor 'action'"
        elif not _is_positive_int(data.get("level")):
            yield f"node {node!r}: level is {data.get('level')!r}, no integer >= 1"
        elif kind == "action" and not _is_rational(data.get("reward")):
            yield f"node {node!r}: reward is {data.get('reward')!r}, no exact number"
    for name in ("reward_lower", "reward_upper"):
        if not _is_rational(graph.graph.get(name, 0)):
            yield f"graph attribute {name} is {graph.graph[name]!r}, no exact number"
    if not _is_positive_int(graph.graph.get("horizon", 1)):
        yield f"horizon is {graph.graph['horizon']!r}, no integer >= 1"


def _neighbours(graph: nx.DiGraph[Any]) -> Iterator[str]:
    for node in graph:
        kind = graph.nodes[node]["kind"]
        for after in graph.adj[node]:
            if graph.nodes[after]["kind"] == kind:
                yield f"node {node!r}: an edge leads from {kind} to {kind}, {after!r}"
        if kind == "state" and not graph.adj[node]:
            yield f"node {node!r}: the state has no action"
        if kind == "action" and len(graph.pred[node]) != 1:
            yield (
                f"node {node!r}: the action belongs to {len(graph.pred[node])} "
                "states instead of one"
            )


def _start(graph: nx.DiGraph[Any]) -> Iterator[str]:
    starts = []
    for node, data in graph.nodes(data=True):
        flag = data.get("start", False)
        if not isinstance(flag, bool):
            yield f"node {node!r}: start is {flag!r}, neither True nor False"
        elif flag and data["kind"] != "state":
            yield f"node {node!r}: an action cannot be the start"
        elif flag:
            starts.append(node)
    if len(starts) != 1:
        yield f"{len(starts)} states have start=True instead of one: {starts[:5]!r}"


def _labels(graph: nx.DiGraph[Any]) -> Iterator[str]:
    seen: dict[str, Any] = {}
    for state in _states(graph):
        for nodes, found in (([state], seen), (graph.adj[state], dict[str, Any]())):
            for node in nodes:
                first = found.setdefault(label := label_of(graph, node), node)
                if first != node:
                    yield f"node {node!r}: has the label {label!r} of {first!r}"


def label_of(graph: nx.DiGraph[Any], node: Any) -> str:
    """Label of a node; the node itself where it has none."""
    return str(graph.nodes[node].get("label", node))


def _probabilities(graph: nx.DiGraph[Any]) -> Iterator[str]:
    for action in _actions(graph):
        entries: list[tuple[Any, Any]] = [
            (target, data.get("probability"))
            for target, data in graph.adj[action].items()
        ]
        bad = [f"{t!r}: {p!r}" for t, p in entries if not _is_rational(p) or p <= 0]
        if bad:
            yield f"node {action!r}: no exact positive probability to {bad[0]}"
            continue
        total = sum(p for _, p in entries)
        if entries and total != 1:
            yield f"node {action!r}: probabilities add up to {total}, not 1"


def _rewards(
    graph: nx.DiGraph[Any], lower: Fraction | int | None, upper: Fraction | int | None
) -> Iterator[str]:
    lower = graph.graph.get("reward_lower") if lower is None else lower
    upper = graph.graph.get("reward_upper") if upper is None else upper
    for action in _actions(graph):
        reward = graph.nodes[action]["reward"]
        if lower is not None and reward < lower:
            yield f"node {action!r}: reward {reward} is below {lower}"
        elif upper is not None and reward > upper:
            yield f"node {action!r}: reward {reward} is above {upper}"


def _levels(graph: nx.DiGraph[Any]) -> Iterator[str]:
    for action in _actions(graph):
        (state,) = graph.pred[action]
        level = graph.nodes[state]["level"]
        if graph.nodes[action]["level"] != level:
            yield (
                f"node {action!r}: level {graph.nodes[action]['level']}, but its "
                f"state has level {level}"
            )
        for target in graph.adj[action]:
            below = graph.nodes[target]["level"]
            if below < level:
                yield (
                    f"node {action!r}: leads from level {level} back to {target!r} "
                    f"at level {below}"
                )


def _horizon(graph: nx.DiGraph[Any]) -> Iterator[str]:
    """Check for cycles, then the horizon against levels and the longest episode."""
    try:
        order = list(nx.topological_sort(graph))
    except nx.NetworkXUnfeasible:
        node = nx.find_cycle(graph)[0][0]
        yield f"node {node!r}: lies on a cycle"
        return
    horizon = graph.graph.get("horizon")
    if horizon is None:
        return
    for node in _states(graph):
        level = graph.nodes[node]["level"]
        if level > horizon:
            yield f"node {node!r}: level {level} is beyond the horizon {horizon}"
    actions_left: dict[Any, int] = {}
    for node in reversed(order):
        best = max((actions_left[after] for after in graph.adj[node]), default=0)
        actions_left[node] = best + (graph.nodes[node]["kind"] == "action")
        if graph.nodes[node].get("start") is True and actions_left[node] > horizon:
            yield (
                f"node {node!r}: an episode can take {actions_left[node]} actions, "
                f"more than the horizon {horizon}"
            )


def _sizes(graph: nx.DiGraph[Any]) -> Iterator[str]:
    states = sum(1 for _ in _states(graph))
    actions = len(graph) - states
    counted = {
        "n_states": states,
        "n_actions": actions,
        "n_transitions": graph.number_of_edges() - actions,
    }
    for name, count in counted.items():
        declared = graph.graph.get(name, count)
        if declared != count:
            yield f"graph attribute {name} is {declared!r}, but there are {count}"


def _states(graph: nx.DiGraph[Any]) -> Iterator[Any]:
    return (v for v, data in graph.nodes(data=True) if data["kind"] == "state")


def _actions(graph: nx.DiGraph[Any]) -> Iterator[Any]:
    return (v for v, data in graph.nodes(data=True) if data["kind"] == "action")


def _is_positive_int(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def _is_rational(value: object) -> bool:
    return isinstance(value, Fraction | int) and not isinstance(value, bool)
