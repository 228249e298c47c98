import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from olivine.solvers.sat.clauses import Clauses
from olivine.solvers.sat.maxsat import solve_maxsat
from olivine.solvers.treewidth import TooWideError, Tree, decompose, solve_by_treewidth

from tests.support.depth import deep, with_rows
from tests.support.formulas import clauses, least_unsatisfied, weights


@st.composite
def weighted(draw, max_variables=6):
    n = draw(st.integers(0, max_variables))
    rows = draw(st.lists(clauses(n), max_size=9))
    each = draw(st.lists(weights(), min_size=len(rows), max_size=len(rows)))
    return rows, each, n


def falsified(rows, each, model) -> int:
    return sum(
        w
        for row, w in zip(rows, each, strict=True)
        if not any(model[abs(x) - 1] == (x > 0) for x in row)
    )


def band(n, m, width, seed, literals=3):
    """Clauses over variables that lie within `width` of each other."""
    rng = np.random.default_rng(seed)
    starts = rng.integers(0, n - width, m)
    rows = (1 + a + rng.choice(width + 1, literals, replace=False) for a in starts)
    return [(row * rng.choice([-1, 1], literals)).tolist() for row in rows]


def test_the_bytes_held_at_a_time_are_counted() -> None:
    """By hand: a bag's message and choices are held beside the next bag's table."""
    path = Tree(((0, 1), (1, 2)), (1, 1))
    assert path.bytes_needed(8) == 8 * 2 + 1 + 8 * 4 * 3 // 2
    assert path.bytes_needed(1) == 2 + 1 + 4 * 3 // 2
    wide = Tree(((0, 1, 2), (2, 3, 4)), (1, 1))  # two variables go at the first
    assert wide.bytes_needed(8) == 8 * 2 + 2 + 8 * 8 * 3 // 2


@given(weighted())
def test_the_least_weight_is_that_of_all_assignments(case) -> None:
    rows, each, n = case
    found = solve_by_treewidth(rows, n, each)
    assert found.cost == least_unsatisfied(rows, each, n)
    assert found.model.shape == (n,)
    assert falsified(rows, each, found.model) == found.cost


@with_rows(
    "rows, n, cost",
    ([], 0, 0),
    ([[]], 0, 1),
    ([[], []], 3, 2),
    ([[1]], 1, 0),
    ([[1], [-1], [-1]], 1, 1),
    ([[1, -1], [2, 2, 2], [-2]], 5, 1),
    ([[1, 1, -1]], 1, 0),
    ([[1, 2], [3, 4], [-1], [-2]], 4, 1),  # a graph in two parts
)
def test_odd_clauses(rows, n, cost) -> None:
    found = solve_by_treewidth(rows, n)
    assert found.cost == cost
    assert falsified(rows, [1] * len(rows), found.model) == cost


@pytest.mark.parametrize("large", [2**62, 2**63 - 1, 2**80])
def test_weights_beyond_int64_are_exact(large) -> None:
    rows, each = [[1], [-1], [1, 2], [-2]], [large + 1, large, 3, large]
    found = solve_by_treewidth(rows, 2, each)
    assert (found.cost, found.model.tolist()) == (large, [True, False])


@pytest.mark.parametrize("seed", range(3))
def test_agrees_with_maxsat_on_a_band(seed) -> None:
    rows = band(40, 260, 5, seed)
    each = np.random.default_rng(seed).integers(1, 6, len(rows)).tolist()
    found = solve_by_treewidth(rows, 40, each)
    assert found.width <= 6
    known = solve_maxsat(Clauses.from_lists(rows), 40, each)
    assert found.cost == known.cost == falsified(rows, each, found.model)


def test_a_long_chain() -> None:
    n = 800
    chain = [[-i, i + 1] for i in range(1, n)]
    found = solve_by_treewidth([*chain, [1], [-n]], n)
    assert (found.width, found.cost) == (1, 1)
    assert solve_by_treewidth([*chain, [1]], n).model.all()


@given(weighted(max_variables=9))
def test_the_tree_is_a_decomposition(case) -> None:
    rows = [tuple(row) for row in case[0] if row]
    if not rows:
        return
    tree = decompose(rows, 22)
    last = len(tree.bags) - 1
    assert tree.parent[last] == last
    assert all(up > k for k, up in enumerate(tree.parent[:-1]))
    bags = [set(bag) for bag in tree.bags]
    assert all(any({abs(x) for x in row} <= bag for bag in bags) for row in rows)
    graph = nx.Graph(enumerate(tree.parent))
    for v in set().union(*bags):
        holds = [k for k, bag in enumerate(bags) if v in bag]
        assert nx.is_connected(graph.subgraph(holds))


def test_wide_formulas_and_large_tables_are_refused_with_their_size():
    clique = [[i, j] for i in range(1, 26) for j in range(1, i)]
    with pytest.raises(TooWideError, match=r"width 24 .*more than 22"):
        solve_by_treewidth(clique, 25)
    assert solve_by_treewidth(clique[:55], 25, max_width=10).cost == 0
    grid = [[15 * i + j + 1, 15 * i + j + 2] for i in range(15) for j in range(14)]
    grid += [[15 * i + j + 1, 15 * i + j + 16] for i in range(14) for j in range(15)]
    with pytest.raises(TooWideError, match=r"width \d+ or more .*more than 8"):
        solve_by_treewidth(grid, 225, max_width=8)
    clique = [[i, j] for i in range(1, 17) for j in range(1, i)]
    with pytest.raises(TooWideError, match=r"width 15: tables of 0\.7"):
        solve_by_treewidth(clique, 16, max_bytes=2**19)
    assert solve_by_treewidth(clique, 16, max_bytes=2**20).cost == 0


def test_the_narrower_tree_is_chosen() -> None:
    rows = band(120, 600, 18, 0)
    width = decompose([tuple(row) for row in rows], 22).width
    graph = nx.Graph()
    for a, b, c in rows:
        nx.add_cycle(graph, (abs(a), abs(b), abs(c)))
    heuristics = nx.algorithms.approximation
    assert width == min(
        heuristics.treewidth_min_degree(graph)[0],
        heuristics.treewidth_min_fill_in(graph)[0],
    )


def test_two_thousand_variables_of_width_eight() -> None:
    n = deep(2000, 500)
    rows = band(n, 5 * n, 8, 0)
    found = solve_by_treewidth(rows, n)
    assert found.width <= 10
    assert found.cost == falsified(rows, [1] * len(rows), found.model)
    # Any lower bound: each half alone leaves no more than the whole.
    left = [row for row in rows if max(map(abs, row)) <= n // 2]
    right = [row for row in rows if min(map(abs, row)) > n // 2]
    halves = [solve_by_treewidth(half, n).cost for half in (left, right)]
    assert sum(halves) <= found.cost <= sum(halves) + len(rows) - len(left + right)
