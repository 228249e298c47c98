"""olivine learn lsvee."""

from fractions import Fraction

import pytest

from tests.support.commands import olivine
from tests.support.depth import spread


@pytest.mark.parametrize("env", spread(["random-finite", "grid", "tabular"], 2))
def test_finite_observations_at_the_theorems_constants(env) -> None:
    arguments = ("learn", "lsvee", "--env", env, "--seed", 4, "--json")
    done = olivine(*arguments)
    record = done.record
    assert done.status == 0
    assert done.err == ""
    assert (record["algorithm"], record["classes"]) == ("lsvee", "finite")
    assert record["status"] == "success"
    assert Fraction(record["suboptimality"]) <= Fraction(3, 10)
    assert set(record["calls"].values()) == {0}
    assert record["enumerated"] >= 2 * record["parameters"]["N"]
    assert record["trajectories"] > 10**10
    for monitor in record["monitors"].values():
        assert monitor["holds"] is True
        assert monitor["margin"] is None or monitor["margin"] >= 0
    assert olivine(*arguments).record | {"seconds": 0} == record | {"seconds": 0}


@pytest.mark.parametrize("env", ["lock", "lock-gaussian"])
def test_features_with_practical_parameters(env) -> None:
    arguments = ("learn", "lsvee", "--env", env, "--params", "practical", "--json")
    record = olivine(*arguments, "--set", "size=32", "--set", "n_test=500").record
    assert record["status"] == "success"
    assert record["parameters"]["N"] == 32
    assert record["parameters"]["n_test"] == 500
    assert float(Fraction(record["suboptimality"])) <= 0.3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--classes", "tabular"), "every function"),
        (("--classes", "linear"), "every function"),
        (("--set", "n_test=9"), "n_test: set by the theorem"),
        (("--set", "size=0"), "size: 0"),
        (("--set", "M=1"), "M: 1 is too small"),
        (("--params", "practical", "--set", "slack=-1"), "slack: -1"),
        (("--params", "practical", "--set", "n_train=two"), "n_train: 'two'"),
        (("--params", "practical", "--set", "tolerance=much"), "tolerance: 'much'"),
        (("--params", "practical", "--set", "repeat_paths=2"), "repeat_paths"),
    ],
)
def test_what_is_refused(arguments, message) -> None:
    done = olivine("learn", "lsvee", "--env", "random-finite", *arguments, status=2)
    assert message in " ".join(done.err.split())


def test_what_is_shown_and_refused():
    done = olivine("learn", "lsvee", "--env", "random-finite", status=0)
    assert "functions evaluated on a data set, " in done.out
    assert " calls" not in done.out
    olivine("learn", "lsvee", "--env", "threesat", status=2, err="stochastic")
