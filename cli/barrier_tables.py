"""What ``olivine barrier`` prints for people."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from olivine.cli.common import stdout_console
from rich.table import Table
from rich.text import Text

WORDS = {True: "yes", False: "no", None: "not decided"}


def show(record: Mapping[str, Any]) -> None:
    """Print the tables of a record."""
    {"backup": _backup, "average": _average, "square-loss": _square_loss}[
        record["barrier"]
    ](record)
    if record["figure"]:
        stdout_console().print(Text(record["figure"]))


def _backup(record: Mapping[str, Any]) -> None:
    console = stdout_console()
    saved = record["ties"] == "for" and Fraction(record["ratio"]) == 2
    for chain in record["chains"]:
        limit = float(Fraction(chain["sample_limit"]))
        console.print(
            Text(
                f"Bellman backups, chains of H = {chain['H']} states, ε = "
                f"{record['epsilon']}, ratio {record['ratio']}, ties "
                f"{record['ties']} the algorithm; V* = {chain['optimal_value']}"
            )
        )
        holds = ", ".join(
            f"{name} {WORDS[value]}" for name, value in chain["assumptions"].items()
        )
        console.print(Text(f"  {holds}"))
        table = Table(
            "samples a state",
            "below the limit",
            "chance of failure",
            "failed",
            "95% interval",
            "trajectories a run",
            box=None,
        )
        for row in chain["rows"]:
            chance = row["probability"]
            middle = (chance["lower"] + chance["upper"]) / 2
            low, high = row["interval"]
            table.add_row(
                f"{row['n']:,}",
                WORDS[row["below_limit"]],
                f"{'' if chance['exact'] else '≈ '}{middle:.4f}",
                f"{row['failures']} of {row['runs']}",
                f"{low:.3f} to {high:.3f}",
                f"{row['trajectories']:.3g}",
            )
        console.print(table)
        console.print(
            Text(
                f"  limit {limit:,.6g}: below, the failure has probability at least "
                f"1/4 and loses ε = {record['epsilon']}"
                + (" (with ties against)" if saved else "")
            )
        )
        for run in chain["valor"]:
            console.print(
                Text(
                    f"  VALOR, {run['parameters']} parameters: {run['status']}, V^π = "
                    f"{run['value']}, {run['trajectories']:.3g} trajectories"
                )
            )


def _average(record: Mapping[str, Any]) -> None:
    console = stdout_console()
    console.print(
        Text(
            f"Average constraints, {record['contexts']} contexts: π* and "
            f"{record['balanced_policies']:,} balanced policies (of "
            f"{record['policies']:,} in all); V* = {record['optimal_value']}"
        )
    )
    table = Table("algorithm", "V^π", "promised", "rounds", "trajectories", box=None)
    for name, run in record["algorithms"].items():
        drawn = run["trajectories"]
        table.add_row(
            name,
            run["value"],
            f"{float(Fraction(run['promised'])):.4g}",
            str(run["rounds"]),
            "exact expectations" if drawn is None else f"{drawn:,}",
        )
    console.print(table)


def _square_loss(record: Mapping[str, Any]) -> None:
    console = stdout_console()
    console.print(
        Text(
            f"Square loss, ε = {record['epsilon']}: the roll-out policy earns "
            f"{record['value']} of V* = {record['optimal_value']}"
        )
    )
    table = Table(
        "function", "g(x1)", "g(x2)", "square loss", "mean of g - g*", box=None
    )
    for name, found in record["functions"].items():
        first, second = found["values"]
        bias = f"{found['bias']} = {found['bias_float']:.4g}"
        table.add_row(name, first, second, found["square_loss"], bias)
    console.print(table)
    if record["not_sampled"]:
        console.print(Text(f"  not sampled: {record['not_sampled']}"))
        return
    fits = Table(
        "returns",
        "chance that g_bad fits better than g*",
        "did",
        "95% interval",
        box=None,
    )
    for row in record["rows"]:
        low, high = row["interval"]
        fits.add_row(
            f"{row['n']:,}",
            f"{row['probability']:.4f}",
            f"{row['bad_fits']} of {row['runs']}",
            f"{low:.3f} to {high:.3f}",
        )
    console.print(fits)
