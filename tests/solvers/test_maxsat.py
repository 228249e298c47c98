import contextlib
import itertools
import os
import re
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
from olivine.solvers.sat import lower, maxsat
from olivine.solvers.sat.clauses import Clauses, Message, Problem
from olivine.solvers.sat.maxsat import solve_maxsat
from pysat.solvers import Solver

from tests.support.cases import case_parameters
from tests.support.depth import deep, with_rows
from tests.support.formulas import clauses as clause_strategy
from tests.support.refusals import refused

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
    kinds = [st.just(1), st.integers(1, 4), st.sampled_from([1, 10, 100, 1000])]
    weight = draw(st.sampled_from([*kinds, st.integers(2**62, 2**65)]))
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
    assert outcome.lower == (expected or 0)
    if expected is None:
        assert (outcome.status, outcome.model) == (UNSAT, None)
    else:
        assert outcome.status is SAT
        assert outcome.model.shape == (n,)
        assert outcome.model.dtype == np.bool_
        assert cost_of(outcome.model, rows, weights, hard) == expected


def conversation(engine, rows, n, weights, hard, *arguments):
    """What an engine reports: costs of models, counted; bounds; a conflict."""
    must = np.array(hard, dtype=np.bool_)
    counted = [0 if h else w for w, h in zip(weights, hard, strict=True)]
    problem = Problem(Clauses.from_lists(rows), n, counted, must)
    costs, bounds, conflicts = [], [], False
    said: list[Message] = []
    engine(said.append, problem, *arguments)
    for kind, _, what in said:
        if kind == "model":
            costs.append(problem.valued(problem.unpacked(what)).cost)
        elif kind == "bound":
            bounds.append(what)
        else:
            conflicts = True
    return costs, bounds, conflicts


def check_conversation(problem, costs, bounds, conflicts):
    rows, n, weights, hard = problem
    expected = optimum(rows, n, weights, hard)
    if expected is None:
        assert (costs, conflicts) == ([], True)
    else:
        assert not conflicts
        assert bounds[-1] == max(bounds) == expected
        assert all(cost >= expected for cost in costs)


@settings(deadline=None, max_examples=120)
@given(problems())
def test_rc2_alone_agrees_with_brute_force(problem):
    costs, bounds, conflicts = conversation(maxsat.raise_bound, *problem)
    if not conflicts and optimum(*problem) is None:
        # No soft clause is left to raise the bound by; the other side sees it.
        assert (costs, len(bounds)) == ([], 1)
        return
    check_conversation(problem, costs, bounds, conflicts)
    assert conflicts or min(costs, default=bounds[-1]) == bounds[-1]


def test_rc2_tells_of_the_model_of_each_stratum():
    rows = [[1], [-1, 2], [-2, -1], [3], [-3, -1]]
    problem = rows, 3, [100, 1, 1, 10, 1], [False] * 5
    costs, bounds, _ = conversation(maxsat.raise_bound, *problem)
    assert len(costs) > 1
    assert bounds == sorted(bounds)
    assert (costs[-1], bounds[-1]) == (2, 2)


def worst(rows, n, weights, hard):
    """An assignment of the greatest cost that the hard clauses allow, or None."""
    clauses, must = Clauses.from_lists(rows), np.array(hard, dtype=np.bool_)
    problem = Problem(clauses, n, weights, must)
    found = None
    for values in itertools.product([False, True], repeat=n):
        with contextlib.suppress(ValueError):
            valued = problem.valued(np.array(values, dtype=np.bool_))
            found = valued if found is None or valued.cost > found.cost else found
    return found


