"""Program files solved again, once ``olivine generate`` has written them."""

from __future__ import annotations

from pathlib import Path

from ...reduction.family.instance import Instance
from ...reduction.program.optimum import round_to_possible
from ...reduction.verify.verification import verify_instance
from ...solvers.milp.engines import engines, read_optimum
from ...solvers.outcome import Status
from .output import ContradictionError

READ_BACK_SECONDS = 5.0
FAR = 1e-4
"""A difference of optima that an engine's tolerances, 1e-6 a row, do not explain."""


def read_back(
    stage: Path, instance: Instance, files: list[str], engine: str
) -> dict[str, str]:
    """Solve program files with an engine, and compare optima.

    Where the possible optima lie closer together than floating point tells apart
    (large weights, a small penalty), the check is not decided.
    """
    family = instance.family
    known = verify_instance(
        instance, routes=("sat", "maxsat", "witness"), time_limit=READ_BACK_SECONDS
    ).optimum
    checks, name = {}, engines()[engine].title
    if engines()[engine].read is None:
        return dict.fromkeys(files, f"not solved: {name} reads no files here")
    for file in files:
        outcome = read_optimum(stage / file, engine, time_limit=READ_BACK_SECONDS)
        if outcome.status is not Status.OPTIMAL or outcome.objective is None:
            checks[file] = f"not solved: {outcome.reason or outcome.status.value}"
            continue
        value = -outcome.objective
        try:
            found = round_to_possible(family.parameters, value).value
        except ValueError as error:
            if known is not None and abs(value - float(known)) > FAR:
                reason = f"{file}: {name} finds {value}, the optimum is {known}"
                raise ContradictionError(reason) from error
            checks[file] = f"not decided: {error}"
            continue
        if known is not None and found != known:
            reason = f"{file}: {name} finds {found}, the optimum is {known}"
            raise ContradictionError(reason)
        checks[file] = f"solved by {name}: optimum {found}"
    return checks
