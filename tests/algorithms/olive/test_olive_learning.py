"""OLIVE as a registered algorithm; every run records what it was drawn from."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from olivine.algorithms.classes import FiniteQClass
from olivine.algorithms.environments import make
from olivine.algorithms.learning import registry
from olivine.algorithms.learning.registry import Task
from olivine.algorithms.mdp.tabular import random_tabular_mdp
from olivine.algorithms.olive import OliveLearningResult
from olivine.algorithms.olive.parameters import OliveParameters, trajectory_bound
from olivine.algorithms.olive.run import TabularEnvironment, olive_sampled
from olivine.algorithms.olive_program.optimisers import BranchAndBound
from olivine.algorithms.olive_program.rounds import olive_exact
from olivine.algorithms.olive_program.tiebreak import RandomTiebreak, ScriptedTiebreak
from olivine.reduction.environments import threesat
from scipy.stats import beta

from tests.support.depth import spread, with_rows
from tests.support.refusals import refused


def task(environment, *, seed=0, params="theorem", classes="finite", **settings):
    observers = settings.pop("observers", ())
    rng = np.random.default_rng([seed, 1])
    return Task(
        environment, params, classes, 0.3, 0.1, rng, settings, observers=observers
    )


def run(environment, **options) -> OliveLearningResult:
    return registry.get("olive").run(task(environment, **options))


def lost(environment, result) -> Fraction:
    truth = environment.truth
    return truth.optimal_value - truth.policy_value(list(result.policies))


def assert_good(environment, result) -> None:
    assert result.status == "success"
    assert result.contradictions == []
    assert lost(environment, result) <= Fraction(3, 10)


@with_rows(
    "params, classes",
    *itertools.product(["theorem", "paper", "practical"], ["finite", "tabular"]),
    keep=3,
)
def test_both_classes_with_all_parameters(classes, params) -> None:
    environment = make("random-finite", 2)
    result = run(environment, classes=classes, params=params)
    assert_good(environment, result)
    assert result.trajectories == environment.trajectories
    p = result.parameters
    assert p["version"] == params
    assert sum(result.learned) == result.iterations - 1
    spent = p["n_est"] + result.iterations * p["n_eval"]
    assert result.trajectories == spent + sum(result.learned) * p["n_train"]
    assert result.enumerated == (64 * sum(result.learned) if classes == "finite" else 0)
    assert set(result.monitors) >= {"optimism", "rounds", "deviations", "maximiser"}
    assert result.seed.entropy == (0, 1)
    assert result.run.seed is not None


def test_paper_is_the_theorem_within_its_bound():
    runs = [
        run(make("random-finite", 5), params=params) for params in ("theorem", "paper")
    ]
    first, second = (r.parameters | {"version": ""} for r in runs)
    assert first == second
    assert runs[0].trajectories == runs[1].trajectories
    environment = make("random-finite", 0)
    result = run(environment)
    log_size = result.parameters["log_size"]
    assert log_size == pytest.approx(np.log(64))
    assert result.trajectories <= trajectory_bound(0.3, 0.1, 2, 2, 3, log_size)


def test_constraints_at_all_levels_count_at_all_levels() -> None:
    """One round, which is not the last: H constraints, and no contradiction."""
    environment = make("random-finite", 0)
    for all_levels, constraints in ((False, 1), (True, 3)):
        result = run(
            environment, params="practical", max_rounds=1, all_levels=all_levels
        )
        p = result.parameters
        assert result.status == "failure"
        assert sum(result.learned) == constraints
        drawn = p["n_est"] + p["n_eval"] + constraints * p["n_train"]
        assert result.trajectories == drawn
        assert result.monitors["trajectories"].holds
        assert not result.contradictions


@with_rows("seed, classes", *itertools.product(range(2), ["finite", "tabular"]), keep=2)
def test_stochastic_dynamics(classes, seed) -> None:
    environment = threesat(np.random.default_rng(seed), variables=3, clauses=1)
    assert not environment.deterministic
    assert_good(environment, run(environment, classes=classes))


@pytest.mark.parametrize("name", ["grid", "tabular"])
def test_other_finite_environments(name) -> None:
    environment = make(name, 1)
    assert_good(environment, run(environment))


@pytest.mark.parametrize("name", ["lock", "lock-gaussian", "diabolical-lock"])
def test_features(name) -> None:
    environment = make(name, 1)
    result = run(environment, params="practical", n_train=20_000)
    assert result.status == "success"
    assert result.contradictions == []
    known = name != "lock-gaussian"
    assert (result.monitors["deviations"].holds is None) == (not known)
    if known:
        assert lost(environment, result) <= Fraction(3, 10)


def test_a_seed_repeats_the_run() -> None:
    records = [
        run(make("random-finite", 1), seed=s, params="practical", tiebreak="random")
        for s in (4, 4, 5)
    ]
    kept = [
        {k: v for k, v in r.to_json().items() if k not in ("seed", "rounds")}
        | {"rounds": [{**x, "seconds": 0} for x in r.to_json()["rounds"]]}
        for r in records
    ]
    assert kept[0] == kept[1] != kept[2]
    seeds = [r.to_json()["seed"] for r in records]
    assert seeds == [{"entropy": [4, 1]}, {"entropy": [4, 1]}, {"entropy": [5, 1]}]


def test_the_rounds_are_told() -> None:
    seen = []
    result = run(make("random-finite", 0), params="practical", observers=(seen.append,))
    rounds = result.to_json()["rounds"]
    assert [i.number for i in seen] == [r["round"] for r in rounds]
    assert [i.accepted for i in seen] == [r["level"] is None for r in rounds]
    assert [float(i.estimate) for i in seen] == [r["optimum"] for r in rounds]
    chosen = Counter(r["level"] for r in rounds)
    assert result.learned == tuple(chosen[h] for h in (1, 2, 3))
    assert all(len(r["errors"]) == 3 for r in rounds)


@pytest.mark.parametrize("tiebreak", ["first", "last", "largest", "random"])
def test_ties(tiebreak) -> None:
    environment = make("random-finite", 7, states=3)
    result = run(
        environment, params="practical", tiebreak=tiebreak, all_levels=True, size=100
    )
    assert result.status == "success"
    assert lost(environment, result) <= Fraction(3, 10)
    assert result.parameters["pairs"] == 100
    assert sum(result.learned) == 3 * (result.iterations - 1)


def test_engines() -> None:
    found = {}
    for engine in ("highs", "exact"):
        environment = make("tabular", 3, horizon=2)
        result = run(environment, classes="tabular", engine=engine)
        assert result.status == "success"
        found[engine] = result.run.rounds[0].optimum, result.run.proved
    assert found["highs"][0] == found["exact"][0]
    assert found["exact"][1]


def test_failures_are_results():
    environment = make("random-finite", 0)
    limited = run(environment, params="practical", max_rounds=1, size=200)
    assert limited.status == "failure"
    assert "limit" in limited.reason
    assert limited.policies is None
    assert limited.estimate is None
    assert limited.monitors["finishes"].holds is False
    assert limited.contradictions == []
    hopeless = run(
        make("random-finite", 0),
        params="practical",
        tolerance=0,
        n_train=1,
        n_eval=1,
        stop=0,
    )
    assert hopeless.status == "failure"
    assert "no pair" in hopeless.reason
    assert hopeless.event_failed
    assert hopeless.contradictions == []
    environment = threesat(np.random.default_rng(2))
    result = run(environment, classes="tabular", time_limit=0.01)
    assert result.status == "failure"
    assert result.reason
    assert not result.event_failed
    assert result.monitors["epsilon-optimal"].holds is None


@with_rows(
    "message, options",
    ("classes: olive has no optimiser for linear", {"classes": "linear"}),
    ("n_train: set by the theorem", {"n_train": 5}),
    ("all_levels: not what the theorem", {"all_levels": True}),
    ("all_levels: 3", {"all_levels": 3, "params": "practical"}),
    ("tiebreak: 'worst'", {"tiebreak": "worst"}),
    ("engine: finite classes", {"engine": "highs"}),
    ("time_limit: finite classes", {"time_limit": 5}),
    ("engine: 'magic'", {"engine": "magic", "classes": "tabular"}),
    ("time_limit: -1", {"time_limit": -1, "classes": "tabular"}),
    ("size: tabular classes", {"size": 4, "classes": "tabular"}),
    ("size: 0", {"size": 0}),
    ("size: the class is given", {"size": 4, "classes": FiniteQClass([[[[0, 1]]]])}),
    ("time_limit: True", {"time_limit": True, "classes": "tabular"}),
    ("time_limit: '5'", {"time_limit": "5", "classes": "tabular"}),
    ("time_limit: inf", {"time_limit": math.inf, "classes": "tabular"}),
    ("M: 0", {"M": 0}),
    ("at least the horizon", {"stop": 0.001, "params": "practical"}),
    ("n_eval: 0", {"n_eval": 0, "params": "practical"}),
)
def test_bad_settings_are_refused(message, options) -> None:
    refused(message, run, make("random-finite", 0), **options)


def test_what_does_not_fit_is_refused_before_the_run() -> None:
    environment = make("lock", 0)
    refused(r"n_train: .* take practical", run, environment)
    assert environment.trajectories == 0
    refused("feature vectors", run, environment, classes="tabular", params="practical")


@with_rows(
    "classes, count",
    ("finite", 4),
    ("tabular", 3),
    pytest.param("finite", 100, marks=pytest.mark.long),
    pytest.param("tabular", 100, marks=pytest.mark.long),
    keep=1,
)
def test_random_environments_at_the_theorems_constants(classes, count) -> None:
    """Classes that hold (V*, π*): ε-optimal, monitors clean."""
    good = inside = 0
    for seed in range(count):
        environment = make("random-finite", seed)
        assert environment.max_states == environment.n_actions == 2
        size = {"size": 256} if classes == "finite" else {}
        result = run(environment, seed=seed, classes=classes, **size)
        assert result.contradictions == []
        premises = [m.holds for m in result.monitors.values() if m.scope == "premise"]
        inside += all(premises)
        good += result.succeeded and lost(environment, result) <= Fraction(3, 10)
    lower = float(beta.ppf(0.01, good, count - good + 1)) if good else 0.0
    print(
        f"{classes}: {good} of {count} within ε, inside the event {inside}; "
        f"99% lower bound {lower:.3f}"
    )
    assert good >= 0.9 * count
    assert inside >= 0.9 * count
    if count >= 100:
        assert lower >= 0.9


PARAMETERS = OliveParameters(Fraction(1, 20), Fraction(3, 10), 50, 500, 2000, 12)


def shape(result):
    """What a run did, without the seconds."""
    rounds = [(r.pair, r.optimum, r.errors, r.level) for r in result.rounds]
    return result.status, result.trajectories, rounds


@pytest.mark.parametrize("seed", spread([3, 0], 1))
def test_exact_runs_record_the_ties(seed) -> None:
    mdp = random_tabular_mdp(np.random.default_rng(seed), horizon=3, width=2)
    rng = np.random.default_rng([seed, 7])
    rng.random(2)  # a generator that was used before
    ties = RandomTiebreak(rng)
    first = olive_exact(mdp, optimiser=BranchAndBound(), tiebreak=ties)
    assert first.seed is None
    assert first.tie_seed.entropy == (seed, 7)
    again = RandomTiebreak(first.tie_seed.generator())
    second = olive_exact(mdp, optimiser=BranchAndBound(), tiebreak=again)
    assert shape(first) == shape(second)


@pytest.mark.parametrize("shared", [False, True])
def test_sampled_runs_record_data_and_ties(shared) -> None:
    """One generator may serve both."""
    mdp = random_tabular_mdp(np.random.default_rng(2), horizon=2, width=2)

    def play(rng, ties):
        return olive_sampled(
            TabularEnvironment(mdp),
            PARAMETERS,
            rng,
            optimiser=BranchAndBound(),
            tiebreak=RandomTiebreak(rng if shared else ties),
        )

    rng = np.random.default_rng(5)
    rng.random(3)
    first = play(rng, np.random.default_rng(6))
    assert first.seed.entropy == 5
    assert shared or first.tie_seed.entropy == 6
    second = play(first.seed.generator(), first.tie_seed.generator())
    assert shape(first) == shape(second)


def test_what_draws_nothing_has_no_seed() -> None:
    mdp = random_tabular_mdp(np.random.default_rng(1), horizon=2, width=1)
    result = olive_exact(mdp, optimiser=BranchAndBound())
    assert result.seed is result.tie_seed is None
    drawn = RandomTiebreak(np.random.default_rng(4))
    assert ScriptedTiebreak([], drawn).seed.entropy == 4
    assert ScriptedTiebreak([]).seed is None
