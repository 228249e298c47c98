"""Colours, markers and legends that the figures of ``olivine barrier`` share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito's palette; markers and dashes tell series apart in grey, too.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#444444")
MARKERS = "osD^vP"
DASHES: tuple[Any, ...] = ("-", (0, (6, 1.5)), (0, (4, 1, 1, 1)), (0, (1.5, 1)))
GREY = "#777777"


def legend(panel: Axes, columns: int = 1) -> None:
    """Put a legend below, where it covers nothing."""
    panel.legend(
        fontsize=8,
        frameon=False,
        ncols=columns,
        loc="upper center",
        bbox_to_anchor=(0.5, -0.13),
    )
