"""Options that the verbs of learning share, and what a shell completes them to."""

from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from ..common.options import Seed, output, seconds

MOST_SEEDS = 1_000_000


def complete_algorithms(incomplete: str) -> list[str]:
    """Give what a shell may complete a list of algorithms to."""
    from ...algorithms.learning import registry

    return _completions(incomplete, registry.names())


def complete_environments(incomplete: str) -> list[str]:
    """Give what a shell may complete a list of environments to."""
    from ...algorithms import environments
    from .runs import register_environments

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
Jobs = Annotated[
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
