"""One call that runs any learning algorithm.

>>> from olivine.algorithms.environments import make
>>> env = make("tabular", 1, states=2, actions=2, horizon=2)
>>> learn("valor", env).status
'success'
"""

from __future__ import annotations

import sys
import threading
import time
import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast, get_args

import numpy as np

from ..classes.protocols import PolicyClass, ValueClass
from ..classes.q_functions import FiniteQClass
from ..environments.check import as_environment, check_class
from ..environments.protocol import Environment, knows_truth
from ..exact.arrays import check_unit, rational
from ..exact.multinomial import generator
from .draw_classes import KINDS, ClassKind
from .events import Evaluation, Iteration, Observer, check_observers, evaluate
from .problem import LearningResult
from .registry import Algorithm, ParameterKind, Task, get, suggestion

_BEAT = 5.0  # seconds between two signs of life


class LearningWarning(UserWarning):
    """Warns of a success that may mean little."""


class Heartbeat:
    """Prints a run's time, trajectories and iterations, also while an engine works."""

    def __init__(self, name: str, environment: Environment) -> None:
        self._name, self._environment = name, environment
        self._iterations, self._over = 0, threading.Event()
        self._thread = threading.Thread(target=self._beat, daemon=True)

    def __call__(self, event: object) -> None:
        """Count iterations."""
        self._iterations += isinstance(event, Iteration)

    def __enter__(self) -> None:
        self._began = time.perf_counter()
        self._thread.start()

    def __exit__(self, *error: object) -> None:
        self._over.set()
        self._thread.join()

    def _beat(self) -> None:
        while not self._over.wait(_BEAT):
            seconds = time.perf_counter() - self._began
            print(
                f"{self._name}: {seconds:.0f} s, {self._environment.trajectories:,} "
                f"trajectories, iteration {self._iterations + 1}",
                file=sys.stderr,
                flush=True,
            )


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
    progress: bool | None = None,
    **settings: Any,
) -> LearningResult:
    """Run an algorithm, with the monitors of its analysis where the truth is known.

    Parameters
    ----------
    algorithm
        A name as in ``olivine learn --list``: ``"valor"``, ``"psdp"``, ...
    environment
        Any object of the protocol: from `make`, `from_simulator`, `from_gymnasium`, or
        your own.
    classes
        ``"tabular"``, ``"finite"`` or ``"linear"``, drawn for the environment; or your
        own (G, Π), each one class for all levels or a class by level, None where the
        algorithm needs only the other; or, for LSVEE and OLIVE, a `FiniteQClass`. None:
        what suits.
    parameters
        ``"theorem"``: the constants of its theorem; ``"paper"``: as printed;
        ``"practical"``: small ones, which ``settings`` may change; ``"frugal"``, of
        VALOR: fewer samples, shared by all calls, likewise.
    epsilon, delta
        Accuracy and failure probability, in (0, 1).
    seed
        An integer or a Generator: all randomness of the algorithm.
    observers
        Called with the run's events, for instance ``[].append``.
    progress
        Whether to print time, trajectories and iterations on standard error every few
        seconds; None: if that is a terminal or a notebook's.
    **settings
        Of the algorithm, as ``--set`` of ``olivine learn``.

    Returns
    -------
    LearningResult
        ``policies`` has one policy per level: `olivine.evaluate` plays them, and on a
        simulator ``results`` has what playing them gave.

    Warns
    -----
    LearningWarning
        Of each of the result's ``notes``.

    Raises
    ------
    ValueError
        For an unknown name or setting, classes that do not go with the algorithm or the
        environment, or an accuracy out of range.
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
    for name, value in settings.items():
        if isinstance(value, np.generic):
            settings[name] = value.item()
    if isinstance(environment, str):
        maker = f"olivine.make({environment!r}, seed)"
        if ":" in environment:  # as commands take it
            maker = "that function, called with a seed,"
        raise ValueError(
            f"environment: {environment!r} is a name; {maker} makes the environment"
        )
    environment = as_environment(environment)
    task = Task(
        environment,
        parameters,
        cast("Any", choose_classes(classes, entry, environment)),
        epsilon,
        delta,
        generator(seed),
        settings,
        check_observers(observers),
    )
    heartbeat = Heartbeat(f"{algorithm} on {environment.name}", environment)
    if progress is None:  # a notebook shows standard error, which is no terminal there
        progress = sys.stderr.isatty() or "ipykernel" in sys.modules
    if progress:
        with heartbeat:
            task = replace(task, observers=(*task.observers, heartbeat))
            result = entry.answer(task)
    else:
        result = entry.answer(task)
    result = judged(entry, result, environment, epsilon)
    for note in result.notes:
        warnings.warn(f"{algorithm}: {note}", LearningWarning, stacklevel=2)
    return result


def judged(
    entry: Algorithm, result: LearningResult, environment: Environment, epsilon: float
) -> LearningResult:
    """Add what playing the policies of a simulator gave, and notes, to a result."""
    with entry.playing():
        played = measured(environment, result.policies)
    notes: list[str] = []
    if result.succeeded:
        notes = doubts(environment, result.estimate, epsilon, played)
    return replace(result, evaluation=played, notes=tuple(notes))


def measured(environment: Any, policies: Sequence[Any] | None) -> Evaluation | None:
    """Evaluate what was learned on a simulator, whose plays are its only truth."""
    replays = getattr(environment, "replays", None)
    if replays is None or policies is None or None in policies:
        return None
    return evaluate(environment, policies, max(2, replays))


def doubts(
    environment: Environment, estimate: Any, epsilon: float, played: Evaluation | None
) -> list[str]:
    """Say why the success of a run may mean little, a sentence each."""
    found = []
    truth = environment.truth if knows_truth(environment) else None
    if truth is not None and epsilon >= truth.optimal_value:
        found.append(
            f"epsilon: every policy is within {epsilon:g} of V* = "
            f"{float(truth.optimal_value):.3g}; take a smaller epsilon"
        )
    elif truth is None and played is not None:
        most = played.mean + 4 * played.standard_error
        if epsilon >= most:
            found.append(
                f"epsilon: {epsilon:g} is more than what the policies get, {played}; "
                "if V* is about that, every policy is within epsilon of it; take a "
                "smaller epsilon, or an algorithm that finds more"
            )
    if estimate is None:
        return found
    margin = float(epsilon) / 4  # rounding, or the run's own accuracy, says nothing
    if not -margin <= estimate <= 1 + margin:
        found.append(
            f"estimate: {float(estimate):.3g} is outside [0, 1], where returns are; "
            "take more trajectories"
        )
    if played is not None:
        away = abs(float(estimate) - played.mean)
        if away > max(4 * played.standard_error, float(epsilon) / 4):
            found.append(
                f"estimate: {float(estimate):.3g}, but the policies get {played}; take "
                "more trajectories, or classes that hold better functions"
            )
    return found


def choose_classes(given: Any, entry: Algorithm, environment: Environment) -> Any:
    """Choose or check the kind of classes, or check classes handed in."""
    if given is None:
        unknown = entry.without_truth and not knows_truth(environment)
        return entry.without_truth if unknown else entry.default_classes
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
        if one is not None:
            check_class(f"classes: {what}", one, protocol)
    return given
