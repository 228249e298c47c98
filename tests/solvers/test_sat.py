import itertools
import os
import signal
import sys
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from olivine.reduction.certificate import checker
from olivine.reduction.formula.dimacs import read_dimacs
from olivine.solvers.child import child
from olivine.solvers.child.child import ChildResult
from olivine.solvers.outcome import SatStatus
from olivine.solvers.sat import sat
from olivine.solvers.sat.clauses import clause_lists
from olivine.solvers.sat.sat import Clauses, engines, satisfied, solve_sat

from tests.support.cases import case_parameters
from tests.support.depth import deep, spread

SAT, UNSAT, UNKNOWN = (
    SatStatus.SATISFIABLE,
    SatStatus.UNSATISFIABLE,
    SatStatus.UNKNOWN,
)


def is_satisfiable(lists, n):
    return any(
        all(any(values[abs(x) - 1] == (x > 0) for x in c) for c in lists)
        for values in itertools.product([False, True], repeat=n)
    )


@st.composite
def formulas(draw, max_n=8, max_m=40):
    n = draw(st.integers(0, max_n))
    if n == 0:
        return 0, draw(st.lists(st.just([]), max_size=2))
    # Few variables and many short clauses, or both answers would not occur.
    used = draw(st.integers(1, n))
    literal = st.integers(1, used).flatmap(lambda v: st.sampled_from([v, -v]))
    smallest = draw(st.sampled_from([1, 1, 1, 0]))
    clause = st.lists(literal, min_size=smallest, max_size=4)
    lists = draw(st.lists(clause, max_size=max_m))
    if lists and draw(st.booleans()):
        lists.append(draw(st.sampled_from(lists)))
    return n, lists


def pigeonhole(holes):
    """One pigeon more than holes; unsatisfiable and hard for resolution."""
    place = np.arange(1, (holes + 1) * holes + 1).reshape(holes + 1, holes)
    lists = place.tolist()
    for hole in place.T.tolist():
        lists += [[-a, -b] for a, b in itertools.combinations(hole, 2)]
    return Clauses.from_lists(lists), int(place[-1, -1])


def check_drat(clauses, proof):
    """Raise ValueError unless each step, and the empty clause, is RUP."""
    lists = list(clause_lists(clauses))
    n = max((abs(x) for clause in lists for x in clause), default=0)
    text = "".join(f"{line}\n" for line in [*proof, "0"])
    checker.check_refutation(checker.Formula(n, lists, []), text.encode())


@given(formulas())
def test_agrees_with_brute_force(formula):
    n, lists = formula
    clauses = Clauses.from_lists(lists)
    outcome = solve_sat(clauses, n, proof=True)
    assert outcome.reason == ""
    assert outcome.engine == "cadical153"
    if is_satisfiable(lists, n):
        assert outcome.status is SAT
        assert outcome.model.shape == (n,)
        assert outcome.model.dtype == np.bool_
        assert satisfied(clauses, outcome.model).all()
        assert outcome.proof is None
    else:
        assert outcome.status is UNSAT
        assert outcome.model is None
        check_drat(clauses, outcome.proof)


def known_cases():
    return [
        case
        for case in case_parameters("satlib", "cadical", "dense", "odd")
        if case.values[0].expected.get("satisfiable") is not None
    ]


@pytest.mark.parametrize("case", spread(known_cases(), 12))
def test_known_cases(case):
    formula = read_dimacs(case.path).formula
    outcome = solve_sat(formula, formula.n_variables, proof=True, time_limit=60)
    assert (outcome.status is SAT) == case.expected["satisfiable"]
    if outcome.status is UNSAT:
        check_drat(formula, outcome.proof)


def all_formulas_of_a_kind(seed, count):
    rng = np.random.default_rng(seed)
    for _ in range(count):
        n = int(rng.integers(1, 7))
        m = int(rng.integers(1, 9 * n))
        widths = rng.integers(1, 5, m)
        yield (
            n,
            [
                (rng.integers(1, n + 1, w) * rng.choice([-1, 1], w)).tolist()
                for w in widths
            ],
        )


