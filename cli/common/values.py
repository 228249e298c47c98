"""Option values that need no Pydantic: most are text, a name of a list, or not given.

Typer imports Pydantic for each option, even one not given, which costs half as long as
the start of Python with NumPy. What is not simple, and each error, stays Typer's.
"""

from __future__ import annotations

import enum
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args, get_origin


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
