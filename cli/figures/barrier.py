"""The figures of ``olivine barrier``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from olivine.cli.figures.barrier_average import draw_average
from olivine.cli.figures.barrier_backup import draw_backup
from olivine.cli.figures.barrier_square_loss import draw_square_loss
from olivine.cli.figures.files import style, write_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def save_figure(path: Path, record: Mapping[str, Any]) -> None:
    """Draw the figure of a record and write it.

    Parameters
    ----------
    path
        Its suffix says which kind.
    record
        As `olivine.cli.barrier` prints it.

    Raises
    ------
    OSError
        If the file cannot be written.
    """
    from matplotlib.figure import Figure

    draw: Callable[[Sequence[Axes], Mapping[str, Any]], str] = {
        "backup": draw_backup,
        "average": draw_average,
        "square-loss": draw_square_loss,
    }[record["barrier"]]
    with style():
        figure = Figure(figsize=(10.0, 5.0), layout="constrained")
        axes = figure.subplots(1, 2)
        figure.suptitle(draw(axes, record), fontsize=11)
        for panel in axes:
            panel.set_axisbelow(True)
            panel.grid(visible=True, which="major", color="#e5e5e5", linewidth=0.6)
            for side in ("top", "right"):
                panel.spines[side].set_visible(False)
        write_figure(path, figure)
