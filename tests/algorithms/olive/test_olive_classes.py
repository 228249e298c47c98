"""Finite classes of OLIVE: pairs, all errors at once, the project's environments."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from olivine.algorithms.classes.q_functions import FiniteQClass
from olivine.algorithms.environments import from_mdp, make
from olivine.algorithms.exact.arrays import END
from olivine.algorithms.learning.draw_classes import make_q_class, optimal_member
from olivine.algorithms.mdp.planning import Pair
from olivine.algorithms.mdp.tabular import random_tabular_mdp
from olivine.algorithms.olive.parameters import OliveParameters, theorem_parameters
from olivine.algorithms.olive.run import (
    LayeredEnvironment,
    TabularEnvironment,
    olive_sampled,
    pairs_of_class,
    pairs_on_mdp,
)
from olivine.algorithms.olive_program.program import Ranged
from olivine.algorithms.olive_program.rounds import olive_exact
from olivine.algorithms.olive_program.sampled_program import (
    FinitePairs,
    LevelData,
    PairStack,
    SampledConstraint,
    SampledProgram,
)
from olivine.algorithms.olive_program.tiebreak import RandomTiebreak

from tests.support.depth import deep, spread, with_rows
from tests.support.refusals import refused
from tests.support.tabular import mdps, pairs, pairs_of_q_functions

PRACTICAL = OliveParameters(
    Fraction(1, 100), Fraction(3, 20), 1000, 4000, 40_000, max_rounds=60
)


MANY = OliveParameters(Fraction(1, 1000), Fraction(1, 100), 10**6, 10**12, 10**12)
# Means over 10^12 draws are within 10^-5 of the truth, far below 1/100.
PARAMETERS = OliveParameters(
    Fraction(1, 100), Fraction(1, 10), 10**12, 10**12, 10**12, 40
)


def lost(environment, layered, policy) -> Fraction:
    truth = environment.truth
    return truth.optimal_value - truth.policy_value(layered.policies(policy))


def play(layered, functions, parameters, rng, **options):
    """Run OLIVE on a finite class."""
    optimiser = FinitePairs(layered.pairs(functions))
    return olive_sampled(layered, parameters, rng, optimiser=optimiser, **options)


@settings(max_examples=25, deadline=None)
@given(st.data(), mdps(max_states=4), st.integers(0, 2**32))
def test_a_stack_computes_what_its_pairs_do(data, mdp, seed) -> None:
    members = data.draw(st.lists(pairs(mdp), min_size=1, max_size=4))
    rng = np.random.default_rng(seed)
    world = TabularEnvironment(mdp)
    stack = PairStack(members)
    level = data.draw(st.integers(1, mdp.horizon))
    drawn = world.draw([*[members[0].policy] * (level - 1), "uniform"], 50, rng)
    constraint = SampledConstraint.of(drawn, mdp.action_counts, level)
    assert stack.errors(constraint) == [constraint.error(pair) for pair in members]
    shares = {s: Fraction(1, mdp.n_states) for s in range(mdp.n_states)}
    means = [sum(pair.values(), Fraction(0)) / mdp.n_states for pair in members]
    assert stack.averages(shares) == means
    bounds = st.fractions(-1, 2, max_denominator=7)
    ranges = [(data.draw(bounds), data.draw(bounds)) for _ in range(4)]
    edge = members[0].values()
    for low, high in [
        (Fraction(-1, 3), Fraction(3, 2)),
        (min(edge), max(edge)),
        *ranges,
    ]:
        inside = [all(low <= v <= high for v in pair.values()) for pair in members]
        if low <= high:  # an empty range is refused
            assert stack.inside(Ranged(mdp.n_states, low, high)).tolist() == inside


def test_no_data_is_no_error() -> None:
    stack = PairStack([Pair.from_fractions([1, 0], [0, 0])])
    nothing = SampledConstraint.of(LevelData(None, 5), np.array([1, 1]), 2)
    assert stack.errors(nothing) == [0]


@settings(max_examples=20, deadline=None)
@given(st.data(), mdps(max_states=4), st.integers(0, 2**32))
def test_the_walk_is_that_of_the_program(data, mdp, seed) -> None:
    """The class's own walk against feasibility and objective pair by pair."""
    members = data.draw(st.lists(pairs(mdp), min_size=1, max_size=5))
    rng = np.random.default_rng(seed)
    world = TabularEnvironment(mdp)
    program = SampledProgram(
        mdp.action_counts, world.starts(1, rng), (), Fraction(1, 2), -1, 2
    )
    finite = FinitePairs(members)
    for level in range(1, mdp.horizon + 1):
        drawn = world.draw([*[members[-1].policy] * (level - 1), "uniform"], 40, rng)
        constraint = SampledConstraint.of(drawn, mdp.action_counts, level)
        program = program.extended([constraint])
        left = [pair for pair in members if program.is_feasible(pair)]
        answer = finite.maximise(program)
        assert answer.proved
        if not left:
            assert (answer.status, answer.pair) == ("infeasible", None)
            continue
        best = max(program.objective(pair) for pair in left)
        assert answer.value == program.objective(answer.pair) == best
        first = next(p for p in left if program.objective(p) == best)
        assert answer.pair is first
        drawn_pair = finite.another(program, best, rng).pair
        assert any(drawn_pair is p for p in left)
        assert program.objective(drawn_pair) == best
    assert finite.evaluated == len(members) * len(program.constraints)


