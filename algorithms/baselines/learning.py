"""The baselines as entries of the registry of algorithms."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from olivine.algorithms.baselines.backup import backup
from olivine.algorithms.baselines.decoding import Decoding
from olivine.algorithms.baselines.fqi import fqi
from olivine.algorithms.baselines.monitors import BaselineMonitors
from olivine.algorithms.baselines.parameters import (
    BACKUP,
    FQI,
    PSDP,
    BatchParameters,
    practical_parameters,
    theorem_parameters,
)
from olivine.algorithms.baselines.psdp import psdp
from olivine.algorithms.baselines.rmax import rmax
from olivine.algorithms.baselines.rmax_parameters import (
    RMAX,
    rmax_practical,
    rmax_theorem,
)
from olivine.algorithms.classes import PolicyClassByLevel, ValueClassByLevel
from olivine.algorithms.environments.protocol import Environment, require_deterministic
from olivine.algorithms.learning.registry import Algorithm, Task, register
from olivine.algorithms.learning.result import LearningResult
from olivine.algorithms.learning.tasks import (
    CLASS_SETTINGS,
    classes_of,
    log_sizes,
    monitored,
    refuse_fixed,
)

_ACCURACY = {"eps_sub": "optimality asked of the oracles"}
_SETTINGS: dict[str, Mapping[str, str]] = {
    PSDP: {"n": "trajectories a level"} | _ACCURACY,
    FQI: {"n": "trajectories a level"} | _ACCURACY,
    BACKUP: {"n": "trajectories a state"}
    | _ACCURACY
    | {
        "on_policy": "whether values are fitted to trajectories of their own",
        "per_action": "whether each action is sampled n times in each state",
    },
    RMAX: {
        "m": "visits that make a pair known",
        "n": "episodes of a batch",
        "max_batches": "batches after which the run fails",
    },
}

_Learn = Callable[..., LearningResult]


def _run_psdp(
    environment: Environment, values: Any, policies: Any, *rest: Any, **more: Any
) -> LearningResult:
    return psdp(environment, policies, *rest, **more)


def _run_fqi(
    environment: Environment, values: Any, policies: Any, *rest: Any, **more: Any
) -> LearningResult:
    return fqi(environment, values, *rest, **more)


def _runner(name: str, learn: _Learn) -> Callable[[Task], LearningResult]:
    def run(task: Task) -> LearningResult:
        _refuse_paper(task, name)
        if name == BACKUP:
            require_deterministic(task.environment, name)
        values, policies = classes_of(task)
        parameters = _parameters(task, name, values, policies)
        monitors = BaselineMonitors(
            task.environment, parameters, complete=_complete(task, name)
        )
        return monitored(task, learn, monitors, values, policies, parameters)

    return run


def _run_rmax(task: Task) -> LearningResult:
    _refuse_paper(task, RMAX)
    environment = task.environment
    sizes = {
        "X": Decoding(environment).most_cells,
        "K": environment.n_actions,
        "H": environment.horizon,
    }
    chosen = _chosen(task)
    if task.parameters == "practical":
        parameters = rmax_practical(task.epsilon, task.delta, **sizes, **chosen)
    else:
        parameters = rmax_theorem(task.epsilon, task.delta, **sizes)
    monitors = BaselineMonitors(environment, parameters, complete=True)
    return monitored(task, rmax, monitors, parameters)


def _refuse_paper(task: Task, name: str) -> None:
    if task.parameters == "paper":
        raise ValueError(
            f"params: 'paper', but the paper prints no constants for {name}, a "
            "baseline; take 'theorem' (sufficient sizes) or 'practical'"
        )


def _complete(task: Task, name: str) -> bool:
    """Whether the classes drawn are known to be what the guarantee asks for."""
    if task.classes == "tabular":
        return True
    made = task.settings.get("complete")
    enough = {PSDP: ("policy", "both"), BACKUP: ("policy-value", "both"), FQI: ()}
    return made in enough[name]


def _chosen(task: Task) -> dict[str, Any]:
    """Give the settings beside those of classes; a theorem sets them itself."""
    chosen = {k: v for k, v in task.settings.items() if k not in CLASS_SETTINGS}
    refuse_fixed(task, chosen)
    return chosen


def _parameters(
    task: Task, name: str, values: ValueClassByLevel, policies: PolicyClassByLevel
) -> BatchParameters:
    environment, chosen = task.environment, _chosen(task)
    sizes = {
        "M": environment.max_states,
        "K": environment.n_actions,
        "H": environment.horizon,
    }
    if task.parameters == "practical":
        chosen |= sizes
        return practical_parameters(name, task.epsilon, task.delta, **chosen)
    log_values, log_policies = log_sizes(
        None if name == PSDP else values,
        None if name == FQI else policies,
        squared=True,
    )
    return theorem_parameters(
        name, task.epsilon, task.delta, **sizes, log_G=log_values, log_Pi=log_policies
    )


_ENTRIES: tuple[tuple[str, str, _Learn, tuple[str, ...]], ...] = (
    (
        PSDP,
        "policy search by dynamic programming, uniform roll-in",
        _run_psdp,
        ("policy-completeness",),
    ),
    # Its assumption, completeness of Q-functions, is none of the paper's four.
    (FQI, "fitted Q iteration, uniform roll-in", _run_fqi, ()),
    (
        BACKUP,
        "Bellman backups from samples of every state (appendix)",
        backup,
        ("clipped-policy-value-completeness",),
    ),
)

for _name, _summary, _learn, _assumptions in _ENTRIES:
    register(
        Algorithm(
            _name,
            _summary,
            _runner(_name, _learn),
            settings={**CLASS_SETTINGS, **_SETTINGS[_name]},
            assumptions=_assumptions,
        )
    )
register(
    Algorithm(
        RMAX,
        "R-max with decoded hidden states: a reference, no classes",
        _run_rmax,
        settings=_SETTINGS[RMAX],
    )
)
