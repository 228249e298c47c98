"""Does an OLIVE without an adversary reach the hard program, too?

Runs OLIVE with exact expectations on members M_y, y uniform, for random
formulas with 4.26 clauses per variable, its ties broken by the solver or at
random, and writes docs/olive-honest.md with a table, and docs/olive-honest.svg:
how the optimiser's time grows with n. Whatever comes out is what is written.

    python -m benchmarks.olive_honest [--largest 6] [--formulas 2]
                                      [--time-limit 20] [--seed 0]
"""

from __future__ import annotations

import argparse
import math
import os
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from olivine.cli.figures.files import COLOURS, GREY, column, style, write_figure
from olivine.reduction.family.family import Family
from olivine.reduction.formula.random_formula import random_ksat
from olivine.reduction.run.honest import HonestRun, honest_run
from olivine.reduction.run.schedule import n_rounds

from benchmarks.limited import Limited, tiebreak

DOCS = Path(__file__).resolve().parent.parent / "docs"
VARIANTS = ("paper", "normalized")
TIEBREAKS = ("solver", "random", "adversary")


@dataclass(frozen=True)
class Measured:
    variant: str
    tiebreak: str
    n: int
    run: HonestRun
    slowest: float  # CPU seconds of the slowest call of the engine


def measure(options: argparse.Namespace) -> list[Measured]:
    found = []
    for n in range(3, options.largest + 1):
        for k in range(options.formulas):
            rng = np.random.default_rng([options.seed, n, k])
            three_sat = random_ksat(n, round(4.26 * n), 3, rng).three_sat()
            y = rng.integers(0, 2, n)
            for variant in VARIANTS:
                for name in TIEBREAKS:
                    family = Family(three_sat, variant)
                    rounds = n_rounds(family) + 1 if name == "adversary" else None
                    began = time.perf_counter()
                    engine = Limited(options.time_limit)
                    run = honest_run(
                        family,
                        y,
                        optimiser=engine,
                        tiebreak=tiebreak(name, family, rng),
                        max_rounds=rounds,
                    )
                    found.append(Measured(variant, name, n, run, engine.slowest))
                    seconds = time.perf_counter() - began
                    print(
                        f"n={n} {variant} {name}: {run.result.status}, "
                        f"{len(run.result.rounds)} rounds, {dict(run.counts)}, "
                        f"{seconds:.1f} s",
                        file=sys.stderr,
                        flush=True,
                    )
    return found


def row(group: Sequence[Measured]) -> str:
    first = group[0]
    runs = [m.run for m in group]
    rounds = [len(r.result.rounds) for r in runs]
    finished = sum(
        r.result.status != "undecided"
        if first.tiebreak == "adversary"
        else r.result.status == "finished"
        for r in runs
    )
    met = sum(r.meets_hard_program for r in runs)
    stated = [sum(r.stated) for r in runs]
    before = [_stated_before_telling(r) for r in runs]
    telling = [r.counts["literals"] for r in runs]
    mixtures = [r.counts["clauses"] + r.counts["mixed"] for r in runs]
    total = len(first.run.family.distributions())
    slowest = [m.slowest for m in group]
    cells = [
        first.variant,
        str(first.n),
        first.tiebreak,
        spread(rounds),
        f"{spread(stated)} of {total}",
        spread(before),
        spread(mixtures),
        spread(telling),
        f"{met} of {len(group)}",
        f"{finished} of {len(group)}",
        f"{statistics.median(slowest):.2f}",
    ]
    return "| " + " | ".join(cells) + " |"


def _stated_before_telling(run: HonestRun) -> int:
    """Constraints of the hard program added before the first `literals`."""
    kinds = [*run.kinds, "literals"]
    return sum(run.stated[: kinds.index("literals")])


def spread(numbers: Sequence[int]) -> str:
    low, high = min(numbers), max(numbers)
    return str(low) if low == high else f"{low}–{high}"


def groups(found: Sequence[Measured]) -> dict[tuple[str, int, str], list[Measured]]:
    grouped: dict[tuple[str, int, str], list[Measured]] = {}
    for m in found:
        grouped.setdefault((m.variant, m.n, m.tiebreak), []).append(m)
    order = {name: i for i, name in enumerate(TIEBREAKS)}
    keys = sorted(grouped, key=lambda key: (key[0], key[1], order[key[2]]))
    return {key: grouped[key] for key in keys}


HEADER = """\
| variant | n | ties broken by | rounds | stated constraints added | of these before \
the first telling one | mixtures of clauses | telling constraints | reached the hard \
program | finished | slowest call, median (CPU s) |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"""


REASONS = """\
The table has this explanation. In `normalized` [try $C_j$] costs nothing, so each
clause state without a constraint can have value 1 and keeps the optimum at 1: however
ties are broken, every clause needs a constraint before the optimum can fall. So an
honest run ends with nearly all constraints of the hard program, and its further
constraints decide how hard its programs are. In `paper` [try $C_j$] costs p; once s0
has a constraint, no maximiser of value 1 takes it. OLIVE without an adversary then
proceeds by the pairs and [solve], and constrains the clauses by one mixture of them;
programs with that constraint differ from the hard one.
"""


