"""PSDP, fitted Q iteration, Bellman backups, R-max: guarantees and failures."""

import dataclasses
import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from olivine.algorithms.assumptions import check_assumptions
from olivine.algorithms.baselines import (
    BaselineMonitors,
    BatchParameters,
    backup,
    fqi,
    practical_parameters,
    psdp,
    rmax,
    rmax_practical,
    rmax_theorem,
    theorem_parameters,
)
from olivine.algorithms.baselines.backwards import uniform_rollouts
from olivine.algorithms.classes import (
    FiniteValueClass,
    TabularPolicy,
    ValueClassByLevel,
)
from olivine.algorithms.environments import finite, from_lists, make
from olivine.algorithms.learning.draw_classes import make_classes, paths_to_states
from olivine.algorithms.learning.monitors import with_monitors
from olivine.algorithms.learning.problem import Problem
from olivine.algorithms.learning.registry import Task, get
from olivine.algorithms.valor.algorithm import valor
from olivine.algorithms.valor.parameters import PracticalParameters
from olivine.claims.baselines import run_monitored
from olivine.claims.instances import amplified, late_discovery, unrepresented
from scipy.stats import beta

from tests.support.baselines import Recorder, practical, run
from tests.support.depth import deep, spread, with_rows
from tests.support.refusals import refused

NAMES = ("psdp", "fqi", "backup", "rmax")
every = pytest.mark.parametrize("name", NAMES)
HALF = Fraction(1, 2)


@settings(deadline=None, max_examples=20)
@given(
    st.sampled_from(NAMES),
    st.integers(0, 2**32),
    st.integers(1, 3),
    st.integers(1, 3),
    st.integers(1, 3),
    st.integers(1, 2),
)
@example("psdp", 0, 1, 1, 1, 1)
@example("fqi", 0, 1, 1, 1, 1)
@example("backup", 0, 1, 1, 1, 1)
@example("rmax", 0, 1, 1, 1, 1)
@example("rmax", 3, 3, 1, 3, 2)
def test_what_the_analyses_claim_holds(
    name, seed, states, actions, horizon, observations
) -> None:
    env = make(
        "random-finite",
        seed,
        states=states,
        actions=actions,
        horizon=horizon,
        observations=observations,
        distinct=False,
    )
    result = run_monitored(name, env, np.random.default_rng(seed))
    assert result.contradictions == []
    assert all(report.holds for report in result.monitors.values())
    assert result.seed.entropy == seed


@settings(deadline=None, max_examples=20)
@given(
    st.sampled_from(["psdp", "fqi", "backup"]),
    st.sampled_from(["tabular", "finite"]),
    st.integers(0, 2**32),
    st.integers(1, 30),
    st.sampled_from([None, "on_policy", "per_action"]),
)
def test_error_bounds_hold_however_little_data_there_is(
    name, kind, seed, n, sampling
) -> None:
    """They are inequalities of any run; counts of calls and trajectories too."""
    env = make("random-finite", seed, states=2, actions=2, horizon=3, distinct=False)
    rng = np.random.default_rng(seed)
    values, policies = make_classes(env, kind, rng, size=8)
    chosen = {sampling: True} if name == "backup" and sampling else {}
    parameters = practical(name, env, n=n, **chosen)
    monitors = BaselineMonitors(Problem(env, complete=False), parameters)
    before = env.trajectories
    result = run(name, env, values, policies, parameters, rng, [monitors])
    reports = monitors.reports(result)
    bound = reports["concentrability" if name == "psdp" else "propagation"]
    assert bound.holds
    assert bound.scope == "always"
    assert reports["trajectories"].holds
    assert reports["oracles"].holds
    assert result.trajectories == env.trajectories - before
    if name != "backup":
        assert result.trajectories == parameters.trajectory_bound
    assert {k: result.calls.get(k, 0) for k in ("csc", "ls")} == parameters.call_bounds
    assert reports["epsilon-optimal"].scope == "fact"


