"""Baselines for contrast: known algorithms beside which VALOR and OLIVE are seen."""

from collections.abc import Callable
from typing import Any

from ..learning.problem import Problem
from ..learning.registry import (
    CLASS_SETTINGS,
    Algorithm,
    Task,
    classes_of,
    declare,
    log_sizes,
    sizes_of,
)
from .backwards import backup, fqi, psdp
from .parameters import (
    BACKUP,
    FQI,
    PSDP,
    RMAX,
    BatchParameters,
    RmaxParameters,
    practical_parameters,
    rmax_practical,
    rmax_theorem,
    theorem_parameters,
)
from .review import BaselineMonitors
from .rmax import Decoding, rmax

__all__ = [
    "ALGORITHMS",
    "BatchParameters",
    "RmaxParameters",
    "backup",
    "fqi",
    "practical_parameters",
    "psdp",
    "rmax",
    "rmax_practical",
    "rmax_theorem",
    "theorem_parameters",
]

_ENOUGH: dict[str, tuple[str, ...]] = {
    PSDP: ("policy", "both"),
    FQI: (),
    BACKUP: ("policy-value", "both"),
}  # what finite classes may be closed for to be what the guarantee asks for


def _refuse_paper(task: Task, name: str) -> None:
    if task.parameters == "paper":
        raise ValueError(
            f"params: 'paper', but the paper prints no constants for {name}, a "
            "baseline; take 'theorem' (sufficient sizes) or 'practical'"
        )


def _batch(
    name: str,
    summary: str,
    learn: Callable[..., Any],
    takes: tuple[str, ...],
    settings: dict[str, str],
    *assumptions: str,
) -> Algorithm:
    """Declare an algorithm that goes backwards; ``takes`` values, policies or both."""

    def classes(task: Task) -> Problem:
        _refuse_paper(task, name)
        made = task.settings.get("complete")
        complete = task.classes == "tabular" or made in _ENOUGH[name]
        drawn = classes_of(task)
        return Problem(
            task.environment,
            drawn.values if "values" in takes else None,
            drawn.policies if "policies" in takes else None,
            complete,
        )

    def parameters(task: Task, problem: Problem) -> BatchParameters:
        (eps, delta, _, k, h), chosen = sizes_of(task)
        sizes = {"M": task.environment.max_states, "K": k, "H": h}
        if task.parameters == "practical":
            return practical_parameters(name, eps, delta, **chosen, **sizes)
        log_values, log_policies = log_sizes(
            problem.values, problem.policies, squared=True
        )
        return theorem_parameters(
            name, eps, delta, **sizes, log_G=log_values, log_Pi=log_policies
        )

    return declare(
        name,
        summary,
        parameters=parameters,
        learn=learn,
        review=BaselineMonitors,
        classes=classes,
        settings=CLASS_SETTINGS | settings,
        assumptions=assumptions,
        deterministic=name == BACKUP,
    )


def _rmax_parameters(task: Task, problem: Problem) -> RmaxParameters:
    _refuse_paper(task, RMAX)
    (eps, delta, _, k, h), chosen = sizes_of(task)
    sizes = {"X": Decoding(task.environment).most_cells, "K": k, "H": h}
    if task.parameters == "practical":
        return rmax_practical(eps, delta, **sizes, **chosen)
    return rmax_theorem(eps, delta, **sizes)


_CHOICES = BatchParameters.settings()
_SIZES = {name: _CHOICES[name] for name in ("n", "eps_sub")}

ALGORITHMS = (
    _batch(
        PSDP,
        "policy search by dynamic programming, uniform roll-in",
        psdp,
        ("policies",),
        _SIZES,
        "policy-completeness",
    ),
    # Its assumption, completeness of Q-functions, is none of the paper's four.
    _batch(FQI, "fitted Q iteration, uniform roll-in", fqi, ("values",), _SIZES),
    _batch(
        BACKUP,
        "Bellman backups from samples of every state (appendix)",
        backup,
        ("values", "policies"),
        _CHOICES | {"n": "trajectories a state"},
        "clipped-policy-value-completeness",
    ),
    declare(
        RMAX,
        "R-max with decoded hidden states: a reference, no classes",
        parameters=_rmax_parameters,
        learn=rmax,
        review=BaselineMonitors,
        classes=lambda task: Problem(task.environment, complete=True),
        settings=RmaxParameters.settings(),
        deterministic=False,
    ),
)
