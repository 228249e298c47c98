"""What makes a function a verb: its end is the process's, its options need no Pydantic.

Typer imports Pydantic for each option, even one not given, which costs half as long as
the start of Python with NumPy. What is not simple, and each error, stays Typer's.
"""

from __future__ import annotations

import enum
import functools
import inspect
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import typer

from .output import (
    ContradictionError,
    ExitStatus,
    FileError,
    describe,
    drop_stdout,
    internal_error,
    is_broken_pipe,
    print_json,
    say,
)
from .process import (
    is_exhausted,
    limited_memory,
    reached,
    signal_received,
    why_too_small,
)


def verb(function: Callable[..., int]) -> Callable[..., None]:
    """Wrap a verb: turn its status, and whatever goes wrong, into an exit status.

    What is wrong with the input is a `FileError`: other exceptions are ours (70), save
    an interrupt, closed or full output and want of memory.
    """

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> None:
        limit = kwargs.get("memory")
        for name, (made, options) in groups.items():
            kwargs[name] = made(**{option: kwargs.pop(option) for option in options})
        try:
            with limited_memory(limit):
                if too_small := why_too_small():
                    say(f"olivine: {too_small}")
                    raise typer.Exit(int(ExitStatus.UNDECIDED))
                status = _answer(function, *args, **kwargs)
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
            if signal_received() is not None or is_broken_pipe(end):
                raise
            from ...algorithms.exact import raised

            say(f"olivine: ended from within by {raised(end)}")
            status = ExitStatus.BAD_INPUT
        except Exception as error:
            status = _status_of(error, limit)
        raise typer.Exit(int(status))

    # Typer asks for both four times, and would evaluate the text of each type anew.
    signature, groups = _ungrouped(inspect.signature(function, eval_str=True))
    types = {name: each.annotation for name, each in signature.parameters.items()}
    run.__signature__ = signature  # type: ignore[attr-defined]
    run.__annotations__ = types
    return run


_Groups = dict[str, tuple[Any, list[str]]]


def _ungrouped(signature: inspect.Signature) -> tuple[inspect.Signature, _Groups]:
    """Put options in place of parameters that are groups of them.

    A group is a NamedTuple, whose annotated fields are options; the parameter's
    default, if it has one, has theirs.
    """
    parameters: list[inspect.Parameter] = []
    groups: _Groups = {}
    for name, each in signature.parameters.items():
        made = each.annotation
        if not hasattr(made, "_fields"):
            parameters.append(each)
            continue
        hints = get_type_hints(made, include_extras=True)
        options = [f for f in made._fields if get_origin(hints[f]) is Annotated]
        default = made() if each.default is each.empty else each.default
        for f in options:
            own = each.replace(name=f, annotation=hints[f], default=getattr(default, f))
            parameters.append(own)
        groups[name] = made, options
    return signature.replace(parameters=parameters), groups


def _answer(function: Callable[..., int], *args: Any, **kwargs: Any) -> int:
    try:
        return function(*args, **kwargs)
    except FileError as error:
        if kwargs.get("json_lines"):
            print_json({**error.record, "error": error.reason})
        else:
            say(f"olivine: {error.reason}")
        return error.status


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


class _Direct:
    """Stands for Typer's conversion of an option; makes that where it must."""

    def __init__(self, made: Callable[[], Any]) -> None:
        self._made = made

    def __call__(self) -> _Direct:
        return self

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        known, converted = _converted(value, param)
        return converted if known else self._made().coerce(value, param=param, ctx=ctx)


def convert_directly(params: list[Any]) -> list[Any]:
    """Let a command's options convert what is simple, if Typer needs Pydantic."""
    for param in params:
        made = getattr(param, "get_runtime_param", None)
        if made is not None and not isinstance(made, _Direct):
            param.get_runtime_param = _Direct(made)
    return params


def _converted(value: Any, param: Any) -> tuple[bool, Any]:
    """Return whether a value is simple, and what it becomes."""
    repeated = param.multiple or param.nargs == -1
    if value is None:
        return True, () if repeated else None
    wanted = param.type_descriptor.annotation
    parser = param.type_descriptor.parameter_info.parser
    if repeated:
        if get_origin(wanted) is not list or parser is not None:
            return False, None
        (kind,) = get_args(wanted)
        if kind is str:
            return all(type(each) is str for each in value), [*value]
        found = [_choice(kind, each) for each in value]
        return None not in found, found
    if parser is not None and isinstance(value, str):
        try:
            return True, parser(value)
        except (ValueError, AssertionError):
            return False, None  # Typer puts it in its words
    if parser is not None or not isinstance(wanted, type):
        return False, None
    if wanted is Path and type(value) is str:
        return _is_plain_path(value, param.type_descriptor.parameter_info), Path(value)
    if (choice := _choice(wanted, value)) is not None:
        return True, choice
    return type(value) is wanted and (wanted is str or value is param.default), value


def _choice(kind: Any, value: object) -> Any:
    if not (isinstance(kind, type) and issubclass(kind, enum.Enum)):
        return None
    return next((choice for choice in kind if choice.value == value), None)


def _is_plain_path(value: str, info: Any) -> bool:
    """Whether Typer would find nothing to say of a path."""
    if info.exists or info.writable or info.resolve_path or info.path_type:
        return False
    if not (info.file_okay and info.dir_okay):
        return False
    return not os.path.exists(value) or os.access(value, os.R_OK)
