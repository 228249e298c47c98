"""Tallies of claims that are checked against the truth.

A tally keeps the worst margin (bound minus value) of one claim. It is exact
where what it is told is: margins are Fractions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any, Protocol

from olivine.algorithms.learning.result import LearningResult, MonitorReport, Scope

Number = int | float | Fraction


class Tally:
    """Checks of one claim.

    Parameters
    ----------
    scope
        When the claim must hold.
    """

    def __init__(self, scope: Scope) -> None:
        self.scope: Scope = scope
        self.checks = 0
        self.margin: Fraction | None = None
        self.first = ""
        self.unknown = ""

    def at_most(self, value: Number, bound: Number, place: Callable[[], str]) -> None:
        """Check value ≤ bound; ``place`` says where, if that is the first failure."""
        self.checks += 1
        margin = Fraction(bound) - Fraction(value)
        if margin < 0 and not self.first:
            self.first = f"{place()}: {float(value):.6g} > {float(bound):.6g}"
        if self.margin is None or margin < self.margin:
            self.margin = margin

    def never(self, happened: bool, place: Callable[[], str]) -> None:
        """Check that something did not happen; a violation has margin -1."""
        self.at_most(int(happened), 0, place)

    def skip(self, reason: str) -> None:
        """Note that a check could not be made: the claim is then unknown."""
        self.unknown = self.unknown or reason

    def report(self) -> MonitorReport:
        """Give the tally as it stands: false as soon as one check failed."""
        failed = self.margin is not None and self.margin < 0
        holds = False if failed else (None if self.unknown else True)
        return MonitorReport(
            holds, self.margin, self.checks, self.scope, self.first or self.unknown
        )


class Review(Protocol):
    """One pass through the events of a run: a method for each kind of event."""

    tallies: dict[str, Tally]

    def ended(self, result: LearningResult) -> None:
        """Check what is known at the end."""


def review_run(
    review: Review, events: Iterable[tuple[str, Any]], result: LearningResult
) -> dict[str, MonitorReport]:
    """Tell a review the events of a run, by the names of its methods, and its end."""
    for kind, what in events:
        getattr(review, kind)(what)
    review.ended(result)
    return {name: tally.report() for name, tally in review.tallies.items()}


def with_monitors(
    result: LearningResult, reports: Mapping[str, MonitorReport]
) -> LearningResult:
    """Return the result with reports added."""
    return replace(result, monitors=dict(result.monitors) | dict(reports))
