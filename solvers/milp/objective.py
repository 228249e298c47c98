"""Give a MILP engine the objective in the form that it handles best.

An objective with coefficients like 1/(3m) costs branch and bound dearly: the
engine no longer sees that values come in whole steps, by which it closes gaps,
and its tolerances are not made for small steps. On MaxSAT models of a few
hundred clauses HiGHS took 5 to 50 times as long as with coprime integers, the
form that this file makes. A variable that merely names the objective through an
equation hides the same, so it is replaced by what it equals.

Files and PuLP problems keep the objective as it is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

from ..model.model import LinearModel, Row


@dataclass(frozen=True)
class ScaledObjective:
    """A model with the same feasible points and another objective."""

    model: LinearModel  # Its objective has coprime integer coefficients and no constant
    # scale, constant: at every feasible point the original's objective is the scaled
    # one divided by `scale`, which is positive, plus `constant`
    scale: Fraction
    constant: Fraction

    def original(self, value: float) -> float:
        """Translate a value or bound of the scaled objective."""
        return value / float(self.scale) + float(self.constant)


def scaled_objective(model: LinearModel) -> ScaledObjective:
    """Write a model's objective in coprime integers, its definition put in."""
    objective, constant = model.objective, model.objective_constant
    definition = _definition(model)
    if definition is not None:
        ((v, cost),) = objective.items()
        terms = dict(zip(definition.indices, definition.coefficients, strict=True))
        factor = cost / terms.pop(v)
        objective = {j: -factor * a for j, a in terms.items()}
        constant += factor * definition.rhs
    bottom = math.lcm(*(c.denominator for c in objective.values()))
    top = math.gcd(*(int(c * bottom) for c in objective.values())) or 1
    scale = Fraction(bottom, top)
    scaled = {j: c * scale for j, c in objective.items()}
    return ScaledObjective(
        replace(model, objective=scaled, objective_constant=Fraction(0)),
        scale,
        constant,
    )


def _definition(model: LinearModel) -> Row | None:
    """Find the equation that defines an objective of one variable.

    The variable occurs in no other row, so that the objective hides nothing
    else. Adding a multiple of an equation to the objective is always right.
    """
    if len(model.objective) != 1:
        return None
    (v,) = model.objective
    rows = [row for row in model.rows if v in row.indices]
    if len(rows) == 1 and rows[0].sense == "==" and not model.variables[v].integer:
        return rows[0]
    return None
