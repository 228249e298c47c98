"""Formulas, their 3-SAT form, and PySAT's."""

import hashlib
import pickle
import struct
from collections import Counter
from fractions import Fraction
from math import comb, sqrt

import numpy as np
import olivine
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from olivine.reduction.formula import prepare
from olivine.reduction.formula.dimacs import read_dimacs
from olivine.reduction.formula.formula import MAX_VARIABLE, MAX_WEIGHT, Formula
from olivine.reduction.formula.prepare import as_formula, to_pysat
from olivine.reduction.formula.random_formula import random_ksat
from olivine.reduction.formula.three_sat import NO_SOURCE, _chains
from pysat.formula import CNF, WCNF, CNFPlus, WCNFPlus

from tests.support.cases import case_parameters
from tests.support.depth import with_rows
from tests.support.families import assignments as all_assignments
from tests.support.formulas import (
    assignments,
    formulas,
    formulas_with_assignments,
    least_unsatisfied,
)

DOCUMENTED = ("dimacs", "formula", "random_formula")


def truth(clause, assignment):
    return any(bool(assignment[abs(x) - 1]) == (x > 0) for x in clause)


@given(formulas(hard=True))
def test_clauses_come_out_as_they_went_in(formula):
    rows = list(formula.clauses())
    assert len(rows) == len(formula) == formula.n_clauses
    assert rows == [formula.clause(j) for j in range(len(formula))]
    assert formula.widths.tolist() == [len(row) for row in rows]
    again = Formula.from_clauses(
        rows, formula.n_variables, formula.weights, formula.hard
    )
    assert again == formula
    assert hash(again) == hash(formula)
    assert again.digest() == formula.digest()


@given(formulas_with_assignments(max_variables=6, hard=True))
def test_evaluation_follows_the_definition(pair):
    formula, assignment = pair
    rows = list(formula.clauses())
    satisfied = [truth(row, assignment) for row in rows]
    assert formula.satisfied(assignment).tolist() == satisfied
    weights = [1] * len(rows) if formula.weights is None else formula.weights.tolist()
    lost = sum(w for w, true in zip(weights, satisfied, strict=True) if not true)
    assert formula.unsatisfied_weight(assignment) == lost
    assert formula.total_weight == sum(weights)


@given(formulas(hard=True), formulas(hard=True))
def test_equal_exactly_if_the_digests_are(a, b):
    assert (a == b) == (a.digest() == b.digest())
    assert a != "a formula"


@given(formulas(hard=True))
def test_digest_is_of_the_documented_bytes(formula):
    flags = 1 * formula.is_weighted + 2 * (formula.hard is not None)
    m, size = len(formula), len(formula.literals)
    content = b"olivine formula 1\n"
    content += struct.pack("<4q", formula.n_variables, m, size, flags)
    content += struct.pack(f"<{m + 1}q", *formula.offsets.tolist())
    content += struct.pack(f"<{size}i", *formula.literals.tolist())
    if formula.is_weighted:
        content += struct.pack(f"<{m}q", *formula.weights.tolist())
    if formula.hard is not None:
        content += bytes(formula.hard.tolist())
    assert formula.digest() == hashlib.sha256(content).hexdigest()


@given(formulas(hard=True))
def test_arrays_cannot_be_written_not_even_after_pickling(formula):
    copy = pickle.loads(pickle.dumps(formula))
    assert copy == formula
    for one in (formula, copy):
        for array in (one.literals, one.offsets, one.weights, one.hard):
            assert array is None or not array.flags.writeable
    with pytest.raises(AttributeError):
        formula.n_variables = 3


def test_the_arguments_are_copied():
    literals, offsets, weights = np.array([1, -2]), np.array([0, 2]), np.array([7])
    formula = Formula(2, literals, offsets, weights)
    literals[0] = offsets[1] = weights[0] = 2
    assert list(formula.clauses()) == [(1, -2)]
    assert formula.total_weight == 7


def test_what_tells_formulas_apart():
    rows = [(1, 2), (-1,)]
    plain = Formula.from_clauses(rows)
    assert plain != Formula.from_clauses(rows, 3)
    assert plain != Formula.from_clauses(rows[::-1])
    assert plain != Formula.from_clauses([(2, 1), (-1,)])
    assert plain != Formula.from_clauses([(1,), (2, -1)])
    ones = Formula.from_clauses(rows, weights=[1, 1])
    assert plain != ones
    assert ones == Formula.from_clauses(rows, weights=[1, 1], hard=[False, False])
    hard = Formula.from_clauses(rows, weights=[1, 9], hard=[False, True])
    assert hard != ones
    assert hard == Formula.from_clauses(rows, hard=[False, True])
    assert hard.weights.tolist() == [1, 0]
    assert hard.total_weight == 1


