import itertools
import os
import random
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
from olivine.solvers.sat.clauses import Clauses, check_clauses, clause_lists, satisfied
from olivine.solvers.sat.sat import engines, lrat_lines, solve_sat

from tests.support.cases import case_parameters
from tests.support.certificates import replay
from tests.support.depth import deep, spread, with_rows
from tests.support.refusals import refused

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


def literals_over(n):
    return st.integers(1, n).flatmap(lambda v: st.sampled_from([v, -v]))


def clause_lists_over(n, max_width=4, max_size=12):
    literal = literals_over(n) if n else st.nothing()
    clause = st.lists(literal, max_size=max_width if n else 0)
    return st.lists(clause, max_size=max_size)


@st.composite
def listed_formulas(draw):
    n = draw(st.integers(0, 6))
    return n, draw(clause_lists_over(n))


@given(listed_formulas())
def test_lists_and_arrays_are_the_same(formula):
    n, lists = formula
    clauses = Clauses.from_lists(lists)
    assert list(clause_lists(clauses)) == lists
    assert clauses.literals.dtype == np.int32
    assert clauses.offsets.dtype == np.int64
    check_clauses(clauses, n)


@given(listed_formulas(), st.data())
def test_satisfied_is_what_it_says(formula, data):
    n, lists = formula
    values = data.draw(st.lists(st.booleans(), min_size=n, max_size=n))
    expected = [any(values[abs(x) - 1] == (x > 0) for x in c) for c in lists]
    clauses = Clauses.from_lists(lists)
    for assignment in (values, np.array(values, dtype=bool)):
        result = satisfied(clauses, assignment)
        assert result.dtype == np.bool_
        assert result.tolist() == expected


@given(st.integers(1, 5), st.integers(1, 4), st.integers(1, 8), st.data())
def test_one_width(n, width, m, data):
    clause = st.lists(literals_over(n), min_size=width, max_size=width)
    lists = data.draw(st.lists(clause, min_size=m, max_size=m))
    assert list(clause_lists(Clauses.from_lists(lists))) == lists


@pytest.mark.parametrize("literal", [2**31, -(2**31) - 1, 2**32 + 1, 10**30])
def test_literals_beyond_32_bits_are_refused(literal):
    refused("does not fit 32 bits", Clauses.from_lists, [[1], [2, literal]])


@pytest.mark.parametrize("literal", [4, -4, 2**31 - 1, -(2**31)])
def test_literals_beyond_n_are_refused(literal):
    clauses = Clauses.from_lists([[1, -2], [], [3, literal, literal]])
    refused(f"clause 3: literal {literal} is outside ±3", check_clauses, clauses, 3)


def test_zero_is_no_literal_and_every_variable_needs_a_value():
    with pytest.raises(ValueError, match="clause 2: 0 is no literal"):
        check_clauses(Clauses.from_lists([[1], [-1, 0]]), 3)
    with pytest.raises(ValueError, match="assignment of 1 variables, but 2 is used"):
        satisfied(Clauses.from_lists([[1, -2]]), [True])


def arrays(literals, offsets, literal_type=np.int32, offset_type=np.int64):
    return Clauses(np.array(literals, literal_type), np.array(offsets, offset_type))


@with_rows(
    "clauses",
    arrays([1, 2], []),
    arrays([1, 2], [0]),
    arrays([1, 2], [0, 1]),
    arrays([1, 2], [0, 3]),
    arrays([1, 2], [1, 2]),
    arrays([1, 2], [0, 2, 1, 2]),
    arrays([1, 2], [0, 2], np.float64),
    arrays([1, 2], [0, 2], np.int32, np.float64),
    arrays([1, 2], [0, 2], np.uint32),
    arrays([[1, 2]], [0, 2]),
)
def test_arrays_that_do_not_fit_are_refused(clauses):
    with pytest.raises(ValueError):
        check_clauses(clauses, 5)


@pytest.mark.parametrize("n", [-1, 2**31])
def test_number_of_variables_is_checked(n):
    refused("variables", check_clauses, Clauses.from_lists([]), n)


@pytest.mark.parametrize("assignment", [[1, 0], [0.5, 1.0], [[True, False]], True])
def test_assignments_are_flat_booleans(assignment):
    refused("flat array of booleans", satisfied, Clauses.from_lists([[1]]), assignment)


N = 6
LITERALS = st.integers(1, N).flatmap(lambda v: st.sampled_from([v, -v]))
CLAUSES = st.lists(st.lists(LITERALS, max_size=3), max_size=40)


