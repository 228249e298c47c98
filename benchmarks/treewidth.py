"""The treewidth route against plain dynamic programming, RC2 and the MILP.

Formulas are bands: each clause has three variables that lie within `width` of each
other, so that their treewidth is about `width`. The plain dynamic programming goes
over the same tree with flat tables indexed by bit codes.

Target: at most 3 times the plain one, the search for the tree included.

    python -m benchmarks.treewidth [--limit SECONDS]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from olivine.reduction.formula.formula import Formula
from olivine.reduction.verify.verification import verify
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


def best(repeats: int, function, *arguments):
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        answer = function(*arguments)
        seconds.append(time.perf_counter() - start)
    return min(seconds), answer


def figures(full: bool) -> Iterator[Figure]:
    """Measure on a band of 2,000 variables, or 500."""
    n, width = (2000, 8) if full else (500, 8)
    clauses = band(n, 5 * n, width, 0).three_sat().clauses.tolist()
    keys = [tuple(clause) for clause in clauses]
    ours, theirs = in_turns(
        lambda: solve_by_treewidth(clauses, n),
        lambda: plain(decompose(keys, 22), clauses),
        3,
    )
    note = f"n = {n}, clauses within {width} of each other"
    yield Figure(
        "treewidth / plain dynamic programming", ours / theirs, "ratio", 3, note
    )
    yield Figure("treewidth", ours, "CPU s", None, note)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--limit", type=float, default=20.0, help="of RC2 and the MILP")
    options = parser.parse_args()
    for n, width in ((500, 4), (2000, 8), (2000, 12), (200, 16)):
        formula = band(n, 5 * n, width, 0)
        clauses = formula.three_sat().clauses.tolist()
        keys = [tuple(clause) for clause in clauses]
        finding, tree = best(options.repeats, decompose, keys, 22)
        ours, found = best(options.repeats, solve_by_treewidth, clauses, n)
        theirs, expected = best(options.repeats, plain, tree, clauses)
        assert found.cost == expected
        print(
            f"n={n} m={5 * n} width={tree.width} u={expected}: tree {finding:.2f} s, "
            f"ours {ours:.2f} s in all, plain {finding + theirs:.2f} s in all, ratio "
            f"{ours / (finding + theirs):.2f}, tables alone "
            f"{max(ours - finding, 0) / theirs:.2f}"
        )
        for route in ("treewidth", "maxsat", "milp"):
            answer = verify(formula, routes=[route], time_limit=options.limit)
            result = answer.routes[route]
            print(f"    {route:9} {result.status:9} {result.seconds:6.2f} s")


if __name__ == "__main__":
    main()
