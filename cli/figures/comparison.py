"""The figure of ``olivine compare``: what each algorithm needs, and gets."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..experiments.comparison import score
from .files import column, headline, plain, style, write_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_FULL, _EDGE, _GREY = "#0072B2", "#222222", "#777777"  # dark enough for print


def save_figure(path: Path, records: Sequence[Mapping[str, Any]]) -> None:
    """Draw a panel per environment: median trajectories; a full dot: all succeed."""
    environments = list(dict.fromkeys(record["env"] for record in records))
    algorithms = list(dict.fromkeys(record["algorithm"] for record in records))
    with style():
        rows = len(environments)
        figure, panels = column(rows * (0.8 + 0.19 * len(algorithms)) + 1.6, rows)
        for panel, env in zip(panels, environments, strict=True):
            own = {r["algorithm"]: r for r in records if r["env"] == env}
            _panel(panel, str(env), algorithms, own)
        headline(
            figure,
            "Trajectories until the end of a run (median), and runs that end "
            f"ε-optimal, ε = {records[0]['epsilon']:g}, {records[0]['seeds']} seeds",
        )
        _legend(figure)
        write_figure(path, figure)


_DOT = {
    "marker": "o", "linestyle": "", "ms": 7, "mec": _EDGE, "mew": 0.9, "mfc": _FULL
}  # fmt: skip
_DOTS: dict[str, dict[str, Any]] = {
    "all": _DOT,
    "some": _DOT | {"fillstyle": "left", "markerfacecoloralt": "white"},
    "none": _DOT | {"mfc": "white"},
}


def _legend(figure: Figure) -> None:
    from matplotlib.lines import Line2D

    figure.legend(
        handles=[
            Line2D([], [], label=f"{word} of the seeds end ε-optimal", **dot)
            for word, dot in _DOTS.items()
        ],
        title=textwrap.fill(
            "Fewer is better, among full dots and the same constants. Refused: the "
            "algorithm does not take the task.",
            65,
        ),
        title_fontsize=8,
        loc="outside lower center",
        ncols=1,
        fontsize=8,
        frameon=False,
    )


def _panel(
    panel: Axes,
    title: str,
    algorithms: Sequence[str],
    records: Mapping[str, Mapping[str, Any]],
) -> None:
    done = [r["trajectories"] for r in records.values() if r["trajectories"]]
    low, high = (min(done), max(done)) if done else (1, 10)
    panel.set_xscale("log")
    panel.set_xlim(low / 10, 10.0 * high)
    kinds = {r["params"] for r in records.values() if r["runs"]}
    one = kinds.pop() if len(kinds) == 1 else None
    for y, name in enumerate(algorithms):
        record = records.get(name)
        if record is None:
            continue
        if not record["runs"]:
            word = "refused" if record["refused"] else f"no run ended: {score(record)}"
            panel.annotate(
                word, (0.02, y), xycoords=("axes fraction", "data"), va="center",
                fontsize=8, color=_GREY, style="italic",
            )  # fmt: skip
            continue
        x, wins = record["trajectories"], record["successes"]
        dot = _DOTS["all" if wins == record["seeds"] else "some" if wins else "none"]
        panel.plot(max(x, 1), y, zorder=3, **dot)
        text = score(record)
        if one is None:
            text += f", {record['params']}"
        right = math.log(100 * high / low) < 2 * math.log(10 * max(x, 1) / low)
        panel.annotate(
            text, (max(x, 1), y), xytext=(-7 if right else 7, 0), va="center",
            textcoords="offset points", ha="right" if right else "left", fontsize=8,
            color=_EDGE,
        )  # fmt: skip
    panel.set_yticks(range(len(algorithms)), algorithms)
    panel.set_ylim(len(algorithms) - 0.5, -0.5)
    if one is not None:
        title += f" ({one} constants)"
    panel.set_title(title, loc="left", fontsize=10)
    panel.set_xlabel("trajectories")
    plain(panel, axis="x")