def refutable(seed: int, n: int = 20) -> tuple[list[list[int]], list[str]]:
    """Random clauses of width 3, and an engine's proof against them."""
    draw = random.Random(seed)
    while True:
        clauses = [
            [v * draw.choice((-1, 1)) for v in draw.sample(range(1, n + 1), 3)]
            for _ in range(6 * n)
        ]
        outcome = solve_sat(Clauses.from_lists(clauses), n, proof=True)
        if outcome.proof is not None:
            return clauses, list(outcome.proof)


@given(CLAUSES, st.sampled_from(["cadical153", "glucose4"]))
def test_what_an_engine_proves_is_replayed(clauses, engine) -> None:
    """Empty, unit, repeated and tautological clauses included."""
    outcome = solve_sat(Clauses.from_lists(clauses), N, engine=engine, proof=True)
    if outcome.proof is None:
        with pytest.raises(ValueError, match="without the empty clause"):
            list(lrat_lines(clauses, []))
    else:
        assert replay(clauses, lrat_lines(clauses, outcome.proof)) == ""


@given(CLAUSES, st.lists(st.lists(LITERALS, max_size=2), max_size=6), st.randoms())
def test_whatever_is_accepted_can_be_replayed(clauses, steps, draw) -> None:
    """With deletions of any clause between the steps, and steps that prove nothing."""
    lines = [" ".join(map(str, [*step, 0])) for step in steps]
    for place in range(len(lines), 0, -1):
        if clauses and draw.random() < 0.3:
            gone = draw.choice(clauses)
            lines.insert(place, " ".join(map(str, ["d", *gone, 0])))
    try:
        made = list(lrat_lines(clauses, lines))
    except ValueError:
        return
    assert replay(clauses, made) == ""


def test_a_thousand_mutants_are_refused() -> None:
    """A changed number is seen, or the line still follows as it stands."""
    clauses, proof = refutable(0)
    lines = list(lrat_lines(clauses, proof))
    assert replay(clauses, lines) == ""
    draw, refused = random.Random(0), 0
    count = deep(1000, 200)
    while refused < count:
        changed = list(lines)
        place = draw.randrange(len(lines))
        words = changed[place].split()
        kind = draw.randrange(3)
        if words[1] == "d":
            continue
        if kind == 0:  # without its last hint, the conflict
            del words[-2]
        elif kind == 1:  # a hint that is not there yet
            words[-2] = str(10**6)
        else:  # a literal that no clause has
            words.insert(1, "99")
            words[-2:-1] = []
        changed[place] = " ".join(words)
        assert replay(clauses, changed) != ""
        refused += 1


@with_rows(
    "proof, reason",
    (["1 0", "0"], "step 1: the clause is not RUP"),
    (["2 0", "-2 1"], "step 2: a line of DRAT ends"),
    (["1 0 2 0"], "step 1: a line of DRAT ends"),
    (["2 0"], "the proof ends without the empty clause"),
)
def test_what_is_no_refutation_is_refused_by_step(proof, reason) -> None:
    with pytest.raises(ValueError, match=reason):
        list(lrat_lines([[1, 2], [-1, 2]], proof))


FULL2 = [[1, 2], [-1, 2], [1, -2], [-1, -2]]
LATE = [[1, 2], [-1, 3], [-2, 3], [-3, 4], [-3, -4]]


@with_rows(
    "clauses, proof, lines",
    (FULL2, "2 0/d 1 2 0/0", "5 2 0 1 2 0/6 1 0 5 3 0/7 0 6 5 4 0"),
    (FULL2, "1 2 0/d 2 1 0", "5 1 2 0 1 0/5 d 5 0"),
    ([*FULL2, [3, 1]], "d 1 3 0/d 3 1 0", "5 d 5 0"),
    ([[3], [1, 2], [1, -2], [4, -4]], "3 1 0/d 3 0/d 4 -4 0", "5 3 1 0 1 0/5 d 4 0"),
    ([[1], [-1, 2], [-2]], "", "4 -1 0 3 2 0/5 0 4 1 0"),
    (LATE, "d -3 4 0/3 0", "5 d 4 0/6 3 0 2 3 1 0/7 -4 0 6 5 0"),
    (LATE, "3 5 0/d 5 3 0/3 0", "6 3 5 0 2 3 1 0/6 d 6 0/7 3 0 2 3 1 0/8 4 0 7 4 0/…"),
)
def test_steps_and_deletions_line_by_line(clauses, proof, lines) -> None:
    expected = lines.replace("…", "9 0 8 7 5 0").split("/")
    made = lrat_lines(clauses, filter(None, proof.split("/")))
    assert [next(made) for _ in expected] == [f"{line}\n" for line in expected]
    if expected[-1].split()[1] == "0":
        assert next(made, "") == replay(clauses, expected) == ""
    else:
        refused("without the empty clause", next, made)
