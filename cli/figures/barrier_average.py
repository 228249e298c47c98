"""The figure of ``olivine barrier average``."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from olivine.algorithms.barriers.average import balanced_policies
from olivine.cli.figures.style import COLOURS, DASHES, legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_average(axes: Sequence[Axes], record: Mapping[str, Any]) -> str:
    """Draw what policies seem to be worth, and how many of them there are.

    Returns
    -------
    The title.
    """
    _line_of_functions(axes[0], record)
    _count(axes[1], record)
    names = {"olive": "OLIVE", "valor": "VALOR"}
    found = ", ".join(
        f"{names.get(name, name)} {run['value']}"
        for name, run in record["algorithms"].items()
    )
    return (
        f"{record['contexts']} contexts, V* = {record['optimal_value']}; value of the "
        f"policy found: {found}"
    )


def _line_of_functions(panel: Axes, record: Mapping[str, Any]) -> None:
    """Values that policies seem to have under the functions that are kept."""
    panel.plot(
        [0, 1],
        [0.5, 0.5],
        color=COLOURS[1],
        linewidth=1.8,
        label=f"all {record['balanced_policies']:,} balanced policies (truly 1/2)",
    )
    panel.plot(
        [0, 1],
        [0, 1],
        color=COLOURS[0],
        linewidth=1.8,
        linestyle=DASHES[1],
        label="π* (truly 1)",
    )
    panel.axvspan(0, 0.5, color="#cccccc", alpha=0.35, linewidth=0)
    panel.plot([0.5], [0.5], "o", color="black", markersize=6)
    panel.annotate(
        "ĝ = (1/2, 1/2): all tie",
        (0.5, 0.5),
        (0.53, 0.36),
        arrowprops={"arrowstyle": "-", "linewidth": 0.7},
        fontsize=8,
    )
    panel.plot([1], [1], "*", color="black", markersize=10)
    panel.annotate("g* = (1, 0)", (1, 1), (0.77, 0.97), fontsize=8)
    panel.text(
        0.25,
        0.7,
        "exploration stops here\n(a balanced policy wins)",
        ha="center",
        fontsize=8,
    )
    panel.set_xlim(0, 1.03)
    panel.set_ylim(0, 1.05)
    panel.set_yticks([0, 0.25, 0.5, 0.75, 1])
    panel.set_xlabel("ĝ(s₁), where ĝ(s₂) = 1 − ĝ(s₁): all that the constraint keeps")
    panel.set_ylabel("value that a policy seems to have")
    panel.set_title("Every function on this line has the right average", fontsize=9)
    legend(panel)


def _count(panel: Axes, record: Mapping[str, Any]) -> None:
    """How many balanced policies there are, against what is printed."""
    sizes = list(range(2, max(30, record["contexts"]) + 1, 2))
    every = [2.0**m for m in sizes]
    balanced = [float(balanced_policies(m)) for m in sizes]
    shares = [b / e for b, e in zip(balanced, every, strict=True)]
    panel.plot(
        sizes,
        shares,
        color=COLOURS[1],
        marker="o",
        markersize=4,
        label="balanced share, C(m, m/2) / 2ᵐ",
    )
    panel.plot(
        sizes,
        [math.sqrt(2 / (math.pi * m)) for m in sizes],
        color=COLOURS[0],
        linestyle=DASHES[1],
        label="√(2/(πm))",
    )
    m = record["contexts"]
    panel.plot(
        [m],
        [balanced_policies(m) / 2**m],
        "s",
        color="black",
        markersize=7,
        markerfacecolor="none",
        label=f"this run: {balanced_policies(m):,} of {2**m:,}",
    )
    panel.set_ylim(0, 0.6)
    panel.set_xlabel("m, number of contexts")
    panel.set_ylabel("share of all 2ᵐ policies")
    panel.set_title("Balanced policies: many, but no constant share of all", fontsize=9)
    legend(panel)
