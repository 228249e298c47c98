"""VALOR with few samples: shared data, sequential tests, costs with a baseline."""

from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from olivine.algorithms.environments import make
from olivine.algorithms.learning import registry
from olivine.algorithms.learning.draw_classes import make_classes
from olivine.algorithms.learning.events import Descending, Sampled, Triple
from olivine.algorithms.learning.learn import learn
from olivine.algorithms.learning.problem import Problem
from olivine.algorithms.oracles import Constraint, Functional
from olivine.algorithms.valor import (
    FrugalParameters,
    FrugalValues,
    PracticalParameters,
    frugal_defaults,
    linear_defaults,
    valor,
)
from olivine.algorithms.valor.algorithm import ConsensusPrograms, LocalValues, optimum
from olivine.algorithms.valor.frugal import SharedData, on_grid

from tests.support.depth import deep, with_rows
from tests.support.refusals import refused

MOST = {5: 2_500, 10: 6_000, 20: 17_000}
"""Episodes on either lock, a sixth to a third above docs/valor.md's medians."""


def run_of(env, kind="tabular", seed=0, **chosen):
    """Make the state of a run at ε = 0.3, with its recorded events."""
    rng, events = np.random.default_rng([seed, 1]), []
    classes = make_classes(env, kind, rng)
    if kind == "linear":
        chosen = frugal_defaults(env, 0.3) | chosen
    parameters = FrugalParameters(
        0.3, 0.1, env.max_states, env.n_actions, env.horizon, **chosen
    )
    return FrugalValues(
        Problem(env, *classes), parameters, rng, [events.append]
    ), events


@pytest.mark.parametrize("name", ["lock-gaussian", "lock"])
@with_rows(
    "horizon, seeds",
    (5, range(1)),
    *(pytest.param(h, range(10), marks=pytest.mark.long) for h in MOST),
)
def test_the_locks_take_as_many_episodes_as_the_page_says(name, horizon, seeds) -> None:
    """Each seed solved, V^π ≥ 0.9 V*, by one rule for all horizons and both locks."""
    for seed in seeds:
        env, events = make(name, seed, horizon=horizon), []
        rng = np.random.default_rng([seed, 1])
        result = learn(
            "valor", env, "linear", parameters="frugal", seed=rng,
            observers=[events.append],
        )  # fmt: skip
        assert result.succeeded
        assert result.trajectories <= MOST[horizon]
        value, error = env.truth.estimate_policy_value(result.policies, 20_000, rng)
        assert value - 2 * error >= 0.45
        # No state is learned twice, and no data set grows to what it may be at most.
        assert all(n <= 3 for n in result.learned)
        looks = [e.data.draws for e in events if isinstance(e, Sampled)]
        assert max(looks) < result.parameters["n_test"]


def test_a_run_is_its_seeds() -> None:
    runs = []
    for _ in range(2):
        env = make("lock-gaussian", 3, horizon=2)
        found = learn("valor", env, "linear", parameters="frugal", seed=5).to_json()
        runs.append({k: v for k, v in found.items() if k != "seconds"})
    assert runs[0] == runs[1]


def broken_constraint(self, triple):
    """Let every function agree with a learned state."""
    return Constraint.near(self._near_as_it_is(triple).functional, 0, 10**6)


@pytest.mark.parametrize("what", ["nothing", "constraints", "test"])
def test_without_its_constraints_or_its_test_a_run_goes_wrong(what, monkeypatch, rng):
    """Each state is learned again on each path, or none is and V^π is bad."""
    if what == "constraints":
        as_it_is = ConsensusPrograms._near
        monkeypatch.setattr(
            ConsensusPrograms, "_near_as_it_is", as_it_is, raising=False
        )
        monkeypatch.setattr(ConsensusPrograms, "_near", broken_constraint)
    if what == "test":
        monkeypatch.setattr(ConsensusPrograms, "limit", lambda self, level: 10**6)
    env = make("lock-gaussian", 0, horizon=3)
    result = learn(
        "valor", env, "linear", parameters="frugal", seed=0, max_iterations=1
    )
    value, _ = env.truth.estimate_policy_value(result.policies, 5_000, rng)
    learned = {"nothing": (1, 3, 3), "constraints": (1, 4, 16), "test": (1, 0, 0)}
    assert result.learned == learned[what]
    assert (value >= 0.45) == (what != "test")


