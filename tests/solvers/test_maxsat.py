import itertools
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from olivine.reduction.formula.dimacs import read_dimacs
from olivine.solvers.child import child
from olivine.solvers.outcome import SatStatus
from olivine.solvers.sat import maxsat, rc2
from olivine.solvers.sat.clauses import Clauses
from olivine.solvers.sat.maxsat import solve_maxsat

from tests.support.cases import case_parameters
from tests.support.depth import deep
from tests.support.formulas import clauses as clause_strategy

SAT, UNSAT, UNKNOWN = (
    SatStatus.SATISFIABLE,
    SatStatus.UNSATISFIABLE,
    SatStatus.UNKNOWN,
)


def optimum(rows, n, weights, hard):
    """Least weight falsified by the definition; None if hard clauses conflict."""
    costs = []
    for values in itertools.product([False, True], repeat=n):
        falsified = [not any(values[abs(x) - 1] == (x > 0) for x in c) for c in rows]
        if not any(f and h for f, h in zip(falsified, hard, strict=True)):
            costs.append(sum(itertools.compress(weights, falsified)))
    return min(costs, default=None)


def cost_of(model, rows, weights, hard):
    falsified = [not any(model[abs(x) - 1] == (x > 0) for x in c) for c in rows]
    assert not any(itertools.compress(hard, falsified))
    return sum(itertools.compress(weights, falsified))


@st.composite
def problems(draw):
    n = draw(st.integers(0, 8))
    clause = clause_strategy(min(n, draw(st.integers(0, 8))), max_width=4)
    rows = draw(st.lists(clause, max_size=30))
    rows += draw(st.lists(st.sampled_from(rows), max_size=3)) if rows else []
    m = len(rows)
    weight = draw(
        st.sampled_from(
            [
                st.just(1),
                st.integers(1, 4),
                st.sampled_from([1, 10, 100, 1000]),
                st.integers(2**62, 2**65),
            ]
        )
    )
    weights = draw(st.lists(weight, min_size=m, max_size=m))
    is_hard = st.sampled_from([False] * 5 + [True]) if draw(st.booleans()) else None
    hard = [False] * m
    if is_hard is not None:
        hard = draw(st.lists(is_hard, min_size=m, max_size=m))
    return rows, n, weights, hard


@settings(deadline=None, max_examples=120)
@given(problems())
def test_agrees_with_brute_force(problem):
    rows, n, weights, hard = problem
    outcome = solve_maxsat(Clauses.from_lists(rows), n, weights, hard=hard)
    expected = optimum(rows, n, weights, hard)
    assert outcome.cost == expected
    assert outcome.reason == ""
    if expected is None:
        assert (outcome.status, outcome.model) == (UNSAT, None)
    else:
        assert outcome.status is SAT
        assert outcome.model.shape == (n,)
        assert outcome.model.dtype == np.bool_
        assert cost_of(outcome.model, rows, weights, hard) == expected


@settings(deadline=None, max_examples=deep(30, 5))  # a child process each
@given(problems())
def test_without_weights_clauses_are_counted(problem):
    rows, n, _, _ = problem
    outcome = solve_maxsat(Clauses.from_lists(rows), n)
    assert outcome.cost == optimum(rows, n, [1] * len(rows), [False] * len(rows))


@pytest.mark.parametrize("case", case_parameters("dense"))
def test_dense_cases(case):
    formula = read_dimacs(case.path).formula
    outcome = solve_maxsat(formula, formula.n_variables, time_limit=60)
    assert outcome.cost == case.expected["unsatisfied"]


@pytest.mark.parametrize(
    "case", [c for c in case_parameters("satlib") if "u" in c.id.split("/")[1][:2]]
)
def test_random_cases(case):
    formula = read_dimacs(case.path).formula
    outcome = solve_maxsat(formula, formula.n_variables, time_limit=60)
    assert outcome.cost == case.expected["unsatisfied"]


def test_clauses_are_a_multiset():
    rows = [[1], [1, 1], [-1], [1, -1], [2, -2, 3], [], []]
    outcome = solve_maxsat(Clauses.from_lists(rows), 4)
    assert outcome.cost == 3
    assert outcome.model.tolist() == [True, False, False, False]
    outcome = solve_maxsat(Clauses.from_lists(rows), 4, [1, 1, 5, 9, 9, 2**70, 1])
    assert outcome.cost == 2**70 + 3
    assert not outcome.model[0]


@pytest.mark.parametrize("n", [0, 3])
def test_nothing_to_satisfy(n):
    outcome = solve_maxsat(Clauses.from_lists([]), n, hard=[])
    assert (outcome.status, outcome.cost) == (SAT, 0)
    assert outcome.model.tolist() == [False] * n


def test_hard_clauses_that_conflict_are_unsatisfiable():
    for rows in ([[1], [-1], [2]], [[], [1], [2]], [[1, 2], [-1], [-2]]):
        hard = [True, True, rows[2] != [2]]
        outcome = solve_maxsat(Clauses.from_lists(rows), 2, hard=hard)
        assert (outcome.status, outcome.cost) == (UNSAT, None)


def test_only_hard_clauses():
    outcome = solve_maxsat(Clauses.from_lists([[2], [-3, 1]]), 3, hard=[True, True])
    assert (outcome.status, outcome.cost) == (SAT, 0)
    assert outcome.model[1]


def test_weights_of_hard_clauses_are_not_looked_at():
    clauses = Clauses.from_lists([[1], [-1]])
    outcome = solve_maxsat(clauses, 1, [0, 7], hard=[True, False])
    assert outcome.cost == 7


