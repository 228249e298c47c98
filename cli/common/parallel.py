"""Working on several files at a time, each in a child process."""

import traceback
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from .memory import is_exhausted, want_of_memory
from .output import ContradictionError, ExitStatus, internal
from .reading import STANDARD_INPUT

Result = tuple[dict[str, Any], ExitStatus]
Job = Callable[[str], Result]


def guarded(work: Job, file: str) -> Result:
    """Do the work on one file; whatever happens becomes a record."""
    try:
        return work(file)
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
) -> Iterator[Result]:
    """Yield a job's results in the order of what `expand` found, errors among it."""
    files = [file for file, error in inputs if error is None]
    results = in_parallel(job, files, jobs) if jobs > 1 else map(job, files)
    for file, error in inputs:
        if error is None:
            yield next(results)
        else:
            yield {"file": file, "error": error}, ExitStatus.BAD_INPUT


def in_parallel(job: Job, files: Sequence[str], jobs: int) -> Iterator[Result]:
    """Yield the results of a job for every file, in the order of the files."""
    from ...solvers.child.child import run_each

    children = run_each(job, [f for f in files if f != STANDARD_INPUT], jobs)
    for file in files:
        if file == STANDARD_INPUT:
            yield job(file)
            continue
        child = next(children)
        child.raise_error(file)
        if child.value is not None:
            yield child.value
        else:
            message = f"{file}: its process died: {child.message} (out of memory?)"
            yield {"file": file, "error": message}, ExitStatus.UNDECIDED