def test_totals_beyond_64_bits_and_formulas_of_nothing():
    formula = Formula.from_clauses([()] * 5, weights=[MAX_WEIGHT] * 5)
    assert formula.total_weight == 5 * MAX_WEIGHT
    assert formula.unsatisfied_weight([]) == 5 * MAX_WEIGHT
    formula = Formula.from_clauses([])
    assert (formula.n_variables, len(formula), formula.total_weight) == (0, 0, 0)
    assert formula.satisfied([]).shape == (0,)
    assert formula == Formula(0, [], [0])
    assert Formula.from_clauses([()]).satisfied([]).tolist() == [False]
    with pytest.raises(IndexError):
        formula.clause(0)


@with_rows(
    "arguments, message",
    ((2, [1, 0], [0, 1, 2]), "clause 1: 0 is no literal"),
    ((2, [1, 3], [0, 0, 2]), "clause 1: 3 is no literal of 2"),
    ((2, [1, -3], [0, 2, 2, 2]), "clause 0: -3"),
    ((2, [1.0, 2.0], [0, 2]), "clause 0: 1.0"),
    ((2, [1, None], [0, 1, 2]), "clause 1: None"),
    ((2, [True, True], [0, 2]), "clause 0: True"),
    ((2, [1, 2**63], [0, 1, 2]), "clause 1: 9223372036854775808"),
    ((2, np.array([1, -(2**31)]), [0, 1, 2]), "clause 1: -2147483648"),
    ((2, [1, 2], [0, 1]), "literals of shape"),
    ((2, [[1, 2]], [0, 2]), "literals of shape"),
    ((2, [1, 2], [0, 2, 1, 2]), "clause 1: offsets fall to 1"),
    ((2, [1, 2], [1, 2]), "offsets must start with 0"),
    ((2, [], []), "offsets must start with 0"),
    ((2, [1], [0.0, 1.0]), "offsets"),
    ((-1, [], [0]), "n_variables: -1 is no integer"),
    ((MAX_VARIABLE + 1, [], [0]), "n_variables: 2147483648 is not in"),
    ((1, [1], [0, 1], [0]), "clause 0: weight 0"),
    ((1, [1, 1], [0, 1, 2], [1, -1]), "clause 1: weight -1"),
    ((1, [1], [0, 1], [MAX_WEIGHT + 1]), "clause 0: weight 9223372036854775808"),
    ((1, [1], [0, 1], [2**70]), "clause 0: weight 1180591620717411303424"),
    ((1, [1], [0, 1], [0.5]), "clause 0: weight 0.5"),
    ((1, [1], [0, 1], [Fraction(1, 2)]), "clause 0: weight Fraction"),
    ((1, [1], [0, 1], [True]), "clause 0: weight True"),
    ((1, [1], [0, 1], [1, 1]), "weights of shape"),
    ((1, [1], [0, 1], None, [1]), "hard of shape"),
    ((1, [1], [0, 1], None, [True, True]), "hard of shape"),
)
def test_what_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        Formula(*arguments)


@with_rows(
    "rows, message",
    ([[1], [0]], "clause 1: 0"),
    ([[1], [2, "x"]], "clause 1: 'x'"),
    ([[1], [], [2, 1.5]], "clause 2: 1.5"),
    ([[2**31]], "clause 0: 2147483648"),
    ([[1], [-(2**200)]], "clause 1: -1606938"),
)
@pytest.mark.parametrize("n_variables", [None, 4])
def test_from_clauses_names_the_clause(rows, message, n_variables):
    with pytest.raises(ValueError, match=message):
        Formula.from_clauses(rows, n_variables)


@pytest.mark.parametrize("assignment", [[True], [True] * 3, [1, 0], [0.0, 1.0], "ab"])
def test_assignments_that_are_none(assignment):
    with pytest.raises(ValueError, match="assignment"):
        Formula.from_clauses([(1, 2)]).satisfied(assignment)


# -- random formulas


