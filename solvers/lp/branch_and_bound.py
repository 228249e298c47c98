"""Small mixed-integer linear programs solved exactly, with a proof in arithmetic.

Floating point only suggests: a node is dropped because exact multipliers bound it by
weak duality, because an exact refutation says that it is empty, or because its linear
program, solved exactly, has an optimum with whole integer variables. So the optimum is
proved, which no MILP engine's word is. This is for models of some dozens of integer
variables.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from fractions import Fraction

from ..model.model import LinearModel
from ..outcome import LinearOutcome, Status
from .lp import LpSession, dual_bound

_SMALL_DENOMINATOR = 10**6
_NEAR_INTEGER = 1e-6


def branch_and_bound(
    model: LinearModel,
    *,
    start: Sequence[Fraction | int] | None = None,
    node_limit: int | None = None,
    time_limit: float | None = None,
) -> LinearOutcome:
    """Solve a mixed-integer linear program exactly; time is looked at between nodes."""
    for name, limit in (("node", node_limit), ("time", time_limit)):
        if limit is not None and not limit >= 0:
            raise ValueError(f"{name} limit {limit} is negative or no number")
    search = _Search(model, node_limit, time_limit)
    if start is not None:
        broken = next(iter(model.violations(start)), None)
        if broken is not None:
            raise ValueError(f"{model.name}: the start breaks {broken[0]!r}")
        search.accept([Fraction(value) for value in start])
    search.run()
    return search.outcome()


class _Search:
    """The best point so far and the nodes still open, deepest first."""

    def __init__(
        self, model: LinearModel, node_limit: int | None, time_limit: float | None
    ) -> None:
        self.model = model
        self.began = time.monotonic()
        self.node_limit = math.inf if node_limit is None else node_limit
        self.deadline = math.inf if time_limit is None else self.began + time_limit
        self.session = LpSession(model)
        self.integers = [j for j, v in enumerate(model.variables) if v.integer]
        self.best: tuple[Fraction, ...] | None = None
        self.value: Fraction | None = None
        self.nodes = 0
        self.reason = ""

    def run(self) -> None:
        variables = self.model.variables
        current = {j: (variables[j].lower, variables[j].upper) for j in self.integers}
        box = {
            j: (Fraction(math.ceil(low)), Fraction(math.floor(high)))
            for j, (low, high) in current.items()
        }
        if any(low > high for low, high in box.values()):
            return  # no whole number lies between the bounds
        bound = dual_bound(self.session.model, [0] * len(self.session.model.rows))
        open_nodes = [(box, bound)]
        while open_nodes:
            node, bound = open_nodes.pop()
            if self._beaten(bound):
                continue
            if self.nodes >= self.node_limit:
                self.reason = "node limit reached"
                return
            if time.monotonic() >= self.deadline:
                self.reason = "time limit reached"
                return
            self.nodes += 1
            for j, ends in node.items():
                if current[j] != ends:
                    self.session.set_bounds(j, *ends)
                    current[j] = ends
            open_nodes.extend(self._branches(node, bound))

    def accept(self, values: Sequence[Fraction]) -> None:
        value = self.model.objective_value(values)
        if not self._beaten(value):
            self.best, self.value = tuple(values), value

    def outcome(self) -> LinearOutcome:
        if self.best is not None:
            status = Status.FEASIBLE if self.reason else Status.OPTIMAL
        else:
            status = Status.UNKNOWN if self.reason else Status.INFEASIBLE
        return LinearOutcome(
            status,
            self.value,
            self.best,
            time.monotonic() - self.began,
            "branch-and-bound",
            bound=self.value if status is Status.OPTIMAL else None,
            nodes=self.nodes,
            exact=status is not Status.UNKNOWN,
            reason=self.reason,
        )

    def _beaten(self, bound: Fraction) -> bool:
        if self.value is None:
            return False
        return bound <= self.value if self.model.maximise else bound >= self.value

    def _branches(
        self, node: dict[int, tuple[Fraction, Fraction]], bound: Fraction
    ) -> list[tuple[dict[int, tuple[Fraction, Fraction]], Fraction]]:
        """Settle the node that is loaded (no branches) or split it in two."""
        found = self.session.solve()
        if found.multipliers is not None and found.values is not None:
            bound = self._tighter(bound, found.multipliers)
            if self._beaten(bound):
                return []
        values = found.values
        j = None if values is None else self._fractional(values)
        if j is None:  # whole, or no answer: let exact arithmetic decide
            exact = self.session.solve(exact=True)
            if exact.status is Status.INFEASIBLE:
                return []
            assert isinstance(exact.objective, Fraction)
            assert exact.values is not None
            if self._beaten(exact.objective):
                return []
            values, bound = exact.values, exact.objective
            j = self._fractional(values)
            if j is None:
                self.accept([Fraction(v) for v in values])
                return []
        assert values is not None
        floor = Fraction(math.floor(values[j]))
        low, high = node[j]
        below = {**node, j: (low, floor)}, bound
        above = {**node, j: (floor + 1, high)}, bound
        nearer_above = values[j] - floor >= Fraction(1, 2)
        return [below, above] if nearer_above else [above, below]

    def _tighter(
        self, bound: Fraction, multipliers: Sequence[Fraction | float]
    ) -> Fraction:
        """Better of a bound and those that an engine's multipliers prove.

        At a vertex multipliers are small fractions; rounded to those the bound is
        exact.
        """
        raw = [Fraction(y) for y in multipliers]
        rounded = [y.limit_denominator(_SMALL_DENOMINATOR) for y in raw]
        for candidate in (rounded, raw):
            proved = dual_bound(self.session.model, candidate)
            bound = min(bound, proved) if self.model.maximise else max(bound, proved)
            if self._beaten(bound):
                break
        return bound

    def _fractional(self, values: Sequence[Fraction | float]) -> int | None:
        """Integer variable farthest from a whole number; None if all are whole."""
        best, farthest = None, Fraction(0)
        for j in self.integers:
            value = values[j]
            exact = Fraction(value)
            distance = abs(exact - round(exact))
            near = 0 if isinstance(value, Fraction) else _NEAR_INTEGER
            if distance > near and distance > farthest:
                best, farthest = j, distance
        return best
