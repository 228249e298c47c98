"""Learning curves: what a stopped run would return, its value, and over seeds."""

import dataclasses
import statistics
import sys
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from olivine.algorithms.environments import make
from olivine.algorithms.learning import registry
from olivine.algorithms.learning.events import (
    Iteration,
    Recorder,
    UniformPolicy,
    notify,
)
from olivine.cli.common.options import Plan
from olivine.cli.experiments.runs import prepare
from olivine.cli.experiments.summaries import curves_of
from olivine.cli.experiments.units import LearningUnit, cells_of, learning_units
from olivine.solvers.child import child

from tests.support.commands import olivine
from tests.support.depth import with_rows

ALGORITHMS = [entry.name for entry in registry.algorithms() if entry.features]


def recorded(name, env="lock", setting=("horizon=3",), params="practical"):
    default = registry.get(name).default_classes
    kind = "finite" if default == "tabular" and env == "lock" else None
    run = prepare(name, env, params, kind, 0.3, 0.1, setting)
    recorder = Recorder()
    record, result = run.with_seed(1, recorder=recorder)
    return run, record, result, recorder


@pytest.mark.parametrize("name", ALGORITHMS)
def test_a_curve_goes_from_the_uniform_policy_to_the_one_returned(name):
    run, record, _, recorder = recorded(name)
    values = recorder.values(10, [0])
    spent = [point.trajectories for point in recorder.points]
    assert spent == sorted(spent)
    assert (spent[0], spent[-1]) == (0, record["trajectories"])
    assert values[0] == Fraction(1, 2**3 * 2)  # a path of three, a reward of 1/2
    assert values[-1] == Fraction(record["value"])
    assert len(recorder.points) >= 3  # there is something on the way
    assert all(0 <= value <= recorder.truth.optimal_value for value in values)
    without, _ = run.with_seed(1)
    for told in (record, without):  # being watched changes nothing
        del told["seconds"]
        for played in told.get("rounds", ()):
            del played["seconds"]
    assert record == without


@pytest.mark.parametrize("name", ["psdp", "fqi", "backup"])
def test_backward_algorithms_act_uniformly_on_levels_before(name):
    _, _, result, recorder = recorded(name, "tabular", (), "theorem")
    truth = recorder.truth
    horizon = len(result.policies)
    uniform = [UniformPolicy(2)] * horizon
    values = recorder.values(10, [0])
    for h in range(horizon + 1):
        mixed = [*uniform[: horizon - h], *result.policies[horizon - h :]]
        assert values[h] == truth.policy_value(mixed)


def test_values_are_estimated_where_they_are_not_known_exactly():
    environment = make("lock-gaussian", 0, horizon=3)
    recorder = Recorder()
    recorder.begin(environment)
    recorder.end(environment.truth.optimal_policies())
    first, last = recorder.values(4000, [1, 2])
    assert abs(first - 1 / 16) < 0.03
    assert abs(last - float(environment.truth.optimal_value)) < 0.03
    assert environment.trajectories == 0  # these episodes do not count


def entry(name, run):
    return registry.Algorithm(name, "made for a test", run)


def tells_then_hangs(task):
    policies = [UniformPolicy(task.environment.n_actions)] * task.environment.horizon
    task.environment.run(policies, 5, task.rng)
    best = task.environment.truth.optimal_policies()
    notify(task.observers, Iteration(1, best, Fraction(1), Fraction(0), False))
    task.environment.run(policies, 6, task.rng)
    while True:
        pass


def refuses(task):
    raise ValueError("epsilon: not\n today")


def breaks(task):
    raise RuntimeError("of course not")


breaks.__module__ = "olivine.broken"  # else it would be named as the user's


@pytest.fixture
def made(monkeypatch):
    entries = [entry("hangs", tells_then_hangs), entry("refuses", refuses)]
    entries.append(entry("breaks", breaks))
    monkeypatch.setattr(registry, "_ALGORITHMS", {e.name: e for e in entries})
    monkeypatch.setattr(registry, "MODULES", {})


