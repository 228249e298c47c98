"""The dual simplex method in exact arithmetic, for variables in boxes.

A row's activity is a variable too, and lies in a box as the variables do: the side that
a row leaves open is closed by what the box allows. With all bounds finite every basis
is dual feasible once its nonbasic variables sit at the bound that their reduced cost
asks for. So there is one phase: start anywhere and pivot until the basic variables are
within their bounds.

The leaving variable is the one that violates its bound most; after a pivot that does
not move the objective it is the one of least index (Bland 1977) until it moves again,
so the method ends. Each pivot solves with the basis anew: this is to confirm or repair
the basis of another engine. See Chvátal, Linear Programming (1983), chapters 8 and 10,
and Koberstein, The dual simplex method (2005), section 3.1.

A basis is mostly triangular, so a system is solved by peeling off rows with a single
entry, then columns with a single entry, each an exact division. What is left, the core,
is solved densely by FLINT.
"""

from __future__ import annotations

import math
import time
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

from ..model import LinearModel, integer_row

if TYPE_CHECKING:
    from flint import fmpz_mat

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


@dataclass(frozen=True)
class Basis:
    """Where a simplex method stands."""

    columns: tuple[int, ...] = ()  # Indices of the basic variables of the model
    # Indices of the rows whose activity is nonbasic, that is at a bound; as many as
    # `columns`. The other rows' activities are basic.
    rows: tuple[int, ...] = ()
    # upper_columns, upper_rows: which nonbasic variables and activities sit at their
    # upper bound. Only a hint: where a reduced cost is not zero its sign decides.
    upper_columns: frozenset[int] = frozenset()
    upper_rows: frozenset[int] = frozenset()


@dataclass(frozen=True)
class SimplexResult:
    """Where the method ended."""

    status: Literal["optimal", "infeasible", "limit"]  # ``"limit"``: time ran out
    values: tuple[Fraction, ...]  # a vertex that is optimal, or ()
    # One a row in its own scale: shadow prices when optimal (`duality.dual_bound`), a
    # refutation when infeasible (`duality.refutes`), else ()
    multipliers: tuple[Fraction, ...]
    basis: Basis  # The last one, fit to start from again
    pivots: int  # How many were made


def solve(
    model: LinearModel, start: Basis | None = None, *, time_limit: float | None = None
) -> SimplexResult:
    """Solve the linear relaxation of a model exactly.

    A start that is None, singular or of another shape is that of all activities basic.
    """
    deadline = None if time_limit is None else time.monotonic() + time_limit
    return _DualSimplex(BoxedProgram(model), start or Basis()).run(deadline)


_Place = tuple[bool, int]
"""A variable of the model (False, index) or a row's activity (True, index)."""


@dataclass
class _Leaving:
    """The basic variable that leaves, and how it depends on the nonbasic ones."""

    place: _Place
    sign: int  # +1 if it must grow, −1 if it must shrink
    shares: list[Fraction]  # its derivative by the activity of each tight row
    slopes: dict[int, Fraction]  # its derivative by each nonbasic variable


