"""Exact numbers and weighted data, which every algorithm counts with.

Here: calls of code that is not ours, as a user's processes, solvers, environments.
"""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from sysconfig import get_path
from typing import Any

_FLOORS = ("algorithms", "claims", "cli", "reduction", "solvers")
_NOT_THEIRS = (
    *(str(Path(__file__).parents[2] / floor) for floor in _FLOORS),
    get_path("stdlib"),  # installed packages lie below it
    "<frozen",
)


class OwnCodeError(ValueError):
    """Code of the user's raised (`__cause__`), or returned what it must not."""


@contextmanager
def calling(call: str, note: str = "") -> Iterator[None]:
    """Name the call and the place in what it raises; want of memory stays that."""
    try:
        yield
    except (MemoryError, OwnCodeError):
        raise
    except Exception as error:
        raise OwnCodeError(f"{call} raised {raised(error)}{note}") from error


def raised(error: BaseException) -> str:
    """Type, text and place of an exception, on one line."""
    text = " ".join(str(error).split())
    kind = f"{type(error).__name__}: {text}" if text else type(error).__name__
    frames = traceback.extract_tb(error.__traceback__)
    theirs = [f for f in frames if not f.filename.startswith(_NOT_THEIRS)]
    return f"{kind} ({theirs[-1].filename}:{theirs[-1].lineno})" if theirs else kind


def check_returned(call: str, found: Any, *expected: type) -> Any:
    """Give back what a call returned; OwnCodeError if it is of no expected type."""
    if not isinstance(found, expected):
        due = " or ".join(each.__name__ for each in expected)
        raise OwnCodeError(f"{call} returned {what_it_is(found)}; expected {due}")
    return found


def what_it_is(found: Any) -> str:
    """Name the type of an object, or the class that was given in place of one."""
    if isinstance(found, type):
        return f"the class {found.__name__}"
    return type(found).__name__
