"""The figures of ``olivine barrier``."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def figure_bytes(record: Mapping[str, Any], suffix: str) -> bytes:
    """Draw the figure of a record.

    Parameters
    ----------
    record
        As `olivine.barrier` prints it.
    suffix
        ".svg", ".png" or ".pdf".

    Returns
    -------
    The file; the same for the same record and matplotlib.
    """
    import matplotlib
    from matplotlib.figure import Figure

    from olivine.barrier_figure_average import draw_average
    from olivine.barrier_figure_backup import draw_backup
    from olivine.barrier_figure_square_loss import draw_square_loss

    draw: Callable[[Sequence[Axes], Mapping[str, Any]], str] = {
        "backup": draw_backup,
        "average": draw_average,
        "square-loss": draw_square_loss,
    }[record["barrier"]]
    # Text stays text; identifiers do not change from run to run.
    with matplotlib.rc_context(
        {"svg.fonttype": "none", "svg.hashsalt": "olivine", "font.size": 9}
    ):
        figure = Figure(figsize=(10.0, 5.0), layout="constrained")
        axes = figure.subplots(1, 2)
        figure.suptitle(draw(axes, record), fontsize=11)
        for panel in axes:
            panel.set_axisbelow(True)
            panel.grid(visible=True, which="major", color="#e5e5e5", linewidth=0.6)
            for side in ("top", "right"):
                panel.spines[side].set_visible(False)
        stream = io.BytesIO()
        nothing: dict[str, dict[str, Any]] = {
            ".svg": dict.fromkeys(("Creator", "Date", "Format", "Type")),
            ".png": {"Software": None},
            ".pdf": dict.fromkeys(("Creator", "Producer", "CreationDate")),
        }
        figure.savefig(stream, format=suffix[1:], dpi=150, metadata=nothing[suffix])
    return stream.getvalue()
