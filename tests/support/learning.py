"""Runs of all learning algorithms: how many are good, and recorded ones.

A record is to be tampered with and played to fresh monitors.
"""

from dataclasses import dataclass, replace
from typing import Any

from olivine.algorithms.learning.problem import LearningResult, Problem
from scipy.stats import beta


def check_share(run, count, what=""):
    """At least 9 of 10 runs are ε-optimal, and no monitor that must hold is violated.

    Of 100 runs or more as many, that the share of all is above 0.9 with confidence
    99% (Clopper and Pearson).

    Parameters
    ----------
    run
        Takes a seed and gives the environment, the parameters and the result.
    """
    good, wrong = 0, []
    for seed in range(count):
        env, parameters, result = run(seed)
        wrong += [(seed, c) for c in result.contradictions]
        if result.succeeded:
            value = env.truth.policy_value(list(result.policies))
            good += env.truth.optimal_value - value <= parameters.eps
    lower = float(beta.ppf(0.01, good, count - good + 1)) if good else 0.0
    print(f"{what}: {good} of {count} ε-optimal, share above {lower:.3f} at 99%")
    assert wrong == []
    assert good >= 0.9 * count
    if count >= 100:
        assert lower >= 0.9


@dataclass
class Record:
    """A run with all that was said of it, and the monitors of its algorithm."""

    problem: Problem
    parameters: Any
    events: list[Any]
    result: LearningResult
    review: Any

    def reports(self, change=list, parameters=None, **changed):
        """What fresh monitors say after changes of the events and of the result."""
        review = self.review(self.problem, parameters or self.parameters)
        for event in change(self.events):
            review(event)
        return review.reports(replace(self.result, **changed))

    def failing(self, change=list, **changed) -> set[str]:
        reports = self.reports(change, **changed)
        return {name for name, report in reports.items() if report.holds is False}


def recorded(algorithm, problem, parameters, review, rng) -> Record:
    events: list[Any] = []
    result = algorithm(*problem.arguments, parameters, rng, observers=[events.append])
    return Record(problem, parameters, events, result, review)
