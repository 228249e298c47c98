"""MILP engines, one file each, which declares ``ENGINE``; no other file names them.

PuLP runs an engine on a model, in a child process; what it says is a proposal that
`olivine.solvers.milp.milp` checks. "highs" is always here; the others are if they are
installed.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import pulp

from ...child.child import run_in_child
from ...model.integer_form import IntegerForm
from ...outcome import Answer, LinearOutcome, Status
from ..pulp_adapter import PulpModel, from_form

Run = Callable[[PulpModel, float | None, int], Answer]


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
    title
        As its authors write it.
    read
        Solves the program in an LP or MPS file, by the engine's own reader, within
        wall seconds; the reason is `UNREADABLE` where it cannot read it. None where
        it reads none.
    """

    name: str
    available: Callable[[], bool]
    run: Run
    title: str
    read: Callable[[str, float | None], LinearOutcome] | None = None


UNREADABLE = "unreadable"


def engines() -> dict[str, Engine]:
    """All engines by their names, "highs" first; not all need be available."""
    files = [Path(name) for folder in __path__ for name in os.listdir(folder)]
    names = {file.stem for file in files if file.suffix == ".py"} - {"__init__"}
    found = (import_module(f"{__name__}.{name}").ENGINE for name in sorted(names))
    ranked = sorted(found, key=lambda engine: (engine.name != "highs", engine.name))
    return {engine.name: engine for engine in ranked}


def readers() -> tuple[str, ...]:
    """Name the available engines that read files."""
    known = engines()
    return tuple(name for name in available_engines() if known[name].read)


def available_engines() -> tuple[str, ...]:
    """Name the engines that can be used here; "highs" always comes first."""
    return tuple(name for name, engine in engines().items() if engine.available())


def solve(
    form: IntegerForm, name: str, run: Run, deadline: float, threads: int
) -> Answer:
    """Solve a form by an engine; to be called in a child process of its own.

    `deadline` is on the clock of `time.monotonic`; infinite for no limit. What the
    system refuses the engine (files, processes), and its leaving, is its failure.
    """
    model = from_form(form)
    left = deadline - time.monotonic()
    if left <= 0:
        return Answer(Status.UNKNOWN, reason="time limit reached")
    limit = None if math.isinf(left) else left
    try:
        return run(model, limit, threads)
    except (pulp.PulpSolverError, OSError) as exc:
        return Answer(Status.UNKNOWN, reason=f"{name} failed: {exc}")
    except SystemExit as exc:
        return Answer(Status.UNKNOWN, reason=f"{name} left with {exc!r}")


def read_optimum(
    path: str | os.PathLike[str],
    engine: str = "highs",
    *,
    time_limit: float | None = None,
    memory_limit: int | None = None,
) -> LinearOutcome:
    """Solve the program in an LP or MPS file, read by the engine's own reader.

    The name ends in ``.lp`` or ``.mps``. The outcome is of the file's program in its
    own sense (a maximisation was written as its negative), values in the order in which
    the engine met the columns; never ``exact``. Raises ValueError if the engine is not
    available or cannot read the file, OSError if the file cannot be opened.
    """
    start = time.monotonic()
    found = engines().get(engine)
    if found is None or found.read is None or not found.available():
        raise ValueError(f"engine {engine!r} is not available to read files")
    file = Path(path).resolve()
    if file.suffix not in (".lp", ".mps"):
        raise ValueError(f"{path}: the name ends in neither .lp nor .mps")
    file.open("rb").close()
    hard = None if time_limit is None else time_limit * 1.1 + 1
    result = run_in_child(
        found.read, str(file), time_limit, time_limit=hard, memory_limit=memory_limit
    )
    result.raise_error(f"{engine} on {path}")
    stopped = LinearOutcome(Status.UNKNOWN, engine=engine, reason=result.message)
    outcome = result.value or stopped
    if outcome.reason == UNREADABLE:
        raise ValueError(f"{path}: {engine} cannot read it")
    return outcome._replace(seconds=time.monotonic() - start)
