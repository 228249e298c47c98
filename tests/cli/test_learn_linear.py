"""`olivine learn valor` with linear classes, on environments with features."""

from fractions import Fraction

import pytest

from tests.support.commands import olivine
from tests.support.depth import spread


@pytest.mark.parametrize(
    ("algorithm", "name"),
    spread(
        [
            ("valor", "lock-gaussian"),
            ("valor", "lock"),
            ("valor-constrained", "lock-gaussian"),
        ],
        1,
    ),
)
def test_linear_classes_work_by_default(algorithm, name) -> None:
    done = olivine(
        "learn", algorithm, "--env", name, "--set", "horizon=4", "--classes", "linear",
        "--params", "practical", "--json",
    )  # fmt: skip
    record = done.record
    assert done.status == 0
    assert record["status"] == "success"
    assert record["parameters"]["eps_stat"] == pytest.approx(0.05)
    assert record["parameters"]["n_fresh"] == 356  # 8H/ε²
    assert record["contradictions"] == []
    assert abs(record["estimate"] - 0.5) < 0.15
    # Linear CSC certifies little, and says so.
    assert record["monitors"]["oracles"]["holds"] is False


def test_settings_override_the_defaults_of_linear_classes() -> None:
    done = olivine(
        "learn", "valor", "--env", "lock-gaussian", "--set", "horizon=2", "--classes",
        "linear", "--params", "practical", "--set", "n_fresh=50", "--set",
        "n_train=400", "--set", "n_test=60", "--json",
    )  # fmt: skip
    record = done.record
    assert done.status == 0
    assert record["parameters"]["n_fresh"] == 50
    assert record["parameters"]["n_train"] == 400
    assert Fraction(str(record["parameters"]["epsilon"])) == Fraction(3, 10)


def test_fresh_trajectories_are_no_part_of_a_theorem() -> None:
    done = olivine("learn", "valor", "--env", "tabular", "--set", "n_fresh=50")
    assert done.status == 2
    assert "n_fresh" in done.err
