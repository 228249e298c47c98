"""VALOR and its constrained form as entries of the registry of algorithms."""

from __future__ import annotations

from collections.abc import Callable

from olivine.algorithms.environments.protocol import require_deterministic
from olivine.algorithms.learning.parameters import CONSTRAINED, VALOR
from olivine.algorithms.learning.registry import Algorithm, Task, register
from olivine.algorithms.learning.result import LearningResult
from olivine.algorithms.learning.tasks import (
    SETTINGS,
    choose_parameters,
    classes_of,
    log_sizes,
    monitored,
)
from olivine.algorithms.valor.constrained import valor_constrained
from olivine.algorithms.valor.linear_defaults import linear_defaults
from olivine.algorithms.valor.monitors import ValorMonitors
from olivine.algorithms.valor.pooled import valor

FRESH = {"n_fresh": "fresh trajectories to measure a learned value on"}
REALIZABILITY = ("policy-realizability", "value-realizability")


def _runner(
    name: str, learn: Callable[..., LearningResult]
) -> Callable[[Task], LearningResult]:
    def run(task: Task) -> LearningResult:
        require_deterministic(task.environment, name)
        values, policies = classes_of(task)
        linear = task.classes == "linear"
        parameters = choose_parameters(
            task,
            name,
            lambda: log_sizes(values, policies),
            linear_defaults(task.environment, task.epsilon) if linear else {},
        )
        monitors = ValorMonitors(task.environment, values, policies, parameters)
        return monitored(task, learn, monitors, values, policies, parameters)

    return run


register(
    Algorithm(
        VALOR,
        "values stored locally, pooled policy step (Algorithms 1 to 3)",
        _runner(VALOR, valor),
        settings=SETTINGS | FRESH,
        assumptions=REALIZABILITY,
    )
)
register(
    Algorithm(
        CONSTRAINED,
        "VALOR with a constrained policy step (Algorithm 4)",
        _runner(CONSTRAINED, valor_constrained),
        settings=SETTINGS | FRESH,
        assumptions=REALIZABILITY,
    )
)
