"""All examples in docstrings, run."""

import doctest
import importlib

import pytest

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
def test_the_examples_of_a_module_hold(name: str) -> None:
    if package := NEEDS.get(name.rpartition(".")[2]):
        pytest.importorskip(package)
    module = importlib.import_module(name)
    examples = [
        test for test in doctest.DocTestFinder(exclude_empty=True).find(module)
        if test.examples
    ]  # fmt: skip
    assert examples, "no example is where doctest finds it"
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    assert doctest.testmod(module, optionflags=flags).failed == 0