@with_rows(
    "algorithm, name, classes, options",
    ("valor", "random-finite", "tabular", {"states": 3, "horizon": 3}),
    pytest.param(
        *("valor-constrained", "random-finite", "finite"),
        {"states": 3, "horizon": 3},
        marks=pytest.mark.long,
    ),
    ("valor-constrained", "tabular", "tabular", {"states": 2, "horizon": 3}),
    ("valor", "lock", "finite", {"horizon": 3}),
    pytest.param(
        *("valor", "lock", "linear"),
        {"horizon": 2, "observations": "codes"},
        marks=pytest.mark.long,
    ),
    ("valor", "diabolical-lock", "finite", {"horizon": 3, "actions": 4}),
)
def test_other_problems_are_solved_with_fewer_samples(
    algorithm, name, classes, options
) -> None:
    """ε-optimal, within the bounds that always hold, with fewer than practical ones."""
    used = {}
    for kind in ("practical", "frugal"):
        env = make(name, 0, **options)
        result = learn(algorithm, env, classes, parameters=kind, max_iterations=3)
        used[kind] = result.trajectories
    assert result.succeeded
    assert not result.contradictions
    assert result.monitors["trajectories"].holds
    assert result.monitors["lp-calls"].holds
    if env.truth.exact:
        value = float(env.truth.policy_value(list(result.policies)))
    else:
        rng = np.random.default_rng(0)
        value, _ = env.truth.estimate_policy_value(result.policies, 2_000, rng)
    assert value >= float(env.truth.optimal_value) - 0.3
    assert used["frugal"] < used["practical"]


@pytest.mark.long
def test_the_diabolical_lock_is_solved_as_published() -> None:
    """K = 10, H = 10, Gaussian noise, five seeds."""
    for seed in range(5):
        env = make("diabolical-lock", seed, horizon=10, noise="gaussian")
        rng = np.random.default_rng([seed, 1])
        result = learn("valor", env, "linear", parameters="frugal", seed=rng)
        assert result.succeeded
        value, _ = env.truth.estimate_policy_value(result.policies, 5_000, rng)
        assert value >= 0.9 * float(env.truth.optimal_value)


@given(
    st.integers(0, 2**32), st.integers(1, 3), st.integers(1, 3), st.integers(1, 3),
    st.sampled_from([2, 3, 24, 10**12]), st.booleans(),
)  # fmt: skip
@settings(max_examples=deep(15, 5), deadline=None)  # a run each
@example(0, 1, 1, 1, 2, True)
def test_any_small_problem_keeps_the_bounds(seed, m, k, h, first, fall_back) -> None:
    """Whatever sizes are: trajectories and programs within what always holds."""
    env = make("random-finite", seed, states=m, actions=k, horizon=h)
    result = learn(
        "valor", env, parameters="frugal", seed=seed, n_first=first, n_train=5,
        fall_back=fall_back, max_iterations=2,
    )  # fmt: skip
    assert result.monitors["trajectories"].holds
    assert result.monitors["lp-calls"].holds
    assert result.monitors["csc-calls"].holds
    assert not result.contradictions


_CALLS = st.lists(
    st.tuples(
        st.sampled_from(["successors", "balanced", "fill"]),
        st.sampled_from([(0,), (1,), (0, 0), (0, 1), (1, 1)]),
        st.integers(1, 40),
    ),
    max_size=12,
)


@given(_CALLS)
@settings(max_examples=25, deadline=None)
@example([("balanced", (0, 0), 3), ("successors", (0,), 3), ("fill", (0,), 1)])
def test_only_what_is_missing_is_drawn(calls) -> None:
    """Against a count by hand: rows of each path and action, observations of paths."""
    env = make("random-finite", 0, states=2, actions=2, horizon=3)
    shared = SharedData(env, np.random.default_rng(0))
    rows, more = {}, {}

    def seen(path):
        onward = sum(rows.get((*path, a), 0) for a in range(2))
        return rows.get(path, 0) + onward + more.get(path, 0)

    for what, path, n in calls:
        if what == "successors":
            rows[path] = max(rows.get(path, 0), n)
            batches = shared.successors(path, n)
            assert sum(batch.draws for batch in batches) == rows[path]
            assert all(batch.actions is None for batch in batches)
        elif what == "balanced":
            for a in range(2):
                rows[*path, a] = max(rows.get((*path, a), 0), n)
            data = shared.balanced(path, n)
            assert data.draws == rows[*path, 0] + rows[*path, 1]
            shares = np.bincount(data.actions, data.probabilities)
            assert shares == pytest.approx([0.5, 0.5])
        else:
            missing = max(0, n - seen(path))
            assert shared.fill(path, n) == (missing > 0)
            more[path] = more.get(path, 0) + missing
        assert env.trajectories == sum(rows.values()) + sum(more.values())
        if seen(path):
            assert shared.observations(path).draws == seen(path)


