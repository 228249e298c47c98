"""Learning curves: the value of each policy against trajectories, over seeds."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from olivine.cli.figures.files import style, write_figure
from olivine.cli.figures.style import COLOURS, DASHES, GREY, MARKERS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from olivine.cli.curves import Curve


def save_curves(path: Path, curves: Sequence[Curve]) -> None:
    """Draw a panel for each environment and write the figure atomically.

    A line is the median over seeds (of two, their mean), the band their range, a
    marker the end of the run of a seed, a cross one that its limit stopped.

    Raises
    ------
    ValueError
        If there is nothing to draw.
    OSError
        If the file cannot be written.
    """
    from matplotlib.figure import Figure

    drawn = [curve for curve in curves if curve.ends]
    if not drawn:
        raise ValueError(f"{path}: no run has a curve, so nothing is drawn")
    environments = list(dict.fromkeys(curve.env for curve in drawn))
    names = list(dict.fromkeys(curve.algorithm for curve in drawn))
    columns = min(2, len(environments))
    rows = -(-len(environments) // columns)
    with style():
        size = (6.4 * columns if columns > 1 else 7.2, 3.6 * rows + 0.9)
        figure: Figure = Figure(figsize=size, layout="constrained")
        panels = figure.subplots(rows, columns, squeeze=False).flatten()
        for panel, env in zip(panels, environments, strict=False):
            _panel(panel, [c for c in curves if c.env == env], names)
        for panel in panels[len(environments) :]:
            panel.set_axis_off()
        _legend(figure, names, columns, drawn)
        write_figure(path, figure)


def _look(names: Sequence[str], name: str) -> tuple[str, str, Any]:
    """Colour, marker and dashes of an algorithm."""
    number = names.index(name)
    return (
        COLOURS[number % len(COLOURS)],
        MARKERS[number % len(MARKERS)],
        DASHES[number // len(COLOURS) % len(DASHES)],
    )


def _panel(panel: Axes, curves: Sequence[Curve], names: Sequence[str]) -> None:
    drawn = [curve for curve in curves if curve.ends]
    # Floats: trajectories may be beyond the integers of numpy.
    moments = [float(m) for curve in drawn for m in curve.trajectories if m]
    left, right = (min(moments) / 2, max(moments) * 1.6) if moments else (1, 10)
    for curve in drawn:
        colour, marker, dashes = _look(names, curve.algorithm)
        x = [max(float(moment), left) for moment in curve.trajectories]
        panel.step(
            x, curve.median, where="post", color=colour, linewidth=1.6, zorder=3,
            linestyle=dashes,
        )  # fmt: skip
        panel.fill_between(
            x, curve.least, curve.most, step="post", color=colour, alpha=0.15, lw=0
        )
        for edge in (curve.least, curve.most):  # bands that overlap stay apart
            panel.step(x, edge, where="post", color=colour, linewidth=0.5, alpha=0.6)
        for end, value, stopped in curve.ends:
            panel.plot(
                max(float(end), left), value, marker="x" if stopped else marker,
                color=colour, ms=7 if stopped else 4.5, mew=1.8 if stopped else 0.5,
                zorder=4, mec=colour if stopped else "white", clip_on=False,
            )  # fmt: skip
    best = [curve.optimum for curve in drawn if curve.optimum is not None]
    if best:
        panel.axhline(statistics.median(best), color=GREY, linewidth=1, linestyle="--")
        spans = [curve.optima for curve in drawn if curve.optima is not None]
        if spans:  # each seed has an environment of its own
            least, most = min(a for a, _ in spans), max(b for _, b in spans)
            panel.axhspan(least, most, color=GREY, alpha=0.08, lw=0, zorder=0)
        panel.annotate(
            "V*\nmedian,\nrange" if spans else "V*", (1, statistics.median(best)),
            xycoords=("axes fraction", "data"),
            xytext=(3, 0), textcoords="offset points", va="center", color=GREY,
        )  # fmt: skip
    panel.set_xscale("log")
    panel.set_xlim(left, right)
    panel.set_ylim(min(0, *(min(c.least) for c in drawn)) - 0.03, None)
    runs = max(curve.wanted for curve in drawn)
    exact = "exact" if all(c.exact for c in drawn) else "estimated"
    seeds = "one seed" if runs == 1 else f"{runs} seeds"
    title = f"{drawn[0].env}: {seeds}, values {exact}"
    panel.set_title(title, loc="left", fontsize=10)
    panel.set_xlabel("trajectories collected")
    panel.set_ylabel("value of the policy, if stopped there")
    panel.grid(visible=True, color="#e5e5e5", linewidth=0.6)
    panel.set_axisbelow(True)
    for side in ("top", "right"):
        panel.spines[side].set_visible(False)
    missing = [f"{c.algorithm}: refused" for c in curves if c.refused]
    missing += [
        f"{c.algorithm}: no run got to its start"
        for c in curves
        if not c.ends and not c.refused
    ]
    if missing:
        panel.annotate(
            "\n".join(missing), (0.01, 0.02), xycoords="axes fraction", fontsize=8,
            color=GREY, style="italic", va="bottom",
        )  # fmt: skip


def _legend(
    figure: Figure, names: Sequence[str], columns: int, drawn: Sequence[Curve]
) -> None:
    """Name algorithms, and what line, band, marker and cross mean."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles: list[Line2D | Patch] = []
    for name in names:
        colour, marker, dashes = _look(names, name)
        handles.append(
            Line2D(
                [], [], color=colour, marker=marker, ms=5, linestyle=dashes, label=name
            )
        )
    runs = max(len(curve.ends) for curve in drawn)
    line = {1: "line: the run", 2: "line: mean of two runs"}.get(runs, "line: median")
    handles.append(Line2D([], [], color=GREY, label=line))
    if runs > 1:
        handles.append(Patch(color=GREY, alpha=0.2, lw=0, label="band: range"))
    style: dict[str, Any] = {"color": GREY, "linestyle": ""}
    handles.append(Line2D([], [], marker="o", ms=5, label="end of a run", **style))
    if any(curve.stopped for curve in drawn):
        label = "stopped by its limit"
        handles.append(Line2D([], [], marker="x", ms=7, mew=1.8, label=label, **style))
    figure.legend(
        handles=handles,
        loc="outside lower center",
        ncols=4 if columns == 1 else 7,
        fontsize=8,
        frameon=False,
    )
