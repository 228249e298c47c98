"""olivine learn --check-assumptions: what it shows, refuses and runs anyway."""

from tests.support.commands import olivine
from tests.support.depth import with_rows

LEARN = ("learn", "valor", "--env", "random-finite", "--classes", "finite")
WITHOUT = ("--set", "violate=value-realizability", "--set", "size=16")


def test_satisfied() -> None:
    done = olivine(*LEARN, "--check-assumptions", "--json", status=0)
    found = done.record["assumptions"]
    assert list(found) == ["policy-realizability", "value-realizability"]
    assert all(a["holds"] is True for a in found.values())
    plain = olivine(*LEARN, "--json").record
    assert "assumptions" not in plain
    assert plain["trajectories"] == done.record["trajectories"]  # the same classes
    shown = olivine(*LEARN, "--check-assumptions").out
    assert shown.index("G has g*") < shown.index("valor on random")


def test_a_violation_refuses_the_run() -> None:
    record = olivine(*LEARN, *WITHOUT, "--check-assumptions", "--json", status=2).record
    assert "value-realizability violated" in record["error"]
    assert "status" not in record
    found = record["assumptions"]["value-realizability"]
    assert found["holds"] is False
    example = found["counterexample"]
    assert example["missing"] == "value"
    assert example["observation"] in example["codes"]
    shown = olivine(*LEARN, *WITHOUT, "--check-assumptions", status=2, out="NO")
    assert "--run-anyway" in shown.err
    # Without the option VALOR refuses for itself.
    olivine(*LEARN, *WITHOUT, status=2)


def test_run_anyway_but_not_with_bad_combinations():
    done = olivine(*LEARN, *WITHOUT, "--run-anyway", "--json", status=0)
    assert done.record["status"] in ("success", "failure")
    assert done.record["assumptions"]["value-realizability"]["holds"] is False
    assert done.record["monitors"]["realizable"]["holds"] is False
    done = olivine("learn", "valor", "--env", "random-finite", "--set", "complete=both")
    assert done.status == 2
    assert "take finite" in done.err


@with_rows(
    "algorithm, name, complete",
    ("two-sample", "clipped-policy-value-completeness", "policy-value"),
    ("global-policy", "policy-completeness", "policy"),
)
def test_completeness(algorithm, name, complete) -> None:
    learn = ("learn", algorithm, "--env", "tabular", "--classes", "finite", "--seed", 1)
    size = ("--set", "size=12", "--check-assumptions", "--json")
    bad = olivine(*learn, "--set", f"violate={name}", *size, status=2)
    assert bad.record["assumptions"][name]["holds"] is False
    good = olivine(*learn, "--set", f"complete={complete}", *size, status=0)
    assert good.record["assumptions"][name]["holds"] is True
    assert good.record["status"] == "success"


def test_every_algorithm_shows_its_classes() -> None:
    listed = olivine("learn", "--list", "--json").record["assumptions"]
    for algorithm, names in listed.items():
        done = olivine(
            "learn", algorithm, "--env", "random-finite", "--set", "horizon=2",
            "--params", "practical", "--check-assumptions", "--json",
        )  # fmt: skip
        assert done.status == 0, (algorithm, done.err)
        found = done.record["assumptions"]
        assert set(found) == set(names)
        assert all(a["holds"] is True for a in found.values()), (algorithm, found)


@with_rows(
    "settings, message",
    (["complete=values"], "complete: 'values' is none of policy-value"),
    (["violate=nothing"], "violate: 'nothing' is none of policy-realizability"),
    (["complete=both", "violate=policy-completeness"], "choose one"),
)
def test_bad_settings(settings, message) -> None:
    chosen = [word for s in settings for word in ("--set", s)]
    olivine(*LEARN, *chosen, status=2, err=message)


def test_unknown_is_not_refused() -> None:
    done = olivine(
        "learn", "valor", "--env", "lock", "--params", "practical", "--classes",
        "finite", "--set", "horizon=2", "--check-assumptions", "--json",
    )  # fmt: skip
    assert done.status == 0
    found = done.record["assumptions"]["policy-realizability"]
    assert found["holds"] is None
    assert "not finite" in found["reason"]