def test_a_run_stopped_by_its_limit_keeps_its_curve(made, tmp_path):
    figure = tmp_path / "curve.svg"
    done = olivine(
        "curves", "--algorithms", "hangs,refuses", "--env", "grid", "--seeds", "1",
        "--time-limit", "0.2", "--json", "-o", figure,
    )  # fmt: skip
    assert done.status == 3
    hangs, refused = done.records
    assert (hangs["status"], hangs["exit"]) == ("unknown", 3)
    assert "limit of 0.2 s of CPU time" in hangs["reason"]
    assert hangs["curve"]["trajectories"] == [0, 5, 11]
    assert hangs["curve"]["values"][1:] == [0.8, 0.8]
    assert (refused["status"], refused["reason"]) == ("refused", "epsilon: not today")
    (curve, none) = curves_of([hangs, refused])
    assert (curve.stopped, curve.successes, none.ends) == (1, 0, [])
    text = figure.read_text()
    assert "stopped by its limit" in text
    assert "refuses: refused" in text


def test_a_recorder_is_begun_and_an_error_of_ours_told(made):
    plan = Plan("breaks", "grid", seeds=1)
    (unit,) = learning_units(cells_of(plan), plan.each)
    row = unit()
    assert (row["exit"], row["status"]) == (70, "error")
    assert "of course not" in row["reason"]
    assert "breaks" in row["traceback"]
    with pytest.raises(RuntimeError, match="not begun"):
        Recorder().values(10, [0])


def step(row, moment):
    """The value of a run's curve at a moment, read off plainly."""
    at, values = row["curve"]["trajectories"], row["curve"]["values"]
    return [v for t, v in zip(at, values, strict=True) if t <= moment][-1]


def rows_of(runs):
    return [
        {
            "algorithm": "a", "env": "e", "params": "theorem", "epsilon": 0.1,
            "seed": seed, "status": status, "exact": True, "optimal_value": "1",
            "value": str(Fraction(values[-1])), "suboptimality": "0",
            "curve": {"trajectories": [0, *moments], "values": values},
        }
        for seed, (moments, values, status) in enumerate(runs)
    ]  # fmt: skip


@st.composite
def runs(draw):
    moments = sorted(draw(st.lists(st.integers(0, 9) | st.just(10**30), max_size=5)))
    values = [draw(st.sampled_from([0.0, 0.25, 0.5, 1.0])) for _ in (0, *moments)]
    return moments, values, draw(st.sampled_from(["success", "failure", "unknown"]))


@given(st.lists(runs(), min_size=1, max_size=5))
def test_median_and_range_are_over_all_runs_at_each_moment(found):
    rows = rows_of(found)
    (curve,) = curves_of(rows)
    for k, moment in enumerate(curve.trajectories):
        values = [step(row, moment) for row in rows]
        assert curve.median[k] == statistics.median(values)
        assert (curve.least[k], curve.most[k]) == (min(values), max(values))
    assert list(curve.trajectories) == sorted(set(curve.trajectories))
    assert len(curve.ends) == curve.wanted == len(rows)
    assert curve.stopped == sum(status == "unknown" for *_, status in found)
    assert curve.successes == sum(status == "success" for *_, status in found)


@given(st.lists(runs(), min_size=2, max_size=4))
def test_where_seeds_differ_in_v_star_gaps_are_told(found):
    rows = rows_of(found)
    for number, row in enumerate(rows):
        row["optimal_value"] = str(Fraction(1, 2**number))
    (curve,) = curves_of(rows)
    for k, moment in enumerate(curve.trajectories):
        values = [step(r, moment) - float(Fraction(r["optimal_value"])) for r in rows]
        assert curve.gaps.median[k] == statistics.median(values)
        assert (curve.gaps.least[k], curve.gaps.most[k]) == (min(values), max(values))
    assert [end[::2] for end in curve.gaps.ends] == [end[::2] for end in curve.ends]
    (same,) = curves_of(rows_of(found))
    assert same.gaps is None


