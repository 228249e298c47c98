"""Normal forms of constraints: equal exactly where the functions are."""

from fractions import Fraction

from hypothesis import given
from olivine.algorithms.mdp.bellman import average_constraint
from olivine.algorithms.mdp.planning import Distribution
from olivine.algorithms.mdp.tabular import TabularMDP

from tests.support.families import assignments, families

HALF = Fraction(1, 2)


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
