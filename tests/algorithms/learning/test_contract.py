"""What every algorithm of the registry keeps: claims, counts, guard, seeds, records.

A new algorithm is tried as soon as it is listed.
"""

import copy
import json
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pytest
from olivine.algorithms.classes import (
    PolicyClassByLevel,
    TabularPolicyClass,
    ValueClassByLevel,
)
from olivine.algorithms.environments import make
from olivine.algorithms.global_policy.algorithm import LearnedTest
from olivine.algorithms.learning import registry
from olivine.algorithms.learning.events import (
    Descending,
    Entered,
    Iteration,
    NewPolicies,
)
from olivine.algorithms.learning.learn import learn
from olivine.algorithms.oracles.ledger import Ledger, guard, unguard

from tests.support.learning import Record, recorded

every = pytest.mark.parametrize("name", registry.names())


@dataclass
class Made(Record):
    """A run at the theorem's constants."""

    entry: registry.Algorithm
    ledger: Ledger


def environment():
    return make("random-finite", 3, states=2, actions=2, horizon=2)


kept: dict[str, Made] = {}


def record(name) -> Made:
    """Make it once, with guarded classes, of an algorithm that was declared."""
    if name not in kept:
        entry, env = registry.get(name), environment()
        if entry.parts is None:
            pytest.skip(f"{name} makes its run itself")
        rng = np.random.default_rng(0)
        task = registry.Task(env, "theorem", entry.default_classes, 0.3, 0.1, rng)
        problem = entry.parts.classes(task)
        parameters = entry.parts.parameters(task, problem)
        names = ("values", "policies") if entry.default_classes == "tabular" else ()
        classes = {n: c and guard(c) for n in names if (c := getattr(problem, n))}
        guarded, parts = replace(problem, **classes), entry.parts
        with Ledger() as ledger:
            made = recorded(parts.learn, guarded, parameters, parts.review, rng)
        made = Made(**vars(made) | {"problem": problem}, entry=entry, ledger=ledger)
        kept[name] = made
    return kept[name]


@every
def test_a_run_succeeds_and_contradicts_no_claim(name) -> None:
    env, seen = environment(), []
    before = env.trajectories
    result = learn(name, env, observers=[seen.append])
    assert result.succeeded
    assert result.contradictions == []
    assert result.monitors
    assert all(m.holds is not None for m in result.monitors.values())
    assert env.truth.optimal_value - env.truth.policy_value(result.policies) <= 0.3
    assert result.trajectories == env.trajectories - before > 0
    assert any(isinstance(event, NewPolicies) for event in seen)
    written = json.loads(json.dumps(result.to_json()))
    assert written["algorithm"] == name
    assert written["monitors"].keys() == result.monitors.keys()
    assert f"algorithm='{name}'" in repr(result)
    assert len(repr(result)) < 500  # one can print it


def plain(result):
    """Everything about a run but its seed and seconds."""
    found = result.to_json() | {"seed": None}
    for played in found.get("rounds", ()):
        del played["seconds"]
    return found


@every
def test_a_run_is_its_seed_and_its_recorded_generator(name):
    first, again, other = (learn(name, environment(), seed=s) for s in (5, 5, 6))
    assert plain(first) == plain(again) != plain(other)
    assert first.to_json()["seed"] == {"entropy": 5}
    # From where it stood when the classes had been drawn.
    made = record(name)
    again = made.entry.parts.learn(
        *replace(made.problem, environment=environment()).arguments,
        made.parameters,
        made.result.seed.generator(),
    )
    assert plain(again) == plain(made.result)


@every
def test_classes_are_seen_through_oracles_and_evaluation_only(name) -> None:
    made = record(name)
    assert made.ledger.touches == []
    assert made.result.succeeded
    assert made.result.inaccurate_calls == 0
    assert all(unguard(policy) is policy for policy in made.result.policies)
    counted = {kind: n for kind, n in made.result.calls.items() if n}
    assert counted == {kind: n for kind, n in made.ledger.calls.items() if n}


@every
def test_monitors_see_what_the_result_says(name) -> None:
    made, p = record(name), record(name).parameters
    reports = made.reports()
    scopes = made.entry.parts.review(made.problem, p).scopes()
    assert {n: r.scope for n, r in reports.items()} == scopes
    assert made.failing() == set()
    if "oracles" in scopes:
        assert made.failing(inaccurate_calls=1) == {"oracles"}
    for kind, most in getattr(p, "call_bounds", {}).items():
        assert made.failing(calls={kind: most}) == set()
        assert made.failing(calls={kind: most + 1}) == {f"{kind}-calls"}
    most = p.trajectory_bound
    assert made.failing(trajectories=most) == set()
    assert made.failing(trajectories=most + 1) == {"trajectories"}
    assert made.failing(status="failure", reason="why") >= {"epsilon-optimal"}
    assert made.reports(status="failure", reason="why")["epsilon-optimal"].first == (
        "why: 1 > 0"
    )


