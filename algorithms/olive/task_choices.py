"""What a task of the registry means to OLIVE: classes, engine, ties, parameters."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...solvers.milp.milp import available_engines
from ..classes.q_functions import FiniteQClass
from ..environments.latent import MAX_BYTES
from ..environments.protocol import Environment
from ..learning.draw_classes import make_classes
from ..learning.draw_q_functions import make_q_class
from ..learning.registry import Task
from ..learning.tasks import (
    refuse_fixed,
    show_classes,
    show_q_functions,
)
from .environment_adapter import LayeredEnvironment
from .finite_pairs import FinitePairs
from .interfaces import Optimiser
from .optimisers import BranchAndBound, Milp
from .parameters import (
    OliveParameters,
    practical_parameters,
    tabular_log_size,
    theorem_parameters,
)
from .tiebreak import RandomTiebreak, SolverTiebreak, Tiebreak

SECONDS = 60.0
"""Default time limit of an engine for the program of a round."""

CHOICES = {
    "M": "bound on the Bellman rank; by default the hidden states of a level",
    "size": "most functions in a finite class",
    "tiebreak": "first, last or largest level; or random: level and maximiser",
    "engine": "of tabular classes: highs or another MILP engine, or exact",
    "time_limit": "seconds of the engine for a round's program",
}
"""What the theorem leaves open."""

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
    """Make the classes; takes their settings out of those chosen.

    Raises ValueError for classes that do not go with the environment or the settings.
    """
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
    """Make the parameters; ``chosen`` are the settings left.

    Raises ValueError if a setting is the theorem's to make, or its value out of range;
    if data sets of features would not fit into memory.
    """
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
