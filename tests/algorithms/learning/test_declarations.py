"""What follows from one declaration: checks, JSON, settings; from one entry: a run."""

import re
import subprocess
import sys
import types
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from olivine.algorithms.environments import make
from olivine.algorithms.environments.from_simulator import from_simulator
from olivine.algorithms.environments.protocol import STOCHASTIC
from olivine.algorithms.exact import OwnCodeError
from olivine.algorithms.learning import registry
from olivine.algorithms.learning.events import Entered, Iteration, notify
from olivine.algorithms.learning.learn import learn
from olivine.algorithms.learning.monitors import Review, claim_table
from olivine.algorithms.learning.parameters import (
    ByChoice,
    ByTheorem,
    Parameters,
    ProblemSize,
    count,
    flag,
    margin,
    positive,
)
from olivine.algorithms.learning.problem import Frame, LearningResult, Problem
from olivine.algorithms.learning.registry import by_kind, declare
from olivine.reduction.environments import threesat

from tests.support.commands import olivine
from tests.support.depth import with_rows
from tests.support.refusals import refused


@dataclass(frozen=True, kw_only=True)
class Toy(Parameters):
    """Parameters of an algorithm that plays at random."""

    algorithms = ("toy",)

    n: int = count("episodes", practical=lambda p: 10 * p.K, place=1)
    share: Fraction = positive("a share", practical=lambda p: p.eps / 2)
    slack: Fraction | None = margin("a slack", default=None, shown="whole")
    loud: bool = flag("whether it is loud", default=True, practical=False)

    @classmethod
    def constants(cls, problem: ProblemSize) -> dict[str, object]:
        return {"n": problem.n_exp, "share": problem.eps / problem.H}

    @property
    def whole(self) -> Fraction:
        return Fraction(1) if self.slack is None else self.slack

    @property
    def trajectory_bound(self) -> int:
        return self.n


class ToyTheorem(ByTheorem, Toy):
    pass


class ToyChoice(ByChoice, Toy):
    pass


SIZES = (0.3, 0.1, 2, 3, 2)


def test_a_declaration_gives_defaults_json_and_settings():
    p = ToyChoice(*SIZES)
    assert (p.n, p.share, p.slack, p.loud) == (30, Fraction(3, 20), None, False)
    p = ToyChoice(*SIZES, n=7, share=0.1, slack="1/3", loud=True)
    assert (p.n, p.share, p.slack, p.loud) == (7, Fraction(1, 10), Fraction(1, 3), True)
    refused("unknown", ToyChoice, *SIZES, unknown=1, error=TypeError)
    found = ToyChoice(*SIZES, slack=0.25).to_json()
    sizes = {"epsilon": 0.3, "delta": 0.1, "M": 2, "K": 3, "H": 2}
    right = {"version": "practical"} | sizes | {"share": 0.15, "whole": 0.25, "n": 30}
    assert list(found.items()) == list(right.items())
    assert Toy.settings() == {
        "M": "bound on the hidden states of a level",
        "n": "episodes",
        "share": "a share",
        "slack": "a slack",
        "loud": "whether it is loud",
    }


@with_rows(
    "change, message",
    ({"n": 0}, "n: 0 is no positive integer"),
    ({"n": True}, "n: True is no positive integer"),
    ({"n": None}, "n: None is no positive integer"),
    ({"share": 0}, "share: 0 is not positive"),
    ({"share": "many"}, "share: 'many' is no finite number"),
    ({"share": None}, "share: None is no finite number"),
    ({"slack": -1}, "slack: -1 is negative"),
    ({"loud": 1}, "loud: 1 is neither true nor false"),
    ({"algorithm": "valor"}, "algorithm: 'valor' has no constants here"),
)
def test_declarations_check(change, message) -> None:
    refused(message, ToyChoice, *SIZES, **change)