def test_observations_of_a_state_come_from_all_calls() -> None:
    """Those after a path and those before its actions have one distribution."""
    env = make("random-finite", 1, states=3, actions=2, horizon=3)
    shared, n = SharedData(env, np.random.default_rng(0)), 10**12
    (after,) = shared.successors((1,), n)
    before = shared.balanced((1,), n)
    size = env.space(2).n_codes
    right = env.truth.observation_probabilities((1,))
    for data in (after, before, shared.observations((1,))):
        counts = data.weights_by_code(size) / data.total_weight
        assert counts.astype(float) == pytest.approx(
            np.array(right, dtype=float), abs=1e-5
        )


def test_the_first_look_learns_a_new_state_and_more_looks_spare_a_known_one() -> None:
    run, events = run_of(make("lock-gaussian", 0, horizon=3), "linear")
    run.dfslearn(())
    first = run.parameters.n_first
    tests = [t for e in events if isinstance(e, Triple) for t in e.tests if t.data]
    descents = [t.data.draws for t in tests if t.outcome == "descent"]
    spared = [t.data.draws for t in tests if t.outcome == "consensus"]
    assert descents == [first] * 6
    assert len(spared) == 10
    assert max(spared) < run.parameters.n_test
    # A learned state is replayed, so that it has twice as many observations.
    for level in (2, 3):
        most = max(t.data.draws for t in tests if len(t.path) + 1 == level)
        for triple in run.programs.triples[level]:
            data = run.observations(triple)
            assert data.draws >= 2 * most
            # The constraint is on all of them: |V - E[g]| ≤ φ up to the LP's accuracy.
            (highest, lowest), _ = run.programs.extremes(triple.path, data)
            phi = run.parameters.phi(level) + Fraction(1, 1000)
            assert triple.value - phi <= lowest <= highest <= triple.value + phi


def test_an_unclear_test_ends_in_a_descent_at_n_test() -> None:
    """Noise that never settles: descent, at no more than n_test draws."""
    run, events = run_of(make("lock-gaussian", 0, horizon=2), "linear", n_test=60)
    run.programs.noise = lambda level, batches: Fraction(10**6)
    run.programs.limit = lambda level: Fraction(1, 10**6)
    run.dfslearn(())
    tests = [t for e in events if isinstance(e, Triple) for t in e.tests if t.data]
    assert sum(isinstance(e, Descending) for e in events) == 4
    # Nothing is known of the level at first, so the first descent is clear.
    assert [t.data.draws for t in tests] == [run.parameters.n_first, 60, 60, 60]


@pytest.mark.parametrize("name", ["lock-gaussian", "lock"])
def test_cuts_narrow_what_is_known_and_keep_the_true_values(name) -> None:
    """Each constraint on the spread holds for V*, and extremes vary less."""
    run, events = run_of(make(name, 0, horizon=3), "linear")
    run.dfslearn(())
    programs, spread = run.programs, run.parameters.spread
    tests = [t for e in events if isinstance(e, Triple) for t in e.tests if t.data]
    data = next(t.data for t in tests if len(t.path) == 2)
    objective = Functional.expectation(data)
    programs.rebuild(3)
    wide = [float(optimum(r)) for r in ConsensusPrograms.solve(programs, 3, objective)]
    programs.limit = lambda level: Fraction(0)  # never clear: cut as often as allowed
    found = programs.solve(3, objective)
    narrow = [float(optimum(r)) for r in found]
    assert narrow[0] - narrow[1] < 0.9 * (wide[0] - wide[1])
    for result in found:
        assert deviation(run, result.function) < 2 * spread
    # Least squares on the states' values is no more spread; bits are no part of V*.
    states = [run.observations(t) for t in programs.triples[3]]
    means = np.array([d.probabilities @ d.observations for d in states])
    values = np.array([float(t.value) for t in programs.triples[3]])
    if name == "lock":
        means[:, 3:] = 0
    theta = np.linalg.lstsq(means, values, rcond=None)[0]
    assert deviation(run, lambda x: x @ theta) <= spread
    program = programs._programs[3]
    at_theta = float(data.probabilities @ (data.observations @ theta))
    accuracy = {"epsilon_sub": 1e-6, "epsilon_feas": 1e-6}
    best = program.optimise(objective, maximise=True, **accuracy).value
    worst = program.optimise(objective, maximise=False, **accuracy).value
    assert worst - 1e-6 <= at_theta <= best + 1e-6


