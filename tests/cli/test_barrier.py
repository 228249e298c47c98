"""The verb barrier."""

import errno
import json
import os
from fractions import Fraction
from xml.etree import ElementTree

import pytest
from matplotlib.figure import Figure
from olivine.algorithms.barriers import average
from olivine.algorithms.barriers.backup import BackupBarrier, Probability, Simulated
from olivine.algorithms.barriers.square_loss import SquareLossBarrier
from olivine.cli.barrier import OPTIONS
from olivine.cli.experiments.barrier import (
    HORIZONS,
    check_runs,
    default_samples,
    growth,
)
from olivine.cli.figures.barrier import draw_backup, draw_square_loss
from olivine.cli.figures.files import write_figure

from tests.support.commands import olivine
from tests.support.depth import with_rows
from tests.support.refusals import refused

QUICK = ("--horizon", 2, "--runs", 5)


def test_backup():
    done = olivine("barrier", "backup", *QUICK, "--samples", 7, "--json", status=0)
    assert done.err == ""
    record = done.record
    assert record["barrier"] == "backup"
    assert (record["epsilon"], record["ratio"], record["runs"]) == ("1/4", "2", 5)
    (chain,) = record["chains"]
    assert (chain["H"], chain["levels"], chain["sample_limit"]) == (2, 3, "8")
    assert (chain["optimal_value"], chain["last_excess"]) == ("3/4", "1/8")
    assert chain["assumptions"] == {
        "policy-realizability": True,
        "value-realizability": True,
        "policy-value-completeness": False,
        "policy-completeness": True,
    }
    (row,) = chain["rows"]
    assert row["n"] == 7
    assert row["below_limit"] is True
    assert row["probability"] == {"lower": 0.5, "upper": 0.5, "exact": True}
    assert row["trajectories"] == 7 * 2 * 5
    assert 0 <= row["failures"] <= row["runs"] == 5
    assert [run["parameters"] for run in chain["valor"]] == ["practical", "theorem"]
    assert record["contradictions"] == []
    assert record["figure"] is None
    assert record["seed"] == 0


def test_a_seed_fixes_everything_but_the_time():
    quick = ("--horizon", 1, "--runs", 9, "--samples", 3)
    first, again, other = (
        olivine("barrier", "backup", *quick, "--json", "--seed", seed).record
        for seed in (3, 3, 4)
    )
    for record in (first, again, other):
        record.pop("seconds")
    assert first == again
    assert first != other


def test_several_chains_without_ties():
    done = olivine(
        *("barrier", "backup", "--horizon", 1, "--horizon", 3, "--runs", 3),
        *("--ratio", "3/2", "--epsilon", "0.3", "--ties", "for", "--json"),
    )
    assert done.status == 0, done.err
    assert [chain["H"] for chain in done.record["chains"]] == [1, 3]
    for chain in done.record["chains"]:
        assert chain["first_excess"] == "2/5"
        for row in chain["rows"]:
            assert row["probability"]["lower"] > 0


def test_average():
    record = olivine("barrier", "average", "--contexts", 4, "--json", status=0).record
    assert record["balanced_policies"] == 6
    assert record["policies"] == 16
    assert record["optimal_value"] == "1"
    values = {name: run["value"] for name, run in record["algorithms"].items()}
    assert values == {"average constraints": "1/2", "olive": "1", "valor": "1"}
    assert record["algorithms"]["average constraints"]["trajectories"] is None


def test_square_loss():
    arguments = ("barrier", "square-loss", "--runs", 20, "--samples", 100, "--json")
    record = olivine(*arguments, "--epsilon", "1/4").record
    losses = {name: g["square_loss"] for name, g in record["functions"].items()}
    assert losses == {"g_0": "0", "g*": "1/4", "g_bad": "1/4"}
    assert (record["value"], record["optimal_value"]) == ("0", "1/4")
    (row,) = record["rows"]
    assert row["runs"] == 20
    irrational = olivine(*arguments, "--epsilon", "1/3").record
    assert irrational["functions"]["g_bad"]["values"] == ["√(1/3)", "√(1/3)"]
    assert irrational["rows"] == []
    assert "not the square" in irrational["not_sampled"]