class _DualSimplex:
    def __init__(self, program: BoxedProgram, start: Basis) -> None:
        self.program = program
        self.pivots = 0
        self._take(start)

    def _take(self, basis: Basis) -> None:
        self.columns = list(basis.columns)
        self.rows = list(basis.rows)
        self.upper: set[_Place] = {(False, j) for j in basis.upper_columns}
        self.upper.update((True, i) for i in basis.upper_rows)

    def run(self, deadline: float | None) -> SimplexResult:
        stuck = False
        while deadline is None or time.monotonic() < deadline:
            factors = self._factorise()
            reduced = self._price(factors)
            leaving = self._choose_leaving(factors, by_index=stuck)
            entering = None
            if leaving is not None:
                entering = self._choose_entering(leaving, reduced)
            if self.program.hopeless is not None:
                row, sign = self.program.hopeless
                return self._end("infeasible", [(row, Fraction(1))], sign)
            if leaving is None:
                prices = zip(self.rows, self._prices, strict=True)
                return self._end("optimal", prices, -1 if self.program.maximise else 1)
            if entering is None:
                proof = list(zip(self.rows, leaving.shares, strict=True))
                if leaving.place[0]:
                    proof.append((leaving.place[1], Fraction(-1)))
                return self._end("infeasible", proof, leaving.sign)
            stuck = not self._reduced_cost(entering, reduced)
            self._pivot(leaving, entering)
        return self._end("limit", (), 1)

    def _end(
        self,
        status: Literal["optimal", "infeasible", "limit"],
        prices: Iterable[tuple[int, Fraction]],
        sign: int,
    ) -> SimplexResult:
        basis = Basis(
            tuple(self.columns),
            tuple(self.rows),
            frozenset(j for is_row, j in self.upper if not is_row),
            frozenset(i for is_row, i in self.upper if is_row),
        )
        values = tuple(map(Fraction, self._values)) if status == "optimal" else ()
        full = self.program.multipliers((i, sign * y) for i, y in prices)
        multipliers = () if status == "limit" else tuple(full)
        return SimplexResult(status, values, multipliers, basis, self.pivots)

    # -------------------------------------------------------- one iteration

    def _factorise(self) -> Factorisation:
        place = {j: k for k, j in enumerate(self.columns)}
        factors = None
        if len(place) == len(self.columns) == len(self.rows):
            factors = factorise(
                [
                    {place[j]: a for j, a in self.program.rows[i].items() if j in place}
                    for i in self.rows
                ]
            )
        if factors is None:
            # Only a start from outside can be singular.
            self._take(Basis())
            factors = factorise([])
            assert factors is not None
        return factors

    def _price(self, factors: Factorisation) -> dict[int, Fraction]:
        """Set prices and reduced costs, and the nonbasic variables by their sign."""
        program = self.program
        zero = Fraction(0)
        costs = [program.cost.get(j, zero) for j in self.columns]
        self._prices = factors.solve_transposed(costs)
        reduced = dict(program.cost)
        for i, price in zip(self.rows, self._prices, strict=True):
            if price:
                self._sit((True, i), price)
                for j, a in program.rows[i].items():
                    reduced[j] = reduced.get(j, zero) - price * a
        for j in self.columns:
            reduced.pop(j, None)
        for j, cost in reduced.items():
            if cost:
                self._sit((False, j), cost)
        self._find_values(factors)
        return reduced

    def _sit(self, place: _Place, reduced_cost: Fraction) -> None:
        if reduced_cost > 0:
            self.upper.discard(place)
        else:
            self.upper.add(place)

    def _find_values(self, factors: Factorisation) -> None:
        program = self.program
        values = program.lower.copy()
        for is_row, j in self.upper:
            if not is_row:
                values[j] = program.upper[j]
        for j in self.columns:
            values[j] = 0
        self._values = values
        rhs = []
        for i in self.rows:
            bound = program.high(i) if (True, i) in self.upper else program.low(i)
            rhs.append(Fraction(bound - self._activity(i)))
        for j, value in zip(self.columns, factors.solve(rhs), strict=True):
            values[j] = plain(value)

    def _activity(self, i: int) -> Plain:
        values = self._values
        return sum([a * values[j] for j, a in self.program.rows[i].items()])

    def _violations(self) -> Iterator[tuple[_Place, Plain]]:
        """Yield each basic variable outside its bounds and the way back."""
        program = self.program
        for j in sorted(self.columns):
            value = self._values[j]
            if value < program.lower[j]:
                yield (False, j), program.lower[j] - value
            elif value > program.upper[j]:
                yield (False, j), program.upper[j] - value
        tight = set(self.rows)
        for i in range(len(program.rows)):
            if i not in tight:
                way = program.way_back(i, self._activity(i))
                if way:
                    yield (True, i), way

    def _choose_leaving(
        self, factors: Factorisation, *, by_index: bool
    ) -> _Leaving | None:
        if by_index:
            found = next(self._violations(), None)
        else:
            found = max(
                self._violations(), key=lambda v: max(v[1], -v[1]), default=None
            )
        if found is None:
            return None
        (is_row, index), way = found
        program = self.program
        own = program.rows[index] if is_row else {index: 1}
        unit = [Fraction(own.get(j, 0)) for j in self.columns]
        shares = factors.solve_transposed(unit)
        slopes = {j: Fraction(a) for j, a in own.items()} if is_row else {}
        for i, share in zip(self.rows, shares, strict=True):
            if share:
                for j, a in program.rows[i].items():
                    slopes[j] = slopes.get(j, 0) - share * a
        for j in self.columns:
            slopes.pop(j, None)
        return _Leaving((is_row, index), 1 if way > 0 else -1, shares, slopes)

    def _choose_entering(
        self, leaving: _Leaving, reduced: dict[int, Fraction]
    ) -> _Place | None:
        """Take the nonbasic variable that keeps all reduced costs right."""
        program = self.program
        best: tuple[Fraction, _Place] | None = None
        moves: list[tuple[_Place, Fraction]] = [
            ((False, j), slope)
            for j, slope in leaving.slopes.items()
            if program.lower[j] < program.upper[j]
        ]
        moves += [
            ((True, i), share)
            for i, share in zip(self.rows, leaving.shares, strict=True)
            if program.low(i) < program.high(i)
        ]
        for place, slope in moves:
            if slope and (leaving.sign * slope < 0) == (place in self.upper):
                ratio = abs(self._reduced_cost(place, reduced) / slope)
                if best is None or (ratio, place) < best:
                    best = ratio, place
        return None if best is None else best[1]

    def _reduced_cost(self, place: _Place, reduced: dict[int, Fraction]) -> Fraction:
        is_row, index = place
        if is_row:
            return self._prices[self.rows.index(index)]
        return reduced.get(index, Fraction(0))

    def _pivot(self, leaving: _Leaving, entering: _Place) -> None:
        self.pivots += 1
        is_row, index = entering
        if is_row:
            self.rows.remove(index)
        else:
            self.columns.append(index)
        self.upper.discard(entering)
        is_row, index = leaving.place
        if is_row:
            self.rows.append(index)
        else:
            self.columns.remove(index)
        if leaving.sign < 0:
            self.upper.add(leaving.place)
        else:
            self.upper.discard(leaving.place)


