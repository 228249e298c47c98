"""What verified formulas say together: by variant, variables and clauses."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from olivine.cli.units import Row


@dataclass(frozen=True)
class Phase:
    """The formulas of one size in one variant.

    Attributes
    ----------
    variant
        Of the family.
    variables, clauses
        Of each formula as read.
    formulas
        Their number, bad files not counted.
    satisfiable, unsatisfiable
        Of them; the others are undecided.
    optima
        Of those whose optimum is proved, ascending.
    seconds
        Median of each route, over the formulas where it has an answer.
    unfinished
        Formulas where a route has none, by route.
    """

    variant: str
    variables: int
    clauses: int
    formulas: int
    satisfiable: int
    unsatisfiable: int
    optima: Sequence[Fraction]
    seconds: Mapping[str, float]
    unfinished: Mapping[str, int]

    @property
    def ratio(self) -> float:
        """Clauses per variable."""
        return self.clauses / self.variables

    @property
    def share(self) -> tuple[float, float]:
        """Share that is satisfiable: at least, and at most."""
        sure = self.formulas - self.unsatisfiable
        return self.satisfiable / self.formulas, sure / self.formulas

    def to_json(self) -> dict[str, Any]:
        """Plain values; optima exactly, as text."""
        optima = self.optima
        return {
            "variant": self.variant,
            "variables": self.variables,
            "clauses": self.clauses,
            "ratio": self.ratio,
            "formulas": self.formulas,
            "satisfiable": self.satisfiable,
            "unsatisfiable": self.unsatisfiable,
            "undecided": self.formulas - self.satisfiable - self.unsatisfiable,
            "optimum": {
                "proved": len(optima),
                "median": str(statistics.median(optima)) if optima else None,
                "least": str(optima[0]) if optima else None,
                "most": str(optima[-1]) if optima else None,
            },
            "seconds": dict(self.seconds),
            "unfinished": dict(self.unfinished),
        }


def phases_of(rows: Sequence[Row]) -> list[Phase]:
    """Sum rows up, by variant, variables and clauses, ascending."""
    groups: dict[tuple[str, int, int], list[Row]] = {}
    for row in rows:
        if "error" not in row and row["variables"]:
            size = row["variant"], row["variables"], row["clauses"]
            groups.setdefault(size, []).append(row)
    return [_phase(size, groups[size]) for size in sorted(groups)]


def _phase(size: tuple[str, int, int], rows: Sequence[Row]) -> Phase:
    times: dict[str, list[float]] = {}
    unfinished: dict[str, int] = {}
    for row in rows:
        for name, found in row["routes"].items():
            done = found["status"] not in ("unknown", "error")
            unfinished[name] = unfinished.get(name, 0) + (not done)
            if done:
                times.setdefault(name, []).append(found["seconds"])
    verdicts = [row["satisfiable"] for row in rows]
    return Phase(
        *size,
        formulas=len(rows),
        satisfiable=verdicts.count(True),
        unsatisfiable=verdicts.count(False),
        optima=sorted(Fraction(r["optimum"]) for r in rows if r["optimum"] is not None),
        seconds={name: statistics.median(found) for name, found in times.items()},
        unfinished={name: count for name, count in unfinished.items() if count},
    )
