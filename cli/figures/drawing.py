"""Drawings for the report, as SVG text made by matplotlib."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from olivine.reduction.program.optimum import optimum

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from olivine.algorithms.mdp.pair import Pair
    from olivine.reduction.family.family import Family
    from olivine.reduction.family.variants import Parameters

MAX_VARIABLES = 12
MAX_CLAUSES = 24

_FAINT, _STRONG, _TRUE, _FALSE = "#9aa3ad", "#c2410c", "#fde68a", "#e5e7eb"
Place = tuple[float, float]


def draw_family(family: Family, pair: Pair) -> str | None:
    """Draw the states in columns of their level, with a pair on top.

    Thin lines are what actions can reach, solid towards a literal of the clause
    and dotted towards its negation; thick ones follow the policy from s0. The
    colour of a literal state tells whether it is worth its top.

    Returns
    -------
    The text of an ``<svg>`` element, or None for families too large to read.
    """
    n, m = family.n_variables, family.n_clauses
    if n > MAX_VARIABLES or m > MAX_CLAUSES:
        return None
    height = 1.2 + 0.42 * max(
        2 * n, m + (n if family.layout.declaration.variable_states else 0)
    )

    def draw(axes: Axes) -> None:
        places = _places(family)
        for source, target, dotted in _reachable(family):
            _line(axes, places[source], places[target], dotted=dotted)
        for source, target in _followed(family, pair):
            _line(axes, places[source], places[target], strong=True)
        literals = range(
            family.layout.first_literal_state,
            family.layout.first_literal_state + 2 * n,
        )
        for state, (x, y) in places.items():
            worth = pair.value(state) == family.top and state in literals
            axes.text(
                x,
                y,
                f"{family.layout.state_name(state)}: {pair.value(state)}",
                ha="center",
                va="center",
                fontsize=8,
                bbox={
                    "boxstyle": "round,pad=0.3",
                    "facecolor": _TRUE if worth else _FALSE,
                    "edgecolor": "#374151",
                    "linewidth": 0.8,
                },
            )
        axes.set_xlim(-0.35, 2.35)
        axes.set_ylim(-0.08, 1.08)
        axes.axis("off")

    return _svg(draw, (9.0, height))


def draw_theorem_o(
    parameters: Parameters, unsatisfied: int | None, *, weighted: bool
) -> str:
    """Draw the optimum as a function of u, with the formula's own u marked."""
    from matplotlib.ticker import MaxNLocator

    largest = min(parameters.total_weight // 2, 4000)

    def draw(axes: Axes) -> None:
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

    return _svg(draw, (6.0, 2.6))


def _places(family: Family) -> dict[int, Place]:
    """Where each state stands: levels from left to right."""
    layout, n, m = family.layout, family.n_variables, family.n_clauses
    middle = [layout.clause_state(j) for j in range(m)]
    if layout.declaration.variable_states:
        middle += [layout.variable_state(i) for i in range(n)]
    if layout.second_bottom_state is not None:
        middle.append(layout.second_bottom_state)
    right = [layout.literal_state(i, b) for i in range(n) for b in (0, 1)]
    if layout.declaration.n_bottom:
        right.append(layout.bottom_state)
    places = {layout.start: (0.0, 0.5)}
    for x, column in ((1.0, middle), (2.0, right)):
        for k, state in enumerate(column):
            places[state] = (x, 1 - (k + 0.5) / len(column))
    return places


def _reachable(family: Family) -> set[tuple[int, int, bool]]:
    """Pairs (state, successor) of any action, and whether to dot the line."""
    mdp = family.mdp()
    own = {
        (family.clause_state(j), int(state))
        for j, row in enumerate(family.literal_states_of_clauses)
        for state in row
    }
    found = set()
    for state in range(mdp.n_states):
        for action in mdp.actions(state):
            for target, _ in mdp.successors(action):
                behind = 1 <= state <= family.n_clauses and (state, target) not in own
                found.add((state, int(target), behind))
    return found


def _followed(family: Family, pair: Pair) -> set[tuple[int, int]]:
    """Transitions that the policy can take from s0."""
    mdp = family.mdp()
    found: set[tuple[int, int]] = set()
    waiting, seen = [mdp.start], {mdp.start}
    while waiting:
        state = waiting.pop()
        action = mdp.actions(state)[int(pair.policy[state])]
        for target, _ in mdp.successors(action):
            found.add((state, int(target)))
            if target not in seen:
                seen.add(target)
                waiting.append(target)
    return found


def _line(
    axes: Axes, start: Place, end: Place, *, dotted: bool = False, strong: bool = False
) -> None:
    axes.plot(
        [start[0], end[0]],
        [start[1], end[1]],
        color=_STRONG if strong else _FAINT,
        linewidth=1.6 if strong else 0.6,
        linestyle=":" if dotted else "-",
        zorder=2 if strong else 1,
    )


def _svg(draw: Callable[[Axes], None], size: tuple[float, float]) -> str:
    """Let `draw` fill axes of a size in inches; the SVG element they make."""
    import matplotlib
    from matplotlib.figure import Figure

    # Text stays text; identifiers and metadata do not change from run to run.
    settings: Any = {"svg.fonttype": "none", "svg.hashsalt": "olivine"}
    with matplotlib.rc_context(settings):
        figure: Figure = Figure(figsize=size, layout="constrained")
        draw(figure.add_subplot())
        buffer = io.StringIO()
        figure.savefig(
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
