"""Rounds, and the slowest program, of OLIVE's runs by ties and level rules.

Runs OLIVE, exact and with φ = 0, on members M_y, y uniform, of `strict` for random
3-SAT with 2 clauses a variable, once for each way to break ties and each level rule
that goes with it, n growing until a program takes more than the limit of CPU time. The
adversary's run is the same under each rule; its one program that is solved is the hard
one. The benign run solves none: drawn is the CPU time of all its rounds together.
Writes docs/ties.svg and prints a table.

    python -m benchmarks.ties [--limit 1] [--largest 50] [--seed 0]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from olivine.algorithms.olive_program.tiebreak import LevelRule
from olivine.cli.figures.files import COLOURS, GREY, column, style, write_figure
from olivine.reduction.family.family import Family
from olivine.reduction.formula.random_formula import random_ksat
from olivine.reduction.run.benign import benign_run
from olivine.reduction.run.honest import honest_run

from benchmarks.limited import Limited, tiebreak

FIGURE = Path(__file__).resolve().parent.parent / "docs" / "ties.svg"
SIZES = (2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 17, 20, 30, 50, 100, 200)
RULES: dict[str, LevelRule | None] = {
    "lowest": "first",
    "largest": "largest",
    "any": None,
}
SERIES = (
    ("adversary", "each rule"),
    *(("solver", rule) for rule in ("lowest", "largest")),
    *(("random", rule) for rule in RULES),
    ("benign", "any"),
)
MARKER = {"each rule": "o", "lowest": "v", "largest": "^", "any": "D"}
COLOUR = dict(zip(("adversary", "solver", "random", "benign"), COLOURS, strict=False))


@dataclass
class Line:
    """A way to run, by n: rounds, seconds, and whether the limit cut it off."""

    ties: str
    levels: str
    points: list[tuple[int, int, float, bool]] = field(default_factory=list)

    @property
    def cut(self) -> bool:
        return bool(self.points) and self.points[-1][3]

    @property
    def name(self) -> str:
        return f"{self.ties}, {self.levels}"

    def cell(self, n: int) -> str:
        for size, rounds, seconds, cut in self.points:
            if size == n:
                return (
                    f"{rounds} / >{seconds:g}" if cut else f"{rounds} / {seconds:.2g}"
                )
        return "–"

    def run(self, n: int, options: argparse.Namespace) -> None:
        rng = np.random.default_rng([options.seed, n])
        formula = random_ksat(n, 2 * n, min(n, 3), rng)
        family = Family(formula.three_sat(), "strict")
        y = rng.random(family.n_variables) < 0.5
        if self.ties == "benign":
            began = time.process_time()
            done = benign_run(family, y)
            assert done.holds, done.failures()[:3]
            spent = time.process_time() - began
            self.points.append((n, len(done.rounds), spent, spent > options.limit))
            return
        engine = Limited(options.limit)
        hard = len(family.distributions()) + 1
        run = honest_run(
            family,
            y,
            optimiser=engine,
            tiebreak=tiebreak(self.ties, family, rng, RULES.get(self.levels)),
            max_rounds=hard if self.ties == "adversary" else None,
        )
        assert self.levels == "any" or all(run.stated[: hard - 1])
        cut = run.result.status == "undecided"
        assert not cut or "CPU time" in run.result.reason, run.result.reason
        seconds = options.limit if cut else engine.slowest
        self.points.append((n, len(run.result.rounds) + cut, seconds, cut))


def draw(lines: Sequence[Line], limit: float, path: Path) -> None:
    with style():
        figure, panels = column(7.6, 2)
        titles = "rounds", f"slowest program [CPU s]; crosses: over {limit:g} s"
        for field, (panel, title) in enumerate(zip(panels, titles, strict=True), 1):
            for k, line in enumerate(lines):
                curve(panel, line, field, 1 + 0.012 * (k - 3))
            panel.set_xscale("log")
            panel.set_yscale("log")
            ticks = (2, 3, 5, 10, 20, 50, 100)
            panel.set_xticks(ticks, [str(n) for n in ticks])
            panel.set_xlim(1.8, 1.1 * max(p[0] for line in lines for p in line.points))
            panel.minorticks_off()
            panel.set_xlabel("variables n (2n clauses)")
            panel.set_title(title, loc="left", fontsize=10)
        rounds = (10, 20, 50, 100, 200, 500, 1000)
        highest = 1.2 * max(p[1] for line in lines for p in line.points)
        panels[0].set_yticks(rounds, [str(n) for n in rounds])
        panels[0].set_ylim(8, highest)
        panels[1].axhline(limit, color=GREY, linestyle=":")
        cross = {"marker": "x", "color": "black", "linestyle": "none"}
        panels[0].plot([], [], label=f"over {limit:g} s: rounds at least", **cross)
        figure.legend(
            *panels[0].get_legend_handles_labels(),
            title="ties, level rule (each point one run, shifted sideways)",
            title_fontsize=8,
            loc="outside lower center",
            ncols=2,
            fontsize=8,
            frameon=False,
        )
        write_figure(path, figure)


def curve(panel: Any, line: Line, field: int, aside: float) -> None:
    """Draw a series, a little aside of n, where others have the same values."""
    whole = [p for p in line.points if not p[3]]
    colour, marker = COLOUR[line.ties], MARKER[line.levels]
    panel.plot(
        [aside * p[0] for p in whole],
        [p[field] for p in whole],
        marker=marker,
        markersize=4.5,
        linewidth=1,
        color=colour,
        mfc="none",
        label=line.name + (" (seconds: whole run)" if line.ties == "benign" else ""),
    )
    if line.cut:
        n, *rest = line.points[-1]
        before = [(aside * p[0], p[field]) for p in whole[-1:]]
        xs, ys = zip(*before, (aside * n, rest[field - 1]), strict=True)
        panel.plot(xs, ys, linewidth=1, linestyle=":", color=colour)
        panel.plot(xs[-1], ys[-1], "x", color=colour, markersize=7)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--limit", type=float, default=1, help="CPU seconds a program")
    parser.add_argument("--largest", type=int, default=50, help="variables")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--figure", type=Path, default=FIGURE)
    options = parser.parse_args()
    lines = [Line(ties, levels) for ties, levels in SERIES]
    sizes = [n for n in SIZES if n <= options.largest]
    print("| n | " + " | ".join(line.name for line in lines) + " |")
    print("| --: " * (len(lines) + 1) + "|")
    for n in sizes:
        for line in lines:
            if not line.cut:
                line.run(n, options)
        print(
            f"| {n} | " + " | ".join(line.cell(n) for line in lines) + " |", flush=True
        )
    draw(lines, options.limit, options.figure)


if __name__ == "__main__":
    main()
