"""LSVEE (Krishnamurthy, Agarwal, Langford 2016): value elimination by enumeration."""

from ..classes.q_functions import FiniteQClass
from ..learning.draw_classes import make_q_class
from ..learning.parameters import Version
from ..learning.problem import Problem
from ..learning.registry import Task, declare, show_q_functions, sizes_of
from .algorithm import lsvee
from .parameters import LSVEE, LsveeParameters, LsveePractical, LsveeTheorem
from .review import LsveeMonitors

__all__ = [
    "ALGORITHMS",
    "LsveeMonitors",
    "LsveeParameters",
    "LsveePractical",
    "LsveeTheorem",
    "lsvee",
]


def _class(task: Task) -> Problem:
    if isinstance(task.classes, FiniteQClass):
        return Problem(task.environment, task.classes)
    if task.classes != "finite":
        kind = "such" if isinstance(task.classes, tuple) else task.classes
        raise ValueError(
            f"classes: lsvee evaluates every function of its class in each step, which "
            f"{kind} classes are too large for; take finite, or a FiniteQClass"
        )
    size = {name: task.settings[name] for name in ("size",) if name in task.settings}
    functions = make_q_class(task.environment, task.rng, **size)
    show_q_functions(task, functions)
    return Problem(task.environment, functions)


def _parameters(task: Task, problem: Problem) -> LsveeParameters:
    sizes, chosen = sizes_of(task)
    size = len(problem.values)
    if task.parameters == "practical":
        return LsveePractical(*sizes, size, **chosen)
    version: Version = "paper" if task.parameters == "paper" else "theorem"
    return LsveeTheorem(*sizes, size, version=version)


ALGORITHMS = (
    declare(
        LSVEE,
        "value elimination by enumeration of Q-functions (Krishnamurthy et al. 2016)",
        parameters=_parameters,
        learn=lsvee,
        review=LsveeMonitors,
        classes=_class,
        default_classes="finite",
        settings=LsveeParameters.settings() | {"size": "most functions in the class"},
        # For Q-functions: Q* in F (which also puts π* and g* among π_f and max_a f).
        assumptions=("value-realizability",),
    ),
)
