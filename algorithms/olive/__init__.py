"""OLIVE (Jiang et al. 2017, recalled) as an algorithm that learns from data: its entry.

Optimism led iterative value-function elimination explores with a policy that promises
most among all that satisfy the average Bellman equations seen so far; dynamics may be
stochastic. It needs polynomially many samples where the Bellman rank is small, and
solves a program each round (`olivine.algorithms.olive_program`), NP-hard already for
tabular classes: over ``finite`` classes (Q-functions that hold Q*) a walk through the
class, over ``tabular`` ones a mixed-integer linear program, which may end undecided.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from ...solvers.milp.engines import available_engines
from ..classes.q_functions import FiniteQClass
from ..environments.latent import MAX_BYTES
from ..environments.protocol import Environment, UnknownTruthError, knows_truth
from ..exact.arrays import check_count
from ..exact.multinomial import RecordedSeed
from ..learning.draw_classes import make_classes, make_q_class, optimal_member
from ..learning.events import Iteration, notify
from ..learning.monitors import with_monitors
from ..learning.problem import LearningResult
from ..learning.registry import (
    Algorithm,
    Task,
    refuse_fixed,
    show_classes,
    show_q_functions,
)
from ..mdp.planning import Pair
from ..olive_program.optimisers import BranchAndBound, Milp
from ..olive_program.program import Optimiser
from ..olive_program.rounds import OliveRound
from ..olive_program.sampled_program import FinitePairs
from ..olive_program.tiebreak import RandomTiebreak, SolverTiebreak, Tiebreak
from .parameters import (
    OliveParameters,
    practical_parameters,
    tabular_log_size,
    theorem_parameters,
)
from .review import SampledRun, Setting, TrueErrors, olive_reports, optimal_pair
from .run import LayeredEnvironment, olive_sampled

SECONDS = 60.0  # default time limit of an engine for the program of a round

CHOICES = {
    "M": "bound on the Bellman rank; by default the hidden states of a level",
    "size": "most functions in a finite class",
    "tiebreak": "first, last or largest level; or random: level and maximiser",
    "engine": "of tabular classes: highs or another MILP engine, or exact",
    "time_limit": "seconds of the engine for a round's program",
}  # what the theorem leaves open

PRACTICAL = OliveParameters.settings() | {
    "all_levels": "whether a round adds the constraints of all levels"
}


@dataclass(frozen=True, eq=False)
class OliveClasses:
    """The classes of a task: finite ones as pairs, tabular ones by their engine."""

    layered: LayeredEnvironment
    optimiser: Optimiser
    log_size: float
    functions: FiniteQClass | None = None
    finite: FinitePairs | None = None


def olive_classes(task: Task, chosen: dict[str, Any]) -> OliveClasses:
    """Make the classes; takes their settings out of those chosen, or ValueError."""
    environment = task.environment
    size = {"size": chosen.pop("size")} if "size" in chosen else {}
    engine, limit = chosen.pop("engine", None), chosen.pop("time_limit", None)
    given = isinstance(task.classes, FiniteQClass)
    if given or task.classes == "finite":
        for name, value in (("engine", engine), ("time_limit", limit)):
            if value is not None:
                raise ValueError(f"{name}: finite classes need none; take tabular")
        if given and size:
            raise ValueError("size: the class is given, none is drawn")
        functions = (
            task.classes
            if isinstance(task.classes, FiniteQClass)
            else make_q_class(environment, task.rng, **size)
        )
        show_q_functions(task, functions)
        layered = LayeredEnvironment(environment, functions)
        pairs = FinitePairs(layered.pairs(functions))
        return OliveClasses(layered, pairs, functions.log_size(), functions, pairs)
    if task.classes != "tabular":
        kind = "such" if isinstance(task.classes, tuple) else task.classes
        raise ValueError(
            f"classes: olive has no optimiser for {kind} classes; it walks "
            "through finite ones and solves a mixed-integer program over tabular ones"
        )
    if size:
        raise ValueError("size: tabular classes have none; take finite")
    layered = LayeredEnvironment(environment)
    show_classes(task, *make_classes(environment, "tabular", task.rng))
    log_size = tabular_log_size(int(layered.offsets[-1]), environment.n_actions)
    return OliveClasses(layered, _engine(engine, limit), log_size)


def _engine(name: Any, limit: Any) -> Optimiser:
    seconds = SECONDS if limit is None else limit
    if (
        isinstance(seconds, bool)
        or not isinstance(seconds, int | float)
        or not 0 < seconds < math.inf
    ):
        raise ValueError(f"time_limit: {limit!r} is no positive number of seconds")
    if name == "exact":
        return BranchAndBound(time_limit=seconds)
    known = available_engines()
    if name is not None and name not in known:
        raise ValueError(f"engine: {name!r} is none of exact, {', '.join(known)}")
    return Milp(name or "highs", time_limit=seconds)


def tiebreak_of(name: Any, rng: np.random.Generator) -> Tiebreak:
    """Tie-break by its name; ValueError for an unknown one."""
    if name == "random":
        return RandomTiebreak(rng)
    if name not in ("first", "last", "largest"):
        raise ValueError(f"tiebreak: {name!r} is none of first, last, largest, random")
    return SolverTiebreak(name)


def olive_parameters(
    task: Task, chosen: Mapping[str, Any], rank: int, log_size: float
) -> OliveParameters:
    """Make the parameters from the settings left; ValueError for what does not fit."""
    h, k = task.environment.horizon, task.environment.n_actions
    refuse_fixed(task, chosen)
    if task.parameters == "practical":
        found = practical_parameters(
            task.epsilon, horizon=h, n_actions=k, rank=rank, **chosen
        )
    else:
        found = theorem_parameters(
            task.epsilon,
            task.delta,
            horizon=h,
            n_actions=k,
            rank=rank,
            log_size=log_size,
        )
    _check_memory(task.environment, found)
    return found


def _check_memory(environment: Environment, parameters: OliveParameters) -> None:
    """Refuse before the run what the environment would refuse in its midst."""
    dimension = environment.space(1).dimension
    if dimension is None:
        return
    copies = {"n_eval": environment.horizon, "n_train": 2}
    for name, count in copies.items():
        n = getattr(parameters, name)
        if n * count * dimension * 8 > MAX_BYTES:
            raise ValueError(
                f"{name}: {n} trajectories of {environment.name!r}, whose observations "
                f"are {dimension} features and sampled one by one, do not fit into "
                "memory; take practical parameters, or fewer"
            )


OLIVE = "olive"
_REASONS = {
    "no pair left": "no pair of the class meets every constraint: the estimates "
    "failed, or the class lacks the optimal pair",
    "round limit": "the limit on the rounds was reached",
}


@dataclass(frozen=True)
class OliveLearningResult(LearningResult):
    """Result of a run of OLIVE; `learned` counts the constraints of each level."""

    # The run itself: its rounds, constraints and seeds
    run: SampledRun | None = field(default=None, repr=False)

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
    """Make the classes of a task and run OLIVE on them, with monitors."""
    ALGORITHMS[0].check_kind("parameters", task.parameters)
    seed, chosen = RecordedSeed.of(task.rng), dict(task.settings)
    classes = olive_classes(task, chosen)
    tiebreak = tiebreak_of(chosen.pop("tiebreak", "largest"), task.rng)
    all_levels = chosen.pop("all_levels", False)
    if not isinstance(all_levels, bool):
        raise ValueError(f"all_levels: {all_levels!r} is neither true nor false")
    if all_levels and task.parameters != "practical":
        raise ValueError("all_levels: not what the theorem analyses; take practical")
    rank = check_count("M", chosen.pop("M", task.environment.max_states))
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
    result = _result(task, classes, found, parameters, rank, seed, seconds)
    if not knows_truth(task.environment):
        return result
    levels = task.environment.horizon if all_levels else 1
    setting = _setting(task, classes, parameters, rank, levels)
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


def _reason(found: SampledRun, classes: OliveClasses) -> str:
    if not found.reason:
        return _REASONS.get(found.status, "")
    limit = getattr(classes.optimiser, "time_limit", None)
    given = "" if limit is None else f"time_limit (now {limit:g} s for each program), "
    return (
        f"the program of round {len(found.rounds) + 1} was not solved "
        f"({found.reason}); a larger {given}a finite class of Q-functions, a greater "
        "epsilon or a shorter horizon may help"
    )


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
        reason=_reason(found, classes),
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
        without_truth="tabular",
        settings=CHOICES | PRACTICAL,
        assumptions=("policy-realizability", "value-realizability"),
    ),
)