@given(st.integers(1, 9), st.integers(1, 9), st.integers(1, 9))
def test_a_copy_of_the_fields_is_the_same_parameters(m, k, h) -> None:
    """What a theorem gave can be changed field by field."""
    p = ToyTheorem(0.3, 0.1, m, k, h, 1.0, 1.0)
    assert Toy(**vars(p)).to_json() == p.to_json()
    assert Toy(**vars(p) | {"n": 1}).n == 1


class ToyReview(Review):
    """Counts what it was told."""

    claims = claim_table(
        """
        calls            always  one
        trajectories     always  n
        epsilon-optimal  fact    V* - V^π ≤ ε
        """
    )

    def begin(self):
        self.calls = 0

    def on_entered(self, call):
        self.calls += 1
        self.tallies["calls"].at_most(self.calls, 1, f"path {call.path}")


def play(environment, parameters, rng, *, observers=()):
    """Play the first action everywhere, n times."""
    with Frame("toy", environment, parameters, rng) as frame:
        notify(observers, Entered(()))
        policies = [lambda x: np.zeros(len(x), dtype=np.int64)] * environment.horizon
        deployed = environment.run(policies, parameters.n, rng)
    return frame.result(policies, deployed.mean_return, iterations=1)


def test_an_algorithm_is_one_declaration(rng) -> None:
    entry = declare(
        "toy",
        "plays the first action",
        parameters=by_kind(ToyTheorem, ToyChoice),
        learn=play,
        review=ToyReview,
        classes=lambda task: Problem(task.environment),
        settings=Toy.settings(),
    )
    env, seen = make("random-finite", 0), []
    for kind, episodes in (("practical", 5), ("theorem", ToyTheorem(
        0.3, 0.1, 2, 2, 3, 0.0, 0.0
    ).n)):  # fmt: skip
        before = env.trajectories
        task = registry.Task(
            env, kind, "tabular", 0.3, 0.1, np.random.default_rng(0),
            {"n": 5} if kind == "practical" else {}, (seen.append,),
        )  # fmt: skip
        result = entry.run(task)
        assert result.trajectories == env.trajectories - before == episodes
        assert result.parameters["version"] == kind
        assert result.monitors["calls"].holds
        assert result.monitors["trajectories"].margin == 0
        assert set(result.monitors) == set(ToyReview(Problem(env), None).scopes())
    assert [type(event) for event in seen] == [Entered] * 2
    fixed = registry.Task(env, "theorem", "tabular", 0.3, 0.1, rng, {"n": 5})
    refused("n: set by the theorem", entry.run, fixed)
    stochastic = threesat(rng)
    task = registry.Task(stochastic, "practical", "tabular", 0.3, 0.1, rng)
    refused("stochastic hidden dynamics", entry.run, task)


def first_actions(task, **changed):
    """A run that plays first actions; its result, changed."""
    environment = task.environment
    policies = (lambda x: np.zeros(len(x), dtype=np.int64),) * environment.horizon
    environment.run(policies, 7, task.rng)
    found = LearningResult(
        "mine", environment.name, "success", policies, Fraction(1, 2), 7, {}
    )
    return replace(found, **changed)


def plays(policy):
    return lambda task: first_actions(task, policies=(policy,) * 3)


def own(monkeypatch, run, **declared):
    entry = registry.Algorithm("mine", "one's own", run, **declared)
    monkeypatch.setattr(registry, "_ALGORITHMS", {"mine": entry})
    monkeypatch.setattr(registry, "MODULES", {})


ELSEWHERE = make("random-finite", 0, states=1, actions=2, horizon=3, observations=1)


