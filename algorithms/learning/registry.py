"""Learning algorithms by name, and how a task becomes a run of one.

>>> get("valor").default_classes
'tabular'
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Literal, get_args

import numpy as np

from ..assumptions.checks import realizability
from ..assumptions.closure import COMPLETENESS, complete_classes, violating_classes
from ..classes import (
    FinitePolicyClass,
    FiniteValueClass,
    PolicyClassByLevel,
    ValueClassByLevel,
)
from ..classes.q_functions import FiniteQClass
from ..environments.protocol import Environment, knows_truth, require_deterministic
from ..exact import OwnCodeError, calling, check_returned, raised
from ..exact.arrays import check_type
from .draw_classes import ClassKind, check_size, make_classes
from .events import Observer
from .monitors import Review, with_monitors
from .parameters import ByChoice, ByTheorem, Parameters, Version
from .problem import LearningResult, Problem

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
    as they are drawn, and stops the run if it raises (`show_classes`);
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
    """What an algorithm is declared with: see `declare`."""

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
    `deterministic` and `features` say whether hidden dynamics must be deterministic,
    and whether observations may be features.
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
    deterministic: bool = False
    features: bool = True

    @property
    def ours(self) -> bool:
        """Whether it is of this package: what another one raises is named."""
        function = self.run if self.parts is None else self.parts.learn
        return getattr(function, "__module__", "").startswith(_HERE)

    def answer(self, task: Task) -> LearningResult:
        """Run on a task; OwnCodeError for what one's own raises, or cannot return.

        A ValueError of an algorithm refuses the task.
        """
        before = task.environment.trajectories
        self.check_environment(task.environment)
        try:
            result = self.run(task)
        except Exception as error:
            if self.ours or isinstance(error, MemoryError | ValueError):
                raise
            message = f"algorithm {self.name!r} raised {raised(error)}"
            raise OwnCodeError(message) from error
        return self.checked(result, task.environment, before)

    def checked(
        self, result: LearningResult, environment: Environment, before: int
    ) -> LearningResult:
        """Give a result back, or raise OwnCodeError if it cannot be one of this run.

        `before` is how many trajectories had been collected when it began.
        """
        call = f"algorithm {self.name!r}"
        check_returned(call, result, LearningResult)
        drawn = environment.trajectories - before
        if wrong := result.fault(self.name, environment.horizon, drawn):
            raise OwnCodeError(f"{call} returned {wrong}")
        if not self.ours:
            with calling(f"{call} returned a LearningResult, whose record"):
                json.dumps(result.to_json(), allow_nan=False)
            if result.succeeded and knows_truth(environment):
                truth, policies = environment.truth, list(result.policies or ())
                with self.playing():
                    if truth.exact:
                        truth.policy_value(policies)
                    else:
                        rng = np.random.default_rng(0)
                        truth.estimate_policy_value(policies, 2, rng)
        return result

    def playing(self) -> AbstractContextManager[None]:
        """Name an algorithm that is not ours in what its policies raise."""
        call = f"algorithm {self.name!r}: playing its policies"
        return nullcontext() if self.ours else calling(call)

    def check_environment(self, environment: Environment) -> None:
        """Refuse dynamics or observations that it does not take, with a ValueError."""
        if self.deterministic:
            require_deterministic(environment, self.name)
        spaces = map(environment.space, range(1, environment.horizon + 1))
        if not (self.features or all(space.is_finite for space in spaces)):
            raise ValueError(
                f"{self.name} takes finitely many observations, but those of "
                f"{environment.name!r} are features"
            )

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


_HERE = f"{__name__.partition('.')[0]}."

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


CLASS_SETTINGS = {
    "size": "most members of a finite class of a level",
    "bound": "largest coefficient of linear value functions",
    "complete": "what finite classes are closed for: policy-value, policy or both",
    "violate": "an assumption that finite classes are made to violate, by its name",
}


def declare(
    name: str,
    summary: str,
    *,
    parameters: Callable[[Task, Problem], Any],
    learn: Callable[..., LearningResult],
    review: Callable[..., Review],
    settings: Mapping[str, str],
    classes: Callable[[Task], Problem] | None = None,
    default_classes: ClassKind = "tabular",
    assumptions: tuple[str, ...] = (),
    deterministic: bool = True,
    features: bool = True,
    kinds: tuple[ParameterKind, ...] = PARAMETER_KINDS,
) -> Algorithm:
    """Declare an algorithm for the registry.

    Parameters
    ----------
    name, summary, default_classes, assumptions, kinds
        As in `Algorithm`.
    parameters
        Of a task and its problem: see `by_kind`.
    learn
        Runs it: called with `Problem.arguments`, parameters and generator, and
        ``observers``.
    review
        Makes its monitors: called with problem and parameters.
    settings
        Beside those of classes.
    classes
        Draws the classes of a task; None: `classes_of`.
    deterministic
        Whether hidden dynamics must be: others are refused.
    features
        Whether observations may be features, which are refused otherwise.
    """
    parts = Parts(classes or classes_of, parameters, learn, review)

    def run(task: Task) -> LearningResult:
        environment = task.environment
        entry.check_kind("parameters", task.parameters)
        entry.check_environment(environment)
        problem = parts.classes(task)
        chosen = parameters(task, problem)
        given = (*problem.arguments, chosen, task.rng)
        before = environment.trajectories
        if not knows_truth(environment):
            result = learn(*given, observers=task.observers)
            return entry.checked(result, environment, before)
        monitors = review(problem, chosen)
        result = learn(*given, observers=(monitors, *task.observers))
        entry.checked(result, environment, before)
        return with_monitors(result, monitors.reports(result))

    entry = Algorithm(
        name,
        summary,
        run,
        default_classes,
        dict(settings) if classes else {**settings, **CLASS_SETTINGS},
        assumptions,
        kinds,
        parts=parts,
        deterministic=deterministic,
        features=features,
    )
    return entry


def by_kind(
    theorem: type[ByTheorem],
    practical: type[ByChoice],
    algorithm: str | None = None,
    *,
    squared: bool = False,
    defaults: Callable[[Task], Mapping[str, Any]] = lambda task: {},
    frugal: type[ByChoice] | None = None,
) -> Callable[[Task, Problem], Parameters]:
    """Choose a theorem's parameters or practical ones, as a task says.

    A free kind refuses, with a ValueError, settings that another one has.

    Parameters
    ----------
    theorem, practical, frugal
        The parameters; of the kind ``"frugal"`` where there are some.
    algorithm
        Whose constants; None: the first that they are for.
    squared
        Whether |G| is that for squared losses.
    defaults
        Free parameters of a task that settings may override.
    """
    free = {"practical": practical, "frugal": frugal}

    def choose(task: Task, problem: Problem) -> Parameters:
        sizes, chosen = sizes_of(task)
        kind = free.get(task.parameters)
        if kind is not None:
            if unknown := [name for name in chosen if name not in kind.settings()]:
                raise ValueError(f"{unknown[0]}: {task.parameters} parameters lack it")
            return kind(*sizes, algorithm, **{**defaults(task), **chosen})
        of_classes = log_sizes(problem.values, problem.policies, squared=squared)
        version: Version = "paper" if task.parameters == "paper" else "theorem"
        return theorem(*sizes, *of_classes, algorithm, version)

    return choose


def sizes_of(task: Task) -> tuple[tuple[float, float, int, int, int], dict[str, Any]]:
    """(ε, δ, M, K, H) of a task, and its other settings, which no theorem takes."""
    environment = task.environment
    chosen = {k: v for k, v in task.settings.items() if k not in CLASS_SETTINGS}
    m = chosen.pop("M", environment.max_states)
    refuse_fixed(task, chosen)
    sizes = m, environment.n_actions, environment.horizon
    return (task.epsilon, task.delta, *sizes), chosen


def refuse_fixed(task: Task, chosen: Mapping[str, Any]) -> None:
    """Refuse settings that the theorem makes, with a ValueError."""
    if chosen and task.parameters in ("theorem", "paper"):
        raise ValueError(
            f"{next(iter(chosen))}: set by the theorem; take practical parameters"
        )


def classes_of(task: Task) -> Problem:
    """Draw the classes of a task, or take those given; ValueError if unrealizable."""
    if isinstance(task.classes, FiniteQClass):
        raise ValueError("classes: Q-functions are for lsvee and olive; give (G, Π)")
    if isinstance(task.classes, tuple):
        given = [name for name in CLASS_SETTINGS if name in task.settings]
        if given:
            raise ValueError(f"{given[0]}: the classes are given, none are drawn")
        show_classes(task, *task.classes)
        return Problem(task.environment, *task.classes)
    chosen: dict[str, Any] = {
        name: task.settings[name] for name in CLASS_SETTINGS if name in task.settings
    }
    _refuse_idle(task.classes, chosen)
    complete = chosen.pop("complete", None)
    violate = chosen.pop("violate", None)
    if complete is None and violate is None:
        classes = make_classes(task.environment, task.classes, task.rng, **chosen)
    else:
        classes = _made_on_purpose(task, complete, violate, chosen.get("size", 128))
    show_classes(task, *classes)
    if not task.allow_unrealizable and knows_truth(task.environment):
        refuse_unrealizable(task.environment, *classes)
    return Problem(task.environment, *classes)


def _refuse_idle(kind: str, chosen: Mapping[str, Any]) -> None:
    for name, heeded in (("size", "finite"), ("bound", "linear")):
        if name in chosen and kind != heeded:
            raise ValueError(f"{name}: {kind} classes have none; take {heeded}")


def _made_on_purpose(
    task: Task, complete: Any, violate: Any, size: Any
) -> tuple[ValueClassByLevel, PolicyClassByLevel]:
    setting = "complete" if violate is None else "violate"
    if complete is not None and violate is not None:
        raise ValueError("complete and violate: choose one")
    if task.classes != "finite":
        raise ValueError(
            f"{setting}: {task.classes} classes are what they are; take finite"
        )
    check_size(size)
    if violate is not None:
        return violating_classes(task.environment, task.rng, violate, size=size)
    if complete not in COMPLETENESS:
        raise ValueError(f"complete: {complete!r} is none of {', '.join(COMPLETENESS)}")
    return complete_classes(task.environment, task.rng, complete, size=size)


def show_classes(
    task: Task, values: ValueClassByLevel, policies: PolicyClassByLevel
) -> None:
    """Show classes to the task's `on_classes`: for an entry that draws its own."""
    if task.on_classes is not None:
        task.on_classes(values, policies)


