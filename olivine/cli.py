"""The command ``olivine``: one verb a file, put together here."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from olivine import __version__
from olivine.check import check
from olivine.claims import claims
from olivine.contrast import contrast
from olivine.generate import generate
from olivine.learn import learn
from olivine.multi import multi
from olivine.report import report
from olivine.solve import solve
from olivine.trace import trace
from olivine.verify import verify

app = typer.Typer(
    name="olivine",
    help="3-SAT as the optimisation problem inside OLIVE: build it, verify it, "
    "solve through it.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)

for _verb in (
    generate,
    verify,
    check,
    solve,
    trace,
    learn,
    contrast,
    multi,
    claims,
    report,
):
    app.command()(_verb)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"olivine {__version__}")
        raise typer.Exit


@app.callback()
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
    """Run the command; the console script ``olivine`` calls this."""
    try:
        app()
    except KeyboardInterrupt:
        # Before or after a verb; inside one, `olivine.common.verb` sees it.
        sys.exit(130)
