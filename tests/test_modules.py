"""Of all modules: examples in docstrings hold; records cannot be changed, and equality
of those with arrays is identity."""

import doctest
import importlib
import re

import pytest
from olivine import claims

from tests.test_floors import modules

NEEDS = {"rl": "gymnasium"}
"""Modules that need an extra."""


def with_examples() -> list[str]:
    """Full names of the modules whose text has examples."""
    found = []
    for name, file in modules().items():
        if ">>>" in file.read_text("utf-8"):
            found.append(name if name.startswith("olivine") else f"olivine.{name}")
    return sorted(found)


@pytest.mark.parametrize("name", with_examples())
def test_the_examples_of_a_module_hold(name: str, monkeypatch) -> None:
    if package := NEEDS.get(name.rpartition(".")[2]):
        pytest.importorskip(package)
    module = importlib.import_module(name)
    examples = [
        test for test in doctest.DocTestFinder(exclude_empty=True).find(module)
        if test.examples
    ]  # fmt: skip
    assert examples, "no example is where doctest finds it"
    monkeypatch.setattr(claims, "_REGISTRY", {**claims._REGISTRY})  # one adds a claim
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    assert doctest.testmod(module, optionflags=flags).failed == 0


STATEFUL = {
    "LargeModel",
    "Ledger",
    "LinearModel",
    "Node",
    "PairModel",
    "ProgramModel",
    "Scene",
    "Simulator",
    "Tally",
    "_Check",
    "_Group",
    "_Leaving",
}
"""Data classes whose objects are built or moved on step by step."""

RECORD = re.compile(
    r"^@dataclass(?:\((?P<options>.*)\))?\n"
    r"class (?P<name>\w+).*\n(?P<body>(?: .*\n|\n)*)",
    re.MULTILINE,
)


def records():
    """Each data class of the package: its name, options and body."""
    for file in modules().values():
        for found in RECORD.finditer(file.read_text("utf-8")):
            yield found["name"], found["options"] or "", found["body"]


def test_records_are_frozen():
    found = [(name, "frozen=True" in options) for name, options, _ in records()]
    assert len(found) > 200
    assert {name for name, frozen in found if not frozen} == STATEFUL


def test_no_equality_compares_arrays_as_a_truth_value():
    """``==`` of two arrays is an array: the comparison made for a class would raise."""
    array = re.compile(r"^    \w+: .*Array", re.MULTILINE)
    with_arrays = [
        (name, "eq=False" in options)
        for name, options, body in records()
        if array.search(body) and "def __eq__" not in body
    ]
    assert len(with_arrays) > 40
    assert [name for name, by_identity in with_arrays if not by_identity] == []
