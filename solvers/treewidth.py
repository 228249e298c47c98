"""Find the least weight of falsified clauses over a tree decomposition.

networkx's heuristics choose an order of elimination of the variables, which are
adjacent if a clause has both. A variable and the neighbours that it has when it goes
are a bag, and the bags make a tree; its width w is the size of the largest bag less 1.
Dynamic programming up the tree keeps, for each assignment of the variables that a bag
shares with its parent, the least weight that the clauses below must leave unsatisfied,
in O((n + m) 2^w) steps (bucket elimination: Dechter, *Artificial Intelligence* 113,
1999). Tables are arrays with one axis of length 2 for each variable, of int64, or of
Python integers where the total weight exceeds it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import networkx as nx

MAX_WIDTH = 22
"""Greatest width that is tried."""
MAX_BYTES = 2**30
"""Most bytes that tables may take at a time."""

_NARROW = 15  # up to here tables cost less than the search for a narrower tree
_OBJECT_BYTES = 40  # a pointer and a Python integer

Table = NDArray[Any]


class TooWideError(ValueError):
    """No tree decomposition was found that is within the limits."""


class Elimination(NamedTuple):
    """What the dynamic programming found."""

    cost: int  # least weight of falsified clauses
    model: NDArray[np.bool_]  # an assignment that leaves it, shape (n,)
    width: int  # of the tree decomposition; 0 where there is nothing to decide
    entries: int = 0  # of tables, made, added to or compared: its steps, counted


@dataclass(frozen=True)
class Tree:
    """A tree decomposition with a root."""

    # Variables of each bag, ascending; children stand before their parents
    bags: Sequence[tuple[int, ...]]
    # Index of each bag's parent; that of the root, the last one, is itself
    parent: Sequence[int]

    @property
    def width(self) -> int:
        """Size of the largest bag, less 1."""
        return max(map(len, self.bags)) - 1

    def tops(self) -> dict[int, int]:
        """Return the bag of each variable that is nearest to the root."""
        # Bags come children first, so the last one that has it.
        return {v: k for k, bag in enumerate(self.bags) for v in bag}

    def bytes_needed(self, entry: int) -> int:
        """Return the most bytes held at a time, for entries of that many."""
        waiting, held, most = [0] * len(self.bags), 0, 0
        for k, (bag, up) in enumerate(zip(self.bags, self.parent, strict=True)):
            # The bag's table and half of it, for the first variable's minimum.
            most = max(most, held + (entry << len(bag)) * 3 // 2)
            held -= waiting[k]
            gone = len(set(bag) - set(self.bags[up]) if up != k else bag)
            message = entry << (len(bag) - gone)
            choices = sum(1 << max(0, len(bag) - g - 4) for g in range(gone))
            waiting[up] += message
            held += message + choices
        return most


def solve_by_treewidth(
    clauses: Sequence[Sequence[int]],
    n_variables: int,
    weights: Sequence[int] | None = None,
    *,
    max_width: int = MAX_WIDTH,
    max_bytes: int = MAX_BYTES,
) -> Elimination:
    """Find an assignment of least weight falsified."""
    if weights is None:
        weights = [1] * len(clauses)
    model = np.zeros(n_variables, dtype=np.bool_)
    cost, soft = 0, dict[tuple[int, ...], int]()
    for clause, weight in zip(clauses, weights, strict=True):
        literals = set(clause)
        if not literals:
            cost += weight
        elif not any(-literal in literals for literal in literals):
            key = tuple(sorted(literals, key=abs))
            soft[key] = soft.get(key, 0) + weight
    if not soft:
        return Elimination(cost, model, 0)
    tree = decompose(soft, max_width)
    entry = 8 if sum(soft.values()) < 2**63 else _OBJECT_BYTES
    if (needed := tree.bytes_needed(entry)) > max_bytes:
        raise TooWideError(
            f"width {tree.width}: tables of {needed / 2**20:.4g} MiB, "
            f"more than {max_bytes / 2**20:.4g}"
        )
    dtype = np.int64 if entry == 8 else object
    least, entries = _eliminate(tree, soft, dtype, model)
    return Elimination(cost + least, model, tree.width, entries)


def decompose(clauses: Sequence[tuple[int, ...]] | dict[Any, Any], limit: int) -> Tree:
    """Find a tree decomposition of the primal graph.

    By least degree, and where that is wide by least fill-in too; the narrower.
    """
    # Imported here: half of the command line's start, and seldom needed.
    import networkx as nx
    from networkx.algorithms.approximation import treewidth as heuristics

    graph: nx.Graph[int] = nx.Graph()
    for clause in clauses:
        variables = {abs(literal) for literal in clause}
        graph.add_nodes_from(variables)
        graph.add_edges_from(combinations(variables, 2))
    adjacent = {v: set(neighbours) for v, neighbours in graph.adjacency()}
    by_degree = _tree(adjacent, heuristics.MinDegreeHeuristic(graph).best_node, limit)
    if by_degree.width <= min(_NARROW, limit):
        return by_degree
    by_fill_in = _tree(adjacent, heuristics.min_fill_in_heuristic, limit)
    narrower = min(by_degree, by_fill_in, key=lambda tree: tree.width)
    if narrower.width > limit:
        raise TooWideError(
            f"width {narrower.width} or more by either elimination order, "
            f"more than {limit}"
        )
    return narrower


def _tree(
    adjacent: dict[int, set[int]],
    choose: Callable[[dict[int, set[int]]], int | None],
    limit: int,
) -> Tree:
    """Eliminate what `choose` says until a clique is left, the bag of the root.

    Stops at the first bag wider than `limit`, which has all that is left.
    """
    left = {v: set(neighbours) for v, neighbours in adjacent.items()}
    place: dict[int, int] = {}
    bags: list[set[int]] = []
    while (variable := choose(left)) is not None:
        neighbours = left[variable]
        bags.append(neighbours | {variable})
        if len(neighbours) > limit:
            break
        for v in neighbours:
            left[v] |= neighbours
            left[v] -= {v, variable}
        del left[variable]
        place[variable] = len(place)
    else:
        bags.append(set(left))
    root = len(place)
    # The neighbour that goes first has the others in its bag, too.
    parent = [
        min((place.get(v, root) for v in bag if place.get(v) != k), default=root)
        for k, bag in enumerate(bags)
    ]
    return Tree([tuple(sorted(bag)) for bag in bags], parent)


def _eliminate(
    tree: Tree, soft: dict[tuple[int, ...], int], dtype: Any, model: NDArray[np.bool_]
) -> tuple[int, int]:
    """Return the least weight falsified, and the entries of tables on the way.

    Writes an assignment that leaves that weight.
    """
    tops = tree.tops()
    # A bag that has all variables of the clause: their lowest top.
    of_bag: list[list[tuple[int, ...]]] = [[] for _ in tree.bags]
    for clause in soft:
        of_bag[min(tops[abs(literal)] for literal in clause)].append(clause)
    messages: list[list[tuple[tuple[int, ...], Table]]] = [[] for _ in tree.bags]
    choices: list[tuple[int, tuple[int, ...], NDArray[np.uint8]]] = []
    cost = entries = 0
    for k, bag in enumerate(tree.bags):
        table = np.zeros((2,) * len(bag), dtype=dtype)
        entries += table.size
        for clause in of_bag[k]:
            falsified = {abs(literal): int(literal < 0) for literal in clause}
            table[tuple(falsified.get(v, slice(None)) for v in bag)] += soft[clause]
            entries += table.size >> len(falsified)
        for variables, message in messages[k]:
            table += message.reshape([1 + (v in variables) for v in bag])
            entries += table.size
        messages[k] = []
        kept = bag
        for variable in (v for v in bag if tops[v] == k):
            axis = kept.index(variable)
            kept = kept[:axis] + kept[axis + 1 :]
            halves = np.moveaxis(table, axis, -1)
            if_false, if_true = halves[..., 0], halves[..., 1]
            choices.append((variable, kept, np.packbits(if_true < if_false)))
            entries += table.size
            table = np.asarray(np.minimum(if_false, if_true), dtype=dtype)
        if tree.parent[k] == k:
            cost = int(table)
        else:
            messages[tree.parent[k]].append((kept, table))
    for variable, kept, bits in reversed(choices):
        at = 0
        for v in kept:
            at = 2 * at + int(model[v - 1])
        model[variable - 1] = bits[at >> 3] >> (7 - (at & 7)) & 1
    return cost, entries
