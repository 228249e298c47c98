import dataclasses
import re
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from olivine.algorithms.olive_program.program import OliveProgram, Pair
from olivine.reduction.family.family import (
    Family,
    Variant,
    declared_sizes,
    default_penalty,
)
from olivine.reduction.family.layout import CLAUSE_BITS, Layout
from olivine.reduction.family.variants import DECLARATIONS, Parameters
from olivine.reduction.program.optimum import forward, optimum

from tests.support.depth import with_rows
from tests.support.families import (
    ALL_EIGHT,
    VARIANTS,
    as_three_sat,
    assignments,
    families,
)
from tests.support.refusals import refused

# The paper's example clause: C_1 = (not x2 or x3 or not x5).
EXAMPLE = as_three_sat([[-2, 3, -5], [1, 1, 4]], 5)


def state_named(mdp, name):
    return list(mdp.state_names).index(name)


def successors(mdp, state, action):
    """{name: probability} of an action, both given by name."""
    s = state_named(mdp, state)
    a = next(a for a in mdp.actions(s) if mdp.action_names[a] == action)
    return {mdp.state_names[t]: p for t, p in mdp.successors(a)}


def expected_clause_action(clause, bits):
    """{name: probability} by the definition, one literal after the other."""
    chances = {}
    for literal, bit in zip(clause, bits, strict=True):
        truth = bit if literal > 0 else 1 - bit
        name = f"x{abs(literal)}^{truth}"
        chances[name] = chances.get(name, Fraction(0)) + Fraction(1, 3)
    return chances


def test_example_and_penalty_of_the_paper():
    mdp = Family(EXAMPLE).mdp()
    third = Fraction(1, 3)
    assert successors(mdp, "C1", "011") == {"x2^1": third, "x3^1": third, "x5^0": third}
    # Repeated literals: x1 x1 x4 under 110 leads twice to x1^1.
    assert successors(mdp, "C2", "110") == {"x1^1": 2 * third, "x4^0": third}
    family = Family(EXAMPLE, "paper", 1)
    assert (family.top, family.try_clause_reward) == (1, -1)


@with_rows(
    "clause, bits, expected",
    ([1, 1, 1], "001", {"x1^1": "1/3", "x1^0": "2/3"}),
    ([1, 1, 1], "111", {"x1^1": "1"}),
    ([1, -1, -1], "100", {"x1^1": "1"}),
    ([1, -1, 2], "110", {"x1^1": "1/3", "x1^0": "1/3", "x2^0": "1/3"}),
    ([2, 1, 2], "101", {"x2^1": "2/3", "x1^0": "1/3"}),
)
def test_chances_of_coinciding_literals_add_up(clause, bits, expected):
    mdp = Family(as_three_sat([clause], 2)).mdp()
    exact = {name: Fraction(p) for name, p in expected.items()}
    assert successors(mdp, "C1", bits) == exact


@pytest.mark.parametrize("variant", VARIANTS)
def test_order_of_states_and_actions(variant):
    mdp = Family(as_three_sat([[1, 2, 2], [-1, 1, 2]], 2), variant).mdp()
    between = [] if variant is Variant.PAPER else ["X1", "X2"]
    bottom = {Variant.ALL_LEVELS: ["bottom"], Variant.STRICT: ["bottom", "bottom2"]}
    literals = ["x1^0", "x1^1", "x2^0", "x2^1"]
    states = ["s0", "C1", "C2", *between, *literals, *bottom.get(variant, [])]
    assert list(mdp.state_names) == states
    tries = ["[try x1]", "[try x2]", "[try C1]", "[try C2]", "[solve]"]
    clause = ["001", "010", "011", "100", "101", "110", "111"]
    if variant is Variant.ALL_LEVELS:
        clause.append("[quit]")
    rest = ["[go]"] * (len(states) - 3)
    assert list(mdp.action_names) == [*tries, *clause, *clause, *rest]


@pytest.mark.parametrize("variant", VARIANTS)
def test_structure_around_the_clauses(variant):
    mdp = Family(as_three_sat(ALL_EIGHT, 3), variant).mdp()
    half = {"x2^0": Fraction(1, 2), "x2^1": Fraction(1, 2)}
    if variant is Variant.PAPER:
        assert successors(mdp, "s0", "[try x2]") == half
    else:
        assert successors(mdp, "s0", "[try x2]") == {"X2": 1}
        assert successors(mdp, "X2", "[go]") == half
    assert successors(mdp, "s0", "[try C3]") == {"C3": 1}
    solve = successors(mdp, "s0", "[solve]")
    if variant is Variant.STRICT:
        assert solve.pop("bottom2") == Fraction(1, 2)
        assert solve == {f"C{j}": Fraction(1, 16) for j in range(1, 9)}
        assert successors(mdp, "bottom2", "[go]") == {"bottom": 1}
        assert successors(mdp, "bottom", "[go]") == {}
    else:
        assert solve == {f"C{j}": Fraction(1, 8) for j in range(1, 9)}
    assert successors(mdp, "x1^0", "[go]") == {}
    if variant is Variant.ALL_LEVELS:
        assert successors(mdp, "C8", "[quit]") == {"bottom": 1}
        assert successors(mdp, "bottom", "[go]") == {}


