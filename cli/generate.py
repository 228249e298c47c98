"""``olivine generate``: the family as a graph, the program as LP and MPS files."""

from __future__ import annotations

import enum
import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from .common import options
from .common.command import verb
from .common.output import (
    ExitStatus,
    FileError,
    Unseen,
    bad_input,
    describe,
    print_json,
    progress_bar,
    say,
    say_warnings,
    tell,
    worst,
)
from .common.outputs import check_empty, check_not_input, check_outputs, places, staged
from .common.process import is_exhausted, want_of_memory
from .common.reading import (
    STANDARD_INPUT,
    Reading,
    Result,
    each_input,
    expand,
    guarded,
    in_order,
)

if TYPE_CHECKING:
    from fractions import Fraction

    from rich.progress import Progress

MANIFEST = "manifest.jsonl"
_LEAST = 1e-3
"""Seconds left where reading alone took the limit; 0 would be no limit."""


class FormatName(enum.StrEnum):
    """What can be written."""

    LP = "lp"
    MPS = "mps"
    JSON = "json"
    GRAPHML = "graphml"
    DOT = "dot"
    DRN = "drn"
    PRISM = "prism"


class Content(NamedTuple):
    """What a folder is to hold."""

    formulation: Annotated[
        options.FormulationName, typer.Option(help="Formulation of the program.")
    ] = options.FormulationName.FAITHFUL
    engine: options.MilpEngine = "highs"
    member: Annotated[
        str | None,
        typer.Option(
            metavar="Y",
            help="Write graphs and models with the rewards of this member: a bit per "
            "variable (of the input or of the 3-SAT form), as in 0110; all 0 if not "
            "given.",
        ),
    ] = None
    two_actions: Annotated[
        bool,
        typer.Option(
            "--two-actions",
            help="Give each state two actions: binary trees replace wide choices.",
        ),
    ] = False
    start: Annotated[
        bool,
        typer.Option(
            "--start",
            help="Write the point of the best assignment of a short search for solvers "
            "to start from: start.mst (Gurobi, SCIP) and start.sol (HiGHS).",
        ),
    ] = False
    solve: Annotated[
        bool,
        typer.Option(
            "--solve",
            help="Write down the optimum too, as a SAT solver, MaxSAT and a checked "
            "pair prove it; --start is then the best assignment that they find.",
        ),
    ] = False
    formats: Annotated[
        list[FormatName] | None,
        typer.Option("--format", help="What to write; repeatable. All by default."),
    ] = None

    @property
    def wanted(self) -> list[FormatName]:
        """The formats."""
        return [f for f in FormatName if not self.formats or f in self.formats]

    def asked(self) -> dict[str, Any]:
        """Give the arguments of `family_folder.request`."""
        given = self._asdict()
        del given["formats"]
        return given | {"wanted": self.wanted}


