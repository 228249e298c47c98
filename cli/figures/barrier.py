"""The figures of ``olivine barrier``."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...algorithms.barriers.average import balanced_policies
from ...algorithms.barriers.backup import BackupBarrier, failure_probability
from .files import (
    COLOURS,
    DASHES,
    GREY,
    MARKERS,
    column,
    headline,
    legend,
    plain,
    style,
    write_figure,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BAD = r"$g_\mathrm{bad}$"


def save_figure(path: Path, record: Mapping[str, Any]) -> None:
    """Draw the figure of a record and write it."""
    draw: Callable[[Sequence[Axes], Mapping[str, Any]], str] = {
        "backup": draw_backup,
        "average": draw_average,
        "square-loss": draw_square_loss,
    }[record["barrier"]]
    with style():
        figure, axes = column(8.6, 2)
        headline(figure, draw(axes, record))
        for panel in axes:
            plain(panel)
        write_figure(path, figure)


def _line(
    panel: Axes,
    x: Any,
    y: Any,
    colour: int,
    dash: int = 0,
    *,
    width: float | None = 1.8,
    **more: Any,
) -> None:
    look = {"color": COLOURS[colour], "linestyle": DASHES[dash], "linewidth": width}
    panel.plot(x, y, **look, **more)


def draw_average(axes: Sequence[Axes], record: Mapping[str, Any]) -> str:
    """Draw what policies seem to be worth, and how many of them there are."""
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
    every = f"all {record['balanced_policies']:,} balanced policies (truly 1/2)"
    _line(panel, [0, 1], [0.5, 0.5], 1, label=every)
    _line(panel, [0, 1], [0, 1], 0, 1, label="π* (truly 1)")
    panel.axvspan(0, 0.5, color="#cccccc", alpha=0.35, linewidth=0)
    panel.plot([0.5], [0.5], "o", color="black", markersize=6)
    panel.annotate(
        "(ĝ(s₁), ĝ(s₂)) = (1/2, 1/2): all tie",
        (0.5, 0.5),
        (0.53, 0.36),
        arrowprops={"arrowstyle": "-", "linewidth": 0.7},
        fontsize=8,
    )
    panel.plot([1], [1], "*", color="black", markersize=10)
    panel.annotate("g*: (1, 0)", (1, 1), (0.8, 0.97), fontsize=8)
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
    panel.set_title("Each ĝ on this axis has the right average", fontsize=9)
    legend(panel)


def _count(panel: Axes, record: Mapping[str, Any]) -> None:
    sizes = list(range(2, max(30, record["contexts"]) + 1, 2))
    every = [2.0**m for m in sizes]
    balanced = [float(balanced_policies(m)) for m in sizes]
    shares = [b / e for b, e in zip(balanced, every, strict=True)]
    share = "balanced share, C(m, m/2) / 2ᵐ"
    _line(panel, sizes, shares, 1, width=None, label=share, marker="o", markersize=4)
    roots = [math.sqrt(2 / (math.pi * m)) for m in sizes]
    _line(panel, sizes, roots, 0, 1, width=None, label="√(2/(πm)), π = 3.14…")
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


def draw_square_loss(axes: Sequence[Axes], record: Mapping[str, Any]) -> str:
    """Draw the functions with square loss at most ε, and how the error grows."""
    _ellipse(axes[0], float(Fraction(record["epsilon"])), record)
    _growth(axes[1], float(Fraction(record["epsilon"])))
    epsilon = record["epsilon"]
    return f"Square loss to an ε-optimal roll-out that earns nothing, ε = {epsilon}"


def _ellipse(panel: Axes, epsilon: float, record: Mapping[str, Any]) -> None:
    angle = np.linspace(0, np.pi / 2, 200)
    first = np.cos(angle) * np.sqrt(epsilon / (1 - epsilon))
    second = np.sin(angle)
    panel.fill(
        [0, *first, 0],
        [0, *second, 1],
        color="#cccccc",
        alpha=0.5,
        linewidth=0,
        label="square loss at most ε",
    )
    panel.plot(first, second, color=GREY, linewidth=1.2, label="square loss exactly ε")
    root = epsilon**0.5
    wide = min(1.0, 1.6 * float(first[0]))
    grid = np.linspace(0, wide, 2)
    most = (root - (1 - epsilon) * grid) / epsilon
    _line(panel, grid, most, 1, 1, width=1.2, label="E[g] = √ε, the most on that set")
    star = (epsilon - (1 - epsilon) * grid) / epsilon
    _line(panel, grid, star, 0, 2, width=1.2, label="E[g] = ε, the truth")
    points = (
        ("g_0", "$g_0$", 0.0, 0.0, "o", (72, 9)),
        ("g*", "g*", 0.0, 1.0, "*", (14, -22)),
        ("g_bad", BAD, root, root, "s", (-70, -24) if root > 0.6 * wide else (10, 4)),
    )
    for name, shown, x, y, marker, offset in points:
        panel.plot(
            [x], [y], marker, color="black", markersize=8, clip_on=False, zorder=5
        )
        loss = record["functions"][name]["square_loss"]
        panel.annotate(
            f"{shown}, loss {loss}",
            (x, y),
            offset,
            textcoords="offset points",
            fontsize=8,
            arrowprops={"arrowstyle": "-", "linewidth": 0.6},
        )
    panel.set_xlim(0, wide)
    panel.set_ylim(0, 1.15)
    panel.set_yticks([0, 0.25, 0.5, 0.75, 1])
    panel.set_xlabel("g(x₁)")
    panel.set_ylabel("g(x₂)")
    panel.set_title(f"What keeps g* keeps {BAD}", fontsize=9)
    legend(panel, 2)


def _growth(panel: Axes, epsilon: float) -> None:
    grid = np.geomspace(1e-4, 0.9, 200)
    error = f"error of {BAD}, E[{BAD} − g*] = √ε − ε"
    _line(panel, grid, np.sqrt(grid) - grid, 1, label=error)
    lost = f"suboptimality of the policy = square loss of g*, {BAD}: ε"
    _line(panel, grid, grid, 0, 1, label=lost)
    panel.plot(
        [epsilon, epsilon],
        [epsilon, epsilon**0.5 - epsilon],
        "o",
        color="black",
        markersize=5,
        label="this ε",
    )
    panel.set_xscale("log")
    panel.set_yscale("log")
    panel.set_xlabel("ε, probability of x₂")
    panel.set_ylabel("value")
    panel.set_ylim(8e-5, 1.2)
    panel.set_title("An ε in the policy, √ε − ε in the value function", fontsize=9)
    legend(panel)


def draw_backup(axes: Sequence[Axes], record: Mapping[str, Any]) -> str:
    """Draw failure probability against n, and trajectories against H."""
    _failures(axes[0], record)
    _trajectories(axes[1], record["growth"], bound=_bound_holds(record))
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


def _trajectories(
    panel: Axes, rows: Sequence[Mapping[str, Any]], *, bound: bool
) -> None:
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