@given(families(), st.data())
def test_every_member_is_the_mdp_of_the_definition(family, data):
    n = family.n_variables
    y = data.draw(st.lists(st.integers(0, 1), min_size=n, max_size=n))
    mdp = family.mdp(y)
    mdp.validate()
    names = family.layout
    for j, clause in enumerate(family.clauses.tolist()):
        actions = mdp.actions(family.clause_state(j))
        for action, bits in zip(actions, CLAUSE_BITS.tolist(), strict=False):
            assert mdp.action_names[action] == "".join(map(str, bits))
            found = {mdp.state_names[t]: p for t, p in mdp.successors(action)}
            assert found == expected_clause_action(clause, bits)
            assert mdp.reward(action) == 0
        assert len(actions) == names.clause_actions
    for i in range(n):
        for b in (0, 1):
            (action,) = mdp.actions(family.literal_state(i, b))
            assert mdp.reward(action) == (family.top if y[i] == b else 0)
    weights = [1] * family.n_clauses if family.weights is None else family.weights
    solve = dict(mdp.successors(names.solve))
    total = sum(int(w) for w in weights)
    reach = family.parameters.reach
    for j, weight in enumerate(weights):
        assert solve[family.clause_state(j)] == reach * Fraction(int(weight), total)
    assert sum(solve.values()) == 1
    assert mdp.reward(names.solve) == family.solve_reward
    assert mdp.reward(names.try_clause(0)) == family.try_clause_reward
    assert mdp.reward(names.try_variable(n - 1)) == family.try_variable_reward


@given(families(), st.randoms(use_true_random=False))
def test_a_chain_is_the_member_with_the_actions_of_a_policy(family, random):
    mdp = family.mdp()
    policy = [random.randrange(count) for count in mdp.action_counts.tolist()]
    chain = family.chain(policy)
    chain.validate()
    assert chain.action_counts.tolist() == [1] * mdp.n_states
    for state, action in enumerate(mdp.global_actions(policy).tolist()):
        assert chain.successors(state) == mdp.successors(action)
        assert chain.reward(state) == mdp.reward(action)
        assert chain.action_names[state] == mdp.action_names[action]
    policy[0] = family.layout.solve + 1
    with pytest.raises(ValueError, match=r"policy takes action .* in state 's0'"):
        family.chain(policy)


@given(families())
def test_declared_sizes_are_the_measured_ones(family):
    declared = family.declared_sizes()
    assert declared == family.measured_sizes()
    bound = declared_sizes(family.variant, family.n_variables, family.n_clauses)
    assert (bound.states, bound.actions) == (declared.states, declared.actions)
    assert bound.constraints == declared.constraints
    assert bound.transitions >= declared.transitions
    if all(len(set(map(abs, c))) == 3 for c in family.clauses.tolist()):
        assert bound == declared


@with_rows(
    "variant, states, constraints",
    ("paper", "1+m+2*n", "1+m+n"),
    ("normalized", "1+m+3*n", "1+m+2*n"),
    ("gap", "1+m+3*n", "1+m+2*n"),
    ("all-levels", "2+m+3*n", "2+m+2*n"),
    ("strict", "3+m+3*n", "1+m+2*n"),
)
def test_sizes_of_the_table(variant, states, constraints):
    sizes = Family(EXAMPLE, variant).measured_sizes()
    table = {"m": 2, "n": 5}
    assert sizes.states == eval(states, table)
    assert sizes.constraints == eval(constraints, table)


@given(families())
def test_levels_and_rewards(family):
    mdp = family.mdp()
    assert mdp.horizon == int(mdp.heights[mdp.start]) == 3
    assert mdp.is_layered == (family.variant is not Variant.PAPER)
    least = Fraction(0) if family.variant is not Variant.PAPER else -family.penalty
    assert min(mdp.reward_table) == least
    assert max(mdp.reward_table) <= 1
    assert len(set(mdp.reward_table)) == len(mdp.reward_table)
    # Greatest and least return of any episode, chance included.
    high, low = {}, {}
    for state in mdp.topological_order()[::-1].tolist():
        ends = []
        for action in mdp.actions(state):
            after = [t for t, _ in mdp.successors(action)]
            reward = mdp.reward(action)
            ends.append(
                (
                    reward + max((high[t] for t in after), default=0),
                    reward + min((low[t] for t in after), default=0),
                )
            )
        high[state] = max(h for h, _ in ends)
        low[state] = min(lo for _, lo in ends)
    assert high[mdp.start] <= 1
    assert low[mdp.start] >= least


