"""Learning curves: the value of each algorithm's policy against trajectories.

A run's curve is a step function: the value of what it would return if it were stopped
there. After its end it stays, whether the run ended by itself or was stopped by its
limit; how many were stopped is told.
"""

from __future__ import annotations

import statistics
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from olivine.cli.comparison import succeeded
from olivine.cli.units import Row


@dataclass(frozen=True)
class Curve:
    """One algorithm on one environment, over its seeds.

    Attributes
    ----------
    algorithm, env
        Names.
    trajectories
        Where some run's value changes or a run ends, ascending.
    median, least, most
        Over the runs, from each of these on.
    ends
        Trajectories and value at the end of each run, and whether it was stopped.
    wanted
        Runs wanted; those without a curve were refused, or stopped before the start.
    optimum, optima
        Median of V*, and its least and greatest value where seeds differ in it.
    successes
        Runs that ended with "success" within ε of V*.
    refused
        Why the algorithm does not take the task, or "".
    exact
        Whether values are exact; else they are estimated.
    params
        Kind of the constants.
    """

    algorithm: str
    env: str
    trajectories: Sequence[int]
    median: Sequence[float]
    least: Sequence[float]
    most: Sequence[float]
    ends: Sequence[tuple[int, float, bool]]
    wanted: int
    optimum: float | None
    optima: tuple[float, float] | None
    successes: int
    refused: str
    exact: bool
    params: str

    @property
    def stopped(self) -> int:
        """Runs that the limit stopped."""
        return sum(stopped for *_, stopped in self.ends)

    def to_json(self) -> dict[str, Any]:
        """Plain values: what is said of the curve at its end."""
        done = bool(self.ends)
        ends = [end for end, *_ in self.ends]
        return {
            "algorithm": self.algorithm,
            "env": self.env,
            "params": self.params,
            "seeds": self.wanted,
            "runs": len(self.ends) - self.stopped,
            "stopped": self.stopped,
            "successes": self.successes,
            "trajectories": statistics.median_high(ends) if done else None,
            "value": self.median[-1] if done else None,
            "least": self.least[-1] if done else None,
            "most": self.most[-1] if done else None,
            "optimal_value": self.optimum,
            "optimal_range": self.optima,
            "exact": self.exact,
            "refused": self.refused or None,
        }


def curves_of(rows: Sequence[Row]) -> list[Curve]:
    """All curves of some rows, by environment and algorithm as they come first."""
    pairs: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        pairs.setdefault((row["env"], row["algorithm"]), []).append(row)
    environments = list(dict.fromkeys(env for env, _ in pairs))
    ordered = sorted(pairs, key=lambda pair: environments.index(pair[0]))
    return [_curve(*pair, pairs[pair]) for pair in ordered]


def _curve(env: str, algorithm: str, rows: Sequence[Row]) -> Curve:
    drawn = [row for row in rows if "curve" in row]
    steps = [(r["curve"]["trajectories"], r["curve"]["values"]) for r in drawn]
    moments = sorted({moment for moments, _ in steps for moment in moments})
    values = [
        [own[bisect_right(at, moment) - 1] for at, own in steps] for moment in moments
    ]
    optima = [float(Fraction(row["optimal_value"])) for row in drawn]
    return Curve(
        algorithm,
        env,
        moments,
        [statistics.median(v) for v in values],
        [min(v) for v in values],
        [max(v) for v in values],
        [
            (at[-1], own[-1], row["status"] == "unknown")
            for row, (at, own) in zip(drawn, steps, strict=True)
        ],
        len(rows),
        statistics.median(optima) if optima else None,
        (min(optima), max(optima)) if len(set(optima)) > 1 else None,
        sum(succeeded(r, r["epsilon"]) for r in drawn if "value" in r),
        next((r["reason"] for r in rows if r["status"] == "refused"), ""),
        all(row["exact"] for row in drawn),
        rows[0]["params"],
    )
