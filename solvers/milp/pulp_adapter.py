"""Models as PuLP problems, of PuLP 3 or 4; `olivine.solvers.milp.engines` runs them.

PuLP's verdict is used for CBC alone: it calls a time-limited incumbent "Optimal" and a
program that may be infeasible "Infeasible", and its majors differ in both.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import pulp

from ..model.integer_form import IntegerForm
from ..model.model import LinearModel

MAJOR = int(re.match(r"\d+", pulp.__version__).group())  # type: ignore[union-attr]


@dataclass(frozen=True)
class PulpModel:
    """A model as a PuLP problem."""

    # The `pulp.LpProblem`, a minimisation in integers; see
    # `olivine.solvers.model.integer_form`. In PuLP 4 variables live as long as it does.
    problem: Any
    # The model's names of variables and rows by the problem's short names; for what the
    # problem has beyond the model, a description
    names: dict[str, str]
    negated: bool  # Whether the problem minimises the negative of the model's objective
    # The problem's variables: the model's in their order, then added ones. One that
    # nothing uses is unknown to the engines and stays without value.
    variables: list[Any]

    def values(self) -> tuple[float | None, ...]:
        """One value a variable after a run; None where the engine knows it not."""
        return tuple(v.varValue for v in self.variables)


def to_pulp(model: LinearModel) -> PulpModel:
    """Make a PuLP problem of a model."""
    return from_form(IntegerForm(model))


def from_form(form: IntegerForm) -> PulpModel:
    """Make a PuLP problem of an integer form."""
    problem = pulp.LpProblem("model", pulp.LpMinimize)
    variables = [
        problem.add_variable(
            v.name, v.lower, v.upper, pulp.LpInteger if v.integer else "Continuous"
        )
        for v in form.variables
    ]
    problem.setObjective(_expression(variables, form.objective.items()))
    for row in form.rows:
        left = _expression(variables, zip(row.indices, row.coefficients, strict=True))
        if row.sense == "<=":
            constraint = left <= row.rhs
        elif row.sense == ">=":
            constraint = left >= row.rhs
        else:
            constraint = left == row.rhs
        problem.addConstraint(constraint, row.name)
    return PulpModel(problem, dict(form.names.items()), form.negated, variables)


def _expression(variables: list[Any], terms: Any) -> Any:
    pairs = [(variables[j], c) for j, c in terms]
    if MAJOR >= 4:
        return pulp.LpAffineExpression.from_list(pairs)
    return pulp.LpAffineExpression(pairs)
