"""OLIVE's program and its models, state by state and in arrays."""

from __future__ import annotations

import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from olivine.algorithms.mdp.planning import Distribution, Distributions, Pair
from olivine.algorithms.mdp.tabular import TabularMDP
from olivine.algorithms.olive_program import bulk_model as bulk
from olivine.algorithms.olive_program import model as plain
from olivine.algorithms.olive_program.model import program_model
from olivine.algorithms.olive_program.program import (
    OliveProgram,
    Violation,
    average_bellman_errors,
    two_action_program,
)
from olivine.reduction.family.family import Family, Variant
from olivine.reduction.formula.formula import Formula

from tests.support import tabular
from tests.support.depth import spread, with_rows
from tests.support.refusals import refused
from tests.support.tabular import programs

HALF = Fraction(1, 2)
FORMS = ("value-policy", "q-function")


@given(st.lists(st.fractions(-2, 2, max_denominator=9)))
def test_pairs_hold_their_values(values: list[Fraction]) -> None:
    pair = Pair.from_fractions(values, [0] * len(values))
    assert pair.values() == values
    assert [pair.value(s) for s in range(pair.n_states)] == values
    assert Pair(pair.numerators * 3, pair.denominator * 3, pair.policy) == pair
    assert pickle.loads(pickle.dumps(pair)) == pair
    assert pair.with_policy([1] * len(values)).policy.tolist() == [1] * len(values)


def test_pairs_of_any_size_and_type() -> None:
    large = Pair.from_fractions([Fraction(1, 10**30), 10**30], [0, 0])
    assert large.numerators.dtype == object
    assert large.values() == [Fraction(1, 10**30), 10**30]
    assert large != Pair.from_fractions([0, 10**30], [0, 0])
    assert large != Pair.from_fractions([0], [0])
    assert large != 1
    with pytest.raises(ValueError, match="not positive"):
        Pair(np.zeros(1, dtype=np.int64), 0, np.zeros(1, dtype=np.int32))
    refused("must hold integers", Pair, np.zeros(1), 1, np.zeros(1, dtype=np.int32))
    refused("2 values but 1 policy", Pair.from_fractions, [0, 0], [0])


@given(st.data())
def test_flat_distributions_are_the_listed_ones(data: st.DataObject) -> None:
    mdp = data.draw(tabular.mdps())
    listed = data.draw(st.lists(tabular.distributions(mdp), max_size=4))
    flat = Distributions.from_iterable(iter(listed))
    assert len(flat) == len(listed)
    assert list(flat) == listed
    assert flat[1:] == listed[1:]
    assert Distributions.from_iterable(flat) is flat
    for d in listed:
        assert sum(d.probabilities().values()) == d.mass() <= 1
        for state in range(mdp.n_states):
            assert d.probability(state) == d.probabilities().get(state, 0)
    with pytest.raises(IndexError):
        flat[len(listed)]


FLAT = {
    "offsets": [0, 2, 3],
    "states": [0, 1, 1],
    "numerators": np.array([1, 1, 1]),
    "denominators": np.array([2, 1]),
    "levels": [1, 2],
}


def test_flat_distributions_take_lists_and_keep_arrays():
    flat = Distributions(**FLAT)
    one = Distribution.from_fractions({0: HALF, 1: HALF}, 1)
    assert one != "a distribution"
    assert [flat[0], flat[-1]] == [one, Distribution.from_fractions({1: 1}, 2)]
    kinds = flat.offsets.dtype, flat.states.dtype, flat.levels.dtype
    assert kinds == (np.int64, np.int64, np.int32)


@with_rows(
    "field, value, message",
    ("offsets", [0, 3], "offsets, denominators and levels differ"),
    ("denominators", np.array([2]), "offsets, denominators and levels differ"),
    ("numerators", np.array([1, 1]), "states and numerators differ"),
    ("offsets", [1, 2, 3], "offsets do not span the states"),
    ("offsets", [0, 2, 2], "offsets do not span the states"),
    ("offsets", [0, 4, 3], "offsets decrease"),
    ("states", [0, 0, 1], "increasing"),
    ("states", [0, 1, -1], "states >= 0"),
    ("numerators", np.array([1, 1, 0]), "numerators > 0"),
    ("numerators", np.array([1, 1, 2]), "exceed 1"),
    ("denominators", np.array([2, 0]), "exceed 1"),
    ("levels", [1, 0], "level"),
)
def test_flat_distributions_that_do_not_fit_are_refused(field, value, message):
    refused(message, Distributions, **FLAT | {field: value})