@pytest.mark.parametrize("name", ["psdp", "fqi", "rmax"])
@pytest.mark.parametrize("seed", spread(range(2), 1))
def test_stochastic_hidden_dynamics(name, seed) -> None:
    env = make("lock", seed, observations="codes", dimension=0, switch=0.2, horizon=3)
    assert not env.deterministic
    result = run_monitored(name, env, np.random.default_rng(seed))
    assert result.contradictions == []
    assert all(report.holds for report in result.monitors.values())


@pytest.mark.parametrize("name", ["psdp", "fqi", "rmax"])
def test_the_reductions_mdp(name) -> None:
    from olivine.reduction.environments import threesat

    env = threesat(np.random.default_rng(0))
    result = run_monitored(name, env, np.random.default_rng(0))
    assert result.contradictions == []
    assert result.monitors["epsilon-optimal"].holds


def epsilon_optimal(name, runs) -> int:
    good = 0
    for seed in range(runs):
        env = make("random-finite", seed)
        result = run_monitored(name, env, np.random.default_rng([seed, 1]))
        assert result.contradictions == []
        lost = env.truth.optimal_value - env.truth.policy_value(result.policies)
        good += result.succeeded and lost <= Fraction(3, 10)
    return good


@every
@pytest.mark.parametrize("runs", [4, pytest.param(100, marks=pytest.mark.long)])
def test_epsilon_optimal_in_a_share_of_1_minus_delta(name, runs) -> None:
    good = epsilon_optimal(name, runs)
    assert good == runs
    if runs == 100:  # Clopper and Pearson's lower bound, confidence 99%
        assert beta.ppf(0.01, good, runs - good + 1) > 0.9


@pytest.mark.parametrize("name", ["psdp", "backup"])
def test_complete_finite_classes_through_the_registry(name) -> None:
    kind = {"psdp": "policy", "backup": "policy-value"}[name]
    task = Task(
        make("random-finite", 1),
        "theorem",
        "finite",
        0.3,
        0.1,
        np.random.default_rng(1),
        {"complete": kind, "size": 8},
    )
    result = get(name).run(task)
    assert result.monitors["epsilon-optimal"].scope == "probable"
    assert all(report.holds for report in result.monitors.values())


@pytest.mark.parametrize("name", ["psdp", "fqi", "backup"])
def test_monitors_notice_what_is_not_so(name, rng) -> None:
    """A worse policy than the one that was fitted, a wrong estimate, wrong counts."""
    env = make("tabular", 0)
    values, policies = make_classes(env, "tabular", rng)
    parameters = practical(name, env, n=10**9)
    monitors = BaselineMonitors(Problem(env, complete=True), parameters)
    result = run(name, env, values, policies, parameters, rng, [monitors])
    worst = [
        TabularPolicy(env.truth.q_values(h).argmin(axis=1).astype(np.int64))
        for h in (1, 2, 3)
    ]
    false = dataclasses.replace(
        result,
        policies=tuple(worst),
        estimate=Fraction(2),
        trajectories=parameters.trajectory_bound + 1,
        calls={"csc": 4, "ls": 7},
    )
    reports = monitors.reports(false)
    bound = "concentrability" if name == "psdp" else "propagation"
    for broken in (bound, "trajectories", "csc-calls", "ls-calls", "reported"):
        assert reports[broken].holds is False
    assert with_monitors(false, reports).contradictions


def one_state():
    """One state, two actions paying 1/4 and 3/4 surely."""
    rewards = {"x": [Fraction(1, 4), Fraction(3, 4)]}
    return from_lists([[("s", {"x": 1}, rewards, [])]])