def test_what_does_not_fit_a_class_is_refused():
    program = SampledProgram([2, 1], TabularEnvironment(_chain()).starts(1, None))
    for message, pair in (
        ("pairs on 1 observations, there are 2", Pair.from_fractions([1], [0])),
        ("action that there is not", Pair.from_fractions([1, 0], [0, 1])),
    ):
        refused(message, FinitePairs([pair]).maximise, program)
    functions = FiniteQClass([[[[0, 1]]]])
    refused(r"levels: not all in 1\.\.1", pairs_of_class, functions, [2], [0])
    refused("codes", pairs_of_class, functions, [1], [1])
    lock, finite = make("lock", 0), make("random-finite", 0)
    refused("feature vectors", LayeredEnvironment, lock)
    other = make_q_class(
        make("random-finite", 0, observations=3), np.random.default_rng(0)
    )
    refused("codes at level 1", LayeredEnvironment, finite, other)
    for h, lacks in (2, "functions: 3 levels, random-finite has 2"), (4, "level: 4 "):
        given = make("random-finite", 0, observations=3, horizon=h), other
        refused(lacks, LayeredEnvironment, *given)


def _chain():
    return random_tabular_mdp(np.random.default_rng(0), horizon=1, width=1)


_VALUE = st.sampled_from([Fraction(0), Fraction(1, 3), Fraction(1, 2), Fraction(1)])


@st.composite
def classes(draw):
    size, k = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    shapes = [
        (size, draw(st.integers(1, 3)), k) for _ in range(draw(st.integers(1, 3)))
    ]
    tables = []
    for shape in shapes:
        count = int(np.prod(shape))
        flat = draw(st.lists(_VALUE, min_size=count, max_size=count))
        table = np.empty(count, dtype=object)
        table[:] = flat
        tables.append(table.reshape(shape))
    return tables


@given(classes(), st.booleans())
def test_members_become_the_pairs_of_their_tables(tables, floats) -> None:
    if floats:
        tables = [table.astype(np.float64) for table in tables]
    functions = FiniteQClass(tables)
    sizes = [table.shape[1] for table in tables]
    levels = [h for h, n in enumerate(sizes, 1) for _ in range(n)]
    codes = [x for n in sizes for x in range(n)]
    found = pairs_of_class(functions, levels, codes)
    k = functions.n_actions
    flat = [np.concatenate([t[i] for t in tables]).ravel() for i in range(len(found))]
    exact = [[Fraction(v) for v in row.tolist()] for row in flat]
    assert found == pairs_of_q_functions([k] * len(codes), exact)
    for i, pair in enumerate(found):
        split = np.split(pair.policy, np.cumsum(sizes)[:-1])
        for h, (rule, part) in enumerate(zip(functions.greedy(i), split, strict=True)):
            assert rule(np.arange(sizes[h])).tolist() == part.tolist()


