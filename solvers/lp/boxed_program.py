"""A linear program in boxes, as the exact simplex method works on it.

Rows are integers, maximisation is minimisation of the negative, and a side that
a row leaves open is closed by what the box of the variables allows.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from ..model.model import LinearModel, Row, integer_row

Plain = Fraction | int
"""A rational that is an `int` where it is whole, which is much faster."""


def plain(value: Plain) -> Plain:
    """Make an `int` of a rational that is whole."""
    return value.numerator if value.denominator == 1 else value


class BoxedProgram:
    """Minimise cost·x with lower ≤ x ≤ upper and low ≤ Ax ≤ high, A integer."""

    def __init__(self, model: LinearModel) -> None:
        self.maximise = model.maximise
        self._given = model.rows
        self.lower = [plain(v.lower) for v in model.variables]
        self.upper = [plain(v.upper) for v in model.variables]
        sign = -1 if model.maximise else 1
        self.cost = {j: sign * c for j, c in model.objective.items()}
        self.rows: list[dict[int, int]] = []
        # None for a side that the row leaves open, until it is asked for.
        self._low: list[Plain | None] = []
        self._high: list[Plain | None] = []
        self.hopeless: tuple[int, int] | None = None
        """A row that the box alone refutes, and the sign of its multiplier."""
        for row in model.rows:
            self._add(row)

    def _add(self, row: Row) -> None:
        ints, rhs = integer_row(row)
        self.rows.append(dict(zip(row.indices, ints, strict=True)))
        self._low.append(None if row.sense == "<=" else rhs)
        self._high.append(None if row.sense == ">=" else rhs)

    def low(self, i: int) -> Plain:
        """Least activity of a row; where it leaves that open, what the box allows."""
        low = self._low[i]
        if low is None:
            low = self._low[i] = self._reach(i, self.lower, self.upper)
            if low > self.high(i):
                self.hopeless = i, 1
        return low

    def high(self, i: int) -> Plain:
        """Greatest activity of a row, likewise."""
        high = self._high[i]
        if high is None:
            high = self._high[i] = self._reach(i, self.upper, self.lower)
            if high < self.low(i):
                self.hopeless = i, -1
        return high

    def way_back(self, i: int, activity: Plain) -> Plain:
        """Signed distance of an activity that the box allows from its bounds."""
        low, high = self._low[i], self._high[i]
        if low is not None and activity < low:
            return low - activity
        if high is not None and activity > high:
            return high - activity
        return 0

    def _reach(self, i: int, positive: list[Plain], negative: list[Plain]) -> Plain:
        entries = self.rows[i].items()
        return sum([a * (positive if a > 0 else negative)[j] for j, a in entries])

    def multipliers(self, scaled: Iterable[tuple[int, Fraction]]) -> list[Fraction]:
        """Turn multipliers of integer rows into those of the model's rows."""
        full = [Fraction(0)] * len(self.rows)
        for i, multiplier in scaled:
            row = self._given[i]
            if multiplier and row.indices:
                multiplier *= self.rows[i][row.indices[0]] / row.coefficients[0]
            full[i] = multiplier
        return full
