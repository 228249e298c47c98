"""Figures: their colours and legends; writing them whole, the same every time."""

from __future__ import annotations

import io
import os
import sys
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import chdir, contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...solvers.files import write_bytes
from ..common.outputs import check_outputs

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


# Okabe and Ito's palette; markers and dashes tell series apart in grey, too.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#444444")
MORE_COLOURS = ("#8C510A", "#7570B3", "#999999", "#56B4E9")
MARKERS = "osD^vP"
DASHES: tuple[Any, ...] = ("-", (0, (6, 1.5)), (0, (4, 1, 1, 1)), (0, (1.5, 1)))
GREY = "#777777"
WIDTH = 5.0  # inches: at 400 pixels, as on a phone, type is still legible


def column(
    height: float, rows: int, columns: int = 1, *, share: bool = False
) -> tuple[Figure, list[Axes]]:
    """Make a figure of a phone's width with panels below one another."""
    from matplotlib.figure import Figure

    figure: Figure = Figure(figsize=(WIDTH, height), layout="constrained")
    panels = figure.subplots(rows, columns, squeeze=False, sharey=share)
    return figure, list(panels.flatten())


def headline(figure: Figure, text: str) -> None:
    """Give a figure a title, in lines that are not cut, nor between "ε = 1"."""
    whole = text.replace(" = ", "\0=\0")
    lines = [textwrap.fill(line, 60) for line in whole.splitlines()]
    figure.suptitle("\n".join(lines).replace("\0", " "), fontsize=10)


def legend(panel: Axes, columns: int = 1) -> None:
    """Put a legend below the label of the x axis, where it covers nothing."""
    from matplotlib.transforms import ScaledTranslation

    below = ScaledTranslation(0, -28 / 72, panel.figure.dpi_scale_trans)
    panel.legend(
        fontsize=8,
        frameon=False,
        ncols=columns,
        loc="upper center",
        bbox_to_anchor=(0.5, 0),
        bbox_transform=panel.transAxes + below,
    )


def look(algorithm: str) -> tuple[str, str, Any]:
    """Colour, marker and dashes of a learning algorithm, the same in each figure."""
    from ...algorithms.learning import registry

    names = registry.names()
    number = names.index(algorithm) if algorithm in names else len(names)
    colours = (*COLOURS, *MORE_COLOURS)
    return (
        colours[number % len(colours)],
        MARKERS[number % len(MARKERS)],
        DASHES[number // len(MARKERS) % len(DASHES)],
    )


def plain(panel: Axes, **grid: Any) -> None:
    """Draw a light grid behind the data, and no frame above or on the right."""
    panel.set_axisbelow(True)
    panel.grid(visible=True, color="#e5e5e5", linewidth=0.6, **grid)
    for side in ("top", "right"):
        panel.spines[side].set_visible(False)


METADATA = {  # what the writers would add of their own: versions and dates
    ".svg": ("Creator", "Date", "Format", "Type"),
    ".png": ("Software",),
    ".pdf": ("Creator", "Producer", "CreationDate"),
}


# What steers matplotlib from outside; a figure is the same without.
_OUTSIDE = ("MPLBACKEND", "MATPLOTLIBRC", "SOURCE_DATE_EPOCH")


@contextmanager
def style() -> Iterator[None]:
    """Set matplotlib as ours: no matplotlibrc, backend or date changes a figure."""
    kept = {name: os.environ.pop(name) for name in _OUTSIDE if name in os.environ}
    try:
        import_matplotlib()
        import matplotlib

        now, plain = matplotlib.rcParams, matplotlib.rcParamsDefault
        ours: Any = {k: v for k, v in plain.items() if k != "backend" and now[k] != v}
        ours |= {"svg.fonttype": "none", "svg.hashsalt": "olivine", "font.size": 9}
        with matplotlib.rc_context(ours):
            yield
    finally:
        os.environ.update(kept)


def import_matplotlib() -> None:
    """Import matplotlib with its own settings, not a matplotlibrc of the folder."""
    if "matplotlib" in sys.modules:
        return
    found = find_spec("matplotlib")
    if found is None or found.origin is None:
        raise ModuleNotFoundError("matplotlib is not installed", name="matplotlib")
    own = Path(found.origin).parent / "mpl-data"
    with chdir(own):
        import_module("matplotlib")


def check_suffix(path: Path, also: Sequence[str] = ()) -> None:
    """Refuse, with a ValueError, a file that is no picture by its name."""
    if path.suffix.lower() not in (*METADATA, *also):
        *others, last = *METADATA, *also
        known = f"{', '.join(others)} or {last}"
        raise ValueError(f"{path}: a figure's name ends in {known}")


def check_figure(
    path: Path, source: str | None = None, also: Sequence[str] = ()
) -> None:
    """Refuse, before any work, a figure that cannot be written."""
    check_suffix(path, also)
    check_outputs([path], [] if source is None else [source])


def write_figure(path: Path, figure: Figure) -> None:
    """Write a figure."""
    check_suffix(path)
    suffix = path.suffix.lower()
    buffer = io.BytesIO()
    figure.savefig(
        buffer, format=suffix[1:], dpi=150, metadata=dict.fromkeys(METADATA[suffix])
    )
    write_bytes(path, buffer.getvalue())