def test_a_backup_step_is_what_the_definition_says(rng) -> None:
    """Both updates, recomputed from the observer's data, state by state."""
    env = make("random-finite", 4, states=2, actions=2, horizon=2, observations=2)
    values, policies = make_classes(env, "tabular", rng)
    recorder = Recorder()
    backup(env, values, policies, practical("backup", env, n=50), rng,
           observers=[recorder])  # fmt: skip
    assert [fit.level for fit in recorder.fits] == [2, 1]
    last, first = recorder.fits
    for fit, ahead in ((last, None), (first, last.functions[0])):
        data = fit.data
        targets = data.rewards.astype(float)
        if ahead is not None:
            targets = targets + ahead(data.next_observations)
        weights = data.weights.astype(float)

        def total(table, weights=weights, data=data, targets=targets) -> float:
            taken = np.asarray(table)[data.observations] == data.actions
            return float((weights * taken * targets).sum())

        codes = env.space(fit.level).n_codes
        tables = itertools.product(range(2), repeat=codes)
        best = max(total(table) for table in tables)
        assert total(fit.policy(np.arange(codes))) == pytest.approx(best)
        chosen = fit.policy(data.observations) == data.actions
        for x in np.unique(data.observations[chosen]):
            rows = chosen & (data.observations == x)
            mean = np.average(targets[rows], weights=weights[rows])
            assert fit.functions[0](np.array([x]))[0] == pytest.approx(min(mean, 1))


def test_backup_samples_every_reachable_state_equally(rng) -> None:
    env = late_discovery(4).environment
    paths = [list(level.values()) for level in paths_to_states(env)]
    assert paths == [[()], [(1,), (0,)], [(1, 1), (1, 0)],
                                [(1, 1, 1), (1, 1, 0)]]  # fmt: skip
    values, policies = make_classes(env, "tabular", rng)
    for sampling, times in ((None, 1), ("on_policy", 2), ("per_action", 2)):
        recorder = Recorder()
        chosen = {sampling: True} if sampling else {}
        parameters = practical("backup", env, n=30, **chosen)
        result = backup(env, values, policies, parameters, rng, observers=[recorder])
        assert result.trajectories == 30 * 7 * times
        for fit in recorder.fits:
            shares = fit.data.weights_by_code(env.space(fit.level).n_codes)
            assert len(set(shares.tolist())) == 1
            if sampling == "on_policy":
                assert (fit.policy(fit.data.observations) == fit.data.actions).all()
            if sampling == "per_action":
                shares = np.bincount(fit.data.actions, fit.data.weights)
                assert len(set(shares.tolist())) == 1


def test_ties_go_to_the_lowest_member() -> None:
    """1/2 and 1 are equally near to 3/4: the adversary's choice is the first."""
    env = one_state()
    policies = make_classes(env, "tabular", np.random.default_rng(0))[1]
    for order in ((0.5, 1.0), (1.0, 0.5)):
        values = ValueClassByLevel([FiniteValueClass([[v] for v in order])])
        recorder = Recorder()
        parameters = practical("backup", env, eps_sub=1e-20)
        result = backup(
            env, values, policies, parameters, np.random.default_rng(0),
            observers=[recorder],
        )  # fmt: skip
        assert float(result.estimate) == order[0]
        assert result.inaccurate_calls == 0


@pytest.mark.parametrize("name", ["psdp", "fqi"])
@pytest.mark.parametrize("env_name", ["lock", "grid"])
def test_features_with_finite_and_linear_classes(name, env_name) -> None:
    env = make(env_name, 0, horizon=2)
    for kind in ("finite", "linear"):
        rng = np.random.default_rng(0)
        values, policies = make_classes(env, kind, rng)
        result = run(name, env, values, policies, practical(name, env, n=200), rng)
        assert len(result.policies) == 2
        for h in (1, 2):
            data = env.draw(["uniform"] * h, 5, rng)
            assert result.policies[h - 1](data.observations).shape == (len(data),)