@given(st.data(), st.integers(0, 2**32), st.integers(1, 9), st.integers(0, 30))
def test_random_clauses_have_distinct_variables(data, seed, n, m):
    k = data.draw(st.integers(1, n))
    rng = np.random.default_rng(seed)
    planted = data.draw(st.one_of(st.none(), assignments(n)))
    formula = random_ksat(n, m, k, rng, planted=planted)
    assert (formula.n_variables, len(formula)) == (n, m)
    for clause in formula.clauses():
        assert len(clause) == len({abs(x) for x in clause}) == k
    if planted is not None:
        assert formula.satisfied(planted).all()
    if not m:
        return
    assert random_ksat(n, m, k, np.random.default_rng(seed), planted=planted) == formula


def test_planted_assignments_and_clauses_of_all_variables():
    formula = random_ksat(4, 200, 3, np.random.default_rng(5), planted=True)
    codes = range(2**4)
    rows = list(formula.clauses())
    assert any(
        all(truth(row, [code >> i & 1 for i in range(4)]) for row in rows)
        for code in codes
    )
    formula = random_ksat(80, 40, 80, np.random.default_rng(0), planted=[True] * 80)
    assert all({abs(x) for x in row} == set(range(1, 81)) for row in formula.clauses())
    with pytest.raises(ValueError, match="assignment"):
        random_ksat(3, 1, 2, np.random.default_rng(0), planted=[True])


@pytest.mark.parametrize("planted", [False, True])
def test_random_clauses_are_uniform(planted):
    n, k, m = 5, 3, 70_000
    assignment = np.array([True, False, True, True, False]) if planted else None
    formula = random_ksat(n, m, k, np.random.default_rng(11), planted=assignment)
    counts = Counter(formula.clauses())
    possible = comb(n, k) * 6 * (2**k - planted)  # ordered, with signs
    assert len(counts) == possible
    # chi-square around its mean, within 5 standard deviations (a fixed seed)
    expected = m / possible
    chi_square = sum((c - expected) ** 2 / expected for c in counts.values())
    freedom = possible - 1
    assert abs(chi_square - freedom) < 5 * sqrt(2 * freedom)


@with_rows("n, m, k", (2, 1, 3), (3, 1, 0), (0, 0, 0), (3, -1, 2), (2**31, 1, 3))
def test_impossible_random_formulas(n, m, k):
    with pytest.raises(ValueError, match=r"expected 1 <= k|m: -1 is no int"):
        random_ksat(n, m, k, np.random.default_rng(0))


def rows_and_weights(clauses, weights):
    rows = [tuple(row) for row in clauses]
    return rows, [1] * len(rows) if weights is None else weights.tolist()


def by_the_rules(formula):
    """The 3-SAT form of docs/reduction.md, clause by clause, in plain Python."""
    fresh = formula.n_variables
    rows, source = [], []
    for j, clause in enumerate(formula.clauses()):
        k = len(distinct := list(dict.fromkeys(clause)))
        if k == 0:
            fresh += 1
            made = [[fresh] * 3, [-fresh] * 3]
        elif k <= 3:
            made = [distinct + [distinct[-1]] * (3 - k)]
        else:
            y = [fresh + i for i in range(1, k - 2)]
            fresh += k - 3
            made = [[distinct[0], distinct[1], y[0]]]
            made += [[-y[i], distinct[i + 2], y[i + 1]] for i in range(k - 4)]
            made += [[-y[-1], distinct[-2], distinct[-1]]]
        rows += made
        source += [j] * len(made)
    if not rows:
        fresh = max(fresh, 1)
        rows, source = [[1, -1, -1]], [NO_SOURCE]
    return fresh, rows, source


@given(formulas(max_variables=6, max_width=8))
def test_the_form_is_the_one_stated(formula):
    three_sat = formula.three_sat()
    n, rows, source = by_the_rules(formula)
    assert three_sat.n_variables == n
    assert three_sat.n_fresh == n - formula.n_variables
    assert three_sat.clauses.tolist() == rows
    assert three_sat.clauses.shape == (three_sat.n_clauses, 3)
    assert three_sat.source.tolist() == source
    assert three_sat.original is formula
    assert three_sat.is_weighted == formula.is_weighted
    if formula.is_weighted and len(formula):
        assert three_sat.weights.tolist() == formula.weights[source].tolist()
        assert three_sat.total_weight == sum(three_sat.weights.tolist())
    for array in (three_sat.clauses, three_sat.weights, three_sat.source):
        assert array is None or not array.flags.writeable


