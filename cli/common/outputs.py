"""Places for output: refused before any work; a folder is written whole or not."""

from __future__ import annotations

import errno
import os
import stat
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from .output import ExitStatus, describe, internal_error
from .reading import STANDARD_INPUT

if TYPE_CHECKING:
    from ...reduction.family.family import Instance
    from ...reduction.verify.verification import Verification


def check_outputs(outputs: Iterable[Path | None], inputs: Iterable[str] = ()) -> None:
    """Refuse files that cannot be written, or are, by links too, twice or an input."""
    from ...solvers.files import check_writable, write_target

    targets: dict[Path, Path] = {}
    known: dict[object, Path] = {}
    for output in filter(None, outputs):
        if str(output) == STANDARD_INPUT:
            raise ValueError("-: a name of a file is needed here (./- if it is that)")
        target = write_target(output)
        if not target.parent.is_dir():
            missing = errno.ENOTDIR if target.parent.exists() else errno.ENOENT
            raise OSError(missing, os.strerror(missing), str(output))
        for name in _names(target):
            if name in known:
                raise ValueError(f"{output} and {known[name]} are the same file")
            known[name] = output
        targets[target] = output
    for source in inputs:
        check_not_input(targets, source)
    for output in targets.values():
        check_writable(output)


def places(files: Sequence[str], folder: Path, suffix: str = "") -> dict[str, Path]:
    """Give each formula its place in a folder: by name, or by path where names clash.

    The path is that below the common folder of all, with `_` between its parts.
    """
    names = Counter(map(_name, files))
    paths = [os.path.abspath(file) for file in files if file != STANDARD_INPUT]
    common = os.path.commonpath([os.path.dirname(path) for path in paths] or ["/"])
    found: dict[str, Path] = {}
    owner: dict[Path, str] = {}
    for file in files:
        name = _name(file)
        if names[name] > 1 and file != STANDARD_INPUT:
            name = os.path.relpath(file, common).replace(os.sep, "_")
        found[file] = place = folder / f"{name}{suffix}"
        if place in owner:
            raise ValueError(
                f"{owner[place]} and {file} would both be written to {place}: give "
                "them one by one"
            )
        owner[place] = file
    return found


def _name(file: str) -> str:
    return "stdin" if file == STANDARD_INPUT else Path(file).name


def _names(target: Path) -> list[object]:
    """Give what tells a file from others: its place, and its number if it is there."""
    try:
        found = target.stat()
    except OSError:
        return [target]
    return [target, (found.st_dev, found.st_ino)]


def check_not_input(outputs: Iterable[Path], source: str) -> None:
    """Refuse outputs among which is the input, redirected or not."""
    try:
        read = os.fstat(0) if source == STANDARD_INPUT else os.stat(source)
    except OSError:
        return  # the reader will say so
    for output in outputs:
        if output.exists() and os.path.samestat(output.stat(), read):
            raise ValueError(f"{output} is the input itself")


def check_empty(directory: Path, *, force: bool) -> None:
    """Refuse a folder with anything in it, unless one insists."""
    if not force and directory.is_dir() and any(directory.iterdir()):
        raise FileExistsError(
            f"{directory}: the folder is not empty; --force writes into it"
        )


@contextmanager
def staged(
    directory: Path, *, force: bool, stale: frozenset[str], last: str
) -> Iterator[Path]:
    """Yield a folder on `directory`'s file system; on success its files move there."""
    from ...solvers.child.temporary import owned, signals_held

    check_empty(directory, force=force)
    if directory.is_dir():
        for name in sorted({*stale, last}):
            _check_regular(directory / name)
        parent = directory
    elif os.path.lexists(directory):
        raise NotADirectoryError(f"{directory}: exists and is no folder")
    else:
        parent = directory.absolute().parent
    made: list[Path] = []
    stage = parent / f".olivine-{uuid.uuid4().hex}"
    try:
        _make_parents(parent, made)
        with owned(stage):
            stage.mkdir()
            yield stage
            with signals_held():
                if parent == directory:
                    _move_files(stage, directory, stale, last)
                else:
                    stage.rename(directory)
    except BaseException as error:
        for folder in reversed(made):
            with suppress(OSError):  # by now it holds something else
                folder.rmdir()
        if isinstance(error, OSError):
            _name_the_place(error, stage, directory)
        raise


def _check_regular(file: Path) -> None:
    """Refuse to replace a link, a folder, a pipe or a device."""
    try:
        mode = file.lstat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISREG(mode):
        raise FileExistsError(f"{file}: not a regular file, so it is not replaced")


def _make_parents(parent: Path, made: list[Path]) -> None:
    from ...solvers.child.temporary import signals_held

    missing = [p for p in (parent, *parent.parents) if not p.exists()]
    for folder in reversed(missing):
        with signals_held():
            try:
                folder.mkdir()
            except FileExistsError:
                if not folder.is_dir():
                    raise
            else:
                made.append(folder)


def _name_the_place(error: OSError, stage: Path, directory: Path) -> None:
    """Name files as the user knows them, not as they are called in the stage."""
    if error.errno is None:  # a message of ours, which says it all
        return
    name = Path(os.fsdecode(error.filename or directory))
    if name == stage:
        name = directory
    elif stage in name.parents:
        name = directory / name.relative_to(stage)
    error.filename = str(name)


def _move_files(stage: Path, directory: Path, stale: frozenset[str], last: str) -> None:
    written = sorted(
        (file.name for file in stage.iterdir()), key=lambda name: (name == last, name)
    )
    for name in stale.difference(written):
        (directory / name).unlink(missing_ok=True)
    moved: list[Path] = []
    try:
        for name in written:
            fresh = not (directory / name).exists()
            os.replace(stage / name, directory / name)
            if fresh:
                moved.append(directory / name)
    except BaseException:
        for file in moved:
            file.unlink(missing_ok=True)
        raise


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
