"""olivine learn: the record of each algorithm, settings, lists and refusals."""

from contextlib import suppress
from fractions import Fraction

import pytest
from olivine.algorithms.learning import registry
from olivine.algorithms.learning.problem import MonitorReport
from olivine.cli.experiments.runs import prepare

from tests.support.commands import Done, olivine, run_olivine
from tests.support.depth import deep, spread, with_rows

KEYS = {
    "algorithm", "env", "status", "value", "optimal_value", "suboptimality",
    "trajectories", "calls", "monitors", "seed", "seconds",
}  # fmt: skip
OF_OLIVE = {"optimism", "rounds", "deviations", "policy-bound", "epsilon-optimal"}
NO_CALLS = {f"calls.{kind}": 0 for kind in ("csc", "lp", "ls", "multi")}
TWO_SAMPLE = {"classes": "tabular", "calls.csc": 3, "calls.ls": 3, "calls.multi": 0}
PRACTICAL = "--params practical --set"


def learn(line: str, *more, **expected) -> Done:
    return olivine("learn", *line.split(), *more, **expected)


def at(record: dict, path: str):
    for key in path.split("."):
        record = record[key]
    return record


VALOR = [
    (f"{name} --env random-finite --params {params} --seed 3", {}, 10**11)
    for name in ("valor", "valor-constrained")
    for params in ("theorem", "paper")
]
BASELINES = [
    (f"{name} --env random-finite --seed 3", {"calls.csc": csc, "calls.ls": ls}, 0)
    for name, csc, ls in (
        ("psdp", 3, 0), ("fqi", 0, 6), ("backup", 3, 3), ("rmax", 0, 0),
    )
]  # fmt: skip
GLOBAL_POLICY = [
    (f"global-policy --env random-finite{options} --seed 3", {}, least)
    for options, least in (
        ("", 10**7),
        (" --classes finite", 10**7),
        (" --params paper", 10**7),
        (f" {PRACTICAL} n_test=2000 --set n_train=8000", 0),
    )
]
LSVEE = [
    (f"lsvee --env {env} --seed 4", NO_CALLS | {"classes": "finite"}, 10**10)
    for env in ("random-finite", "grid", "tabular")
]
OLIVE = [
    (f"olive --env {line} --seed 1", NO_CALLS, 0)
    for line in (
        "threesat",
        "random-finite",
        "random-finite --classes tabular --params paper",
        "tabular --set tiebreak=random",
        "grid --set size=50",
        f"lock {PRACTICAL} n_train=20000",
        f"lock-gaussian {PRACTICAL} n_train=20000",
        f"diabolical-lock {PRACTICAL} n_train=20000",
        "grid --set size=300",
        "threesat --set clauses=1 --classes tabular",
    )
]
TWO_SAMPLES = [
    (
        f"two-sample --env {env} --params {params} --seed 0",
        TWO_SAMPLE | {"parameters.version": params},
        0 if params == "practical" else 10**20,
    )
    for env in ("random-finite", "tabular")
    for params in ("theorem", "paper", "practical")
]
FEATURES = [
    (
        f"lsvee --env {env} {PRACTICAL} size=32 --set n_test=500 --seed 0",
        {"parameters.N": 32, "parameters.n_test": 500},
        0,
    )
    for env in ("lock", "lock-gaussian")
]


