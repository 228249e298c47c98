"""Options that verbs share, so that they read the same everywhere."""

import enum
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from ...reduction.family.variants import Variant
from .process import parse_bytes

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


MOST_SEEDS = 1_000_000


def complete_algorithms(incomplete: str) -> list[str]:
    """Give what a shell may complete a list of algorithms to."""
    from ...algorithms.learning import registry

    return _completions(incomplete, registry.names())


def complete_environments(incomplete: str) -> list[str]:
    """Give what a shell may complete a list of environments to."""
    from ...algorithms import environments
    from ..experiments.runs import register_environments

    register_environments()
    return _completions(incomplete, environments.names())


def _completions(incomplete: str, names: list[str]) -> list[str]:
    before, comma, last = incomplete.rpartition(",")
    return [before + comma + name for name in names if name.startswith(last)]


def listed(text: str | None) -> tuple[str, ...]:
    """Read a list with commas; nothing, or "all", is the empty one.

    >>> listed("valor,psdp"), listed("all")
    (('valor', 'psdp'), ())
    """
    return () if text in (None, "all") else tuple(str(text).split(","))


Algorithms = Annotated[
    str | None,
    typer.Option(
        metavar="NAME,NAME",
        help="Algorithms, see olivine learn --list; all by default.",
        autocompletion=complete_algorithms,
    ),
]
Environments = Annotated[
    str | None,
    typer.Option(
        metavar="ENV,ENV",
        help="Environments, see olivine learn --list, or module:function for your own; "
        "all by default.",
        autocompletion=complete_environments,
    ),
]
Environment = Annotated[
    str | None,
    typer.Option(
        metavar="ENV",
        help="Name, see --list, or module:function for your own.",
        autocompletion=complete_environments,
    ),
]
Params = Annotated[
    str | None,
    typer.Option(
        metavar="theorem|paper|practical|frugal",
        help="Constants: the theorem's (corrected by the errata), the paper's as "
        "printed, practical ones, or, for VALOR, frugal ones with samples shared by "
        "all calls. By default the theorem's; in compare, curves and sweep practical "
        "ones for continuous observations.",
    ),
]
Classes = Annotated[
    str | None,
    typer.Option(
        metavar="tabular|finite|linear",
        help="Function classes; the default depends on the algorithm.",
    ),
]
Epsilon = Annotated[float, typer.Option(help="Accuracy, in (0, 1).")]
Delta = Annotated[float, typer.Option(help="Failure probability, in (0, 1).")]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="An option of the environment, or a setting of the algorithm.",
    ),
]
Seeds = Annotated[
    int,
    typer.Option(
        min=1, max=MOST_SEEDS, help="Runs of each algorithm on each environment."
    ),
]
RunLimit = Annotated[float, seconds("Seconds of CPU time per run.")]
ParallelRuns = Annotated[
    int, typer.Option("--jobs", "-j", min=1, help="Number of runs in parallel.")
]
Figure = Annotated[
    Path | None, output("FIGURE", "A figure to write (.svg, .png, .pdf).")
]
Rows = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Write a row for each run (.jsonl, or .parquet with the extra parquet).",
    ),
]


class Plan(NamedTuple):
    """Algorithms, environments and seeds, as `compare` and `curves` are asked."""

    algorithms: Algorithms = None
    env: Environments = None
    params: Params = None  # None: the theorem's, or practical ones
    classes: Classes = None  # None: each algorithm's own
    epsilon: Epsilon = 0.3
    delta: Delta = 0.1
    setting: Settings = None  # For those that have KEY
    seed: Seed = 0  # The first
    seeds: Seeds = 50
    time_limit: RunLimit = 10.0

    @property
    def each(self) -> range:
        """The seeds."""
        return range(self.seed, self.seed + self.seeds)
