"""What the entries of the registry share: classes, parameters and settings of a task.

An algorithm's own module turns a `registry.Task` into a run; these functions
read the task's settings, draw its classes and check that they are realizable.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from algorithms.class_choice import make_classes
from algorithms.classes import PolicyClassByLevel, ValueClassByLevel
from algorithms.environments.protocol import Environment
from algorithms.parameters import Parameters, PracticalParameters, TheoremParameters
from algorithms.realizability import realizability
from algorithms.registry import Task
from algorithms.result import LearningResult

CLASS_SETTINGS = {
    "size": "most members of a finite class of a level",
    "bound": "largest coefficient of linear value functions",
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


def choose_parameters(
    task: Task, algorithm: str, log_sizes: Callable[[], tuple[float, float]]
) -> Parameters:
    """Parameters for a task; ``log_sizes`` is asked only for a theorem's.

    Raises
    ------
    ValueError
        If a setting does not go with the kind of parameters, or is out of range.
    """
    environment, chosen = task.environment, dict(task.settings)
    for name in CLASS_SETTINGS:
        chosen.pop(name, None)
    m = chosen.pop("M", environment.max_states)
    k, h = environment.n_actions, environment.horizon
    if task.parameters == "practical":
        return PracticalParameters(
            task.epsilon, task.delta, m, k, h, algorithm=algorithm, **chosen
        )
    if chosen:
        raise ValueError(
            f"{next(iter(chosen))}: set by the theorem; take practical parameters"
        )
    log_values, log_policies = log_sizes()
    return TheoremParameters(
        task.epsilon,
        task.delta,
        m,
        k,
        h,
        log_values,
        log_policies,
        algorithm=algorithm,
        version=task.parameters,
    )


def classes_of(task: Task) -> tuple[ValueClassByLevel, PolicyClassByLevel]:
    """Classes for a task, drawn by its generator.

    Raises
    ------
    ValueError
        If they do not go with the environment, or are not realizable.
    """
    chosen: dict[str, Any] = {
        name: task.settings[name] for name in CLASS_SETTINGS if name in task.settings
    }
    values, policies = make_classes(task.environment, task.classes, task.rng, **chosen)
    refuse_unrealizable(task.environment, values, policies)
    return values, policies


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
    values: ValueClassByLevel, policies: PolicyClassByLevel
) -> tuple[float, float]:
    """Logarithms of |G| and |Π|; ValueError where a class is not finite."""
    try:
        return values.log_size(), policies.log_size()
    except ValueError as error:
        raise ValueError(
            f"theorem parameters need classes of finite size ({error}); take "
            "practical parameters, or tabular or finite classes"
        ) from None


def true_value(environment: Environment, result: LearningResult) -> Fraction | None:
    """V^π of the policies returned, where it is known exactly."""
    if result.policies is None or not environment.truth.exact:
        return None
    return environment.truth.policy_value(list(result.policies))
