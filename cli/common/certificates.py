"""Certificates, and their proofs in standard formats, as ``olivine verify`` writes."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from .output import ExitStatus, describe, internal_error
from .outputs import check_outputs
from .reading import STANDARD_INPUT

if TYPE_CHECKING:
    from ...reduction.family.instance import Instance
    from ...reduction.verify.verification import Verification


class Target(NamedTuple):
    """Where the certificate of a file goes, and its proof in standard formats."""

    certificate: str
    proofs: str | None = None


def targets(
    files: Sequence[str], certificate: Path, proofs: Path | None, folder: bool
) -> dict[str, Target]:
    """Give each file its target, below a folder by name; ValueError or OSError."""
    if not folder and not certificate.is_dir():
        place = None if proofs is None else str(proofs)
        only = {files[0]: Target(str(certificate), place)}
        _check(only, files)
        return only
    if certificate.exists() and not certificate.is_dir():
        raise ValueError(
            f"{certificate}: several formulas need a folder for their certificates, "
            "and this is a file"
        )
    found: dict[str, Target] = {}
    owner: dict[str, str] = {}
    for file in files:
        name = "stdin" if file == STANDARD_INPUT else Path(file).name
        if name in owner:
            raise ValueError(
                f"{owner[name]} and {file} would have the same certificate, "
                f"{certificate / name}.json: verify them one by one"
            )
        owner[name] = file
        place = None if proofs is None else str(proofs / name)
        found[file] = Target(str(certificate / f"{name}.json"), place)
    certificate.mkdir(parents=True, exist_ok=True)
    _check(found, files)
    return found


def _check(found: Mapping[str, Target], files: Sequence[str]) -> None:
    """Refuse what cannot be written, or would replace a formula or another output."""
    outputs: list[Path] = []
    for certificate, proofs in found.values():
        outputs += [Path(certificate), proof_path(certificate)]
        outputs += [] if proofs is None else places_of_proof(proofs)
    check_outputs(outputs, files)


def places_of_proof(folder: str | Path) -> list[Path]:
    """Files that an export replaces; none below a folder that is not there yet."""
    from ...reduction.certificate.files import proof_places

    if os.path.lexists(folder) and not os.path.isdir(folder):
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(folder))
    return proof_places(folder) if os.path.isdir(folder) else []


def proof_path(certificate: str | Path) -> Path:
    """Return the file of a certificate's proof."""
    return Path(f"{certificate}.drat")


def certify(
    instance: Instance, answer: Verification, target: Target, time_limit: float | None
) -> tuple[dict[str, Any], ExitStatus]:
    """Write the certificate of a proved optimum, which is not lost if that fails.

    Gives `file` or None, `reason` why not, `proofs` if asked for, and `seconds`.
    """
    from ...reduction.certificate.certificate import (
        SECONDS,
        as_checked,
        make_certificate,
    )
    from ...reduction.certificate.files import export_proof
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
    made, written = outcome.certificate, None
    record: dict[str, Any] = {"file": target.certificate, "reason": ""}
    try:
        made.write(target.certificate)
        if target.proofs is not None:
            least, formula = made.statement["at_least"], as_checked(instance.formula)
            written = export_proof(target.proofs, formula, least, made.proof or "")
            record["proofs"] = target.proofs if written else None
    except OSError as error:
        reason = describe(error, target.certificate)
        return _none(reason, outcome.seconds, ExitStatus.BAD_INPUT)
    return record | {"seconds": round(outcome.seconds, 6)}, ExitStatus.DONE


def _none(
    reason: str, seconds: float = 0.0, status: ExitStatus = ExitStatus.UNDECIDED
) -> tuple[dict[str, Any], ExitStatus]:
    reason = f"no certificate: {reason}"
    return {"file": None, "reason": reason, "seconds": round(seconds, 6)}, status
