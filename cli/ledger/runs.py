"""What monitored runs behind a claim show: what held in them, and how often.

Runs of a claim are made once, with seeds 0, 1, 2, ...
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np
from olivine.algorithms.learning.monitors import with_monitors
from olivine.algorithms.learning.run import LearningResult
from olivine.cli.ledger.claim import Evidence
from scipy.stats import beta

CONFIDENCE = 0.95
MOST = 1_000
"""Most seeds of a claim: tests look at fewer than it has."""
INSTANCES = 1_000
"""Most formulas, families or MDPs that a claim goes through, likewise."""
LARGEST = 1_000
"""Greatest n of formulas whose size a claim varies, likewise."""

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


def seeds(count: int) -> range:
    """Seeds of the runs of a claim, at most `MOST`."""
    return range(min(count, MOST))


def instances(count: int) -> int:
    """Cut the number of a claim's instances to `INSTANCES` at most."""
    return min(count, INSTANCES)


def made_once(make: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
    """Keep what a function of positional arguments gives, for each `MOST`."""
    kept: dict[tuple[Any, ...], _Result] = {}

    @wraps(make)
    def found(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _Result:
        key = (MOST, *args, *sorted(kwargs.items()))
        if key not in kept:
            kept[key] = make(*args, **kwargs)
        return kept[key]

    return found


def monitored_run(
    learn: Callable[..., LearningResult],
    arguments: Sequence[Any],
    monitors: Any,
    seed: int,
    observers: Sequence[Any] = (),
    **options: Any,
) -> LearningResult:
    """Run an algorithm with its monitors; the result has their reports.

    Parameters
    ----------
    learn
        Takes the arguments, a generator and observers.
    arguments
        Environment, classes and parameters.
    monitors
        An observer with ``reports``.
    seed
        Of the generator.
    observers, options
        Further observers and keywords of ``learn``.
    """
    rng = np.random.default_rng([seed, 2])
    result = learn(*arguments, rng, observers=[monitors, *observers], **options)
    return with_monitors(result, monitors.reports(result))


def premises_hold(result: LearningResult) -> bool:
    """Whether every monitor holds on which the analysis rests."""
    monitors = result.monitors.values()
    return all(m.holds for m in monitors if m.scope == "premise")


def held(
    results: Iterable[LearningResult],
    *names: str,
    inside: Callable[[LearningResult], bool] = premises_hold,
) -> Evidence:
    """Whether the named monitors hold in every run that is inside the event.

    Parameters
    ----------
    results
        Runs with the reports of their monitors.
    names
        Names of monitors; each must have checked something in some run.
    inside
        Tells the runs inside the event.
    """
    every = list(results)
    within = [result for result in every if inside(result)]
    checks, margins = 0, list[Fraction]()
    for name in names:
        reports = [result.monitors[name] for result in within]
        if not any(report.checks for report in reports):
            return Evidence(False, f"{name} was never checked inside the event")
        for report in reports:
            if report.holds is not True:
                return Evidence(False, f"{name}: {report.first}")
            checks += report.checks
            margins += [report.margin] if report.margin is not None else []
    least = f"; least margin {float(min(margins)):.3g}" if margins else ""
    left = "" if len(within) == len(every) else " (the others left the event)"
    return Evidence(
        True, f"{checks} checks in {len(within)} of {len(every)} runs{left}{least}"
    )


def count(results: Iterable[LearningResult], name: str) -> int:
    """Count the runs in which a monitor holds."""
    return sum(result.monitors[name].holds is True for result in results)


def share(good: int, runs: int, what: str) -> str:
    """Say how many runs were good, and what share of all runs that shows."""
    return (
        f"{good} of {runs} runs {what}, which alone shows a share of at least "
        f"{lower_bound(good, runs):.3f} with confidence {CONFIDENCE:.0%}"
    )


def lower_bound(good: int, runs: int) -> float:
    """Least share that so many good runs show (Clopper and Pearson), rounded down.

    36 of 36 show 0.920 with confidence 95%, not 0.95; that takes 59.
    """
    if good == 0:
        return 0.0
    found = float(beta.ppf(1 - CONFIDENCE, good, runs - good + 1))
    return math.floor(1000 * found) / 1000
