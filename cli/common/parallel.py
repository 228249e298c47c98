"""Working on several files at a time, each in a child process."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from .output import ExitStatus
from .reading import STANDARD_INPUT

Result = tuple[dict[str, Any], ExitStatus]
Job = Callable[[str], Result]


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