def deviation(run, function):
    """Standard deviation at the learned states of level 3, in the mean square."""
    squares = []
    for triple in run.programs.triples[3]:
        data = run.observations(triple)
        values = function(data.observations)
        mean = data.expectation(values)
        squares.append(data.expectation((values - mean) ** 2))
    return np.sqrt(np.mean(squares))


def test_a_spread_too_small_for_the_noise_is_doubled() -> None:
    """A function from -3/4 to 3/4 at a state of unit features deviates by 3/4 noise."""
    doubled = {}
    for noise in (0.1, 0.25, 0.5):
        run, _ = run_of(make("lock-gaussian", 0, horizon=2, noise=noise), "linear")
        run.dfslearn(())
        doubled[noise] = run.programs._spread[2] / run.parameters.spread
    assert doubled == {0.1: 1, 0.25: 2, 0.5: 4}
    env = make("lock-gaussian", 0, horizon=3)
    result = learn("valor", env, "linear", parameters="frugal", spread="0.001")
    value, _ = env.truth.estimate_policy_value(
        result.policies, 2_000, np.random.default_rng(0)
    )
    assert value >= 0.45


def test_how_far_functions_may_vary_grows_with_phi() -> None:
    """What is cut off deviates by more than 11/10 of the spread, times φ's scale."""
    run, _ = run_of(make("lock-gaussian", 0, horizon=2), "linear")
    programs, spread = run.programs, float(run.parameters.spread)
    data = run.environment.draw((0,), 40, np.random.default_rng(0), level=2)
    programs._observations = lambda triple: data
    programs.triples[2] = [SimpleNamespace()]

    def is_cut(times: float) -> bool:
        signs = np.where(np.arange(len(data)) % 2, 1.0, -1.0)
        return programs._cut(2, [SimpleNamespace(function=lambda x: times * signs)])

    assert [is_cut(t * spread) for t in (1.09, 1.11)] == [False, True]
    programs._scale[2] = 2
    assert [is_cut(t * spread) for t in (2.19, 2.21)] == [False, True]


def test_the_next_look_takes_what_is_above_twice_phi_for_noise() -> None:
    """Four times the noise that is allowed: 16 times the draws, up to n_test."""
    run, _ = run_of(make("lock-gaussian", 0, horizon=2), "linear")
    p, limit = run.parameters, run.programs.limit(2)
    assert run._next_look(2, p.n_first, limit + 3 * p.leeway) == 16 * p.n_first
    assert run._next_look(2, p.n_first, limit + 10**6) == p.n_test


@pytest.mark.parametrize("most", [8, 12, 16, 100, 128, 129])
def test_looks_are_the_sizes_of_the_grid_and_n_test(most) -> None:
    """Or one more, where n_test is below the middle of two doublings."""
    parameters = FrugalParameters(0.3, 0.1, 2, 2, 2, n_first=8, n_test=most)
    sizes = {min(on_grid(8, n), most) for n in range(1, most + 1)}
    assert parameters.looks - len(sizes) == (most in (12, 129))


def test_a_run_takes_at_most_what_each_of_its_calls_may_fill() -> None:
    """30 calls: 100 rows of 2 actions, 200 of the state, 7 fresh; 6 tries of 50."""
    sizes = {"n_test": 100, "n_train": 40, "n_fresh": 7, "n_eval": 50, "T_max": 10}
    parameters = FrugalParameters(0.3, 0.1, 2, 2, 3, **sizes)
    assert parameters.trajectory_bound == 30 * (200 + 200 + 7) + 6 * 50


@pytest.mark.parametrize(("wanted", "drawn"), [(30, 30), (10**9, None)])
def test_learned_states_are_seen_twice_as_often_as_a_test_draws_at_most(wanted, drawn):
    run, _ = run_of(make("lock-gaussian", 0, horizon=2), "linear")
    run.programs.triples = {2: [SimpleNamespace(path=(0,))]}
    run.programs.rebuild = lambda level: None
    run._replenish(2, wanted)
    assert run.shared.observations((0,)).draws == (drawn or 2 * run.parameters.n_test)


