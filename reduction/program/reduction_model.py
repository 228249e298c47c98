"""What every formulation gives, and the program word for word: `faithful`.

A formulation is a linear model and the way back from it. In `faithful`, the reference
for the others, the variables are g(x) for every state, and a binary π(x,a) for every
action of s0 and of the clause states (`q-function`: f(x,a), and π any greedy policy);
the constraints are one average Bellman error for each distribution, with the least
big-M constants. It is the model of `olivine.algorithms.olive_program` for the family's
all-zero member, for any tolerance φ and range of g. It is slow: 20 variables and 85
clauses take HiGHS over a minute.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...algorithms.mdp.planning import Pair
from ...algorithms.olive_program.model import (
    ProgramModel,
    policy_optimum,
    program_model,
)
from ...algorithms.olive_program.program import Form, OliveProgram
from ...solvers.model import LinearModel
from ..family.family import Family
from .optimum import back, forward

Values = Sequence[Fraction] | Sequence[float]
"""A point of a model: one value a variable, exact or an engine's floats."""


@dataclass(frozen=True, eq=False)
class ReductionModel(ABC):
    """A mixed-integer linear model of OLIVE's program over a family."""

    family: Family  # The family
    formulation: str  # "faithful", "strengthened" or "projected"
    form: Form  # "value-policy" or "q-function"
    # The model. Its objective, a variable or an affine expression, is g(s0) itself,
    # maximised and never scaled.
    model: LinearModel

    @abstractmethod
    def assignment(self, values: Values) -> NDArray[np.bool_]:
        """Read an assignment off a point of the model.

        Gives bool, shape (n,), values of the variables of the 3-SAT form. If the point
        is feasible up to rounding, its certificate (`forward`) is worth at least the
        objective of the point (up to rounding).
        """

    def pair(self, values: Values) -> Pair:
        """Read a pair off a point of the model, exactly feasible for the program."""
        return forward(self.family, self.assignment(values))

    @abstractmethod
    def point(self, assignment: ArrayLike) -> list[Fraction]:
        """Exact point of the model that says the same as ``forward`` of it."""

    def lean(self) -> LinearModel:
        """Return a model of the same optimum that engines solve faster."""
        return self.model

    def _changed(self, **parts: Any) -> LinearModel:
        names = {"variables", "rows"} - parts.keys()
        kept = {name: list(getattr(self.model, name)) for name in names}
        return LinearModel(**vars(self.model) | kept | parts)

    def _check_length(self, values: Values) -> None:
        if len(values) != len(self.model.variables):
            raise ValueError(
                f"{len(values)} values for a model of "
                f"{len(self.model.variables)} variables"
            )


def clause_weights(family: Family) -> list[int]:
    """Weight of each clause, 1 each without weights."""
    if family.weights is None:
        return [1] * family.n_clauses
    weights: list[int] = family.weights.tolist()
    return weights


_SNAP = 1e-6
_DENOMINATOR = 10**6


def faithful(
    family: Family,
    form: Form = "value-policy",
    tolerance: Fraction | int = 0,
    lower: Fraction | int = 0,
    upper: Fraction | int | None = None,
) -> FaithfulModel:
    """Transcribe OLIVE's program over a family."""
    program = OliveProgram(
        family.mdp(),
        family.distributions(),
        tolerance,
        lower,
        family.ranges() if upper is None else upper,
    )
    built = program_model(program, form)
    built.model.name = f"faithful, {form}, {family.variant}"
    return FaithfulModel(family, "faithful", form, built.model, built)


@dataclass(frozen=True, eq=False)
class FaithfulModel(ReductionModel):
    """See `faithful`."""

    # The model with its maps from states and actions to variables
    program_model: ProgramModel

    @property
    def program(self) -> OliveProgram:
        """The program that is modelled, with its tolerance and range."""
        return self.program_model.program

    def assignment(self, values: Values) -> NDArray[np.bool_]:
        """Read an assignment off a point; see `ReductionModel.assignment`.

        With tolerance 0 and values in [0, 1] this is `witness.back`. Otherwise literal
        values are rounded to the nearer end, and nothing is promised.
        """
        self._check_length(values)
        if self.program.tolerance == 0:
            pair = self._evaluated(values)
            if self.family.program().is_feasible(pair):
                return back(self.family, pair)
        first = self.family.layout.first_literal_state
        index = self.program_model.value_index
        return np.array(
            [
                float(values[index[state + 1]]) >= float(values[index[state]])
                for state in range(first, first + 2 * self.family.n_variables, 2)
            ],
            dtype=np.bool_,
        )

    def pair(self, values: Values) -> Pair:
        """Read a pair off a point; an exact point gives its own.

        From floats come the policy and, with tolerance 0, the literal values, which
        determine all others; with a tolerance the best values for the policy, by an
        exact linear program.
        """
        self._check_length(values)
        if all(isinstance(v, Fraction | int) for v in values):
            return self.program_model.pair([Fraction(v) for v in values])
        if self.program.tolerance == 0:
            pair = self._evaluated(values)
            broken = self.program.violations(pair)
            if broken:
                raise ValueError(f"no feasible pair near the point: {broken[0]}")
            return pair
        best = policy_optimum(self.program, self.program_model.policy(values))
        if best is None:
            raise ValueError("no values are feasible with the policy of the point")
        return best

    def point(self, assignment: ArrayLike) -> list[Fraction]:
        """Exact point of the certificate; see `ReductionModel.point`."""
        return self.program_model.point(forward(self.family, assignment))

    def _evaluated(self, values: Values) -> Pair:
        """Policy of the point, with the values that its literals determine.

        Literal values near an end of what the pair constraint allows are moved
        there. The other states satisfy the Bellman equation of the policy, so
        they are the values of the policy in an MDP with these literal rewards.
        """
        layout, n = self.family.layout, self.family.n_variables
        most = self.program.upper_of(layout.first_literal_state)
        top = self.family.top
        lowest = max(self.program.lower, top - most)
        highest = top - lowest
        rewards = []
        for i in range(n):
            variable = self.program_model.value_index[layout.literal_state(i, 1)]
            rewards.append(_snapped(values[variable], lowest, highest))
        mdp = self.family.mdp()
        table = list(mdp.reward_table)
        indices = mdp.reward_index.copy()
        start = layout.first_literal_action
        for i, reward in enumerate(rewards):
            table += [top - reward, reward]
            indices[start + 2 * i] = len(table) - 2
            indices[start + 2 * i + 1] = len(table) - 1
        sides = layout.declaration.sides
        if sides:  # a side is worth most beside a spare state that is worth nothing
            table += [Fraction(0), sides.reward + sides.beside * self.family.top]
            own = indices[start - layout.first_literal_state :]
            own[layout.first_spare_state :] = len(table) - 2
            own[layout.first_side_state :][: layout.n_sides] = len(table) - 1
        policy = self.program_model.policy(values)
        return mdp.with_rewards(indices, table).evaluate(policy)


def _snapped(value: Fraction | float, lowest: Fraction, highest: Fraction) -> Fraction:
    exact = Fraction(value)
    for end in (lowest, highest):
        if abs(exact - end) <= _SNAP:
            return end
    inside = exact.limit_denominator(_DENOMINATOR)
    return min(max(inside, lowest), highest)