@pytest.mark.parametrize(
    ("line", "exact", "least"),
    [
        *VALOR, *BASELINES, *GLOBAL_POLICY, *spread(LSVEE, 2), *spread(OLIVE[:-2], 5),
        *spread(OLIVE[-2:], 0), *TWO_SAMPLES, *FEATURES,
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_the_record(line, exact, least) -> None:
    """With values at paths, and more trajectories than so many."""
    done = learn(line, "--json", status=0)
    record = done.record
    algorithm, _, env, *options = line.split()
    assert done.err == ""
    assert set(record) >= KEYS
    assert (record["algorithm"], record["env"]) == (algorithm, env)
    assert record["seed"] == int(options[-1])
    assert record["status"] == "success"
    assert record["contradictions"] == []
    assert set(record["calls"]) == {"csc", "lp", "ls", "multi"}
    assert {path: at(record, path) for path in exact} == exact
    assert record["trajectories"] > least
    # Monte Carlo where the value is not known exactly.
    lost = Fraction(record["suboptimality"])
    assert lost <= Fraction(3, 10)
    if "lock" not in env:
        assert lost == Fraction(record["optimal_value"]) - Fraction(record["value"])
    monitors = record["monitors"]
    if "practical" not in options:
        assert all(monitor["holds"] for monitor in monitors.values())
        assert all((monitor["margin"] or 0) >= 0 for monitor in monitors.values())
    if algorithm in ("global-policy", "two-sample"):
        assert record["calls"]["lp"] > 0
        assert monitors["complete"]["holds"] is True
    if algorithm == "global-policy":
        assert record["calls"]["multi"] > 0
    if algorithm == "lsvee":
        assert record["enumerated"] >= 2 * record["parameters"]["N"]
    if algorithm == "olive":
        assert record["iterations"] == len(record["rounds"])
        assert set(monitors) >= OF_OLIVE


@pytest.mark.parametrize("name", ["valor", "lsvee", "rmax", "psdp", "fqi", "backup"])
def test_a_run_can_be_had_again(name) -> None:
    first, again = (learn(f"{name} --env tabular --seed 4 --json") for _ in range(2))
    assert first.record | {"seconds": 0} == again.record | {"seconds": 0}
    assert first.record["seed"] == 4


@pytest.mark.parametrize("name", ["psdp", "fqi", "rmax"])
def test_stochastic_dynamics_are_fine(name) -> None:
    done = learn(f"{name} --env threesat --json", status=0)
    assert Fraction(done.record["suboptimality"]) <= Fraction(3, 10)


def test_the_lists() -> None:
    record = olivine("learn", "--list", "--json").record
    assert {"valor", "valor-constrained"} <= set(record["algorithms"])
    environments = "random-finite tabular lock lock-gaussian diabolical-lock grid"
    assert {*environments.split(), "threesat"} <= set(record["environments"])
    listed = ("valor-constrained", "horizon=5", "max_batches")
    olivine("learn", "--list", status=0, out=listed)


@with_rows(
    "line, words",
    ("valor --env tabular", ("valor on tabular: success", "value-accuracy")),
    ("two-sample --env tabular", ("two-sample on tabular: suc", "estimate-accu")),
    ("lsvee --env random-finite", "functions evaluated on a data set, "),
)
def test_for_people(line, words) -> None:
    done = learn(line, status=0, out=words)
    assert (" calls" in done.out) == ("lsvee" not in line)


def test_settings_go_where_they_belong() -> None:
    line = "valor --env lock --params practical --classes finite --set horizon=3"
    more = "--set n_test=5 --set slack=0.2 --epsilon 0.4 --json"
    record = learn(f"{line} {more}", status=0).record
    assert record["settings"] == {"horizon": 3, "n_test": 5, "slack": 0.2}
    assert record["parameters"]["H"] == 3
    assert record["parameters"]["n_test"] == 5
    assert record["monitors"]["event"]["holds"] is None
    assert Fraction(record["value"]) >= Fraction(9, 20)


@pytest.mark.parametrize("name", ["psdp", "fqi", "backup", "rmax"])
def test_settings_of_baselines(name) -> None:
    chosen = {"rmax": {"m": 7, "n": 30}}.get(name, {"n": 50, "eps_sub": 0.001})
    settings = " --set ".join(f"{k}={v}" for k, v in (chosen | {"states": 3}).items())
    done = learn(f"{name} --env tabular {PRACTICAL} {settings} --json", status=0)
    assert {key: done.record["parameters"][key] for key in chosen} == chosen


LINEAR = "--classes linear --params practical"


@with_rows(
    "algorithm, name",
    ("valor", "lock-gaussian"),
    ("valor", "lock"),
    ("valor-constrained", "lock-gaussian"),
    keep=1,
)
def test_linear_classes_work_by_default(algorithm, name) -> None:
    done = learn(f"{algorithm} --env {name} --set horizon=4 {LINEAR} --json", status=0)
    record = done.record
    assert record["status"] == "success"
    assert record["parameters"]["eps_stat"] == pytest.approx(0.05)
    assert record["parameters"]["n_fresh"] == 356  # 8H/ε²
    assert record["contradictions"] == []
    assert abs(record["estimate"] - 0.5) < 0.15
    # Linear CSC certifies little, and says so.
    assert record["monitors"]["oracles"]["holds"] is False


def test_settings_override_the_defaults_of_linear_classes() -> None:
    chosen = "--set horizon=2 --set n_fresh=50 --set n_train=400 --set n_test=60"
    record = learn(
        f"valor --env lock-gaussian {LINEAR} {chosen} --json", status=0
    ).record
    assert record["parameters"]["n_fresh"] == 50
    assert record["parameters"]["n_train"] == 400
    assert Fraction(str(record["parameters"]["epsilon"])) == Fraction(3, 10)
    chosen = "--set horizon=2 --set n_train=100 --set n_eval=40"
    record = learn(f"two-sample --env lock {LINEAR} {chosen} --json", status=0).record
    assert record["contradictions"] == []
    assert record["monitors"]["markov"]["holds"] is True


def test_classes_that_are_not_complete_are_flagged() -> None:
    line = "two-sample --env random-finite --classes finite --json"
    record = learn(line, status=0).record
    complete = record["monitors"]["complete"]
    assert complete["holds"] is False
    assert complete["scope"] == "premise"
    assert "lacks" in complete["first"]
    assert record["contradictions"] == []


REFUSED = [
    ("", "ALGORITHM: missing"),
    ("valor", "--env: missing"),
    ("valro --env tabular", "did you mean 'valor'"),
    ("valor --env tabula", "did you mean 'tabular'"),
    ("valor --env tabular --set stats=2", "did you mean 'states'"),
    ("valor --env tabular --set states", "not KEY=VALUE"),
    ("valor --env tabular --set states=x", "states"),
    ("valor --env tabular --set M=1", "too small"),
    ("valor --env tabular --set M=x", "M: 'x'"),
    ("valor --env tabular --set n_test=9", "set by the theorem"),
    ("valor --env tabular --epsilon 1", "--epsilon"),
    ("valor --env tabular --delta nan", "--delta"),
    ("valor --env tabular --params theorm", "mean 'theorem'"),
    ("valor --env tabular --classes cubic", "--classes"),
    ("valor --env tabular --classes linear", "features"),
    ("valor --env lock", "finitely many observations"),
    ("valor --env lock --classes linear", "practical"),
    ("valor --env threesat", "stochastic"),
    ("valor --env lock --set switch=0.1", "stochastic"),
    ("valor --env tabular --classes finite --set size=x", "size"),
    ("valor --env tabular --classes finite --set size=1e30", "not in 1..1000000"),
    (
        "psdp --env tabular --classes finite --set size=1e30 --set complete=both",
        "not in 1..1000000",
    ),
    ("valor --env tabular --set size=9", "tabular classes have none"),
    ("psdp --env tabular --set bound=9", "take linear"),
    ("valor --env tabular --set states=inf", "states=inf is no"),
    ("valor --env tabular --set states=nan", "states=nan is no"),
    ("valor --env tabular --set states=1e30", "beyond 64 bits"),
    ("valor --env tabular --set support=1e9", "support: 1000000000 is not in 1..1000"),
    ("valor --env tabular --set denominator=1e12", "denominator"),
    ("valor --env tabular --set distinct=foo", "nor false"),
    ("valor --env tabular --epsilon 1e-300", "n_exp"),
    ("two-sample --env tabular --epsilon 1e-9", "n_exp"),
    ("lsvee --env tabular --epsilon 1e-9", "n_exp"),
    ("global-policy --env tabular --epsilon 1e-300", "10^300"),
    ("olive --env tabular --epsilon 1e-300", "epsilon"),
    ("psdp --env tabular --epsilon 1e-300", "10^300"),
    ("fqi --env tabular --epsilon 1e-300", "10^300"),
    ("backup --env tabular --epsilon 1e-300", "10^300"),
    ("rmax --env tabular --epsilon 1e-300", "10^300"),
    ("valor --env=", "unknown environment ''"),
    ("valor --env no:such", "no:such raised ModuleNot"),
    ("valor --env json:such", "json:such raised Attribute"),
]
REFUSED_BY_ALGORITHM = [
    ("backup --env threesat", "stochastic"),
    ("psdp --env tabular --params paper", "prints no constants"),
    ("rmax --env tabular --params paper", "prints no constants"),
    ("fqi --env tabular --set n=9", "set by the theorem"),
    ("rmax --env tabular --set m=9", "set by the theorem"),
    (f"rmax --env tabular {PRACTICAL} m=0", "m: 0"),
    (f"psdp --env tabular {PRACTICAL} n=x", "n: 'x'"),
    ("psdp --env lock", "tabular needs finitely many"),
    ("fqi --env lock --classes linear", "take practical"),
    ("psdp --env lock --classes finite", "one by one"),
    ("fqi --env lock --classes finite", "one by one"),
    ("valor --env tabular --set n_fresh=50", "n_fresh"),
    ("global-policy --env threesat", "stochastic hidden dynamics"),
    ("global-policy --env random-finite --set n_test=5", "n_test: set by the theorem"),
    ("global-policy --env random-finite --set M=1", "M: 1 is too small"),
    ("global-policy --env random-finite --set tau_pal=1", "tau_pal"),
    ("global-policy --env lock-gaussian --classes linear", "finite size"),
    (f"global-policy --env random-finite {PRACTICAL} tau_pol=-1", "tau_pol: -1"),
    ("lsvee --env random-finite --classes tabular", "every function"),
    ("lsvee --env random-finite --classes linear", "every function"),
    ("lsvee --env random-finite --set n_test=9", "n_test: set by the theorem"),
    ("lsvee --env random-finite --set size=0", "size: 0"),
    ("lsvee --env random-finite --set M=1", "M: 1 is too small"),
    (f"lsvee --env random-finite {PRACTICAL} slack=-1", "slack: -1"),
    (f"lsvee --env random-finite {PRACTICAL} n_train=two", "n_train: 'two'"),
    (f"lsvee --env random-finite {PRACTICAL} tolerance=much", "tolerance: 'much'"),
    (f"lsvee --env random-finite {PRACTICAL} repeat_paths=2", "repeat_paths"),
    ("lsvee --env threesat", "stochastic"),
    ("olive --env grid --classes linear", "finite ones"),
    ("olive --env lock", "take practical parameters"),
    ("olive --env lock --classes tabular", "feature vectors"),
    ("olive --env grid --set tiebrake=first", "unknown 'tiebrake'"),
    ("olive --env grid --set stop=0.1", "set by the theorem"),
    ("two-sample --env tabular --set tau=0.1", "set by the theorem"),
    ("two-sample --env tabular --set M=1", "too small"),
    (f"two-sample --env tabular {PRACTICAL} tau=0", "tau"),
    ("two-sample --env tabular --set taus=1", "did you mean 'tau'"),
    ("two-sample --env lock", "finitely many observations"),
    ("two-sample --env lock --classes linear", "practical"),
    ("two-sample --env threesat", "stochastic"),
]


@with_rows("line, message", *spread(REFUSED, 20), *REFUSED_BY_ALGORITHM)
def test_refusals(line, message) -> None:
    done = learn(line, status=2)
    assert done.out == ""
    assert message in " ".join(done.err.split())
    assert "Traceback" not in done.err
    learn(line, "--json", status=2, error=message)


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


@with_rows(
    "line, reason",
    (f"valor --env tabular {PRACTICAL} T_max=1", "T_max"),
    (f"olive --env random-finite {PRACTICAL} max_rounds=0", "limit on the rounds"),
)
def test_a_failure_is_a_result(line, reason) -> None:
    record = learn(line, "--json", status=0).record
    assert record["status"] == "failure"
    assert reason in record["reason"]
    assert record["value"] is None


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
