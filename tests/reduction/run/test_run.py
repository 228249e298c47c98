"""The run against the definitions: every round on whole programs, every member."""

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from olivine.algorithms.mdp.planning import Pair
from olivine.algorithms.olive_program.model import program_model
from olivine.algorithms.olive_program.optimisers import enumerate_policies
from olivine.algorithms.olive_program.program import (
    OliveProgram,
    average_bellman_errors,
)
from olivine.reduction.family.family import Family, Variant
from olivine.reduction.family.layout import CLAUSE_BITS
from olivine.reduction.formula.dimacs import read_dimacs
from olivine.reduction.formula.random_formula import random_ksat
from olivine.reduction.program.optimum import optimum
from olivine.reduction.program.program import build
from olivine.reduction.run.run import adversarial_run, n_rounds
from olivine.reduction.run.schedule import schedule

from tests.support.cases import case_parameters
from tests.support.depth import deep, spread
from tests.support.families import (
    VARIANTS,
    as_three_sat,
    assignments,
    best_assignments,
    families,
)
from tests.support.runs import program_left, replayed

HALF = Fraction(1, 2)
SMALL = {"max_variables": 3, "max_clauses": 4}


@settings(max_examples=deep(25, 5))  # a run on each member
@given(families(**SMALL))
def test_every_round_on_every_member_by_definition(family):
    for y in assignments(family.n_variables):
        member = family.mdp(y)
        run = adversarial_run(family, y)
        assert run.holds, run.failures()
        assert len(run.rounds) == n_rounds(family)
        rounds = iter(run.rounds)
        for move, f, program in replayed(family, member):
            found, pair = next(rounds), f.pair(family)
            assert program.is_feasible(pair)
            assert program.objective(pair) == found.optimum
            if family.variant is not Variant.STRICT:
                assert found.optimum == program.upper == 1
            errors = average_bellman_errors(member, pair)
            assert list(found.errors) == errors
            assert errors[move.level - 1] > 0
            assert sum(errors) > 0
            assert found.level == move.level
        left = program_left(family, member).distributions
        stated = list(family.distributions())
        assert len(left) == len(stated)
        assert all(d in stated for d in left)


@given(families(**SMALL), st.data())
def test_members_differ_only_in_errors_behind_a_clause(family, data):
    runs = [adversarial_run(family, y) for y in assignments(family.n_variables)]
    first = runs[0]
    for run in runs[1:]:
        for mine, other in zip(run.rounds, first.rounds, strict=True):
            same = ("number", "action", "level", "constraint", "optimum", "checks")
            assert all(getattr(mine, f) == getattr(other, f) for f in same)
            assert mine.errors[:2] == other.errors[:2]
            if family.layout.declaration.every_level or "C" not in mine.action:
                assert mine.errors[2] == other.errors[2]


@given(families(**SMALL))
def test_errors_are_those_of_the_theory(family):
    declared, half = family.layout.declaration, family.top / 2
    most, middle = declared.ranges.start, declared.ranges.middle
    tried = family.try_clause_reward + middle
    moves = list(schedule(family))
    expected = {
        "clause": [most - tried, middle],
        "literal": [0, 0, half] if declared.variable_states else [0, half, 0],
        "variable": [0, half, 0],
        "start": [half, 0, 0],
    }
    if moves[0].kind == "start":  # then g(s0) is what its action is worth
        expected |= {
            "clause": [0, middle - half],
            "variable": [0, middle - half, 0],
            "start": [most - family.try_variable_reward - half, 0, 0],
        }
    for move, done in zip(moves, adversarial_run(family).rounds, strict=True):
        due = expected[move.kind]
        if declared.every_level and move.kind == "clause":
            due = [0, 0, 1] if move.index == 0 else [0, 1, 0]
        assert list(done.errors[: len(due)]) == due
        assert done.errors[done.level - 1] == max(due)
        assert done.total_error >= min(family.penalty, half)


