"""``olivine verify``: the optimum of OLIVE's program equals satisfiability."""

from __future__ import annotations

import enum
import sys
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .common import options
from .common.command import verb
from .common.output import (
    ExitStatus,
    FileError,
    bad_input,
    print_json,
    print_table,
    progress_bar,
    say,
    say_contradictions,
    say_warnings,
    tell,
    worst,
)
from .common.outputs import Target, certify, refuse_inside, targets
from .common.reading import Reading, Result, each_input, expand, guarded, in_order

if TYPE_CHECKING:
    from ..reduction.family.family import Instance
    from ..reduction.formula.dimacs import DimacsFile

Record = dict[str, Any]


class RouteName(enum.StrEnum):
    """Routes to the optimum."""

    SAT = "sat"
    MAXSAT = "maxsat"
    MILP = "milp"
    BRUTE = "brute"
    TREEWIDTH = "treewidth"
    WITNESS = "witness"


@dataclass(frozen=True)
class Job:
    """What to do with each file; picklable for worker processes."""

    reading: Reading
    variant: str
    penalty: Fraction | None
    formulation: str | None
    routes: tuple[str, ...] | None
    time_limit: float | None
    seed: int
    certificates: Mapping[str, Target] | None = None
    engine: str = "highs"

    def __call__(self, file: str) -> Result:
        """Verify one file; whatever happens becomes a record."""
        return guarded(self._verify, file)

    def instance(self, file: str) -> tuple[DimacsFile | None, Instance]:
        """Read a file: what was read, if it is a file, and the instance it is."""
        return self.reading.read_instance(file, self.variant, self.penalty)

    def _verify(self, file: str) -> Result:
        from ..reduction.verify.verification import verify_instance

        start = time.perf_counter()
        with bad_input(file):
            source, instance = self.instance(file)
        hardened = None if source is None else source.hardened
        if hardened is not None and self.certificates is not None:
            raise FileError(
                file,
                f"{file}: no certificate of a formula with hard clauses, which olivine "
                f"check does not read; write them with weight {hardened.weight}",
            )
        answer = verify_instance(
            instance,
            engine=self.engine,
            formulation=self.formulation,
            routes=self.routes,  # type: ignore[arg-type]
            time_limit=self.time_limit,
            seed=self.seed,
        )
        record = {"file": file} | answer.to_json()
        del record["seconds"]
        if hardened is not None:
            record["hard"] = {
                "clauses": hardened.count,
                "weight": hardened.weight,
                "satisfiable": hardened.satisfiable(answer.unsatisfied),
            }
        record["warnings"] = [] if source is None else list(source.warnings)
        status = ExitStatus.DONE if answer.decided else ExitStatus.UNDECIDED
        if answer.agree is False:
            status = ExitStatus.CONTRADICTION
        if self.certificates is not None:
            target = self.certificates[file]
            made, fault = certify(instance, answer, target, self.time_limit)
            record["certificate"] = made
            if status is not ExitStatus.CONTRADICTION and fault is not ExitStatus.DONE:
                status = fault
        record["seconds"] = round(time.perf_counter() - start, 6)
        return record, status


@verb
def verify(
    files: options.InputFiles,
    *,
    variant: options.VariantOption = options.VariantName.PAPER,
    penalty: options.PenaltyOption = None,
    formulation: Annotated[
        options.FormulationName | None,
        typer.Option(help="Formulation of the MILP route; chosen by size by default."),
    ] = None,
    engine: options.MilpEngine = "highs",
    route: Annotated[
        list[RouteName] | None,
        typer.Option(help="Run this route; repeatable. By default chosen by size."),
    ] = None,
    time_limit: options.TimeLimit = None,
    memory: options.Memory = None,
    certificate: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write a certificate here, and its proof to FILE.drat; for several "
            "formulas, the folder for one certificate each.",
        ),
    ] = None,
    proofs: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="With --certificate: write the refuted formula here, with its proof "
            "as DRAT and LRAT, for other checkers.",
        ),
    ] = None,
    jobs: options.Jobs = 1,
    seed: options.Seed = 0,
    reading: Reading,
    json_lines: options.Json = False,
) -> int:
    """Check that the optimum of OLIVE's program equals satisfiability.

    Independent routes must agree: a SAT solver, MaxSAT with Theorem O, a MILP of
    the program, brute force, exact certificates and, on request, dynamic
    programming over a tree decomposition. Each route has 60 seconds (the MILP 5)
    unless --time-limit sets another limit.

    With several formulas, or a folder of them, --certificate and --proofs name
    folders, for NAME.json and a folder NAME of each file. Files with equal names are
    called by their paths: a_x.cnf for a/x.cnf.

    Exit status: 0 verdict and optimum proved, no route contradicts (some may have
    reached a limit), 1 a contradiction, 2 bad input or a certificate that cannot be
    written, 3 undecided within the limits of time and memory (verdict, optimum or
    the proof for the certificate; partial results are printed).

    Example: [bold]olivine verify tests/cases/satlib --variant gap --json[/bold]
    """
    inputs = list(expand(files))
    if proofs is not None and certificate is None:
        raise typer.BadParameter("--proofs needs --certificate: it writes its proof")
    places = None
    if certificate is not None:
        options.without_sides(variant, "a certificate")
        several = len(inputs) != 1 or inputs[0][0] not in files
        found = [file for file, error in inputs if error is None]
        with bad_input(inputs[0][0], str(certificate)):
            if proofs is not None:
                refuse_inside(proofs, files)
            places = targets(found, certificate, proofs, several) if found else {}
    job = Job(
        reading=reading,
        variant=variant.value,
        penalty=options.checked_penalty(variant, penalty),
        formulation=None if formulation is None else formulation.value,
        routes=tuple(r.value for r in route) if route else None,
        time_limit=time_limit,
        seed=seed,
        certificates=places,
        engine=options.checked_engine(engine),
    )
    statuses: list[ExitStatus] = []
    records: list[Record] = []
    with progress_bar("verifying", len(inputs), json_lines) as progress:
        if jobs > 1:
            from ..reduction.verify import verification  # noqa: F401 (for all children)

        for record, status in in_order(each_input(job, inputs, jobs)):
            statuses.append(status)
            announce(record, json_lines)
            if json_lines:
                print_json(record)
            else:
                records.append(record)
            progress.advance(progress.task_ids[0])
    if not json_lines:
        show(records)
    return worst(statuses)


