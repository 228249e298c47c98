"""Input files: which are formulas, how they are read, several at a time too."""

from __future__ import annotations

import errno
import hashlib
import io
import os
import stat
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from . import options
from .output import ContradictionError, ExitStatus, FileError, describe, internal
from .process import is_exhausted, want_of_memory

if TYPE_CHECKING:
    from fractions import Fraction

    from ...reduction.family.family import Instance
    from ...reduction.formula.dimacs import DimacsFile

STANDARD_INPUT = "-"


class Reading(NamedTuple):
    """How input files are read (picklable: worker processes get one)."""

    strict: options.StrictReading = False
    input_format: options.ReadAs = None
    max_variables: options.MaxVariables = options.DEFAULT_MAX_VARIABLES
    max_bytes: options.MaxBytes = None
    digest: str | None = None  # SHA-256 that a regular file must have

    def read(self, path: str) -> DimacsFile:
        """Read a file, or standard input for ``-``; hard clauses become heavy ones."""
        from ...reduction.formula.dimacs import (
            MAX_LINE,
            DimacsError,
            located,
            parse_dimacs,
            read_bytes,
            source_name,
            uncompressed,
        )
        from ...reduction.formula.prepare import without_hard, without_unused

        name = source_name(path)
        max_line = MAX_LINE if self.max_bytes is None else self.max_bytes
        if self.digest is None:
            text = read_bytes(path, self.max_bytes, max_line)
        else:
            data = io.BytesIO(pinned_bytes(path, self.digest))
            text = uncompressed(data, name, self.max_bytes, max_line)
        source = parse_dimacs(
            text,
            source=name,
            strict=self.strict,
            input_format=self.input_format,  # type: ignore[arg-type]
            max_variables=self.max_variables,
            max_line=max_line,
        )
        try:
            hardened = without_hard(source.formula)
        except ValueError as error:
            raise DimacsError(source.source, source.hard_line, str(error)) from None
        if hardened is not None:
            told = located(source.source, source.hard_line, str(hardened))
            source = source._replace(
                formula=hardened.formula,
                hardened=hardened,
                warnings=(*source.warnings, told),
            )
        used = without_unused(source.formula)
        if used is None:
            return source
        return source._replace(warnings=(*source.warnings, f"{source.source}: {used}"))

    def read_instance(
        self, path: str, variant: str, penalty: Fraction | None
    ) -> tuple[DimacsFile, Instance]:
        """Read a file and make the instance of the reduction that it is."""
        source = self.read(path)
        return source, instance_of(path, source, variant, penalty)


def instance_of(
    path: str, source: DimacsFile, variant: str, penalty: Fraction | None
) -> Instance:
    """Make the instance of the reduction that a file is."""
    from ...reduction.family.family import Instance

    try:
        return Instance.of(source.formula, variant, penalty)
    except ValueError as error:
        raise ValueError(f"{path}: {describe(error)}") from None


def described(instance: Instance) -> dict[str, Any]:
    """Sizes, variant and penalty of an instance, as records have them."""
    family = instance.family
    return {
        "variables": instance.formula.n_variables,
        "clauses": instance.formula.n_clauses,
        "three_sat": {"variables": family.n_variables, "clauses": family.n_clauses},
        "variant": str(family.variant),
        "penalty": str(family.penalty),
    }


def open_regular(path: str) -> io.BufferedReader:
    """Open a regular file; what may never end, as a pipe or a device, is refused."""
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    descriptor = os.open(path, flags)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "not a regular file", path)
    return open(descriptor, "rb")


def pinned_bytes(path: str, digest: str) -> bytes:
    """Read a file whole; ValueError if its content is not that of the digest."""
    with open_regular(path) as file:
        data = file.read()
    if hashlib.sha256(data).hexdigest() != digest:
        raise ValueError(f"{path}: its content has changed since the sweep began")
    return data


_SUFFIXES = (".cnf", ".dimacs", ".wcnf")