@with_rows(
    "states, numerators, denominator, level, message",
    ([0, 0], [1, 1], 2, 1, "increasing"),
    ([1, 0], [1, 1], 2, 1, "increasing"),
    ([-1], [1], 1, 1, "states >= 0"),
    ([0], [0], 1, 1, "numerators > 0"),
    ([0, 1], [2, 1], 2, 1, "exceed 1"),
    ([0], [3], 2, 1, "exceed 1"),
    ([0], [1], 1, 0, "level 0"),
    ([0], [1, 1], 2, 1, "1 states but 2"),
    ([0, 1], [2**62, 2**62], 2**62, 1, "exceed 1"),
)
def test_bad_distributions_are_refused_alone_and_flat(
    states: list[int], numerators: list[int], denominator: int, level: int, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        Distribution(np.array(states), np.array(numerators), denominator, level)
    if len(states) == len(numerators):
        with pytest.raises(ValueError, match=message):
            Distributions(
                np.array([0, 0, len(states)]),
                np.array(states),
                np.array(numerators),
                np.array([1, denominator]),
                np.array([1, level]),
            )


@given(st.data())
def test_errors_match_their_definition(data: st.DataObject) -> None:
    program = data.draw(tabular.programs())
    pair = data.draw(tabular.pairs(program.mdp))
    expected = [tabular.slow_error(program.mdp, d, pair) for d in program.distributions]
    assert program.errors(pair) == expected
    values = [
        Violation("value", s, v - bound)
        for s, v in enumerate(pair.values())
        for bound in (program.lower, program.upper)
        if (bound == program.lower > v) or (bound == program.upper < v)
    ]
    constraints = [
        Violation("constraint", i, e)
        for i, e in enumerate(expected)
        if abs(e) > program.tolerance
    ]
    assert program.violations(pair) == values + constraints
    assert program.is_feasible(pair) == (not values + constraints)
    assert program.objective(pair) == pair.value(program.mdp.start)


@given(st.data())
def test_errors_along_the_own_policy_sum_to_the_optimism(data: st.DataObject) -> None:
    mdp = data.draw(tabular.mdps())
    pair = data.draw(tabular.pairs(mdp))
    errors = average_bellman_errors(mdp, pair)
    policy = pair.policy.tolist()
    for level, error in enumerate(errors, start=1):
        met = Distribution.from_fractions(
            tabular.slow_distribution(mdp, policy, level), level
        )
        assert error == tabular.slow_error(mdp, met, pair)
    assert len(errors) == mdp.horizon
    value = mdp.evaluate(policy).value(mdp.start)
    assert sum(errors) == pair.value(mdp.start) - value


@given(st.data())
def test_optimal_and_policy_values_have_no_error(data: st.DataObject) -> None:
    mdp = data.draw(tabular.mdps())
    collected = data.draw(st.lists(tabular.distributions(mdp), max_size=4))
    for pair in (
        mdp.optimal_values(),
        mdp.evaluate(data.draw(st.sampled_from(tabular.all_policies(mdp)))),
    ):
        values = pair.values()
        program = OliveProgram(mdp, collected, 0, min(values), max(values))
        assert program.errors(pair) == [0] * len(collected)
        assert program.is_feasible(pair)
        assert average_bellman_errors(mdp, pair) == [0] * mdp.horizon


def test_errors_and_pairs_beyond_int64_stay_exact():
    mdp, collected = tabular.one_variable_family()
    tiny = Fraction(1, 3**50)
    pair = Pair.from_fractions([tiny, 1 - tiny, HALF, tiny, 1], [3, 0, 1, 0, 0])
    program = OliveProgram(mdp, collected, tiny)
    expected = [tabular.slow_error(mdp, d, pair) for d in collected]
    assert program.errors(pair) == expected
    assert [v.amount for v in program.violations(pair)] == [
        e for e in expected if abs(e) > tiny
    ]
    size = 2**61
    numerators = np.array([size, size, 0, size - 1, 1])
    pair = Pair(numerators, size, np.array([3, 6, 6, 0, 0]))
    program = OliveProgram(mdp, collected, Fraction(1, 2**40))
    assert pair.numerators.dtype == np.int64
    assert program.errors(pair) == [tabular.slow_error(mdp, d, pair) for d in collected]
    assert [v.index for v in program.violations(pair)] == [0, 1, 2]


@settings(max_examples=20)
@given(st.data())
def test_constraints_that_need_large_integers_do_not_disturb_others(
    data: st.DataObject,
) -> None:
    """One action with a large denominator: int64 for some, Python ints for it."""
    prime = 2**31 - 1
    rare = Fraction(1, prime)
    mdp = TabularMDP.from_lists(
        [
            ("s", 1, [("go", 0, {"t": rare, "u": 1 - rare}), ("stay", HALF, {"u": 1})]),
            ("t", 2, [("end", Fraction(1, 3), {})]),
            ("u", 2, [("end", 0, {}), ("more", 1, {})]),
        ]
    )
    sets = [{0: 1}, {1: 1}, {1: HALF, 2: HALF}, {0: HALF, 2: HALF}, {}]
    collected = [Distribution.from_fractions(p, 1) for p in sets]
    tolerance = data.draw(st.sampled_from([0, Fraction(1, 100)]))
    program = OliveProgram(mdp, collected[:2], tolerance).extended(collected[2:])
    size = 2 ** data.draw(st.integers(20, 60)) - 1
    parts = st.integers(0, size)
    numerators = np.array([data.draw(parts) for _ in range(3)])
    pair = Pair(numerators, size, np.array(data.draw(tabular.policies(mdp))))
    expected = [tabular.slow_error(mdp, d, pair) for d in collected]
    assert program.errors(pair) == expected
    assert [v.index for v in program.violations(pair)] == [
        i for i, e in enumerate(expected) if abs(e) > tolerance
    ]


def test_the_paper_s_family_by_hand() -> None:
    mdp, collected = tabular.one_variable_family()
    program = OliveProgram(mdp, collected)
    optimal = mdp.optimal_values()
    assert program.objective(optimal) == Fraction(5, 6)
    assert program.is_feasible(optimal)
    # literal states are met at time step 2 by [try x1], at 3 behind a clause
    tried = optimal.policy.copy()
    tried[0] = mdp.action_index(0, "[try x1]")
    assert mdp.distribution(tried, 2) == collected[3]
    assert mdp.distribution(tried, 3).mass() == 0
    assert mdp.distribution(optimal.policy, 3).level == 3
    # the first round of the adversarial run: errors p and 1
    first = Pair.from_fractions(
        [1, 1, 0, 0, 0], [mdp.action_index(0, "[try C1]"), 0, 0, 0, 0]
    )
    assert average_bellman_errors(mdp, first)[:2] == [HALF, 1]
    assert OliveProgram(mdp, []).is_feasible(first)
    assert [v.index for v in program.violations(first)] == [0, 1, 3]


@given(st.data())
def test_feasible_pairs_are_points_of_the_model_and_back(data: st.DataObject) -> None:
    program = data.draw(tabular.programs())
    policy = data.draw(st.sampled_from(tabular.all_policies(program.mdp)))
    pair = program.mdp.evaluate(policy)
    if data.draw(st.booleans()):
        pair = data.draw(tabular.pairs(program.mdp))
    for form in FORMS:
        built = program_model(program, form)
        point = built.point(pair)
        # values of states outside the program must be in range for a pair, only
        outside = [v for v in program.violations(pair) if v.kind == "value"]
        inside = [v for v in outside if v.index in built.value_index]
        broken = [v for v in program.violations(pair) if v not in outside]
        assert built.model.is_feasible(point) == (not inside and not broken)
        if inside or broken:
            refused("does not satisfy", built.pair, point)
            continue
        back = built.pair(point)
        assert built.model.objective_value(point) == program.objective(pair)
        assert program.objective(back) == program.objective(pair)
        assert program.is_feasible(back)
        for state in built.value_index:
            assert back.value(state) == pair.value(state)
        assert built.point(back) == point


@given(tabular.programs())
def test_only_states_of_the_program_have_variables(program: OliveProgram) -> None:
    mdp = program.mdp
    support = {int(s) for d in program.distributions for s in d.states}
    needed = {mdp.start} | support
    for state in support:
        for action in mdp.actions(state):
            needed.update(target for target, _ in mdp.successors(action))
    for form in FORMS:
        built = program_model(program, form)
        assert set(built.value_index) == needed
        choosing = support | ({mdp.start} if form == "q-function" else set())
        assert set(built.policy_index) <= choosing
        assert set(built.backup_index) <= support
        integers = {
            j for j, variable in enumerate(built.model.variables) if variable.integer
        }
        assert integers == {j for b in built.policy_index.values() for j in b.values()}


@given(tabular.programs())
def test_big_m_is_the_least_that_never_cuts(program: OliveProgram) -> None:
    """With a binary off, each of its rows can just be met with equality.

    That is, its worst point in the box of the continuous variables meets it, and
    with no slack: a smaller constant would cut, a larger one is waste.
    """
    for form in FORMS:
        model = program_model(program, form).model
        for row in model.rows:
            if not row.name.startswith(("above", "below", "greedy")):
                continue
            worst = -row.rhs if row.sense == "<=" else row.rhs
            for j, c in zip(row.indices, row.coefficients, strict=True):
                variable = model.variables[j]
                sign = 1 if row.sense == "<=" else -1
                ends = [sign * c * variable.lower, sign * c * variable.upper]
                worst += 0 if variable.integer else max(ends)
            assert worst == 0


def test_the_range_of_a_backup_allows_for_the_tolerance_and_the_mass() -> None:
    """A constraint on half of the mass at one state allows twice the error."""
    mdp = TabularMDP.from_lists([("s", 1, [("a", 2, {}), ("b", -1, {})])])
    share = Distribution.from_fractions({0: HALF}, 1)
    for tolerance, range_ in [(HALF, (-1, 2)), (Fraction(1, 4), (-HALF, 3 * HALF))]:
        built = program_model(OliveProgram(mdp, [share], tolerance))
        backup = built.model.variables[built.backup_index[0]]
        assert (backup.lower, backup.upper) == range_
    best = Pair.from_fractions([1], [0])
    built = program_model(OliveProgram(mdp, [share], HALF))
    assert built.model.is_feasible(built.point(best))
    whole = Distribution.from_fractions({0: 1}, 1)
    assert not OliveProgram(mdp, [whole], HALF).is_feasible(best)


def test_the_policy_of_the_q_function_form_is_greedy() -> None:
    mdp, collected = tabular.one_variable_family()
    built = program_model(OliveProgram(mdp, collected), "q-function")
    point = built.point(mdp.optimal_values())
    start = mdp.start
    for local, value, greedy in [(0, Fraction(5, 6), True), (0, Fraction(6, 7), False)]:
        changed = list(point)
        changed[built.q_index[start, local]] = value
        assert built.model.is_feasible(changed) == greedy
    tie = list(point)
    tie[built.q_index[start, 3]] = HALF  # the action taken, below its value
    assert not built.model.is_feasible(tie)


def test_equal_actions_share_a_binary() -> None:
    mdp = TabularMDP.from_lists(
        [
            ("s", 1, [("a", 0, {"t": 1}), ("b", 1, {}), ("c", 0, {"t": 1})]),
            ("t", 2, [("d", 0, {}), ("e", 0, {})]),
        ]
    )
    everywhere = [Distribution.from_fractions({s: 1}, s + 1) for s in (0, 1)]
    built = program_model(OliveProgram(mdp, everywhere))
    assert {s: list(b) for s, b in built.policy_index.items()} == {0: [0, 1]}
    pair = Pair.from_fractions([0, 0], [2, 1])
    assert built.pair(built.point(pair)).policy.tolist() == [0, 0]


def test_points_and_programs_that_are_none_are_refused():
    mdp, collected = tabular.one_variable_family()
    built = program_model(OliveProgram(mdp, collected))
    point = built.point(mdp.optimal_values())
    assert built.policy([float(v) for v in point]).tolist() == (
        built.pair(point).policy.tolist()
    )
    refused("1 values for", built.pair, point[:1])
    refused("is not exact", built.pair, [float(v) for v in point])
    changed = list(point)
    changed[built.value_index[1]] = HALF
    refused("does not satisfy the program", built.pair, changed)
    refused("tolerance -1 is negative", OliveProgram, mdp, collected, -1)
    refused("empty range", OliveProgram, mdp, collected, 0, 1, 0)
    refused(r"upper 1\.0 is neither", OliveProgram, mdp, collected, upper=1.0)
    n = mdp.n_states
    refused(f"1 upper ends for {n} obs", OliveProgram, mdp, collected, upper=[1])
    refused("no model of a int", program_model, 3, error=TypeError)
    with pytest.raises(ValueError, match="names state 5, but the MDP has 5"):
        OliveProgram(mdp, [Distribution.from_fractions({5: 1}, 1)])
    with pytest.raises(ValueError, match="unknown form 'linear'"):
        program_model(OliveProgram(mdp, collected), "linear")
    with pytest.raises(ValueError, match="policy takes action 4"):
        OliveProgram(mdp, collected).errors(Pair.from_fractions([0] * 5, [4] * 5))
    with pytest.raises(ValueError, match="policy of length 1"):
        OliveProgram(mdp, collected).errors(Pair.from_fractions([0], [0]))
    with pytest.raises(ValueError, match="policy takes action 4"):
        average_bellman_errors(mdp, Pair.from_fractions([0] * 5, [4] * 5))


@pytest.mark.parametrize("denominator", [3, 2**70 + 1])
def test_each_state_has_its_own_range(denominator):
    """Ends that are equal, shared or one object each; values of any size."""
    mdp = TabularMDP.from_lists(
        [
            ("s", 1, [("go", 0, {"t": 1})]),
            ("t", 2, [("go", 0, {"u": 1})]),
            ("u", 3, [("end", 0, {})]),
        ]
    )
    ends = [Fraction(1, 3), Fraction(2, 3), Fraction(1, 3)]
    program = OliveProgram(mdp, [], upper=ends)
    assert program.upper_given == tuple(ends)
    for state, end in enumerate(ends):
        values = [Fraction(0)] * 3
        for above in (0, 1):
            k = end.numerator * denominator // end.denominator + above
            values[state] = Fraction(k, denominator)
            pair = Pair.from_fractions(values, np.zeros(3, dtype=np.int32))
            assert program.is_feasible(pair) == (not above)


MAPS = ("value_index", "policy_index", "q_index", "backup_index")


def described(built) -> tuple:
    """Rows, variables and maps by names."""
    model = built.model
    variables = list(model.variables)
    rows = {
        row.name: (
            {
                variables[j].name: c
                for j, c in zip(row.indices, row.coefficients, strict=True)
            },
            row.sense,
            row.rhs,
        )
        for row in model.rows
    }
    maps = [
        {
            key: variables[found].name
            if isinstance(found, int)
            else {a: variables[j].name for a, j in found.items()}
            for key, found in getattr(built, name).items()
        }
        for name in MAPS
    ]
    objective = {variables[j].name: c for j, c in model.objective.items()}
    assert len(rows) == len(model.rows)
    return {v.name: v for v in variables}, rows, maps, objective, model.maximise


def assert_same(program: OliveProgram) -> None:
    assert bulk.fits(program)
    for form in FORMS:
        one = plain.program_model(program, form)
        two = plain.ProgramModel(program, form, *bulk.bulk_model(program, form))
        assert described(one) == described(two)
        assert len(one.model.variables) == len(two.model.variables)
        pair = program.mdp.optimal_values()
        names = [v.name for v in one.model.variables]
        mine = dict(zip(names, one.point(pair), strict=True))
        others = (v.name for v in two.model.variables)
        assert mine == dict(zip(others, two.point(pair), strict=True))


@given(programs())
def test_any_program(program: OliveProgram) -> None:
    assert_same(program)


@pytest.mark.parametrize("variant", spread(Variant, 3))
def test_families_with_odd_clauses(variant: Variant) -> None:
    clauses = [[1, 2, 2], [1], [-1, 2, 3], [1, -1, 3]]
    family = Family(Formula.from_clauses(clauses).three_sat(), variant)
    assert_same(family.program())
    if variant is not Variant.PAPER:
        assert_same(two_action_program(family.program())[1])


def test_marks_that_agree_by_chance_are_found_out(monkeypatch) -> None:
    """Kinds are told apart by their contents, whatever the hashes say."""
    monkeypatch.setattr(bulk, "mixed", lambda values: (values * 0).astype("uint64"))
    clauses = [[1, 2, 3], [1, 1, 2], [-1, 2, 3], [1], [2, -3, 3]]
    assert_same(Family(Formula.from_clauses(clauses).three_sat()).program())


def test_large_programs_are_modelled_in_bulk_and_longer_numbers_singly(monkeypatch):
    family = Family(Formula.from_clauses([[1, 2, 3]]).three_sat())
    monkeypatch.setattr(plain, "LARGE", 0)
    built = plain.program_model(family.program())
    assert isinstance(built.value_index, bulk.Late)
    monkeypatch.setattr(plain, "LARGE", 10**6)
    assert described(built) == described(plain.program_model(family.program()))
    # Over a common denominator they would not fit into 64 bits.
    monkeypatch.setattr(plain, "LARGE", 0)
    family = Family(Formula.from_clauses([[1, 2, 3]]).three_sat())
    own = family.program()
    program = OliveProgram(own.mdp, own.distributions, upper=1 + Fraction(1, 2**61 - 1))
    assert not bulk.fits(program)
    assert isinstance(plain.program_model(program).model.variables, list)
