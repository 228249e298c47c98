"""LSVEE as an entry of the registry of algorithms."""

from __future__ import annotations

from typing import Any

from olivine.algorithms.environments.protocol import require_deterministic
from olivine.algorithms.learning.draw_q_functions import make_q_class
from olivine.algorithms.learning.registry import Algorithm, Task, register
from olivine.algorithms.learning.result import LearningResult
from olivine.algorithms.learning.tasks import monitored, refuse_fixed, show_q_functions
from olivine.algorithms.lsvee.lsvee import NAME, lsvee
from olivine.algorithms.lsvee.monitors import LsveeMonitors
from olivine.algorithms.lsvee.parameters import LsveeParameters
from olivine.algorithms.lsvee.practical import LsveePractical
from olivine.algorithms.lsvee.theorem import LsveeTheorem

SETTINGS = {
    "M": "bound on the hidden states of a level",
    "size": "most functions in the class",
    "n_test": "draws of a consensus test",
    "n_train": "draws of an elimination",
    "slack": "excess risk with which functions stay",
    "tolerance": "largest difference of values that is a consensus",
    "n_exp": "paths explored on demand",
    "n_eval": "trajectories of an evaluation",
    "max_eliminations": "states that one call of DFS-learn may learn",
    "max_iterations": "policies tried",
    "repeat_paths": "whether learned paths are learned again on demand",
}


def run(task: Task) -> LearningResult:
    """Draw a class that holds Q* and run LSVEE on it, with monitors.

    Raises
    ------
    ValueError
        For stochastic dynamics, classes that are not finite, or settings that do
        not go with the parameters.
    """
    environment, chosen = task.environment, dict(task.settings)
    require_deterministic(environment, NAME)
    if task.classes != "finite":
        raise ValueError(
            f"classes: lsvee evaluates every function of its class in each step, which "
            f"{task.classes} classes are too large for; take finite"
        )
    size = {"size": chosen.pop("size")} if "size" in chosen else {}
    functions = make_q_class(environment, task.rng, **size)
    show_q_functions(task, functions)
    parameters = _parameters(task, chosen, len(functions))
    monitors = LsveeMonitors(environment, functions, parameters)
    return monitored(task, lsvee, monitors, functions, parameters)


def _parameters(task: Task, chosen: dict[str, Any], size: int) -> LsveeParameters:
    environment = task.environment
    m = chosen.pop("M", environment.max_states)
    problem = (
        task.epsilon,
        task.delta,
        m,
        environment.n_actions,
        environment.horizon,
        size,
    )
    if task.parameters == "practical":
        return LsveePractical(*problem, **chosen)
    refuse_fixed(task, chosen)
    return LsveeTheorem(*problem, version=task.parameters)


register(
    Algorithm(
        NAME,
        "value elimination by enumeration of Q-functions (Krishnamurthy et al. 2016)",
        run,
        default_classes="finite",
        settings=SETTINGS,
        # For Q-functions: Q* in F (which also puts π* and g* among π_f and max_a f).
        assumptions=("value-realizability",),
    )
)
