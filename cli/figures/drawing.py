"""What `draw` and `report` show of a formula, and the SVG text of a report."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from ...reduction.program.optimum import optimum, step
from .files import style

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from ...reduction.family.instance import Instance
    from ...reduction.family.variants import Parameters
    from ...reduction.formula.dimacs import DimacsFile
    from ...reduction.verify.verification import Verification
    from .scene import Scene

_FAINT, _STRONG = "#9aa3ad", "#c2410c"
_POINTS = 60


def lay_out(
    source: DimacsFile,
    instance: Instance,
    answer: Verification | None,
    witness: bool | None,
    assignment: NDArray[np.bool_] | None,
    bare: bool = False,
) -> Scene:
    """Lay out a family; `assignment`, shape (n,) or None, and `bare` as in `scene`."""
    from .family_caption import verdict
    from .family_scene import scene

    remarks = list(verdict(answer, witness, shown=assignment is not None))
    if instance.used is not None:
        remarks.append(f"{instance.used}.")
    hard = None if source.hardened is None else source.hardened.original.hard
    return scene(instance.family, assignment, hard=hard, remarks=remarks, bare=bare)


def draw_family(drawn: Scene) -> str:
    """Draw a family without its caption; the text of an ``<svg>`` element."""
    from .family_picture import draw_scene

    return svg_of(lambda: draw_scene(drawn))


def draw_theorem_o(
    parameters: Parameters, unsatisfied: int | None, *, weighted: bool
) -> str:
    """Draw the optimum as a function of u, with the formula's own u marked."""

    def draw() -> Figure:
        from matplotlib.figure import Figure
        from matplotlib.ticker import MaxNLocator

        figure = Figure(figsize=(4.2, 2.5), layout="constrained")  # for phones, too
        axes = figure.add_subplot()
        shown = _values_of_u(parameters, unsatisfied)
        values = [float(optimum(parameters, u)) for u in shown]
        dots = "o" if len(shown) == shown[-1] + 1 else ""
        axes.plot(shown, values, marker=dots, color=_FAINT, markersize=4)
        if unsatisfied is not None:
            own = float(optimum(parameters, unsatisfied))
            axes.plot([unsatisfied], [own], "o", color=_STRONG)
        axes.axhline(
            float(parameters.best - parameters.penalty), linestyle=":", color=_FAINT
        )
        what = "weight" if weighted else "number"
        axes.set_xlabel(f"u, least {what} of unsatisfied clauses")
        axes.set_ylabel("optimum")
        axes.ticklabel_format(useOffset=False)
        axes.xaxis.set_major_locator(MaxNLocator(5, integer=True))
        return figure

    return svg_of(draw)


def _values_of_u(parameters: Parameters, unsatisfied: int | None) -> list[int]:
    """Where to draw the optimum: each u, or some where they are many."""
    wanted = 8 if unsatisfied is None else 2 * unsatisfied + 4
    last = min(parameters.total_weight // 2, wanted)  # 0 where the weight is 1
    bend = int(parameters.penalty / step(parameters))
    some = {last * k // _POINTS for k in range(_POINTS + 1)} | {bend, bend + 1}
    return sorted(u for u in some if u <= last)


def svg_of(draw: Callable[[], Figure]) -> str:
    """Write the figure that `draw` makes; the SVG element."""
    with style():
        buffer = io.StringIO()
        draw().savefig(
            buffer,
            format="svg",
            transparent=True,
            metadata=dict.fromkeys(("Creator", "Date", "Format", "Type")),
        )
    text = buffer.getvalue()
    # HTML needs no namespaces: the page names no address of the net at all.
    text = re.sub(r' xmlns(:xlink)?="[^"]*"', "", text[text.index("<svg") :])
    return text.replace("xlink:href", "href")
