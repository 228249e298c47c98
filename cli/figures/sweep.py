"""The figures of sweeps: the phase transition, learning curves, and comparisons."""

from __future__ import annotations

import math
import statistics
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..experiments.summaries import score
from .files import (
    COLOURS,
    DASHES,
    GREY,
    MARKERS,
    column,
    headline,
    legend,
    look,
    plain,
    style,
    write_figure,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ..experiments.summaries import Curve, Phase


_DARK = "#222222"  # edges and figures
_THRESHOLD = 4.267  # clauses per variable at the turn (Mézard, Parisi, Zecchina 2002)


def save_phases(path: Path, phases: Sequence[Phase]) -> None:
    """Draw share satisfiable, optimum, and time of each route; write the figure."""
    if not phases:
        raise ValueError(f"{path}: no formula is verified yet, so nothing is drawn")
    with style():
        figure, (share, optimum, seconds) = column(10, 3)
        _share(share, phases)
        _optimum(optimum, phases)
        _seconds(seconds, phases)
        for panel in (share, optimum, seconds):
            panel.set_xlabel("clauses per variable")
            plain(panel)
        write_figure(path, figure)


def _lines(
    phases: Sequence[Phase], *, by_variant: bool
) -> Iterator[tuple[str, list[Phase]]]:
    many = len({phase.variant for phase in phases}) > 1
    for n in sorted({phase.variables for phase in phases}):
        for variant in sorted({phase.variant for phase in phases}):
            own = [p for p in phases if (p.variables, p.variant) == (n, variant)]
            if own:
                named = f", {variant}" if by_variant and many else ""
                yield f"{n} variables{named}", own
            if own and not by_variant:
                break


def _series(number: int, dash: int) -> dict[str, Any]:
    return {
        "color": COLOURS[number % len(COLOURS)],
        "marker": MARKERS[number % len(MARKERS)],
        "linestyle": DASHES[dash % len(DASHES)],
        "ms": 4,
    }


def _share(panel: Axes, phases: Sequence[Phase]) -> None:
    for number, (label, own) in enumerate(_lines(phases, by_variant=False)):
        x = [p.ratio for p in own]
        low, high = zip(*(p.share for p in own), strict=True)
        look = _series(number, number)
        panel.plot(x, low, label=label, **look)
        if low != high:
            band = {"color": look["color"], "alpha": 0.2, "lw": 0}
            named = "band: undecided" if number == 0 else None
            panel.fill_between(x, low, high, label=named, **band)
    left, right = panel.get_xlim()
    if left < _THRESHOLD < right:
        panel.axvline(_THRESHOLD, color=GREY, linewidth=0.9, linestyle=":")
        # Free of the curve, which falls: right of the line above, left of it below.
        early = (left + right) / 2 > _THRESHOLD
        panel.annotate(
            f"random 3-SAT, n → ∞: {_THRESHOLD}", (_THRESHOLD, 1 if early else 0),
            xytext=(4 if early else -4, 0), textcoords="offset points",
            ha="left" if early else "right", va="center", color=GREY, fontsize=8,
        )  # fmt: skip
    panel.set_ylim(-0.04, 1.04)
    counts = sorted({phase.formulas for phase in phases})
    few = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    title = f"Share that is satisfiable, {few} formulas a point"
    panel.set_title(title, loc="left", fontsize=10)
    legend(panel)


def _optimum(panel: Axes, phases: Sequence[Phase]) -> None:
    proved = [phase for phase in phases if phase.optima]
    for number, (label, own) in enumerate(_lines(proved, by_variant=True)):
        x = [p.ratio for p in own]
        look = _series(number, number)
        middle = [float(statistics.median(p.optima)) for p in own]
        panel.plot(x, middle, label=label, **look)
        low, high = ([float(p.optima[end]) for p in own] for end in (0, -1))
        panel.fill_between(x, low, high, color=look["color"], alpha=0.15, lw=0)
    title = "Optimum of OLIVE's program: median, range"
    panel.set_title(title, loc="left", fontsize=10)
    legend(panel)


def _seconds(panel: Axes, phases: Sequence[Phase]) -> None:
    """One line per route, formulation or engine (colour) and size (dashes)."""
    routes = list(dict.fromkeys(name for p in phases for name in p.ways))
    variant = phases[0].variant
    sizes = sorted({p.variables for p in phases})
    for number, route in enumerate(routes):
        for size, n in enumerate(sizes):
            own = [
                p
                for p in phases
                if (p.variables, p.variant) == (n, variant) and route in p.ways
            ]
            if not own:
                continue
            label = route if len(sizes) == 1 else f"{route}, {n} variables"
            times = [p.ways[route] for p in own]
            x = [p.ratio for p in own]
            panel.plot(x, times, label=label, **_series(number, size))
    panel.set_yscale("log")
    named = f" ({variant})" if len({p.variant for p in phases}) > 1 else ""
    title = f"Seconds of each route{named}, median"
    panel.set_title(title, loc="left", fontsize=10)
    legend(panel, 2 if len(sizes) == 1 else len(sizes))


def save_curves(path: Path, curves: Sequence[Curve]) -> None:
    """Draw a panel for each environment: medians, ranges and ends over the seeds."""
    drawn = [curve for curve in curves if curve.ends]
    if not drawn:
        raise ValueError(f"{path}: no run has a curve, so nothing is drawn")
    environments = list(dict.fromkeys(curve.env for curve in drawn))
    with style():
        rows, lines = len(environments), len({curve.algorithm for curve in drawn})
        height = 2.9 * rows + 0.9 + 0.12 * max(0, lines - 3)  # for a longer legend
        figure, panels = column(height, rows)
        for panel, env in zip(panels, environments, strict=True):
            _panel(panel, [c for c in curves if c.env == env])
        _legend(figure, drawn)
        write_figure(path, figure)


def _panel(panel: Axes, curves: Sequence[Curve]) -> None:
    drawn = [curve for curve in curves if curve.ends]
    # Where each seed has an environment of its own, values are told below its V*.
    gaps = any(curve.gaps for curve in drawn)
    if gaps:
        drawn = [curve.gaps or curve for curve in drawn]
    drawn = sorted(drawn, key=_width, reverse=True)  # widest bands below
    # Floats: trajectories may be beyond the integers of numpy.
    moments = [float(m) for curve in drawn for m in curve.trajectories if m]
    left, right = (min(moments) / 2, max(moments) * 1.6) if moments else (1, 10)
    for curve in drawn:
        colour, marker, dashes = look(curve.algorithm)
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
        panel.annotate(
            "V*", (1, statistics.median(best)), xycoords=("axes fraction", "data"),
            xytext=(3, 0), textcoords="offset points", va="center", color=GREY,
        )  # fmt: skip
    panel.set_xscale("log")
    panel.set_xlim(left, right)
    panel.set_ylim(min(0, *(min(c.least) for c in drawn)) - 0.03, None)
    runs = max(curve.wanted for curve in drawn)
    exact = "exact" if all(c.exact for c in drawn) else "estimated"
    if error := max((c.error for c in drawn if c.error), default=None):
        exact += f" (standard error ≤ {error:.1g})"
    seeds = "one seed" if runs == 1 else f"{runs} seeds"
    own = ", an environment each" if gaps else ""
    title = textwrap.fill(f"{drawn[0].env}: {seeds}{own}, values {exact}", 52)
    panel.set_title(title, loc="left", fontsize=10)
    panel.set_xlabel("trajectories collected")
    named = "V^π − V* of the seed" if gaps else "value of the policy"
    panel.set_ylabel(f"{named}, if stopped there")
    plain(panel)
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


def _width(curve: Curve) -> float:
    return sum(b - a for a, b in zip(curve.least, curve.most, strict=True))


def _legend(figure: Figure, drawn: Sequence[Curve]) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles: list[Line2D | Patch] = []
    for name in dict.fromkeys(curve.algorithm for curve in drawn):
        colour, marker, dashes = look(name)
        label = f"{name} (sees hidden states)" if name == "rmax" else name
        handles.append(
            Line2D(
                [], [], color=colour, marker=marker, ms=5, linestyle=dashes, label=label
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
        ncols=3 if len(handles) <= 7 else 2,  # the longest names side by side
        fontsize=8,
        frameon=False,
    )


def save_comparison(path: Path, records: Sequence[Mapping[str, Any]]) -> None:
    """Draw a panel per environment: median trajectories; a full dot: all succeed."""
    environments = list(dict.fromkeys(record["env"] for record in records))
    algorithms = list(dict.fromkeys(record["algorithm"] for record in records))
    with style():
        rows = len(environments)
        figure, panels = column(rows * (0.8 + 0.19 * len(algorithms)) + 1.6, rows)
        for panel, env in zip(panels, environments, strict=True):
            own = {r["algorithm"]: r for r in records if r["env"] == env}
            _comparison_panel(panel, str(env), algorithms, own)
        headline(
            figure,
            "Trajectories until the end of a run (median), and runs that end "
            f"ε-optimal, ε = {records[0]['epsilon']:g}, {records[0]['seeds']} seeds",
        )
        _comparison_legend(figure)
        write_figure(path, figure)


_DOT = {
    "marker": "o", "linestyle": "", "ms": 7, "mec": _DARK, "mew": 0.9, "mfc": COLOURS[0]
}  # fmt: skip
_DOTS: dict[str, dict[str, Any]] = {
    "all": _DOT,
    "some": _DOT | {"fillstyle": "left", "markerfacecoloralt": "white"},
    "none": _DOT | {"mfc": "white"},
}


def _comparison_legend(figure: Figure) -> None:
    from matplotlib.lines import Line2D

    figure.legend(
        handles=[
            Line2D([], [], label=f"{word} of the seeds end ε-optimal", **dot)
            for word, dot in _DOTS.items()
        ],
        title=textwrap.fill(
            "Fewer is better, among full dots and the same constants. Refused: the "
            "algorithm does not take the task.",
            65,
        ),
        title_fontsize=8,
        loc="outside lower center",
        ncols=1,
        fontsize=8,
        frameon=False,
    )


def _comparison_panel(
    panel: Axes,
    title: str,
    algorithms: Sequence[str],
    records: Mapping[str, Mapping[str, Any]],
) -> None:
    done = [r["trajectories"] for r in records.values() if r["trajectories"]]
    low, high = (min(done), max(done)) if done else (1, 10)
    panel.set_xscale("log")
    panel.set_xlim(low / 10, 10.0 * high)
    kinds = {r["params"] for r in records.values() if r["runs"]}
    one = kinds.pop() if len(kinds) == 1 else None
    for y, name in enumerate(algorithms):
        record = records.get(name)
        if record is None:
            continue
        if not record["runs"]:
            word = "refused" if record["refused"] else f"no run ended: {score(record)}"
            panel.annotate(
                word, (0.02, y), xycoords=("axes fraction", "data"), va="center",
                fontsize=8, color=GREY, style="italic",
            )  # fmt: skip
            continue
        x, wins = record["trajectories"], record["successes"]
        dot = _DOTS["all" if wins == record["seeds"] else "some" if wins else "none"]
        panel.plot(max(x, 1), y, zorder=3, **dot)
        text = score(record)
        if one is None:
            text += f", {record['params']}"
        right = math.log(100 * high / low) < 2 * math.log(10 * max(x, 1) / low)
        panel.annotate(
            text, (max(x, 1), y), xytext=(-7 if right else 7, 0), va="center",
            textcoords="offset points", ha="right" if right else "left", fontsize=8,
            color=_DARK,
        )  # fmt: skip
    panel.set_yticks(range(len(algorithms)), algorithms)
    panel.set_ylim(len(algorithms) - 0.5, -0.5)
    if one is not None:
        title += f" ({one} constants)"
    panel.set_title(title, loc="left", fontsize=10)
    panel.set_xlabel("trajectories")
    plain(panel, axis="x")
