"""Options that verbs share, so that they read the same everywhere."""

import enum
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

import typer

from ...reduction.family.variants import Variant
from .memory import parse_bytes

VariantName = Variant

# Choices' names, repeated as their modules import numpy. A test compares both.


class FormulationName(enum.StrEnum):
    """Formulations of the reduction's program."""

    FAITHFUL = "faithful"
    STRENGTHENED = "strengthened"
    PROJECTED = "projected"


def engine_names() -> list[str]:
    """Name the engines for mixed-integer linear programs by their files."""
    folder = Path(__file__).parents[2] / "solvers/milp/engines"
    files = {file.stem for file in folder.glob("[a-z]*.py")}
    return ["highs", *sorted(files - {"highs"})]


def parse_engine(text: str) -> str:
    """Refuse what is no engine's name."""
    if text not in engine_names():
        raise typer.BadParameter(f"{text!r} is none of {', '.join(engine_names())}")
    return text


class InputFormat(enum.StrEnum):
    """Formats of input files."""

    CNF = "cnf"
    WCNF = "wcnf"


# Longer ones only cost time: Fraction("1e999999999") writes out all its digits.
MOST_CHARACTERS = 100
MOST_EXPONENT = 100


def parse_fraction(text: str, example: str) -> Fraction:
    """Read a number written as an integer, a fraction or a decimal."""
    _, _, exponent = text.lower().partition("e")
    try:
        if len(text) > MOST_CHARACTERS or abs(int(exponent or 0)) > MOST_EXPONENT:
            raise typer.BadParameter(
                f"{text[:20]!r}{'...' if len(text) > 20 else ''} has more than "
                f"{MOST_CHARACTERS} characters or an exponent beyond {MOST_EXPONENT}"
            )
        return Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise typer.BadParameter(f"{text!r} is no number like {example}") from None


def parse_penalty(text: str) -> Fraction:
    """Read a penalty written as an integer, a fraction or a decimal."""
    value = parse_fraction(text, "1/8, 0.125 or 1")
    if not 0 < value <= 1:
        raise typer.BadParameter(f"{text} is outside 0 < p <= 1")
    return value


def parse_seconds(text: str) -> float:
    """Read a time limit: a positive, finite number of seconds."""
    try:
        value = float(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is no number of seconds") from None
    if not 0 < value < float("inf"):
        raise typer.BadParameter("a time limit is a positive number of seconds")
    return value


def parse_memory(text: str) -> int:
    """Read a limit of memory."""
    try:
        return parse_bytes(text)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


def output(metavar: str, help: str) -> Any:
    """Declare ``--output``."""
    return typer.Option("--output", "-o", metavar=metavar, help=help)


def seconds(help: str) -> Any:
    """Declare a time limit."""
    return typer.Option(parser=parse_seconds, metavar="SECONDS", help=help)


Memory = Annotated[
    int | None,
    typer.Option(
        parser=parse_memory,
        metavar="LIMIT",
        help="Limit on the address space of each process, like 2GB or "
        "512MiB; none by default.",
    ),
]
Force = Annotated[
    bool, typer.Option("--force", help="Write into a folder that is not empty.")
]
InputFile = Annotated[
    str, typer.Argument(metavar="FILE", help="A DIMACS file, or - for standard input.")
]
InputFiles = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE...",
        help="DIMACS files, folders of them, or - for standard input.",
    ),
]
Jobs = Annotated[
    int, typer.Option("--jobs", "-j", min=1, help="Files worked on at a time.")
]
Json = Annotated[
    bool,
    typer.Option("--json", help="Print one JSON object per result, each on a line."),
]
StrictReading = Annotated[
    bool, typer.Option("--strict", help="Turn the reader's warnings into errors.")
]
ReadAs = Annotated[
    InputFormat | None,
    typer.Option(help="Read the input in this format, whatever its name."),
]
MaxVariables = Annotated[
    int,
    typer.Option(min=1, max=2**31 - 1, help="Largest number of variables accepted."),
]
MaxBytes = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Largest input accepted, in bytes after decompression. By default lines "
        "up to 64 MiB, and compressed files that grow at most a hundredfold.",
    ),
]
VariantOption = Annotated[VariantName, typer.Option(help="Variant of the MDP family.")]
PenaltyOption = Annotated[
    Fraction | None,
    typer.Option(
        parser=parse_penalty,
        metavar="P",
        help="Penalty for trying a clause, like 1/8; the variant's own by default.",
    ),
]
MilpEngine = Annotated[
    str,
    typer.Option(
        parser=parse_engine,
        autocompletion=engine_names,
        metavar=f"[{'|'.join(engine_names())}]",
        help="Engine for the MILP; HiGHS is always installed.",
    ),
]
Seed = Annotated[int, typer.Option(min=0, help="Seed of the random generator.")]
TimeLimit = Annotated[
    float | None,  # None: each engine's own default
    seconds("Seconds for each engine or route."),
]
DEFAULT_MAX_VARIABLES = 10**7


def checked_penalty(variant: VariantName, penalty: Fraction | None) -> Fraction | None:
    """Refuse, as a usage error, a penalty that the variant cannot have."""
    from ...reduction.family.variants import chosen_penalty

    if penalty is None:
        return None
    try:
        return chosen_penalty(variant.value, penalty, 1)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


def without_sides(variant: VariantName, part: str) -> None:
    """Refuse, as a usage error, a variant with states that a part has no place for."""
    from ...reduction.family.variants import refuse_sides

    try:
        refuse_sides(variant, part)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


def checked_engine(engine: str) -> str:
    """Refuse, as a usage error, an engine that is not installed."""
    if engine == "highs":  # without loading PuLP
        return engine
    from ...solvers.milp.milp import available_engines

    known = available_engines()
    if engine not in known:
        raise typer.BadParameter(
            f"engine {engine} is not installed; there is {', '.join(known)}"
        )
    return engine
