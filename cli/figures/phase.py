"""The phase transition: what becomes of formulas as clauses per variable grow."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from olivine.cli.figures.files import style, write_figure
from olivine.cli.figures.style import COLOURS, DASHES, GREY, MARKERS, legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from olivine.cli.phase import Phase

_THRESHOLD = 4.267
"""Clauses per variable where random 3-SAT turns (Mézard, Parisi, Zecchina 2002)."""


def save_phases(path: Path, phases: Sequence[Phase]) -> None:
    """Draw share satisfiable, optimum, and time of each route; write the figure.

    Raises
    ------
    ValueError
        If there is nothing to draw.
    OSError
        If the file cannot be written.
    """
    from matplotlib.figure import Figure

    if not phases:
        raise ValueError(f"{path}: no formula is verified yet, so nothing is drawn")
    with style():
        figure: Figure = Figure(figsize=(11, 4.6), layout="constrained")
        share, optimum, seconds = figure.subplots(1, 3)
        _share(share, phases)
        _optimum(optimum, phases)
        _seconds(seconds, phases)
        for panel in (share, optimum, seconds):
            panel.set_xlabel("clauses per variable")
            panel.grid(visible=True, color="#e5e5e5", linewidth=0.6)
            panel.set_axisbelow(True)
            for side in ("top", "right"):
                panel.spines[side].set_visible(False)
        write_figure(path, figure)


def _lines(
    phases: Sequence[Phase], *, by_variant: bool
) -> Iterator[tuple[str, list[Phase]]]:
    """Phases of one line each, with its label; a verdict knows no variant."""
    many = len({phase.variant for phase in phases}) > 1
    for n in sorted({phase.variables for phase in phases}):
        for variant in sorted({phase.variant for phase in phases}):
            own = [p for p in phases if (p.variables, p.variant) == (n, variant)]
            if own:
                named = f", {variant}" if by_variant and many else ""
                yield f"{n} variables{named}", own
            if own and not by_variant:
                break


def _share(panel: Axes, phases: Sequence[Phase]) -> None:
    for number, (label, own) in enumerate(_lines(phases, by_variant=False)):
        x = [p.ratio for p in own]
        low, high = zip(*(p.share for p in own), strict=True)
        colour = COLOURS[number % len(COLOURS)]
        panel.plot(
            x, low, color=colour, marker=MARKERS[number % len(MARKERS)], ms=4,
            linestyle=DASHES[number % len(DASHES)], label=label,
        )  # fmt: skip
        if low != high:
            panel.fill_between(
                x, low, high, color=colour, alpha=0.2, lw=0,
                label="band: undecided" if number == 0 else None,
            )  # fmt: skip
    left, right = panel.get_xlim()
    if left < _THRESHOLD < right:
        panel.axvline(_THRESHOLD, color=GREY, linewidth=0.9, linestyle=":")
        panel.annotate(
            f"random 3-SAT, n → ∞: {_THRESHOLD}", (_THRESHOLD, 0), xytext=(-3, 4),
            rotation=90, textcoords="offset points", ha="right", va="bottom",
            color=GREY, fontsize=8,
        )  # fmt: skip
    panel.set_ylim(-0.04, 1.04)
    panel.set_title("Share of formulas that are satisfiable", loc="left", fontsize=10)
    legend(panel)


def _optimum(panel: Axes, phases: Sequence[Phase]) -> None:
    proved = [phase for phase in phases if phase.optima]
    for number, (label, own) in enumerate(_lines(proved, by_variant=True)):
        x = [p.ratio for p in own]
        colour = COLOURS[number % len(COLOURS)]
        panel.plot(
            x, [float(statistics.median(p.optima)) for p in own], color=colour, ms=4,
            marker=MARKERS[number % len(MARKERS)], label=label,
            linestyle=DASHES[number % len(DASHES)],
        )  # fmt: skip
        low, high = (
            [float(p.optima[0]) for p in own],
            [float(p.optima[-1]) for p in own],
        )
        panel.fill_between(x, low, high, color=colour, alpha=0.15, lw=0)
    title = "Optimum of OLIVE's program: median, range"
    panel.set_title(title, loc="left", fontsize=10)
    legend(panel)


def _seconds(panel: Axes, phases: Sequence[Phase]) -> None:
    """One line a route and size: colour for the route, dashes for the size."""
    routes = list(dict.fromkeys(name for p in phases for name in p.seconds))
    variant = phases[0].variant
    sizes = sorted({p.variables for p in phases})
    for number, route in enumerate(routes):
        for size, n in enumerate(sizes):
            own = [
                p
                for p in phases
                if (p.variables, p.variant) == (n, variant) and route in p.seconds
            ]
            panel.plot(
                [p.ratio for p in own], [p.seconds[route] for p in own], ms=4,
                color=COLOURS[number % len(COLOURS)],
                marker=MARKERS[number % len(MARKERS)],
                linestyle=DASHES[size % len(DASHES)],
                label=route if len(sizes) == 1 else f"{route}, {n} variables",
            )  # fmt: skip
    panel.set_yscale("log")
    named = f" ({variant})" if len({p.variant for p in phases}) > 1 else ""
    title = f"Seconds of each route{named}, median"
    panel.set_title(title, loc="left", fontsize=10)
    legend(panel, 1 if len(sizes) == 1 else len(sizes))
