"""Average Bellman errors, denominators beyond 64 bits; normal forms of constraints."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from olivine.algorithms.mdp import bellman
from olivine.algorithms.mdp.bellman import (
    as_fractions,
    average_constraint,
    average_errors,
)
from olivine.algorithms.mdp.planning import Distribution, Distributions, Pair
from olivine.algorithms.mdp.tabular import TabularMDP

from tests.support.depth import deep
from tests.support.families import assignments, families
from tests.support.tabular import slow_error

HALF = Fraction(1, 2)
LARGE = [2**31 - 1, 10**9 + 7, 3 * 2**40, 2**61 - 1, 10**25 + 1]


@st.composite
def shares(draw: st.DrawFn, denominators: list[int]) -> Fraction:
    """A number in (0, 1] that keeps its denominator as a rule."""
    whole = draw(st.sampled_from(denominators))
    return Fraction(
        draw(st.sampled_from([1, whole // 5 + 1, max(1, whole - 1)])), whole
    )


@st.composite
def problems(draw: st.DrawFn) -> tuple[TabularMDP, list[Distribution], Pair]:
    """A chain of states that may skip one, each with an action that is not taken."""
    n = draw(st.integers(1, 6))
    # Few large ones in a problem, as else nothing is left to 64 bits.
    chances = [1, 1, 2, draw(st.sampled_from([2**31 - 1, 3 * 2**40, 2**60]))]
    rewards = [1, 1, 6, draw(st.sampled_from(LARGE))]
    wholes, parts = ([1, 6, draw(st.sampled_from([1, 1, *LARGE]))] for _ in range(2))
    states = []
    for i in range(n):
        after = {}
        if i < n - 2:
            share = draw(shares(chances))
            after = {f"s{i + 1}": share, f"s{i + 2}": 1 - share}
        away = ("stay away", draw(shares(LARGE)), {})
        states.append((f"s{i}", i + 1, [("go", draw(shares(rewards)), after), away]))
    mdp = TabularMDP.from_lists(states)
    some = st.lists(st.integers(0, n - 1), unique=True, max_size=3)
    distributions = []
    for chosen in draw(st.lists(some, max_size=6)):
        masses = {s: draw(shares(parts)) / len(chosen) for s in chosen}
        distributions.append(Distribution.from_fractions(masses, 1))
    values = [draw(shares(wholes)) for _ in range(n)]
    return mdp, distributions, Pair.from_fractions(values, [0] * n)


@settings(max_examples=deep(500, 100), deadline=None)
@given(problems())
def test_errors_are_those_of_the_definition(
    problem: tuple[TabularMDP, list[Distribution], Pair],
) -> None:
    mdp, distributions, pair = problem
    flat = Distributions.from_iterable(distributions)
    found = average_errors(mdp, flat, pair)
    expected = [slow_error(mdp, d, pair) for d in distributions]
    assert as_fractions(*found, flat) == expected
    for block in (1, 2):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(bellman, "_BLOCK", block)
            assert as_fractions(*average_errors(mdp, flat, pair), flat) == expected


@given(families(max_variables=3, max_clauses=4))
def test_normal_forms_are_equal_exactly_where_the_functions_are(family):
    """Members share the program's constraints; behind a clause they part."""
    zero = family.mdp()
    for y in assignments(family.n_variables):
        member = family.mdp(y)
        for d in family.distributions():
            assert average_constraint(member, d) == average_constraint(zero, d)
        one = Distribution.from_fractions({family.literal_state(0, 1): 1}, 3)
        same = average_constraint(member, one) == average_constraint(zero, one)
        assert same == (not y[0])


def test_a_normal_form_knows_the_function_and_not_how_it_came_about():
    third = Fraction(1, 3)

    def mdp(first, second, reward):
        return TabularMDP.from_lists(
            [
                ("s", 1, [("a", 0, {"t": third, "u": 2 * third}), ("b", reward, {})]),
                ("t", 2, [("go", first, {})]),
                ("u", 2, [("go", second, {})]),
            ]
        )

    both = Distribution.from_fractions({1: HALF, 2: HALF}, 2)
    lopsided = Distribution.from_fractions({1: third, 2: 2 * third}, 2)
    left, right = mdp(1, 0, 0), mdp(0, 1, 0)
    assert average_constraint(left, both) == average_constraint(right, both)
    assert average_constraint(left, lopsided) != average_constraint(right, lopsided)
    start = Distribution.from_fractions({0: 1}, 1)
    form = average_constraint(left, start)
    assert form.denominator == 3
    assert form.base.coefficients == ((0, 3), (1, -1), (2, -2))
    assert form != average_constraint(mdp(1, 0, HALF), start)