@pytest.mark.parametrize("engine", spread(engines(), 6))
def test_every_engine_is_right(engine):
    proves = engine in engines(proof=True)
    seen = set()
    for n, lists in all_formulas_of_a_kind(seed=7, count=deep(12, 4)):
        clauses = Clauses.from_lists(lists)
        outcome = solve_sat(clauses, n, engine=engine, proof=proves)
        seen.add(outcome.status)
        assert (outcome.status is SAT) == is_satisfiable(lists, n)
        if outcome.status is UNSAT and proves:
            check_drat(clauses, outcome.proof)
    assert seen == {SAT, UNSAT}


@pytest.mark.parametrize("engine", spread(engines(proof=True), 6))
def test_longer_proofs_are_right(engine):
    clauses, n = pigeonhole(5)
    outcome = solve_sat(clauses, n, engine=engine, proof=True)
    assert outcome.status is UNSAT
    assert len(outcome.proof) > 10
    check_drat(clauses, outcome.proof)


def test_tested_engines_include_those_of_the_oldest_pysat_allowed():
    assert {"cadical153", "glucose4", "lingeling", "minisat22"} <= set(engines())
    assert set(engines(proof=True)) < set(engines())


@pytest.mark.parametrize("engine", engines())
def test_formulas_decided_without_solver(engine):
    nothing = Clauses.from_lists([])
    outcome = solve_sat(nothing, 3, engine=engine)
    assert (outcome.status, outcome.model.tolist()) == (SAT, [False] * 3)
    outcome = solve_sat(nothing, 0, engine=engine)
    assert (outcome.status, outcome.model.tolist()) == (SAT, [])
    empty_clause = Clauses.from_lists([[1], []])
    assert solve_sat(empty_clause, 1, engine=engine).status is UNSAT


def test_proofs_are_there_where_they_are_asked_for():
    clauses = Clauses.from_lists([[1], []])
    outcome = solve_sat(clauses, 1, proof=True)
    assert outcome.proof == ("0",)
    check_drat(clauses, outcome.proof)
    assert solve_sat(Clauses.from_lists([[1], [-1]]), 1).proof is None


@pytest.mark.parametrize("name", ["cd153", "CaDiCaL153", "g4", "minisat-gh", "lgl"])
def test_other_names_of_pysat(name):
    outcome = solve_sat(Clauses.from_lists([[-2]]), 2, engine=name)
    assert outcome.model.tolist() == [False, False]
    assert outcome.engine in engines()


@pytest.mark.parametrize("name", ["", "minisat", "cryptominisat", "no such"])
def test_unknown_engines_are_refused(name):
    with pytest.raises(ValueError, match="unknown SAT engine"):
        solve_sat(Clauses.from_lists([[1]]), 1, engine=name)


@pytest.mark.parametrize("engine", sorted(set(engines()) - set(engines(proof=True))))
def test_proofs_are_not_asked_of_those_without(engine):
    with pytest.raises(ValueError, match="gives no usable proof"):
        solve_sat(Clauses.from_lists([[1]]), 1, engine=engine, proof=True)


@pytest.mark.parametrize("literal", [0, 3, -3, -(2**31), 2**31 - 1])
def test_bad_literals_never_reach_the_engine(literal, monkeypatch):
    monkeypatch.setattr(sat, "run_in_child", None)
    with pytest.raises(ValueError, match="clause 1"):
        solve_sat(Clauses.from_lists([[1, literal]]), 2)


def test_unused_variables_are_false_wherever_they_are():
    clauses = Clauses.from_lists([[2], [-4, 2], [4]])
    for engine in engines():
        model = solve_sat(clauses, 6, engine=engine).model
        assert model.tolist() == [False, True, False, True, False, False]


