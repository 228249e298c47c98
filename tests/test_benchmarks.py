"""`python -m benchmarks`: each module is there, and what is done with figures."""

import json
import sys
from importlib import import_module
from types import ModuleType

import pytest

from benchmarks import __main__ as benchmarks
from benchmarks.figures import Figure, exponent


@pytest.mark.parametrize("name", benchmarks.MODULES)
def test_each_module_yields_figures(name) -> None:
    assert callable(import_module(f"benchmarks.{name}").figures)


def run(monkeypatch, figures: list[Figure], *arguments) -> int:
    toy = ModuleType("benchmarks.toy")
    toy.figures = lambda full: iter(figures)
    monkeypatch.setitem(sys.modules, "benchmarks.toy", toy)
    monkeypatch.setattr(benchmarks, "MODULES", ("toy",))
    monkeypatch.setattr(sys, "argv", ["benchmarks", *map(str, arguments)])
    return benchmarks.main()


def test_a_run_beside_an_earlier_one(monkeypatch, capsys, tmp_path) -> None:
    file = tmp_path / "b.json"
    first = [Figure("a", 1.4, target=1.5), Figure("b", 2.0), Figure("c", 0.0)]
    assert run(monkeypatch, first, "--json", file) == 0
    record = json.loads(file.read_text())
    assert [f["met"] for f in record["figures"]] == [True, None, None]
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


def test_a_machine_that_changes_its_speed(monkeypatch, capsys, tmp_path) -> None:
    def run_at(seconds: list[float], value: float, *arguments) -> int:
        times = iter(seconds)
        monkeypatch.setattr(benchmarks, "piece_of_work", lambda: next(times))
        done = run(monkeypatch, [Figure("a", value, "ms")], *arguments)
        assert next(times, None) is None, "not measured as often as expected"
        return done

    file = tmp_path / "b.json"
    assert run_at([1.0, 2.0, 2.0, 2.0], 3.0, "--json", file) == 0
    assert json.loads(file.read_text())["figures"][0]["work"] == 2.0
    assert run_at([1.0, 1.0], 1.5, "--compare", file) == 0
    assert "1.00 of before" in capsys.readouterr().out
    assert run_at([1.0, 2.0] * benchmarks.TRIES, 1.5) == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["no-such"], "no benchmark no-such"),
        (["--json", "no/such/b.json"], "no such folder"),
        (["--compare", "no-such.json"], "no figures of an earlier run"),
    ],
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


def test_two_figures_of_one_name_are_an_error(monkeypatch) -> None:
    with pytest.raises(RuntimeError, match="two figures are called 'a'"):
        run(monkeypatch, [Figure("a", 1.0), Figure("a", 2.0)])


def test_an_exponent_is_the_slope_of_logarithms() -> None:
    sizes = [10, 20, 40, 80]
    assert exponent(sizes, [n**1.5 for n in sizes]) == pytest.approx(1.5)
