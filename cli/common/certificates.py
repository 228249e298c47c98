"""Certificates, and their proofs in standard formats, as ``olivine verify`` writes."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from .output import ExitStatus, describe, internal_error
from .outputs import check_outputs, places

if TYPE_CHECKING:
    from ...reduction.family.family import Instance
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
    for file, made in places(files, certificate, ".json").items():
        place = None if proofs is None else str(proofs / made.stem)
        found[file] = Target(str(made), place)
    certificate.mkdir(parents=True, exist_ok=True)
    _check(found, files)
    return found


def _check(found: Mapping[str, Target], files: Sequence[str]) -> None:
    """Refuse what cannot be written, or would replace a formula or another output."""
    outputs: list[Path] = []
    for certificate, _ in found.values():
        outputs += [Path(certificate), proof_path(certificate)]
    check_exports([proofs for _, proofs in found.values() if proofs], outputs, files)


def refuse_inside(output: Path, folders: Iterable[str]) -> None:
    """Refuse a place for formulas in a folder whose formulas are read."""
    for folder in map(os.path.realpath, folders):
        if os.path.isdir(folder) and Path(os.path.realpath(output)).is_relative_to(
            folder
        ):
            raise ValueError(
                f"{output}: in the folder {folder}, whose formulas are read; there its "
                "bound.cnf would be one more"
            )


def check_exports(
    folders: Iterable[str], outputs: Iterable[Path], files: Sequence[str]
) -> None:
    """Refuse outputs as `check_outputs` does, and exports over what is no export."""
    from ...reduction.certificate.certificate import earlier_export, proof_places

    there = [folder for folder in folders if os.path.lexists(folder)]
    for folder in there:
        if not os.path.isdir(folder):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), folder)
    check_outputs([*outputs, *chain(*map(proof_places, there))], files)
    for folder in there:
        earlier_export(folder)


def proof_path(certificate: str | Path) -> Path:
    """Return the file of a certificate's proof."""
    return Path(f"{certificate}.drat")


def certify(
    instance: Instance, answer: Verification, target: Target, time_limit: float | None
) -> tuple[dict[str, Any], ExitStatus]:
    """Write the certificate of a proved optimum, which is not lost if that fails.

    Gives `file` or None, `reason` why not, `proofs` if asked for, and `seconds`. An
    earlier export goes first, so that none ever stands beside a newer certificate.
    """
    from ...reduction.certificate.certificate import (
        SECONDS,
        as_checked,
        export_proof,
        make_certificate,
        remove_export,
    )
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
    made, seconds = outcome.certificate, outcome.seconds
    try:
        if target.proofs is not None:
            remove_export(target.proofs)
        made.write(target.certificate)
    except (ValueError, OSError) as error:
        reason = describe(error, target.certificate)
        return _none(reason, seconds, ExitStatus.BAD_INPUT)
    record = {"file": target.certificate, "reason": "", "seconds": round(seconds, 6)}
    if target.proofs is None:
        return record, ExitStatus.DONE
    least, formula = made.statement["at_least"], as_checked(instance.formula)
    try:
        written = export_proof(target.proofs, formula, least, made.proof or "")
    except (MemoryError, ValueError, OSError) as error:
        reason = f"no proofs: {describe(error, target.proofs)}"
        return record | {"proofs": None, "reason": reason}, ExitStatus.BAD_INPUT
    return record | {"proofs": target.proofs if written else None}, ExitStatus.DONE


def _none(
    reason: str, seconds: float = 0.0, status: ExitStatus = ExitStatus.UNDECIDED
) -> tuple[dict[str, Any], ExitStatus]:
    reason = f"no certificate: {reason}"
    return {"file": None, "reason": reason, "seconds": round(seconds, 6)}, status
