"""MILP engines, one file each, which declares ``ENGINE``; no other file names them.

PuLP runs an engine on a model, in a child process; what it says is a proposal that
`olivine.solvers.milp` checks. "highs" is always here; the others are if they are
installed.
"""

from __future__ import annotations

import math
import pkgutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module

import pulp
from olivine.solvers.integer_form import IntegerForm
from olivine.solvers.outcome import Answer, LinearOutcome, Status
from olivine.solvers.pulp_adapter import PulpModel, from_form


@dataclass(frozen=True)
class Engine:
    """What a file of this folder declares.

    Attributes
    ----------
    name
        As users write it.
    available
        Whether it can be used here; called each time it is asked for.
    run
        Solves a model within wall seconds (None: no limit) by a number of threads,
        with gap 0 and tolerances of 1e-9.
    read
        Solves the program in an LP or MPS file, by the engine's own reader, within
        wall seconds; the reason is `UNREADABLE` where it cannot read it. None where
        it reads none.
    """

    name: str
    available: Callable[[], bool]
    run: Callable[[PulpModel, float | None, int], Answer]
    read: Callable[[str, float | None], LinearOutcome] | None = None


UNREADABLE = "unreadable"


def engines() -> dict[str, Engine]:
    """All engines by their names, "highs" first; not all need be available."""
    files = [name for _, name, _ in pkgutil.iter_modules(__path__)]
    found = (import_module(f"{__name__}.{name}").ENGINE for name in files)
    ranked = sorted(found, key=lambda engine: (engine.name != "highs", engine.name))
    return {engine.name: engine for engine in ranked}


def available_engines() -> tuple[str, ...]:
    """Name the engines that can be used here; "highs" always comes first."""
    return tuple(name for name, engine in engines().items() if engine.available())


def solve(form: IntegerForm, engine: str, deadline: float, threads: int) -> Answer:
    """Solve a form; to be called in a child process of its own.

    Parameters
    ----------
    deadline
        On the clock of `time.monotonic`; infinite for no limit.
    """
    model = from_form(form)
    left = deadline - time.monotonic()
    if left <= 0:
        return Answer(Status.UNKNOWN, reason="time limit reached")
    limit = None if math.isinf(left) else left
    try:
        return engines()[engine].run(model, limit, threads)
    except pulp.PulpSolverError as exc:
        return Answer(Status.UNKNOWN, reason=f"{engine} failed: {exc}")


def no_values(status: Status, engine: str, reason: str) -> LinearOutcome:
    """Outcome of reading a file that leaves no point."""
    return LinearOutcome(status, None, None, 0.0, engine, reason=reason)