def test_a_spread_of_any_size_takes_more_draws() -> None:
    """On bits, whose noise the box of linear functions does not confine."""
    used = {}
    for spread in (None, Fraction(1, 10)):
        env = make("lock", 0, horizon=3)
        result = learn("valor", env, "linear", parameters="frugal", spread=spread)
        used[spread] = result.trajectories
    assert used[None] > 1.5 * used[Fraction(1, 10)]


def test_a_consensus_takes_a_learned_value_that_noise_may_part_from_it() -> None:
    run, _ = run_of(make("lock-gaussian", 0, horizon=2), "linear")
    data = run.environment.draw((0,), 100, np.random.default_rng(0), level=2)
    run.programs.triples = {2: [SimpleNamespace(value=Fraction(1, 2))]}
    near, far = Fraction(1, 2) + Fraction(29, 1000), Fraction(1, 2) + Fraction(31, 1000)
    assert run._settled(2, near, data) == Fraction(1, 2)  # 3 · 0.1/√100 = 0.03
    assert run._settled(2, far, data) == far
    run.programs.triples = {2: []}
    assert run._settled(2, near, data) == near
    run, _ = run_of(make("lock-gaussian", 0, horizon=2), "linear", spread=None)
    run.programs.triples = {2: [SimpleNamespace(value=Fraction(1, 2))]}
    assert run._settled(2, near, data) == near


