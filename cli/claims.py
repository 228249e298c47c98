"""``olivine claims``: the ledger of the paper's claims and of our own."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .common.command import verb
from .common.options import Json
from .common.output import (
    ExitStatus,
    describe,
    internal_error,
    print_json,
    say,
    stdout_console,
    worst,
)

if TYPE_CHECKING:
    from ..claims import Claim


@verb
def claims(
    identifiers: Annotated[
        list[str] | None,
        typer.Argument(metavar="[ID]...", help="Names of entries; all by default."),
    ] = None,
    run: Annotated[
        bool, typer.Option("--run", help="Run the checks and print verdicts.")
    ] = False,
    page: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="With --run: also write Markdown: the entries named, or a summary of "
            "all and a page for each subject in the folder of that name.",
        ),
    ] = None,
    brief: Annotated[
        bool, typer.Option("--brief", help="Print one line per entry.")
    ] = False,
    json_lines: Json = False,
) -> int:
    """List the claims of the paper and of this project, or check them with --run.

    Exit status: 0 done, 1 a claim was refuted by its check.

    Example: [bold]olivine claims --run theorem-o[/bold]
    """
    if page is not None and not run:
        raise typer.BadParameter("--page goes with --run")
    entries = _select(identifiers or [])
    if page is not None and (reason := _no_place(page)):
        say(f"olivine: {reason}")
        return ExitStatus.BAD_INPUT
    records, statuses = [], []
    for entry in entries:
        record, status = _record(entry, run)
        records.append(record)
        statuses.append(status)
        if json_lines:
            print_json(record)
        elif brief:
            _show_line(record)
        else:
            _show(record)
    if not (identifiers or brief or json_lines):
        _show_notation()
    if page is not None:
        from ..claims.page import chosen_page, claims_pages
        from ..solvers.files import write_text

        folder = page.with_suffix("")
        try:
            if identifiers:
                pages = {"": chosen_page(records)}
            else:
                pages = claims_pages(records, folder.name)
                folder.mkdir(exist_ok=True)
            for name, text in pages.items():
                write_text(folder / f"{name}.md" if name else page, [text])
        except OSError as error:
            say(f"olivine: {describe(error, str(page))}")
            statuses.append(ExitStatus.BAD_INPUT)
    return worst(statuses)


def _no_place(page: Path) -> str:
    """Say, before anything is run, why a page cannot be written; or nothing."""
    from .common.outputs import check_outputs

    try:
        check_outputs([page])
    except (OSError, ValueError) as error:
        return describe(error)
    return ""


def _select(identifiers: list[str]) -> list[Claim]:
    """Entries of these names in the ledger's order, all when there are none."""
    from ..algorithms.learning.registry import suggestion
    from ..claims import load

    entries = load()
    known = {entry.id for entry in entries}
    for identifier in identifiers:
        if identifier not in known:
            raise typer.BadParameter(
                f"no claim {identifier!r}{suggestion(identifier, known)}; "
                "olivine claims lists them"
            )
    return [e for e in entries if not identifiers or e.id in identifiers]


def _record(entry: Claim, run: bool) -> tuple[dict[str, Any], ExitStatus]:
    """Describe an entry, after running its check if wanted."""
    from ..claims import PROOFS, numbers_of

    start = time.perf_counter()
    verdict, text, status = None, None, ExitStatus.DONE
    if run:
        try:
            evidence = None if entry.check is None else entry.check()
        except Exception as error:
            text = internal_error(error)
            status = ExitStatus.FAILED
        else:
            verdict = entry.verdict(evidence)
            text = "nothing checks it yet" if evidence is None else evidence.text
            if verdict == "refuted":
                status = ExitStatus.CONTRADICTION
    record = {
        "id": entry.id,
        "subject": entry.subject,
        "source": entry.source,
        "statements": list(numbers_of(entry.id)),
        "statement": entry.statement,
        "method": entry.method,
        "verdict": verdict,
        "evidence": text,
        "seconds": round(time.perf_counter() - start, 6) if run else None,
    }
    if entry.erratum:
        record["erratum"] = entry.erratum
    if entry.id in PROOFS:
        record["proved_in_coq"] = str(PROOFS[entry.id])
    if status is not ExitStatus.DONE:
        say(f"olivine: claim {entry.id}: {verdict or 'its check failed'}")
    return record, status


def _show_notation() -> None:
    from rich.padding import Padding
    from rich.text import Text

    from ..claims.page import NOTATION

    console = stdout_console()
    console.print(Text("Notation", "bold"))
    for where, text in NOTATION:
        told = Text.assemble((f"{where}. ", "italic"), text)
        console.print(Padding(told, (0, 0, 0, 4)))


def _show_line(record: dict[str, Any]) -> None:
    from rich.text import Text

    verdict = record["verdict"] or ""
    line = f"{record['id']:38} {verdict:18} {', '.join(record['statements'])}"
    stdout_console().print(Text(line.rstrip()))


def _show(record: dict[str, Any]) -> None:
    from rich.padding import Padding
    from rich.text import Text

    console = stdout_console()
    title = Text.assemble((record["id"], "bold"), f"  ({record['source']})")
    if record["verdict"] is not None:
        title.append(f"  {record['verdict']}", style="bold")
    console.print(title)
    console.print(Padding(Text(record["statement"]), (0, 0, 0, 4)))
    evidence = f"{record['method']}"
    if record["evidence"] is not None:
        evidence += f": {record['evidence']} ({record['seconds']:.1f} s)"
    console.print(Padding(Text(evidence, style="dim"), (0, 0, 1, 4)))