@with_rows(
    "run, words",
    (lambda t: None, "returned NoneType; expected LearningResult"),
    (lambda t: 1 // 0, "raised ZeroDivisionError: .*test_declarations.py"),
    (lambda t: first_actions(t, estimate=np.nan), "returned the estimate nan, which"),
    (lambda t: first_actions(t, estimate="1/2"), "returned the estimate '1/2'"),
    (lambda t: first_actions(t, trajectories=6), "returned 6 .* but 7 were drawn"),
    (lambda t: first_actions(t, trajectories=8), "returned 8 .* but 7 were drawn"),
    (lambda t: first_actions(t, algorithm="valor"), "returned a result of 'valor'"),
    (lambda t: first_actions(t, status="won"), "returned the status 'won'"),
    (lambda t: first_actions(t, policies=None), "a success without a policy for each"),
    (lambda t: first_actions(t, policies=(None,) * 3), "a success without a policy"),
    (lambda t: first_actions(t, policies=(np.sign,)), "1 policies for 3 levels"),
    (lambda t: first_actions(t, parameters={"n": t}), "record raised TypeError"),
    (lambda t: first_actions(t, parameters={"n": np.inf}), "record raised ValueError"),
    (plays(lambda x: np.full(len(x), 2)), "policies raised .* not in 0..1"),
    (plays(lambda x: np.full(len(x), -1)), "policies raised .* not in 0..1"),
    (plays(lambda x: np.full((len(x), 2), np.nan)), "policies raised .*no probabil"),
    (plays(lambda x: None), "playing its policies raised AttributeError"),
    (plays(ELSEWHERE.truth.optimal_policies()[0]), "policies raised .*outside the cl"),
)
def test_what_ones_own_algorithm_cannot_return_is_told_with_its_name(
    run, words, monkeypatch
):
    """By `learn`, by its verb, and by a comparison, which has no row of it."""
    own(monkeypatch, run)
    words = f"algorithm 'mine'.* {words}"
    refused(words, learn, "mine", make("tabular", 0), error=OwnCodeError)
    done = olivine("learn", "mine", "--env", "tabular", status=2)
    assert done.out == ""
    assert re.fullmatch(f"olivine: {words}.*\n", done.err)
    done = olivine("compare", "--env", "tabular", "--seeds", "1", "--json", status=2)
    assert re.search(words, done.err)
    assert [(r["runs"], r["successes"]) for r in done.records] == [(0, 0)]


def test_what_ones_own_algorithm_returns_is_a_result(monkeypatch):
    """Failures too; and a ValueError refuses the task."""
    for policies in (None, (None,) * 3):
        own(monkeypatch, lambda t, p=policies: first_actions(
            t, status="failure", policies=p, estimate=None
        ))  # fmt: skip
        assert not learn("mine", make("tabular", 0)).succeeded
    own(monkeypatch, first_actions)
    env = make("tabular", 0)
    assert learn("mine", env).trajectories == env.trajectories == 7
    assert olivine("learn", "mine", "--env", "lock-gaussian", status=0)

    def refuses(task):
        raise ValueError("n: too small")

    own(monkeypatch, refuses)
    olivine("learn", "mine", "--env", "tabular", status=2, err="olivine: n: too small")


def test_policies_that_simulators_cannot_play_are_told(monkeypatch):
    """There is no truth to value them by: they are played."""
    simulator = from_simulator(lambda: 0, lambda a: (0, 0.1), 2, 3, codes=1)
    own(monkeypatch, plays(lambda x: np.full(len(x), 2)))
    words = "algorithm 'mine': playing its policies raised .* not in 0..1"
    refused(words, learn, "mine", simulator, error=OwnCodeError)


def test_a_curve_of_policies_that_cannot_be_played_is_told(monkeypatch):
    def announces(task):
        wrong = [lambda x: np.full(len(x), 2)] * 3
        notify(task.observers, Iteration(1, wrong, Fraction(1), Fraction(1), True))
        return first_actions(task)

    own(monkeypatch, announces)
    done = olivine("curves", "--env", "tabular", "--seeds", "1", status=2)
    assert "algorithm 'mine': playing its policies raised ValueError" in done.err


def test_what_a_declaration_does_not_take_is_refused(monkeypatch, rng) -> None:
    """Stochastic dynamics and features, by name, before anything is drawn."""
    own(monkeypatch, first_actions, deterministic=True, features=False)
    assert learn("mine", make("tabular", 0)).succeeded
    drawn = make("lock", 0, switch=0.1, horizon=2)
    refused("stochastic hidden dynamics", learn, "mine", drawn)
    words = "mine takes finitely many observations, but those of 'lock' are features"
    olivine("learn", "mine", "--env", "lock", status=2, err=words)
    done = olivine("compare", "--env", "lock", "--seeds", "1", "--json", status=0)
    assert done.record["refused"] == words
    entry = declare(
        "toy",
        "plays the first action",
        parameters=by_kind(ToyTheorem, ToyChoice),
        learn=play,
        review=ToyReview,
        classes=lambda task: Problem(task.environment),
        settings=Toy.settings(),
        features=False,
    )
    lock = registry.Task(make("lock", 0), "practical", "tabular", 0.3, 0.1, rng)
    refused("toy takes finitely many observations", entry.run, lock)


def test_messages_name_the_algorithms_that_take_stochastic_dynamics():
    """A list in `environments.protocol`, which cannot see the registry."""
    free = {entry.name for entry in registry.algorithms() if not entry.deterministic}
    assert free == set(re.findall(r"[\w-]+", STOCHASTIC)) - {"and"}


def test_a_folder_is_found_by_its_name_in_modules(monkeypatch) -> None:
    package = types.ModuleType("olivine_toy")
    package.ALGORITHMS = (declare(
        "toy-algorithm", "idle", parameters=None, learn=None, review=None, settings={}
    ),)  # fmt: skip
    with monkeypatch.context() as while_it_is_there:
        while_it_is_there.setitem(sys.modules, "olivine_toy", package)
        while_it_is_there.setattr(
            registry, "MODULES", {**registry.MODULES, "olivine_toy": ("toy-algorithm",)}
        )
        while_it_is_there.setattr(registry, "_ALGORITHMS", {})
        assert registry.get("toy-algorithm") is package.ALGORITHMS[0]
        assert registry.names()[-1] == "toy-algorithm"
    refused("unknown algorithm 'toy-algorithm'", registry.get, "toy-algorithm")


def test_a_review_can_report_more_than_once() -> None:
    """Reports start anew, so that a record may be longer the second time."""
    env = make("random-finite", 0)
    parameters, rng = ToyChoice(0.3, 0.1, 2, 2, 3), np.random.default_rng(0)
    review = ToyReview(Problem(env), parameters)
    result = play(env, parameters, rng, observers=[review])
    assert review.reports(result)["calls"].holds
    assert review.reports(result)["calls"].checks == 1
    review(Entered((1,)))
    assert review.reports(result)["calls"].first == "path (1,): 2 > 1"


def test_what_a_package_declares_and_what_is_listed_agree(monkeypatch) -> None:
    listed = dict(registry.MODULES)
    listed["olivine.algorithms.lsvee"] = ("lsvee", "lsvee-2")
    monkeypatch.setattr(registry, "MODULES", listed)
    with pytest.raises(RuntimeError, match="declares lsvee, but MODULES of"):
        registry.get("lsvee-2")


def test_a_verb_loads_the_algorithm_that_it_runs_and_no_other() -> None:
    """`learn` and ``olivine learn``, each in a process of its own."""
    program = (
        "import sys; sys.argv = ['olivine', 'learn', 'psdp', '--env', 'tabular',"
        " '--params', 'practical']\n"
        "import olivine, olivine.cli.main\n"
        "env = olivine.make('tabular', 0)\n"
        "olivine.learn('psdp', env, parameters='practical')\n"
        "mid = set(sys.modules)\n"
        "try: olivine.cli.main.main()\n"
        "except SystemExit as end: assert not end.code, end.code\n"
        "for loaded in (mid, set(sys.modules)):\n"
        "    print(*sorted({name.split('.')[2] for name in loaded\n"
        "        if name.startswith('olivine.algorithms.')}), file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    packages = {name.split(".")[2] for name in registry.MODULES}
    by_call, by_verb = done.stderr.splitlines()[-2:]
    for loaded in (by_call, by_verb):
        assert packages & set(loaded.split()) == {"baselines"}
