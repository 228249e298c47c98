"""olivine compare: its records, its table, its figure, its refusals."""

import itertools
import time
from fractions import Fraction

import pytest
from olivine.algorithms.learning import registry
from olivine.algorithms.learning.problem import LearningResult
from olivine.cli.common.options import Plan
from olivine.cli.experiments.runs import prepare
from olivine.cli.experiments.units import Comparison, cells_of

from tests.support.commands import olivine
from tests.support.depth import spread, with_rows

KEYS = {
    "algorithm", "env", "params", "classes", "epsilon", "seeds", "runs", "successes",
    "failures", "timeouts", "contradictions", "trajectories", "calls", "suboptimality",
    "worst", "seconds", "enumerated", "refused", "left", "value",
}  # fmt: skip


def entry(name, run):
    return registry.Algorithm(name, "made for a test", run)


def result(name, task, status="success"):
    best = [lambda x: 0 * x] * task.environment.horizon
    task.environment.run(best, 7, task.rng)
    return LearningResult(
        name, task.environment.name, status, tuple(best), Fraction(1), 7, {"csc": 2}
    )


def compared(plan):
    """Run a plan; its cells by the names of their algorithms."""
    comparison = Comparison(cells_of(plan), plan.each)
    for unit in comparison.units():
        comparison.add(unit())
    return {cell.run.algorithm: cell for cell in comparison.cells}


def refuses(task):
    raise ValueError("epsilon: not\n today")


def hangs(task):
    while True:
        pass


@pytest.fixture
def made(monkeypatch):
    """Algorithms that succeed, fail, refuse and hang."""
    entries = [
        entry("wins", lambda task: result("wins", task)),
        entry("fails", lambda task: result("fails", task, "failure")),
        entry("refuses", refuses),
        entry("hangs", hangs),
    ]
    monkeypatch.setattr(registry, "_ALGORITHMS", {e.name: e for e in entries})
    monkeypatch.setattr(registry, "MODULES", {})


@pytest.mark.children
def test_a_record_for_each_algorithm(made):
    done = olivine(
        "compare", "--env", "tabular", "--seeds", "4", "--epsilon", "0.9",
        "--time-limit", "0.1", "--json",
    )  # fmt: skip
    assert done.status == 3  # runs are missing
    by_name = {record["algorithm"]: record for record in done.records}
    assert list(by_name) == ["wins", "fails", "refuses", "hangs"]
    assert all(set(record) == KEYS for record in done.records)
    wins, fails = by_name["wins"], by_name["fails"]
    assert (wins["runs"], wins["successes"], wins["failures"]) == (4, 4, 0)
    assert wins["trajectories"] == 7
    assert wins["calls"] == {"csc": 2.0, "lp": 0.0, "ls": 0.0, "multi": 0.0}
    assert 0 <= wins["suboptimality"] <= wins["worst"] <= 1
    assert (fails["runs"], fails["successes"], fails["failures"]) == (4, 0, 4)
    assert by_name["refuses"]["refused"] == "epsilon: not today"
    assert by_name["refuses"]["runs"] == 0
    assert by_name["hangs"]["timeouts"] == 3
    assert "did not end" in by_name["hangs"]["left"]


def test_success_asks_for_epsilon(made):
    """The same runs, counted at another ε."""
    loose, tight = (
        compared(Plan("wins", "tabular", epsilon=eps, seeds=6))["wins"]
        for eps in (0.99, 1e-9)
    )
    assert loose.status == 0
    assert loose.to_json()["successes"] == 6
    assert tight.to_json()["successes"] < 6
    assert loose.to_json()["worst"] == tight.to_json()["worst"] > 1e-9


@pytest.mark.children
def test_table_and_figure(made, tmp_path):
    figure = tmp_path / "all.svg"
    done = olivine(
        "compare", "--env", "tabular,lock", "--seeds", "1", "--time-limit", "0.1",
        "-o", str(figure),
    )  # fmt: skip
    assert done.status == 3
    assert "refuses: epsilon: not today" in done.out
    assert "1 of 1" in done.out
    assert "0 of 1, 1 stopped" in done.out
    assert "hangs: runs stopped by the limit of CPU time: 1" in done.out
    text = figure.read_text()
    assert "wins" in text
    assert "no run ended: 0 of 1, 1 stopped" in text