@with_rows(
    "arguments, words",
    pytest.param(
        ["backup", *QUICK],
        ["samples of each state", "VALOR, theorem", "H = 2"],
        marks=pytest.mark.long,
    ),
    (["average", "--contexts", 2], ["π* (truly 1)", "2 contexts"]),
    (
        ["square-loss", "--runs", 5, "--samples", 10],
        [", loss 1/16", "square loss at most"],
    ),
)
def test_figures_and_tables(tmp_path, arguments, words):
    figure = tmp_path / "figure.svg"
    olivine("barrier", *arguments, "-o", figure, status=0, out=str(figure))
    text = " ".join(ElementTree.parse(figure).getroot().itertext())
    assert [word for word in words if word not in text] == []
    assert [file.name for file in tmp_path.iterdir()] == ["figure.svg"]
    if arguments[0] == "average":  # the same again
        first = figure.read_bytes()
        olivine("barrier", *arguments, "-o", figure, status=0)
        assert figure.read_bytes() == first


def test_the_bound_is_drawn_only_where_it_holds():
    for ties, ratio, bound in (("against", "2", 2), ("for", "2", 0), ("for", "3/2", 2)):
        record = {"epsilon": "1/4", "ratio": ratio, "ties": ties, "runs": 10}
        run = {"parameters": "practical", "optimal": True, "trajectories": 5}
        record["growth"] = [{"H": 3, "bellman": "9", "valor": [run]}]
        interval = [0, 0.3]
        row = {"n": 2, "failures": 0, "runs": 10, "interval": interval}
        record["chains"] = [{"H": 3, "rows": [row]}]
        panels = Figure().subplots(1, 2)
        draw_backup(panels, record)
        labels = [p.get_legend_handles_labels()[1] for p in panels]
        assert sum("1/4" in word for word in [*labels[0], *labels[1]]) == bound


def test_points_at_the_edge_of_a_panel_are_drawn_whole():
    """g_0 lies in its corner."""
    functions = {name: {"square_loss": "1/16"} for name in ("g_0", "g*", "g_bad")}
    panels = Figure().subplots(1, 2)
    draw_square_loss(panels, {"epsilon": "1/4", "functions": functions})
    points = [line for line in panels[0].lines if line.get_marker() in {"o", "*", "s"}]
    assert [line.get_clip_on() for line in points] == [False] * 3


