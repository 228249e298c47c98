"""The treewidth route against plain dynamic programming.

Formulas are bands: each clause has three variables that lie within `width` of each
other, so that their treewidth is about `width`. The plain dynamic programming goes
over the same tree with flat tables indexed by bit codes.

The search for the tree is part of both.

    python -m benchmarks treewidth
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from olivine.reduction.formula.formula import Formula
from olivine.solvers.treewidth import Tree, decompose, solve_by_treewidth

from benchmarks.figures import Figure, in_turns


def band(n: int, m: int, width: int, seed: int) -> Formula:
    rng = np.random.default_rng(seed)
    first = rng.integers(1, n - width + 1, m)
    rows = [a + rng.choice(width + 1, 3, replace=False) for a in first]
    return Formula.from_clauses(
        [(row * rng.choice([-1, 1], 3)).tolist() for row in rows], n
    )


def plain(tree: Tree, clauses: list[list[int]]) -> int:
    """Least number unsatisfied: flat tables, no assignment."""
    tops = tree.tops()
    of_bag: list[list[list[int]]] = [[] for _ in tree.bags]
    for clause in clauses:
        of_bag[min(tops[abs(x)] for x in clause)].append(clause)
    messages: list[list[tuple[list[int], NDArray[np.int64]]]] = [[] for _ in tree.bags]
    for k, bag in enumerate(tree.bags):
        kept = [v for v in bag if tops[v] != k]
        order = kept + [v for v in bag if tops[v] == k]
        codes = np.arange(1 << len(bag))
        bit = {v: codes >> i & 1 for i, v in enumerate(order)}
        table = np.zeros(len(codes), dtype=np.int64)
        for clause in of_bag[k]:
            table += np.all([bit[abs(x)] == (x < 0) for x in clause], axis=0)
        for variables, message in messages[k]:
            table += message[sum((bit[v] << i for i, v in enumerate(variables)), 0)]
        table = table.reshape(-1, 1 << len(kept)).min(axis=0)
        messages[k] = []
        messages[tree.parent[k]].append((kept, table))
    return int(table[0])


def figures(full: bool) -> Iterator[Figure]:
    """Measure on a band of 2,000 variables, or 500."""
    n, width = (2000, 8) if full else (500, 8)
    clauses = band(n, 5 * n, width, 0).three_sat().clauses.tolist()
    keys = [tuple(clause) for clause in clauses]
    assert solve_by_treewidth(clauses, n).cost == plain(decompose(keys, 22), clauses)
    ratio, ours, _ = in_turns(
        lambda: solve_by_treewidth(clauses, n),
        lambda: plain(decompose(keys, 22), clauses),
        3,
    )
    note = f"n = {n}, clauses within {width} of each other"
    yield Figure("treewidth / plain dynamic programming", ratio, "ratio", 3, note)
    yield Figure("treewidth", ours, "CPU s", None, note)
