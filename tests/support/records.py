"""Recorded runs, to be tampered with and played to fresh monitors."""

from dataclasses import dataclass, replace
from typing import Any

from olivine.algorithms.learning.problem import LearningResult, Problem


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
