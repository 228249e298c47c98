"""Errata 1 to 5 of the paper, each shown; see docs/errata.md."""

from fractions import Fraction

import numpy as np
from olivine.algorithms.mdp.planning import Distribution, Pair
from olivine.algorithms.mdp.tabular import TabularMDP
from olivine.algorithms.olive_program.optimisers import enumerate_policies
from olivine.algorithms.olive_program.program import OliveProgram
from olivine.reduction.family.family import Family
from olivine.reduction.run.run import adversarial_run
from olivine.reduction.run.schedule import q_functions

from tests.support.depth import with_rows
from tests.support.families import ALL_EIGHT, as_three_sat
from tests.support.runs import replayed
from tests.support.tabular import one_variable_family

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
