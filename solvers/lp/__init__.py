"""Linear programs by HiGHS, their exact confirmation, and small exact MILPs.

HiGHS works in floating point with tolerances of 1e-9. With ``exact=True`` its last
basis is solved again in fractions, pivoted on where it is not optimal after all, and
the outcome is believed only because a certificate says so: a feasible point and
multipliers whose bound equals its value (`dual_bound`), or multipliers that refute the
program (`refutes`). For many related programs keep an `LpSession`, which starts from
the last basis.

Every variable of a `LinearModel` has finite bounds, so any vector of row multipliers y
gives a bound on the optimum, exact and without a solver: for a maximisation of c·x + k,
and y of the right signs,

    c·x + k  =  (c − Aᵀy)·x + y·Ax + k  ≤  Σ_j max over the box + y·b + k.

When maximising, multipliers are ≥ 0 for ``<=`` and ≤ 0 for ``>=`` (the other way round
when minimising); one of the wrong sign counts as 0. A model is infeasible exactly if
some multipliers give the maximum of 0 a negative bound (Farkas' lemma).

`branch_and_bound` is for models of some dozens of integer variables. Floating point
only suggests: a node is dropped because exact multipliers bound it, because an exact
refutation says that it is empty, or because its linear program, solved exactly, has an
optimum with whole integer variables. So the optimum is proved, which no MILP engine's
word is.
"""

from __future__ import annotations

import math
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from ..model import LinearModel, Number, Row, Sense, Variable
from ..outcome import LinearOutcome, Status, check_limit
from . import highs as engine
from . import simplex


def solve_lp(
    model: LinearModel, *, exact: bool = False, time_limit: float | None = None
) -> LinearOutcome:
    """Solve the linear relaxation of a model, in this process.

    `time_limit`: wall seconds, looked at between iterations and exact pivots.
    """
    return LpSession(model).solve(exact=exact, time_limit=time_limit)


class LpSession:
    """A linear program that changes and is solved again, from its last basis.

    It changes by its methods only. Removing rows moves the later ones up.
    """

    def __init__(self, model: LinearModel) -> None:
        self.model = replace(
            model,
            variables=[
                Variable(v.name, v.lower, v.upper, False) if v.integer else v
                for v in model.variables
            ],
            rows=list(model.rows),
            objective=dict(model.objective),
        )
        self._highs = engine.new_highs()
        self._scales = engine.load(self._highs, self.model)

    def add_row(
        self,
        indices: Sequence[int],
        coefficients: Sequence[Number],
        sense: Sense,
        rhs: Number,
        name: str = "",
    ) -> int:
        """Add a constraint and return its index; see `LinearModel.add_row`."""
        index = self.model.add_row(indices, coefficients, sense, rhs, name)
        row = self.model.rows[index]
        coefs, low, high, scale = engine.float_row(row)
        columns = np.array(row.indices, dtype=np.int32)
        engine.demand(self._highs.addRow(low, high, len(columns), columns, coefs))
        self._scales.append(scale)
        return index

    def replace_row(
        self,
        index: int,
        indices: Sequence[int],
        coefficients: Sequence[Number],
        sense: Sense,
        rhs: Number,
    ) -> None:
        """Give the row with this index another content; its name stays."""
        old = self.model.rows[index]
        self.model.add_row(indices, coefficients, sense, rhs, old.name)
        row = self.model.rows[index] = self.model.rows.pop()
        coefs, low, high, scale = engine.float_row(row)
        fresh = dict(zip(row.indices, coefs.tolist(), strict=True))
        for j in {**dict.fromkeys(old.indices), **fresh}:
            engine.demand(self._highs.changeCoeff(index, j, fresh.get(j, 0.0)))
        engine.demand(self._highs.changeRowBounds(index, low, high))
        self._scales[index] = scale

    def remove_rows(self, indices: Collection[int]) -> None:
        """Remove the rows with these indices; the later ones move up."""
        gone = set(indices)
        if not gone <= set(range(len(self.model.rows))):
            raise ValueError(f"no such rows: {sorted(gone)} of {len(self.model.rows)}")
        where = np.array(sorted(gone), dtype=np.int32)
        engine.demand(self._highs.deleteRows(len(where), where))
        kept = [i for i in range(len(self.model.rows)) if i not in gone]
        self.model.rows = [self.model.rows[i] for i in kept]
        self._scales = [self._scales[i] for i in kept]

    def set_bounds(self, index: int, lower: Number, upper: Number) -> None:
        """Change the bounds of a variable."""
        lo, hi = Fraction(lower), Fraction(upper)
        variable = self.model.variables[index]
        if lo > hi:
            raise ValueError(
                f"variable {variable.name!r}: lower bound {lo} above upper {hi}"
            )
        self.model.variables[index] = replace(variable, lower=lo, upper=hi)
        engine.demand(self._highs.changeColBounds(index, float(lo), float(hi)))

    def set_objective(
        self,
        indices: Sequence[int],
        coefficients: Sequence[Number],
        *,
        maximise: bool,
        constant: Number = 0,
    ) -> None:
        """Set the objective, replacing the earlier one."""
        self.model.set_objective(
            indices, coefficients, maximise=maximise, constant=constant
        )
        size = len(self.model.variables)
        engine.demand(
            self._highs.changeColsCost(
                size, np.arange(size, dtype=np.int32), engine.costs_of(self.model)
            )
        )

    def solve(
        self, *, exact: bool = False, time_limit: float | None = None
    ) -> LinearOutcome:
        """Solve the program as it stands; see `solve_lp`."""
        start = time.monotonic()
        check_limit(time_limit)
        deadline = np.inf if time_limit is None else start + time_limit
        if not self.model.variables:
            # HiGHS has no verdict on rows without variables.
            outcome = self._confirm(None, deadline)
            outcome = outcome if exact else _in_floats(outcome)
        elif exact:
            outcome = self._confirm(self._propose(deadline), deadline)
        else:
            outcome = self._read(self._run(deadline))
        return outcome._replace(seconds=time.monotonic() - start)

    # ------------------------------------------------------------- engines

    def _run(self, deadline: float) -> Status:
        # The clock of a HiGHS object goes on from run to run.
        left = max(0.0, deadline - time.monotonic())
        engine.set_options(self._highs, time_limit=self._highs.getRunTime() + left)
        return engine.run(self._highs)

    def _propose(self, deadline: float) -> simplex.Basis | None:
        self._run(deadline)
        basis = engine.basis_of(self._highs)
        if basis is None:  # presolve refuted the program
            engine.set_options(self._highs, presolve="off")
            self._run(deadline)
            engine.set_options(self._highs, presolve="choose")
            basis = engine.basis_of(self._highs)
        return basis

    def _read(self, status: Status) -> LinearOutcome:
        if status not in (Status.OPTIMAL, Status.FEASIBLE):
            reason = "" if status is not Status.UNKNOWN else engine.verdict(self._highs)
            return LinearOutcome(status, engine="highs", reason=reason)
        solution = self._highs.getSolution()
        values = tuple(map(float, solution.col_value))
        sign = -1 if self.model.maximise else 1
        prices = (
            sign * price * scale
            for price, scale in zip(solution.row_dual, self._scales, strict=True)
        )
        objective = float(self.model.objective_constant) + sum(
            float(c) * values[j] for j, c in self.model.objective.items()
        )
        return LinearOutcome(
            status,
            objective,
            values,
            0.0,
            "highs",
            bound=objective if status is Status.OPTIMAL else None,
            multipliers=tuple(prices) if solution.dual_valid else None,
        )

    def _confirm(self, basis: simplex.Basis | None, deadline: float) -> LinearOutcome:
        left = max(0.0, deadline - time.monotonic())
        found = simplex.solve(self.model, basis, time_limit=left)
        if found.status == "limit":
            reason = "time limit reached"
            return LinearOutcome(Status.UNKNOWN, engine="highs", reason=reason)
        if found.status == "infeasible":
            if not refutes(self.model, found.multipliers):
                raise AssertionError(f"{self.model.name}: refutation fails its check")
            proof = found.multipliers
            return LinearOutcome(
                Status.INFEASIBLE, engine="highs", exact=True, multipliers=proof
            )
        objective = self.model.objective_value(found.values)
        bound = dual_bound(self.model, found.multipliers)
        if not self.model.is_feasible(found.values) or bound != objective:
            raise AssertionError(f"{self.model.name}: optimum fails its check")
        return LinearOutcome(
            Status.OPTIMAL,
            objective,
            found.values,
            0.0,
            "highs",
            bound=bound,
            exact=True,
            multipliers=found.multipliers,
        )


