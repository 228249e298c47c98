"""Drawings for the report, as SVG text made by matplotlib."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from olivine.reduction.program.optimum import optimum

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.figure import Figure
    from numpy.typing import NDArray
    from olivine.reduction.family.family import Family
    from olivine.reduction.family.variants import Parameters

_FAINT, _STRONG = "#9aa3ad", "#c2410c"


def draw_family(family: Family, assignment: NDArray[np.bool_] | None) -> str:
    """Draw a family, with the pair of an assignment where there is one.

    Returns
    -------
    The text of an ``<svg>`` element.
    """
    from olivine.cli.figures.family_picture import draw_scene
    from olivine.cli.figures.scene import scene

    return _svg(lambda: draw_scene(scene(family, assignment)))


def draw_theorem_o(
    parameters: Parameters, unsatisfied: int | None, *, weighted: bool
) -> str:
    """Draw the optimum as a function of u, with the formula's own u marked."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    largest = min(parameters.total_weight // 2, 4000)

    def draw() -> Figure:
        figure = Figure(figsize=(6.0, 2.6), layout="constrained")
        axes = figure.add_subplot()
        shown = max(1, min(largest, 8 if unsatisfied is None else 2 * unsatisfied + 4))
        values = [float(optimum(parameters, u)) for u in range(min(shown, largest) + 1)]
        axes.plot(range(len(values)), values, marker="o", color=_FAINT, markersize=4)
        if unsatisfied is not None and unsatisfied < len(values):
            axes.plot([unsatisfied], [values[unsatisfied]], "o", color=_STRONG)
        axes.axhline(
            float(parameters.best - parameters.penalty), linestyle=":", color=_FAINT
        )
        what = "weight" if weighted else "number"
        axes.set_xlabel(f"u, least {what} of unsatisfied clauses")
        axes.set_ylabel("optimum")
        axes.ticklabel_format(useOffset=False)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        return figure

    return _svg(draw)


def _svg(draw: Callable[[], Figure]) -> str:
    """Write the figure that `draw` makes; the SVG element."""
    import matplotlib

    # Text stays text; identifiers and metadata do not change from run to run.
    settings: Any = {"svg.fonttype": "none", "svg.hashsalt": "olivine"}
    with matplotlib.rc_context(settings):
        buffer = io.StringIO()
        draw().savefig(
            buffer,
            format="svg",
            transparent=True,
            metadata=dict.fromkeys(("Creator", "Date", "Format", "Type")),
        )
    text = buffer.getvalue()
    # Inside HTML an SVG element needs no namespaces, so the page names no
    # address of the net at all.
    text = re.sub(r' xmlns(:xlink)?="[^"]*"', "", text[text.index("<svg") :])
    return text.replace("xlink:href", "href")