def evaluated(factor):
    """The return of the policy, off by so many times ε/8."""

    def change(made):
        value = made.problem.environment.truth.policy_value(made.result.policies)
        off = Fraction(value) + factor * made.parameters.eps / 8
        return [
            replace(e, mean_return=off) if isinstance(e, Iteration) else e
            for e in made.events
        ]

    return change


def rejected(made):
    """The policy is not accepted, and nothing is learned afterwards."""
    return [
        replace(e, accepted=False) if isinstance(e, Iteration) else e
        for e in made.events
    ]


def more(kind, path, times=lambda p: 1):
    """So many events more at a path, at the end."""
    return lambda made: [*made.events, *[kind(path)] * times(made.parameters)]


PATHS = ("valor", "valor-constrained", "two-sample", "global-policy")
METAALG = ("valor", "valor-constrained", "two-sample", "lsvee")
SLIGHTLY = Fraction(1, 1000)
TAMPERINGS = [  # (algorithms, tampering, monitor that must see it; None: none)
    (METAALG, evaluated(1 - SLIGHTLY), None),
    (METAALG, evaluated(1 + SLIGHTLY), "evaluation"),
    (METAALG, evaluated(-1 - SLIGHTLY), "evaluation"),
    (METAALG, rejected, "progress"),
    (PATHS, more(Entered, (0,), lambda p: p.T_max + 1), "dfslearn-calls"),
    (("global-policy",), more(LearnedTest, (), lambda p: p.T_max + 1), "test-calls"),
    (
        ("valor", "valor-constrained", "global-policy", "lsvee"),
        more(Descending, ()),
        "no-relearning",
    ),
]


@pytest.mark.parametrize(
    ("name", "tampering", "monitor"),
    [(name, change, seen) for names, change, seen in TAMPERINGS for name in names],
)
def test_a_tampered_record_is_noticed(name, tampering, monitor) -> None:
    made = record(name)
    found = made.failing(lambda _: tampering(made))
    assert found == ({monitor} if monitor else set())


@every
def test_a_loss_of_epsilon_is_allowed_and_no_more(name) -> None:
    made = record(name)
    optimal = made.problem.environment.truth.optimal_value
    for loss, found in ((made.parameters.eps, False), (Fraction(1, 2), True)):
        review = made.entry.parts.review(made.problem, made.parameters)
        truth = review.truth

        class Worse:
            """The truth, but for a policy's value."""

            def __getattr__(self, attribute, loss=loss, truth=truth):
                if attribute == "policy_value":
                    return lambda policies: optimal - loss
                return getattr(truth, attribute)

        review.truth = Worse()
        assert (review.reports(made.result)["epsilon-optimal"].holds is False) == found


@every
def test_what_does_not_fit_is_refused(name):
    made = record(name)
    problem, env = made.problem, made.problem.environment

    def refused(words, *, problem=problem, **changed):
        parameters = copy.copy(made.parameters)
        for field, value in changed.items():
            object.__setattr__(parameters, field, value)
        with pytest.raises(ValueError, match=words):
            made.entry.parts.learn(
                *problem.arguments, parameters, np.random.default_rng(0)
            )

    refused("H: 3, but the environment has H=2", H=3)
    refused("K: 3, but the environment has K=2", K=3)
    if made.entry.deterministic:  # else nothing is asked of M
        refused("M: 1 is too small", M=1)
        lock = make("lock", 0, switch=0.1, horizon=2)
        refused(
            "stochastic hidden dynamics", problem=replace(problem, environment=lock)
        )
    before = env.trajectories
    if isinstance(problem.policies, PolicyClassByLevel):
        more = PolicyClassByLevel([TabularPolicyClass(9, 3)] * 2)
        refused("policy_class: 3 actions", problem=replace(problem, policies=more))
        short = PolicyClassByLevel(problem.policies.classes[:1])
        refused("policy_class: 1 levels", problem=replace(problem, policies=short))
    if isinstance(problem.values, ValueClassByLevel):
        short = ValueClassByLevel(problem.values.classes[:1])
        refused("value_class: 1 levels", problem=replace(problem, values=short))
    assert env.trajectories == before
    with pytest.raises(ValueError, match=f"{name}: unknown setting 'nonsense'"):
        learn(name, environment(), nonsense=1)
    assert registry.get(name).kinds[:3] == registry.PARAMETER_KINDS
