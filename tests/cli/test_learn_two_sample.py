"""``olivine learn two-sample``."""

from fractions import Fraction

import pytest

from tests.support.commands import olivine


@pytest.mark.parametrize("env", ["random-finite", "tabular"])
@pytest.mark.parametrize("params", ["theorem", "paper", "practical"])
def test_one_json_object(env, params) -> None:
    done = olivine("learn", "two-sample", "--env", env, "--params", params, "--json")
    assert done.status == 0
    assert done.err == ""
    record = done.record
    assert record["algorithm"] == "two-sample"
    assert record["status"] == "success"
    assert record["classes"] == "tabular"
    assert Fraction(record["suboptimality"]) <= Fraction(3, 10)
    assert record["calls"]["csc"] == record["calls"]["ls"] == 3
    assert record["calls"]["lp"] > 0
    assert record["calls"]["multi"] == 0
    assert record["contradictions"] == []
    assert record["parameters"]["version"] == params
    if params != "practical":
        assert record["trajectories"] > 10**20
        assert record["monitors"]["event"]["holds"] is True
    assert set(record["monitors"]["complete"]) >= {"holds", "margin"}


def test_classes_that_are_not_complete_are_flagged() -> None:
    done = olivine(
        "learn", "two-sample", "--env", "random-finite", "--classes", "finite", "--json"
    )
    assert done.status == 0
    complete = done.record["monitors"]["complete"]
    assert complete["holds"] is False
    assert complete["scope"] == "premise"
    assert "lacks" in complete["first"]
    assert done.record["contradictions"] == []


def test_linear_classes_with_practical_parameters() -> None:
    done = olivine(
        "learn", "two-sample", "--env", "lock", "--classes", "linear", "--params",
        "practical", "--set", "horizon=2", "--set", "n_train=100", "--set", "n_eval=40",
        "--json",
    )  # fmt: skip
    assert done.status == 0
    assert done.record["contradictions"] == []
    assert done.record["monitors"]["markov"]["holds"] is True


def test_a_table_is_shown() -> None:
    done = olivine("learn", "two-sample", "--env", "tabular", status=0)
    assert "two-sample on tabular: success" in done.out
    assert "estimate-accuracy" in done.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--env", "tabular", "--set", "tau=0.1"), "set by the theorem"),
        (("--env", "tabular", "--set", "M=1"), "too small"),
        (("--env", "tabular", "--params", "practical", "--set", "tau=0"), "tau"),
        (("--env", "tabular", "--set", "taus=1"), "did you mean 'tau'"),
        (("--env", "lock"), "finitely many observations"),
        (("--env", "lock", "--classes", "linear"), "practical"),
        (("--env", "threesat"), "stochastic"),
    ],
)
def test_refusals(arguments, message) -> None:
    done = olivine("learn", "two-sample", *arguments, status=2)
    assert done.out == ""
    assert message in done.err
    assert "Traceback" not in done.err
