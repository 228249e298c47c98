from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from olivine.algorithms.mdp.planning import Distribution
from olivine.algorithms.mdp.tabular import TabularMDP, random_tabular_mdp
from olivine.algorithms.olive_program.model import policy_optimum, program_model
from olivine.algorithms.olive_program.optimisers import (
    enumerate_policies,
    policy_choices,
)
from olivine.algorithms.olive_program.program import OliveProgram
from olivine.solvers.milp.milp import solve_milp
from olivine.solvers.outcome import Status

from tests.support.depth import deep, with_rows
from tests.support.tabular import all_policies, mdps, one_variable_family, programs


def by_hand() -> OliveProgram:
    return OliveProgram(*one_variable_family())


def drawn_program(
    seed: int, tolerance: Fraction | int, lower: int, n_constraints: int
) -> OliveProgram:
    """A program that a run of OLIVE could meet: distributions of policies."""
    rng = np.random.default_rng(seed)
    mdp = random_tabular_mdp(rng, horizon=3, width=3, signed=lower < 0)
    collected = [
        mdp.distribution(rng.integers(0, 2, mdp.n_states), int(rng.integers(1, 4)))
        for _ in range(n_constraints)
    ]
    return OliveProgram(mdp, collected, tolerance, lower, 1)


run_programs = st.builds(
    drawn_program,
    st.integers(0, 2**32 - 1),
    st.sampled_from([0, Fraction(1, 20)]),
    st.sampled_from([0, -1]),
    st.integers(1, 5),
)


@settings(max_examples=deep(30, 5))  # all policies each
@given(programs(max_states=4))
@example(by_hand())
def test_enumeration_is_the_best_of_all_policies(program: OliveProgram) -> None:
    best = None
    for policy in all_policies(program.mdp):
        pair = policy_optimum(program, policy)
        if pair is not None:
            assert pair.policy.tolist() == policy
            assert program.is_feasible(pair)
            value = program.objective(pair)
            best = value if best is None else max(best, value)
    found = enumerate_policies(program)
    assert found.optimum == best
    assert found.solved + found.bounded + found.covered == found.policies
    if found.pair is None:
        assert best is None
    else:
        assert program.is_feasible(found.pair)
        assert program.objective(found.pair) == best


@pytest.mark.parametrize("form", ["value-policy", "q-function"])
@settings(max_examples=deep(20, 5))  # a MILP and an enumeration each
@given(program=st.one_of(programs(max_states=4), run_programs))
@example(program=by_hand())
def test_the_models_have_the_optimum_of_the_enumeration(
    form: str, program: OliveProgram
) -> None:
    expected = enumerate_policies(program)
    built = program_model(program, form)
    outcome = solve_milp(built.model)
    if expected.optimum is None:
        assert outcome.status in (Status.INFEASIBLE, Status.INFEASIBLE_OR_UNBOUNDED)
        return
    assert outcome.status is Status.OPTIMAL
    assert outcome.objective == pytest.approx(float(expected.optimum), abs=1e-6)
    # exactly: the policy found attains the optimum, and the enumerated pair is a
    # point of the model with the same objective
    pair = policy_optimum(program, built.policy(outcome.values))
    assert pair is not None
    assert program.objective(pair) == expected.optimum
    point = built.point(expected.pair)
    assert built.model.is_feasible(point)
    assert built.model.objective_value(point) == expected.optimum


@settings(max_examples=20)
@given(st.data())
def test_the_optimum_is_optimistic(data: st.DataObject) -> None:
    mdp = data.draw(mdps(max_states=4))
    optimal = mdp.optimal_values()
    values = optimal.values()
    met = [mdp.distribution(optimal.policy, h) for h in range(1, mdp.horizon + 1)]
    program = OliveProgram(mdp, met, 0, min(values), max(values))
    assert enumerate_policies(program).optimum >= optimal.value(mdp.start)


@settings(max_examples=15)
@given(run_programs, st.sampled_from([Fraction(1, 50), Fraction(1, 3)]))
def test_a_larger_tolerance_never_lowers_the_optimum(
    program: OliveProgram, more: Fraction
) -> None:
    wider = OliveProgram(
        program.mdp,
        program.distributions,
        program.tolerance + more,
        program.lower,
        program.upper,
    )
    assert enumerate_policies(wider).optimum >= enumerate_policies(program).optimum


def test_the_paper_s_family_by_hand() -> None:
    program = by_hand()
    found = enumerate_policies(program)
    assert found.optimum == Fraction(5, 6)
    assert found.policies == 4 * 3 * 3  # seven actions, three of them distinct
    # the range of the paper's proof changes nothing
    wide = OliveProgram(program.mdp, program.distributions, 0, -1, 1)
    assert enumerate_policies(wide).optimum == Fraction(5, 6)
    # without the constraint on the pair both literals can be 1
    loose = OliveProgram(program.mdp, program.distributions[:3])
    assert enumerate_policies(loose).optimum == 1
    assert enumerate_policies(OliveProgram(program.mdp, [])).policies == 1


@with_rows(
    "policy, optimum",
    ([3, 6, 6, 0, 0], Fraction(1, 2)),  # [solve], both clauses by 111
    ([3, 0, 6, 0, 0], Fraction(5, 6)),  # [solve], C1 by 001
    ([0, 6, 6, 0, 0], Fraction(1, 2)),  # [try x1]
    ([1, 6, 6, 0, 0], Fraction(1, 2)),  # [try C1]
)
def test_the_optimum_of_a_policy(policy: list[int], optimum: Fraction) -> None:
    program = by_hand()
    pair = policy_optimum(program, policy)
    assert program.objective(pair) == optimum


def test_a_program_without_feasible_pair() -> None:
    mdp = TabularMDP.from_lists([("s", 1, [("a", 2, {}), ("b", 3, {})])])
    at_start = [Distribution.from_fractions({0: 1}, 1)]
    program = OliveProgram(mdp, at_start)
    found = enumerate_policies(program)
    assert (found.optimum, found.pair, found.policies) == (None, None, 2)
    assert policy_optimum(program, [0]) is None
    for form in ("value-policy", "q-function"):
        outcome = solve_milp(program_model(program, form).model)
        assert outcome.status is Status.INFEASIBLE
    assert enumerate_policies(OliveProgram(mdp, at_start, 1)).optimum == 1


def test_too_many_policies_are_refused() -> None:
    program = by_hand()
    choices = policy_choices(program)
    assert choices == {0: [0, 1, 2, 3], 1: [0, 2, 6], 2: [0, 2, 6]}
    assert math.prod(map(len, choices.values())) == 36
    with pytest.raises(ValueError, match="36 policies in 3 states"):
        enumerate_policies(program, max_policies=35)
    assert enumerate_policies(program, max_policies=36).policies == 36
    with pytest.raises(ValueError, match="policy takes action 9"):
        policy_optimum(program, [9, 0, 0, 0, 0])
