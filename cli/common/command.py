"""What makes a function a verb: its status, and what became of it, end the process."""

import functools
import inspect
import sys
from collections.abc import Callable
from typing import Any

import typer

from . import signals
from .memory import is_exhausted, limited_memory, reached, why_too_small
from .output import (
    ContradictionError,
    ExitStatus,
    describe,
    drop_stdout,
    internal_error,
    is_broken_pipe,
    say,
)


def verb(function: Callable[..., int]) -> Callable[..., None]:
    """Wrap a verb: turn its status, and whatever goes wrong, into an exit status.

    Input errors are dealt with where input is read: other exceptions are ours (70),
    save an interrupt, closed or full output and want of memory.
    """

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> None:
        limit = kwargs.get("memory")
        try:
            with limited_memory(limit):
                if too_small := why_too_small():
                    say(f"olivine: {too_small}")
                    raise typer.Exit(int(ExitStatus.UNDECIDED))
                status = function(*args, **kwargs)
                sys.stdout.flush()
        except KeyboardInterrupt:
            say("olivine: interrupted")
            status = ExitStatus.INTERRUPTED
        except BrokenPipeError:
            drop_stdout()
            status = ExitStatus.BROKEN_PIPE
        except (typer.Exit, typer.Abort, typer.BadParameter):
            raise
        except SystemExit as end:  # an end without an answer is none
            if signals.received() is not None or is_broken_pipe(end):
                raise
            from ...algorithms.exact.own_code import raised

            say(f"olivine: ended from within by {raised(end)}")
            status = ExitStatus.BAD_INPUT
        except Exception as error:
            status = _status_of(error, limit)
        raise typer.Exit(int(status))

    # Typer asks for both four times, and would evaluate the text of each type anew.
    signature = inspect.signature(function, eval_str=True)
    types = {name: each.annotation for name, each in signature.parameters.items()}
    run.__signature__ = signature  # type: ignore[attr-defined]
    run.__annotations__ = types
    return run


def _status_of(error: Exception, limit: int | None) -> ExitStatus:
    if is_exhausted(error):
        say(f"olivine: {reached(limit)}")
        return ExitStatus.UNDECIDED
    if isinstance(error, OSError):
        drop_stdout()
        say(f"olivine: {describe(error)}")
        return ExitStatus.BAD_INPUT
    if isinstance(error, ContradictionError):
        say(f"olivine: contradiction: {describe(error)}")
        return ExitStatus.CONTRADICTION
    say(f"olivine: {internal_error(error)}")
    return ExitStatus.FAILED
