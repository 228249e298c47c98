"""Constants of modules, defaults of functions and how dataclasses are declared."""

import ast
import dataclasses
import inspect
import itertools
import pkgutil
from collections.abc import Iterator
from enum import Enum
from fractions import Fraction
from importlib import import_module
from types import ModuleType
from typing import Any

import olivine
import pytest

from tests.support.recorded import recorded

PACKAGES = "algorithms", "claims", "cli", "reduction", "solvers"
KEYS = [
    m.name.removeprefix("olivine.")
    for m in pkgutil.walk_packages(olivine.__path__, "olivine.", onerror=print)
    if m.name.split(".")[1] in PACKAGES
]
PLAIN = bool, int, float, str, Fraction, Enum, type(None)
OF_THE_MACHINE = {"_NOT_THEIRS", "MAJOR"}
FLAGS = "init", "repr", "eq", "order", "unsafe_hash", "frozen"


def shown(value: Any) -> str:
    """Numbers and texts, also in tuples, lists, sets and dicts; else the type."""
    if isinstance(value, PLAIN):
        return str(value)
    if isinstance(value, dict):
        return shown([*value.items()])
    if isinstance(value, tuple | list):
        return f"[{', '.join(map(shown, value))}]"
    if isinstance(value, set | frozenset):
        return shown(sorted(map(shown, value)))
    return type(value).__name__


def defaults(function: Any) -> str:
    """Parameters with their defaults."""
    parameters = inspect.signature(function).parameters.values()
    texts = [
        p.name if p.default is p.empty else f"{p.name}={shown(p.default)}"
        for p in parameters
    ]
    return ", ".join(texts)


def of_class(owner: type) -> Iterator[tuple[str, str]]:
    """Flags and defaults of a class, and defaults of its methods."""
    if dataclasses.is_dataclass(owner):
        flags = [name for name in FLAGS if getattr(owner.__dataclass_params__, name)]
        yield "", f"{' '.join(flags)}; {defaults(owner)}"
    for name, found in vars(owner).items():
        made = name == "__init__" and dataclasses.is_dataclass(owner)
        if inspect.isfunction(found) and not made and "=" in defaults(found):
            yield f".{name}", defaults(found)
        elif isinstance(found, int | float) and name.isupper():
            yield f".{name}", shown(found)


def numbered(module: ModuleType) -> Iterator[str]:
    """Names that a module assigns an expression with a number in it."""
    for line in ast.parse(inspect.getsource(module)).body:
        if isinstance(line, ast.Assign | ast.AnnAssign) and line.value:
            inside = [getattr(node, "value", "") for node in ast.walk(line.value)]
            if any(isinstance(value, int | float) for value in inside):
                places = line.targets if isinstance(line, ast.Assign) else [line.target]
                nodes = itertools.chain(*map(ast.walk, places))
                yield from (node.id for node in nodes if isinstance(node, ast.Name))


def declared(module: ModuleType) -> Iterator[tuple[str, str]]:
    """Names of a module that have a number or a default."""
    constants = {*numbered(module)} - OF_THE_MACHINE
    for name, found in vars(module).items():
        if getattr(found, "__module__", None) != module.__name__:
            if name.isupper() and name in constants:
                yield name, shown(found)
        elif isinstance(found, type):
            for part, text in of_class(found):
                yield name + part, text
        elif callable(found) and "=" in (text := defaults(found)):
            yield name, text


@pytest.mark.parametrize("name", KEYS)
def test_a_module_declares_what_is_recorded(name: str) -> None:
    recorded("declared", name, dict(declared(import_module(f"olivine.{name}"))))