@given(formulas(max_variables=4, max_clauses=4, max_width=6))
def test_lemma_1_by_brute_force(formula):
    three_sat = formula.three_sat()
    assume(three_sat.n_variables <= 11)
    rows, weights = rows_and_weights(formula.clauses(), formula.weights)
    before = least_unsatisfied(rows, weights, formula.n_variables)
    rows, weights = rows_and_weights(three_sat.clauses.tolist(), three_sat.weights)
    assert least_unsatisfied(rows, weights, three_sat.n_variables) == before


@given(formulas(max_variables=4, max_clauses=8, max_width=8))
def test_extending_loses_nothing(formula):
    three_sat = formula.three_sat()
    for assignment in all_assignments(formula.n_variables):
        extended = three_sat.extend(assignment)
        assert np.array_equal(three_sat.restrict(extended), assignment)
        lost = formula.unsatisfied_weight(assignment)
        assert three_sat.unsatisfied_weight(extended) == lost
        # one clause of a chain, and only of a chain whose original is falsified
        unsatisfied = three_sat.source[~three_sat.satisfied(extended)]
        falsified = np.flatnonzero(~formula.satisfied(assignment))
        assert unsatisfied.tolist() == falsified.tolist()


@given(st.data(), formulas(max_variables=5, max_clauses=8, max_width=8))
def test_restricting_never_makes_it_worse(data, formula):
    three_sat = formula.three_sat()
    assignment = data.draw(assignments(three_sat.n_variables))
    here = three_sat.unsatisfied_weight(assignment)
    assert formula.unsatisfied_weight(three_sat.restrict(assignment)) <= here


@given(st.data(), formulas(max_variables=5, max_clauses=8, max_width=8))
def test_as_formula_evaluates_alike(data, formula):
    three_sat = formula.three_sat()
    plain = three_sat.as_formula()
    assert (plain.n_variables, len(plain)) == (
        three_sat.n_variables,
        three_sat.n_clauses,
    )
    assert plain.total_weight == three_sat.total_weight
    assignment = data.draw(assignments(three_sat.n_variables))
    satisfied = plain.satisfied(assignment)
    assert three_sat.satisfied(assignment).tolist() == satisfied.tolist()
    lost = plain.unsatisfied_weight(assignment)
    assert three_sat.unsatisfied_weight(assignment) == lost


@given(formulas_with_assignments(max_variables=5))
def test_the_form_of_the_form_satisfies_as_much(pair):
    formula, assignment = pair
    once = formula.three_sat()
    twice = once.as_formula().three_sat()
    assert (twice.n_fresh, twice.n_clauses) == (0, once.n_clauses)
    extended = once.extend(assignment)
    lost = once.unsatisfied_weight(extended)
    assert twice.unsatisfied_weight(twice.extend(extended)) == lost


@pytest.mark.parametrize("case", case_parameters("satlib", "cadical", "dense"))
def test_counts_of_the_cases(case):
    three_sat = read_dimacs(case.path).formula.three_sat()
    counts = {"variables": three_sat.n_variables, "clauses": three_sat.n_clauses}
    assert counts == case.expected["three_sat"]


def test_weights_beyond_64_bits_and_long_clauses():
    formula = Formula.from_clauses([(), (1, 2, 3, 4)], weights=[MAX_WEIGHT] * 2)
    three_sat = formula.three_sat()
    assert three_sat.total_weight == 4 * MAX_WEIGHT
    assert three_sat.unsatisfied_weight(three_sat.extend([False] * 4)) == 2 * MAX_WEIGHT
    k = 10_000
    formula = Formula.from_clauses([range(1, k + 1)])
    three_sat = formula.three_sat()
    assert (three_sat.n_variables, three_sat.n_clauses) == (2 * k - 3, k - 2)
    for true in (0, 1, 2, 5000, k - 2, k - 1):
        assignment = np.zeros(k, dtype=bool)
        assignment[true] = True
        assert three_sat.satisfied(three_sat.extend(assignment)).all()
    nothing = three_sat.satisfied(three_sat.extend(np.zeros(k, dtype=bool)))
    assert np.count_nonzero(~nothing) == 1


def test_hard_clauses_and_too_many_fresh_variables_are_refused():
    formula = Formula.from_clauses([(1,), (2,)], hard=[False, True])
    with pytest.raises(ValueError, match="clause 1 is hard"):
        formula.three_sat()
    widths = np.array([6, 6])
    literals = np.arange(1, 13, dtype=np.int32)
    assert _chains(MAX_VARIABLE - 6, widths, literals)[0] == MAX_VARIABLE
    with pytest.raises(ValueError, match="needs 2147483648 variables"):
        _chains(MAX_VARIABLE - 5, widths, literals)