def test_uniform_rollouts_have_the_right_means(rng) -> None:
    env = make("random-finite", 5, horizon=3)
    later = env.truth.optimal_policies()[1:]
    data = uniform_rollouts(env, 1, 10**12, rng, later)
    q = env.truth.q_values(1)
    for x, a in itertools.product(range(env.space(1).n_codes), range(2)):
        rows = (data.observations == x) & (data.actions == a)
        mean = np.average(data.rewards[rows], weights=data.weights[rows].astype(float))
        assert mean == pytest.approx(float(q[x, a]), abs=1e-4)
    assert uniform_rollouts(env, 3, 10**12, rng, []).draws == 10**12


def test_exact_evaluation_agrees_with_the_truth() -> None:
    env = make("lock", 1, observations="codes", dimension=1, switch=0.2, horizon=3)
    model, rng = env.truth.model, np.random.default_rng(0)
    best = finite.policy_q_values(model, env.truth.optimal_policies())
    assert all((q == env.truth.q_values(h)).all() for h, q in enumerate(best, 1))
    tables = [TabularPolicy(rng.integers(4, size=x.n_codes)) for x in model.levels]
    for rules in (tables, ["uniform"] * 3):
        assert all(sum(p) == 1 for p in finite.occupancies(model, rules))


@given(st.fractions(0, 10**6))
def test_roots_are_rounded_up(value) -> None:
    root = finite.root_up(value)
    assert root**2 >= value
    assert root == 0 or (root - Fraction(1, 2**60)) ** 2 < value


@with_rows(
    "chosen, word",
    ({"algorithm": "valor"}, "algorithm"),
    ({"eps": 1}, "epsilon"),
    ({"delta": 0}, "delta"),
    ({"K": 0}, "K"),
    ({"H": 2.0}, "H"),
    ({"log_Pi": -1.0}, "log_Pi"),
    ({"log_Pi": math.inf}, "log_Pi"),
)
def test_bad_theorem_parameters(chosen, word) -> None:
    fine = {"algorithm": "psdp", "eps": 0.3, "delta": 0.1, "M": 2, "K": 2, "H": 3}
    refused(word, theorem_parameters, **fine | chosen)


def test_bad_parameters_and_what_does_not_fit_are_refused(rng):
    refused("n: 0", practical_parameters, "fqi", 0.3, 0.1, M=2, K=2, H=3, n=0)
    refused("eps_sub", practical_parameters, "fqi", 0.3, 0.1, M=2, K=2, H=3, eps_sub=0)
    with pytest.raises(ValueError, match="on_policy"):
        practical_parameters("fqi", 0.3, 0.1, M=2, K=2, H=3, on_policy=True)
    refused("m: 0", rmax_practical, 0.3, 0.1, X=2, K=2, H=3, m=0)
    refused("X: 0", rmax_theorem, 0.3, 0.1, X=0, K=2, H=3)
    assert isinstance(practical_parameters("fqi", 0.3, 0.1, M=2, K=2, H=3),
                      BatchParameters)  # fmt: skip
    env = make("random-finite", 0)
    policies = make_classes(env, "tabular", rng)[1]
    refused("of fqi, not of psdp", psdp, env, policies, practical("fqi", env), rng)
    with pytest.raises(ValueError, match="X: 1 is too small"):
        rmax(env, rmax_practical(0.3, 0.1, X=1, K=2, H=3), rng)
    for horizon, actions in ((1, 2), (3, 1)):
        refused("below 2", amplified, horizon, actions=actions)


def test_fitted_q_iteration_fails_where_q_is_not_representable() -> None:
    made = unrepresented()
    env = made.environment
    found = check_assumptions(env, made.values, made.policies)
    assert all(assumption.holds for assumption in found.values())
    for n in (10**4, 10**18):
        rng = np.random.default_rng(n % 7)
        result = fqi(env, made.values, practical("fqi", env, n=n), rng)
        assert env.truth.policy_value(result.policies) == 0
        assert result.estimate == 1
        assert result.succeeded  # nothing tells it
    parameters = PracticalParameters(0.2, 0.1, 2, 2, 2)
    result = valor(env, made.values, made.policies, parameters, rng)
    assert result.succeeded
    assert env.truth.policy_value(result.policies) == Fraction(15, 16)
    # Bellman backups ask for values of chosen actions only.
    result = backup(env, made.values, made.policies, practical("backup", env), rng)
    assert env.truth.policy_value(result.policies) == Fraction(15, 16)