_COMPRESSED = (".gz", ".bz2", ".xz")


def is_formula_name(name: str) -> bool:
    """Whether a file of this name in a folder is taken for a formula."""
    lower = name.lower()
    for suffix in _COMPRESSED:
        lower = lower.removesuffix(suffix)
    return lower.endswith(_SUFFIXES)


def expand(paths: Iterable[str]) -> Iterator[tuple[str, str | None]]:
    """Yield (file, error or None), folders replaced by the formulas below, sorted."""
    for path in paths:
        if path == STANDARD_INPUT or not os.path.isdir(path):
            yield path, None
            continue
        problems: list[OSError] = []
        found = sorted(
            str(Path(folder) / name)
            for folder, _, names in os.walk(path, onerror=problems.append)
            for name in names
            if is_formula_name(name)
        )
        for problem in problems:
            yield str(problem.filename), describe(problem)
        if not found and not problems:
            yield path, f"{path}: no .cnf, .dimacs or .wcnf file in this folder"
        for file in found:
            yield file, _why_skip(file)


def _why_skip(file: str) -> str | None:
    """Say why not to open a folder's file: a pipe there would wait for ever."""
    try:
        mode = os.stat(file).st_mode
    except OSError as error:
        return describe(error, file)
    return None if stat.S_ISREG(mode) else f"{file}: not a regular file"


Result = tuple[dict[str, Any], ExitStatus]
Job = Callable[[str], Result]


def guarded(work: Job, file: str) -> Result:
    """Do the work on one file; whatever happens becomes a record."""
    try:
        return work(file)
    except FileError as error:
        return {"file": file, "error": error.reason}, error.status
    except ContradictionError as error:
        text = f"{file}: contradiction: {error}"
        return {"file": file, "error": text}, ExitStatus.CONTRADICTION
    except Exception as error:
        if is_exhausted(error):
            record = {"file": file, "error": f"{file}: {want_of_memory()}"}
            return record, ExitStatus.UNDECIDED
        text = f"{file}: {internal(error)}"
        trace = "".join(traceback.format_exception(error))
        return {"file": file, "error": text, "traceback": trace}, ExitStatus.FAILED


def each_input(
    job: Job, inputs: Sequence[tuple[str, str | None]], jobs: int
) -> Iterator[tuple[int, Result]]:
    """Yield (index, result) for what `expand` found, as soon as each is known."""
    files = [file for file, error in inputs if error is None]
    numbers = [number for number, (_, error) in enumerate(inputs) if error is None]
    results = enumerate(map(job, files)) if jobs == 1 else in_parallel(job, files, jobs)
    for number, (file, error) in enumerate(inputs):
        if error is not None:
            yield number, ({"file": file, "error": error}, ExitStatus.BAD_INPUT)
    for number, result in results:
        yield numbers[number], result


def in_order(results: Iterable[tuple[int, Result]]) -> Iterator[Result]:
    """Yield numbered results in the order of their numbers, from 0."""
    early: dict[int, Result] = {}
    following = 0
    for number, result in results:
        early[number] = result
        while following in early:
            yield early.pop(following)
            following += 1


def in_parallel(
    job: Job, files: Sequence[str], jobs: int
) -> Iterator[tuple[int, Result]]:
    """Yield (index, result) of a job for each file as soon as it is known."""
    from ...solvers.child.child import run_each

    numbers = [k for k, file in enumerate(files) if file != STANDARD_INPUT]
    for k, child in run_each(job, [files[number] for number in numbers], jobs):
        number, file = numbers[k], files[numbers[k]]
        child.raise_error(file)
        if child.value is not None:
            yield number, child.value
        else:
            message = f"{file}: its process died: {child.message} (out of memory?)"
            yield number, ({"file": file, "error": message}, ExitStatus.UNDECIDED)
    for number, file in enumerate(files):
        if file == STANDARD_INPUT:
            yield number, job(file)