def show_q_functions(task: Task, functions: FiniteQClass) -> None:
    """Show the pairs of a class of Q-functions: max_a f(x, a), and the first argmax."""
    if task.on_classes is None:
        return
    tables = [functions.table(h) for h in range(1, functions.horizon + 1)]
    show_classes(
        task,
        ValueClassByLevel([FiniteValueClass(t.max(axis=2)) for t in tables]),
        PolicyClassByLevel(
            [FinitePolicyClass(t.argmax(axis=2), t.shape[2]) for t in tables]
        ),
    )


def refuse_unrealizable(
    environment: Environment, values: ValueClassByLevel, policies: PolicyClassByLevel
) -> None:
    """Refuse classes that are known to miss g* or π* with a ValueError."""
    found = realizability(environment, values, policies)
    if found.holds is False:
        raise ValueError(
            f"{found.reason}: realizability is violated, so the guarantee has no "
            "ground (paper, assumptions on π* and g*)"
        )


def log_sizes(
    values: ValueClassByLevel | None = None,
    policies: PolicyClassByLevel | None = None,
    *,
    squared: bool = False,
) -> tuple[float, float]:
    """Logarithms of |G| (for squared losses if wanted) and |Π|; 0 for None."""
    try:
        return (
            0.0 if values is None else values.log_size(squared=squared),
            0.0 if policies is None else policies.log_size(),
        )
    except ValueError as error:
        raise ValueError(
            f"theorem parameters need classes of finite size ({error}); take "
            "practical parameters, or tabular or finite classes"
        ) from None
