"""The two-sample algorithm as an entry of the registry of algorithms."""

from __future__ import annotations

from olivine.algorithms.classes import PolicyClassByLevel, ValueClassByLevel
from olivine.algorithms.environments.protocol import require_deterministic
from olivine.algorithms.learning.registry import Algorithm, Task, register
from olivine.algorithms.learning.result import LearningResult
from olivine.algorithms.learning.tasks import (
    CLASS_SETTINGS,
    classes_of,
    log_sizes,
    monitored,
    problem_of,
)
from olivine.algorithms.two_sample.learner import two_sample
from olivine.algorithms.two_sample.monitors import TwoSampleMonitors
from olivine.algorithms.two_sample.parameters import (
    TWO_SAMPLE,
    TwoSampleParameters,
    TwoSamplePracticalParameters,
    TwoSampleTheoremParameters,
)

PRACTICAL_SETTINGS = {
    "n_train": "draws of a data set",
    "n_exp": "paths explored on demand",
    "n_eval": "trajectories of an evaluation",
    "tau": "accuracy of means; the identity test compares with 2τ",
    "tau_V": "accuracy of policy values",
    "tau_L": "accuracy of squared losses",
    "oracle_share": "what oracles may be off by, as a share of these",
    "T_max": "dfslearn calls of a level",
    "max_iterations": "iterations of MetaAlg",
    "repeat_paths": "whether paths explored on demand are explored again",
    "balanced": "whether actions are taken equally often",
}

SETTINGS = (
    {"M": "bound on the hidden states of a level"} | CLASS_SETTINGS | PRACTICAL_SETTINGS
)


def _parameters(
    task: Task, values: ValueClassByLevel, policies: PolicyClassByLevel
) -> TwoSampleParameters:
    problem, chosen = problem_of(task)
    if task.parameters == "practical":
        return TwoSamplePracticalParameters(*problem, **chosen)
    sizes = log_sizes(values, policies, squared=True)
    return TwoSampleTheoremParameters(*problem, *sizes, version=task.parameters)


def _run(task: Task) -> LearningResult:
    require_deterministic(task.environment, TWO_SAMPLE)
    values, policies = classes_of(task)
    parameters = _parameters(task, values, policies)
    monitors = TwoSampleMonitors(task.environment, values, policies, parameters)
    return monitored(task, two_sample, monitors, values, policies, parameters)


register(
    Algorithm(
        TWO_SAMPLE,
        "states told apart by a two-sample test, values by regression (Algorithm 5)",
        _run,
        settings=SETTINGS,
        assumptions=("policy-realizability", "clipped-policy-value-completeness"),
    )
)