@given(families(**SMALL))
def test_a_literal_state_is_never_bound_behind_a_clause(family):
    first = family.layout.first_literal_state
    last = first + 2 * family.n_variables
    run = adversarial_run(family)
    for _, f, _ in replayed(family, family.mdp()):
        clause = family.mdp().distribution(f.policy, 2).states[0] <= family.n_clauses
        if clause and family.variant is Variant.ALL_LEVELS:
            met = family.mdp().distribution(f.policy, 3).states
            assert not ((first <= met) & (met < last)).any()
    for d in program_left(family, family.mdp()).distributions:
        literals = d.states[(first <= d.states) & (d.states < last)]
        if len(literals):
            assert [s - first for s in literals] in [
                [2 * i, 2 * i + 1] for i in range(family.n_variables)
            ]
            assert set(d.probabilities().values()) == {HALF}
    assert run.program_as_stated


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_program_left_is_the_model_of_the_reduction(variant):
    """Row for row the model that `program.build` writes, on every member."""
    family = Family(as_three_sat([[1, -2, 3], [-1, 2, 2], [3, -3, 1]], 3), variant)
    stated = list(family.distributions())
    for y in list(assignments(3))[:: deep(1, 3)]:
        member = family.mdp(y)
        left = program_left(family, member).distributions
        ordered = sorted(left, key=stated.index)
        for form in ("value-policy", "q-function"):
            program = OliveProgram(member, ordered, upper=family.ranges())
            mine = program_model(program, form).model
            model = build(family, "faithful", form).model
            assert mine.variables == model.variables
            assert Counter(map(repr, mine.rows)) == Counter(map(repr, model.rows))
            assert mine.objective == model.objective


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_constraints_are_the_papers_equations(variant):
    """The paper's list, written down by hand and compared as functions of (g, π)."""
    clauses = [[-2, 3, -5], [1, 1, -4], [2, -2, 4], [5, 5, 5]]
    family = Family(as_three_sat(clauses, 5), variant)
    layout, top, m = family.layout, family.top, len(clauses)
    rng = np.random.default_rng(7)
    assert adversarial_run(family, rng.random(5) < 0.5).holds
    literal = layout.literal_state
    for _ in range(60):
        g = [Fraction(int(v), 12) for v in rng.integers(0, 13, layout.n_states)]
        policy = rng.integers(0, family.mdp().action_counts)
        pair = Pair.from_fractions(g, policy)
        equations = []
        at_start = int(policy[0])
        if at_start < 5 and variant is Variant.PAPER:
            worth = (g[literal(at_start, 0)] + g[literal(at_start, 1)]) / 2
        elif at_start < 5:
            reward = family.try_variable_reward
            worth = reward + g[layout.variable_state(at_start)]
        elif at_start < 5 + m:
            worth = family.try_clause_reward + g[1 + at_start - 5]
        else:
            behind = sum(g[1 : 1 + m]) / m
            if variant is Variant.STRICT:
                behind = (behind + g[layout.second_bottom_state]) / 2
            worth = family.solve_reward + behind
        equations.append(g[0] - worth)
        for j, clause in enumerate(clauses):
            b = int(policy[1 + j])
            if b == 7:
                equations.append(g[1 + j] - g[layout.bottom_state])
                continue
            reached = [
                literal(abs(x) - 1, int(bit) if x > 0 else 1 - int(bit))
                for x, bit in zip(clause, CLAUSE_BITS[b], strict=True)
            ]
            equations.append(g[1 + j] - sum(g[s] for s in reached) / 3)
        pairs = [(g[literal(i, 0)] + g[literal(i, 1)]) / 2 for i in range(5)]
        equations += [mean - top / 2 for mean in pairs]
        if variant is not Variant.PAPER:
            equations += [g[layout.variable_state(i)] - pairs[i] for i in range(5)]
        if variant is Variant.ALL_LEVELS:
            equations.append(g[layout.bottom_state])
        assert family.program().errors(pair) == equations


@settings(max_examples=deep(25, 5))  # a run on each member
@given(families(**SMALL), st.data())
def test_q_functions_are_greedy_however_ties_are_broken(family, data):
    """In range; any greedy policy that agrees at s0 keeps the round feasible."""
    member = family.mdp(
        data.draw(st.sampled_from(list(assignments(family.n_variables))))
    )
    for move, f, program in replayed(family, member):
        assert all(0 <= value <= 1 for value in f.values)
        rows = [[f.values[a] for a in member.actions(s)] for s in range(len(f.policy))]
        greedy = [[a for a, v in enumerate(row) if v == max(row)] for row in rows]
        assert all(a in best for a, best in zip(f.policy, greedy, strict=True))
        assert len(greedy[0]) == 1
        for _ in range(3):
            policy = [data.draw(st.sampled_from(best)) for best in greedy]
            pair = Pair.from_fractions(map(max, rows), policy)
            assert program.is_feasible(pair)
            assert program.objective(pair) == max(rows[0])
            errors = average_bellman_errors(member, pair)
            assert errors[move.level - 1] > 0
            assert sum(errors) > 0


@pytest.mark.parametrize(
    "case", [p for p in case_parameters("odd") if p.values[0].expected["accepted"]]
)
def test_cases(case):
    formula = read_dimacs(case.path).formula
    for variant in VARIANTS[:: deep(1, 2)]:
        family = Family(formula.three_sat(), variant)
        rng = np.random.default_rng(0)
        run = adversarial_run(family, rng.random(family.n_variables) < 0.5)
        assert run.holds, run.failures()


@pytest.mark.parametrize("variant", spread(VARIANTS, 1))
def test_the_work_of_a_round_is_what_it_touches(variant):
    """Constraints evaluated: a constant for each clause and variable in all."""
    rng = np.random.default_rng(3)
    for n in (10, 40):
        m = 4 * n
        family = Family(random_ksat(n, m, 3, rng).three_sat(), variant)
        run = adversarial_run(family, rng.random(n) < 0.5)
        assert run.holds
        assert sum(r.evaluated for r in run.rounds) <= 12 * (m + n)
        busiest = np.bincount(np.abs(family.clauses).ravel()).max()
        assert max(r.evaluated for r in run.rounds) <= 3 * busiest + 8


def test_the_program_left_decides_the_formula():
    """After the run the optimum is 1 exactly if the formula is satisfiable."""
    for clauses, n in ([[1, 1, 1], [-1, -1, -1]], 1), ([[1, 1, 1], [-1, 1, 1]], 1):
        for variant in VARIANTS:
            family = Family(as_three_sat(clauses, n), variant)
            program = program_left(family, family.mdp([True]))
            u, _ = best_assignments(family.three_sat)
            found = enumerate_policies(program).optimum
            assert found == optimum(family.parameters, u)
            assert (found == family.parameters.best) == (u == 0)


@pytest.mark.parametrize("variant", list(Variant))
def test_a_move_names_what_it_binds(variant):
    family = Family(as_three_sat([[1, -2, 2], [-1, 2, 2]], 2), variant)
    names = {"clause": "C{}", "variable": "X{}", "literal": "x{0}^0, x{0}^1"}
    for move in schedule(family):
        bound = [family.distribution_name(i) for i in move.stated]
        if move.kind == "start":
            assert move.index == 0
            assert bound[0] == ("s0" if move.level == 1 else "C1, C2, bottom2")
        elif variant is not Variant.FORCED:
            assert names[move.kind].format(move.index + 1) in bound
