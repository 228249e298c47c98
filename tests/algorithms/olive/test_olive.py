"""OLIVE with exact expectations: the theorem, the ties, the classes."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from flint import fmpq, fmpq_mat
from hypothesis import given, settings
from hypothesis import strategies as st
from olivine.algorithms.mdp.tabular import TabularMDP, random_tabular_mdp
from olivine.algorithms.olive_program.optimisers import (
    BranchAndBound,
    Milp,
    enumerate_policies,
)
from olivine.algorithms.olive_program.program import (
    Answer,
    Distribution,
    OliveProgram,
    Pair,
    average_bellman_errors,
)
from olivine.algorithms.olive_program.rounds import OliveResult, olive_exact
from olivine.algorithms.olive_program.sampled_program import FinitePairs
from olivine.algorithms.olive_program.tiebreak import (
    RandomTiebreak,
    RoundProblem,
    ScriptedTiebreak,
    SolverTiebreak,
)

from tests.support.depth import deep, spread, with_rows
from tests.support.refusals import refused
from tests.support.tabular import all_policies, mdps, pairs_of_q_functions

HALF = Fraction(1, 2)


def rank(vectors: list[list[Fraction]]) -> int:
    rows = [[fmpq(v.numerator, v.denominator) for v in vector] for vector in vectors]
    return fmpq_mat(rows).rank() if rows else 0


def dense(mdp: TabularMDP, distribution: Distribution) -> list[Fraction]:
    return [distribution.probability(s) for s in range(mdp.n_states)]


def check_run(mdp: TabularMDP, result: OliveResult[Distribution]) -> None:
    """A finished run with φ = 0, by the definitions."""
    best = mdp.optimal_values().value(mdp.start)
    assert result.status == "finished"
    assert result.policy is not None
    assert mdp.evaluate(result.policy).value(mdp.start) == best
    added = [dense(mdp, d) for d in result.constraints]
    assert rank(added) == len(added) <= mdp.n_states
    collected: list[Distribution] = []
    for number, r in enumerate(result.rounds, start=1):
        assert r.number == number
        program = OliveProgram(mdp, collected)
        assert program.is_feasible(r.pair)
        assert program.objective(r.pair) == r.optimum >= best
        assert list(r.errors) == average_bellman_errors(mdp, r.pair)
        value = mdp.evaluate(r.pair.policy).value(mdp.start)
        assert r.total_error == r.optimum - value
        if r.level is None:
            assert r.total_error == 0
            assert number == len(result.rounds)
        else:
            assert r.errors[r.level - 1] > 0
            (new,) = r.added
            assert new.level == r.level
            assert new == mdp.distribution(r.pair.policy, r.level)
            collected.append(new)
    optima = [r.optimum for r in result.rounds]
    assert optima == sorted(optima, reverse=True)


def drawn(seed: int) -> TabularMDP:
    rng = np.random.default_rng(seed)
    return random_tabular_mdp(
        rng,
        horizon=int(rng.integers(1, 4)),
        width=int(rng.integers(1, 4)),
        n_actions=int(rng.integers(1, 4)),
    )


def run_both_ties(seed: int) -> None:
    mdp = drawn(seed)
    for tiebreak in (SolverTiebreak(), RandomTiebreak(np.random.default_rng(seed))):
        result = olive_exact(mdp, optimiser=BranchAndBound(), tiebreak=tiebreak)
        assert result.proved
        check_run(mdp, result)


@pytest.mark.parametrize("seed", spread(range(312), 2))
def test_ends_optimal_after_at_most_a_constraint_a_state(seed: int) -> None:
    run_both_ties(seed)


@settings(max_examples=15)
@given(mdps(max_states=4), st.sampled_from(["value-policy", "q-function"]))
def test_any_acyclic_mdp_in_both_forms(mdp: TabularMDP, form: str) -> None:
    """Not layered, ended early, rewards out of range: the range is widened."""
    reach = mdp.horizon * max(map(abs, mdp.reward_table))
    result = olive_exact(
        mdp,
        optimiser=BranchAndBound(form),  # type: ignore[arg-type]
        lower=-reach,
        upper=reach,
    )
    best = mdp.optimal_values().value(mdp.start)
    assert result.status == "finished"
    assert result.rounds[-1].optimum == best
    assert len(result.constraints) <= mdp.n_states


@pytest.mark.parametrize("form", ["value-policy", "q-function"])
def test_the_milp_engine_agrees_with_the_proof(form: str) -> None:
    mdp = random_tabular_mdp(np.random.default_rng(3), horizon=3, width=2)
    result = olive_exact(mdp, optimiser=Milp("highs", form))  # type: ignore[arg-type]
    check_run(mdp, result)
    for r, k in zip(result.rounds, itertools.count(), strict=False):
        program = OliveProgram(mdp, result.constraints[:k])
        assert enumerate_policies(program).optimum == r.optimum
        assert r.proved == (r.optimum == 1)
        assert 0 < r.engine_seconds <= r.seconds


def test_all_levels_at_once() -> None:
    mdp = drawn(7)
    result = olive_exact(mdp, optimiser=BranchAndBound(), all_levels=True)
    best = mdp.optimal_values().value(mdp.start)
    assert result.rounds[-1].optimum == best
    assert len(result.rounds) <= mdp.n_states + 1
    added = [d.probabilities() for d in result.constraints]
    assert all(a != b for a, b in itertools.combinations(added, 2))
    met = [
        list(mdp.distribution(r.pair.policy, h + 1).probabilities())
        for r in result.rounds[:-1]
        for h in range(mdp.horizon)
    ]
    assert {tuple(m) for m in met} == {tuple(a) for a in added}


@settings(max_examples=deep(10, 3))  # a whole run each
@given(st.integers(0, 10**6), st.sampled_from([HALF / 10, HALF / 50]))
def test_tolerance_costs_at_most_epsilon(seed: int, tolerance: Fraction) -> None:
    mdp = drawn(seed)
    epsilon = mdp.horizon * tolerance
    result = olive_exact(mdp, optimiser=BranchAndBound(), tolerance=tolerance)
    assert result.status == "finished"
    assert result.policy is not None
    lost = mdp.optimal_values().value(0) - mdp.evaluate(result.policy).value(0)
    assert lost <= epsilon
    for r in result.rounds[:-1]:
        assert r.level is not None
        assert r.errors[r.level - 1] > tolerance


def test_rules_stops_and_finite_classes_that_are_none_are_refused():
    with pytest.raises(ValueError, match="at least the horizon times the tolerance"):
        olive_exact(drawn(0), tolerance=HALF, epsilon=HALF / 10)
    refused("max_rounds: -1", olive_exact, drawn(0), max_rounds=-1)
    refused("no pair", FinitePairs, [])
    pairs = [Pair.from_fractions([0] * n, [0] * n) for n in (1, 2)]
    refused("differ in their number", FinitePairs, pairs)
    assert len(FinitePairs(pairs[:1])) == 1
    errors = [HALF, Fraction(0), Fraction(1)]
    rules = {"first": 1, "last": 3, "largest": 3}
    for rule, level in rules.items():
        assert SolverTiebreak(rule).level(errors, [1, 3]) == level  # type: ignore[arg-type]
    refused("unknown level rule 'worst'", SolverTiebreak, "worst")  # type: ignore[arg-type]
    rng = np.random.default_rng(0)
    refused("γ = -1/2 is negative", RandomTiebreak, rng, None, -HALF)
    assert RandomTiebreak(rng).gamma == 0
    assert RandomTiebreak(rng, "last").level(errors, [1, 3]) == 3


def all_own_values(mdp: TabularMDP) -> list[Pair]:
    """(V^π, π) of every policy, with some nonsense above them."""
    honest = [mdp.evaluate(policy) for policy in all_policies(mdp)]
    liar = Pair.from_fractions([1] * mdp.n_states, honest[0].policy)
    return [liar, *honest]


def test_a_finite_class_with_the_optimal_pair_and_without():
    mdp = random_tabular_mdp(np.random.default_rng(1), horizon=2, width=2)
    pairs = all_own_values(mdp)
    for tiebreak in (SolverTiebreak("first"), RandomTiebreak(np.random.default_rng(0))):
        result = olive_exact(mdp, optimiser=FinitePairs(pairs), tiebreak=tiebreak)
        check_run(mdp, result)
        assert result.proved
        assert result.rounds[0].optimum == 1
    result = olive_exact(mdp, optimiser=FinitePairs(pairs[:1]))
    assert result.status == "no pair left"
    assert result.policy is None
    assert len(result.rounds) == 1


def test_q_functions_run_as_their_pairs() -> None:
    """Every Q^π: OLIVE ends with the best policy among their greedy ones."""
    mdp = random_tabular_mdp(np.random.default_rng(4), horizon=2, width=2)
    functions = []
    for policy in all_policies(mdp):
        v = mdp.evaluate(policy).values()
        functions.append(
            [
                mdp.reward(a) + sum(p * v[s] for s, p in mdp.successors(a))
                for a in range(mdp.n_actions)
            ]
        )
    pairs = pairs_of_q_functions(mdp.action_counts, functions)
    check_run(mdp, olive_exact(mdp, optimiser=FinitePairs(pairs)))


@settings(max_examples=deep(10, 4))  # eight optima each
@given(st.integers(0, 10**6))
def test_random_maximisers_are_maximisers(seed: int) -> None:
    mdp = random_tabular_mdp(np.random.default_rng(seed), horizon=2, width=2)
    rng = np.random.default_rng(seed)
    collected = [mdp.distribution(rng.integers(0, 2, mdp.n_states), 2)]
    program = OliveProgram(mdp, collected)
    problem = RoundProblem(program, BranchAndBound())
    answers = [RandomTiebreak(rng).maximiser(problem) for _ in range(8)]
    for answer in answers:
        assert answer.pair is not None
        assert program.is_feasible(answer.pair)
        assert program.objective(answer.pair) == problem.best.value == answer.value
    assert any(a.pair != answers[0].pair for a in answers)


def test_random_ties_are_reproducible_or_fall_back(rng):
    mdp = drawn(11)
    runs = [
        olive_exact(
            mdp,
            optimiser=BranchAndBound(),
            tiebreak=RandomTiebreak(np.random.default_rng(5)),
        )
        for _ in range(2)
    ]
    first, second = ([r.pair for r in run.rounds] for run in runs)
    assert first == second
    mdp = two_step()
    result = olive_exact(mdp, optimiser=Stubborn(), tiebreak=RandomTiebreak(rng))
    check_run(mdp, result)
    assert {r.note for r in result.rounds} == {"no other maximiser: tired"}


def two_step() -> TabularMDP:
    return TabularMDP.from_lists(
        [
            ("s", 1, [("left", 0, {"t": 1}), ("right", 0, {"u": 1})]),
            ("t", 2, [("end", HALF, {})]),
            ("u", 2, [("end", HALF, {})]),
        ]
    )


def test_a_script_is_followed_and_then_left() -> None:
    mdp = two_step()
    values = [[1, 1, 1], [1, HALF, 1]]
    script = [(Pair.from_fractions(g, [a, 0, 0]), 2) for a, g in enumerate(values)]
    result = olive_exact(
        mdp, optimiser=BranchAndBound(), tiebreak=ScriptedTiebreak(script)
    )
    assert [r.pair for r in result.rounds[:2]] == [pair for pair, _ in script]
    assert [d.states.tolist() for d in result.constraints[:2]] == [[1], [2]]
    assert [r.seconds for r in result.rounds[:2]] == [0, 0]
    check_run(mdp, result)


@with_rows(
    "script, message",
    ([([2, 1, 1], 2)], "breaks the program"),
    ([([HALF, 1, 1], 2)], "objective 1/2, the optimum is 1"),
    ([([1, 1, 1], 1)], r"level 1, but only \[2\]"),
    ([([1, 1, 1], 2), ([1, 1, 1], 2)], "breaks the program"),
)
def test_scripts_that_cheat_are_refused(
    script: list[tuple[list[Fraction], int]], message: str
) -> None:
    moves = [(Pair.from_fractions(g, [0, 0, 0]), level) for g, level in script]
    with pytest.raises(ValueError, match=message):
        olive_exact(
            two_step(), optimiser=BranchAndBound(), tiebreak=ScriptedTiebreak(moves)
        )


class Stubborn(BranchAndBound):
    """Finds a maximiser but never another one."""

    def another(self, program, value, rng):  # type: ignore[no-untyped-def]
        return Answer("undecided", None, None, False, 0.0, reason="tired")


def test_limits_leave_the_run_unfinished() -> None:
    mdp = drawn(11)
    result = olive_exact(mdp, optimiser=BranchAndBound(time_limit=0))
    assert (result.status, result.reason) == ("undecided", "time limit reached")
    assert result.policy is None
    short = olive_exact(mdp, optimiser=BranchAndBound(), max_rounds=1)
    assert short.status == "round limit"
    assert len(short.rounds) == 1


class Liar(BranchAndBound):
    """Hands out a pair out of range."""

    def maximise(self, program):  # type: ignore[no-untyped-def]
        n = len(program.action_counts)
        pair = Pair.from_fractions([2] * n, [0] * n)
        return Answer("optimal", pair, Fraction(2), True, 0.0)


def test_what_an_optimiser_claims_is_checked():
    with pytest.raises(RuntimeError, match="breaks the program"):
        olive_exact(two_step(), optimiser=Liar())
    assert olive_exact(two_step(), optimiser=Pessimist(True)).status == "no pair left"
    result = olive_exact(two_step(), optimiser=Pessimist(False))
    assert (result.status, result.policy) == ("undecided", None)
    assert "without proof" in result.reason


class Pessimist(BranchAndBound):
    """Says that no pair is left, proved or not."""

    def __init__(self, proved: bool) -> None:
        super().__init__()
        self.proved = proved

    def maximise(self, program):  # type: ignore[no-untyped-def]
        return Answer("infeasible", None, None, self.proved, 0.0)
