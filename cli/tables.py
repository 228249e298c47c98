"""Tables of verification results for people."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from olivine.cli.common import printable, stdout_console

if TYPE_CHECKING:
    from rich.table import Table

Record = dict[str, Any]


def show(records: list[Record]) -> None:
    """Print a summary table, and for a single file what each route found.

    Parameters
    ----------
    records
        As ``olivine verify --json`` prints them, at least one.
    """
    console = stdout_console()
    good = [record for record in records if "error" not in record]
    if not good:
        return
    if not console.is_terminal:
        # A pipe has room: no file name is broken, so that a search finds it.
        longest = max(len(printable(record["file"])) for record in records)
        console.width = max(console.width, longest + 120)
    console.print(_summary(records))
    if len(records) == 1:
        console.print(_routes(good[0]))


def _summary(records: list[Record]) -> Table:
    from rich.table import Table
    from rich.text import Text

    variants = {f"{r['variant']}" for r in records if "error" not in r}
    table = Table(title=f"olivine verify, variant {', '.join(sorted(variants))}")
    for name in ("file", "n", "m", "satisfiable", "unsatisfied", "optimum"):
        file = name == "file"
        table.add_column(
            name,
            justify="left" if file else "right",
            overflow="fold" if file else "ellipsis",
        )
    for name in ("proved by", "agree", "seconds"):
        table.add_column(name)
    for record in records:
        if "error" in record:
            table.add_row(Text(printable(record["file"])), *["-"] * 5, "error")
            continue
        sizes = record["three_sat"]
        table.add_row(
            Text(printable(record["file"])),
            str(sizes["variables"]),
            str(sizes["clauses"]),
            _word(record["satisfiable"]),
            "?" if record["unsatisfied"] is None else str(record["unsatisfied"]),
            record["optimum"] or "?",
            ", ".join(record["optimum_by"]) or "-",
            _word(record["agree"]),
            f"{record['seconds']:.2f}",
        )
    table.caption = _totals(records)
    return table


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


def _routes(record: Record) -> Table:
    from rich.table import Table

    table = Table(title="routes")
    for name in ("route", "status", "value", "seconds", "remark"):
        table.add_column(name)
    for name, found in record["routes"].items():
        shown = ("status", "value", "seconds", "reason", "traceback")
        remarks = [f"{k}: {v}" for k, v in found.items() if k not in shown]
        table.add_row(
            name,
            found["status"],
            found["value"] or "-",
            f"{found['seconds']:.3f}",
            "; ".join(filter(None, [found.get("reason", ""), *remarks])),
        )
    return table


def _word(value: bool | None) -> str:
    return {True: "yes", False: "no", None: "?"}[value]
