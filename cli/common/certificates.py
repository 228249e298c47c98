"""Certificates as ``olivine verify`` writes them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from .output import ExitStatus, describe, internal_error
from .outputs import check_output

if TYPE_CHECKING:
    from ...reduction.family.instance import Instance
    from ...reduction.verify.verification import Verification


def check_target(certificate: Path, file: str) -> None:
    """Refuse a certificate that cannot be written, or would replace its formula."""
    check_output(certificate, file)
    check_output(proof_path(certificate), file)


def proof_path(certificate: str | Path) -> Path:
    """Return the file of a certificate's proof."""
    return Path(f"{certificate}.drat")


def certify(
    instance: Instance, answer: Verification, path: str, time_limit: float | None
) -> tuple[dict[str, Any], ExitStatus]:
    """Write the certificate of a verified optimum; never lose the optimum over it.

    Gives `file` (None where there is no certificate), `reason` why not, and the
    `seconds` it took. Undecided where the certificate was not found, bad input where it
    cannot be written, failed where making it went wrong.
    """
    from ...reduction.certificate.certificate import SECONDS, make_certificate
    from ...reduction.verify.routes import best_assignment

    assignment = best_assignment(answer.routes)
    if answer.agree is False:
        return _none("the routes contradict each other")
    if answer.optimum is None or assignment is None:
        return _none("the optimum is not known")
    try:
        outcome = make_certificate(
            instance,
            answer.optimum,
            assignment,
            time_limit=SECONDS if time_limit is None else time_limit,
        )
    except (MemoryError, OSError) as error:
        return _none(describe(error))
    except Exception as error:
        return _none(internal_error(error), status=ExitStatus.FAILED)
    if outcome.certificate is None:
        return _none(outcome.reason, outcome.seconds)
    try:
        outcome.certificate.write(path)
    except OSError as error:
        reason = describe(error, path)
        return _none(reason, outcome.seconds, ExitStatus.BAD_INPUT)
    record = {"file": path, "reason": "", "seconds": round(outcome.seconds, 6)}
    return record, ExitStatus.DONE


def _none(
    reason: str, seconds: float = 0.0, status: ExitStatus = ExitStatus.UNDECIDED
) -> tuple[dict[str, Any], ExitStatus]:
    reason = f"no certificate: {reason}"
    return {"file": None, "reason": reason, "seconds": round(seconds, 6)}, status
