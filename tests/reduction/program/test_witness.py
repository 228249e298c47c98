import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from olivine.algorithms.olive_program.program import Pair
from olivine.reduction.family.family import Family, Variant
from olivine.reduction.program.optimum import (
    back,
    check,
    forward,
    optimum,
    step,
    violations,
)

from tests.support.families import (
    ALL_EIGHT,
    VARIANTS,
    as_three_sat,
    best_assignments,
    families,
    unsatisfied_weight,
)
from tests.support.refusals import refused


def complete(family, literals, clause_actions, start_action):
    """The pair of given literal values and actions; slow, by the definition.

    `literals` are the g(x_i^1); the other values follow from the Bellman
    equations and from the pairs adding up to the top.
    """
    mdp, layout = family.mdp(), family.layout
    values = [Fraction(0)] * layout.n_states
    policy = np.zeros(layout.n_states, dtype=np.int32)
    for i, value in enumerate(literals):
        values[layout.literal_state(i, 1)] = value
        values[layout.literal_state(i, 0)] = family.top - value
    policy[1 : 1 + family.n_clauses] = clause_actions
    policy[0] = start_action
    for state in range(layout.first_literal_state - 1, -1, -1):
        action = mdp.actions(state)[int(policy[state])]
        values[state] = mdp.reward(action) + sum(
            p * values[t] for t, p in mdp.successors(action)
        )
    return Pair.from_fractions(values, policy)


def draw_assignment(data, family):
    n = family.n_variables
    return np.array(
        data.draw(st.lists(st.booleans(), min_size=n, max_size=n)), dtype=np.bool_
    )


def start_actions(family):
    """All local actions of s0."""
    return range(family.layout.solve + 1)


@given(families(), st.data())
def test_forward_is_feasible_and_worth_what_it_says(family, data):
    assignment = draw_assignment(data, family)
    value = check(family, forward(family, assignment))
    v = unsatisfied_weight(family.three_sat, assignment)
    loss = step(family.parameters) * v
    if v < family.total_weight:
        loss = min(loss, family.penalty)
    assert value == family.parameters.best - loss


@given(families())
def test_forward_of_a_best_assignment_is_optimal(family):
    u, best = best_assignments(family.three_sat)
    for assignment in best:
        value = check(family, forward(family, assignment))
        assert value == optimum(family.parameters, u)


@given(families(), st.data())
def test_back_undoes_forward(family, data):
    assignment = draw_assignment(data, family)
    assert np.array_equal(back(family, forward(family, assignment)), assignment)


def best_actions(family, literals):
    """For every clause an action of greatest value, by trying all."""
    found = []
    for j in range(family.n_clauses):
        values = []
        for k in range(family.layout.clause_actions):
            actions = [0] * family.n_clauses
            actions[j] = k
            pair = complete(family, literals, actions, family.layout.solve)
            values.append(pair.value(family.clause_state(j)))
        found.append(values.index(max(values)))
    return found


# Below 1/2, where rounding each literal by itself goes wrong, more often than not.
SHARES = st.one_of(
    st.sampled_from([Fraction(0), Fraction(1, 3), Fraction(2, 5), Fraction(1)]),
    st.fractions(0, 1, max_denominator=12),
)


@given(families(max_variables=3, max_clauses=3), st.data())
@settings(max_examples=150)
def test_contract_of_back_for_any_feasible_pair(family, data):
    """Fractional literals, any or the best clause actions, any action at s0."""
    n, m = family.n_variables, family.n_clauses
    shares = data.draw(st.lists(SHARES, min_size=n, max_size=n))
    literals = [family.top * share for share in shares]
    if data.draw(st.booleans()):
        actions = best_actions(family, literals)
    else:
        action = st.integers(0, family.layout.clause_actions - 1)
        actions = data.draw(st.lists(action, min_size=m, max_size=m))
    feasible = [
        pair
        for start in start_actions(family)
        for pair in [complete(family, literals, actions, start)]
        if not violations(family, pair)  # -p + g(C_j) can be below 0 in `paper`
    ]
    assert feasible  # [solve] at least
    for pair in feasible:
        assert_contract(family, pair)


