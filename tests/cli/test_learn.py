"""olivine learn: its record, its lists, its refusals."""

from contextlib import suppress
from fractions import Fraction

import pytest
from olivine.algorithms.learning import registry
from olivine.algorithms.learning.results import MonitorReport
from olivine.cli.experiments.runs import prepare

from tests.support.commands import olivine, run_olivine
from tests.support.depth import deep, spread

KEYS = {
    "algorithm",
    "env",
    "status",
    "value",
    "optimal_value",
    "suboptimality",
    "trajectories",
    "calls",
    "monitors",
    "seed",
    "seconds",
}

_PSDP = ("psdp", "--env", "tabular", "--classes", "finite")


def test_the_lists() -> None:
    record = olivine("learn", "--list", "--json").record
    assert {"valor", "valor-constrained"} <= set(record["algorithms"])
    assert {
        "random-finite",
        "tabular",
        "lock",
        "lock-gaussian",
        "diabolical-lock",
        "grid",
        "threesat",
    } <= set(record["environments"])
    done = olivine("learn", "--list", status=0, out="valor-constrained")
    assert "horizon=5" in done.out


@pytest.mark.parametrize("algorithm", ["valor", "valor-constrained"])
@pytest.mark.parametrize("params", ["theorem", "paper"])
def test_the_record(algorithm, params) -> None:
    arguments = ("learn", algorithm, "--env", "random-finite", "--params", params)
    done = olivine(*arguments, "--seed", 3, "--json")
    record = done.record
    assert done.status == 0
    assert done.err == ""
    assert set(record) >= KEYS
    assert record["status"] == "success"
    assert record["seed"] == 3
    assert set(record["calls"]) == {"csc", "lp", "ls", "multi"}
    gap = Fraction(record["optimal_value"]) - Fraction(record["value"])
    assert Fraction(record["suboptimality"]) == gap <= Fraction(3, 10)
    assert record["trajectories"] > 10**11
    assert record["contradictions"] == []
    for monitor in record["monitors"].values():
        assert monitor["holds"] is True
        assert monitor["margin"] is None or monitor["margin"] >= 0
    again = olivine(*arguments, "--seed", 3, "--json").record
    again["seconds"] = record["seconds"]
    assert again == record


def test_settings_go_where_they_belong() -> None:
    done = olivine(
        "learn", "valor", "--env", "lock", "--params", "practical", "--classes",
        "finite", "--set", "horizon=3", "--set", "n_test=5", "--set", "slack=0.2",
        "--epsilon", "0.4", "--json",
    )  # fmt: skip
    record = done.record
    assert done.status == 0
    assert record["settings"] == {"horizon": 3, "n_test": 5, "slack": 0.2}
    assert record["parameters"]["H"] == 3
    assert record["parameters"]["n_test"] == 5
    assert record["monitors"]["event"]["holds"] is None
    assert Fraction(record["value"]) >= Fraction(9, 20)


def test_for_people_and_listed():
    done = olivine("learn", "valor", "--env", "tabular", status=0)
    assert "valor on tabular: success" in done.out
    assert "value-accuracy" in done.out
    olivine("learn", "--list", out="max_batches")


@pytest.mark.parametrize(
    ("arguments", "message"),
    spread(
        [
            ((), "ALGORITHM: missing"),
            (("valor",), "--env: missing"),
            (("valro", "--env", "tabular"), "did you mean 'valor'"),
            (("valor", "--env", "tabula"), "did you mean 'tabular'"),
            (
                ("valor", "--env", "tabular", "--set", "stats=2"),
                "did you mean 'states'",
            ),
            (("valor", "--env", "tabular", "--set", "states"), "not KEY=VALUE"),
            (("valor", "--env", "tabular", "--set", "states=x"), "states"),
            (("valor", "--env", "tabular", "--set", "M=1"), "too small"),
            (("valor", "--env", "tabular", "--set", "M=x"), "M: 'x'"),
            (("valor", "--env", "tabular", "--set", "n_test=9"), "set by the theorem"),
            (("valor", "--env", "tabular", "--epsilon", "1"), "--epsilon"),
            (("valor", "--env", "tabular", "--delta", "nan"), "--delta"),
            (("valor", "--env", "tabular", "--params", "theorm"), "mean 'theorem'"),
            (("valor", "--env", "tabular", "--classes", "cubic"), "--classes"),
            (("valor", "--env", "tabular", "--classes", "linear"), "features"),
            (("valor", "--env", "lock"), "finitely many observations"),
            (("valor", "--env", "lock", "--classes", "linear"), "practical"),
            (("valor", "--env", "threesat"), "stochastic"),
            (("valor", "--env", "lock", "--set", "switch=0.1"), "stochastic"),
            (
                ("valor", "--env", "tabular", "--classes", "finite", "--set", "size=x"),
                "size",
            ),
            (
                (
                    "valor",
                    "--env",
                    "tabular",
                    "--classes",
                    "finite",
                    "--set",
                    "size=1e30",
                ),
                "not in 1..1000000",
            ),
            (
                (*_PSDP, "--set", "size=1e30", "--set", "complete=both"),
                "not in 1..1000000",
            ),
            (
                ("valor", "--env", "tabular", "--set", "size=9"),
                "tabular classes have none",
            ),
            (("psdp", "--env", "tabular", "--set", "bound=9"), "take linear"),
            (("valor", "--env", "tabular", "--set", "states=inf"), "states=inf is no"),
            (("valor", "--env", "tabular", "--set", "states=nan"), "states=nan is no"),
            (("valor", "--env", "tabular", "--set", "states=1e30"), "beyond 64 bits"),
            (
                ("valor", "--env", "tabular", "--set", "support=1e9"),
                "support: 1000000000 is not in 1..10000000",
            ),
            (("valor", "--env", "tabular", "--set", "denominator=1e12"), "denominator"),
            (("valor", "--env", "tabular", "--set", "distinct=foo"), "nor false"),
            (("valor", "--env", "tabular", "--epsilon", "1e-300"), "n_exp"),
            (("two-sample", "--env", "tabular", "--epsilon", "1e-9"), "n_exp"),
            (("lsvee", "--env", "tabular", "--epsilon", "1e-9"), "n_exp"),
            (("global-policy", "--env", "tabular", "--epsilon", "1e-300"), "10^300"),
            (("olive", "--env", "tabular", "--epsilon", "1e-300"), "epsilon"),
            (("psdp", "--env", "tabular", "--epsilon", "1e-300"), "10^300"),
            (("fqi", "--env", "tabular", "--epsilon", "1e-300"), "10^300"),
            (("backup", "--env", "tabular", "--epsilon", "1e-300"), "10^300"),
            (("rmax", "--env", "tabular", "--epsilon", "1e-300"), "10^300"),
            (("valor", "--env", ""), "unknown environment ''"),
            (("valor", "--env", "no:such"), "no:such raised ModuleNot"),
            (("valor", "--env", "json:such"), "json:such raised Attribute"),
        ],
        20,
    ),
)
def test_refusals(arguments, message) -> None:
    done = olivine("learn", *arguments, status=2)
    assert done.out == ""
    assert message in done.err
    assert "Traceback" not in done.err
    olivine("learn", *arguments, "--json", status=2, error=message)


