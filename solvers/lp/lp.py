"""Linear programs by HiGHS, and their exact confirmation.

HiGHS works in floating point with tolerances of 1e-9. With ``exact=True`` its last
basis is solved again in fractions, pivoted on where it is not optimal after all, and
the outcome is believed only because a certificate says so
(`olivine.solvers.lp.duality`): a feasible point and multipliers whose bound equals its
value, or multipliers that refute the program. For many related programs keep an
`LpSession`, which starts from the last basis.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from ..model.model import LinearModel, Number, Sense, Variable
from ..outcome import LinearOutcome, Status
from . import highs as engine
from . import simplex
from .duality import dual_bound, refutes

__all__ = ["LpSession", "dual_bound", "refutes", "solve_lp"]


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
        if time_limit is not None and not time_limit >= 0:
            raise ValueError(f"time limit {time_limit} is negative or no number")
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