def test_small_literals_are_flipped_as_the_value_needs():
    # g(x3^1) = 2/5 makes [solve] worth 4/5; x3 = 0 would leave 2/3.
    family = Family(as_three_sat([[1, 2, 3]], 3))
    pair = complete(family, [0, 0, Fraction(2, 5)], [0], family.layout.solve)
    assert check(family, pair) == Fraction(4, 5)
    assert back(family, pair).tolist() == [False, False, True]
    negated = Family(as_three_sat([[1, 2, -3]], 3))
    pair = complete(negated, [0, 0, Fraction(3, 5)], [0], negated.layout.solve)
    assert check(negated, pair) == Fraction(4, 5)
    assert back(negated, pair).tolist() == [False, False, False]
    # Flipping another than x2 leaves less than the pair has.
    literals = [Fraction(1, 10), Fraction(4, 10), Fraction(2, 10)]
    pair = complete(family, literals, [1], family.layout.solve)
    assert back(family, pair).tolist() == [False, True, False]


def test_the_clause_that_is_tried_decides():
    """Over all clauses x3 = 0 is worth more, but C_1 holds the pair up."""
    clauses = [[1, 2, 3], *[[3, 3, 3]] * 5]
    family = Family(as_three_sat(clauses, 3), "paper", Fraction(1, 100))
    literals = [0, 0, Fraction(2, 5)]
    pair = complete(family, literals, [0] * 6, family.layout.try_clause(0))
    assert check(family, pair) == Fraction(79, 100)
    assert back(family, pair).tolist() == [False, False, True]
    assert_contract(family, pair)


def assert_contract(family, pair, optimal_u=None):
    """What the docstring of `back` promises."""
    value = check(family, pair)
    assignment = back(family, pair)
    assert assignment.dtype == np.bool_
    again = check(family, forward(family, assignment))
    assert again >= value
    v = unsatisfied_weight(family.three_sat, assignment)
    start = int(pair.policy[0])
    if start == family.layout.solve:
        assert v <= (family.parameters.best - value) / step(family.parameters)
    if value == family.parameters.best:
        assert v == 0
    if optimal_u is not None:
        assert again == value
        if start == family.layout.solve:
            assert v == optimal_u
        else:
            j = start - family.n_variables
            clause = family.clauses[j].tolist()
            assert any(assignment[abs(x) - 1] == (x > 0) for x in clause)


def slopes(family, clause_actions):
    """Derivative of the [solve] value in each literal value, by differences."""
    n = family.n_variables

    def value(literals):
        return complete(family, literals, clause_actions, family.layout.solve).value(0)

    base = value([Fraction(0)] * n)
    return [
        value([family.top if i == k else Fraction(0) for i in range(n)]) - base
        for k in range(n)
    ]


@given(families(), st.data())
def test_back_from_fractional_optimal_pairs(family, data):
    """Mixtures of optimal vertices that share a policy.

    From a best assignment, any best clause actions; the literals on which the
    value then does not depend take any value.
    """
    u, best = best_assignments(family.three_sat)
    assignment = data.draw(st.sampled_from(best))
    actions = []
    for clause in family.clauses.tolist():
        truth = [assignment[abs(x) - 1] == (x > 0) for x in clause]
        spelled = 4 * truth[0] + 2 * truth[1] + truth[2]
        flip = st.sampled_from([1, 2, 4])
        actions.append((spelled or data.draw(flip)) - 1)
    literals = [
        family.top * (data.draw(SHARES) if slope == 0 else int(assignment[i]))
        for i, slope in enumerate(slopes(family, actions))
    ]
    pair = complete(family, literals, actions, family.layout.solve)
    value = check(family, pair)
    assert value == family.parameters.best - step(family.parameters) * u
    if value == optimum(family.parameters, u):
        assert_contract(family, pair, optimal_u=u)


@given(families(), st.data())
def test_back_from_optimal_pairs_through_a_try(family, data):
    """Where the penalty caps the optimum: C_j is satisfied, the rest is anything."""
    u, _ = best_assignments(family.three_sat)
    capped = optimum(family.parameters, u)
    if capped != family.parameters.best - family.penalty:
        family = Family(family.three_sat, Variant.PAPER, Fraction(1, 10**30))
        if u == 0:
            return
        capped = optimum(family.parameters, u)
    j = data.draw(st.integers(0, family.n_clauses - 1))
    clause = family.clauses[j].tolist()
    literals = [family.top * data.draw(SHARES) for _ in range(family.n_variables)]
    true = data.draw(st.sampled_from(clause))
    for literal in [*clause, true]:  # the last one settles a repeated variable
        fixed = literal == true or data.draw(st.booleans())
        literals[abs(literal) - 1] = family.top * int((literal > 0) == fixed)
    truth = [literals[abs(x) - 1] == (family.top if x > 0 else 0) for x in clause]
    action = st.integers(0, family.layout.clause_actions - 1)
    actions = [data.draw(action) for _ in range(family.n_clauses)]
    actions[j] = 4 * truth[0] + 2 * truth[1] + truth[2] - 1
    pair = complete(family, literals, actions, family.layout.try_clause(j))
    assert check(family, pair) == capped
    assert_contract(family, pair, optimal_u=u)


