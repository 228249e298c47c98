"""The global policy algorithm (paper, Algorithm 6), and what is claimed of it."""

from dataclasses import replace

from ..learning.problem import Problem
from ..learning.registry import CLASS_SETTINGS, Task, by_kind, classes_of, declare
from .algorithm import global_policy
from .parameters import (
    GLOBAL_POLICY,
    GlobalPolicyParameters,
    GlobalPolicyPracticalParameters,
    GlobalPolicyTheoremParameters,
)
from .review import GlobalPolicyMonitors

__all__ = [
    "ALGORITHMS",
    "GLOBAL_POLICY",
    "GlobalPolicyMonitors",
    "GlobalPolicyParameters",
    "GlobalPolicyPracticalParameters",
    "GlobalPolicyTheoremParameters",
    "global_policy",
]


def _complete_classes(task: Task) -> Problem:
    """Draw finite classes that are policy complete; random ones hardly ever are."""
    env = task.environment
    codes = all(env.space(h).is_finite for h in range(1, env.horizon + 1))
    if task.classes == "finite" and codes and "violate" not in task.settings:
        task = replace(task, settings={"complete": "policy"} | dict(task.settings))
    return classes_of(task)


ALGORITHMS = (
    declare(
        GLOBAL_POLICY,
        "one policy for all states, tested by roll-outs (Algorithm 6)",
        parameters=by_kind(
            GlobalPolicyTheoremParameters, GlobalPolicyPracticalParameters
        ),
        learn=global_policy,
        review=GlobalPolicyMonitors,
        classes=_complete_classes,
        settings=GlobalPolicyParameters.settings() | CLASS_SETTINGS,
        assumptions=("value-realizability", "policy-completeness"),
    ),
)
