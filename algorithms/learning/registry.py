"""Learning algorithms by name.

>>> get("valor").default_classes
'tabular'
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Literal, get_args

import numpy as np

from ..classes import PolicyClassByLevel, ValueClassByLevel
from ..classes.q_functions import FiniteQClass
from ..environments.protocol import Environment
from ..exact.arrays import check_type
from .draw_classes import ClassKind
from .events import Observer
from .problem import Problem
from .results import LearningResult

ParameterKind = Literal["theorem", "paper", "practical", "frugal"]
PARAMETER_KINDS: tuple[ParameterKind, ...] = ("theorem", "paper", "practical")
"""Those that every algorithm has."""

MODULES: dict[str, tuple[str, ...]] = {
    "olivine.algorithms.valor": ("valor", "valor-constrained"),
    "olivine.algorithms.two_sample": ("two-sample",),
    "olivine.algorithms.global_policy": ("global-policy",),
    "olivine.algorithms.lsvee": ("lsvee",),
    "olivine.algorithms.olive": ("olive",),
    "olivine.algorithms.baselines": ("psdp", "fqi", "backup", "rmax"),
}
"""Packages and the names in their ``ALGORITHMS``, in the order of the list.

A package is imported when one of its algorithms is asked for."""


@dataclass(frozen=True)
class Task:
    """What an algorithm is run on.

    `environment` is fresh; `classes` a kind, or (G, Π) or Q-functions as they are;
    `rng` the only source of randomness. `on_classes` is called with the classes as soon
    as they are drawn, and stops the run if it raises (`tasks.show_classes`);
    `allow_unrealizable` runs although classes are known to miss g* or π*.
    """

    environment: Environment
    parameters: ParameterKind
    classes: ClassKind | tuple[Any, Any] | FiniteQClass
    epsilon: float
    delta: float
    rng: np.random.Generator
    settings: Mapping[str, Any] = field(default_factory=dict)
    observers: tuple[Observer, ...] = ()
    on_classes: Callable[[ValueClassByLevel, PolicyClassByLevel], None] | None = None
    allow_unrealizable: bool = False


@dataclass(frozen=True)
class Parts:
    """What an algorithm is declared with: see `olivine.algorithms.learning.tasks`."""

    classes: Callable[[Task], Problem]
    parameters: Callable[[Task, Problem], Any]
    learn: Callable[..., LearningResult]
    review: Callable[[Problem, Any], Any]


@dataclass(frozen=True)
class Algorithm:
    """An entry of the registry.

    `run` raises ValueError for a task that does not fit; `without_truth` is the kind of
    classes where none can be made around the truth. `settings` have their meanings;
    `assumptions` are names of `olivine.algorithms.assumptions` that the guarantee asks
    for; `parts` is what it was declared with, None for one that has only `run`.
    """

    name: str
    summary: str
    run: Callable[[Task], LearningResult]
    default_classes: ClassKind = "tabular"
    settings: Mapping[str, str] = field(default_factory=dict)
    assumptions: tuple[str, ...] = ()
    kinds: tuple[ParameterKind, ...] = PARAMETER_KINDS
    without_truth: ClassKind | None = None
    parts: Parts | None = None

    def check_kind(self, argument: str, kind: str) -> None:
        """Refuse a kind that the algorithm lacks; ValueError suggests the nearest."""
        check_type(argument, kind, str, "kind of parameters")
        if kind in self.kinds:
            return
        known = ", ".join(self.kinds)
        if kind in get_args(ParameterKind):
            raise ValueError(f"{argument}: {self.name} has {known}, and no {kind!r}")
        hint = suggestion(kind, self.kinds)
        raise ValueError(f"{argument}: {kind!r} is none of {known}{hint}")


_ALGORITHMS: dict[str, Algorithm] = {}


def register(algorithm: Algorithm) -> None:
    """Add an algorithm; ValueError if the name is taken."""
    if algorithm.name in _ALGORITHMS:
        raise ValueError(f"algorithm {algorithm.name!r}: registered already")
    _ALGORITHMS[algorithm.name] = algorithm


def names() -> list[str]:
    """Names of all algorithms; loads none."""
    listed = [name for own in MODULES.values() for name in own]
    return list(dict.fromkeys([*listed, *_ALGORITHMS]))


def algorithms() -> list[Algorithm]:
    """All algorithms, in the order of `names`; loads all."""
    return [get(name) for name in names()]


def get(name: str) -> Algorithm:
    """Look an algorithm up, loading its package; ValueError suggests a name."""
    check_type("algorithm", name, str, "name of an algorithm")
    for module, listed in MODULES.items():
        if name in listed and name not in _ALGORITHMS:
            _load(module, listed)
    if name not in _ALGORITHMS:
        known = names()
        hint = suggestion(name, known)
        raise ValueError(
            f"unknown algorithm {name!r}{hint}; there are {', '.join(known)}"
        )
    return _ALGORITHMS[name]


def _load(module: str, listed: Sequence[str]) -> None:
    entries = {entry.name: entry for entry in import_module(module).ALGORITHMS}
    if sorted(entries) != sorted(listed):
        raise RuntimeError(
            f"{module} declares {', '.join(entries)}, but MODULES of "
            f"olivine.algorithms.learning.registry lists {', '.join(listed)} for it"
        )
    for name, entry in entries.items():
        _ALGORITHMS.setdefault(name, entry)


def suggestion(word: str, known: Iterable[str]) -> str:
    """Return ", did you mean ...?" for the nearest known word, or nothing."""
    near = difflib.get_close_matches(word, list(known), 1, 0.5)
    return f", did you mean {near[0]!r}?" if near else ""