@pytest.mark.parametrize("method", ["extend", "restrict", "satisfied"])
def test_assignments_of_the_wrong_length(method):
    three_sat = Formula.from_clauses([range(1, 8)]).three_sat()
    with pytest.raises(ValueError, match="assignment"):
        getattr(three_sat, method)([True] * 8)


AT_MOST = "1 2 <= 1\n"


@given(formulas(hard=True, large_weights=False))
def test_a_formula_comes_back(formula) -> None:
    """But that hard clauses are in front."""
    back = as_formula(to_pysat(formula))
    if formula.hard is None:
        assert back == formula
        return
    order = sorted(range(len(formula)), key=lambda j: not formula.hard[j])
    assert list(back.clauses()) == [formula.clause(j) for j in order]
    assert back.weights.tolist() == formula.weights[order].tolist()
    assert back.n_variables == formula.n_variables


def test_verify_family_and_decide_take_them() -> None:
    cnf = CNF(from_clauses=[[1, 2], [-1, 2], [1, -2], [-1, -2]])
    formula = olivine.Formula.from_clauses(cnf.clauses)
    assert olivine.verify(cnf).optimum == olivine.verify(formula).optimum
    assert olivine.Family(cnf).mdp() == olivine.Family(formula.three_sat()).mdp()
    assert olivine.decide(cnf).satisfiable is False
    weighted = WCNF()
    weighted.append([1], weight=3)
    weighted.append([-1], weight=1)
    assert olivine.verify(weighted, "gap").unsatisfied == 1


@with_rows(
    "source, error, reason",
    ([[1]], TypeError, r"list is no formula: olivine.Formula.from_clauses\("),
    ("a.cnf", TypeError, r"str is no formula: olivine.read_dimacs\("),
    ({}, TypeError, "dict is no formula: give a Formula, or PySAT's"),
    (None, TypeError, "NoneType is no formula"),
    (CNFPlus(from_string="p cnf+ 2 1\n1 2 <= 1\n"), ValueError, "cardinal"),
    (WCNFPlus(from_string="p wcnf+ 2 1 9\n9 1 2 <= 1\n"), ValueError, "cardinal"),
    (CNF(from_clauses=[[2**31]]), ValueError, "variables"),
)
def test_what_is_no_formula_is_refused(source, error, reason) -> None:
    with pytest.raises(error, match=reason):
        olivine.verify(source)


def test_a_weight_that_is_no_integer_is_refused() -> None:
    weighted = WCNF()
    weighted.append([1], weight=0.5)
    with pytest.raises(ValueError, match=r"weight 0\.5"):
        olivine.verify(weighted)


@with_rows(
    "rows, n, kept, renamed",
    ([[2, -5], [5]], 5, [2, 5], [[1, -2], [2]]),
    ([[2, -5], [5]], 13, [2, 5], [[1, -2], [2]]),  # above 4 times the literals
    ([[1], [-6, 3]], 7, [1, 3, 6], [[1], [-3, 2]]),
    ([[1], [-6, 3]], 6, [], []),
    ([[2, -4]], 4, [], []),
    ([[1]], 2, [], []),
)
def test_many_unused_variables_are_left_out(monkeypatch, rows, n, kept, renamed):
    """More than 10,000, here 2, and more than are used."""
    monkeypatch.setattr(prepare, "MOST_UNUSED", 2)
    used = prepare.without_unused(Formula.from_clauses(rows, n))
    assert (used is not None) == bool(kept)
    if used is not None:
        assert used.formula == Formula.from_clauses(renamed, len(kept))
        values = used.extend(np.ones(len(kept), dtype=np.bool_))
        assert (len(values), (np.flatnonzero(values) + 1).tolist()) == (n, kept)
        assert str(used).startswith(f"{n - len(kept)} of {n} variables occur in no")


def test_a_formula_in_words_and_one_that_nothing_is_planted_in() -> None:
    formula = Formula.from_clauses([[1], [2]], 2, [3, 4], hard=[True, False])
    assert repr(formula) == "<Formula: 2 variables, 2 clauses, total weight 4, 1 hard>"
    no, none = (
        random_ksat(5, 9, 3, np.random.default_rng(3), planted=planted)
        for planted in (False, None)
    )
    assert no == none
