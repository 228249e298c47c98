from itertools import product

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from olivine.reduction.formula.formula import Formula
from olivine.reduction.formula.local_search import least_by_trying, walksat


@st.composite
def formulas(draw, max_variables=5, max_clauses=8):
    n = draw(st.integers(0, max_variables))
    literal = st.integers(1, n).flatmap(lambda v: st.sampled_from([v, -v]))
    clause = st.lists(literal, max_size=4) if n else st.just([])
    clauses = draw(st.lists(clause, max_size=max_clauses))
    weights = st.lists(st.integers(1, 9), min_size=len(clauses), max_size=len(clauses))
    return Formula.from_clauses(clauses, n, draw(st.none() | weights))


def least_unsatisfied(three_sat) -> int:
    return min(
        three_sat.unsatisfied_weight(np.array(bits, dtype=np.bool_))
        for bits in product([False, True], repeat=three_sat.n_variables)
    )


@given(formulas(max_variables=4, max_clauses=5), st.integers(0, 2**32))
def test_what_it_reports_is_what_the_assignment_attains(formula, seed) -> None:
    three_sat = formula.three_sat()
    found = walksat(three_sat, np.random.default_rng(seed), max_flips=200)
    assert found.assignment.shape == (three_sat.n_variables,)
    assert three_sat.unsatisfied_weight(found.assignment) == found.unsatisfied
    assert 0 <= found.flips <= 200
    assert found.seed.entropy == seed
    again = walksat(three_sat, found.seed.generator(), max_flips=200)
    assert again.flips == found.flips
    assert (again.assignment == found.assignment).all()


@given(formulas(max_variables=3, max_clauses=4), st.integers(0, 2**32))
def test_it_finds_the_optimum_of_small_formulas(formula, seed) -> None:
    three_sat = formula.three_sat()
    least = least_unsatisfied(three_sat)
    rng = np.random.default_rng(seed)
    assert walksat(three_sat, rng, target=least, max_flips=20_000).unsatisfied == least


@given(formulas(max_variables=4), st.integers(0, 2**32), st.booleans())
def test_to_stop_at_the_least_of_few_assignments_changes_nothing(
    formula, seed, heavy
) -> None:
    if heavy and formula.weights is not None:  # their sum is beyond 64 bits
        rows = [list(clause) for clause in formula.clauses()]
        weights = [2**62 + w for w in formula.weights.tolist()]
        formula = Formula.from_clauses(rows, formula.n_variables, weights)
    three_sat = formula.three_sat()
    if three_sat.n_variables > 8:
        return
    least = least_by_trying(three_sat)
    assert least == least_unsatisfied(three_sat)
    rng = np.random.default_rng
    whole = walksat(three_sat, rng(seed), max_flips=300)
    short = walksat(three_sat, rng(seed), max_flips=300, target=least)
    assert whole.assignment.tolist() == short.assignment.tolist()
    assert short.flips <= whole.flips


def test_many_assignments_are_not_tried() -> None:
    clauses = [[i, i + 1, i + 2] for i in range(1, 31)] + [[1], [-1]]
    assert least_by_trying(Formula.from_clauses(clauses).three_sat()) == 0


@given(formulas(), st.integers(0, 2**32), st.integers(0, 50))
def test_it_never_loses_its_start(formula, seed, flips) -> None:
    three_sat = formula.three_sat()
    rng = np.random.default_rng(seed)
    start = rng.integers(2, size=three_sat.n_variables).astype(np.bool_)
    found = walksat(three_sat, rng, start=start, max_flips=flips)
    assert found.unsatisfied <= three_sat.unsatisfied_weight(start)


def test_the_same_seed_gives_the_same_search(rng) -> None:
    clauses = rng.integers(1, 21, size=(120, 3)) * rng.choice([-1, 1], size=(120, 3))
    three_sat = Formula.from_clauses(clauses.tolist()).three_sat()
    one, other = (
        walksat(three_sat, np.random.default_rng(7), max_flips=500) for _ in range(2)
    )
    assert one.flips == other.flips
    assert np.array_equal(one.assignment, other.assignment)


def test_a_reached_target_or_a_time_limit_stops_it(rng):
    three_sat = Formula.from_clauses([[1], [-1]]).three_sat()
    found = walksat(three_sat, rng, target=1)
    assert found.flips == 0
    assert found.unsatisfied == 1
    assert walksat(three_sat, rng, max_flips=10**9, time_limit=0.05).flips < 10**9


def test_without_a_target_it_stops_at_nothing_unsatisfied(rng):
    three_sat = Formula.from_clauses([[1], [2]]).three_sat()
    for options, unsatisfied in ({}, 0), ({"target": 1}, 1):
        found = walksat(three_sat, rng, start=np.array([False, True]), **options)
        assert (found.unsatisfied, found.flips) == (unsatisfied, 1 - unsatisfied)
