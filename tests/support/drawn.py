"""What a figure of matplotlib draws, as plain values."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_hex, to_rgba_array
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.text import Text
from matplotlib.ticker import FixedLocator

FEW = 12
"""Most numbers that are listed one by one."""


def drawn(figure: Figure) -> dict[str, Any]:
    """Size, panels and words."""
    return {
        "size": numbers(figure.get_size_inches()),
        "panels": [_panel(axes) for axes in figure.axes],
        "words": [_text(t) for t in (figure._suptitle, *figure.texts) if t],
        "legends": [_legend(legend) for legend in figure.legends],
    }


def numbers(values: Any) -> list[Any]:
    """Four digits of each number, or the ends and the mean of many."""
    flat = np.asarray(values, dtype=float).ravel()
    short = [float(f"{v:.4g}") for v in flat]
    if len(short) <= FEW:
        return short
    mean = np.mean(flat[np.isfinite(flat)])
    return [len(short), *short[:3], *short[-3:], float(f"{mean:.4g}")]


def _colours(colours: Any) -> list[str]:
    """Colours in hexadecimal, each once."""
    return sorted({to_hex(c, keep_alpha=True) for c in to_rgba_array(colours)})


def _text(text: Text) -> list[Any]:
    return [
        text.get_text(), *numbers(text.get_position()), *_colours(text.get_color()),
        text.get_fontsize(), text.get_ha(), text.get_va(), text.get_style(),
    ]  # fmt: skip


def _line(line: Line2D) -> list[Any]:
    """How a line and its markers look."""
    dashes = line._unscaled_dash_pattern[1]
    faces = line.get_markerfacecolor(), line.get_markerfacecoloralt()
    return [
        *_colours(line.get_color()), line.get_linewidth(), str(line.get_linestyle()),
        numbers([] if dashes is None else dashes), line.get_drawstyle(),
        str(line.get_marker()), line.get_markersize(), *map(_colours, faces),
        *_colours(line.get_markeredgecolor()), line.get_markeredgewidth(),
        line.get_fillstyle(), line.get_alpha(), line.get_clip_on(), line.get_zorder(),
    ]  # fmt: skip


def _legend(legend: Legend, axes: Axes | None = None) -> dict[str, Any]:
    """Words, look, and place in points from the middle of the x axis."""
    texts, title = legend.get_texts(), legend.get_title()
    found: dict[str, Any] = {
        "words": [text.get_text() for text in texts],
        "sizes": sorted({text.get_fontsize() for text in (*texts, title)}),
        "title": title.get_text(),
        "frame": legend.get_frame_on(),
        "loc": [legend._loc, legend._outside_loc, legend._ncols],
    }
    if axes is None:  # else they look like the panel's artists
        found["handles"] = [
            _line(handle) if isinstance(handle, Line2D) else _patch(handle)
            for handle in legend.legend_handles
        ]
    else:
        place = legend.get_bbox_to_anchor().p0 - axes.transAxes.transform((0.5, 0))
        found["place"] = numbers(np.round(place * 72 / axes.figure.dpi, 6))
    return found


def _panel(axes: Axes) -> dict[str, Any]:
    grid = [axis.get_gridlines()[0] for axis in (axes.xaxis, axes.yaxis)]
    seen = [[line.get_color(), line.get_lw()] for line in grid if line.get_visible()]
    found: dict[str, Any] = {
        "titles": [_text(t) for t in (axes.title, axes._left_title) if t.get_text()],
        "limits": [numbers(axes.get_xlim()), numbers(axes.get_ylim())],
        "spines": [name for name, s in axes.spines.items() if s.get_visible()],
        "grid": [axes.get_axisbelow(), *seen],
        "artists": [*_artists(axes)],
    }
    for name, axis in (("x", axes.xaxis), ("y", axes.yaxis)):
        ticks = axis.get_major_locator()
        found[name] = [axis.get_label_text(), axis.get_scale(), axis.label.get_size()]
        if isinstance(ticks, FixedLocator):
            labels = [t.get_text() for t in axis.get_ticklabels()]
            found[name] += [numbers(ticks.locs), labels]
    if axes.get_legend():
        found["legend"] = _legend(axes.get_legend(), axes)
    return found


def _patch(patch: Patch) -> list[Any]:
    return [
        _colours(patch.get_facecolor()), _colours(patch.get_edgecolor()),
        patch.get_linewidth(), str(patch.get_linestyle()), patch.get_zorder(),
    ]  # fmt: skip


def _artists(axes: Axes) -> Iterator[Any]:
    for line in axes.lines:
        yield [
            "line", numbers(line.get_xdata()), numbers(line.get_ydata()),
            *_line(line), str(line.get_label()),
        ]  # fmt: skip
    for patch in axes.patches:
        yield [
            type(patch).__name__, numbers(patch.get_path().vertices),
            numbers(patch.get_patch_transform().get_matrix()),
            *_patch(patch),
        ]  # fmt: skip
    for some in axes.collections:
        paths = [numbers(path.vertices) for path in some.get_paths()]
        yield [
            type(some).__name__.removeprefix("FillBetween"),  # since matplotlib 3.10
            numbers(some.get_offsets()), *paths[:3], len(paths),
            _colours(some.get_facecolor()), _colours(some.get_edgecolor()),
            numbers(some.get_linewidths()),
        ]  # fmt: skip
    for text in axes.texts:
        arrow = getattr(text, "arrow_patch", None)
        ends = [*text.xy, *text.xyann] if hasattr(text, "xyann") else []
        how = [text.xycoords, text.anncoords] if hasattr(text, "xycoords") else []
        look = arrow and arrow.get_linewidth(), how
        yield ["text", *_text(text), numbers(ends), *look]