@pytest.mark.parametrize("most", [lower._MOST_CLAUSES, 0], ids=["sums", "digits"])
@settings(deadline=None, max_examples=120)
@given(problem=problems(), steps=st.sets(st.sampled_from(["climb", "near"])))
def test_searches_from_above_alone_agree_with_brute_force(most, problem, steps):
    """From the worst assignment, by some of the steps and the exact one at last."""
    start = worst(*problem)
    known = None if start is None else start.model
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lower, "_MOST_CLAUSES", most)
        for step in {"climb", "near"} - steps:
            patch.setattr(lower.Lowering, step, do_nothing)
        found = conversation(lower.lower_cost, *problem, known, Path("no hint"), None)
    check_conversation(problem, *found)
    costs, bounds, conflicts = found
    assert costs == sorted(set(costs), reverse=True)
    if not conflicts:
        assert bounds == [min([start.cost, *costs])]


@given(st.data(), st.integers(1, 6), st.booleans())
def test_networks_count(data, n, by_sums):
    """Each allows an assignment of what is counted exactly where it weighs less."""
    weight = data.draw(st.sampled_from([st.just(3), st.integers(1, 2**70)]))
    items = [
        (x * data.draw(st.sampled_from([1, -1])), data.draw(weight))
        for x in range(1, n + 1)
    ]
    total = sum(w for _, w in items)
    most = data.draw(st.integers(1, total + 1))
    make = lower.sums(items, most, n) if by_sums else lower.digits(items, n)
    bounds = {most, max(1, most // 2), min(most, items[0][1]), 1}
    for bound in sorted(bounds, reverse=True):
        with Solver("cadical153", bootstrap_with=make.clauses) as solver:
            solver.append_formula(make.below(bound))
            for signs in itertools.product([1, -1], repeat=n):
                model = [s * x for s, x in zip(signs, range(1, n + 1), strict=True)]
                weight = sum(w for x, w in items if x in model)
                assert solver.solve(assumptions=model) == (weight < bound)


@settings(deadline=None, max_examples=deep(30, 5))  # a child process each
@given(problems())
def test_without_weights_clauses_are_counted(problem):
    rows, n, _, _ = problem
    outcome = solve_maxsat(Clauses.from_lists(rows), n)
    assert outcome.cost == optimum(rows, n, [1] * len(rows), [False] * len(rows))


@pytest.mark.parametrize(
    "case",
    [c for c in case_parameters("dense", "satlib") if re.match("dense|.*/uu?f", c.id)],
)
def test_dense_and_random_cases(case):
    formula = read_dimacs(case.path).formula
    outcome = solve_maxsat(formula, formula.n_variables, time_limit=60)
    assert outcome.cost == case.expected["unsatisfied"]


def test_clauses_are_a_multiset_of_any_weight():
    rows = [[1], [1, 1], [-1], [1, -1], [2, -2, 3], [], []]
    outcome = solve_maxsat(Clauses.from_lists(rows), 4)
    assert outcome.cost == 3
    assert outcome.model.tolist() == [True, False, False, False]
    outcome = solve_maxsat(Clauses.from_lists(rows), 4, [1, 1, 5, 9, 9, 2**70, 1])
    assert outcome.cost == 2**70 + 3
    assert not outcome.model[0]
    clauses = Clauses.from_lists([[1], [-1], [2], [-2], [2]])
    weights = np.full(5, 2**62)
    assert solve_maxsat(clauses, 2, weights).cost == 2**63
    assert solve_maxsat(clauses, 2, [2**63] * 5).cost == 2**64


@pytest.mark.parametrize("n", [0, 3])
def test_nothing_to_satisfy(n):
    outcome = solve_maxsat(Clauses.from_lists([]), n, hard=[])
    assert (outcome.status, outcome.cost) == (SAT, 0)
    assert outcome.model.tolist() == [False] * n


def test_hard_clauses_alone_in_conflict_and_of_any_weight():
    for rows in ([[1], [-1], [2]], [[], [1], [2]], [[1, 2], [-1], [-2]]):
        hard = [True, True, rows[2] != [2]]
        outcome = solve_maxsat(Clauses.from_lists(rows), 2, hard=hard)
        assert (outcome.status, outcome.cost) == (UNSAT, None)
    outcome = solve_maxsat(Clauses.from_lists([[2], [-3, 1]]), 3, hard=[True, True])
    assert (outcome.status, outcome.cost) == (SAT, 0)
    assert outcome.model[1]
    clauses = Clauses.from_lists([[1], [-1]])
    assert solve_maxsat(clauses, 1, [0, 7], hard=[True, False]).cost == 7


@with_rows(
    "weights, message",
    ([1], "1 weights for 2 clauses"),
    ([1, 2, 3], "3 weights for 2 clauses"),
    ([1, 0], "clause 2: weight 0 is not positive"),
    ([-1, 1], "clause 1: weight -1 is not positive"),
    ([1, 1.5], "clause 2: weight 1.5 is no integer"),
    ([1, None], "clause 2: weight None is no integer"),
    (np.ones(2), "clause 1: .* is no integer"),
)
def test_bad_weights(weights, message):
    refused(message, solve_maxsat, Clauses.from_lists([[1], [-1]]), 1, weights)


@pytest.mark.parametrize("hard", [[True], [1, 0], [[True, False]], True])
def test_bad_marks_of_hard_clauses_and_literals(hard):
    clauses = Clauses.from_lists([[1], [-1]])
    refused("hard is no array of 2 booleans", solve_maxsat, clauses, 1, hard=hard)
    wide = Clauses.from_lists([[2]])
    refused("clause 1: literal 2 is outside ±1", solve_maxsat, wide, 1)


def hard_problem():
    rng = np.random.default_rng(0)
    literals = rng.integers(1, 201, 6000) * rng.choice([-1, 1], 6000)
    return Clauses(literals.astype(np.int32), np.arange(0, 6001, 3)), 200


@pytest.mark.children
def test_a_time_limit_leaves_the_best_model():
    costs = []
    for seconds in (1, 4, 16, 64):  # a busy machine needs longer for a model
        outcome = solve_maxsat(
            *hard_problem(),
            better=lambda cost, _: costs.append(cost),
            time_limit=seconds,
        )
        assert outcome.status is UNKNOWN
        assert outcome.reason == f"time limit of {seconds} s reached"
        if costs:
            break
    assert outcome.cost == costs[-1]
    assert costs == sorted(set(costs), reverse=True)
    assert outcome.lower < outcome.cost


@pytest.mark.children
def test_no_time_is_unknown():
    outcome = solve_maxsat(*hard_problem(), time_limit=0)
    assert (outcome.status, outcome.cost, outcome.model) == (UNKNOWN, None, None)


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


def kill_itself(*_):
    os.kill(os.getpid(), signal.SIGKILL)


def do_nothing(*_):
    pass


@pytest.mark.children
def test_killed_engines_are_unknown(monkeypatch):
    """One may die; the other goes on."""
    clauses = Clauses.from_lists([[1], [-1]])
    monkeypatch.setattr(maxsat, "raise_bound", kill_itself)
    assert solve_maxsat(clauses, 1).engine == "cadical153"
    monkeypatch.setattr(maxsat, "lower_cost", kill_itself)
    outcome = solve_maxsat(clauses, 1)
    assert outcome.status is UNKNOWN
    assert outcome.reason == "the child was killed by SIGKILL"


@with_rows(
    "said, message",
    ([("model", [-1, 2]), ("bound", 2)], "cost at least 2, a model has 1"),
    ([("bound", 1), ("model", [1, 2])], "cost at least 1, a model has 0"),
    ([("model", [1, -2])], "rc2 gave a wrong model: .* falsifies a hard clause"),
    ([("model", [-1, 2]), ("hard", None)], "the hard clauses have no model"),
)
def test_wrong_answers_are_errors(said, message, monkeypatch):
    def lie(report, problem):
        for kind, what in said:
            is_model = isinstance(what, list)
            report((kind, "rc2", problem.packed(what) if is_model else what))

    monkeypatch.setattr(maxsat, "raise_bound", lie)
    monkeypatch.setattr(maxsat, "lower_cost", do_nothing)
    with pytest.raises(RuntimeError, match=message):
        solve_maxsat(Clauses.from_lists([[1], [2]]), 2, hard=[False, True])


def test_the_best_of_what_engines_say_is_kept(monkeypatch):
    """A bound that falls and a model no better than the last change nothing."""

    def say(report, problem):
        for bound in (0, 1, 0):
            report(("bound", "rc2", bound))
        for model in ([-1, -2], [1, -2], [-1, 2]):
            report(("model", "rc2", problem.packed(model)))

    monkeypatch.setattr(maxsat, "raise_bound", say)
    monkeypatch.setattr(maxsat, "lower_cost", do_nothing)
    costs = []
    outcome = solve_maxsat(
        Clauses.from_lists([[1], [2]]), 2, better=lambda cost, _: costs.append(cost)
    )
    assert costs == [2, 1]
    assert (outcome.status, outcome.lower, outcome.model[1]) == (SAT, 1, False)


def test_an_engines_error_is_one_here_and_its_silence_unknown(monkeypatch):
    def fail(*_):
        raise KeyError("broken")

    monkeypatch.setattr(maxsat, "lower_cost", fail)
    with pytest.raises(RuntimeError, match="MaxSAT failed: KeyError: 'broken'"):
        solve_maxsat(Clauses.from_lists([[1]]), 1)
    monkeypatch.setattr(maxsat, "raise_bound", do_nothing)
    monkeypatch.setattr(maxsat, "lower_cost", do_nothing)
    outcome = solve_maxsat(Clauses.from_lists([[1]]), 1)
    assert (outcome.status, outcome.cost) == (UNKNOWN, None)
    assert outcome.reason == "the engines ended without an answer"


def test_time_that_others_used_counts():
    past = time.monotonic() - 2
    outcome = solve_maxsat(*hard_problem(), time_limit=1, since=past)
    assert (outcome.status, outcome.cost) == (UNKNOWN, None)
    assert outcome.reason == "time limit of 1 s reached"


@with_rows("most, prober", (lower._MOST_CLAUSES, "cadical153"), (0, "glucose4"))
def test_the_searches_from_above_take_turns(most, prober, monkeypatch):
    """Six pigeons, five holes: doubled conflicts prove 1; what succeeds costs less."""
    calls = []
    limited = lower.Lowering._limited

    def watched(self, solver, engine, conflicts, held):
        before = self.left()
        status = limited(self, solver, engine, conflicts, held)
        assert bool(status) == (self.left() < before)
        calls.append((engine, conflicts, status))
        return status

    monkeypatch.setattr(lower, "_MOST_CLAUSES", most)
    monkeypatch.setattr(lower, "_FIRST_CONFLICTS", 1)
    monkeypatch.setattr(lower, "_PATIENCE", (0.05, 0.05))
    monkeypatch.setattr(lower.Lowering, "_limited", watched)
    monkeypatch.setattr(lower.Lowering, "climb", do_nothing)
    holes = [[5 * pigeon + hole for hole in range(1, 6)] for pigeon in range(6)]
    pairs = [[-x, -y] for x in range(1, 31) for y in range(x + 5, 31, 5)]
    must, weights = [False] * 6 + [True] * len(pairs), [3] * 6 + [0] * len(pairs)
    start = np.zeros(30, dtype=np.bool_), Path("no hint"), None
    found = conversation(lower.lower_cost, holes + pairs, 30, weights, must, *start)
    assert (found[0][-1], found[1]) == (3, [3])
    nearby = lower._NEAR_CONFLICTS
    fruitless = [c for _, c, status in calls if c != nearby and status is None]
    assert len(fruitless) > (most == 0)
    assert fruitless == [2**i for i in range(len(fruitless))]
    first = next(i for i, (_, c, _) in enumerate(calls) if c != nearby)
    assert {engine for engine, _, _ in calls[:first]} == {"glucose4"}
    assert prober in {engine for engine, c, _ in calls[first:] if c == nearby}


def test_where_nothing_can_be_forked(monkeypatch):
    monkeypatch.setattr(child, "_FORKS", False)
    outcome = solve_maxsat(Clauses.from_lists([[1], [-1], [2]]), 2, [3, 2, 1])
    assert (outcome.cost, outcome.model.tolist()) == (2, [True, True])


@pytest.fixture
def no_rc2(monkeypatch):
    monkeypatch.setattr(maxsat, "raise_bound", do_nothing)
    monkeypatch.setattr(maxsat, "HEAD_START", 0.0)


@pytest.mark.usefixtures("no_rc2")
def test_what_is_known_is_searched_on_from():
    """9 falsified are known, 5 are found by the search and 3 by counting."""
    rows, weights = [[1], [-1], [2], [-2]], [4, 2, 5, 1]
    costs = []
    found = solve_maxsat(
        Clauses.from_lists(rows),
        2,
        weights,
        known=np.array([False, False]),
        search=lambda model: np.array([False, not model[1]]),
        better=lambda cost, model: costs.append(cost),
    )
    assert (found.cost, found.model.tolist()) == (3, [True, True])
    assert costs == [9, 5, 3]


@pytest.mark.children
@pytest.mark.usefixtures("no_rc2")
def test_what_a_search_finds_is_counted():
    """A search that lies, or loses hard clauses, is held against the clauses."""
    problem = Clauses.from_lists([[1], [2]]), 2
    known = np.array([True, False])

    def solve(found, **options):
        return solve_maxsat(
            *problem, known=known, search=lambda _: np.array(found), **options
        )

    assert solve([True, True]).engine == "search"
    assert solve([False, False]).cost == 0
    with pytest.raises(RuntimeError, match="falsifies a hard clause"):
        solve([False, True], hard=[True, False])


@pytest.mark.children
def test_the_search_from_above_takes_rc2s_models(monkeypatch, tmp_path):
    """The hint is read between calls, and the parent writes it for RC2's models."""
    clauses = [[x] for x in range(1, 9)]
    must = np.zeros(8, dtype=np.bool_)
    problem = Problem(Clauses.from_lists(clauses), 8, [1] * 8, must)
    race = maxsat._Race(problem, do_nothing, tmp_path / "hint")
    race.hear("rc2", problem.valued(np.arange(8) > 0))
    lowering = lower.Lowering(do_nothing, problem, tmp_path / "hint")
    lowering.take(np.zeros(8, dtype=np.bool_))
    assert lowering.left() == 1
    assert list(tmp_path.iterdir()) == []
    race.best = None
    race.hear("rc2", problem.valued(np.arange(8) > 3))
    assert lowering.left() == 1  # a worse one is no better than none


@pytest.mark.parametrize("step", ["climb", "near", "exact"])
def test_each_step_of_the_search_from_above_lowers_the_cost(step, monkeypatch):
    """Alone, from the worst assignment, to 9; only the exact one knows a bound."""
    for other in {"climb", "near", "exact"} - {step}:
        monkeypatch.setattr(lower.Lowering, other, do_nothing)
    rows = [[-1, -2], [1], [2], [-3, -1], [3]]
    problem = rows, 3, [0, 9, 66, 0, 517], [True, False, False, True, False]
    nothing = np.zeros(3, dtype=np.bool_), Path("no hint"), None
    costs, bounds, _ = conversation(lower.lower_cost, *problem, *nothing)
    assert (costs[-1], bounds) == (9, [9] if step == "exact" else [])


def test_a_climb_keeps_the_heavier_clauses_that_hold(tmp_path):
    """x1 of weight 3, then x2 of weight 1, of which only one can hold."""
    must = np.array([True, False, False])
    problem = Problem(Clauses.from_lists([[-1, -2], [1], [2]]), 2, [0, 3, 1], must)
    lowering = lower.Lowering(do_nothing, problem, tmp_path / "hint")
    lowering.take(np.array([True, False]))
    with Solver("glucose4", bootstrap_with=lowering.clauses) as solver:
        lowering.climb(solver)
    assert lowering.model.tolist() == [True, False]
