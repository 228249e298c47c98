"""Every run that binds all levels, or any beside the right one, meets the program."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from olivine.algorithms.olive_program.optimisers import BranchAndBound
from olivine.algorithms.olive_program.program import OliveProgram
from olivine.algorithms.olive_program.rounds import ExactWorld, run_rounds
from olivine.algorithms.olive_program.tiebreak import RandomTiebreak
from olivine.reduction.family.forced import ForcedFamily
from olivine.reduction.run.faces import Faces, Noise
from olivine.reduction.run.forced import MANY_LEVELS, forced_runs

from tests.support.depth import spread
from tests.support.families import as_three_sat, three_sats, unsatisfied_weight

FEW = [
    (1, [[1, 1, 1]]),
    (1, [[1, -1, 1]]),
    (1, [[-1, -1, -1]]),
    (2, [[1, 2, 2]]),
]
TWO = [[1, 1, 1], [-1, -1, -1]]


def family_of(n, clauses, weights=None, **options):
    return ForcedFamily(as_three_sat(clauses, n, weights), **options)


@pytest.mark.parametrize(("n", "clauses"), spread(FEW[:2], 1))
def test_every_run_that_binds_all_levels(n, clauses):
    family = family_of(n, clauses)
    found = forced_runs(family, levels="all")
    assert not found.stopped
    assert found.optima == {family.optimum(0)} == {Fraction(3, 20)}
    assert found.rounds == (n + 1, n + 1)
    # Which action was taken behind [solve], however it was met.
    assert found.hard == 7


@pytest.mark.parametrize("levels", ["lowest", "largest"])
def test_drawn_runs_that_bind_others_beside(levels):
    family = family_of(1, [[1, 1, 1]])
    rng = np.random.default_rng(3)
    found = forced_runs(family, [1], levels, rng=rng, runs=2)
    assert not found.stopped
    assert found.optima == {Fraction(3, 20)}
    assert 2 <= found.rounds[0] <= found.rounds[1] <= 4


@pytest.mark.parametrize(
    "weights", [[3, 1], pytest.param(None, marks=pytest.mark.long)]
)
def test_an_unsatisfiable_formula(weights):
    family = family_of(1, TWO, weights)
    found = forced_runs(family, levels="all", rng=np.random.default_rng(4))
    assert found.optima == {family.optimum(1)}
    assert family.optimum(1) == Fraction(3, 20) - Fraction(
        1, 60 * sum(weights or [1, 1])
    )


@pytest.mark.long
@pytest.mark.parametrize(
    ("n", "clauses", "levels"),
    [*[(*few, levels) for few in FEW[:3] for levels in MANY_LEVELS], (*FEW[3], "all")],
)
def test_every_run(n, clauses, levels):
    family = family_of(n, clauses)
    for y in itertools.product((0, 1), repeat=n):
        found = forced_runs(family, y, levels)
        assert not found.stopped
        assert found.optima == {family.optimum(0)}
        most = n + 1 if levels == "all" else 2 * n + 2
        assert found.rounds == (n + 1, most)


@pytest.mark.long
@pytest.mark.parametrize("levels", MANY_LEVELS)
def test_drawn_runs_of_two_clauses(levels):
    rng = np.random.default_rng(5)
    for clauses, u in ((TWO, 1), ([[1, -2, 2], [1, 1, 2]], 0)):
        family = family_of(2, clauses)
        found = forced_runs(family, [1, 0], levels, rng=rng, runs=5)
        assert not found.stopped
        assert found.optima == {family.optimum(u)}


@pytest.mark.parametrize("copies", [1, 2])
def test_what_one_copy_more_is_for(copies):
    # A friend goes through all copies of 111, the one action that 1 1 1 needs.
    family = family_of(1, [[1, 1, 1]], copies=copies)
    mdp = family.mdp()
    met = []
    for action in family.copies()[-1]:
        policy = np.zeros(mdp.n_states, dtype=np.int32)
        policy[[0, 1]] = family.solve, action
        met.append(mdp.distribution(policy, 3))
    search = Faces(mdp, family.ranges(), "lowest", Noise())
    hard = list(family.distributions())
    assert next(search.maximisers([*hard, *met])).most < family.optimum(0)
    assert next(search.maximisers(hard)).most == family.optimum(0)


@pytest.mark.parametrize("copies", [1, 2])
def test_with_fewer_copies_all_levels_can_be_escaped_only_with_one(copies):
    family = family_of(1, [[1, 1, 1]], copies=copies)
    found = forced_runs(family, levels="all")
    assert (found.optima == {family.optimum(0)}) == (copies == 2)


@settings(max_examples=40)
@given(three_sats(max_variables=4, max_clauses=4), st.data())
def test_equations_behind_clauses_are_void(three_sat, data):
    """Whatever two rounds through clauses bind, each assignment keeps its value."""
    family = ForcedFamily(three_sat)
    n, m = family.n_variables, family.n_clauses
    bits = st.lists(st.integers(0, 1), min_size=n, max_size=n)
    y, assignment = data.draw(bits), data.draw(bits)
    mdp = family.mdp(y)
    bound, visited = [], set()
    for _ in range(data.draw(st.integers(0, 2))):
        actions = data.draw(st.lists(st.integers(0, 20), min_size=m, max_size=m))
        policy = np.zeros(mdp.n_states, dtype=np.int32)
        policy[0], policy[1 : m + 1] = family.solve, actions
        bound.append(mdp.distribution(policy, 3))
        visited |= {family.side_state(j, a) for j, a in enumerate(actions)}
    hard = [*family.distributions(), *bound]
    program = OliveProgram(mdp, hard, upper=family.ranges())
    pair = family.witness(assignment, visited, y)
    assert program.violations(pair) == []
    lost = unsatisfied_weight(three_sat, np.array(assignment, dtype=bool))
    assert program.objective(pair) == family.optimum(lost)


@settings(max_examples=10)
@given(three_sats(max_variables=2, max_clauses=3))
def test_the_hard_program_is_the_same_on_every_member(three_sat):
    family = ForcedFamily(three_sat)
    best = family.mdp().optimal_values()
    assert OliveProgram(family.mdp(), [], upper=family.ranges()).is_feasible(best)
    rewards = set()
    for y in itertools.product((0, 1), repeat=family.n_variables):
        program = OliveProgram(family.mdp(y), family.distributions())
        zero = family.witness([0] * family.n_variables)
        rewards.add(tuple(program.errors(zero)))
    assert len(rewards) == 1


def test_a_run_of_the_loop():
    family = family_of(2, [[1, 2, 2], [-1, -2, -2]])
    rng = np.random.default_rng(6)
    run = run_rounds(
        ExactWorld(OliveProgram(family.mdp(), [], upper=family.ranges())),
        BranchAndBound(),
        RandomTiebreak(rng),
        stop=Fraction(0),
        all_levels=True,
        max_rounds=3,
    )
    bound = [(d.level, d.probabilities()) for d in run.constraints]
    for d in family.distributions():
        assert (d.level, d.probabilities()) in bound
    assert run.rounds[-1].optimum > Fraction(3, 20)
    assert BranchAndBound().maximise(run.program).value == family.optimum(0)


def test_bad_arguments():
    family = family_of(1, [[1, 1, 1]])
    with pytest.raises(ValueError, match="choose from all, lowest, largest"):
        forced_runs(family, levels="any")
    with pytest.raises(ValueError, match="expected 1 truth values"):
        family.mdp([0, 1])
    with pytest.raises(ValueError, match="copies must be at least 1, got 0"):
        family_of(1, [[1, 1, 1]], copies=0)
    with pytest.raises(ValueError, match="no free copy of an action of C1"):
        family.witness([1], family.side_states())
