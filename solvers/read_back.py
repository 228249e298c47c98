"""Read an LP or MPS file with an engine and solve what it read.

This is how a written file is checked: by the engines' own readers, not by
PuLP's or ours: HiGHS reads through highspy, CBC through its command line.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

from olivine.solvers.child import run_in_child
from olivine.solvers.engines import UNREADABLE, engines
from olivine.solvers.outcome import LinearOutcome, Status


def read_optimum(
    path: str | os.PathLike[str],
    engine: str = "highs",
    *,
    time_limit: float | None = None,
    memory_limit: int | None = None,
) -> LinearOutcome:
    """Solve the program in an LP or MPS file.

    Parameters
    ----------
    path
        The name ends in ``.lp`` or ``.mps``, by which engines know the format.
    engine
        ``"highs"`` or ``"cbc"``, if it is available here, or another that reads.
    time_limit, memory_limit
        As in `olivine.solvers.milp.solve_milp`.

    Returns
    -------
    LinearOutcome
        Of the file's program in its own sense: where `olivine.solvers.program_files`
        wrote a maximisation, the objective is the negative of the model's.
        Values are in the order in which the engine met the columns. Never
        ``exact``; gaps are 0.

    Raises
    ------
    ValueError
        If the engine is not available, the name ends in neither, or the engine
        cannot read the file.
    OSError
        If the file cannot be opened.
    RuntimeError
        If the reading process fails otherwise, with its traceback.
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
        found.read,
        str(file),
        time_limit,
        time_limit=hard,
        memory_limit=memory_limit,
    )
    if result.status == "error":
        raise RuntimeError(f"{path}: {result.message}\n{result.details}")
    outcome = result.value
    if outcome is None:
        outcome = LinearOutcome(
            Status.UNKNOWN, None, None, 0.0, engine, reason=result.message
        )
    if outcome.reason == UNREADABLE:
        raise ValueError(f"{path}: {engine} cannot read it")
    return outcome._replace(seconds=time.monotonic() - start)