def test_large_formula_with_mixed_widths():
    rng = np.random.default_rng(3)
    n, m = 20_000, 50_000
    planted = rng.random(n) < 0.5
    literals = rng.integers(1, n + 1, 3 * m) * rng.choice([-1, 1], 3 * m)
    first = literals[::3]
    literals[::3] = np.where(planted[abs(first) - 1], abs(first), -abs(first))
    literals = np.append(literals, [1, -1]).astype(np.int32)
    offsets = np.append(np.arange(0, 3 * m + 1, 3), 3 * m + 2)
    outcome = solve_sat(Clauses(literals, offsets), n)
    assert outcome.status is SAT
    assert satisfied(Clauses(literals, offsets), outcome.model).all()


@pytest.mark.children
def test_time_limit_is_unknown():
    clauses, n = pigeonhole(12)
    outcome = solve_sat(clauses, n, time_limit=0.2)
    assert (outcome.status, outcome.model) == (UNKNOWN, None)
    assert outcome.reason == "time limit of 0.2 s reached"


@pytest.mark.children
@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_memory_limit_is_unknown():
    clauses, n = pigeonhole(60)
    outcome = solve_sat(clauses, n, memory_limit=2**20, time_limit=60)
    assert (outcome.status, outcome.reason) == (
        UNKNOWN,
        "memory limit of 1 MiB reached",
    )


@pytest.mark.children
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_an_engine_killed_from_outside_is_unknown(number, monkeypatch):
    clauses, n = pigeonhole(12)
    fork = os.fork

    def fork_and_kill():
        victim = fork()
        if victim and fork() == 0:
            time.sleep(0.1)
            os.kill(victim, number)
            os._exit(0)
        return victim

    monkeypatch.setattr(os, "fork", fork_and_kill)
    outcome = solve_sat(clauses, n, time_limit=60)
    os.wait()
    assert outcome.status is UNKNOWN
    assert outcome.reason == f"the child was killed by {number.name}"


def answering(answer, monkeypatch):
    monkeypatch.setattr(
        sat, "run_in_child", lambda *_, **__: ChildResult("done", answer, 0.1)
    )


def test_a_wrong_model_is_an_error_and_giving_up_unknown(monkeypatch):
    answering((True, sat.pack_model([-1, 2], 2)), monkeypatch)
    with pytest.raises(RuntimeError, match="glucose4 gave a model that falsifies 1"):
        solve_sat(Clauses.from_lists([[1], [2]]), 2, engine="glucose4")
    answering((None, b""), monkeypatch)
    outcome = solve_sat(Clauses.from_lists([[1]]), 1)
    assert (outcome.status, outcome.reason) == (UNKNOWN, "cadical153 gave up")


def test_an_exception_in_the_engine_is_an_error(monkeypatch):
    monkeypatch.setattr(sat, "Solver", None)
    with pytest.raises(RuntimeError, match="cadical153 failed: TypeError"):
        solve_sat(Clauses.from_lists([[1]]), 1)


def test_where_nothing_can_be_forked(monkeypatch):
    monkeypatch.setattr(child, "_FORKS", False)
    clauses = Clauses.from_lists([[1, 2], [-1], [-2, 3]])
    assert solve_sat(clauses, 3).model.tolist() == [False, True, True]
    clauses = Clauses.from_lists([[1], [-1]])
    assert solve_sat(clauses, 1, proof=True).status is UNSAT


@given(st.integers(0, 40), st.data())
def test_packed_models_come_back(n, data):
    signs = data.draw(st.lists(st.booleans(), min_size=n, max_size=n))
    model = [v if sign else -v for v, sign in enumerate(signs, 1)]
    shuffled = data.draw(st.permutations(model))
    foreign = [n + 1, -(n + 2)]
    packed = sat.pack_model([*shuffled, *foreign], n)
    assert sat.unpack_model(packed, n).tolist() == signs