@pytest.mark.parametrize("seed", spread(range(4), 2))
def test_one_class_serves_exact_sampled_and_tabular_runs(seed) -> None:
    """An MDP with its exact expectations, its data, and as an environment."""
    mdp = random_tabular_mdp(np.random.default_rng(seed), horizon=3, width=2)
    environment = from_mdp(mdp)
    functions = make_q_class(environment, np.random.default_rng([seed, 1]), size=40)
    on_mdp = pairs_on_mdp(functions, mdp)
    best = mdp.optimal_values().value(mdp.start)
    number = optimal_member(functions, environment)
    assert on_mdp[number].value(mdp.start) == best
    exact = olive_exact(mdp, optimiser=FinitePairs(on_mdp))
    assert exact.status == "finished"
    assert exact.proved
    assert mdp.evaluate(exact.policy).value(mdp.start) == best
    layered = LayeredEnvironment(environment, functions)
    sampled = play(layered, functions, MANY, np.random.default_rng([seed, 2]))
    assert sampled.status == "finished"
    assert environment.truth.optimal_value == best
    assert lost(environment, layered, sampled.policy) <= Fraction(1, 50)


def test_an_action_beyond_a_states_last_repeats_it() -> None:
    mdp = random_tabular_mdp(np.random.default_rng(0), horizon=1, width=1)
    k = int(mdp.action_counts[0])
    table = [[[0] * k + [1]]]  # one more action than there is
    (pair,) = pairs_on_mdp(FiniteQClass([table]), mdp)
    assert pair.policy.tolist() == [k - 1]


@with_rows(
    "name, ties",
    *itertools.product(
        ["lock", "lock-gaussian", "diabolical-lock"], ["solver", "random"]
    ),
    keep=3,
)
def test_features_are_learned_through_their_decoders(name, ties) -> None:
    environment = make(name, 1)
    functions = make_q_class(environment, np.random.default_rng(2))
    layered = LayeredEnvironment(environment, functions)
    rng = np.random.default_rng(3)
    tiebreak = RandomTiebreak(rng) if ties == "random" else None
    result = play(layered, functions, PRACTICAL, rng, tiebreak=tiebreak)
    assert result.status == "finished"
    assert result.trajectories == environment.trajectories
    truth = environment.truth
    if truth.exact:
        assert lost(environment, layered, result.policy) <= Fraction(3, 10)
    else:
        policies = layered.policies(result.policy)
        mean, error = truth.estimate_policy_value(policies, 5000, rng)
        assert float(truth.optimal_value) - mean <= 0.3 + 5 * error


def test_data_of_features_are_counts_of_codes() -> None:
    """Every draw is counted; the codes are those that the class decodes."""
    environment = make("lock", 0)
    functions = make_q_class(environment, np.random.default_rng(0), size=8)
    layered = LayeredEnvironment(environment, functions)
    policy = layered.pairs(functions)[0].policy
    rng = np.random.default_rng(1)
    data = layered.run(policy, 500, rng)
    data += [
        layered.draw([*[policy] * (h - 1), "uniform"], 500, rng)
        for h in (1, environment.horizon)
    ]
    offsets = layered.offsets
    for level, drawn in zip([*range(1, 6), 1, 5], data, strict=True):
        tuples = drawn.tuples
        assert tuples.total_weight == 500
        assert tuples.is_finite
        assert len(tuples) <= 3 * 4 * 3 * 3  # states, actions, rewards, next states
        low, high = offsets[level - 1], offsets[level]
        assert ((low <= tuples.observations) & (tuples.observations < high)).all()
        after = tuples.next_observations
        if level == 5:
            assert (after == END).all()
        else:
            assert ((high <= after) & (after < offsets[level + 1])).all()
    assert layered.starts(70, rng).total_weight == 70


def test_a_class_without_the_optimum_runs_out() -> None:
    """What promises more than there is is ruled out, until nothing is left."""
    environment = make("random-finite", 0)
    right = [environment.truth.q_values(h) for h in (1, 2, 3)]
    tables = [
        [right[0] / 2 + Fraction(promise, 10) for promise in (4, 5, 6)],
        [right[1]] * 3,
        [right[2]] * 3,
    ]
    functions = FiniteQClass([np.array(table) for table in tables])
    assert optimal_member(functions, environment) is None
    layered = LayeredEnvironment(environment, functions)
    many = OliveParameters(Fraction(1, 10**4), Fraction(1, 10**3), 10**9, 10**9, 10**12)
    result = play(layered, functions, many, np.random.default_rng(2))
    assert result.status == "no pair left"
    assert result.policy is None
    assert {r.level for r in result.rounds} == {1}


