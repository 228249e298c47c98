"""Learning algorithms by name, and one call that runs any of them.

A package of algorithms lists its entries in ``ALGORITHMS``; packages are imported when
an entry is asked for.

>>> get("valor").default_classes
'tabular'
>>> from olivine.algorithms.environments import make
>>> env = make("tabular", 1, states=2, actions=2, horizon=2)
>>> learn("valor", env).status
'success'
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import Any, Literal, cast, get_args

import numpy as np

from ..classes import PolicyClassByLevel, ValueClassByLevel
from ..classes.protocols import PolicyClass, ValueClass
from ..classes.q_functions import FiniteQClass
from ..environments.protocol import Environment, missing_members
from ..exact.numbers import check_unit, rational
from .draw_classes import KINDS, ClassKind
from .evaluation import measured
from .events import Observer
from .run import LearningResult

ParameterKind = Literal["theorem", "paper", "practical", "frugal"]
PARAMETER_KINDS: tuple[ParameterKind, ...] = ("theorem", "paper", "practical")
"""Those that every algorithm has."""

MODULES = [
    "olivine.algorithms.valor",
    "olivine.algorithms.two_sample",
    "olivine.algorithms.global_policy",
    "olivine.algorithms.lsvee",
    "olivine.algorithms.olive.learning",
    "olivine.algorithms.baselines",
]
"""Packages with ``ALGORITHMS``, in the order of the list."""


@dataclass(frozen=True)
class Task:
    """What an algorithm is run on.

    Attributes
    ----------
    environment
        A fresh environment.
    parameters
        ``"theorem"``, ``"paper"`` or ``"practical"``, or another of the algorithm's.
    classes
        Kind of the classes; or (G, Π), or Q-functions, as they are.
    epsilon, delta
        Accuracy and failure probability.
    rng
        The only source of randomness.
    settings
        Values chosen for the algorithm's own settings.
    observers
        Told of the run's events.
    examine
        Is shown the classes as soon as they are drawn, and stops the run if it
        raises; see `olivine.algorithms.learning.tasks.show_classes`.
    insist
        Whether to run although classes are known to miss g* or π*.
    """

    environment: Environment
    parameters: ParameterKind
    classes: ClassKind | tuple[Any, Any] | FiniteQClass
    epsilon: float
    delta: float
    rng: np.random.Generator
    settings: Mapping[str, Any] = field(default_factory=dict)
    observers: tuple[Observer, ...] = ()
    examine: Callable[[ValueClassByLevel, PolicyClassByLevel], None] | None = None
    insist: bool = False


@dataclass(frozen=True)
class Algorithm:
    """An entry of the registry.

    Attributes
    ----------
    name
        As on the command line.
    summary
        One line.
    run
        Runs it. ValueError for a task that does not fit.
    default_classes
        Kind of classes where none is chosen.
    settings
        Its settings, with the meaning of each.
    assumptions
        What its guarantee asks of the classes: names of
        `olivine.algorithms.assumptions` ("policy-realizability", "value-realizability",
        "policy-value-completeness", "policy-completeness", or
        "clipped-policy-value-completeness").
    kinds
        Kinds of parameters.
    """

    name: str
    summary: str
    run: Callable[[Task], LearningResult]
    default_classes: ClassKind = "tabular"
    settings: Mapping[str, str] = field(default_factory=dict)
    assumptions: tuple[str, ...] = ()
    kinds: tuple[ParameterKind, ...] = PARAMETER_KINDS

    def check_kind(self, argument: str, kind: str) -> None:
        """Refuse a kind of parameters that the algorithm does not have.

        Raises
        ------
        ValueError
            Naming the argument; the message suggests the nearest one.
        """
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


def algorithms() -> list[Algorithm]:
    """All algorithms, in order of registration."""
    for module in MODULES:
        for entry in import_module(module).ALGORITHMS:
            _ALGORITHMS.setdefault(entry.name, entry)
    return list(_ALGORITHMS.values())


def get(name: str) -> Algorithm:
    """Look an algorithm up.

    Raises ValueError for an unknown name; the message suggests the nearest one.
    """
    algorithms()
    if name not in _ALGORITHMS:
        known = ", ".join(_ALGORITHMS)
        hint = suggestion(name, _ALGORITHMS)
        raise ValueError(f"unknown algorithm {name!r}{hint}; there are {known}")
    return _ALGORITHMS[name]


def suggestion(word: str, known: Iterable[str]) -> str:
    """Return ", did you mean ...?" for the nearest known word, or nothing."""
    near = difflib.get_close_matches(word, list(known), 1, 0.5)
    return f", did you mean {near[0]!r}?" if near else ""


def learn(
    algorithm: str,
    environment: Environment,
    classes: ClassKind | tuple[Any, Any] | FiniteQClass | None = None,
    *,
    parameters: ParameterKind = "theorem",
    epsilon: float = 0.3,
    delta: float = 0.1,
    seed: int | np.random.Generator = 0,
    observers: Sequence[Observer] = (),
    **settings: Any,
) -> LearningResult:
    """Run an algorithm, with the monitors of its analysis where the truth is known.

    Parameters
    ----------
    algorithm
        A name as in ``olivine learn --list``: ``"valor"``, ``"psdp"``, ...
    environment
        Any object of the protocol: from `make`, `from_simulator`, `from_gymnasium`,
        or your own.
    classes
        ``"tabular"``, ``"finite"`` or ``"linear"``, drawn for the environment; or
        your own (G, Π), each one class for all levels or a class by level (an
        algorithm that needs only one of them takes None for the other); or, for
        LSVEE and OLIVE, a `FiniteQClass`. None: what suits the algorithm.
    parameters
        ``"theorem"``: the constants of its theorem; ``"paper"``: as printed;
        ``"practical"``: small ones, which ``settings`` may change; ``"frugal"``, of
        VALOR: fewer samples, shared by all calls, likewise.
    epsilon, delta
        Accuracy and failure probability, in (0, 1).
    seed
        An integer or a Generator: all randomness of the algorithm.
    observers
        Told of the run's events, for instance ``[].append``.
    **settings
        Of the algorithm, as ``--set`` of ``olivine learn``.

    Returns
    -------
    LearningResult
        ``policies`` has one policy per level: `olivine.evaluate` plays them, and on a
        simulator ``evaluation`` has what playing them gave.

    Raises
    ------
    ValueError
        For an unknown name or setting, classes that do not go with the algorithm or
        the environment, or an accuracy out of range.
    """
    entry = get(algorithm)
    check_unit("epsilon", rational(epsilon, "epsilon"))
    check_unit("delta", rational(delta, "delta"))
    entry.check_kind("parameters", parameters)
    for name in settings:
        if name not in entry.settings:
            raise ValueError(
                f"{algorithm}: unknown setting {name!r}"
                f"{suggestion(name, entry.settings)}; there are "
                f"{', '.join(entry.settings)}"
            )
    if isinstance(environment, str):
        raise ValueError(
            f"environment: {environment!r} is a name; olivine.make({environment!r}, "
            "seed) makes the environment"
        )
    if isinstance(seed, int) and seed < 0:
        raise ValueError(f"seed: {seed} is negative")
    # Not by isinstance, which would ask for the truth, and a simulator has none.
    missing = missing_members(environment)
    if missing:
        raise ValueError(
            f"environment: {type(environment).__name__} lacks {', '.join(missing)}; "
            "`check_environment` says what each must do"
        )
    task = Task(
        environment,
        parameters,
        cast("Any", entry.default_classes if classes is None else _classes(classes)),
        epsilon,
        delta,
        np.random.default_rng(seed),
        settings,
        tuple(observers),
    )
    result = entry.run(task)
    return replace(result, evaluation=measured(environment, result.policies))


def _classes(given: Any) -> Any:
    """Check the kind of classes, or classes handed in."""
    if isinstance(given, FiniteQClass) or given in get_args(ClassKind):
        return given
    if not isinstance(given, tuple) or len(given) != 2:
        raise ValueError(
            f"classes: {given!r:.60} is none of {', '.join(KINDS)}, no pair (G, Π), "
            "and no FiniteQClass"
        )
    for what, protocol, one in zip(
        ("G, a value class", "Π, a policy class"),
        (ValueClass, PolicyClass),
        given,
        strict=True,
    ):
        if one is not None and not isinstance(one, protocol):
            members = [m for m in vars(protocol) if not m.startswith("_")]
            missing = [m for m in members if not hasattr(one, m)]
            raise ValueError(
                f"classes: {type(one).__name__} is not {what}: it lacks "
                f"{', '.join(missing)} (olivine.algorithms.classes.protocols)"
            )
    return given
