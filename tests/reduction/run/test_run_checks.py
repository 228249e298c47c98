"""What the checks of a run find: wrong moves, rounds replayed, the paper's errata."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from olivine.algorithms.mdp.planning import Distribution, Pair
from olivine.algorithms.mdp.tabular import TabularMDP
from olivine.algorithms.olive_program.optimisers import enumerate_policies
from olivine.algorithms.olive_program.program import (
    OliveProgram,
    average_bellman_errors,
)
from olivine.reduction.family.family import Family
from olivine.reduction.run.replay import Replay, StartBound
from olivine.reduction.run.run import adversarial_run
from olivine.reduction.run.schedule import Move, Setting, q_functions, schedule

from tests.support.depth import with_rows
from tests.support.families import ALL_EIGHT, as_three_sat
from tests.support.runs import replayed
from tests.support.tabular import mdps, one_variable_family

FAMILY = Family(as_three_sat([[1, -2, 3], [-1, 2, 3]], 3))


def altered(family, number, **changes):
    """The schedule with one move changed."""
    moves = list(schedule(family))
    old = moves[number - 1]
    fields = {name: getattr(old, name) for name in Move.__dataclass_fields__}
    moves[number - 1] = Move(**(fields | changes))
    return moves


def failed(moves, number):
    run = adversarial_run(FAMILY, None, moves)
    assert not run.holds
    assert any(line.startswith(f"round {number}, [") for line in run.failures())
    return run.rounds[number - 1]


def test_a_pair_a_value_or_an_action_that_is_wrong_is_named():
    changes = dict(next(schedule(FAMILY)).changes)
    changes[0] = Setting(changes[0].action, Fraction(9, 10))
    done = failed(altered(FAMILY, 1, changes=changes), 1)
    assert not done.checks.maximiser
    assert "g(s0) is 9/10, not the optimum 1" in done.failures[0]
    changes = dict(list(schedule(FAMILY))[2].changes)
    high = Fraction(3, 2)
    changes[FAMILY.literal_state(0, 1)] = Setting(0, high, (high,))
    done = failed(altered(FAMILY, 3, changes=changes), 3)
    assert "the Q-values at x1^1 leave [0, 1]" in done.failures[0]
    changes = dict(next(schedule(FAMILY)).changes)
    zero, one = Fraction(0), Fraction(1)
    changes[2] = Setting(0, zero, (zero, one, zero, zero, zero, zero, zero))
    done = failed(altered(FAMILY, 1, changes=changes), 1)
    assert "the action at C2 is not greedy" in done.failures[0]


def test_a_broken_constraint_is_named_until_it_is_mended():
    changes = dict(list(schedule(FAMILY))[1].changes)
    del changes[1]  # C_1 stays at 1
    run = adversarial_run(FAMILY, None, altered(FAMILY, 2, changes=changes))
    assert [r.number for r in run.rounds if not r.checks.maximiser] == [2]
    line = "the average Bellman error at {C1} is 1, not 0"
    assert line in run.rounds[1].failures[0]
    # in round 3 x_1 rises to 1, and with it the clause is set anew
    assert run.rounds[2].checks.maximiser


def test_a_level_without_error_or_a_missing_round_is_named():
    done = failed(altered(FAMILY, 3, level=1), 3)
    assert not done.checks.positive_error
    assert not done.checks.constraint_as_stated
    assert "the average Bellman error at level 1 is 0" in done.failures[0]
    assert "it adds {s0} at level 1" in done.failures[1]
    assert "it does not add {x1^0, x1^1} at level 2" in done.failures[2]
    moves = list(schedule(FAMILY))[:-1]
    run = adversarial_run(FAMILY, None, moves)
    assert all(r.checks.maximiser and r.checks.positive_error for r in run.rounds)
    assert not run.program_as_stated
    assert len(run.difference) == 1
    assert run.difference[0].endswith("is stated but not collected")


def test_a_run_that_binds_literals_behind_a_clause_is_refused():
    """Level 3 of a clause round tells members apart: it is not in the program."""
    moves = altered(FAMILY, 1, level=3)
    y = np.zeros(3, dtype=bool)
    run = adversarial_run(FAMILY, ~y, moves)
    assert not run.rounds[0].checks.constraint_as_stated
    assert any("collected but not stated" in line for line in run.difference)


@pytest.mark.parametrize("y", [[True], [0, 1, 2], "010"])
def test_a_member_that_is_none_is_refused(y):
    with pytest.raises(ValueError, match="truth values"):
        adversarial_run(FAMILY, y)


def test_moves_that_name_nothing_are_refused():
    with pytest.raises(ValueError, match="level 4 is outside"):
        adversarial_run(FAMILY, None, altered(FAMILY, 1, level=4))
    changes = {1: Setting(7, Fraction(0))}
    with pytest.raises(ValueError, match="'C1' has no action 7"):
        adversarial_run(FAMILY, None, altered(FAMILY, 1, changes=changes))
    changes = {1: Setting(0, Fraction(1), (Fraction(1),) * 6)}
    with pytest.raises(ValueError, match="do not match"):
        adversarial_run(FAMILY, None, altered(FAMILY, 1, changes=changes))


def test_only_a_pair_of_equal_shares_bounds_the_start():
    """Unequal shares, as behind a clause with x and not x, leave it more."""
    family = Family(as_three_sat([[1, 1, -1]], 1), "strict")
    first, bound = family.literal_state(0, 0), StartBound(family)
    for state, level in ((0, 1), (family.clause_state(0), 2), (first - 1, 2)):
        bound.add(Distribution.from_fractions({state: 1}, level))
    for share, best in ((Fraction(1, 3), "17/100"), (Fraction(1, 2), "3/20")):
        shares = {first: share, first + 1: 1 - share}
        bound.add(Distribution.from_fractions(shares, 3))
        assert bound.value() == Fraction(best)


def test_a_clause_without_a_weight_bounds_the_start_as_one_of_weight_1():
    clauses = [[1, 2, 3], [-1, -2, 3], [1, -2, -3]]
    plain, weighted = (
        Family(as_three_sat(clauses, 3, weights), "strict")
        for weights in (None, [1, 1, 1])
    )
    bounds = [StartBound(family) for family in (plain, weighted)]
    seen = []
    first, variables = plain.layout.first_literal_state, range(4, 7)
    shares = [{v: Fraction(1)} for v in (0, *variables)]
    shares += [{first + 2 * i + k: Fraction(1, 2) for k in (0, 1)} for i in range(3)]
    shares += [{clause: Fraction(1)} for clause in (1, 2, 3)]
    for share in shares:
        level = 1 if 0 in share else 3 if max(share) >= first else 2
        for bound in bounds:
            bound.add(Distribution.from_fractions(share, level))
        seen.append([bound.value() for bound in bounds])
    assert all(one == other for one, other in seen)
    assert seen[-1][0] == Fraction(3, 20) < seen[-2][0]


VALUES = st.sampled_from([Fraction(k, 6) for k in (-1, 0, 0, 1, 2, 3, 6, 7)])


@st.composite
def changes(draw, mdp):
    """New Q-values of some states: out of range and not greedy now and then."""
    found = {}
    for state in draw(st.lists(st.integers(0, mdp.n_states - 1), unique=True)):
        count = len(mdp.actions(state))
        action = draw(st.integers(0, count - 1))
        if draw(st.booleans()):
            found[state] = Setting(action, draw(VALUES))
            continue
        q = draw(st.lists(VALUES, min_size=count, max_size=count))
        found[state] = Setting(action, q[action], tuple(q))
    return found


@given(mdp=mdps(), all_levels=st.booleans(), data=st.data())
def test_any_run(mdp, all_levels, data):
    replay = Replay(mdp, 0, 1, all_levels=all_levels)
    values = [Fraction(0)] * mdp.n_states
    policy = [0] * mdp.n_states
    q = [[Fraction(0)] * len(mdp.actions(s)) for s in range(mdp.n_states)]
    collected: list[Distribution] = []
    for _ in range(data.draw(st.integers(1, 6))):
        level = data.draw(st.integers(1, mdp.horizon))
        changed = data.draw(changes(mdp))
        for state, setting in changed.items():
            values[state], policy[state] = setting.value, setting.action
            row = [Fraction(0)] * len(q[state])
            row[setting.action] = setting.value
            q[state] = list(setting.q) if setting.q is not None else row
        played = replay.play(changed, level)
        pair = Pair.from_fractions(values, policy)
        assert played.objective == values[mdp.start]
        assert list(played.errors) == average_bellman_errors(mdp, pair)
        broken = [
            v
            for v in OliveProgram(mdp, collected).violations(pair)
            if v.kind == "constraint"
        ]
        wrong = [s for s, row in enumerate(q) if max(row) != values[s]]
        wrong += [s for s, row in enumerate(q) if min(row) < 0 or max(row) > 1]
        assert len(played.broken) == len(broken) + len(set(wrong))
        for violation, line in pairs(broken, played):
            assert f"is {violation.amount}, not 0" in line
        added = []
        for h in range(1, mdp.horizon + 1) if all_levels else (level,):
            met = mdp.distribution(policy, h)
            known = [d.probabilities() for d in collected]
            if len(met.states) and met.probabilities() not in known:
                added.append(met)
                collected.append(met)
        assert list(played.added) == added
        assert replay.constraints == collected
        assert played.evaluated <= len(collected)


def pairs(broken, played):
    """Line up violated constraints with the last lines of a round."""
    lines = played.broken[len(played.broken) - len(broken) :]
    return zip(broken, lines, strict=True)


def test_only_what_is_touched_is_evaluated():
    """A change of C_2 leaves the constraint of C_1 alone, one of x1^0 does not."""
    mdp, _ = one_variable_family()
    replay = Replay(mdp)
    one, zero = Fraction(1), Fraction(0)
    tried = {0: Setting(1, one), 1: Setting(0, one)}
    assert replay.play(tried, 2).evaluated == 0
    assert [list(d.states) for d in replay.constraints] == [[1]]
    mended = {0: Setting(2, one), 1: Setting(0, zero), 2: Setting(0, one)}
    assert replay.play(mended, 1).evaluated == 1
    assert replay.play({2: Setting(1, one)}, 1).evaluated == 1  # s0, just added
    assert replay.play({3: Setting(0, one)}, 1).broken == (
        "the average Bellman error at {C1} is -2/3, not 0",
        "the average Bellman error at {s0} is 1/2, not 0",
    )


def test_the_range_must_hold_the_first_function():
    mdp, _ = one_variable_family()
    with pytest.raises(ValueError, match="0 lies outside"):
        Replay(mdp, Fraction(1, 2), 1)


HALF = Fraction(1, 2)


def one_variable_mdp(try_reward, *, by_level=False) -> TabularMDP:
    """The paper's MDP for x1 and not x1, with a reward of [try C_j] of one's choice.

    `by_level` gives the literal states met behind a clause states of their own.
    """
    mdp, _ = one_variable_family()
    later = "@3" if by_level else ""
    states = []
    for state, name in enumerate(mdp.state_names):
        actions = []
        for action in mdp.actions(state):
            label = mdp.action_names[action]
            behind = later if name.startswith("C") else ""
            successors = {
                mdp.state_names[t] + behind: p for t, p in mdp.successors(action)
            }
            reward = try_reward if "try C" in label else mdp.reward(action)
            actions.append((label, reward, successors))
        states.append((name, int(mdp.state_level[state]), actions))
    if by_level:
        states += [("x1^0@3", 3, [("[go]", 0, {})]), ("x1^1@3", 3, [("[go]", 1, {})])]
    return TabularMDP.from_lists(states)


@with_rows(
    "reward, expected",
    (-HALF, Fraction(5, 6)),  # -1/m, as in the constraints: decides
    (Fraction(-1), Fraction(5, 6)),  # -1/n, as in the sketch: decides
    (HALF, Fraction(1)),  # 1/m, as in the text: 1 though unsatisfiable
)
def test_erratum_1_the_reward_of_trying_a_clause_must_be_negative(reward, expected):
    _, distributions = one_variable_family()
    program = OliveProgram(one_variable_mdp(reward), distributions)
    assert enumerate_policies(program).optimum == expected


def test_erratum_4_values_must_not_be_indexed_by_level():
    """With values for each level the literals behind a clause are free."""
    _, distributions = one_variable_family()
    mdp = one_variable_mdp(-HALF, by_level=True)
    left = enumerate_policies(OliveProgram(mdp, distributions))
    assert left.optimum == 1  # though the formula is unsatisfiable
    # binding the level-3 states instead would tell the members apart: here y = 1
    bound = [*distributions]
    bound += [Distribution.from_fractions({s: 1}, 3) for s in (5, 6)]
    assert enumerate_policies(OliveProgram(mdp, bound)).optimum == Fraction(5, 6)


def test_the_papers_q_functions_where_it_prints_them():
    family = Family(as_three_sat(ALL_EIGHT, 3))
    layout, m = family.layout, 8
    for t, (_, f) in enumerate(q_functions(family)):
        mdp = family.mdp()
        at_start = [f.values[a] for a in mdp.actions(0)]
        tried = layout.try_clause(t) if t < m else (t - m) % 3
        assert at_start == [int(a == tried) for a in range(len(at_start))]
        if t < m:
            assert {f.values[a] for a in mdp.actions(1 + t)} == {1}
        pairs = f.pair(family).values()[layout.first_literal_state :]
        now = t - m
        values = {"clause": 0, "literal": 1, "start": HALF}
        kind = "clause" if t < m else "literal" if now < 3 else "start"
        assert pairs[2 * max(now % 3, 0)] == values[kind]
        assert pairs[2 * max(now % 3, 0) + 1] == values[kind]


def printed(family: Family, t: int) -> Pair:
    """What the paper prints for round t, every free value 1 or 0 as it comes.

    Clause rounds: all clause states 1, all literals 0. Literal rounds: the pair
    tried at 1, all else 0.
    """
    layout, m = family.layout, family.n_clauses
    values = [Fraction(0)] * layout.n_states
    policy = np.zeros(layout.n_states, dtype=np.int32)
    values[0] = Fraction(1)
    if t < m:
        policy[0] = layout.try_clause(t)
        values[1 : 1 + m] = [Fraction(1)] * m
    else:
        policy[0] = layout.try_variable(t - m)
        for b in (0, 1):
            values[layout.literal_state(t - m, b)] = Fraction(1)
    return Pair.from_fractions(values, policy)


def test_erratum_5_free_values_break_constraints_of_earlier_rounds():
    """ "Any Q-function with ..." is too many: f(C_1) = 1 in round 2, for one."""
    family = Family(as_three_sat([[1, 2, 3], [-1, -2, 3]], 3))
    programs = [p for _, _, p in replayed(family, family.mdp())]
    assert programs[0].is_feasible(printed(family, 0))
    broken = {t: programs[t].violations(printed(family, t)) for t in (1, 2, 3)}
    # round 2: C_1 must be worth 0, as its literals are
    assert [(v.index, v.amount) for v in broken[1]] == [(0, Fraction(1))]
    # first literal round: both clauses reach x_1 by action 001, worth 1/3
    assert {v.index for v in broken[2]} == {0, 1}
    # second literal round: the pair of x_1 must sum to 1
    assert (2, -HALF) in {(v.index, v.amount) for v in broken[3]}
    # the schedule's own values for the same rounds are feasible
    assert adversarial_run(family).holds


def test_erratum_2_pair_constraints_run_over_variables():
    """The sketch's i ∈ [m]: one clause on three variables has three pairs."""
    family = Family(as_three_sat([[1, 2, 3]], 3))
    run = adversarial_run(family)
    assert sum("^" in r.constraint for r in run.rounds) == 3 != family.n_clauses
    assert run.program_as_stated


def test_erratum_3_the_clause_tried_is_the_one_whose_value_counts():
    """[try C_j] is worth max_b f(C_j, b) − p, not that of C_1 for every j."""
    family = Family(as_three_sat([[1, 1, 1], [-1, -1, -1]], 1))
    # g(C_1) = 2/3·0 + 1/3·0, g(C_2) = 1: only C_2 pays for [try C_2]
    layout = family.layout
    values = [HALF, Fraction(0), Fraction(1), Fraction(1), Fraction(0)]
    policy = np.array([layout.try_clause(1), 0, 6, 0, 0])
    pair = Pair.from_fractions(values, policy)
    at_start = family.program().errors(pair)[0]
    assert at_start == values[0] - (values[2] - family.penalty) == 0
    assert at_start != values[0] - (values[1] - family.penalty)
