"""The global policy algorithm as an entry of the registry of algorithms."""

from __future__ import annotations

from dataclasses import replace

from olivine.algorithms.classes import PolicyClassByLevel, ValueClassByLevel
from olivine.algorithms.environments.protocol import require_deterministic
from olivine.algorithms.global_policy.learner import global_policy
from olivine.algorithms.global_policy.monitors import GlobalPolicyMonitors
from olivine.algorithms.global_policy.parameters import (
    GLOBAL_POLICY,
    GlobalPolicyParameters,
    GlobalPolicyPracticalParameters,
    GlobalPolicyTheoremParameters,
)
from olivine.algorithms.learning.registry import Algorithm, Task, register
from olivine.algorithms.learning.result import LearningResult
from olivine.algorithms.learning.tasks import (
    CLASS_SETTINGS,
    classes_of,
    log_sizes,
    monitored,
    problem_of,
)

SETTINGS = (
    {"M": "bound on the hidden states of a level"}
    | CLASS_SETTINGS
    | {
        "n_test": "draws of D and of each D'_q",
        "n_train": "draws of each D_q",
        "tau_val": "statistical accuracy of tests",
        "tau_pol": "statistical accuracy of training sets",
        "eps_sub": "optimality asked of the oracles",
        "eps_feas": "feasibility asked of the oracles",
        "slack": "φ of every level",
        "T_max": "calls of dfslearn, and of TestLearned",
        "fall_back": "whether to go on where a program is infeasible",
    }
)


def choose_parameters(
    task: Task, values: ValueClassByLevel, policies: PolicyClassByLevel
) -> GlobalPolicyParameters:
    """Parameters for a task.

    Raises
    ------
    ValueError
        If a setting does not go with the kind of parameters, or is out of range; if
        a theorem's parameters are wanted for classes that are not finite.
    """
    problem, chosen = problem_of(task)
    if task.parameters == "practical":
        return GlobalPolicyPracticalParameters(*problem, **chosen)
    sizes = log_sizes(values, policies)
    return GlobalPolicyTheoremParameters(*problem, *sizes, version=task.parameters)


def complete(task: Task) -> Task:
    """Ask for policy complete classes where finite ones are to be drawn.

    Random ones are hardly ever complete. Where observations are features, products
    over the hidden states are what there is.
    """
    env = task.environment
    codes = all(env.space(h).is_finite for h in range(1, env.horizon + 1))
    if task.classes != "finite" or not codes or "violate" in task.settings:
        return task
    return replace(task, settings={"complete": "policy"} | dict(task.settings))


def _run(task: Task) -> LearningResult:
    require_deterministic(task.environment, GLOBAL_POLICY)
    values, policies = classes_of(complete(task))
    parameters = choose_parameters(task, values, policies)
    monitors = GlobalPolicyMonitors(task.environment, values, policies, parameters)
    return monitored(task, global_policy, monitors, values, policies, parameters)


register(
    Algorithm(
        GLOBAL_POLICY,
        "one policy for all states, tested by roll-outs (Algorithm 6)",
        _run,
        settings=SETTINGS,
        assumptions=("value-realizability", "policy-completeness"),
    )
)
