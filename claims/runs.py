"""What monitored runs behind a claim show: what held in them, and how often.

Runs of a claim are made once, with seeds 0, 1, 2, ...
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import wraps
from typing import Any, Generic, ParamSpec, TypeVar

import numpy as np

from ..algorithms.classes import PolicyClassByLevel, ValueClassByLevel
from ..algorithms.environments.finite_makers import Instance
from ..algorithms.environments.protocol import Environment
from ..algorithms.learning.monitors import with_monitors
from ..algorithms.learning.problem import LearningResult, Problem
from .claim import Evidence

CONFIDENCE = 0.95
MOST = 1_000
"""Most seeds of a claim: tests look at fewer than it has."""
INSTANCES = 1_000
"""Most formulas, families or MDPs that a claim goes through, likewise."""
LARGEST = 1_000
"""Greatest n of formulas whose size a claim varies, likewise."""

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")
_Case = TypeVar("_Case")
_Parameters = TypeVar("_Parameters")
Number = float | Fraction


def seeds(count: int) -> range:
    """Seeds of the runs of a claim, at most `MOST`."""
    return range(min(count, MOST))


def instances(count: int, least: int = 0) -> int:
    """Cut the number of a claim's instances to `INSTANCES`, but not below `least`.

    `least` is what it takes to refute the claim were it wrong.
    """
    return min(count, max(INSTANCES, least))


def some(cases: Sequence[_Case], least: int = 0) -> Sequence[_Case]:
    """Give as many cases as `instances` lets through, spread evenly over them all."""
    count, last = instances(len(cases), least), len(cases) - 1
    if count == len(cases):
        return cases
    return [cases[i * last // max(count - 1, 1)] for i in range(count)]


_KEPT: list[dict[Any, Any]] = []


def forget() -> None:
    """Forget the runs that were made, for tests that change what makes them."""
    for kept in _KEPT:
        kept.clear()


def hoeffding(inside: Number, n: int, accuracy: Number) -> float:
    """Deviation of a mean of n draws in [0, 1], over an accuracy; e^-inside each way.

    In units of it, as it may be far below the least float.
    """
    return math.sqrt(float(Fraction(inside) / (2 * n) / Fraction(accuracy) ** 2))


def bernstein(
    inside: Number, n: int, accuracy: Number, variance: int, span: int
) -> float:
    """Deviation of a mean of n draws of a variance and a range, over an accuracy."""
    rate = float(Fraction(inside) / n / Fraction(accuracy) ** 2)
    return math.sqrt(2 * variance * rate) + span * rate * float(accuracy) / 3


def made_once(make: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
    """Keep what a function gives, for each `MOST` and `INSTANCES`."""
    kept: dict[tuple[Any, ...], _Result] = {}
    _KEPT.append(kept)

    @wraps(make)
    def found(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _Result:
        key = (MOST, INSTANCES, *args, *sorted(kwargs.items()))
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
    """Run an algorithm with its monitors; the result has their reports."""
    rng = np.random.default_rng([seed, 2])
    result = learn(*arguments, rng, observers=[monitors, *observers], **options)
    return with_monitors(result, monitors.reports(result))


def parts(made: Instance) -> tuple[Environment, ValueClassByLevel, PolicyClassByLevel]:
    """Environment, G and Π of an instance, as algorithms take them."""
    return made.environment, made.values, made.policies


def problem(
    made: Instance, *, squared: bool = False
) -> tuple[int, int, int, float, float]:
    """M, K and H of an instance, ln |G| (of squares, if wanted) and ln |Π|."""
    env = made.environment
    sizes = made.values.log_size(squared=squared), made.policies.log_size()
    return env.max_states, env.n_actions, env.horizon, *sizes


def loss(made: Instance, result: LearningResult) -> Fraction:
    """V* - V^π̂; V* where there is no policy."""
    truth, policies = made.environment.truth, result.policies
    value = Fraction(0) if policies is None else truth.policy_value(list(policies))
    return truth.optimal_value - value


@dataclass(frozen=True)
class Run(Generic[_Parameters]):
    """A monitored run: what ran, what came out, and the events that were kept."""

    made: Instance
    parameters: _Parameters
    result: LearningResult
    events: tuple[Any, ...]

    @property
    def loss(self) -> Fraction:
        """V* - V^π̂; V* where there is no policy."""
        return loss(self.made, self.result)


def monitored(
    learn: Callable[..., LearningResult],
    made: Instance,
    parameters: _Parameters,
    monitors: Callable[..., Any],
    seed: int,
    *,
    observers: Sequence[Any] = (),
    kept: type[Any] | tuple[type[Any], ...] = (),
    **options: Any,
) -> Run[_Parameters]:
    """Run an algorithm on an instance, as `monitored_run`; keep events of a type."""
    arguments = *parts(made), parameters
    events: list[Any] = []
    watch = [*observers, lambda e: events.append(e) if isinstance(e, kept) else None]
    review = monitors(Problem(*parts(made)), parameters)
    found = monitored_run(learn, arguments, review, seed, watch, **options)
    return Run(made, parameters, found, tuple(events))


def premises_hold(result: LearningResult) -> bool:
    """Whether every monitor holds on which the analysis rests."""
    monitors = result.monitors.values()
    return all(m.holds for m in monitors if m.scope == "premise")


def held(
    results: Iterable[LearningResult],
    *names: str,
    inside: Callable[[LearningResult], bool] = premises_hold,
) -> Evidence:
    """Whether the named monitors hold in every run that is inside the event."""
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


def mostly(
    results: Iterable[LearningResult], name: str, what: str, least: float
) -> Evidence:
    """Whether a monitor holds in a share of the runs, and what it shows of all."""
    every = list(results)
    good = count(every, name)
    return Evidence(good >= least * len(every), share(good, len(every), what))


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
    from scipy.stats import beta  # half a second, which listing the claims spares

    if good == 0:
        return 0.0
    found = float(beta.ppf(1 - CONFIDENCE, good, runs - good + 1))
    return math.floor(1000 * found) / 1000
