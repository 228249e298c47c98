"""What follows from one declaration: checks, JSON, settings; from one entry: a run."""

import subprocess
import sys
import types
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from olivine.algorithms.environments import make
from olivine.algorithms.learning import registry
from olivine.algorithms.learning.events import Entered, notify
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
from olivine.algorithms.learning.problem import Frame, Problem
from olivine.algorithms.learning.registry import by_kind, declare
from olivine.reduction.environments import threesat

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