def test_fitted_q_iteration_amplifies_chance_where_classes_are_not_complete() -> None:
    small = amplified(4, actions=2)
    found = check_assumptions(small.environment, small.values, small.policies)
    assert [a.holds for a in found.values()] == [True, True, False, True]
    for h in range(2, 5):  # Q* of every action is in G, too
        q = small.environment.truth.q_values(h)
        members = small.values.at_level(h).members
        for a in range(2):
            assert any(list(m.exact) == q[:, a].tolist() for m in members)

    made = amplified(24)
    env, n = made.environment, 10**7
    for seed in range(deep(5, 1)):
        rng = np.random.default_rng(seed)
        result = fqi(env, made.values, practical("fqi", env, n=n), rng)
        assert env.truth.policy_value(result.policies) == HALF
        assert float(result.estimate) == pytest.approx(7 / 8)
    parameters = PracticalParameters(0.2, 0.1, 4, 4, 24)
    result = valor(env, made.values, made.policies, parameters, rng)
    assert result.succeeded
    assert env.truth.policy_value(result.policies) == Fraction(3, 4)
    assert result.trajectories < 2000
    # Enough data for the noise at the end, and it succeeds: it is consistent.
    result = fqi(env, made.values, practical("fqi", env, n=10**14), rng)
    assert env.truth.policy_value(result.policies) == Fraction(3, 4)


def test_uniform_roll_in_fails_on_a_chain_at_a_budget_that_does_for_valor(rng) -> None:
    horizon = 12
    env = late_discovery(horizon).environment
    values, policies = make_classes(env, "tabular", rng)
    parameters = PracticalParameters(
        0.4, 0.1, 2, 2, horizon, n_test=10, n_train=40, n_exp=4, n_eval=50
    )
    found = valor(env, values, policies, parameters, rng)
    assert found.succeeded
    assert env.truth.policy_value(found.policies) == 1
    each = -(-found.trajectories // horizon)
    for name in ("psdp", "fqi"):
        result = run(name, env, values, policies, practical(name, env, n=each), rng)
        assert result.trajectories >= found.trajectories
        assert env.truth.policy_value(result.policies) == 0
    result = rmax(env, rmax_practical(0.4, 0.1, X=2, K=2, H=horizon), rng)
    assert result.succeeded
    assert result.trajectories < found.trajectories
    assert env.truth.policy_value(result.policies) == 1


@pytest.mark.long
def test_uniform_roll_in_fails_on_the_published_lock_with_20_levels() -> None:
    for seed in range(3):
        env = make("lock", seed, horizon=20)
        rng = np.random.default_rng([seed, 1])
        values, policies = make_classes(env, "finite", rng)
        parameters = PracticalParameters(
            0.4, 0.1, 3, 4, 20, n_test=20, n_train=160, n_exp=4, n_eval=300
        )
        found = valor(env, values, policies, parameters, rng)
        value, _ = env.truth.estimate_policy_value(found.policies, 4000, rng)
        assert value > 0.45
        each = -(-found.trajectories // 20)
        for name, factor in (("psdp", 1), ("fqi", 10)):
            chosen = practical(name, env, n=factor * each)
            result = run(name, env, values, policies, chosen, rng)
            value, _ = env.truth.estimate_policy_value(result.policies, 4000, rng)
            assert value < 0.05
        chosen = rmax_practical(0.4, 0.1, X=3, K=4, H=20)
        result = rmax(env, chosen, rng)
        value, _ = env.truth.estimate_policy_value(result.policies, 4000, rng)
        assert value > 0.45
        assert result.trajectories < found.trajectories