@settings(max_examples=8, deadline=None)
@given(
    st.integers(1, 3),
    st.integers(1, 3),
    st.integers(1, 3),
    st.integers(1, 2),
    st.integers(0, 2**32),
)
def test_odd_environments(states, actions, horizon, observations, seed) -> None:
    """One state, one action, one level: at the theorem's constants, always optimal."""
    environment = make(
        "random-finite",
        seed,
        states=states,
        actions=actions,
        horizon=horizon,
        observations=observations,
        distinct=False,
    )
    functions = make_q_class(environment, np.random.default_rng(seed), size=16)
    layered = LayeredEnvironment(environment, functions)
    parameters = theorem_parameters(
        0.3,
        0.001,
        horizon=horizon,
        n_actions=actions,
        rank=environment.max_states,
        log_size=functions.log_size(),
    )
    result = play(layered, functions, parameters, np.random.default_rng([seed, 1]))
    assert result.status == "finished"
    assert lost(environment, layered, result.policy) <= Fraction(3, 10)


def test_all_levels_at_once_adds_more_and_loses_no_pair_that_is_right() -> None:
    environment = make("random-finite", 3, states=3, actions=3)
    functions = make_q_class(environment, np.random.default_rng(1), size=200)
    layered = LayeredEnvironment(environment, functions)
    best = layered.pairs(functions)[optimal_member(functions, environment)]
    for every, added in ((False, 1), (True, 3)):
        rng = np.random.default_rng(2)
        run = play(layered, functions, MANY, rng, all_levels=every)
        assert run.status == "finished"
        assert all(len(r.added) == added for r in run.rounds[:-1])
        assert run.program.is_feasible(best)


def test_every_small_class_of_q_functions() -> None:
    """Exhaustively: H = 1, one state, two actions, values 0 and 1."""
    environment = make("random-finite", 0, states=1, horizon=1, observations=1)
    right = environment.truth.q_values(1)[0].tolist()
    options = list(itertools.product([Fraction(0), Fraction(1)], repeat=2))
    many = OliveParameters(Fraction(1, 1000), Fraction(1, 100), 10, 10**9, 10**12)
    for others in itertools.combinations(options, 2):
        functions = FiniteQClass([[[list(f)] for f in (*others, right)]])
        layered = LayeredEnvironment(environment, functions)
        result = play(layered, functions, many, np.random.default_rng(1))
        assert result.status == "finished"
        assert lost(environment, layered, result.policy) <= Fraction(1, 50)


@pytest.mark.parametrize("name", ["random-finite", "tabular", "stochastic"])
def test_it_ends_near_the_optimum(name) -> None:
    for seed in range(deep(3, 1)):
        if name == "stochastic":
            mdp = random_tabular_mdp(np.random.default_rng(3), horizon=2, width=2)
            environment = from_mdp(mdp)
        else:
            environment = make(name, seed=seed, horizon=2)
        layered = LayeredEnvironment(environment)
        result = olive_sampled(layered, PARAMETERS, np.random.default_rng(seed))
        assert result.status == "finished"
        assert result.policy is not None
        # Predicted at least the optimum less the tolerances, errors at most stop.
        assert lost(environment, layered, result.policy) <= Fraction(3, 20)
        assert result.trajectories == environment.trajectories


def test_codes_run_through_the_levels(rng) -> None:
    environment = make("random-finite", seed=1)
    layered = LayeredEnvironment(environment)
    offsets = layered.offsets
    sizes = [environment.space(h).n_codes for h in (1, 2, 3)]
    assert np.diff(offsets).tolist() == sizes
    assert len(layered.action_counts) == offsets[-1]
    policy = np.zeros(offsets[-1], dtype=int)
    for level, data in enumerate(layered.run(policy, 1000, rng), start=1):
        tuples = data.tuples
        assert (tuples.actions == 0).all()
        codes, following = tuples.observations, tuples.next_observations
        assert ((offsets[level - 1] <= codes) & (codes < offsets[level])).all()
        if level == 3:
            assert (following == END).all()
        else:
            assert (offsets[level] <= following).all()
            assert (following < offsets[level + 1]).all()
    explored = layered.draw([*[policy] * 1, "uniform"], 1000, rng).tuples
    assert set(explored.actions.tolist()) == {0, 1}


def test_bad_input(rng) -> None:
    layered = LayeredEnvironment(make("tabular"))
    rules = [*[np.zeros(layered.offsets[-1], dtype=int)] * 3, "uniform"]
    refused("rules: 4 for", layered.draw, rules, 10, rng)
    refused("policy has shape", layered.run, [0], 10, rng)