@given(families(max_variables=3))
def test_members_share_all_but_n_rewards(family):
    zero = family.mdp()
    for y in assignments(family.n_variables):
        mdp = family.mdp(y)
        assert np.shares_memory(mdp.transition_target, zero.transition_target)
        assert np.shares_memory(mdp.transition_offset, zero.transition_offset)
        differing = np.flatnonzero(mdp.reward_index != zero.reward_index)
        assert len(differing) == 2 * np.count_nonzero(y)
        assert (differing >= family.layout.first_literal_action).all()


@given(families())
def test_distributions_are_those_of_the_program(family):
    found = [
        (
            d.level,
            {family.layout.state_name(s): p for s, p in d.probabilities().items()},
        )
        for d in family.distributions()
    ]
    n, m = family.n_variables, family.n_clauses
    last = 2 if family.variant is Variant.PAPER else 3
    half = Fraction(1, 2)
    expected = [(1, {"s0": 1})]
    expected += [(2, {f"C{j}": 1}) for j in range(1, m + 1)]
    expected += [(last, {f"x{i}^0": half, f"x{i}^1": half}) for i in range(1, n + 1)]
    if family.variant is not Variant.PAPER:
        expected += [(2, {f"X{i}": 1}) for i in range(1, n + 1)]
    if family.variant is Variant.ALL_LEVELS:
        expected += [(3, {"bottom": 1})]
    assert found == expected
    names = [family.distribution_name(i) for i in range(len(found))]
    assert names == [", ".join(chances) for _, chances in expected]


@given(families(max_variables=3, max_clauses=3), st.data())
def test_all_members_give_the_same_program(family, data):
    size = family.layout.n_states
    unit = st.fractions(0, 1, max_denominator=7)
    values = data.draw(st.lists(unit, min_size=size, max_size=size))
    counts = family.mdp().action_counts.tolist()
    policy = [data.draw(st.integers(0, count - 1)) for count in counts]
    pair = Pair.from_fractions(values, policy)
    errors = family.program().errors(pair)
    for y in assignments(family.n_variables):
        other = OliveProgram(
            family.mdp(y), family.distributions(), upper=family.ranges()
        )
        assert other.errors(pair) == errors


@with_rows(
    "variant, m, expected",
    ("paper", 1, "1"),
    ("paper", 91, "1/91"),
    ("normalized", 1, "1/2"),
    ("normalized", 2, "1/2"),
    ("all-levels", 5, "1/5"),
    ("gap", 7, "1/4"),
    ("strict", 7, "1/20"),
)
def test_default_penalty(variant, m, expected):
    assert default_penalty(variant, m) == Fraction(expected)
    family = Family(as_three_sat([[1, 1, 1]] * m, 1), variant)
    assert family.penalty == Fraction(expected)


@with_rows(
    "variant, penalty, message",
    ("paper", 0, "0 < p <= 1"),
    ("paper", Fraction(101, 100), "0 < p <= 1"),
    ("normalized", 1, "0 < p < 1"),
    ("all-levels", Fraction(-1, 2), "0 < p < 1"),
    ("gap", Fraction(1, 4), "takes none"),
    ("strict", Fraction(1, 20), "fixes the penalty at 1/20 and takes none"),
    ("paper", 0.5, "exact"),
    ("paper", True, "exact"),
    ("papers", None, "paper, normalized, gap, all-levels, strict"),
)
def test_penalties_out_of_range_are_refused(variant, penalty, message):
    with pytest.raises(ValueError, match=message):
        Family(EXAMPLE, variant, penalty)


def test_largest_weights():
    weights = [2**62, 2**62 - 1]
    mdp = Family(as_three_sat([[1, 2, 2]] * 2, 2, weights)).mdp()
    mdp.validate()
    assert dict(mdp.successors(4))[1] == Fraction(2**62, 2**63 - 1)
    even = Family(as_three_sat([[1, 2, 2]] * 2, 2, [2, 6])).mdp()
    assert (even.transition_denominator[4], *even.successors(4)) == (
        4,  # in lowest terms, as every reader of an MDP gives it
        (1, Fraction(1, 4)),
        (2, Fraction(3, 4)),
    )
    with pytest.raises(ValueError, match=r"add up to 9223372036854775808; .* at most"):
        Family(as_three_sat([[1, 2, 2]] * 2, 2, [2**62, 2**62]))
    with pytest.raises(ValueError, match=r"at most \(2\*\*63 - 1\) / 2 = 461"):
        Family(as_three_sat([[1, 2, 2]] * 2, 2, weights), "strict")


