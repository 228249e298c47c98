"""``olivine contrast``: OLIVE's program against the oracles as formulas grow."""

from __future__ import annotations

import json
import os
import platform
import statistics
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .. import __version__
from .common import options
from .common.command import verb
from .common.output import (
    ExitStatus,
    describe,
    print_json,
    print_table,
    progress_bar,
    say,
    tell,
)
from .common.outputs import staged

if TYPE_CHECKING:
    from ..reduction.contrast import Measurement, Plan
    from .figures.contrast import Fits

DATA = "contrast.json"
OURS = frozenset({DATA, "contrast.png", "contrast.svg", "contrast.md"})
# Above, the data of the oracles alone take gigabytes.
LARGEST_N = 200
MOST_INSTANCES = 10_000
DEFAULT_SECONDS = 10.0


@verb
def contrast(
    output: Annotated[Path, options.output("DIR", "Folder to write, new or empty.")],
    max_n: Annotated[
        int, typer.Option(min=3, max=LARGEST_N, help="Largest number of variables.")
    ] = 40,
    instances: Annotated[
        int, typer.Option(min=1, max=MOST_INSTANCES, help="Formulas of each size.")
    ] = 3,
    variant: options.VariantOption = options.VariantName.PAPER,
    time_limit: options.TimeLimit = None,
    seed: options.Seed = 0,
    force: options.Force = False,
    json_lines: options.Json = False,
) -> int:
    """Measure OLIVE's program against the CSC, LS and LP oracles as formulas grow.

    Draws random 3-SAT formulas with 4.26 clauses per variable. On the family of
    each it times the program in its three formulations (10 seconds each unless
    --time-limit sets another limit) and the oracles on data from a member; on the
    formula it times the multi-data-set oracle for one policy and for mixtures.
    Writes contrast.json, contrast.md, contrast.png and contrast.svg.

    Example: [bold]olivine contrast --max-n 40 -o out[/bold]
    """
    from ..reduction.contrast import Plan, fits, measure
    from .figures.contrast import save_figure

    options.without_sides(variant, "the contrast")
    start = time.perf_counter()
    plan = Plan(
        max_n,
        instances,
        DEFAULT_SECONDS if time_limit is None else time_limit,
        seed,
        variant.value,
    )
    measurements: list[Measurement] = []
    record: dict[str, Any] = {"directory": str(output)}
    fault = ""
    try:
        with staged(output, force=force, stale=OURS, last=DATA) as stage:
            total = plan.instances * sum(plan.sizes)
            with progress_bar("measuring", total, json_lines) as progress:
                task = progress.task_ids[0]
                for n, found in measure(plan):
                    measurements += found
                    progress.update(task, advance=n, description=f"n = {n}")
            fitted = fits(measurements)
            measured = _record(plan, measurements, fitted, time.perf_counter() - start)
            record |= measured
            save_figure(stage, plan, measurements, fitted)
            text = _markdown(plan, measurements, fitted)
            (stage / "contrast.md").write_text(text, encoding="utf-8")
            text = json.dumps(measured, indent=1, allow_nan=False) + "\n"
            (stage / DATA).write_text(text, encoding="utf-8")
    except OSError as error:  # what was measured is told all the same
        fault = record["error"] = describe(error)
        if not json_lines:
            say(f"olivine: {fault}")
    if json_lines:
        print_json(record)
    elif "fits" in record:
        _show(plan, measurements, fitted)
    if fault:
        return ExitStatus.BAD_INPUT
    if not json_lines:
        tell(f"{output}: {', '.join(sorted(OURS))}")
    return ExitStatus.DONE


