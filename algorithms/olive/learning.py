"""OLIVE as an entry of the registry of algorithms.

It takes stochastic dynamics, which the algorithms that go by paths refuse. Over
``finite`` classes (Q-functions that hold Q*) a round is a walk through the class;
over ``tabular`` ones a mixed-integer linear program, NP-hard as such programs are,
so that a run may end undecided where the engine's time is up.
"""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass
from functools import partial
from typing import Any

from ..environments.protocol import UnknownTruthError, knows_truth
from ..exact.numbers import check_count
from ..exact.seeds import RecordedSeed
from ..learning.draw_q_functions import optimal_member
from ..learning.events import Iteration, notify
from ..learning.monitors import with_monitors
from ..learning.registry import Algorithm, Task
from ..learning.results import LearningResult
from ..mdp.bellman import Pair
from .environment_adapter import LayeredEnvironment
from .loop import OliveRound
from .parameters import OliveParameters
from .review import (
    SampledRun,
    Setting,
    olive_reports,
    optimal_pair,
)
from .run import olive_sampled
from .task_choices import (
    CHOICES,
    PRACTICAL,
    OliveClasses,
    olive_classes,
    olive_parameters,
    tiebreak_of,
)
from .true_errors import TrueErrors

OLIVE = "olive"
_REASONS = {
    "no pair left": "no pair of the class meets every constraint: the estimates "
    "failed, or the class lacks the optimal pair",
    "round limit": "the limit on the rounds was reached",
}


@dataclass(frozen=True)
class OliveLearningResult(LearningResult):
    """Result of a run of OLIVE; `learned` counts the constraints of each level."""

    run: SampledRun | None = None  # The run itself: its rounds, constraints and seeds

    def to_json(self) -> dict[str, Any]:
        """Plain values, with the rounds."""
        rounds = () if self.run is None else self.run.rounds
        return super().to_json() | {"rounds": [_round(r) for r in rounds]}


def _round(played: OliveRound[Any]) -> dict[str, Any]:
    return {
        "round": played.number,
        "optimum": float(played.optimum),
        "proved": played.proved,
        "errors": [float(error) for error in played.errors],
        "level": played.level,
        "seconds": round(played.seconds, 6),
    }


def run(task: Task) -> LearningResult:
    """Make the classes of a task and run OLIVE on them, with monitors.

    Raises ValueError for classes that do not go with the environment, settings that do
    not go with the parameters, or data that do not fit into memory.
    """
    ALGORITHMS[0].check_kind("parameters", task.parameters)
    seed, chosen = RecordedSeed.of(task.rng), dict(task.settings)
    classes = olive_classes(task, chosen)
    tiebreak = tiebreak_of(chosen.pop("tiebreak", "largest"), task.rng)
    all_levels = chosen.pop("all_levels", False)
    if not isinstance(all_levels, bool):
        raise ValueError(f"all_levels: {all_levels!r} is neither true nor false")
    if all_levels and task.parameters != "practical":
        raise ValueError("all_levels: not what the theorem analyses; take practical")
    rank = chosen.pop("M", task.environment.max_states)
    check_count("M", rank)
    parameters = olive_parameters(task, chosen, rank, classes.log_size)
    began = time.perf_counter()
    found = olive_sampled(
        classes.layered,
        parameters,
        task.rng,
        optimiser=classes.optimiser,
        tiebreak=tiebreak,
        all_levels=all_levels,
        watch=partial(_tell, task, classes.layered, parameters),
    )
    seconds = time.perf_counter() - began
    if not knows_truth(task.environment):
        return _result(task, classes, found, parameters, rank, seed, seconds)
    levels = task.environment.horizon if all_levels else 1
    setting = _setting(task, classes, parameters, rank, levels)
    result = _result(task, classes, found, parameters, rank, seed, seconds)
    return with_monitors(result, olive_reports(setting, found, _truth(task, classes)))


def _tell(
    task: Task,
    layered: LayeredEnvironment,
    parameters: OliveParameters,
    played: OliveRound[Any],
) -> None:
    """Tell observers of a round; V^π is estimated by what the errors leave of g."""
    iteration = Iteration(
        played.number,
        layered.policies(played.pair.policy),
        played.optimum,
        played.optimum - played.total_error,
        played.total_error <= parameters.stop,
    )
    notify(task.observers, iteration)


def _setting(
    task: Task,
    classes: OliveClasses,
    parameters: OliveParameters,
    rank: int,
    levels: int,
) -> Setting:
    if classes.finite is None or classes.functions is None:
        best: Pair | None = optimal_pair(classes.layered)
    else:
        number = optimal_member(classes.functions, task.environment)
        best = None if number is None else classes.finite.pairs[number]
    return Setting(
        classes.layered,
        classes.finite,
        best,
        parameters,
        task.epsilon,
        rank,
        task.parameters != "practical",
        levels,
    )


def _truth(task: Task, classes: OliveClasses) -> TrueErrors | str:
    try:
        return TrueErrors(task.environment, classes.layered.offsets, classes.functions)
    except UnknownTruthError as error:
        return str(error)


def _result(
    task: Task,
    classes: OliveClasses,
    found: SampledRun,
    parameters: OliveParameters,
    rank: int,
    seed: RecordedSeed,
    seconds: float,
) -> OliveLearningResult:
    policy, environment = found.policy, task.environment
    finite = classes.finite
    stored = Counter(constraint.level for constraint in found.constraints)
    ran_with = {
        "version": task.parameters,
        "epsilon": task.epsilon,
        "delta": task.delta,
        "M": rank,
        "K": environment.n_actions,
        "H": environment.horizon,
        "log_size": classes.log_size,
        "pairs": None if finite is None else len(finite),
    }
    return OliveLearningResult(
        algorithm=OLIVE,
        environment=environment.name,
        status="success" if policy is not None else "failure",
        policies=None if policy is None else tuple(classes.layered.policies(policy)),
        estimate=found.rounds[-1].optimum if policy is not None else None,
        trajectories=found.trajectories,
        calls={},
        reason=found.reason or _REASONS.get(found.status, ""),
        iterations=len(found.rounds),
        learned=tuple(stored[h] for h in range(1, environment.horizon + 1)),
        parameters=ran_with | parameters.to_json(),
        seconds=seconds,
        event_failed=found.status in _REASONS,
        seed=seed,
        enumerated=0 if finite is None else finite.evaluated,
        run=found,
    )


ALGORITHMS = (
    Algorithm(
        OLIVE,
        "optimism over value functions, average Bellman errors (Jiang et al. 2017)",
        run,
        default_classes="finite",
        settings=CHOICES | PRACTICAL,
        assumptions=("policy-realizability", "value-realizability"),
    ),
)
