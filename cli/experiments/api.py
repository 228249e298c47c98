"""``olivine.curves`` and ``olivine.compare``: experiments over one's own processes."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ...algorithms.exact.arrays import check_count
from ..common.output import ExitStatus
from ..figures.files import check_suffix
from .frame import work
from .rows import check_results, write_results
from .runs import LearningRun, own_environment, register_environments
from .summaries import curves_of
from .units import MOST_RUNS, Comparison, Row, adapted, learning_units


@dataclass(frozen=True)
class Experiment:
    """Runs of algorithms over seeds, and what they say together.

    Attributes
    ----------
    rows
        A row for each run: the record of ``olivine learn --json`` and, of `curves`,
        ``curve`` with ``trajectories`` and ``values``.
    summary
        An object for each algorithm: what the command prints with ``--json`` of a
        cell, or of a curve at its end.
    """

    rows: Sequence[Row]
    summary: Sequence[dict[str, Any]]
    _draw: Callable[[Path], None]
    _statuses: Sequence[ExitStatus]

    def save(self, figure: str | os.PathLike[str]) -> None:
        """Draw the figure of the command.

        Parameters
        ----------
        figure
            A file that ends in .svg, .png or .pdf.

        Raises
        ------
        ValueError
            For another suffix, or if no run has anything to draw.
        """
        check_suffix(Path(figure))
        self._draw(Path(figure))

    def write(self, file: str | os.PathLike[str]) -> None:
        """Write the rows.

        Parameters
        ----------
        file
            A file that ends in .jsonl or, with the extra parquet, .parquet.

        Raises
        ------
        ValueError
            For another suffix.
        """
        check_results(Path(file))
        write_results(Path(file), self.rows)


def curves(
    environment: Any,
    algorithms: str | Sequence[str] | None = None,
    classes: Any = None,
    *,
    parameters: str | None = None,
    epsilon: float = 0.3,
    delta: float = 0.1,
    seeds: int = 5,
    first_seed: int = 0,
    time_limit: float = 10.0,
    jobs: int = 1,
    **settings: Any,
) -> Experiment:
    """Run algorithms over seeds; record the value of what each would return.

    Values are exact where the environment's truth is known; of another one, such as a
    simulator, they are means of 1000 episodes with ``standard_errors``, which do not
    count among its trajectories.

    Parameters
    ----------
    environment
        A name, as of ``olivine learn --list``; an environment of your own; or a
        function that makes one of a seed. Each run has it fresh, in a process of its
        own.
    algorithms
        Names; all by default. One that does not take the environment says so in its
        rows.
    classes
        For every algorithm, or a mapping by their names: as `learn` takes them, or a
        function that makes them of the environment.
    parameters, epsilon, delta
        As of `learn`. Parameters left out are the theorem's, or practical ones where
        observations are continuous.
    seeds, first_seed
        Runs of each algorithm, and the seed of the first.
    time_limit
        Seconds of CPU time of a run; one that is stopped keeps the curve that it has.
    jobs
        Runs at a time.
    **settings
        Of the algorithms, or options of a named environment.

    Returns
    -------
    Experiment
        `rows`, `summary`; ``save("curves.svg")`` draws them.

    Raises
    ------
    ValueError
        For an unknown name or setting, or classes that do not go with an algorithm.
    """
    asked = _asked(
        environment, algorithms, classes, parameters, epsilon, delta, time_limit,
        first_seed, seeds, jobs, settings,
    )  # fmt: skip
    return run_curves(*asked)


def compare(
    environment: Any,
    algorithms: str | Sequence[str] | None = None,
    classes: Any = None,
    *,
    parameters: str | None = None,
    epsilon: float = 0.3,
    delta: float = 0.1,
    seeds: int = 50,
    first_seed: int = 0,
    time_limit: float = 10.0,
    jobs: int = 1,
    **settings: Any,
) -> Experiment:
    """Compare what algorithms need and get on an environment, over seeds.

    Parameters
    ----------
    environment, algorithms, classes
        As of `curves`.
    parameters, epsilon, delta, seeds, first_seed
        As of `curves`.
    time_limit
        Seconds of CPU time of a run; an algorithm begins no run after thirty times
        that, nor after three that were stopped.
    jobs, **settings
        As of `curves`.

    Returns
    -------
    Experiment
        `rows`, `summary`; ``save("compare.svg")`` draws them.

    Raises
    ------
    ValueError
        As `curves`.
    """
    asked = _asked(
        environment, algorithms, classes, parameters, epsilon, delta, time_limit,
        first_seed, seeds, jobs, settings,
    )  # fmt: skip
    return run_comparison(*asked)


def run_curves(
    runs: Sequence[LearningRun],
    seeds: Sequence[int],
    jobs: int,
    each: Callable[[Row], object] | None = None,
) -> Experiment:
    """Do the runs of `curves`; `each` is given every row as it comes."""
    units = learning_units(runs, seeds)
    found: dict[str, Row] = {}

    def keep(row: Row) -> None:
        found[row["key"]] = row
        if each is not None:
            each(row)

    statuses = work(units, keep, "runs", len(units), jobs=jobs, json_lines=bool(each))
    rows = [found[unit.key] for unit in units if unit.key in found]
    made = curves_of(rows)

    def draw(figure: Path) -> None:
        from ..figures.sweep import save_curves

        save_curves(figure, made)

    statuses += [ExitStatus(row["exit"]) for row in rows]
    return Experiment(rows, [curve.to_json() for curve in made], draw, statuses)


def run_comparison(
    runs: Sequence[LearningRun],
    seeds: Sequence[int],
    jobs: int,
    each: Callable[[dict[str, Any]], object] | None = None,
) -> Experiment:
    """Do the runs of `compare`; `each` is given what is said of a cell once it ends."""
    comparison, rows = Comparison(runs, seeds), list[Row]()

    def tell() -> None:
        for cell in comparison.finished():
            if each is not None:
                each(cell.to_json())

    def keep(row: Row) -> None:
        comparison.add(row)
        rows.append(row)
        tell()

    total = len(runs) * len(seeds)
    units = comparison.units()
    statuses = work(units, keep, "runs", total, jobs=jobs, json_lines=bool(each))
    tell()
    summary = [cell.to_json() for cell in comparison.cells]

    def draw(figure: Path) -> None:
        from ..figures.sweep import save_comparison

        save_comparison(figure, summary)

    statuses += [cell.status for cell in comparison.cells]
    return Experiment(rows, summary, draw, statuses)


def _asked(
    environment: Any,
    algorithms: str | Sequence[str] | None,
    classes: Any,
    parameters: str | None,
    epsilon: float,
    delta: float,
    time_limit: float,
    seed: int,
    seeds: int,
    jobs: int,
    settings: Mapping[str, Any],
) -> tuple[list[LearningRun], range, int]:
    """Check what is asked for; the runs, their seeds, and how many at a time."""
    from ...algorithms.environments import options
    from ...algorithms.exact.arrays import (
        check_positive,
        check_type,
        check_unit,
        rational,
    )
    from ...algorithms.learning import registry
    from ...algorithms.learning.learn import choose_classes

    seed = check_count("first_seed", seed, least=0)
    seeds = check_count("seeds", seeds, most=MOST_RUNS)
    jobs = check_count("jobs", jobs, most=MOST_RUNS)
    time_limit = check_positive("time_limit", time_limit)
    listed = [algorithms] if isinstance(algorithms, str) else algorithms
    if listed is not None:
        check_type("algorithms", listed, Sequence, "name and no list of names")
    entries = [registry.get(name) for name in listed or registry.names()]
    named = isinstance(environment, str)
    if named:
        register_environments(environment)
    world = None if named else own_environment(environment, seed)
    known = options(environment) if named else {}
    every = {*known, *(key for entry in entries for key in entry.settings)}
    for key in settings:
        if key not in every:
            hint = registry.suggestion(key, every)
            raise ValueError(f"unknown setting {key!r}{hint}")
    for name, value in (("epsilon", epsilon), ("delta", delta)):
        check_unit(name, rational(value, name))
    runs = []
    for entry in entries:
        entry.check_kind("parameters", parameters or "theorem")
        given = classes.get(entry.name) if isinstance(classes, Mapping) else classes
        run = LearningRun(
            entry.name,
            environment if world is None else world.name,
            parameters or "theorem",
            entry.default_classes,
            epsilon,
            delta,
            {k: v for k, v in settings.items() if k in known},
            {k: v for k, v in settings.items() if k in entry.settings},
            time_limit,
            None if named else environment,
        )
        if callable(given):
            run = replace(run, classes=given)
        elif given is not None:
            here = run.environment(seed) if world is None else world
            run = replace(run, classes=choose_classes(given, entry, here))
        runs.append(adapted(run, parameters, given, seed))
    return runs, range(seed, seed + seeds), jobs
