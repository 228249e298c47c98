"""`python -m benchmarks`: each module is there, and what is done with figures."""

import json
import sys
from importlib import import_module
from types import ModuleType

import pytest

from benchmarks import __main__ as benchmarks
from benchmarks import figures
from benchmarks.figures import PIECE, Figure, exponent, growth, in_sum, in_turns, paced
from tests.support.depth import with_rows


@pytest.mark.parametrize("name", benchmarks.MODULES)
def test_each_module_yields_figures(name) -> None:
    assert callable(import_module(f"benchmarks.{name}").figures)


def measure(monkeypatch, found: list[list[Figure]], *arguments) -> int:
    """Run with one module, which yields these figures time after time."""
    toy, times = ModuleType("benchmarks.toy"), iter(found)
    toy.figures = lambda full: iter(next(times))
    monkeypatch.setitem(sys.modules, "benchmarks.toy", toy)
    monkeypatch.setattr(benchmarks, "MODULES", ("toy",))
    monkeypatch.setattr(sys, "argv", ["benchmarks", *map(str, arguments)])
    return benchmarks.main()


def run(monkeypatch, found: list[Figure], *arguments, work=PIECE) -> int:
    """Do so where each time is the same, on a steady machine."""
    monkeypatch.setattr(benchmarks, "piece_of_work", lambda: work)
    return measure(monkeypatch, [found] * benchmarks.TIMES_QUICK, *arguments)


def test_a_run_beside_an_earlier_one(monkeypatch, capsys, tmp_path) -> None:
    file = tmp_path / "b.json"
    first = [Figure("a", 1.4, target=1.5), Figure("b", 2.0), Figure("c", 0.0)]
    assert run(monkeypatch, first, "--json", file) == 0
    record = json.loads(file.read_text())
    assert [f["verdict"] for f in record["figures"]] == ["met", "", ""]
    assert set(record["machine"]["packages"]) == set(benchmarks.PACKAGES)
    assert "1 of 1 targets met" in capsys.readouterr().out
    second = [Figure("a", 1.6, target=1.5), Figure("b", 2.5), Figure("c", 0.0)]
    assert run(monkeypatch, second, "--compare", file) == 1
    out = capsys.readouterr().out
    assert "MISSED" in out
    assert "0 of 1 targets met" in out
    assert "2 of 3 figures within a factor of 1.2 of before; others: b" in out
    assert run(monkeypatch, [Figure("c", 1.0)], "--compare", file) == 0
    assert "others: c" in capsys.readouterr().out


def test_work_clocks_and_exponents():
    assert benchmarks.piece_of_work() > 0
    ticks = iter([3.0, 7.5])
    assert figures.cpu(lambda a: a, 1, clock=lambda: next(ticks)) == 4.5
    sizes = [10, 20, 40, 80]
    assert exponent(sizes, [n**1.5 for n in sizes]) == pytest.approx(1.5)


def test_the_median_of_three_beside_the_work_of_its_time(
    monkeypatch, capsys, tmp_path
) -> None:
    def run_at(seconds: list[float], values: list[float], *arguments) -> int:
        times = iter(seconds)
        monkeypatch.setattr(benchmarks, "piece_of_work", lambda: next(times))
        found = [[Figure("a", value, "ms")] for value in values]
        done = measure(monkeypatch, found, *arguments)
        assert next(times, None) is None, "not measured as often as expected"
        return done

    file = tmp_path / "b.json"
    work = [1.0, 1.0, 2.0, 2.0, 4.0, 4.0]
    assert run_at(work, [1.0, 3.0, 5.0], "--json", file) == 0
    (figure,) = json.loads(file.read_text())["figures"]
    assert (figure["value"], figure["work"]) == (3.0, 2.0)
    # Half the time on a machine that is twice as fast.
    assert run_at([1.0] * 6, [1.5, 9.0, 1.0], "--compare", file) == 0
    assert "1.00 of before" in capsys.readouterr().out
    assert run_at([1.0, 1.0], [1.5], "--full") == 0


@with_rows(
    "arguments, said",
    (["no-such"], "no benchmark no-such"),
    (["--json", "no/such/b.json"], "no such folder"),
    (["--compare", "no-such.json"], "no figures of an earlier run"),
)
def test_bad_arguments(arguments, said, monkeypatch, capsys) -> None:
    with pytest.raises(SystemExit) as end:
        run(monkeypatch, [], *arguments)
    assert end.value.code == 2
    assert said in capsys.readouterr().err


def test_quick_figures_are_not_held_against_full_ones(monkeypatch, capsys, tmp_path):
    file = tmp_path / "b.json"
    assert run(monkeypatch, [Figure("a", 1.0)], "--full", "--json", file) == 0
    with pytest.raises(SystemExit):
        run(monkeypatch, [Figure("a", 1.0)], "--compare", file)
    assert "one of the two runs is --full" in capsys.readouterr().err


def test_a_target_of_time_is_for_a_machine_of_one_speed(monkeypatch, capsys) -> None:
    late = [Figure("a", 3.0, "CPU s", target=2), Figure("b", 1.0, target=1)]
    assert run(monkeypatch, late, work=1.4 * PIECE) == 1
    assert "MISSED" in capsys.readouterr().out
    assert run(monkeypatch, late, work=1.5 * PIECE) == 0
    out = capsys.readouterr().out
    assert "if fast" in out
    assert "2 on a machine 1.5 times as fast" in out
    assert "1 of 2 targets met, 1 more if the machine" in out
    # No ratio is excused by a slow machine.
    assert run(monkeypatch, [Figure("a", 3.0, target=2)], work=9 * PIECE) == 1


def test_times_at_one_speed(monkeypatch) -> None:
    """A machine that slows down to a third while calls are measured."""
    works = iter([PIECE, PIECE, PIECE, 3 * PIECE, 3 * PIECE, 3 * PIECE])
    seconds = iter([5.0, 10.0, 15.0])
    monkeypatch.setattr(figures, "piece_of_work", lambda goes: next(works))
    monkeypatch.setattr(figures, "cpu", lambda call, clock: next(seconds))
    assert paced(lambda: None, 3) == 5.0
    pairs = iter([1.0, 2.0, 6.0, 4.0, 9.0, 3.0])
    monkeypatch.setattr(figures, "cpu", lambda call: next(pairs))
    assert in_turns(lambda: None, lambda: None, 3) == (1.5, 6.0, 3.0)


def test_ratios_are_of_sums_and_growth_is_the_median_of_rounds(monkeypatch):
    # Half of the second's calls take long; a median would be 1 or 3.
    seconds = iter([3.0, 1.0, 3.0, 3.0, 3.0, 1.0, 3.0, 3.0])
    monkeypatch.setattr(figures, "cpu", lambda call: next(seconds))
    assert in_sum(lambda: None, lambda: None, 4) == 1.5
    # Of three rounds one meets a machine that slows down while it goes.
    round_of = {1: [1, 2, 4], 2: [1, 4, 16], 3: [2, 4, 8]}
    times = iter([t for k in (1, 2, 3) for t in round_of[k]])
    monkeypatch.setattr(figures, "paced", lambda call, repeats, clock: next(times))
    slope, last = growth([10, 20, 40], [lambda: None] * 3, 3)
    assert slope == pytest.approx(1)
    assert last == 8


def test_two_figures_of_one_name_are_an_error(monkeypatch) -> None:
    with pytest.raises(RuntimeError, match="two figures are called 'a'"):
        run(monkeypatch, [Figure("a", 1.0), Figure("a", 2.0)])