def say_failures(file: str, routes: Mapping[str, Record]) -> None:
    """Say which routes raised, on standard error; their records have the traceback."""
    for name, found in routes.items():
        if found["status"] == "error":
            say(
                f"olivine: warning: {file}: route {name} failed: {found['reason']} "
                "(please report it with the input; --json shows where)"
            )


def announce(record: Record, json_lines: bool) -> None:
    """Say warnings, contradictions and (without --json) errors on standard error."""
    say_warnings(record.get("warnings", ()))
    say_failures(record["file"], record.get("routes", {}))
    if "certificate" in record:
        made = record["certificate"]
        where = "" if made["file"] is None else f"certificate in {made['file']}"
        if made["reason"]:
            where += ", but " * bool(where) + made["reason"]
        elif made.get("proofs"):
            where += f", proofs in {made['proofs']}"
        elif "proofs" in made:
            where += ", which refutes nothing: no proof to export"
        if made["reason"] or not json_lines:
            say(f"olivine: {record['file']}: {where}")
    say_contradictions(record.get("contradictions", ()), record["file"])
    if "error" in record and not json_lines:
        say(f"olivine: {record['error']}")
    if "traceback" in record:
        print(record["traceback"], end="", file=sys.stderr)


def show(records: list[Record]) -> None:
    """Print a summary table, and for a single file what each route found."""
    good = [record for record in records if "error" not in record]
    if not good:
        return
    variants = sorted({str(record["variant"]) for record in good})
    numbers = ("n", "m", "satisfiable", "unsatisfied", "optimum")
    print_table(
        ("file", *numbers, "proved by", "agree", "seconds"),
        map(_row, records),
        title=f"olivine verify, variant {', '.join(variants)}",
        caption=_totals(records),
        right=numbers,
        folded=("file",),
        spare=("seconds", "proved by", "m", "n", "agree"),
        boxed=True,
    )
    if len(records) == 1:
        _show_routes(good[0])
    for line in notes(good):
        tell(line)


def _row(record: Record) -> list[str]:
    if "error" in record:
        return [record["file"], *["-"] * 5, "error", "", ""]
    sizes = record["three_sat"]
    return [
        record["file"],
        str(sizes["variables"]),
        str(sizes["clauses"]),
        _word(record["satisfiable"]),
        _unsatisfied(record),
        _optimum(record),
        ", ".join(record["optimum_by"]) or "-",
        _word(record["agree"]),
        f"{record['seconds']:.2f}",
    ]


def lower_bound(record: Record) -> str | None:
    """Give the checked witness's value, at most the optimum; None if unknown."""
    found = record["routes"].get("witness", {})
    return found["value"] if found.get("status") == "feasible" else None


def _optimum(record: Record) -> str:
    if record["optimum"] is not None:
        return str(record["optimum"])
    least = lower_bound(record)
    return "?" if least is None else f"≥ {least}"


def _unsatisfied(record: Record) -> str:
    if record["unsatisfied"] is not None:
        return str(record["unsatisfied"])
    bounds = record["routes"].get("maxsat", {})
    if "at_least" not in bounds:
        return "?"
    return f"{bounds['at_least']} to {bounds['at_most']}"