def test_every_variant_is_declared():
    assert list(DECLARATIONS) == list(Variant)
    for variant, declared in DECLARATIONS.items():
        penalty = declared.default_penalty(5)
        # Theorem O covers it, or it would be refused.
        parameters = Parameters(variant, penalty, 5)
        numbers = {"p": penalty, "m": 5}
        for u in range(3):
            text = declared.optimum.replace("−", "-").replace("·", "*")
            text = re.sub(r"(?<=[\d)])(?=[(um])", "*", text)
            text = re.sub(r"\b(\d+)\b", r"Fraction(\1)", text)
            names = numbers | {"u": u, "min": min, "Fraction": Fraction}
            assert eval(text, names) == optimum(parameters, u), variant


@given(families())
def test_values_of_the_best_pairs_lie_in_their_ranges(family):
    """Else the ranges of `strict` would cut the optimum."""
    ranges = family.ranges()
    for bit in (False, True):
        pair = forward(family, np.full(family.n_variables, bit))
        for state, value in enumerate(pair.values()):
            end = ranges if isinstance(ranges, Fraction) else ranges[state]
            assert 0 <= value <= end


@pytest.mark.parametrize("y", [[0, 1], [0, 1, 2, 0, 0], ["a"] * 5, [[0] * 5]])
def test_members_need_n_truth_values(y):
    with pytest.raises(ValueError, match="truth values"):
        Family(EXAMPLE).mdp(y)


def test_a_layout_is_a_sequence_of_names_and_refuses_others():
    paper = Layout(Variant.PAPER, 2, 3)
    for call in (
        lambda: paper.variable_state(0),
        lambda: paper.bottom_state,
        lambda: paper.clause_state(3),
        lambda: paper.literal_state(2, 0),
        lambda: paper.literal_state(0, 2),
        lambda: paper.state_name(-1),
        lambda: paper.side_state(0, 0),
        lambda: Layout(Variant.PAPER, 0, 1),
        lambda: Layout(Variant.PAPER, 2**30, 1),
    ):
        with pytest.raises(ValueError):
            call()
    names = Layout(Variant.ALL_LEVELS, 1, 1).state_names()
    assert names == ("s0", "C1", "X1", "x1^0", "x1^1", "bottom")
    assert names[-1] == "bottom"
    assert names[1:3] == ["C1", "X1"]
    assert names.index("x1^0") == 3
    assert names != Layout(Variant.ALL_LEVELS, 1, 1).action_names()
    assert names != [*reversed(names)]
    assert (names == 6) is (names == "s0") is False
    assert hash(names) == hash(Layout(Variant.ALL_LEVELS, 1, 1).state_names())
    with pytest.raises(IndexError):
        names[6]


@pytest.mark.parametrize("variant", VARIANTS)
def test_slices_of_names_are_the_names_one_by_one(variant):
    layout = Layout(variant, 2, 3)
    states = [layout.state_name(i) for i in range(layout.n_states)]
    actions = [layout.action_name(i) for i in range(layout.n_actions)]
    for names, each in (
        (layout.state_names(), states),
        (layout.action_names(), actions),
    ):
        ends = range(len(each) + 1)
        assert all(names[i:j] == each[i:j] for i in ends for j in ends)
        assert names[::-2] == each[::-2]
        assert list(names) == each


def odd_family(clauses=((1, 2, 2),), weights=None) -> Family:
    arrays = np.array(clauses, dtype=np.int32), weights and np.array(weights)
    form = as_three_sat([[1, 2, 2]], 2)
    return Family(dataclasses.replace(form, clauses=arrays[0], weights=arrays[1]))


@with_rows(
    "call, arguments, words",
    (Parameters, ("strict", Fraction(1, 19), 5), "strict is 1/20, got 1/19"),
    (Parameters, ("gap", 0, 5), "gap is 1/4, got 0"),
    (Parameters, ("paper", 1, 0), "total weight must be positive, got 0"),
    (default_penalty, ("paper", 0), "at least one clause, got 0"),
    (odd_family, ([[1, 2]],), r"shape \(m, 3\), got \(1, 2\)"),
    (odd_family, ([[1] * 3, [1, 3, 1]],), r"clause 2 has .* 1\.\.2: \[1, 3, 1\]"),
    (odd_family, ([[0, 1, 1], [3] * 3],), r"clause 1 has .* \[0, 1, 1\]"),
    (odd_family, ([[1, -3, 1]],), r"clause 1 has a literal outside 1\.\.2"),
    (odd_family, ([[1] * 3], [1, 2]), r"1 clauses but weights of shape \(2,\)"),
    (odd_family, ([[1] * 3], [0]), "clause weights must be positive, got 0"),
)
def test_what_makes_no_family_is_refused(call, arguments, words) -> None:
    refused(words, call, *arguments)
    assert odd_family([[-2, 2, -1]], [1]).total_weight == 1
