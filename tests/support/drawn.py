"""What a figure of matplotlib draws, as plain values."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_hex, to_rgba_array
from matplotlib.figure import Figure
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
        text.get_fontsize(), text.get_ha(), text.get_va(),
    ]  # fmt: skip


def _legend(legend: Any) -> list[Any]:
    return [text.get_text() for text in legend.get_texts()]


def _panel(axes: Axes) -> dict[str, Any]:
    found: dict[str, Any] = {
        "titles": [axes.get_title(), axes.get_title(loc="left")],
        "limits": [numbers(axes.get_xlim()), numbers(axes.get_ylim())],
        "artists": [*_artists(axes)],
    }
    for name, axis in (("x", axes.xaxis), ("y", axes.yaxis)):
        ticks = axis.get_major_locator()
        found[name] = [axis.get_label_text(), axis.get_scale()]
        if isinstance(ticks, FixedLocator):
            labels = [t.get_text() for t in axis.get_ticklabels()]
            found[name] += [numbers(ticks.locs), labels]
    if axes.get_legend():
        found["legend"] = _legend(axes.get_legend())
    return found


def _artists(axes: Axes) -> Iterator[Any]:
    for line in axes.lines:
        yield [
            "line", numbers(line.get_xdata()), numbers(line.get_ydata()),
            *_colours(line.get_color()), line.get_linewidth(),
            str(line.get_linestyle()), str(line.get_marker()), line.get_markersize(),
            line.get_zorder(), str(line.get_label()),
        ]  # fmt: skip
    for patch in axes.patches:
        yield [
            type(patch).__name__, numbers(patch.get_path().vertices),
            numbers(patch.get_patch_transform().get_matrix()),
            _colours(patch.get_facecolor()), _colours(patch.get_edgecolor()),
            patch.get_linewidth(), str(patch.get_linestyle()), patch.get_zorder(),
        ]  # fmt: skip
    for some in axes.collections:
        paths = [numbers(path.vertices) for path in some.get_paths()]
        yield [
            type(some).__name__, numbers(some.get_offsets()), *paths[:3], len(paths),
            _colours(some.get_facecolor()), _colours(some.get_edgecolor()),
            numbers(some.get_linewidths()),
        ]  # fmt: skip
    for text in axes.texts:
        arrow = getattr(text, "arrow_patch", None)
        ends = [*text.xy, *text.xyann] if hasattr(text, "xyann") else []
        yield ["text", *_text(text), numbers(ends), arrow and arrow.get_linewidth()]
