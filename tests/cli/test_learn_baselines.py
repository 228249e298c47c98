"""olivine learn with the baselines: records, settings, refusals."""

from fractions import Fraction

import pytest

from tests.support.commands import olivine

NAMES = ("psdp", "fqi", "backup", "rmax")
every = pytest.mark.parametrize("name", NAMES)


@every
def test_the_record(name) -> None:
    arguments = ("learn", name, "--env", "random-finite", "--seed", 3, "--json")
    done = olivine(*arguments)
    record = done.record
    assert done.status == 0
    assert done.err == ""
    assert record["status"] == "success"
    assert record["seed"] == 3
    assert set(record["calls"]) == {"csc", "lp", "ls", "multi"}
    gap = Fraction(record["optimal_value"]) - Fraction(record["value"])
    assert Fraction(record["suboptimality"]) == gap <= Fraction(3, 10)
    assert record["contradictions"] == []
    assert all(monitor["holds"] for monitor in record["monitors"].values())
    expected = {"psdp": (3, 0), "fqi": (0, 6), "backup": (3, 3), "rmax": (0, 0)}
    assert (record["calls"]["csc"], record["calls"]["ls"]) == expected[name]
    assert olivine(*arguments).record | {"seconds": 0} == record | {"seconds": 0}


@every
def test_settings(name) -> None:
    chosen = {"rmax": ("m=7", "n=30")}.get(name, ("n=50", "eps_sub=0.001"))
    settings = [word for text in chosen for word in ("--set", text)]
    done = olivine(
        "learn", name, "--env", "tabular", "--params", "practical", *settings,
        "--set", "states=3", "--json",
    )  # fmt: skip
    assert done.status == 0
    parameters = done.record["parameters"]
    for text in chosen:
        key, value = text.split("=")
        assert parameters[key] == float(value)


@pytest.mark.parametrize("name", ["psdp", "fqi", "rmax"])
def test_stochastic_dynamics_are_fine(name) -> None:
    done = olivine("learn", name, "--env", "threesat", "--json", status=0)
    assert Fraction(done.record["suboptimality"]) <= Fraction(3, 10)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("backup", "--env", "threesat"), "stochastic"),
        (("psdp", "--env", "tabular", "--params", "paper"), "prints no constants"),
        (("rmax", "--env", "tabular", "--params", "paper"), "prints no constants"),
        (("fqi", "--env", "tabular", "--set", "n=9"), "set by the theorem"),
        (("rmax", "--env", "tabular", "--set", "m=9"), "set by the theorem"),
        (("rmax", "--env", "tabular", "--params", "practical", "--set", "m=0"), "m: 0"),
        (
            ("psdp", "--env", "tabular", "--params", "practical", "--set", "n=x"),
            "n: 'x'",
        ),
        (("psdp", "--env", "lock"), "tabular needs finitely many"),
        (("fqi", "--env", "lock", "--classes", "linear"), "take practical"),
        (("psdp", "--env", "lock", "--classes", "finite"), "one by one"),
        (("fqi", "--env", "lock", "--classes", "finite"), "one by one"),
    ],
)
def test_refusals(arguments, message) -> None:
    olivine("learn", *arguments, status=2, err=message)