@dataclass(frozen=True)
class Job:
    """What to write of each formula, and where; picklable for worker processes."""

    reading: Reading
    variant: str
    penalty: Fraction | None
    content: Content
    force: bool
    time_limit: float | None
    places: Mapping[str, Path]

    def __call__(self, file: str) -> Result:
        """Write one folder; whatever happens becomes a record."""
        return guarded(self.write, file)

    def load(self) -> None:
        """Import what the work needs: once, for all children."""
        from .common import family_folder
        from .experiments import runs  # noqa: F401

        if family_folder.GRAPHS.intersection(self.content.wanted):
            from ..reduction.family import graph  # noqa: F401

    def stages(self) -> list[str]:
        """Name the steps."""
        from .common import family_folder

        own = self.content
        return family_folder.stages(own.wanted, start=own.start, solve=own.solve)

    def write(self, file: str, at: Callable[[str], None] = lambda _: None) -> Result:
        """Write one folder, or give a record of why not; `at` gets each step."""
        from .common import family_folder
        from .experiments.runs import OutOfTimeError, limited

        clock, begun = time.perf_counter(), time.process_time()
        output, stages = self.places[file], self.stages()
        reached = stages[0]

        def begin(name: str) -> None:
            nonlocal reached
            reached = name
            at(name)

        try:
            check_not_input((output / name for name in family_folder.OURS), file)
            source, instance = self.reading.read_instance(
                file, self.variant, self.penalty
            )
        except (ValueError, OSError, MemoryError) as error:
            if is_exhausted(error):
                return _unknown(file, f"{want_of_memory()} in reading it")
            raise FileError(file, describe(error)) from error
        with bad_input(file, named=False):
            request = family_folder.request(instance.family, **self.content.asked())
        say_warnings(source.warnings)
        try:
            with staged(
                output,
                force=self.force,
                stale=family_folder.OURS,
                last=family_folder.DESCRIPTION,
            ) as stage:
                left = self.time_limit
                left = left and left - (time.process_time() - begun)
                # Not around what follows: once the files move, the run is done.
                with limited(left and max(left, _LEAST)):
                    record = family_folder.write_folder(
                        stage, instance, source, request, begin
                    )
        except (Exception, OutOfTimeError) as error:
            late = isinstance(error, OutOfTimeError)
            if not late and not is_exhausted(error):
                if not isinstance(error, ValueError | OSError):
                    raise
                # A ValueError here means numbers that a format cannot hold.
                raise FileError(file, describe(error, str(output))) from error
            limit = want_of_memory()
            if late:
                limit = f"limit of {self.time_limit:g} s of CPU time reached"
            done = f"{stages.index(reached)} of {len(stages)} steps done"
            return _unknown(file, f"{limit} at {reached}, {done}; nothing is written")
        record = {"file": file, "directory": str(output)} | record
        record["warnings"] = list(source.warnings)
        record["seconds"] = round(time.perf_counter() - clock, 6)
        return record, ExitStatus.DONE


def _unknown(file: str, reason: str) -> Result:
    record = {"file": file, "status": "unknown", "reason": reason}
    return record, ExitStatus.UNDECIDED


@verb
def generate(
    files: options.InputFiles,
    *,
    output: Annotated[
        Path,
        options.output(
            "DIR",
            "Folder to write, new or empty; for several formulas, the folder for "
            "one folder each and for manifest.jsonl.",
        ),
    ],
    variant: options.VariantOption = options.VariantName.PAPER,
    penalty: options.PenaltyOption = None,
    content: Content,
    force: options.Force = False,
    jobs: options.Jobs = 1,
    reading: Reading,
    time_limit: Annotated[
        float | None, options.seconds("CPU time for each formula; none by default.")
    ] = None,
    memory: options.Memory = None,
    json_lines: options.Json = False,
) -> int:
    """Write the family of MDPs as a graph and OLIVE's program as LP and MPS.

    The folder holds the graph as node-link JSON, GraphML and DOT; a member for
    model checkers in Storm's DRN and in PRISM's language; three_sat.cnf, the 3-SAT
    form; and family.json with sizes, rewards, the numbering of states and the
    meaning of the short names in the program files.

    The program maximises g(s0) (or minimises -g(s0)). program.mps is fixed MPS,
    unless a number is too long for its columns; it then says so. The first lines of
    program.lp and program.mps give the least difference between two values of the
    optimum: solve with a relative gap of 0 (mip_rel_gap in HiGHS) and an absolute
    gap below it. --engine reads both files back and solves them; olivine extract
    accepts any solver's solution.

    In variant paper, trying a clause has a negative reward, which Storm accepts
    (with --exact) and PRISM does not; the other variants have none
    (docs/model-checkers.md has the commands). With --two-actions, the graph, the
    models and the program are those of an MDP with two actions per state, a horizon
    of order log(n + m) and the same optimum. The folder appears complete or not at
    all.

    With several formulas, or a folder of them, each has its folder DIR/NAME, called
    as its file, and manifest.jsonl has a line for each: what --json prints. What
    fails has a line too, and the others are written; formulas below DIR are not
    read. Files with equal names are called by their paths: a_x.cnf for a/x.cnf.

    Exit status: 0 done, 2 bad input, 3 a limit of time or memory was reached
    (nothing is written for that formula).

    Example: [bold]olivine generate tests/cases/cadical/full3.cnf -o full3[/bold]
    """
    several = len(files) != 1 or Path(files[0]).is_dir()
    inside = _below(output)
    inputs = [
        (file, error)
        for file, error in expand(files)
        if not several or file in files or not inside(file)
    ]
    found = [file for file, error in inputs if error is None]
    job = Job(
        reading=reading,
        variant=variant.value,
        penalty=options.checked_penalty(variant, penalty),
        content=content,
        force=force,
        time_limit=time_limit,
        places={} if several else {files[0]: output},
    )
    options.checked_engine(content.engine)
    if not several:
        stages = job.stages()
        with progress_bar("generate", len(stages), json_lines) as progress:
            record, status = job.write(files[0], partial(_show_step, progress, stages))
        _report(record, json_lines)
        return status
    with bad_input(str(output), str(output)):
        job = replace(job, places=places(found, output))
        _check(output, job)
        return _write_all(job, inputs, output / MANIFEST, jobs, json_lines)