@given(st.integers(2, 200), st.integers(1, 10**6))
def test_grid(first, least) -> None:
    size = on_grid(first, least)
    assert max(first, least) <= size <= max(first, 2 * least)
    steps = {first << k for k in range(21)}
    steps |= {3 * s // 2 for s in steps if s % 2 == 0}
    assert size in steps


@given(st.integers(0, 2**32), st.integers(1, 3), st.booleans())
@settings(max_examples=15, deadline=None)
def test_costs_with_a_baseline_cost_the_same_on_average(seed, k, exact) -> None:
    """As the paper's, for each policy that always takes one action, and in all."""
    env = make("random-finite", seed, states=2, actions=k, horizon=2)
    accuracy = {"eps_sub": Fraction(1, 10**15)} if exact else {}
    run, _ = run_of(env, seed=seed, **accuracy)
    data = run.shared.balanced((0,), 30)
    futures = [Fraction(a, 3) for a in range(k)]
    costs, plain = run.costs(data, futures), LocalValues.costs(run, data, futures)
    assert (costs.dtype == object) == exact
    for action in range(k):
        found, right = (data.expectation_exact(c[:, action]) for c in (costs, plain))
        assert found == right if exact else abs(found - right) < Fraction(1, 10**9)


@given(st.integers(0, 2**32), st.integers(2, 3), st.data())
@settings(max_examples=10, deadline=None)
def test_costs_with_a_baseline_estimate_what_a_policy_loses(seed, k, data) -> None:
    """For any policy, with 10^12 draws of each action: -E[r + V_a]."""
    env = make("random-finite", seed, states=2, actions=k, horizon=2)
    run, _ = run_of(env, seed=seed)
    rows = run.shared.balanced((), 10**12)
    chosen = [data.draw(st.integers(0, k - 1)) for _ in range(env.space(1).n_codes)]
    taken = np.array(chosen)[rows.observations]
    futures = [Fraction(a, 3) for a in range(k)]
    found, right = (
        rows.expectation(c[np.arange(len(rows)), taken])
        for c in (run.costs(rows, futures), LocalValues.costs(run, rows, futures))
    )
    assert found == pytest.approx(right, abs=1e-4)


def test_costs_do_not_vary_where_rewards_do_not() -> None:
    """At levels 1..H-1 of the lock only V_a matters: all rows cost the same."""
    run, _ = run_of(make("lock-gaussian", 0, horizon=3), "linear")
    data = run.shared.balanced((0,), 30)
    futures = [Fraction(1, 3), Fraction(1, 7), Fraction(0), Fraction(1, 2)]
    assert (run.costs(data, futures) == -np.array(futures, dtype=float)).all()
    plain = LocalValues.costs(run, data, futures)
    assert plain.std(axis=0).min() >= 0
    assert plain.std(axis=0).max() > 0.5


def alive_after(env):
    """First action of a two-level lock that leads to a state with a reward."""
    ahead = [env.truth.successor(1, 0, a) for a in range(4)]
    return next(a for a, s in enumerate(ahead) if env.truth.state_value(2, s))


def test_data_grow_with_the_variance_of_rewards() -> None:
    """n_first rows of each action where nothing varies, half of n_train for coins."""
    env = make("lock-gaussian", 0, horizon=2)
    run, _ = run_of(env, "linear", n_train=2_000, n_first=20)
    assert run._training_set(()).draws == 4 * 20
    # Two of four actions pay a coin's 0 or 1, so the mean variance is an eighth.
    assert 800 <= run._training_set((alive_after(env),)).draws <= 2_000


def test_fresh_trajectories_grow_with_the_variance_of_returns() -> None:
    """2√H/ε where all returns are the same; enough for ε/√(16H) where a coin pays."""
    env = make("lock-gaussian", 0, horizon=2)
    run, _ = run_of(env, "linear")
    p, futures = run.parameters, [Fraction(a, 8) for a in range(4)]
    path = (alive_after(env),)
    for action in range(4):
        before = env.trajectories
        value = run._measure((), lambda x, a=action: np.full(len(x), a), futures, 10**6)
        assert value == futures[action]
        assert env.trajectories - before == p.fresh(0.0) == 10
        before = env.trajectories
        value = run._measure(
            path, lambda x, a=action: np.full(len(x), a), [0] * 4, p.n_fresh
        )
        used = env.trajectories - before
        assert used == 10 if value == 0 else p.n_fresh / 2 < used <= p.n_fresh


def test_parameters_are_formulas_and_refuse_nonsense() -> None:
    env = make("lock-gaussian", 0, horizon=10)
    chosen = frugal_defaults(env, 0.3)
    p = FrugalParameters(0.3, 0.1, 3, 4, 10, **chosen)
    assert (p.n_first, p.n_train, p.fresh(0.0), p.n_fresh) == (20, 1_040, 22, 445)
    assert (p.phi(2), p.leeway, p.spread) == tuple(
        map(Fraction, ("0.05", "0.4", "0.1"))
    )
    # A consensus as wide as linear_defaults allow.
    known = PracticalParameters(0.3, 0.1, 3, 4, 10, **linear_defaults(env, 0.3))
    assert p.consensus(2) == known.consensus(2) - 2 * known.eps_feas == Fraction(1, 2)
    assert p.n_test == linear_defaults(env, 0.3)["n_test"]
    assert p.to_json()["version"] == "frugal"
    assert p.to_json()["n_first"] == 20
    assert FrugalParameters(0.3, 0.1, 3, 4, 10).to_json()["spread"] is None
    assert "n_first" not in PracticalParameters(0.3, 0.1, 3, 4, 10).to_json()
    with pytest.raises(ValueError, match="n_first: 1 draws have no two halves"):
        FrugalParameters(0.3, 0.1, 3, 4, 10, n_first=1)
    refused("balanced: False", FrugalParameters, 0.3, 0.1, 3, 4, 10, balanced=False)
    refused("n_fresh: None", FrugalParameters, 0.3, 0.1, 3, 4, 10, n_fresh=None)
    refused("no features", frugal_defaults, make("random-finite", 0), 0.3)


@with_rows("name", *[n for n in registry.names() if not n.startswith("valor")])
def test_only_valor_has_them(name) -> None:
    message = f"parameters: {name} has theorem, paper, practical, and no 'frugal'"
    refused(message, learn, name, make("tabular", 0), parameters="frugal")
    task = registry.Task(
        make("tabular", 0), "frugal", "tabular", 0.3, 0.1, np.random.default_rng(0)
    )
    refused(message, registry.get(name).run, task)


def test_only_valor_takes_other_settings_as_they_are(rng):
    env = make("tabular", 0)
    with pytest.raises(ValueError, match="n_first: practical parameters lack it"):
        learn("valor", env, parameters="practical", n_first=10)
    refused("n_first: set by the theorem", learn, "valor", env, n_first=10)
    result = learn("valor", env, parameters="frugal", n_first=10, M=7)
    assert result.parameters["n_first"] == 10
    assert result.parameters["M"] == 7
    refused("did you mean 'frugal'", learn, "valor", env, parameters="frugl")
    # The function, without the registry, draws as they say too.
    env = make("tabular", 0, states=2, actions=2, horizon=2)
    values, policies = make_classes(env, "tabular", rng)
    p = FrugalParameters(0.3, 0.1, 2, 2, 2, n_eval=10)
    result = valor(env, values, policies, p, rng)
    assert result.succeeded
    assert result.trajectories < PracticalParameters(0.3, 0.1, 2, 2, 2).n_train * 3