def _in_floats(outcome: LinearOutcome) -> LinearOutcome:
    if outcome.status is not Status.OPTIMAL:
        return outcome._replace(multipliers=None, exact=False)
    assert outcome.objective is not None
    objective = float(outcome.objective)
    return outcome._replace(
        objective=objective, bound=objective, multipliers=None, exact=False
    )


def dual_bound(
    model: LinearModel, multipliers: Sequence[Fraction | int | float]
) -> Fraction:
    """Bound the optimum of the linear relaxation by weak duality, exactly."""
    return _bound(
        model, model.objective, model.objective_constant, model.maximise, multipliers
    )


def refutes(model: LinearModel, multipliers: Sequence[Fraction | int | float]) -> bool:
    """Whether multipliers prove that no point meets the bounds and rows.

    The signs are those of a maximisation, whatever the model's sense is.
    """
    return _bound(model, {}, Fraction(0), True, multipliers) < 0


def _bound(
    model: LinearModel,
    objective: Mapping[int, Fraction],
    constant: Fraction,
    maximise: bool,
    multipliers: Sequence[Fraction | int | float],
) -> Fraction:
    if len(multipliers) != len(model.rows):
        raise ValueError(
            f"{len(multipliers)} multipliers for {len(model.rows)} rows of {model.name}"
        )
    priced = []
    for row, given in zip(model.rows, multipliers, strict=True):
        if not given:
            continue
        try:
            multiplier = Fraction(given)
        except (ValueError, OverflowError) as exc:
            problem = f"row {row.name!r}: multiplier {given} is not finite"
            raise ValueError(problem) from exc
        if _has_right_sign(row, multiplier, maximise):
            priced.append((row, multiplier.as_integer_ratio()))
    # In units of 1/unit most numbers are whole, and integers are much faster.
    unit = math.lcm(*{denominator for _, (_, denominator) in priced})
    reduced = {i: unit * _plain(cost) for i, cost in objective.items()}
    bound = unit * _plain(constant)
    for row, (numerator, denominator) in priced:
        price = numerator * (unit // denominator)
        bound += price * _plain(row.rhs)
        for i, coefficient in zip(row.indices, row.coefficients, strict=True):
            reduced[i] = reduced.get(i, 0) - price * _plain(coefficient)
    for i, cost in reduced.items():
        variable = model.variables[i]
        best = variable.upper if (cost > 0) == maximise else variable.lower
        bound += cost * _plain(best)
    return Fraction(bound) / unit


def _plain(number: Fraction) -> Fraction | int:
    return number.numerator if number.denominator == 1 else number


def _has_right_sign(row: Row, multiplier: Fraction, maximise: bool) -> bool:
    if row.sense == "==":
        return True
    return (multiplier > 0) == (maximise == (row.sense == "<="))


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
    check_limit(node_limit, "node limit")
    check_limit(time_limit)
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