def _totals(records: Iterable[Record]) -> str:
    kinds = {"agree": 0, "undecided": 0, "contradictions": 0, "errors": 0}
    for record in records:
        if "error" in record:
            kinds["errors"] += 1
        elif record["agree"] is False:
            kinds["contradictions"] += 1
        elif record["satisfiable"] is None or record["optimum"] is None:
            kinds["undecided"] += 1
        elif record["agree"]:
            kinds["agree"] += 1
    return ", ".join(f"{count} {kind}" for kind, count in kinds.items() if count)


def _show_routes(record: Record) -> None:
    print_table(
        ("route", "status", "value", "seconds", "remark"),
        [
            (
                name,
                found["status"],
                found["value"] or "-",
                f"{found['seconds']:.3f}",
                remark(found),
            )
            for name, found in record["routes"].items()
        ],
        title="routes",
        boxed=True,
    )


def remark(found: Record) -> str:
    """Say of a route what its columns do not: its reason, and further facts."""
    shown = ("status", "value", "seconds", "reason", "traceback", "at_least", "at_most")
    facts = [f"{k}: {v}" for k, v in found.items() if k not in shown]
    return "; ".join(filter(None, [found.get("reason", ""), *facts]))


def notes(records: Iterable[Record]) -> Iterable[str]:
    """Explain what the tables leave open, each once."""
    records = list(records)
    if any(record["agree"] is None for record in records):
        yield "agree ?: fewer than two routes finished, so there is nothing to compare."
    if any(r["optimum"] is None and lower_bound(r) is not None for r in records):
        yield (
            "optimum ≥: at least the exact value of the best assignment found; no "
            "route proved that it is not higher."
        )
    for best in sorted({_best(record) for record in records if _is_vote(record)}):
        yield (
            f"milp: computed in floating point; below {best} its optimum is compared "
            "with the others, but proves nothing."
        )


def _best(record: Record) -> str:
    """Optimum of a satisfiable formula, which a MILP's solution alone proves."""
    from ..reduction.family.variants import Parameters, Variant

    penalty = Fraction(record["penalty"])
    return str(Parameters(Variant(record["variant"]), penalty, 1).best)


def _is_vote(record: Record) -> bool:
    """Whether a MILP found an optimum that its solution does not prove."""
    found = record["routes"].get("milp", {})
    return bool(found.get("status") == "optimal" and found["value"] != _best(record))


def _word(value: bool | None) -> str:
    return {True: "yes", False: "no", None: "?"}[value]


DEFAULT_SECONDS = 60.0


@verb
def multi(
    files: options.InputFiles,
    *,
    time_limit: options.TimeLimit = None,
    reading: Reading,
    json_lines: options.Json = False,
) -> int:
    """Decide formulas by the multi-data-set oracle, and check it against SAT.

    This oracle of the paper decides 3-SAT if it has to return one deterministic
    policy: each clause is a data set, and a policy within the limits exists if and
    only if the formula is satisfiable. For a mixture of policies the oracle is
    polynomial, and answers "feasible" for every formula. Each engine has 60 seconds
    unless --time-limit sets another limit.

    Exit status: 0 all agree, 1 a contradiction, 2 bad input, 3 undecided.

    Example: [bold]olivine multi tests/cases/satlib/uf20-01.cnf --json[/bold]
    """
    seconds = DEFAULT_SECONDS if time_limit is None else time_limit
    job = partial(guarded, partial(_verify, reading, seconds))
    statuses = []
    for record, status in in_order(each_input(job, list(expand(files)), 1)):
        statuses.append(status)
        announce(record, json_lines)
        if json_lines:
            print_json(record)
        elif "error" not in record:
            _show(record)
    return worst(statuses)


def _verify(reading: Reading, seconds: float, file: str) -> Result:
    from ..reduction.multi import verify_multi_hardness

    start = time.perf_counter()
    with bad_input(file):
        source = reading.read(file)
    with bad_input(file, named=False):
        found = verify_multi_hardness(source.formula, time_limit=seconds)
    record = {"file": file} | found.to_json()
    record["warnings"] = list(source.warnings)
    record["seconds"] = round(time.perf_counter() - start, 6)
    if found.contradictions:
        return record, ExitStatus.CONTRADICTION
    deterministic = found.routes["deterministic"].satisfiable
    decided = deterministic is not None and found.mixture.feasible
    return record, ExitStatus.DONE if decided else ExitStatus.UNDECIDED


def _show(record: dict[str, Any]) -> None:
    word = {True: "satisfiable", False: "unsatisfiable", None: "undecided"}
    tell(
        f"{record['file']}: {word[record['satisfiable']]}; {record['data_sets']} "
        f"data sets over {record['observations']} observations"
    )
    for name, route in record["routes"].items():
        more = f", {route['nodes']} nodes" if "nodes" in route else ""
        tell(f"  {name:14} {route['status']:14} {route['seconds']:9.3f} s{more}")
    mixture = record["mixture"]
    tell(
        f"  {'mixture':14} {mixture['status']:14} {mixture['seconds']:9.3f} s, "
        f"{mixture['calls']} CSC calls"
    )