def test_every_seed_is_in_the_denominator(made, monkeypatch, tmp_path):
    """Runs of which all but one are stopped: in the record, the table, the figure."""

    def slow(task):
        if task.rng.bit_generator.seed_seq.entropy[0] != 2:
            hangs(task)
        return result("slow", task)

    monkeypatch.setattr(registry, "_ALGORITHMS", {"slow": entry("slow", slow)})
    monkeypatch.setattr("olivine.cli.experiments.units.EARLY", 4)
    figure = tmp_path / "all.svg"
    done = olivine(
        "compare", "--env", "tabular", "--epsilon", "0.9", "--seeds", "5",
        "--time-limit", "0.1", "-o", figure,
    )  # fmt: skip
    assert done.status == 3
    shown = done.out
    assert "1 of 5, 4 stopped" in shown
    assert "of the runs that ended" in shown
    text = figure.read_text()
    assert "1 of 5, 4 stopped" in text
    assert "some of the seeds end" in text  # what a half dot means
    for place in (shown, text):
        assert "1 of 1" not in place


@pytest.mark.children
def test_limits_count_cpu_time(made, monkeypatch):
    """A run that waits is not stopped by a limit below its wall time."""

    def waits(task):
        time.sleep(0.4)
        return result("waits", task)

    monkeypatch.setattr(registry, "_ALGORITHMS", {"waits": entry("waits", waits)})
    plan = Plan(None, "tabular", epsilon=0.9, seeds=1, time_limit=0.3)
    record = compared(plan)["waits"].to_json()
    assert (record["runs"], record["timeouts"]) == (1, 0)


@with_rows(
    "arguments, words",
    (("--env", "lokc"), "did you mean 'lock'"),
    (("--algorithms", "winz"), "did you mean 'wins'"),
    (("--set", "no=3"), "unknown 'no'"),
    (("--set", "no"), "not KEY=VALUE"),
    (("--epsilon", "2"), "(0, 1)"),
    (("--params", "theorems"), "did you mean 'theorem'"),
    (("-o", "figure.txt"), ".svg"),
    (("-o", "absent/figure.svg"), "No such file"),
    (("--rows", "rows.csv"), ".jsonl or .parquet"),
    (("-o", "x.svg", "--rows", "absent/x.jsonl"), "No such file"),
)
def test_refusals(made, arguments, words):
    assert olivine("compare", *arguments, status=2, err=words).out == ""


def test_several_at_a_time():
    """Workers import the real algorithms."""
    done = olivine(
        "compare", "--env", "tabular", "--seeds", "1", "--jobs", "2", "--json"
    )
    assert done.status in (0, 3)
    names = [record["algorithm"] for record in done.records]
    assert names == [entry.name for entry in registry.algorithms()]
    for record in done.records:
        assert record["contradictions"] == []
    assert done.records[names.index("valor")]["runs"] == 1


SMALL = {
    "lock": ["horizon=3"],
    "lock-gaussian": ["horizon=3"],
    "diabolical-lock": ["horizon=3", "actions=3"],
}


@pytest.mark.parametrize(
    ("name", "env"),
    spread(
        itertools.product([e.name for e in registry.algorithms() if e.features], SMALL),
        8,
    ),
)
def test_algorithms_that_take_features_learn_on_them(name, env):
    """All but those that are declared to refuse them."""
    kind = registry.get(name).default_classes
    kind = "finite" if kind == "tabular" else kind
    run = prepare(name, env, "practical", kind, 0.3, 0.1, SMALL[env])
    record, found = run.with_seed(1)
    assert found.contradictions == []
    assert record["trajectories"] > 0
    # V* is 1/2 or 1: to be within ε is more than to try at random.
    assert record["status"] == "success"
    assert Fraction(record["suboptimality"]) < Fraction(3, 10)


@pytest.mark.children
def test_no_run_begins_when_a_pair_has_had_its_time(made, monkeypatch):
    monkeypatch.setattr("olivine.cli.experiments.units.BUDGET", 0)
    plan = Plan("wins", "tabular", epsilon=0.9, seeds=50)
    cell = compared(plan)["wins"]
    record = cell.to_json()
    assert (record["runs"], record["timeouts"]) == (0, 0)
    assert "are over" in record["left"]
    assert cell.status == 3
