"""What each command takes is as recorded: names, defaults, ranges, choices, help."""

import enum
import inspect
from typing import get_args, get_origin

from olivine.cli.main import VERBS, verb_named

from tests.support.depth import with_rows
from tests.support.recorded import recorded

STATED = ("param_decls", "min", "max", "metavar", "help")


def choices(kind) -> list[str]:
    """Values of an enumeration, in a list or beside None."""
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return [member.value for member in kind]
    return [value for inner in get_args(kind) for value in choices(inner)]


def described(parameter: inspect.Parameter) -> dict:
    """What a parameter of a verb is declared with."""
    wanted, declared = get_args(parameter.annotation)[:2]
    found = {name: getattr(declared, name, None) for name in STATED}
    found["kind"] = type(declared).__name__
    found["repeated"] = get_origin(wanted) is list or bool(
        [inner for inner in get_args(wanted) if get_origin(inner) is list]
    )
    found["choices"] = choices(wanted)
    found["parser"] = getattr(declared.parser, "__name__", None)
    if parameter.default is not parameter.empty:
        default = parameter.default
        found["default"] = default.value if isinstance(default, enum.Enum) else default
    nothing = "[]", "()", "None", "False"
    return {k: v for k, v in found.items() if str(v) not in nothing}


@with_rows("verb", *VERBS)
def test_what_a_command_takes(verb) -> None:
    parameters = inspect.signature(verb_named(verb)).parameters
    recorded("options", verb, {k: described(p) for k, p in parameters.items()})
