"""MDPs as networkx graphs with nodes for states and for actions, checked exactly.

- a state node has the attributes ``kind="state"``, ``level`` (1-based int) and
  ``label`` (its name), and the start state ``start=True``;
- an action node has ``kind="action"``, ``level`` (that of its state), ``label`` and
  ``reward`` (Fraction); one edge in, from its state, and one out to each successor,
  with ``probability`` (Fraction); without one it ends the episode;
- the graph has ``horizon``, ``n_states``, ``n_actions`` and ``n_transitions`` (nothing
  was merged or lost); for a family also its parameters.

Nodes are called by their names, "C1" and "C1 011"; they and the edges stand in the
order of the MDP, the only thing that numbering relies on.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import networkx as nx
import numpy as np
from numpy.typing import ArrayLike

from ...algorithms.exact.arrays import check_count, check_type
from ...algorithms.mdp.tabular import TabularMDP, TwoActions
from .family import Family

__all__ = [
    "estimate_bytes",
    "graph",
    "graph_from_mdp",
    "mdp_from_graph",
    "validate_graph",
]

BYTES_PER_EDGE = 500  # Nodes and attributes included (measured)

DEFAULT_MEMORY_LIMIT = 4 * 2**30  # Above, a graph is refused


def estimate_bytes(n_actions: int, n_transitions: int) -> int:
    """Estimate the memory of a graph, in bytes; it has an edge for each of both."""
    return BYTES_PER_EDGE * (n_actions + n_transitions)


def graph(
    family: Family,
    y: ArrayLike | None = None,
    *,
    memory_limit: int = DEFAULT_MEMORY_LIMIT,
    two_actions: bool = False,
) -> nx.DiGraph[str]:
    """Build the graph of the member M_y.

    Parameters
    ----------
    family
        The family.
    y
        n truth values; None is the all-zero member.
    memory_limit
        Refuse to build a graph estimated to take more bytes than this.
    two_actions
        Whether to give it binary trees in place of wide choices
        (`olivine.algorithms.mdp.tabular`).

    Returns
    -------
    networkx.DiGraph
        With the graph attributes of the module's conventions and ``variant``,
        ``penalty`` (Fraction), ``n_variables``, ``n_clauses``,
        ``total_weight``, ``member`` (a string of n bits), ``reward_lower`` and
        ``reward_upper`` (Fractions).

    Raises
    ------
    ValueError
        If `y` is not n truth values, the graph would not fit, or an MDP that is
        not layered (`paper`) is to have two actions.
    """
    check_type("family", family, Family, "Family")
    check_count("memory_limit", memory_limit, least=0)
    sizes = family.declared_sizes()
    _check_memory(sizes.actions, sizes.transitions, memory_limit)
    mdp = family.mdp(y)
    if two_actions:
        mdp = TwoActions(mdp).mdp
    built = graph_from_mdp(mdp, memory_limit=memory_limit)
    bits = family.assignment_of(y)
    built.graph.update(
        variant=family.variant.value,
        penalty=family.penalty,
        n_variables=family.n_variables,
        n_clauses=family.n_clauses,
        total_weight=family.total_weight,
        member="".join("1" if bit else "0" for bit in bits),
        reward_lower=min(mdp.reward_table),
        reward_upper=max(mdp.reward_table),
    )
    return built


def graph_from_mdp(
    mdp: TabularMDP, *, memory_limit: int = DEFAULT_MEMORY_LIMIT
) -> nx.DiGraph[str]:
    """Build the graph of any tabular MDP; ValueError if too large or names collide."""
    _check_memory(mdp.n_actions, mdp.n_transitions, memory_limit)
    built: nx.DiGraph[str] = nx.DiGraph(
        horizon=int(mdp.horizon),
        n_states=mdp.n_states,
        n_actions=mdp.n_actions,
        n_transitions=mdp.n_transitions,
    )
    names = list(mdp.state_names)
    levels = mdp.state_level.tolist()
    for name, level in zip(names, levels, strict=True):
        built.add_node(name, kind="state", level=level, label=name)
    built.nodes[names[mdp.start]]["start"] = True
    offsets = mdp.transition_offset.tolist()
    entries = _entries(mdp, names)
    owners = np.repeat(np.arange(mdp.n_states), mdp.action_counts).tolist()
    for action, state in enumerate(owners):
        label = mdp.action_names[action]
        node = f"{names[state]} {label}"
        built.add_node(
            node,
            kind="action",
            level=levels[state],
            label=label,
            reward=mdp.reward(action),
        )
        built.add_edge(names[state], node)
        for _ in range(offsets[action + 1] - offsets[action]):
            target, probability = next(entries)
            built.add_edge(node, target, probability=probability)
    _check_counts(built, mdp)
    return built


def mdp_from_graph(graph: nx.DiGraph[Any]) -> TabularMDP:
    """Read a graph as a tabular MDP, in the order of its nodes and edges.

    Names are the labels, or the nodes; the horizon is the attribute, or the least that
    fits. Raises ValueError naming the node (`validate_graph`).
    """
    validate_graph(graph)
    nodes = graph.nodes(data=True)
    states = [node for node, data in nodes if data["kind"] == "state"]
    names = {node: label_of(graph, node) for node in states}
    start = next(node for node in states if graph.nodes[node].get("start") is True)
    return TabularMDP.from_lists(
        [
            (
                names[state],
                graph.nodes[state]["level"],
                [
                    (
                        label_of(graph, action),
                        graph.nodes[action]["reward"],
                        {
                            names[target]: data["probability"]
                            for target, data in graph.adj[action].items()
                        },
                    )
                    for action in graph.adj[state]
                ],
            )
            for state in states
        ],
        start=names[start],
        horizon=graph.graph.get("horizon"),
    )


def _entries(mdp: TabularMDP, names: list[str]) -> Iterator[tuple[str, Fraction]]:
    """Yield (successor, probability) of every transition; equal ones are shared."""
    counts = np.diff(mdp.transition_offset)
    denominators = np.repeat(mdp.transition_denominator, counts).tolist()
    shared: dict[tuple[int, int], Fraction] = {}
    for target, *ratio in zip(
        mdp.transition_target.tolist(),
        mdp.transition_numerator.tolist(),
        denominators,
        strict=True,
    ):
        numerator, denominator = ratio
        probability = shared.get((numerator, denominator))
        if probability is None:
            probability = Fraction(numerator, denominator)
            shared[numerator, denominator] = probability
        yield names[target], probability


def refuse_large(family: Family, *, two_actions: bool = False) -> None:
    """Refuse a graph that would not fit, before anything of a family is built."""
    sizes = family.declared_sizes()
    # A tree has at most twice as many nodes as actions, X_i three.
    actions = sizes.actions * (3 if two_actions else 1)
    instead = (
        "" if two_actions else "; --format lp --format mps write the program alone"
    )
    _check_memory(actions, sizes.transitions, DEFAULT_MEMORY_LIMIT, instead)


def _check_memory(
    n_actions: int,
    n_transitions: int,
    limit: int,
    instead: str = ": use the arrays of Family.mdp, or raise memory_limit",
) -> None:
    needed = estimate_bytes(n_actions, n_transitions)
    if needed > limit:
        raise ValueError(
            f"the graph of {n_actions + n_transitions} edges would take about "
            f"{needed / 2**30:.1f} GiB of memory, above the limit of "
            f"{limit / 2**30:.1f} GiB{instead}"
        )


def _check_counts(built: nx.DiGraph[str], mdp: TabularMDP) -> None:
    nodes = mdp.n_states + mdp.n_actions
    edges = mdp.n_actions + mdp.n_transitions
    if (len(built), built.number_of_edges()) != (nodes, edges):
        raise ValueError(
            f"the graph has {len(built)} nodes and {built.number_of_edges()} edges "
            f"instead of {nodes} and {edges}: names of the MDP are not distinct"
        )


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
