"""VALOR: values stored locally for RL (paper, Algorithms 1 to 4)."""

from collections.abc import Mapping
from typing import Any

from ..learning.registry import PARAMETER_KINDS, Task, by_kind, declare
from .algorithm import valor, valor_constrained
from .frugal import FrugalValues
from .parameters import (
    CONSTRAINED,
    VALOR,
    FrugalFields,
    FrugalParameters,
    PracticalParameters,
    TheoremParameters,
    ValorParameters,
    frugal_defaults,
    linear_defaults,
)
from .review import ValorMonitors

__all__ = [
    "ALGORITHMS",
    "CONSTRAINED",
    "VALOR",
    "FrugalParameters",
    "FrugalValues",
    "PracticalParameters",
    "TheoremParameters",
    "ValorMonitors",
    "ValorParameters",
    "frugal_defaults",
    "linear_defaults",
    "valor",
    "valor_constrained",
]


def _defaults(task: Task) -> Mapping[str, Any]:
    if task.classes != "linear":
        return {}
    choose = frugal_defaults if task.parameters == "frugal" else linear_defaults
    return choose(task.environment, task.epsilon)


ALGORITHMS = tuple(
    declare(
        name,
        summary,
        parameters=by_kind(
            TheoremParameters,
            PracticalParameters,
            name,
            defaults=_defaults,
            frugal=FrugalParameters,
        ),
        learn=learn,
        review=ValorMonitors,
        settings=FrugalFields.settings(),
        kinds=(*PARAMETER_KINDS, "frugal"),
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
