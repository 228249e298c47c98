"""What the entries of the registry share: classes, parameters and settings of a task.

An algorithm's own module turns a `registry.Task` into a run; these functions
read the task's settings, draw its classes and check that they are realizable.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Protocol

from olivine.algorithms.assumptions.closure import COMPLETENESS, complete_classes
from olivine.algorithms.assumptions.realizability import realizability
from olivine.algorithms.assumptions.violating import violating_classes
from olivine.algorithms.classes import (
    FinitePolicyClass,
    FiniteValueClass,
    PolicyClassByLevel,
    ValueClassByLevel,
)
from olivine.algorithms.classes.q_functions import FiniteQClass
from olivine.algorithms.environments.protocol import Environment
from olivine.algorithms.learning.draw_classes import check_size, make_classes
from olivine.algorithms.learning.monitors import with_monitors
from olivine.algorithms.learning.parameters import (
    Parameters,
    PracticalParameters,
    TheoremParameters,
)
from olivine.algorithms.learning.registry import Task
from olivine.algorithms.learning.result import LearningResult, MonitorReport

CLASS_SETTINGS = {
    "size": "most members of a finite class of a level",
    "bound": "largest coefficient of linear value functions",
    "complete": "what finite classes are closed for: policy-value, policy or both",
    "violate": "an assumption that finite classes are made to violate, by its name",
}

PRACTICAL_SETTINGS = {
    "n_test": "draws of a consensus test",
    "n_train": "draws of a stored data set",
    "n_exp": "paths explored on demand",
    "n_eval": "trajectories of an evaluation",
    "eps_stat": "statistical accuracy",
    "eps_sub": "optimality asked of the oracles",
    "eps_feas": "feasibility asked of the oracles",
    "slack": "φ of every level",
    "T_max": "dfslearn calls of a level",
    "max_iterations": "iterations of MetaAlg",
    "repeat_paths": "whether paths with data are explored again",
    "fall_back": "whether to go on where a program is infeasible",
    "clip": "whether learned values are clipped to [0, 1]",
    "balanced": "whether actions are taken equally often",
}

SETTINGS = (
    {"M": "bound on the hidden states of a level"} | CLASS_SETTINGS | PRACTICAL_SETTINGS
)


class Monitors(Protocol):
    """Observers of a run that know the truth."""

    def reports(self, result: LearningResult) -> Mapping[str, MonitorReport]:
        """Check the run that ended with this result."""


def choose_parameters(
    task: Task,
    algorithm: str,
    log_sizes: Callable[[], tuple[float, float]],
    defaults: Mapping[str, Any] = MappingProxyType({}),
) -> Parameters:
    """Parameters for a task.

    Parameters
    ----------
    task
        Kind of parameters, accuracies, settings.
    algorithm
        Whose constants.
    log_sizes
        Gives ln |G| and ln |Π|; asked only for a theorem's constants.
    defaults
        Practical parameters that settings may override.

    Raises
    ------
    ValueError
        If a setting does not go with the kind of parameters, or is out of range.
    """
    problem, chosen = problem_of(task)
    if task.parameters == "practical":
        return PracticalParameters(
            *problem, algorithm=algorithm, **{**defaults, **chosen}
        )
    return TheoremParameters(
        *problem, *log_sizes(), algorithm=algorithm, version=task.parameters
    )


def problem_of(
    task: Task,
) -> tuple[tuple[float, float, int, int, int], dict[str, Any]]:
    """(ε, δ, M, K, H) of a task, and the settings beside M and those of classes.

    Raises
    ------
    ValueError
        If there are such settings and a theorem sets them.
    """
    environment = task.environment
    chosen = {k: v for k, v in task.settings.items() if k not in CLASS_SETTINGS}
    m = chosen.pop("M", environment.max_states)
    refuse_fixed(task, chosen)
    sizes = m, environment.n_actions, environment.horizon
    return (task.epsilon, task.delta, *sizes), chosen


def refuse_fixed(task: Task, chosen: Mapping[str, Any]) -> None:
    """Refuse settings that the theorem makes, with a ValueError."""
    if chosen and task.parameters != "practical":
        raise ValueError(
            f"{next(iter(chosen))}: set by the theorem; take practical parameters"
        )


def monitored(
    task: Task, learn: Callable[..., LearningResult], monitors: Monitors, *given: Any
) -> LearningResult:
    """Run an algorithm on a task and add what its monitors report.

    Parameters
    ----------
    task
        Gives the environment, the generator and further observers.
    learn
        Called with the environment, what is given, and the generator.
    monitors
        Watch the run.
    given
        Classes and parameters.
    """
    observers = (monitors, *task.observers)
    result = learn(task.environment, *given, task.rng, observers=observers)
    return with_monitors(result, monitors.reports(result))


def classes_of(task: Task) -> tuple[ValueClassByLevel, PolicyClassByLevel]:
    """Classes for a task, drawn by its generator.

    Raises
    ------
    ValueError
        If they do not go with the environment, or are not realizable (unless the
        task insists).
    """
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
    if not task.insist:
        refuse_unrealizable(task.environment, *classes)
    return classes


def _refuse_idle(kind: str, chosen: Mapping[str, Any]) -> None:
    """Refuse settings that classes of this kind would not heed."""
    for name, heeded in (("size", "finite"), ("bound", "linear")):
        if name in chosen and kind != heeded:
            raise ValueError(f"{name}: {kind} classes have none; take {heeded}")


def _made_on_purpose(
    task: Task, complete: Any, violate: Any, size: Any
) -> tuple[ValueClassByLevel, PolicyClassByLevel]:
    """Make finite classes that satisfy, or violate, an assumption."""
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
    """Show classes to whoever examines them: what an entry calls that draws its own."""
    if task.examine is not None:
        task.examine(values, policies)


def show_q_functions(task: Task, functions: FiniteQClass) -> None:
    """Show the pairs of a class of Q-functions: max_a f(x, a), and the first argmax."""
    if task.examine is None:
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
    values: ValueClassByLevel | None,
    policies: PolicyClassByLevel | None,
    *,
    squared: bool = False,
) -> tuple[float, float]:
    """Logarithms of |G|, for squared losses if wanted, and of |Π|; 0 for None.

    Raises
    ------
    ValueError
        Where a class is not finite.
    """
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