_ODD = ("inf", "abc", "-1", "none")
# What stands for "by default", which None means for these.
_OPTIONAL = {
    "M": (), "bound": ("none",), "slack": ("none",), "tolerance": ("none",),
    "n_train": ("none",), "n_eval": ("none",), "n": ("none",), "n_fresh": ("none",),
    "max_iterations": ("none",), "max_eliminations": ("none",), "eps_sub": ("none",),
    "max_batches": ("none",), "max_rounds": ("none",), "time_limit": ("none",),
    "engine": ("none",), "complete": ("none",), "violate": ("none",),
}  # fmt: skip


@pytest.mark.parametrize("name", registry.names())
def test_no_setting_takes_nonsense(name) -> None:
    """A ValueError that names it, whatever the setting; a run only for a default."""
    for k, key in enumerate(registry.get(name).settings):
        classes = {"engine": "tabular", "time_limit": "tabular"}.get(key, "finite")
        for value in deep(_ODD, (_ODD[k % len(_ODD)],)):
            with (
                pytest.raises(ValueError, match=key)
                if value not in _OPTIONAL.get(key, ())
                else suppress(ValueError)
            ):
                given = [f"{key}={value}", "horizon=1"]
                prepare(
                    name, "tabular", "practical", classes, 0.3, 0.1, given
                ).with_seed(0)


def test_exponents_and_margins_beyond_floats():
    arguments = ("learn", "rmax", "--env", "tabular", "--params", "practical")
    record = olivine(*arguments, "--set", "m=2e1", "--json").record
    assert record["settings"] == {"m": 20}
    # A bound may be larger than any float; JSON has no infinity.
    huge = str(10**60)
    arguments = ("learn", "two-sample", "--env", "tabular", "--set", f"M={huge}")
    done = olivine(*arguments, "--json", status=0)
    assert done.record["monitors"]["trajectories"]["margin"] > 1e308


def test_a_failure_is_a_result() -> None:
    done = olivine(
        "learn", "valor", "--env", "tabular", "--params", "practical", "--set",
        "T_max=1", "--json",
    )  # fmt: skip
    assert done.status == 0
    assert done.record["status"] == "failure"
    assert "T_max" in done.record["reason"]
    assert done.record["value"] is None


def test_a_contradiction_is_status_1(monkeypatch) -> None:
    entry = registry.get("valor")

    def run(task):
        found = entry.run(task)
        wrong = MonitorReport(False, None, 1, "always", "two is one")
        return registry.LearningResult(
            **{**vars(found), "monitors": {"arithmetic": wrong}}
        )

    forged = registry.Algorithm("valor", "", run)
    monkeypatch.setitem(registry._ALGORITHMS, "valor", forged)
    done = olivine("learn", "valor", "--env", "tabular", "--json", status=1)
    assert done.record["contradictions"] == ["arithmetic: two is one"]
    assert "two is one" in done.err


def test_algorithms_register_once() -> None:
    with pytest.raises(ValueError, match="registered already"):
        registry.register(registry.get("valor"))


def test_progress_is_shown_while_a_run_goes_on(monkeypatch, capsys) -> None:
    monkeypatch.setattr("olivine.algorithms.learning.learn._BEAT", 1e-3)
    run = prepare("rmax", "tabular", "theorem", None, 0.3, 0.1)
    for progress in (True, False):
        run.with_seed(0, progress=progress)
        assert ("rmax on tabular: 0 s, " in capsys.readouterr().err) == progress


@pytest.mark.long
def test_standard_output_stays_clean() -> None:
    done = run_olivine("learn", "valor-constrained", "--env", "tabular", "--json")
    assert done.status == 0
    assert done.err == ""
    assert done.record["status"] == "success"