@pytest.mark.parametrize("variant", VARIANTS)
def test_unsatisfiable_certificates(variant):
    """u = 1 of 8: every assignment is best."""
    family = Family(as_three_sat(ALL_EIGHT, 3), variant)
    assert check(family, forward(family, [1, 0, 1])) == optimum(family.parameters, 1)


def test_which_action_the_pair_of_an_assignment_takes():
    clauses = [[1, 1, 1], [-1, -1, -1], [2, 2, 2], [-2, -2, -2]]
    family = Family(as_three_sat(clauses, 2), "paper", Fraction(1, 10))
    pair = forward(family, [0, 0])
    assert check(family, pair) == Fraction(9, 10)
    assert pair.policy[0] == family.layout.try_clause(1)
    # u = 3 of 24 with p = 1/24: both give 23/24, and [solve] tells more.
    family = Family(as_three_sat(ALL_EIGHT * 3, 3))
    pair = forward(family, [1, 1, 0])
    assert check(family, pair) == Fraction(23, 24)
    assert pair.policy[0] == family.layout.solve
    family = Family(as_three_sat([[1, 1, 1], [1, 2, 2]], 2), "paper", Fraction(1, 10))
    pair = forward(family, [0, 0])
    assert check(family, pair) == Fraction(2, 3)
    assert pair.policy[0] == family.layout.solve


@given(families(), st.data())
def test_any_change_of_one_value_is_caught(family, data):
    """Every state's value is in some constraint: none can be moved alone."""
    pair = forward(family, draw_assignment(data, family))
    state = data.draw(st.integers(0, family.layout.n_states - 1))
    values = pair.values()
    unit = st.fractions(0, 1, max_denominator=9)
    values[state] = data.draw(unit.filter(lambda v: v != values[state]))
    moved = Pair.from_fractions(values, pair.policy)
    refused(r"average Bellman error|lies outside", check, family, moved)
    refused("not feasible", back, family, moved)


def test_what_is_wrong_is_named():
    family = Family(as_three_sat(ALL_EIGHT, 3))
    pair = forward(family, [0, 0, 0])
    values = pair.values()
    outside = Pair.from_fractions([*values[:-1], Fraction(3, 2)], pair.policy)
    refused(r"g\(x3\^1\) = 3/2 lies outside \[0, 1\]", check, family, outside)
    low = Pair.from_fractions([Fraction(1), *values[1:]], pair.policy)
    refused(r"Bellman error 1/24 at \{s0\}", check, family, low)
    policy = pair.policy.copy()
    policy[1] = 7  # [quit] is no action in `paper`
    refused("C1", check, family, pair.with_policy(policy))
    short = Pair.from_fractions(values[:-1], pair.policy[:-1])
    refused("14 states, the family 15", check, family, short)


@pytest.mark.parametrize("variant", VARIANTS)
def test_denominators_beyond_64_bits(variant):
    """Weights near 2**62 force Python integers all the way."""
    weights = [2**60 + 1, 2**60 - 1, 12345678901234567]
    three_sat = as_three_sat([[1, 1, 1], [-1, -1, -1], [1, 2, 2]], 2, weights)
    family = Family(three_sat, variant)
    u, best = best_assignments(three_sat)
    for assignment in best:
        pair = forward(family, assignment)
        assert check(family, pair) == optimum(family.parameters, u)
        assert np.array_equal(back(family, pair), assignment)
    half = complete(family, [family.top / 2] * 2, [0, 0, 0], family.layout.solve)
    assert_contract(family, half)


@pytest.mark.parametrize("exponent", range(54, 62))
def test_numerators_just_within_64_bits_come_back(exponent):
    """Where a product with the top's denominator is beyond them."""
    three_sat = as_three_sat([[2, 1, 1], [-1, 1, 1]], 2, [2**exponent, 1])
    for variant in VARIANTS:
        family = Family(three_sat, variant)
        for assignment in itertools.product([False, True], repeat=2):
            pair = forward(family, assignment)
            assert tuple(back(family, pair)) == assignment, variant


@given(families(), st.data())
def test_optimal_pairs_of_exact_planning_come_back(family, data):
    """V* of a best member with its optimal policy: a pair that forward did not make."""
    u, best = best_assignments(family.three_sat)
    y = data.draw(st.sampled_from(best))
    pair = family.mdp(y).optimal_values()
    assert check(family, pair) == optimum(family.parameters, u)
    assert_contract(family, pair, optimal_u=u)
