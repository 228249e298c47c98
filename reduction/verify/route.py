"""What a route to the optimum is told and what it answers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ...algorithms.exact.arrays import check_choice
from ..program import FORMULATIONS

Route = Literal["sat", "maxsat", "milp", "brute", "treewidth", "witness"]
ROUTES: tuple[Route, ...] = ("sat", "maxsat", "milp", "brute", "treewidth", "witness")

SECONDS = 60.0
MILP_SECONDS = 5.0
"""Default time limits of the routes."""


@dataclass(frozen=True, eq=False)
class RouteResult:
    """What one route found.

    Attributes
    ----------
    status
        "satisfiable", "unsatisfiable" (route sat), "optimal", "feasible" (an assignment
        was found, not shown to be best), "infeasible" (an engine's false word: the
        program has a solution), "unknown", or "error" (the route raised).
    seconds
        Wall time.
    finished
        Whether the route answered its question; it is then held against the others.
    value
        The optimum it asserts; for "feasible" the value attained; else None.
    satisfiable, unsatisfied
        Its verdict on the formula, its least unsatisfied weight, or None.
    lower, upper
        Bounds on the optimum that it proves, or None.
    assignment, attained
        The best assignment of the 3-SAT form found, bool, shape (n,), or None, and the
        weight that it leaves unsatisfied.
    reason, details
        Why it is unknown or not finished, else ""; further facts, JSON values.
    """

    status: str
    seconds: float
    finished: bool = False
    value: Fraction | None = None
    satisfiable: bool | None = None
    unsatisfied: int | None = None
    lower: Fraction | None = None
    upper: Fraction | None = None
    assignment: NDArray[np.bool_] | None = None
    attained: int | None = None
    reason: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """`status`, `value`, `seconds`, and what else there is to say."""
        record: dict[str, Any] = {
            "status": self.status,
            "value": None if self.value is None else str(self.value),
            "seconds": round(self.seconds, 6),
        }
        if self.unsatisfied is not None:
            record["unsatisfied"] = self.unsatisfied
        if self.reason:
            record["reason"] = self.reason
        return record | dict(self.details)


@dataclass(frozen=True)
class Settings:
    """How routes run; ValueError for an unknown formulation or engine."""

    formulation: str | None  # of the MILP route; None chooses by size
    time_limit: float | None  # seconds for each; None for each one's own, or infinity
    rng: np.random.Generator  # for the local search
    engine: str = "highs"  # of the MILP route

    def __post_init__(self) -> None:
        if self.formulation is not None:
            check_choice("formulation", self.formulation, FORMULATIONS)
        if self.engine != "highs":  # which is always there, and need not be loaded
            from ...solvers.milp.milp import available_engines

            if self.engine not in available_engines():
                known = ", ".join(available_engines())
                raise ValueError(
                    f"engine {self.engine!r} is not installed; there is {known}"
                )

    def limit(self, route: Route) -> float | None:
        """Seconds for a route, None for no limit."""
        if self.time_limit is None:
            return MILP_SECONDS if route == "milp" else SECONDS
        return self.time_limit if self.time_limit < math.inf else None


Results = Mapping[Route, RouteResult]
"""What routes found, in the order in which they ran."""
