"""What rows say together, as tables: phases of formulas, curves and comparisons."""

from __future__ import annotations

import statistics
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from ..common.output import print_json, print_table, tell
from .units import Row, succeeded


@dataclass(frozen=True)
class Phase:
    """The formulas of one size in one variant."""

    variant: str  # Of the family
    variables: int  # Of each formula as read
    clauses: int
    formulas: int  # Their number, bad files not counted
    satisfiable: int
    unsatisfiable: int  # The others are undecided
    optima: Sequence[Fraction]  # Of those whose optimum is proved, ascending
    seconds: Mapping[str, float]  # Median of each route, where it has an answer
    unfinished: Mapping[str, int]  # Formulas where a route has none, by route
    ways: Mapping[str, float]  # `seconds`, by MILP formulation and MaxSAT engine

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
        if row["variables"]:
            size = row["variant"], row["variables"], row["clauses"]
            groups.setdefault(size, []).append(row)
    return [_phase(size, groups[size]) for size in sorted(groups)]


def _phase(size: tuple[str, int, int], rows: Sequence[Row]) -> Phase:
    times: dict[str, list[float]] = {}
    ways: dict[str, list[float]] = {}
    unfinished: dict[str, int] = {}
    for row in rows:
        for name, found in row["routes"].items():
            done = found["status"] not in ("unknown", "error")
            unfinished[name] = unfinished.get(name, 0) + (not done)
            if done:
                way = found.get("formulation") or found.get("engine")
                for kind, key in (
                    (times, name),
                    (ways, f"{name}, {way}" if way else name),
                ):
                    kind.setdefault(key, []).append(found["seconds"])
    verdicts = [row["satisfiable"] for row in rows]
    return Phase(
        *size,
        formulas=len(rows),
        satisfiable=verdicts.count(True),
        unsatisfiable=verdicts.count(False),
        optima=sorted(Fraction(r["optimum"]) for r in rows if r["optimum"] is not None),
        seconds={name: statistics.median(found) for name, found in times.items()},
        unfinished={name: count for name, count in unfinished.items() if count},
        ways={name: statistics.median(found) for name, found in ways.items()},
    )


@dataclass(frozen=True)
class Curve:
    """One algorithm on one environment, over its seeds."""

    algorithm: str
    env: str
    trajectories: Sequence[int]  # Where a value changes or a run ends, ascending
    median: Sequence[float]  # Over the runs, from each of `trajectories` on
    least: Sequence[float]
    most: Sequence[float]
    ends: Sequence[tuple[int, float, bool]]  # Trajectories, value, if stopped
    wanted: int  # Runs; those without a curve were refused or never started
    optimum: float | None  # Median of V*
    optima: tuple[float, float] | None  # Its range where seeds differ in it
    successes: int  # Runs that ended with "success" within ε of V*
    refused: str  # Why the algorithm does not take the task, or ""
    exact: bool  # Whether values are exact; else they are estimated
    params: str  # Kind of the constants
    error: float | None = None  # Largest standard error of a value that is estimated
    gaps: Curve | None = None  # Of V^π − V*, where seeds differ in V*

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
            "standard_error": self.error,
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
    known = [r["optimal_value"] for r in drawn if r["optimal_value"] is not None]
    optima = [float(Fraction(value)) for value in known]
    errors = [e for r in drawn for e in r["curve"].get("standard_errors", ())]
    stopped = [row["status"] == "unknown" for row in drawn]
    curve = Curve(
        algorithm,
        env,
        *_over_runs(steps, stopped),
        len(rows),
        statistics.median(optima) if optima else None,
        None,
        sum(succeeded(r, r["epsilon"]) for r in drawn if "value" in r),
        next((r["reason"] for r in rows if r["status"] == "refused"), ""),
        all(row["exact"] for row in drawn),
        rows[0]["params"],
        max(errors, default=None),
    )
    if len(set(optima)) < 2 or len(optima) < len(drawn):
        return curve
    below = [
        (at, [value - best for value in own])
        for (at, own), best in zip(steps, optima, strict=True)
    ]
    _, median, least, most, ends = _over_runs(below, stopped)
    gaps = replace(curve, median=median, least=least, most=most, ends=ends, optimum=0.0)
    return replace(curve, optima=(min(optima), max(optima)), gaps=gaps)


_Ends = list[tuple[int, float, bool]]


def _over_runs(
    steps: Sequence[tuple[Sequence[int], Sequence[float]]], stopped: Sequence[bool]
) -> tuple[list[int], list[float], list[float], list[float], _Ends]:
    """Moments; median, least and most of all runs from each on; each run's end."""
    moments = sorted({moment for at, _ in steps for moment in at})
    values = [
        [own[bisect_right(at, moment) - 1] for at, own in steps] for moment in moments
    ]
    return (
        moments,
        [statistics.median(v) for v in values],
        [min(v) for v in values],
        [max(v) for v in values],
        [(at[-1], own[-1], cut) for (at, own), cut in zip(steps, stopped, strict=True)],
    )


def show(kind: str, rows: Sequence[Row], json_lines: bool) -> None:
    """Sum rows up: objects on lines, or a table."""
    found = curves_of(rows) if kind == "learning" else phases_of(rows)
    groups = [group.to_json() for group in found]
    if json_lines:
        for group in groups:
            print_json(group)
    elif kind == "learning":
        show_curves(groups)
    elif groups:
        _show_phases(groups)


