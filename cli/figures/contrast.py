"""The figure of ``olivine contrast``."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from ...reduction.contrast import EASY, HARD, describe
from .files import column, headline, legend, plain, style, write_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ...reduction.contrast import Fit, Measurement, Plan

Fits = Mapping[str, Mapping[str, "Fit | None"]]
Quantity = Literal["seconds", "work"]

# Told apart in print and by colour-blind readers (Okabe and Ito's palette).
_STYLE = {
    "faithful": ("#D55E00", "o", "OLIVE, faithful"),
    "strengthened": ("#E69F00", "s", "OLIVE, strengthened"),
    "projected": ("#CC79A7", "D", "OLIVE, projected (MaxSAT)"),
    "deterministic": ("#444444", "v", "multi, one policy"),
    "csc": ("#0072B2", "o", "CSC"),
    "ls": ("#56B4E9", "s", "LS"),
    "lp": ("#009E73", "D", "LP"),
    "mixture": ("#444444", "v", "multi, mixture"),
}


def save_figure(
    folder: Path, plan: Plan, measurements: Sequence[Measurement], fits: Fits
) -> list[str]:
    """Write contrast.png and .svg: MILPs on semi-logarithmic axes, oracles log-log."""
    names = ["contrast.png", "contrast.svg"]
    with style():
        figure, axes = column(9.6, 2, 2)
        for number, panel in enumerate(axes):
            quantity: Quantity = "work" if number > 1 else "seconds"
            _panel(panel, (HARD, EASY)[number % 2], quantity, measurements, fits)
        _dress(axes, plan)
        headline(figure, title(plan))
        for name in names:
            write_figure(folder / name, figure)
            figure.set_layout_engine("none")  # what was found holds for the next
    return names


def title(plan: Plan) -> str:
    """Say on two lines what the figure shows of which formulas."""
    formulas = "1 formula" if plan.instances == 1 else f"{plan.instances} formulas"
    return (
        "OLIVE's program against the oracles, on the same MDPs\n"
        f"random 3-SAT, {plan.ratio:g} clauses a variable, {formulas} a size, "
        f"variant {plan.variant}, seed {plan.seed}; ± is a standard error"
    )


def _dress(axes: Sequence[Axes], plan: Plan) -> None:
    time_hard, time_easy, work_hard, work_easy = axes
    time_hard.set_title("MILPs\nstraight: exponential in n", fontsize=9)
    time_easy.set_title("oracles\nstraight: polynomial in n", fontsize=9)
    for panel in (time_hard, work_hard):
        panel.set_yscale("log")
        panel.set_xlabel("n, variables")
    for panel in (time_easy, work_easy):
        panel.set_xscale("log")
        panel.set_yscale("log")
        panel.set_xlabel("n, variables (logarithmic)")
        _plain_ticks(panel, plan)
    time_hard.set_ylabel("CPU time [s]")
    work_hard.set_ylabel("branch-and-bound nodes\n(0 shown as 1)")
    work_easy.set_ylabel("operations\n(LP: simplex iterations)")
    low = min(time_hard.get_ylim()[0], time_easy.get_ylim()[0])
    high = 4 * plan.time_limit
    for panel in (time_hard, time_easy):
        panel.set_ylim(low, high)
        panel.axhline(plan.time_limit, color="#777777", linewidth=0.8, linestyle=":")
        panel.annotate(
            f"limit {plan.time_limit:g} s by the clock",
            (0.99, plan.time_limit * 1.5),
            xycoords=("axes fraction", "data"),
            ha="right",
            fontsize=8,
            color="#555555",
        )
    for panel in axes:
        plain(panel)
        if panel.get_legend_handles_labels()[0]:
            legend(panel)


def _plain_ticks(panel: Axes, plan: Plan) -> None:
    from matplotlib.ticker import FixedLocator, NullLocator, StrMethodFormatter

    ticks = (3, 6, 12, 24, 48, 96, 192)
    panel.xaxis.set_major_locator(FixedLocator([n for n in ticks if n <= plan.max_n]))
    panel.xaxis.set_major_formatter(StrMethodFormatter("{x:.0f}"))
    panel.xaxis.set_minor_locator(NullLocator())


def _panel(
    panel: Axes,
    series: Sequence[str],
    quantity: Quantity,
    measurements: Sequence[Measurement],
    fits: Fits,
) -> None:
    count, least = len(series), 1.0 if quantity == "work" else 1e-6
    for number, name in enumerate(series):
        own = [m for m in measurements if m.series == name]
        if not own:
            continue
        colour, marker, label = _STYLE[name]
        fitted = fits[name][quantity]
        text = describe(fitted, name, quantity, measurements)
        last = max(m.n for m in own)
        if last < max(m.n for m in measurements):
            text += f"; given up after n = {last}"
        shift = 1 + 0.012 * (number - (count - 1) / 2)  # equal series side by side
        for cut in (False, True):
            points = [m for m in own if m.censored is cut]
            panel.plot(
                [m.n * shift for m in points],
                [max(getattr(m, quantity), least) for m in points],
                linestyle="none",
                marker="^" if cut else marker,
                markersize=6 if cut else 3.5,
                markerfacecolor="none" if cut else colour,
                markeredgecolor=colour,
                alpha=0.9 if cut else 0.65,
            )
        label = f"{label}\n{textwrap.fill(text, 32)}"
        panel.plot([], [], color=colour, marker=marker, markersize=4, label=label)
        if fitted is not None and fitted.is_clear:
            grid = np.linspace(fitted.first, fitted.last, 100)
            panel.plot(grid, fitted(grid), color=colour, linewidth=1.3)
    if any(m.censored for m in measurements if m.series in series):
        panel.plot(
            [],
            [],
            linestyle="none",
            marker="^",
            markerfacecolor="none",
            markeredgecolor="#444444",
            label="cut off by the limit\n(at least so much)",
        )