def test_learn_writes_rows_a_table_and_a_figure(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    out, figure = tmp_path / "runs.parquet", tmp_path / "curve.svg"
    done = olivine(
        "curves", "--algorithms", "psdp,two-sample", "--env", "tabular,threesat",
        "--seeds", "2", "--seed", "3", "--set", "states=2", "--rows", out,
        "-o", figure,
    )  # fmt: skip
    assert done.status == 0
    assert "2 of 2" in done.out
    assert "stochastic hidden dynamics" in done.out
    table = parquet.read_table(out).to_pylist()
    assert len(table) == 8
    assert {row["seed"] for row in table} == {3, 4}
    by_name = {row["key"]: row for row in table}
    two = by_name["two-sample on tabular, seed 3"]
    # Beyond int64, so the column is of floats; and exact text has a float beside it.
    assert two["trajectories"] == two["curve.trajectories"][-1] > 2.0**63
    assert two["value.float"] == float(Fraction(two["value"]))
    assert two["curve.values"][-1] == two["value.float"]
    assert by_name["two-sample on threesat, seed 3"]["status"] == "refused"
    text = figure.read_text()
    for words in (
        "tabular: 2 seeds, an environment each, values exact",
        "two-sample: refused",
        "V*",
    ):
        assert words in text
    assert "line: mean of two runs" in text


def test_json_lines_have_the_rows_that_are_printed(tmp_path):
    out = tmp_path / "runs.jsonl"
    done = olivine(
        "curves", "--algorithms", "rmax", "--env", "tabular", "--seeds", "2", "--json",
        "--rows", out,
    )  # fmt: skip
    assert out.read_text() == done.out
    assert [record["seed"] for record in done.records] == [0, 1]


def test_without_pyarrow_the_extra_is_named(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    done = olivine(
        "curves",
        "--algorithms",
        "rmax",
        "--env",
        "grid",
        "--rows",
        tmp_path / "r.parquet",
    )
    assert done.status == 2
    assert "pip install pyarrow" in done.err


@with_rows(
    "arguments, words",
    (("--algorithms", "olive"), "--env: missing"),
    (("--algorithms", "oliv", "--env", "grid"), "did you mean 'olive'"),
    (("--algorithms", "rmax", "--env", "gird"), "did you mean 'grid'"),
    (("--algorithms", "rmax", "--env", "grid", "--set", "n"), "not KEY=VALUE"),
    (("--algorithms", "rmax", "--env", "grid", "--set", "no=1"), "unknown 'no'"),
    (("--algorithms", "rmax", "--env", "grid", "-o", "c.txt"), ".svg"),
    (("--algorithms", "rmax", "--env", "grid", "--rows", "c.csv"), ".jsonl or"),
    (("--algorithms", "rmax", "--env", "grid", "--rows", "no/c.jsonl"), "No such"),
)
def test_refusals(arguments, words):
    assert olivine("curves", *arguments, status=2, err=words).out == ""


@with_rows(
    "arguments, words",
    (("all",), "this is olivine compare now"),
    (("--algorithms", "olive"), "see olivine curves"),
    (("valor", "--curve", "c.svg"), "see -o of olivine curves"),
    (("valor", "--seeds", "3"), "see olivine compare and curves"),
)
def test_former_spellings_say_what_replaces_them(arguments, words):
    done = olivine("learn", *arguments, status=2)
    assert words in " ".join(done.err.split())


def test_a_unit_is_what_its_seed_makes_it():
    run = prepare("psdp", "lock", "practical", "finite", 0.3, 0.1, ["horizon=3"])
    first, again, other = (LearningUnit(run, seed)() for seed in (5, 5, 6))
    for row in (first, again, other):
        del row["seconds"]
    assert first == again != other
    assert np.all(np.diff(first["curve"]["trajectories"]) >= 0)


@pytest.mark.parametrize(("limit", "wall"), [(None, None), (3.0, 120.0)])
def test_a_unit_may_wait_twenty_times_its_limit_and_a_minute(limit, wall, monkeypatch):
    asked = []

    def ended(*_, time_limit):
        asked.append(time_limit)
        return child.ChildResult("timeout", None, 0.0, "no time")

    monkeypatch.setattr(child, "run_in_child", ended)
    run = prepare("psdp", "lock", "practical", "finite", 0.3, 0.1, ["horizon=3"])
    row = LearningUnit(dataclasses.replace(run, time_limit=limit), 0)()
    assert (row["status"], row["exit"]) == ("unknown", 3)
    assert asked == [wall]