_PRIME = 2**31 - 1


def factorise(rows: Sequence[Mapping[int, int]]) -> Factorisation | None:
    """Prepare the solution of ``M x = b`` and ``Mᵀ y = c``."""
    lower = _peel(rows, range(len(rows)))
    done_rows = {r for r, _ in lower}
    rest = [r for r in range(len(rows)) if r not in done_rows]
    done_columns = {c for _, c in lower}
    columns: list[dict[int, int]] = [{} for _ in rows]
    for r in rest:
        for c, entry in rows[r].items():
            if c not in done_columns:
                columns[c][r] = entry
    upper = [
        (r, c)
        for c, r in _peel(
            columns, [c for c in range(len(rows)) if c not in done_columns]
        )
    ]
    done_rows.update(r for r, _ in upper)
    done_columns.update(c for _, c in upper)
    core_rows = [r for r in rest if r not in done_rows]
    core_columns = [c for c in range(len(rows)) if c not in done_columns]
    dense = [[rows[r].get(c, 0) for c in core_columns] for r in core_rows]
    core, size = None, len(dense)
    if size:
        from flint import fmpz_mat, nmod_mat  # takes a twentieth of a start

        core = fmpz_mat(size, size, [entry for row in dense for entry in row])
        # Modulo a prime the rank is quickly found, and never too great.
        if nmod_mat(core, _PRIME).rank() < size and core.rank() < size:
            return None
    return Factorisation(rows, lower, upper, core_rows, core_columns, core)


def _solved(matrix: fmpz_mat | None, rhs: Sequence[Fraction]) -> list[Fraction]:
    """Solve a dense nonsingular system; None is that without an equation."""
    if matrix is None:
        return []
    scale = math.lcm(*(v.denominator for v in rhs))
    whole = [v.numerator * (scale // v.denominator) for v in rhs]
    found = matrix.solve(type(matrix)(len(whole), 1, whole)).entries()
    return [Fraction(int(q.p), int(q.q) * scale) for q in found]


def _peel(
    rows: Sequence[Mapping[int, int]], among: Sequence[int]
) -> list[tuple[int, int]]:
    """Take out rows with one entry left, with its column, until there are none."""
    where: dict[int, list[int]] = {}
    for r in among:
        for c in rows[r]:
            where.setdefault(c, []).append(r)
    left = {r: len(rows[r]) for r in among}
    ready = [r for r in among if left[r] == 1]
    gone: set[int] = set()
    order: list[tuple[int, int]] = []
    while ready:
        row = ready.pop()
        column = next((c for c in rows[row] if c not in gone), None)
        if column is None:  # two rows with the same single entry: singular
            continue
        gone.add(column)
        order.append((row, column))
        for r in where[column]:
            left[r] -= 1
            if left[r] == 1:
                ready.append(r)
    return order


@dataclass(frozen=True)
class Factorisation:
    """A nonsingular square matrix, ready to be solved with; see `factorise`.

    In the order lower, core, upper (reversed) it is block lower triangular: a row has
    entries in its own and earlier blocks.
    """

    rows: Sequence[Mapping[int, int]]
    lower: list[tuple[int, int]]
    upper: list[tuple[int, int]]
    core_rows: list[int]
    core_columns: list[int]
    core: fmpz_mat | None

    def solve(self, rhs: Sequence[Fraction]) -> list[Fraction]:
        """Solve ``M x = rhs`` exactly."""
        x = [Fraction(0)] * len(self.rows)

        def rest(r: int, pivot: int | None) -> Fraction:
            total = rhs[r]
            for c, entry in self.rows[r].items():
                if c != pivot and x[c]:
                    total -= entry * x[c]
            return total

        for r, c in self.lower:
            x[c] = rest(r, c) / self.rows[r][c]
        part = _solved(self.core, [rest(r, None) for r in self.core_rows])
        for c, value in zip(self.core_columns, part, strict=True):
            x[c] = value
        for r, c in reversed(self.upper):
            x[c] = rest(r, c) / self.rows[r][c]
        return x

    def solve_transposed(self, rhs: Sequence[Fraction]) -> list[Fraction]:
        """Solve ``Mᵀ y = rhs`` exactly."""
        y = [Fraction(0)] * len(self.rows)
        left = list(rhs)
        lower, everything = {c for _, c in self.lower}, range(len(rhs))

        def settle(r: int, value: Fraction, only: Container[int]) -> None:
            y[r] = value
            if value:
                for c, entry in self.rows[r].items():
                    if c in only:
                        left[c] -= entry * value

        for r, c in self.upper:
            settle(r, left[c] / self.rows[r][c], everything)
        goal = [left[c] for c in self.core_columns]
        turned = None if self.core is None else self.core.transpose()
        part = _solved(turned, goal)
        for r, value in zip(self.core_rows, part, strict=True):
            settle(r, value, lower)
        for r, c in reversed(self.lower):
            settle(r, left[c] / self.rows[r][c], lower)
        return y
