import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from olivine.solvers.sat.clauses import Clauses, check_clauses, clause_lists, satisfied

from tests.support.depth import with_rows
from tests.support.refusals import refused


def literals(n):
    return st.integers(1, n).flatmap(lambda v: st.sampled_from([v, -v]))


def clause_lists_over(n, max_width=4, max_size=12):
    literal = literals(n) if n else st.nothing()
    clause = st.lists(literal, max_size=max_width if n else 0)
    return st.lists(clause, max_size=max_size)


@st.composite
def formulas(draw):
    n = draw(st.integers(0, 6))
    return n, draw(clause_lists_over(n))


@given(formulas())
def test_lists_and_arrays_are_the_same(formula):
    n, lists = formula
    clauses = Clauses.from_lists(lists)
    assert list(clause_lists(clauses)) == lists
    assert clauses.literals.dtype == np.int32
    assert clauses.offsets.dtype == np.int64
    check_clauses(clauses, n)


@given(formulas(), st.data())
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
    clause = st.lists(literals(n), min_size=width, max_size=width)
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
