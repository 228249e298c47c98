"""olivine.curves and compare, and module:function: one's own process and classes."""

import json
import sys

import numpy as np
import olivine
import pytest
from olivine.algorithms import environments
from olivine.algorithms.classes import FinitePolicyClass, FiniteValueClass

from tests.support.commands import olivine as command
from tests.support.depth import with_rows
from tests.support.refusals import refused

SECRET = [1, 0]


class Lock:
    """Two digits; the goal pays `reward`."""

    def __init__(self, reward=1.0):
        self.reward = reward

    def reset(self, seed):
        self.level, self.open = 0, True
        return 1

    def step(self, action):
        self.open = self.open and action == SECRET[self.level]
        self.level += 1
        return int(self.open), self.reward * float(self.open and self.level == 2)


def lock(known=True, reward=1.0):
    made = Lock(reward)
    return olivine.from_simulator(
        made.reset,
        made.step,
        n_actions=2,
        horizon=2,
        codes=2,
        name="own-lock",
        deterministic="everything" if known else "rewards",
        **({"state": "observation"} if known else {"states": 2}),
    )


@pytest.fixture
def here(tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text(
        "from tests.cli.test_own_experiments import lock\n"
        "def make(*, known=True):\n"
        "    return lock(known)\n"
        "def broken(rng):\n"
        "    raise ValueError('no\\nlock today')\n"
        "def none():\n"
        "    return None\n"
        "def other(a, b):\n"
        "    return make()\n"
        "def leaves():\n"
        "    raise SystemExit(0)\n"
        "class Bare:\n"
        "    pass\n"
        "def bare():\n"
        "    return Bare\n"
        "def late(*, plays=150):\n"
        "    import olivine\n"
        "    left = iter(range(plays))\n"
        "    step = lambda action: (next(left), 0) and (0, 0)\n"
        "    return olivine.from_simulator(lambda: 0, step, 2, 2, codes=1)\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(environments, "_FACTORIES", dict(environments._FACTORIES))
    monkeypatch.delitem(sys.modules, "mine", raising=False)
    yield tmp_path
    sys.path[:] = [place for place in sys.path if place != str(tmp_path)]


def without_times(rows):
    return [{k: v for k, v in row.items() if k != "seconds"} for row in rows]


def test_curves_of_a_name_are_those_of_the_command(tmp_path):
    found = olivine.curves("tabular", ["psdp", "rmax"], seeds=2, states=2)
    rows = tmp_path / "rows.jsonl"
    done = command(
        "curves", "--algorithms", "psdp,rmax", "--env", "tabular", "--seeds", "2",
        "--set", "states=2", "--json", "--rows", rows,
    )  # fmt: skip
    assert done.status == 0
    assert without_times(found.rows) == without_times(done.records)
    found.write(tmp_path / "ours.jsonl")
    ours = map(json.loads, (tmp_path / "ours.jsonl").read_text().splitlines())
    assert without_times(ours) == without_times(found.rows)
    found.save(tmp_path / "curves.svg")
    assert "tabular: 2 seeds" in (tmp_path / "curves.svg").read_text()
    refused("ends in", found.save, tmp_path / "curves.txt")


def test_a_comparison_of_a_name_is_that_of_the_command():
    found = olivine.compare("tabular", "psdp", seeds=2, epsilon=0.9)
    done = command(
        "compare", "--algorithms", "psdp", "--env", "tabular", "--seeds", "2",
        "--epsilon", "0.9", "--json",
    )  # fmt: skip
    assert without_times(found.summary) == without_times(done.records)


@pytest.mark.parametrize("known", [True, False])
def test_curves_of_a_process_of_ones_own(known, tmp_path):
    found = olivine.curves(
        lock(known), ["valor", "rmax"], seeds=2, parameters="practical", time_limit=30
    )
    assert [row["env"] for row in found.rows] == ["own-lock"] * 4
    for row in found.rows:
        assert row["status"] == "success"
        assert row["exact"] is known
        assert row["optimal_value"] == ("1" if known else None)
        assert row["curve"]["trajectories"][-1] == row["trajectories"]
        assert float(row["value"]) == row["curve"]["values"][-1] == 1
        assert (row["curve"].get("standard_errors") is None) == known
        assert known or (row["episodes"] >= 2 and row["standard_error"] == 0)
    assert [s["optimal_value"] for s in found.summary] == [1.0 if known else None] * 2
    figure = tmp_path / "curves.png"
    found.save(figure)
    assert figure.read_bytes().startswith(b"\x89PNG")


def test_classes_of_ones_own_by_algorithm_and_by_environment():
    members = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    policies = FinitePolicyClass(members, 2)
    values = FiniteValueClass([[0.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    pair = values, policies
    given = {"valor": pair, "psdp": lambda environment: (None, policies)}
    found = olivine.compare(
        lambda seed: lock(), ["valor", "psdp"], given, seeds=1, parameters="practical"
    )
    assert [row["classes"] for row in found.rows] == ["own", "own"]
    assert [s["successes"] for s in found.summary] == [1, 1]


def test_a_function_of_classes_that_fails_is_named():
    def missing(environment):
        raise KeyError("codes")

    found = olivine.compare(lock(), ["psdp"], missing, seeds=1, parameters="practical")
    (row,) = found.rows
    assert row["exit"] == 2
    assert "missing(environment) raised KeyError: 'codes'" in row["error"]
    assert "test_own_experiments.py:" in row["error"]


@with_rows(
    "arguments, options, words",
    ((object(), "valor"), {}, "environment is object, which lacks"),
    (("grid", "valro"), {}, "did you mean 'valor'"),
    (("gird", "valor"), {}, "did you mean 'grid'"),
    (("grid", "valor"), {"size": 3, "rosw": 2}, "unknown setting 'rosw', did"),
    (("grid", "valor", "cubic"), {}, "classes: 'cubic' is none of"),
    (("grid", "valor"), {"epsilon": 1.5}, "epsilon"),
    (("grid", "valor"), {"parameters": "theorm"}, "did you mean 'theorem'"),
)
def test_refusals(arguments, options, words):
    for experiment in (olivine.curves, olivine.compare):
        refused(words, experiment, *arguments, **options)


@pytest.mark.parametrize("verb", ["curves", "compare"])
def test_the_commands_take_a_function_of_a_module(here, verb):
    done = command(
        verb, "--env", "mine:make", "--algorithms", "rmax", "--set", "known=false",
        "--seeds", "1", "--params", "practical",
    )  # fmt: skip
    assert done.status == 0, done.err
    assert "unknown" in done.out
    assert "mine:make" in done.out


def test_learn_takes_a_function_and_names_what_every_policy_meets(here):
    done = command("learn", "rmax", "--env", "mine:make", "--params", "practical")
    assert done.status == 0
    assert "rmax on mine:make: success" in done.out
    found = olivine.compare(lock(reward=0.04), "rmax", seeds=1, parameters="practical")
    (row,) = found.rows
    assert "every policy is within 0.3 of V* = 0.04" in row["notes"][0]
    done = command("learn", "rmax", "--env", "tabular", "--epsilon", "0.99")
    assert "epsilon: every policy is within 0.99" in done.out


NOT_MADE = {
    "broken": "broken(rng) raised ValueError: no lock today (",
    "absent": "absent raised AttributeError",
    "none": "none() is NoneType, which lacks name, horizon",
    "other": "other(rng) raised TypeError: other() missing 1 required",
    "Bare": "Bare() is Bare, which lacks name",
    "bare": "bare() is the class Bare",
    "leaves": "ended from within by SystemExit: 0 (",
    "late": "raised StopIteration (",
}


@pytest.mark.parametrize("verb", ["learn", "curves"])
@pytest.mark.parametrize("name", NOT_MADE)
def test_a_function_that_makes_no_environment_is_named(here, verb, name):
    asked = ["rmax"] if verb == "learn" else ["--algorithms", "rmax", "--seeds", "1"]
    done = command(verb, *asked, "--env", f"mine:{name}", "--params", "practical")
    assert done.status == 2
    assert NOT_MADE[name] in done.err
    assert "Traceback" not in done.err
    if "(" in NOT_MADE[name][-1]:
        assert f"({here / 'mine.py'}:" in done.err or "test_own_" in done.err


def test_an_error_in_measuring_the_curve_is_one_too(here):
    done = command(
        "curves", "--env", "mine:late", "--algorithms", "rmax", "--seeds", "1",
        "--params", "practical", "--set", "plays=450",
    )  # fmt: skip
    assert done.status == 2
    assert NOT_MADE["late"] in done.err


def test_environments_of_python_are_named_alike():
    for given, words in (
        (lambda seed: {}["x"], r"environment: .*<lambda>\(3\) raised KeyError: 'x' \("),
        (lambda seed: None, r"<lambda>\(3\) is NoneType, which lacks name"),
        (Lock, r"Lock\(3\) is Lock, which lacks name"),
        (3, "environment is int, which lacks name"),
    ):
        for verb in (olivine.curves, olivine.compare):
            refused(words, verb, given, "rmax", first_seed=3, seeds=1)


def test_a_sweep_takes_a_function_of_a_module(here):
    (here / "s.toml").write_text(
        'kind = "learning"\nalgorithms = ["rmax"]\nenvironments = ["mine:make"]\n'
        'seeds = 2\nparams = "practical"\nsettings = { known = false }\n'
    )
    for _ in range(2):
        done = command("sweep", "s.toml", "-o", "rows.jsonl", "-j", "2", "--json")
        assert done.status == 0, done.err
        assert done.record["runs"] == 2
        assert done.record["optimal_value"] is None