def _below(folder: Path) -> Callable[[str], bool]:
    """Give what tells whether a file lies below a folder, links followed."""
    place = folder.resolve()
    return lambda file: place in Path(file).resolve().parents


def _check(output: Path, job: Job) -> None:
    """Refuse a folder that is not empty, or has an input or one name twice."""
    check_empty(output, force=job.force)
    inside = _below(output)
    for file, place in job.places.items():
        if place == output / MANIFEST:
            raise ValueError(
                f"{file} and the manifest would both be written to {place}"
            )
        if file != STANDARD_INPUT and inside(file):
            raise ValueError(f"{file} is an input and lies in {output}")
    output.mkdir(parents=True, exist_ok=True)
    check_outputs([output / MANIFEST])


def _write_all(
    job: Job,
    inputs: Sequence[tuple[str, str | None]],
    manifest: Path,
    jobs: int,
    json_lines: bool,
) -> ExitStatus:
    """Write every folder, and a line of the manifest as each is whole."""
    if jobs > 1:
        job.load()
    lines: dict[int, str] = {}

    def noted() -> Iterator[tuple[int, Result]]:
        with open(manifest, "w", encoding="ascii") as rows:
            for number, result in each_input(job, inputs, jobs):
                row = {k: v for k, v in result[0].items() if k != "traceback"}
                lines[number] = json.dumps(row) + "\n"
                rows.write(lines[number])
                rows.flush()
                yield number, result

    statuses = []
    with progress_bar("generate", len(inputs), json_lines) as progress:
        for record, status in in_order(noted()):
            statuses.append(status)
            _report(record, json_lines, brief=True)
            progress.advance(progress.task_ids[0])
    if list(lines) != sorted(lines):
        from ..solvers.files import write_text

        write_text(manifest, (lines[number] for number in sorted(lines)))
    return worst(statuses)


def _report(record: dict[str, Any], json_lines: bool, *, brief: bool = False) -> None:
    if "traceback" in record:
        sys.stderr.write(record["traceback"])
    if json_lines:
        print_json(record)
    elif "error" in record:
        say(f"olivine: {record['error']}")
    elif "reason" in record:
        say(f"olivine: {record['file']}: {record['reason']}")
    else:
        _show(record, brief)


def _show_step(progress: Progress | Unseen, stages: list[str], name: str) -> None:
    """Show on the bar that a step begins."""
    for task in progress.task_ids:
        progress.update(task, completed=stages.index(name), description=name)


def _show(record: dict[str, Any], brief: bool) -> None:
    sizes, known = record["three_sat"], record.get("known")
    tell(
        f"{record['directory']}: {record['variant']}, penalty {record['penalty']}, "
        f"3-SAT form with {sizes['variables']} variables and {sizes['clauses']} "
        "clauses" + (f", optimum {known['optimum'] or 'not known'}" if known else "")
    )
    for name, size in {} if brief else record["files"].items():
        check = record["read_back"].get(name, "")
        tell(f"  {name:14} {size:>12,} bytes  {check}".rstrip())
