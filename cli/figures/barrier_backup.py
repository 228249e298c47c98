"""The figure of ``olivine barrier backup``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from ...algorithms.barriers.backup import BackupBarrier, failure_probability
from .files import COLOURS, DASHES, GREY, MARKERS, legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ...algorithms.barriers.backup import BackupBarrier


def draw_backup(axes: Sequence[Axes], record: Mapping[str, Any]) -> str:
    """Draw failure probability against n, and trajectories against H."""
    _failures(axes[0], record)
    _growth(axes[1], record["growth"], bound=_bound_holds(record))
    ties = f", ties {record['ties']} it" if Fraction(record["ratio"]) == 2 else ""
    return (
        f"Bellman backups on the two chains (ε = {record['epsilon']}, ratio "
        f"{record['ratio']}{ties}), and VALOR on the same classes"
    )


def _failures(panel: Axes, record: Mapping[str, Any]) -> None:
    epsilon, ratio = Fraction(record["epsilon"]), Fraction(record["ratio"])
    longest, top = 1.0, 0.75
    limits = []
    for i, chain in enumerate(record["chains"]):
        barrier = BackupBarrier(chain["H"], epsilon, ratio)
        limit = float(barrier.sample_limit)
        colour, dashes = COLOURS[i % len(COLOURS)], DASHES[i % len(DASHES)]
        marker = MARKERS[i % len(MARKERS)]
        high = max(32 * limit, *(row["n"] for row in chain["rows"]))
        longest = max(longest, high)
        top = max(top, *(row["interval"][1] + 0.03 for row in chain["rows"]))
        # At odd n no mean of samples is exactly 1/2, which speaks for g*.
        for odd, width in ((0, 1.3), (1, 0.6)):
            grid, exact = _exact(barrier, high, record["ties"], odd)
            panel.plot(grid, exact, linewidth=width, color=colour, linestyle=dashes)
        _points(panel, chain["rows"], colour, marker)
        limits.append((limit, colour))
        label = f"H = {chain['H']}, limit {_number(limit)}"
        panel.plot(
            [], [], marker=marker, ms=4, label=label, color=colour, linestyle=dashes
        )
    if _bound_holds(record) and max(limit for limit, _ in limits) > 1:
        bound: dict[str, Any] = {"color": GREY, "alpha": 0.5, "linewidth": 1.2}
        panel.plot([1, max(limit for limit, _ in limits)], [0.25, 0.25], **bound)
        for limit, colour in limits:
            panel.plot([limit], [0.25], "|", color=colour, ms=13, mew=2)
        panel.plot(
            [], [], label="failure ≥ 1/4, proved up to each limit ( | )", **bound
        )
    panel.set_xscale("log")
    panel.set_xlim(0.8, 1.5 * longest)
    panel.set_ylim(-0.02, top)
    panel.set_xlabel("n, samples of each state and action (thin lines: odd n)")
    runs = record["runs"]
    panel.set_ylabel(f"probability of losing ε (points: {runs} runs, 95%)")
    panel.set_title("Failure: exact (lines), simulated (points), bound", fontsize=9)
    legend(panel, 2)


def _bound_holds(record: Mapping[str, Any]) -> bool:
    """Whether the proof applies: at ratio 2 it has ties broken against the backups."""
    return Fraction(record["ratio"]) != 2 or record["ties"] == "against"


def _exact(
    barrier: BackupBarrier, high: float, ties: Any, odd: int
) -> tuple[list[int], list[float]]:
    grid = sorted({2 * max(1, round(n / 2)) - odd for n in np.geomspace(2, high, 90)})
    return grid, [failure_probability(barrier, n, ties).middle for n in grid]


def _points(
    panel: Axes, rows: Sequence[Mapping[str, Any]], colour: str, marker: str
) -> None:
    shares = [row["failures"] / row["runs"] for row in rows]
    below = [max(0, s - r["interval"][0]) for s, r in zip(shares, rows, strict=True)]
    above = [max(0, r["interval"][1] - s) for s, r in zip(shares, rows, strict=True)]
    look: dict[str, Any] = {"markersize": 4, "elinewidth": 0.8, "capsize": 2}
    ends, x = [below, above], [row["n"] for row in rows]
    panel.errorbar(x, shares, yerr=ends, fmt=marker, color=colour, **look)


def _number(value: float) -> str:
    if value < 100:
        return f"{value:.3g}"
    return f"{value:,.0f}" if value < 1e6 else f"{value:.2g}".replace("e+", "e")


def _growth(panel: Axes, rows: Sequence[Mapping[str, Any]], *, bound: bool) -> None:
    horizons = [row["H"] for row in rows]
    if bound:
        panel.plot(
            horizons,
            [float(Fraction(row["bellman"])) for row in rows],
            color=COLOURS[1],
            linewidth=1.5,
            marker="^",
            markersize=4,
            label="Bellman backups: with so many, failure has probability ≥ 1/4",
        )
    for number, first in enumerate(rows[0]["valor"]):
        kind = first["parameters"]
        runs = [row["valor"][number] for row in rows]
        best = sum(run["optimal"] for run in runs)
        panel.plot(
            horizons,
            [float(run["trajectories"]) for run in runs],
            color=COLOURS[2 * number],
            linestyle=DASHES[1 + number],
            marker="os"[number],
            markersize=4,
            label=f"VALOR, {kind} parameters: optimal in {best} of {len(runs)} runs",
        )
    panel.set_yscale("log")
    panel.set_xlabel("H, length of the chains")
    panel.set_ylabel("trajectories of a run")
    panel.set_title("Trajectories against the horizon", fontsize=9)
    legend(panel)
