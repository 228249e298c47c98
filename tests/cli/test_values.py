"""Option values that are converted without Pydantic come out as Typer's do."""

import pytest
import typer
from olivine.cli.common.command import _converted
from olivine.cli.main import VERBS, command_line
from typer.core import TyperGroup
from typer.main import get_command

COMMAND = get_command(command_line())
assert isinstance(COMMAND, TyperGroup)
TEXTS = [
    "", "0", "1", "-1", "1/8", "0.125", "1e9", "nan", "1e999", " 5 ", "ü", "\udcff",
]  # fmt: skip
TEXTS += [
    ".", "/", "/dev/null", "no/such/place", "lp", "drn", "sat", "SAT", "highs",
    "paper", "Paper", "cnf", "faithful", "lock", "valor",
]  # fmt: skip


def by_typer(param, context, value):
    """Convert as Typer does, or return what it says."""
    try:
        return (
            type(param).get_runtime_param(param).coerce(value, param=param, ctx=context)
        )
    except typer.BadParameter as error:
        return error.message


def values_for(param) -> list:
    """Texts good and bad, the default, and nothing."""
    if param.multiple or param.nargs == -1:
        return [None, param.default, (), tuple(TEXTS), *((text,) for text in TEXTS)]
    choices = param.type_descriptor.choices or ()
    return [None, param.default, *TEXTS, *choices, *map(str, choices)]


@pytest.mark.parametrize("verb", VERBS)
def test_conversion_is_that_of_typer(verb) -> None:
    command = COMMAND.commands[verb]
    if not hasattr(command.params[0], "get_runtime_param"):
        pytest.skip("this version of Typer converts without Pydantic")
    context = typer.Context(command)
    direct = 0
    for param in command.params:
        for value in values_for(param):
            try:
                known, found = _converted(value, param)
            except typer.BadParameter as error:
                known, found = True, error.message
            if known:
                asked = by_typer(param, context, value)
                assert (type(found), found) == (type(asked), asked), param.name
            direct += known
    assert direct > len(command.params)