def test_numpy_weights_and_totals_beyond_64_bits():
    clauses = Clauses.from_lists([[1], [-1], [2], [-2], [2]])
    weights = np.full(5, 2**62)
    assert solve_maxsat(clauses, 2, weights).cost == 2**63
    assert solve_maxsat(clauses, 2, [2**63] * 5).cost == 2**64


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1], "1 weights for 2 clauses"),
        ([1, 2, 3], "3 weights for 2 clauses"),
        ([1, 0], "clause 2: weight 0 is not positive"),
        ([-1, 1], "clause 1: weight -1 is not positive"),
        ([1, 1.5], "clause 2: weight 1.5 is no integer"),
        ([1, None], "clause 2: weight None is no integer"),
        (np.ones(2), "clause 1: .* is no integer"),
    ],
)
def test_bad_weights(weights, message):
    with pytest.raises(ValueError, match=message):
        solve_maxsat(Clauses.from_lists([[1], [-1]]), 1, weights)


@pytest.mark.parametrize("hard", [[True], [1, 0], [[True, False]], True])
def test_bad_hard(hard):
    with pytest.raises(ValueError, match="hard is no array of 2 booleans"):
        solve_maxsat(Clauses.from_lists([[1], [-1]]), 1, hard=hard)


def test_bad_literals():
    with pytest.raises(ValueError, match="clause 1: literal 2 is outside ±1"):
        solve_maxsat(Clauses.from_lists([[2]]), 1)


def hard_problem():
    rng = np.random.default_rng(0)
    literals = rng.integers(1, 201, 6000) * rng.choice([-1, 1], 6000)
    return Clauses(literals.astype(np.int32), np.arange(0, 6001, 3)), 200


@pytest.mark.children
def test_time_limit_is_unknown():
    outcome = solve_maxsat(*hard_problem(), time_limit=0.3)
    assert (outcome.status, outcome.cost, outcome.model) == (UNKNOWN, None, None)
    assert outcome.reason == "time limit of 0.3 s reached"


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_memory_limit_is_unknown():
    # From a young process: one forked late in a test run finds memory that its
    # parent has freed, and what it takes of that does not count as growth.
    code = (
        "from tests.solvers.test_maxsat import hard_problem, solve_maxsat\n"
        "print(solve_maxsat(*hard_problem(), memory_limit=2**20, time_limit=60).reason)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[2],
    )
    assert done.stdout == "memory limit of 1 MiB reached\n"


@pytest.mark.children
def test_a_killed_engine_is_unknown(monkeypatch):
    monkeypatch.setattr(
        rc2, "_run_rc2", lambda *_: os.kill(os.getpid(), signal.SIGKILL)
    )
    outcome = solve_maxsat(Clauses.from_lists([[1]]), 1)
    assert outcome.status is UNKNOWN
    assert outcome.reason == "the child was killed by SIGKILL"


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ((0, [-1, 2]), "rc2 says cost 0, its model has 1"),
        ((2, [1, 2]), "rc2 says cost 2, its model has 0"),
        ((1, [1, -2]), "falsifies a hard clause"),
    ],
)
def test_wrong_answers_are_errors(answer, message, monkeypatch):
    packed = answer[0], maxsat.pack_model(answer[1], 2)
    monkeypatch.setattr(maxsat, "minimise", lambda *_: packed)
    with pytest.raises(RuntimeError, match=message):
        solve_maxsat(Clauses.from_lists([[1], [2]]), 2, hard=[False, True])


def test_rc2_without_a_model_is_an_error(monkeypatch):
    monkeypatch.setattr(rc2._Telling, "compute", lambda self: None)
    with pytest.raises(RuntimeError, match="no model although"):
        solve_maxsat(Clauses.from_lists([[1]]), 1)


def test_where_nothing_can_be_forked(monkeypatch):
    monkeypatch.setattr(child, "_FORKS", False)
    outcome = solve_maxsat(Clauses.from_lists([[1], [-1], [2]]), 2, [3, 2, 1])
    assert (outcome.cost, outcome.model.tolist()) == (2, [True, True])


@pytest.fixture
def no_rc2(monkeypatch):
    monkeypatch.setattr(maxsat, "minimise", lambda *_: time.sleep(600))
    monkeypatch.setattr(maxsat, "HEAD_START", 0.0)


@pytest.mark.children
@pytest.mark.usefixtures("no_rc2")
def test_a_search_goes_before_each_refutation():
    """Only "less than 3" is refuted: 9 falsified are known, 5 and then 3 are found."""
    rows, weights = [[1], [-1], [2], [-2]], [4, 2, 5, 1]
    better = {(False, False): [False, True], (False, True): [True, True]}

    def search(model):
        return np.array(better.get(tuple(model.tolist()), model))

    def bounded(cost):
        assert cost == 3, "the search was to come first"
        return [[1], [-1]]

    options = {"known": np.array([False, False]), "bounded": bounded}
    found = solve_maxsat(Clauses.from_lists(rows), 2, weights, search=search, **options)
    assert (found.cost, found.model.tolist()) == (3, [True, True])
    with pytest.raises(RuntimeError, match="was to come first"):
        solve_maxsat(Clauses.from_lists(rows), 2, weights, **options)


@pytest.mark.children
@pytest.mark.usefixtures("no_rc2")
def test_what_a_search_finds_is_counted():
    """A search that lies, or loses hard clauses, is held against the clauses."""
    problem = Clauses.from_lists([[1], [2]]), 2
    known = np.array([True, False])

    def solve(found, **options):
        return solve_maxsat(
            *problem,
            known=known,
            bounded=lambda cost: [[]],
            search=lambda _: np.array(found),
            **options,
        )

    assert solve([True, True]).engine == "search"
    assert solve([False, False]).cost == 1
    with pytest.raises(RuntimeError, match="falsifies a hard clause"):
        solve([False, True], hard=[True, False])
