"""Certificates as ``olivine verify`` writes them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from olivine.common import STANDARD_INPUT

if TYPE_CHECKING:
    from reduction.instance import Instance
    from reduction.verification import Verification


def check_target(certificate: Path, inputs: list[str]) -> None:
    """Refuse, as a usage error, a certificate for many inputs or over one."""
    if len(inputs) != 1:
        raise typer.BadParameter(
            f"a certificate is for one formula, not for {len(inputs)}"
        )
    for target in (certificate, Path(f"{certificate}.drat")):
        if inputs[0] == STANDARD_INPUT or not target.exists():
            continue
        if Path(inputs[0]).exists() and target.samefile(inputs[0]):
            raise typer.BadParameter(f"{target} is the formula itself")


def certify(
    instance: Instance, answer: Verification, path: str, time_limit: float | None
) -> dict[str, Any]:
    """Write the certificate of a verified optimum.

    Parameters
    ----------
    instance
        The formula and its family.
    answer
        What the routes found.
    path
        File of the certificate; its proof goes to `path`.drat.
    time_limit
        Seconds for the proof and its check; 60 when None.

    Returns
    -------
    dict
        `file` (None where there is no certificate), `reason` why not, and the
        `seconds` it took.

    Raises
    ------
    OSError
        If a file cannot be written.
    """
    from reduction.certificate import SECONDS, make_certificate
    from reduction.routes import best_assignment

    assignment = best_assignment(answer.routes)
    if answer.agree is False:
        return _none("no certificate: the routes contradict each other")
    if answer.optimum is None or assignment is None:
        return _none("no certificate: the optimum is not known")
    outcome = make_certificate(
        instance,
        answer.optimum,
        assignment,
        time_limit=SECONDS if time_limit is None else time_limit,
    )
    if outcome.certificate is None:
        return _none(f"no certificate: {outcome.reason}", outcome.seconds)
    outcome.certificate.write(path)
    return {"file": path, "reason": "", "seconds": round(outcome.seconds, 6)}


def _none(reason: str, seconds: float = 0.0) -> dict[str, Any]:
    return {"file": None, "reason": reason, "seconds": round(seconds, 6)}
