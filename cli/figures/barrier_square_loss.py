"""The figure of ``olivine barrier square-loss``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from olivine.cli.figures.style import COLOURS, DASHES, GREY, legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_square_loss(axes: Sequence[Axes], record: Mapping[str, Any]) -> str:
    """Draw the functions with square loss at most ε, and how the error grows.

    Returns
    -------
    The title.
    """
    _ellipse(axes[0], float(Fraction(record["epsilon"])), record)
    _growth(axes[1], float(Fraction(record["epsilon"])))
    epsilon = record["epsilon"]
    return f"Square loss to an ε-optimal roll-out that earns nothing, ε = {epsilon}"


def _ellipse(panel: Axes, epsilon: float, record: Mapping[str, Any]) -> None:
    """Functions whose square loss is at most ε, with the three that matter."""
    angle = np.linspace(0, np.pi / 2, 200)
    first = np.cos(angle) * np.sqrt(epsilon / (1 - epsilon))
    second = np.sin(angle)
    panel.fill(
        [0, *first, 0],
        [0, *second, 1],
        color="#cccccc",
        alpha=0.5,
        linewidth=0,
        label="square loss at most ε",
    )
    panel.plot(first, second, color=GREY, linewidth=1.2, label="square loss exactly ε")
    root = epsilon**0.5
    wide = min(1.0, 1.6 * float(first[0]))
    grid = np.linspace(0, wide, 2)
    level = (root - (1 - epsilon) * grid) / epsilon
    panel.plot(
        grid,
        level,
        color=COLOURS[1],
        linestyle=DASHES[1],
        linewidth=1.2,
        label="E[g] = √ε, the most on that set",
    )
    star = (epsilon - (1 - epsilon) * grid) / epsilon
    panel.plot(
        grid,
        star,
        color=COLOURS[0],
        linestyle=DASHES[2],
        linewidth=1.2,
        label="E[g] = ε, the truth",
    )
    points = (
        ("g_0", 0.0, 0.0, "o", (72, 9)),
        ("g*", 0.0, 1.0, "*", (10, 7)),
        ("g_bad", root, root, "s", (10, 4)),
    )
    for name, x, y, marker, offset in points:
        panel.plot(
            [x], [y], marker, color="black", markersize=8, clip_on=False, zorder=5
        )
        loss = record["functions"][name]["square_loss"]
        panel.annotate(
            f"{name}, loss {loss}",
            (x, y),
            offset,
            textcoords="offset points",
            fontsize=8,
            arrowprops={"arrowstyle": "-", "linewidth": 0.6},
        )
    panel.set_xlim(0, wide)
    panel.set_ylim(0, 1.15)
    panel.set_yticks([0, 0.25, 0.5, 0.75, 1])
    panel.set_xlabel("g(x₁)")
    panel.set_ylabel("g(x₂)")
    panel.set_title("What keeps g* keeps g_bad", fontsize=9)
    legend(panel, 2)


def _growth(panel: Axes, epsilon: float) -> None:
    """Square loss and bias against ε."""
    grid = np.geomspace(1e-4, 0.9, 200)
    panel.plot(
        grid,
        np.sqrt(grid) - grid,
        color=COLOURS[1],
        linewidth=1.8,
        label="error of g_bad, E[g_bad − g*] = √ε − ε",
    )
    panel.plot(
        grid,
        grid,
        color=COLOURS[0],
        linestyle=DASHES[1],
        linewidth=1.8,
        label="suboptimality of π̂ = square loss of g* = square loss of g_bad = ε",
    )
    panel.plot(
        [epsilon, epsilon],
        [epsilon, epsilon**0.5 - epsilon],
        "o",
        color="black",
        markersize=5,
        label="this ε",
    )
    panel.set_xscale("log")
    panel.set_yscale("log")
    panel.set_xlabel("ε, probability of x₂")
    panel.set_ylabel("value")
    panel.set_ylim(8e-5, 1.2)
    panel.set_title("An ε in the policy, a √ε in the value function", fontsize=9)
    legend(panel)
