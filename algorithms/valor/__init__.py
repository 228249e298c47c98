"""VALOR: values stored locally for RL (paper, Algorithms 1 to 4)."""

from collections.abc import Mapping
from typing import Any

from olivine.algorithms.learning.registry import Task
from olivine.algorithms.learning.tasks import by_kind, declare
from olivine.algorithms.valor.algorithm import valor, valor_constrained
from olivine.algorithms.valor.parameters import (
    CONSTRAINED,
    VALOR,
    PracticalParameters,
    TheoremParameters,
    ValorParameters,
    linear_defaults,
)
from olivine.algorithms.valor.review import ValorMonitors

__all__ = [
    "ALGORITHMS",
    "CONSTRAINED",
    "VALOR",
    "PracticalParameters",
    "TheoremParameters",
    "ValorMonitors",
    "ValorParameters",
    "linear_defaults",
    "valor",
    "valor_constrained",
]


def _defaults(task: Task) -> Mapping[str, Any]:
    linear = task.classes == "linear"
    return linear_defaults(task.environment, task.epsilon) if linear else {}


ALGORITHMS = tuple(
    declare(
        name,
        summary,
        parameters=by_kind(
            TheoremParameters, PracticalParameters, name, defaults=_defaults
        ),
        learn=learn,
        review=ValorMonitors,
        settings=ValorParameters.settings(),
        assumptions=("policy-realizability", "value-realizability"),
    )
    for name, summary, learn in (
        (VALOR, "values stored locally, pooled policy step (Algorithms 1 to 3)", valor),
        (
            CONSTRAINED,
            "VALOR with a constrained policy step (Algorithm 4)",
            valor_constrained,
        ),
    )
)
