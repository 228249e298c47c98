"""olivine learn olive: on every environment, stochastic ones included."""

from fractions import Fraction

import pytest

from tests.support.commands import olivine
from tests.support.depth import spread


def learn(*arguments):
    return olivine("learn", "olive", *arguments, "--json")


@pytest.mark.parametrize(
    ("env", "options"),
    spread(
        [
            ("threesat", ()),
            pytest.param(
                "threesat",
                ("--set", "clauses=1", "--classes", "tabular"),
                marks=pytest.mark.long,
            ),
            ("random-finite", ()),
            ("random-finite", ("--classes", "tabular", "--params", "paper")),
            ("tabular", ("--set", "tiebreak=random")),
            ("grid", ("--set", "size=50")),
            pytest.param("grid", ("--set", "size=300"), marks=pytest.mark.long),
            ("lock", ("--params", "practical", "--set", "n_train=20000")),
            ("lock-gaussian", ("--params", "practical", "--set", "n_train=20000")),
            ("diabolical-lock", ("--params", "practical", "--set", "n_train=20000")),
        ],
        5,
    ),
)
def test_every_environment(env, options) -> None:
    done = learn("--env", env, *options, "--seed", 1)
    record = done.record
    assert done.status == 0
    assert done.err == ""
    assert (record["algorithm"], record["env"]) == ("olive", env)
    assert record["status"] == "success"
    assert record["contradictions"] == []
    assert record["calls"] == {"csc": 0, "lp": 0, "ls": 0, "multi": 0}
    assert record["trajectories"] > 0
    assert record["iterations"] == len(record["rounds"])
    # Monte Carlo where the value is not known exactly: one decimal is enough.
    assert float(Fraction(record["suboptimality"])) <= 0.3
    kinds = {"optimism", "rounds", "deviations", "policy-bound", "epsilon-optimal"}
    assert set(record["monitors"]) >= kinds


def test_a_failure_is_a_result() -> None:
    options = ("--params", "practical", "--set", "max_rounds=0")
    done = learn("--env", "random-finite", *options)
    assert done.status == 0
    assert done.record["status"] == "failure"
    assert "limit on the rounds" in done.record["reason"]
    assert done.record["value"] is None


@pytest.mark.parametrize(
    ("message", "options"),
    [
        ("finite ones", ("--env", "grid", "--classes", "linear")),
        ("take practical parameters", ("--env", "lock")),
        ("feature vectors", ("--env", "lock", "--classes", "tabular")),
        ("unknown 'tiebrake'", ("--env", "grid", "--set", "tiebrake=first")),
        ("set by the theorem", ("--env", "grid", "--set", "stop=0.1")),
    ],
)
def test_bad_input(message, options) -> None:
    done = learn(*options)
    assert done.status == 2
    assert message in done.record["error"]
