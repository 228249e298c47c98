"""What ``olivine barrier`` prints for people."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from ..common.console import print_table, tell

WORDS = {True: "yes", False: "no", None: "not decided"}


def show(record: Mapping[str, Any]) -> None:
    """Print the tables of a record."""
    {"backup": _backup, "average": _average, "square-loss": _square_loss}[
        record["barrier"]
    ](record)
    if record["figure"]:
        tell(record["figure"])


def _backup(record: Mapping[str, Any]) -> None:
    saved = record["ties"] == "for" and Fraction(record["ratio"]) == 2
    header = "samples a state", "below the limit", "chance of failure", "failed"
    for chain in record["chains"]:
        limit = float(Fraction(chain["sample_limit"]))
        tell(
            f"Bellman backups, chains of H = {chain['H']} states, ε = "
            f"{record['epsilon']}, ratio {record['ratio']}, ties "
            f"{record['ties']} the algorithm; V* = {chain['optimal_value']}"
        )
        holds = ", ".join(
            f"{name} {WORDS[value]}" for name, value in chain["assumptions"].items()
        )
        tell(f"  {holds}")
        rows = map(_chain_row, chain["rows"])
        print_table((*header, "95% interval", "trajectories a run"), rows)
        tell(
            f"  limit {limit:,.6g}: below, the failure has probability at least "
            f"1/4 and loses ε = {record['epsilon']}"
            + (" (with ties against)" if saved else "")
        )
        for run in chain["valor"]:
            tell(
                f"  VALOR, {run['parameters']} parameters: {run['status']}, V^π = "
                f"{run['value']}, {run['trajectories']:.3g} trajectories"
            )


def _chain_row(row: Mapping[str, Any]) -> list[str]:
    chance = row["probability"]
    middle = (chance["lower"] + chance["upper"]) / 2
    low, high = row["interval"]
    return [
        f"{row['n']:,}",
        WORDS[row["below_limit"]],
        f"{'' if chance['exact'] else '≈ '}{middle:.4f}",
        f"{row['failures']} of {row['runs']}",
        f"{low:.3f} to {high:.3f}",
        f"{row['trajectories']:.3g}",
    ]


def _average(record: Mapping[str, Any]) -> None:
    tell(
        f"Average constraints, {record['contexts']} contexts: π* and "
        f"{record['balanced_policies']:,} balanced policies (of "
        f"{record['policies']:,} in all); V* = {record['optimal_value']}"
    )
    rows = []
    for name, run in record["algorithms"].items():
        drawn = run["trajectories"]
        trajectories = "exact expectations" if drawn is None else f"{drawn:,}"
        promised = f"{float(Fraction(run['promised'])):.4g}"
        rows.append((name, run["value"], promised, str(run["rounds"]), trajectories))
    print_table(("algorithm", "V^π", "promised", "rounds", "trajectories"), rows)


def _square_loss(record: Mapping[str, Any]) -> None:
    tell(
        f"Square loss, ε = {record['epsilon']}: the roll-out policy earns "
        f"{record['value']} of V* = {record['optimal_value']}"
    )
    rows = []
    for name, found in record["functions"].items():
        bias = f"{found['bias']} = {found['bias_float']:.4g}"
        rows.append((name, *found["values"], found["square_loss"], bias))
    print_table(("function", "g(x1)", "g(x2)", "square loss", "mean of g - g*"), rows)
    if record["not_sampled"]:
        tell(f"  not sampled: {record['not_sampled']}")
        return
    header = "returns", "chance that g_bad fits better than g*", "did", "95% interval"
    fits = []
    for row in record["rows"]:
        did, (low, high) = f"{row['bad_fits']} of {row['runs']}", row["interval"]
        chance = f"{row['probability']:.4f}"
        fits.append((f"{row['n']:,}", chance, did, f"{low:.3f} to {high:.3f}"))
    print_table(header, fits)
