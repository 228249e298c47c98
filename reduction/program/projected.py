"""Everything but the assignment projected out: `projected`.

By the vertex lemma (docs/formulations.md) truth values x_i in {0, 1} say it all. With
integral y_j = 3 (top - g(C_j)) / top, which is 1 for an unsatisfied clause,

    maximise   best - sum_j reach top w_j / (3 W) y_j - p z
    subject to y_j + z + (sum of the distinct literals of C_j) >= 1,

where z = 1 says that s0 takes [try C_j] for some clause instead of [solve]: a literal
that satisfies every clause, at the cost of the penalty. A tautology has no y_j. No z is
needed where [try C_j] cannot be strictly better, that is, where reach top u / (3 W) <=
p: if reach top / 6 <= p, as u <= W / 2; else a short local search looks for an
assignment that shows it. What is left is plain MaxSAT.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...algorithms.olive_program.program import Form
from ...solvers.model import LinearModel
from ...solvers.model.large import LargeModel, Numbered, Rows, offsets
from ..family.family import Family, as_assignment
from ..formula.local_search import is_out_of_reach, least_by_trying, walksat
from .optimum import step
from .reduction_model import ReductionModel, Values, clause_weights

_FLIPS = 10_000


def projected(family: Family, form: Form = "value-policy") -> ProjectedModel:
    """Project OLIVE's program (tolerance 0, values in their ranges)."""
    model = LargeModel(f"projected, {family.variant}")
    n, variables = family.n_variables, model.variables
    binary = variables.kind_of(Fraction(0), Fraction(1), True)
    truth = variables.add_copies([binary], ("x%d",), n)
    literals = np.take_along_axis(
        family.clauses, np.abs(family.clauses).argsort(axis=1, kind="stable"), axis=1
    )
    repeats = np.diff(np.abs(literals), axis=1, prepend=0) == 0
    differs = np.diff(literals, axis=1, prepend=0) != 0
    (open_clauses,) = np.nonzero(~(repeats & differs).any(axis=1))
    weights = clause_weights(family)
    loss = step(family.parameters)
    minus = {w: -loss * w for w in set(weights)}
    trying = None
    total = loss * sum(weights[j] for j in open_clauses.tolist())
    if total > 2 * family.penalty and not _solve_wins(family):
        trying = model.add_variable("try a clause", 0, 1, integer=True)
    numbers = open_clauses + 1
    codes = np.full(len(numbers), binary)
    first = variables.add(codes, Numbered(("y(C%d)",), numbers))
    _add_clauses(model, literals, repeats, open_clauses, truth, trying)
    missing = dict(
        zip(open_clauses.tolist(), range(first, len(variables)), strict=True)
    )
    losing, losses = list(missing.values()), [minus[weights[j]] for j in missing]
    if trying is not None:
        losing.append(trying)
        losses.append(-family.penalty)
    model.set_objective(losing, losses, maximise=True, constant=family.parameters.best)
    return ProjectedModel(
        family, "projected", form, model, range(truth, truth + n), missing, trying
    )


def _add_clauses(
    model: LargeModel,
    literals: NDArray[np.int32],
    repeats: NDArray[np.bool_],
    open_clauses: NDArray[np.int64],
    truth: int,
    trying: int | None,
) -> None:
    """Add the row of each clause that is no tautology; last come the variables y_j."""
    k, own = len(open_clauses), literals[open_clauses]
    columns = [np.arange(len(model.variables) - k, len(model.variables))]
    if trying is not None:
        columns.append(np.full(k, trying))
    helpers = len(columns)
    variables = np.column_stack([*columns, np.abs(own) + (truth - 1)])
    negated = np.zeros(variables.shape, dtype=np.uint8)
    negated[:, helpers:] = own < 0
    used = np.ones(variables.shape, dtype=np.bool_)
    used[:, helpers:] = ~repeats[open_clauses]
    model.rows.add(
        Rows(
            offsets(used.sum(axis=1)),
            variables[used].astype(np.int32),
            negated[used],
            [Fraction(1), Fraction(-1)],
            (negated & used).sum(axis=1),
            [(">=", Fraction(1 - count)) for count in range(4)],
            Numbered(("C%d",), open_clauses + 1),
        )
    )


def _solve_wins(family: Family) -> bool:
    """Whether an assignment is found for which no [try C_j] beats [solve]."""
    harmless = int(family.penalty / step(family.parameters))
    three_sat, rng = family.three_sat, np.random.default_rng
    if least_by_trying(three_sat) > harmless:
        return False
    if is_out_of_reach(three_sat, rng(0), harmless, _FLIPS):
        return False
    search = walksat(three_sat, rng(0), target=harmless, max_flips=_FLIPS)
    return search.unsatisfied <= harmless


@dataclass(frozen=True, eq=False)
class ProjectedModel(ReductionModel):
    """See `projected`."""

    truth_index: range  # Variable of the truth value of each x_i
    missing_index: dict[int, int]  # Variable y_j of each clause that is no tautology
    try_index: int | None  # The variable z, or None where it is not needed

    def assignment(self, values: Values) -> NDArray[np.bool_]:
        """Read an assignment off a point; see `ReductionModel.assignment`.

        With z = 1 a point need not satisfy a clause, as [try C_j] does. If it
        satisfies none its complement is taken, which satisfies all of them.
        """
        self._check_length(values)
        read = np.array([values[i] >= 0.5 for i in self.truth_index], dtype=np.bool_)
        return read if self.family.three_sat.satisfied(read).any() else ~read

    def point(self, assignment: ArrayLike) -> list[Fraction]:
        """Exact point of the certificate; see `ReductionModel.point`.

        Two assignments that are never optimal differ: one so bad that its
        certificate takes [try C_j] is a point of [solve] here if there is no z;
        and one that satisfies no clause is worth best - p here if there is.
        """
        truth = as_assignment(assignment, self.family.n_variables)
        values = [Fraction(0)] * len(self.model.variables)
        for i, variable in enumerate(self.truth_index):
            values[variable] = Fraction(int(truth[i]))
        satisfied = self.family.three_sat.satisfied(truth)
        for j, variable in self.missing_index.items():
            values[variable] = Fraction(int(not satisfied[j]))
        if self.try_index is not None:
            tried = [Fraction(0)] * len(values)
            for variable in self.truth_index:
                tried[variable] = values[variable]
            tried[self.try_index] = Fraction(1)
            better = self.model.objective_value
            return tried if better(tried) > better(values) else values
        return values

    def lean(self) -> LinearModel:
        """Leave the y_j continuous; see `ReductionModel.lean`.

        With integral x_i and z the least y_j that a row allows is 0 or 1, and the
        objective falls with y_j. So nothing is lost, and engines branch on x_i only.
        """
        variables = list(self.model.variables)
        for j in self.missing_index.values():
            variables[j] = replace(variables[j], integer=False)
        return self._changed(variables=variables)
