"""Tables of verification results for people."""

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from .console import print_table, tell

Record = dict[str, Any]


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
    from ...reduction.family.variants import Parameters, Variant

    penalty = Fraction(record["penalty"])
    return str(Parameters(Variant(record["variant"]), penalty, 1).best)


def _is_vote(record: Record) -> bool:
    """Whether a MILP found an optimum that its solution does not prove."""
    found = record["routes"].get("milp", {})
    return bool(found.get("status") == "optimal" and found["value"] != _best(record))


def _word(value: bool | None) -> str:
    return {True: "yes", False: "no", None: "?"}[value]
