"""Option values that need no Pydantic: most are text, a name of a list, or not given.

Typer builds a Pydantic adapter for each option of a verb, also for one that was not
given, and imports Pydantic for it: half as long again as the start of Python with
NumPy. What an adapter would only pass on, or hand to the option's own parser, is done
here; all else, and each error, stays Typer's.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any, get_args, get_origin


class _Direct:
    """Stands for Typer's conversion of an option; makes that where it must."""

    def __init__(self, made: Callable[[], Any]) -> None:
        self._made = made

    def __call__(self) -> _Direct:
        """Be what the option asks for its conversion."""
        return self

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """Convert one value, or the values of an option that may be repeated."""
        known, converted = _converted(value, param)
        return converted if known else self._made().coerce(value, param=param, ctx=ctx)


def convert_directly(params: list[Any]) -> list[Any]:
    """Let the options of a command convert what is simple, and return them.

    Versions of Typer that need no Pydantic are left as they are.
    """
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
        texts = get_origin(wanted) is list and get_args(wanted) == (str,)
        simple = texts and parser is None and isinstance(value, (list, tuple))
        return simple and all(type(each) is str for each in value), [*value]
    if parser is not None and isinstance(value, str):
        try:
            return True, parser(value)
        except (ValueError, AssertionError):
            return False, None  # Typer puts it in its words
    if parser is not None or not isinstance(wanted, type):
        return False, None
    if issubclass(wanted, enum.Enum) and type(value) is str:
        named = [choice for choice in wanted if choice.value == value]
        return bool(named), named[0] if named else None
    return type(value) is wanted and (wanted is str or value is param.default), value