def test_what_was_found_survives_a_full_disk(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("olivine.solvers.files._replace", full)
    monkeypatch.setattr("matplotlib.figure.Figure.savefig", lambda *_, **__: None)
    target = tmp_path / "figure.svg"
    done = olivine("barrier", "average", "-o", target, "--json", status=2)
    assert done.record["error"] == f"{target}: No space left on device"
    assert done.record["figure"] is None
    assert done.record["contradictions"] == []
    assert list(tmp_path.iterdir()) == []


FORMATS = [(".PDF", b"%PDF"), (".png", b"\x89PNG")]


@pytest.mark.parametrize(("suffix", "start"), FORMATS)
def test_the_suffix_is_the_format(tmp_path, suffix, start):
    write_figure(tmp_path / f"figure{suffix}", Figure(figsize=(1, 1)))
    assert (tmp_path / f"figure{suffix}").read_bytes().startswith(start)


@with_rows(
    "arguments, words",
    ([], "NAME: missing; there are backup, average, square-loss"),
    (["bakup"], "did you mean 'backup'?"),
    (["squareloss"], "did you mean 'square-loss'?"),
    (["backup", "--contexts", 4], "--contexts: not an option of barrier backup"),
    (["average", "--epsilon", "1/4"], "--epsilon: not an option"),
    (["backup", "--epsilon", "3/4"], "epsilon: 3/4 is not in (0, 1/2]"),
    (["backup", "--epsilon", "0"], "epsilon: 0 is not in (0, 1/2]"),
    (["backup", "--epsilon", "0.1"], "no fraction over a power of 2"),
    (["backup", "--ratio", "3"], "ratio: 3 is not in (1, 2]"),
    (["backup", "--horizon", 0], "H: 0 is no integer of at least 1"),
    (["backup", "--horizon", 99], "H: 99 is too large"),
    (["backup", "--samples", 0], "--samples: 0 is no positive integer"),
    (["backup", "--runs", -1], "--runs: -1 is no positive integer"),
    (["backup", "--runs", 10**6], "--runs: 1000000 is not in 1..100000"),
    (["square-loss", "--runs", 10**6], "--runs: 1000000 is not in 1..100000"),
    (["backup", "--epsilon", "1/8192"], "1/8192 is not in [1/4096, 1/2]"),
    (["backup", "--ties", "agianst"], "did you mean 'against'?"),
    (["average", "--contexts", 5], "m: 5 is no even integer in 2..16"),
    (["average", "--contexts", 0], "m: 0 is no even integer"),
    (["square-loss", "--epsilon", "1"], "epsilon: 1 is not in (0, 1)"),
    (["square-loss", "--samples", 0], "n: 0 is not in 1..10^9"),
    (["average", "-o", "figure.jpg"], "ends in .svg, .png or .pdf"),
    (["average", "-o", "nowhere/figure.svg"], "nowhere"),
    keep=23,
)
def test_bad_input_is_refused_with_the_range(arguments, words):
    assert olivine("barrier", *arguments, status=2, err=words).out == ""
    olivine("barrier", *arguments, "--json", status=2, error=words)


@with_rows(
    "text, words",
    ("small", "no number like 1/4"),
    ("nan", "no number like 1/4"),
    ("1/0", "no number like 1/4"),
    ("1e", "no number like 1/4"),
    ("1e-999999999", "exponent beyond 100"),
    ("1" * 101, "more than 100 characters"),
)
def test_text_that_is_no_number(text, words):
    for option in ("--epsilon", "--ratio"):
        done = olivine("barrier", "backup", option, text, status=2)
        assert words in " ".join(done.err.replace("│", " ").split())
        assert done.out == ""


PLACE = "olivine.cli.experiments.barrier"
LEAST, FOR = "the probability is", ("--ties", "for")
NO_TIES = (*FOR, "--ratio", "3/2")  # where the limit at H = 2 is 2 and not 8


def told(words: list[str], *arguments) -> None:
    """The contradictions of a barrier, as JSON and to people, make the status 1."""
    status = int(bool(words))
    done = olivine("barrier", *arguments, "--json", status=status, err=words)
    assert done.record["contradictions"] == words
    assert done.err.count("olivine: contradiction: ") == len(words)


@with_rows(
    "chance, failures, n, options, kinds",
    # The interval that leaves out 1e-9, of 0 and of 40 failures among 40.
    (0.414, 0, 8, (), ""),
    (0.415, 0, 8, (), "f"),
    (0.586, 40, 8, (), ""),
    (0.585, 40, 8, (), "f"),
    (0.25, 10, 7, (), ""),
    (0.249, 10, 7, (), "b"),
    (0.249, 10, 8, (), ""),
    (0.249, 10, 7, FOR, ""),
    (0.249, 10, 1, NO_TIES, "b"),
    (0.249, 10, 2, NO_TIES, ""),
    (0.0, 40, 7, (), "bfl"),
)
def test_contradictions_of_backups(monkeypatch, chance, failures, n, options, kinds):
    def simulated(barrier, n, *_):
        lost = barrier.epsilon / (2 if "l" in kinds else 1)
        return Simulated(n, (lost,) * failures + (Fraction(0),) * (40 - failures), 1, 0)

    exact = Probability(chance, chance, Fraction(chance))
    monkeypatch.setattr(f"{PLACE}.failure_probability", lambda *_: exact)
    monkeypatch.setattr(f"{PLACE}.simulate", simulated)
    monkeypatch.setattr(f"{PLACE}.valor_runs", lambda *_: [])
    says = {
        "b": f"failure probability {chance} below 1/4",
        "f": f"{failures} of 40 runs failed, where {LEAST} {chance}",
        "l": "a run lost something else than epsilon",
    }
    words = [f"backup, H = 2, n = {n}: {says[kind]}" for kind in kinds]
    told(words, "backup", "--horizon", 2, "--samples", n, *options)


@with_rows(
    "chance, bad, holds",
    (0.414, 0, True),
    (0.415, 0, False),
    (0.586, 40, True),
    (0.585, 40, False),
)
def test_contradictions_of_least_squares(monkeypatch, chance, bad, holds):
    monkeypatch.setattr(SquareLossBarrier, "bad_fits_better", lambda *_: chance)
    monkeypatch.setattr(SquareLossBarrier, "count_bad_fits", lambda *_: bad)
    what = f"g_bad fitted better in {bad} of 40 data sets, where {LEAST} {chance}"
    words = [] if holds else [f"square-loss, n = 9: {what}"]
    told(words, "square-loss", "--runs", 40, "--samples", 9)


def test_contradictions_of_what_is_exact(monkeypatch):
    run_all = average.run_all

    def explores(*arguments):
        found = run_all(*arguments)
        return found | {"average constraints": found["olive"]}

    monkeypatch.setattr(f"{PLACE}.run_all", explores)
    words = ["average: exploration did not stop at 1/2"]
    told(words, "average", "--contexts", 2)
    monkeypatch.setattr(SquareLossBarrier, "square_loss", lambda *_: Fraction(1, 9))
    words = [f"square-loss: the losses are {[Fraction(1, 9)] * 3}"]
    told(words, "square-loss", "--runs", 1, "--samples", 1)


def test_the_most_runs():
    check_runs(100_000)
    refused("--runs: 100001 is not in 1..100000", check_runs, 100_001)


def test_default_samples_stand_around_the_limit():
    from olivine.algorithms.barriers import BackupBarrier

    for horizon in (1, 3, 8):
        barrier = BackupBarrier(horizon, Fraction(1, 4))
        samples = default_samples(barrier)
        assert samples == sorted(set(samples))
        below = [n for n in samples if n < barrier.sample_limit]
        assert max(below) + 1 >= barrier.sample_limit
        assert max(samples) == 16 * barrier.sample_limit


def test_options_are_those_of_the_command():
    shown = olivine("barrier", "--help").out
    for option in {name for names in OPTIONS.values() for name in names}:
        assert f"--{option}" in shown
    assert json.dumps(list(OPTIONS)) == '["backup", "average", "square-loss"]'


def test_the_backups_of_longer_chains_are_counted(monkeypatch):
    """n a state and action: two actions in 2H + 1 states, as far as floats go."""
    monkeypatch.setattr("olivine.cli.experiments.barrier.valor_runs", lambda *_: [])
    rows = growth(Fraction(1, 4), Fraction(2), 0)
    lengths = [row["H"] for row in rows]
    assert lengths == sorted({*lengths, 1, 4, 16})
    for row in rows:
        limit = BackupBarrier(row["H"], Fraction(1, 4)).sample_limit
        assert Fraction(row["bellman"]) == 2 * (2 * row["H"] + 1) * limit
    # 1/2 + ε/2^(H - 1) needs 12 + H binary digits, of which floats have 53.
    rows = growth(Fraction(1, 2**12), Fraction(2), 0)
    assert [row["H"] for row in rows] == [h for h in HORIZONS if h <= 41]