def page(found: Sequence[Measured], options: argparse.Namespace) -> str:
    grouped = groups(found)
    table = "\n".join([HEADER, *(row(group) for group in grouped.values())])
    command = (
        f"python -m benchmarks.olive_honest --largest {options.largest} --formulas "
        f"{options.formulas} --time-limit {options.time_limit:g} --seed {options.seed}"
    )
    return f"""\
# Does honest OLIVE reach the hard program?

The paper's proof that OLIVE's own run leads to NP-hard programs breaks ties against
OLIVE. Do other ties lead there, too? Here OLIVE runs with exact expectations and φ = 0
on members $M_y$ of the family (y uniform) for random 3-CNF with 4.26 clauses per
variable, {options.formulas} formulas per size. Ties are broken by the solver (its own
maximiser; the level with the largest error), at random (a maximiser of a random
objective; a uniform level among those with positive error), or by the adversary of
`reduction/run/schedule.py`, which stops one round after the hard program is
complete.

{summary(found)}

*Stated* constraints are those of the hard program. A *telling* constraint is over
literal states behind a clause; its rewards distinguish the members of the family,
and no hard program has one. A call of the engine (HiGHS) has
{options.time_limit:g} s of CPU time; a run that needs longer is not finished. (The
adversary's run counts as finished when the hard program is solved.) Times are CPU
seconds, {os.cpu_count()} cores, one thread, with the start of a process (some 0.05 s).

{table}

{REASONS}
![Seconds of the slowest call of the engine in a run, against n](olive-honest.svg)

Made by

    {command}
"""


def summary(found: Sequence[Measured]) -> str:
    lines = []
    for variant in VARIANTS:
        for name in ("solver", "random"):
            runs = [m.run for m in found if (m.variant, m.tiebreak) == (variant, name)]
            met = sum(r.meets_hard_program for r in runs)
            told = sum("literals" in r.kinds for r in runs)
            done = sum(r.result.status == "finished" for r in runs)
            lines.append(
                f"- `{variant}`, ties broken by {name}: {met} of {len(runs)} runs "
                f"reached exactly the hard program, {told} added a telling "
                f"constraint, {done} finished, all with an optimal policy."
                if all(optimal(r) for r in runs)
                else f"- `{variant}`, {name}: A RUN ENDED WITH A WORSE POLICY."
            )
    return "\n".join(lines)


def optimal(run: HonestRun) -> bool:
    """Whether a finished run has an optimal policy."""
    if run.result.policy is None:
        return True
    mdp = run.family.mdp(run.member)
    return mdp.evaluate(run.result.policy).value(mdp.start) == run.optimal_value


def draw(found: Sequence[Measured], options: argparse.Namespace, path: Path) -> None:
    points = [(m.variant, m.tiebreak, m.n, m.slowest) for m in found]
    with style():
        figure, axes = column(6.6, 2)
        for axis, variant in zip(axes, VARIANTS, strict=True):
            for name in TIEBREAKS:
                own = [(n, s) for v, t, n, s in points if (v, t) == (variant, name)]
                series(axis, name, own, options.time_limit)
            axis.axhline(
                options.time_limit, color=GREY, linestyle=":",
                label=f"limit {options.time_limit:g} s",
            )  # fmt: skip
            axis.set_yscale("log")
            axis.set_xticks(sorted({n for _, _, n, _ in points}))
            axis.set_xlabel("variables n (4.26 n clauses)")
            axis.set_ylabel("slowest call of a run (CPU s)")
            axis.set_title(variant, loc="left", fontsize=10)
        figure.legend(
            *axes[0].get_legend_handles_labels(),
            title="ties broken by (line: median; open: cut off by the limit)",
            title_fontsize=8,
            loc="outside lower center",
            ncols=4,
            fontsize=8,
            frameon=False,
        )
        write_figure(path, figure)


def series(
    axis: Axes, name: str, points: Sequence[tuple[int, float]], limit: float
) -> None:
    """Draw the runs of one way to break ties, and their median."""
    number = TIEBREAKS.index(name)
    marker, colour = "os^"[number], COLOURS[number]
    sizes = sorted({n for n, _ in points})
    middle = [statistics.median(s for size, s in points if size == n) for n in sizes]
    # A median that the limit cut off is no value: the line ends before.
    shown = [s if s < limit else math.nan for s in middle]
    axis.plot(sizes, shown, marker, linestyle="-", label=name, color=colour)
    for n, seconds in points:
        face = "none" if seconds >= limit else colour
        axis.plot(n, seconds, marker, color=colour, mfc=face, alpha=0.5)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--largest", type=int, default=6)
    parser.add_argument("--formulas", type=int, default=2)
    parser.add_argument("--time-limit", type=float, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--docs", type=Path, default=DOCS)
    options = parser.parse_args()
    found = measure(options)
    options.docs.mkdir(exist_ok=True)
    draw(found, options, options.docs / "olive-honest.svg")
    text = page(found, options)
    (options.docs / "olive-honest.md").write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
