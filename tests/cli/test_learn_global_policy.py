"""``olivine learn global-policy``: records, settings and refusals."""

from fractions import Fraction

import pytest

from tests.support.commands import olivine

LEARN = ("learn", "global-policy", "--env")


@pytest.mark.parametrize(
    "options",
    [
        (),
        ("--classes", "finite"),
        ("--params", "paper"),
        ("--params", "practical", "--set", "n_test=2000", "--set", "n_train=8000"),
    ],
    ids=["theorem", "finite", "paper", "practical"],
)
def test_the_record(options) -> None:
    done = olivine(*LEARN, "random-finite", "--seed", 3, "--json", *options)
    record = done.record
    assert done.status == 0
    assert done.err == ""
    assert record["algorithm"] == "global-policy"
    assert record["status"] == "success"
    assert record["calls"]["multi"] > 0
    assert record["calls"]["lp"] > 0
    gap = Fraction(record["optimal_value"]) - Fraction(record["value"])
    assert Fraction(record["suboptimality"]) == gap <= Fraction(3, 10)
    assert record["contradictions"] == []
    assert record["monitors"]["complete"]["holds"] is True
    if "practical" not in options:
        assert record["trajectories"] > 10**7


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("threesat",), "stochastic hidden dynamics"),
        (("random-finite", "--set", "n_test=5"), "n_test: set by the theorem"),
        (("random-finite", "--set", "M=1"), "M: 1 is too small"),
        (("random-finite", "--set", "tau_pal=1"), "tau_pal"),
        (("lock-gaussian", "--classes", "linear"), "finite size"),
        (
            ("random-finite", "--params", "practical", "--set", "tau_pol=-1"),
            "tau_pol: -1",
        ),
    ],
)
def test_refusals(options, message) -> None:
    olivine(*LEARN, *options, status=2, err=message)