def show_curves(groups: Sequence[dict[str, Any]]) -> None:
    """Print a row for each algorithm on each environment."""
    header = "environment", "algorithm", "constants", "ε-optimal", "trajectories"
    print_table(
        (*header, "V^π: median", "range", "V*"),
        [
            (
                group["env"],
                group["algorithm"],
                group["params"],
                _score(group),
                _number(group["trajectories"], ".3g"),
                _number(group["value"], ".4g") + _error(group["standard_error"]),
                _ends(group["least"], group["most"]),
                _number(group["optimal_value"], ".4g") + _span(group["optimal_range"]),
            )
            for group in groups
        ],
        spare=("constants", "V*"),
    )
    for group in groups:
        if group["refused"]:
            tell(f"{group['algorithm']}: {group['refused']}")


def _ends(least: float | None, most: float | None) -> str:
    return "" if least is None else f"{least:.4g} to {most:.4g}"


def _error(value: float | None) -> str:
    return f" ± {value:.1g}" if value else ""


def _span(ends: tuple[float, float] | None) -> str:
    return "" if ends is None else f" ({_ends(*ends)})"


def _score(group: dict[str, Any]) -> str:
    if group["refused"]:
        return "refused"
    stopped = f", {group['stopped']} stopped" if group["stopped"] else ""
    lost = group["seeds"] - group["runs"] - group["stopped"]
    more = f", {lost} without a curve" if lost else ""
    if group["optimal_value"] is None:
        return f"V* unknown, {group['runs']} ended{stopped}{more}"
    return f"{group['successes']} of {group['seeds']}{stopped}{more}"


def _number(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)


def _show_phases(groups: Sequence[dict[str, Any]]) -> None:
    routes = list(dict.fromkeys(name for group in groups for name in group["seconds"]))
    header = "variant", "variables", "clauses", "ratio", "satisfiable"
    print_table(
        (*header, "optimum: median", "least", *(f"{route} (s)" for route in routes)),
        [
            (
                group["variant"],
                str(group["variables"]),
                str(group["clauses"]),
                f"{group['ratio']:.3g}",
                f"{group['satisfiable']} of {group['formulas']}"
                + (f", {group['undecided']} undecided" if group["undecided"] else ""),
                group["optimum"]["median"] or "",
                group["optimum"]["least"] or "",
                *(_number(group["seconds"].get(route), ".3g") for route in routes),
            )
            for group in groups
        ],
        spare=("least", "clauses"),
    )


def show_comparison(records: Sequence[Mapping[str, Any]]) -> None:
    """Print one table for each environment, and below what was refused."""
    for env in dict.fromkeys(record["env"] for record in records):
        own = [record for record in records if record["env"] == env]
        tell(str(env))
        print_table(
            (
                "algorithm",
                "constants, classes",
                "ε-optimal",
                "trajectories",
                "calls",
                "V* − V^π",
                "seconds",
            ),
            [comparison_row(record) for record in own if record["refused"] is None],
            spare=("constants, classes", "calls", "seconds"),
        )
        for line in remarks(own):
            tell(f"  {line}")
        tell()


def remarks(records: Sequence[Mapping[str, Any]]) -> list[str]:
    """Say what was refused and what is missing, each reason once."""
    found: dict[str, list[str]] = {}
    for record in records:
        name = record["algorithm"]
        for reason in (record["refused"], record["left"]):
            if reason:
                found.setdefault(reason.removeprefix(f"{name}: "), []).append(name)
        if record["timeouts"]:
            late = f"runs stopped by the limit of CPU time: {record['timeouts']}"
            if record["runs"]:
                late += "; what else stands there is of the runs that ended"
            found.setdefault(late, []).append(name)
    return [f"{', '.join(names)}: {reason}" for reason, names in found.items()]


def comparison_row(record: Mapping[str, Any]) -> list[str]:
    """Give a record's row in a table."""
    counts = dict(record["calls"]) | {"functions": record["enumerated"]}
    calls = ", ".join(f"{n:.3g} {kind}" for kind, n in counts.items() if n)
    trajectories, gap = record["trajectories"], record["suboptimality"]
    lost = "" if gap is None else f"{gap:.3g} (≤ {record['worst']:.3g})"
    if record.get("value") is not None:
        lost = f"unknown; V^π ≈ {record['value']:.3g}"
    return [
        str(record["algorithm"]),
        f"{record['params']}, {record['classes']}",
        score(record),
        "" if trajectories is None else f"{trajectories:.2e}",
        calls,
        lost,
        "" if record["seconds"] is None else f"{record['seconds']:.3g}",
    ]


def score(record: Mapping[str, Any]) -> str:
    """Say how many runs of a cell end ε-optimal, of all seeds that were wanted.

    >>> score({"successes": 1, "seeds": 5, "runs": 1, "timeouts": 3})
    '1 of 5, 3 stopped, 1 not begun'
    """
    stopped = record["timeouts"]
    counts = {
        "stopped": stopped,
        "not begun": record["seeds"] - record["runs"] - stopped,
    }
    missing = [f"{count} {what}" for what, count in counts.items() if count]
    if record.get("value") is not None:
        return ", ".join([f"V* unknown, {record['runs']} ended", *missing])
    return ", ".join([f"{record['successes']} of {record['seeds']}", *missing])
