"""The command ``olivine``, put together of its verbs."""

import difflib
import inspect
import os
import re
import sys
from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from .. import __version__
from .common.command import convert_directly
from .common.output import ExitStatus, describe, drop_stdout, is_broken_pipe, say
from .common.process import prepare_streams, raise_signals, signal_status

_UsageError: Any = typer.BadParameter.__base__

MOVED = {
    "--algorithms": "olivine curves",
    "--curve": "-o of olivine curves",
    "--out": "--rows of olivine curves and compare",
    "--output": "olivine compare and curves",
    "-o": "olivine compare and curves",
    "--seeds": "olivine compare and curves",
    "--jobs": "olivine compare and curves",
}
"""Former options of ``learn``, and which verb has them."""


class _Verb(TyperCommand):
    """A verb whose options are converted by as little as they need."""

    def get_params(self, ctx: Any) -> Any:
        """Let the options convert without Pydantic where that says the same."""
        return convert_directly(super().get_params(ctx))


class _Verbs(TyperGroup):
    """The verbs, with usage errors in plain words."""

    def get_params(self, ctx: Any) -> Any:
        """Do as `_Verb` for the options before a verb."""
        return convert_directly(super().get_params(ctx))

    def invoke(self, ctx: Any) -> Any:
        """Run a verb; drop the framework's jargon from what it says of options."""
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            error.message = plain(error.message)
            raise
        except _UsageError as error:
            option = getattr(error, "option_name", "")
            if error.ctx.info_name == "learn" and option in MOVED:
                error.message = f"No such option: {option}; see {MOVED[option]}."
                error.possibilities = None
            raise


def plain(message: str) -> str:
    """Put a usage error in plain words, and suggest the nearest choice.

    >>> plain("Value error, 'papr' is not one of 'paper', 'normalized'.")
    "'papr' is not one of 'paper', 'normalized'. Did you mean 'paper'?"
    """
    message = message.removeprefix("Value error, ")
    found = re.fullmatch(r"'(.*)' is not one of ('.*')\.", message, re.DOTALL)
    if found is None:
        return message
    known = re.findall(r"'([^']*)'", found[2])
    near = difflib.get_close_matches(found[1].lower(), known, 1, 0.5)
    return f"{message} Did you mean {near[0]!r}?" if near else message


VERBS = (
    "generate",
    "verify",
    "extract",
    "check",
    "solve",
    "trace",
    "learn",
    "compare",
    "curves",
    "sweep",
    "contrast",
    "multi",
    "barrier",
    "claims",
    "report",
    "draw",
)
"""In the order of the help; each is a function in the module of its name."""
_HOMES = {"compare": "sweep", "curves": "sweep", "multi": "verify"}  # or in this one


def command_line(verbs: Iterable[str] = VERBS) -> typer.Typer:
    """Make the command with some of its verbs; only their modules are imported."""
    made = typer.Typer(
        cls=_Verbs,
        name="olivine",
        help="Build, verify and solve the optimisation problem of the RL algorithm "
        "OLIVE for a formula, and run VALOR, OLIVE and other algorithms.",
        no_args_is_help=True,
        add_completion=True,
        pretty_exceptions_enable=False,
        rich_markup_mode="rich",
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    for name in verbs:
        function = verb_named(name)
        made.command(cls=_Verb, help=flowing(function.__doc__))(function)
    made.callback()(_olivine)
    return made


def verb_named(name: str) -> Any:
    """Import the function of a verb."""
    return getattr(import_module(f"olivine.cli.{_HOMES.get(name, name)}"), name)


def flowing(text: str) -> str:
    r"""Join the lines of each paragraph, so that any width breaks them anew.

    >>> flowing("One\nline.\n\nAnother.")
    'One line.\n\nAnother.'
    """
    paragraphs = inspect.cleandoc(text).split("\n\n")
    return "\n\n".join(" ".join(each.split()) for each in paragraphs)


def asked(arguments: Sequence[str]) -> tuple[str, ...]:
    """Return the verb asked for alone where it comes first, else all."""
    return (arguments[0],) if arguments and arguments[0] in VERBS else VERBS


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"olivine {__version__}")
        raise typer.Exit


def _olivine(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=_print_version,
            is_eager=True,
            help="Print the version and exit.",
        ),
    ] = False,
) -> None:
    """Take the options that stand before a verb."""


def main() -> None:
    """Run the command, as `olivine.__main__` does.

    A reader that closed our output ends it with 141, SIGINT with 130, SIGTERM with 143
    and SIGHUP with 129, wherever that happens.
    """
    raise_signals()
    prepare_streams()
    try:
        _run()
    finally:
        if (status := signal_status()) is not None:
            sys.exit(status)  # whatever became of the exception


def _run() -> None:
    try:
        match sys.argv[1:]:
            case ["--install-completion" | "--show-completion", _]:
                # So Typer takes the name of a shell, and does not look for one.
                os.environ["_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION"] = "1"
        try:
            command_line(asked(sys.argv[1:]))()
        finally:
            sys.stdout.flush()
    except (SystemExit, OSError) as end:
        if is_broken_pipe(end):
            drop_stdout()
            sys.exit(ExitStatus.BROKEN_PIPE)
        if isinstance(end, SystemExit):
            raise
        drop_stdout()
        say(f"olivine: {describe(end)}")
        sys.exit(ExitStatus.BAD_INPUT)