def _record(
    plan: Plan, measurements: Sequence[Measurement], fitted: Fits, seconds: float
) -> dict[str, Any]:
    """Everything that was measured, in JSON values."""
    from importlib.metadata import version

    from ..reduction.contrast import WORK_UNIT

    return {
        "olivine": __version__,
        "python": platform.python_version(),
        "highspy": version("highspy"),
        "machine": platform.machine(),
        "cores": os.cpu_count(),
        "threads": _threads(),
        "plan": vars(plan) | {"sizes": plan.sizes},
        "work_units": WORK_UNIT,
        "fits": {
            series: {q: None if f is None else f.to_json() for q, f in both.items()}
            for series, both in fitted.items()
        },
        "measurements": [vars(m) for m in measurements],
        "seconds": round(seconds, 3),
    }


def _threads() -> str:
    """BLAS threads, as the environment sets them."""
    return os.environ.get("OMP_NUM_THREADS", "not set")


def rows(
    plan: Plan, measurements: Sequence[Measurement]
) -> Iterator[tuple[str, list[str]]]:
    """Yield n and, for each series, the median time and work as text.

    ">" marks a median that the time limit cut off, "–" a series given up.
    """
    from ..reduction.contrast import SERIES

    for n in plan.sizes:
        cells = []
        for series in SERIES:
            own = [m for m in measurements if m.series == series and m.n == n]
            if not own:
                cells.append("–")
                continue
            seconds = statistics.median(m.seconds for m in own)
            work = statistics.median(m.work for m in own)
            # The median run is cut off if half of them are.
            cut = sum(m.censored for m in own) * 2 >= len(own)
            mark = ">" if cut else ""
            cells.append(f"{mark}{_short(seconds)} s / {mark}{_short(work)}")
        yield str(n), cells


def _short(value: float) -> str:
    if value >= 1e6:
        return f"{value:.1e}".replace("e+0", "e").replace("e+", "e")
    if value >= 99.5 or value == int(value):
        return f"{value:.0f}"
    return f"{value:.2g}"


def growth(
    fitted: Fits, measurements: Sequence[Measurement]
) -> Iterator[tuple[str, str, str]]:
    """Yield each series with the laws of its time and work."""
    from ..reduction.contrast import describe

    for series, both in fitted.items():
        texts = [describe(f, series, q, measurements) for q, f in both.items()]
        yield series, texts[0], texts[1]


def _show(plan: Plan, measurements: Sequence[Measurement], fitted: Fits) -> None:
    from ..reduction.contrast import SERIES, WORK_UNIT

    units = {series: WORK_UNIT[series].replace("simplex ", "") for series in SERIES}
    header = ("n", *(f"{series}\n{unit}" for series, unit in units.items()))
    print_table(
        header,
        [(n, *cells) for n, cells in rows(plan, measurements)],
        title="median time / work (> cut off by the time limit)",
        right=header,
        boxed=True,
    )
    print_table(
        ("series", "time", "work"),
        growth(fitted, measurements),
        title="growth",
        boxed=True,
    )


def _markdown(plan: Plan, measurements: Sequence[Measurement], fitted: Fits) -> str:
    from ..reduction.contrast import SERIES, WORK_UNIT

    heads = [f"{series} [s / {WORK_UNIT[series]}]" for series in SERIES]
    lines = [
        f"`olivine contrast --max-n {plan.max_n} --instances {plan.instances} "
        f"--variant {plan.variant} --time-limit {plan.time_limit:g} "
        f"--seed {plan.seed}`",
        "",
        f"Medians: CPU seconds ({os.cpu_count()} cores, OMP_NUM_THREADS {_threads()}), "
        "work. `>`: cut off by the time limit; `–`: given up after two sizes at "
        "which nothing was solved.",
        "",
        f"| n | {' | '.join(heads)} |",
        f"| --: |{' --: |' * len(heads)}",
    ]
    for n, cells in rows(plan, measurements):
        plain = " | ".join(cell.replace(" s /", " /") for cell in cells)
        lines.append(f"| {n} | {plain} |")
    lines += ["", "| series | time | work |", "| --- | --- | --- |"]
    lines += [f"| {' | '.join(row)} |" for row in growth(fitted, measurements)]
    return "\n".join(lines) + "\n"
