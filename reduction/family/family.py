"""The family of MDPs that encodes a 3-SAT formula.

n variables and m clauses give 2^n members M_y that share all but one reward a variable:
the literal state x_i^{y_i} pays `top`, its twin nothing. [solve] leads to C_j with
probability 1/m (w_j/W); there b = b1 b2 b3, any but 000, leads to o_{j,k}^{b_k} with
1/3 each, o^1 being the literal and o^0 its negation. Under M_y a clause state is worth
`top` exactly when y satisfies the clause, else 2/3 of it.

Source: Dann, Jiang, Krishnamurthy, Agarwal, Langford, Schapire, "On Oracle-Efficient
PAC RL with Rich Observations" (NeurIPS 2018), proof of NP-hardness.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...algorithms.exact.arrays import exact_sum
from ...algorithms.mdp.arrays import checked_policy
from ...algorithms.mdp.planning import Distribution, Distributions
from ...algorithms.mdp.tabular import TabularMDP
from ...algorithms.olive_program.program import OliveProgram
from ..formula.formula import Formula, ThreeSat
from ..formula.prepare import Used, as_formula, without_unused
from .layout import Layout
from .tabular import Sizes, action_offsets, clause_transitions, declared_sizes, tabular
from .variants import (
    MAX_TOTAL_WEIGHT,
    Parameters,
    Ranges,
    Variant,
    as_variant,
    chosen_penalty,
    default_penalty,
)

if TYPE_CHECKING:
    from pysat.formula import CNF, WCNF

    from ..formula.formula import Formula


__all__ = ["Family", "Sizes", "Variant", "declared_sizes", "default_penalty"]


class Family:
    """The MDPs M_y of one formula, one variant and one penalty.

    Parameters
    ----------
    source
        The formula in 3-SAT form, with at least one variable and one clause; or any
        formula, PySAT's, too, which is brought to that form. Weights, where
        it has any, are positive integers with total W at most 2^63 - 1 (half of
        that in `strict`).
    variant
        One of the variants, or its name.
    penalty
        The penalty p, exact, in the variant's range; None takes the default.
        A variant that fixes p refuses one.

    Raises
    ------
    ValueError
        If a parameter is out of range; the message states the range.

    Attributes
    ----------
    three_sat, variant, penalty
        As given, the penalty resolved.
    parameters : Parameters
        Variant, penalty and total weight, with the rewards that follow.
    layout : Layout
        Numbering and names of states and actions.
    clauses
        int32, shape (m, 3): signed 1-based literals.
    weights
        One positive integer a clause, int64, or None.
    total_weight
        W, or m without weights.
    """

    def __init__(
        self,
        source: ThreeSat | Formula | CNF | WCNF,
        variant: Variant | str = Variant.PAPER,
        penalty: Fraction | int | None = None,
    ) -> None:
        if isinstance(source, ThreeSat):
            three_sat = source
        else:
            three_sat = as_formula(source).three_sat()
        self.three_sat: ThreeSat = three_sat
        self.clauses: NDArray[np.int32] = np.asarray(three_sat.clauses, dtype=np.int32)
        self.layout = Layout(
            as_variant(variant), three_sat.n_variables, len(self.clauses)
        )
        self.variant = self.layout.variant
        self.penalty = chosen_penalty(self.variant, penalty, self.n_clauses)
        self.weights, self.total_weight = _checked_weights(
            three_sat, self.n_clauses, self.layout.declaration.reach.denominator
        )
        self.parameters = Parameters(self.variant, self.penalty, self.total_weight)
        _check_literals(self.clauses, self.n_variables)

    def __repr__(self) -> str:
        return (
            f"Family({self.n_variables} variables, {self.n_clauses} clauses, "
            f"variant={self.variant.value!r}, penalty={self.penalty})"
        )

    @property
    def n_variables(self) -> int:
        """Number n of variables of the 3-SAT form."""
        return self.layout.n_variables

    @property
    def n_clauses(self) -> int:
        """Number m of clauses of the 3-SAT form."""
        return self.layout.n_clauses

    @property
    def top(self) -> Fraction:
        """Reward of the one rewarding literal state of each pair."""
        return self.parameters.top

    @property
    def solve_reward(self) -> Fraction:
        """Reward of [solve]."""
        return self.parameters.rewards.solve

    @property
    def try_variable_reward(self) -> Fraction:
        """Reward of every [try x_i]."""
        return self.parameters.rewards.try_variable

    @property
    def try_clause_reward(self) -> Fraction:
        """Reward of every [try C_j]."""
        return self.parameters.rewards.try_clause

    @property
    def horizon(self) -> int:
        """Greatest number of actions in an episode, 3."""
        return self.layout.horizon

    @property
    def start(self) -> int:
        """The start state s0."""
        return self.layout.start

    def clause_state(self, j: int) -> int:
        """State C_{j+1}, for j in 0..m-1."""
        return self.layout.clause_state(j)

    def variable_state(self, i: int) -> int:
        """State X_{i+1}, for i in 0..n-1; ValueError in `paper`."""
        return self.layout.variable_state(i)

    def literal_state(self, i: int, b: int) -> int:
        """State x_{i+1}^b, for i in 0..n-1 and b in {0, 1}."""
        return self.layout.literal_state(i, b)

    @property
    def bottom_state(self) -> int:
        """The worthless state of level 3; ValueError in a variant without one."""
        return self.layout.bottom_state

    @cached_property
    def literal_states_of_clauses(self) -> NDArray[np.int32]:
        """States o_{j,k}^1, int32 of shape (m, 3)."""
        return self.layout.literal_states(self.clauses)

    def mdp(self, y: ArrayLike | None = None) -> TabularMDP:
        """Build the member M_y.

        Parameters
        ----------
        y
            n truth values (booleans or 0 and 1); None is the all-zero member.

        Returns
        -------
        TabularMDP
            Members share every array but that of the reward indices.

        Raises
        ------
        ValueError
            If `y` is not n truth values.
        """
        if y is None:
            return self._zero_member
        bits = self.assignment_of(y)
        first = self.layout.first_literal_action
        indices = self._zero_member.reward_index.copy()
        table = self._zero_member.reward_table
        false, true = map(table.index, self.parameters.literal_rewards)
        pairs = indices[first : first + 2 * self.n_variables].reshape(-1, 2)
        pairs[:, 0] = np.where(bits, false, true)
        pairs[:, 1] = np.where(bits, true, false)
        return self._zero_member.with_rewards(indices, table)

    def assignment_of(self, y: ArrayLike | None) -> NDArray[np.bool_]:
        """Return the assignment y of a member M_y, shape (n,); None: the all-zero one.

        Raises
        ------
        ValueError
            If `y` is not n truth values.
        """
        if y is None:
            return np.zeros(self.n_variables, dtype=np.bool_)
        return as_assignment(y, self.n_variables)

    @cached_property
    def _zero_member(self) -> TabularMDP:
        return self._tabular()

    def forget(self) -> None:
        """Let go of the arrays of the MDP; they are made anew when asked for."""
        for name in ("_zero_member", "_program"):
            self.__dict__.pop(name, None)

    def chain(self, policy: ArrayLike) -> TabularMDP:
        """Build the all-zero member with a policy's actions only.

        Each state has the one action that the policy takes there. It is what a
        check of a pair needs, with a seventh of the transitions.

        Parameters
        ----------
        policy
            Local action of each state, shape (number of states,).

        Raises
        ------
        ValueError
            If the policy names an action that a state does not have.
        """
        counts = np.diff(action_offsets(self.layout))
        return self._tabular(checked_policy(policy, counts, self.layout.state_names()))

    def _tabular(self, policy: NDArray[np.int64] | None = None) -> TabularMDP:
        own = self.literal_states_of_clauses
        return tabular(self.layout, self.parameters, own, self.weights, policy)

    def ranges(self) -> Fraction | tuple[Fraction, ...]:
        """Upper ends of the ranges of g: one for all states, or one for each."""
        layout, ends = self.layout, self.layout.declaration.ranges
        if ends == Ranges():
            return Fraction(1)
        middle = layout.first_literal_state - 1
        return (
            ends.start,
            *[ends.middle] * middle,
            *[ends.literal] * (2 * self.n_variables),
            *[ends.bottom] * layout.declaration.n_bottom,
        )

    @cached_property
    def _distributions(self) -> Distributions:
        if self.layout.n_sides:
            return self._forced_distributions()
        layout, n, m = self.layout, self.n_variables, self.n_clauses
        literals = layout.first_literal_state + np.arange(2 * n, dtype=np.int64)
        between = np.arange(1 + m, layout.first_literal_state, dtype=np.int64)
        bottom = np.arange(literals[-1] + 1, layout.n_states, dtype=np.int64)
        if not layout.declaration.quit:
            bottom = bottom[:0]  # its range says that it is worth nothing
        points, after = 1 + m, len(between) + len(bottom)
        sizes = np.ones(points + n + after, dtype=np.int64)
        sizes[points : points + n] = 2
        levels = np.full(len(sizes), 2, dtype=np.int32)
        levels[0] = 1
        levels[points : points + n] = layout.literal_level
        levels[len(levels) - len(bottom) :] = 3
        return Distributions(
            offsets=np.concatenate([[0], np.cumsum(sizes)]),
            states=np.concatenate([np.arange(points), literals, between, bottom]),
            numerators=np.ones(points + 2 * n + after, dtype=np.int64),
            denominators=sizes.copy(),
            levels=levels,
        )

    def _forced_distributions(self) -> Distributions:
        """List what s0's actions lead to, but for level 3 behind [solve]."""
        layout, n, k = self.layout, self.n_variables, self.layout.n_sides
        mdp, side, first = self._zero_member, layout.first_side_state, 1 + n + k
        solved = mdp.transition_offset[layout.solve : layout.solve + 2]
        behind = slice(int(solved[0]), int(solved[1]))
        assert layout.second_bottom_state is not None
        variables = np.arange(n) + layout.first_variable_state
        pairs = np.arange(2 * n).reshape(n, 2) + layout.first_literal_state
        spares = np.arange(n) + layout.first_spare_state
        sides = np.arange(side, side + k)
        sizes = np.ones(2 + 2 * first, dtype=np.int64)
        sizes[1] = behind.stop - behind.start
        sizes[2 + first : 2 + first + n], sizes[2 + first + n : -1] = 3, 2
        denominators = sizes.copy()
        denominators[1] = mdp.transition_denominator[layout.solve]
        denominators[2 + first : 2 + first + n] = 4
        ones = np.ones(1, dtype=np.int64)
        return Distributions(
            offsets=np.concatenate([[0], np.cumsum(sizes)]),
            states=np.concatenate(
                [
                    [layout.start],
                    mdp.transition_target[behind],
                    variables,
                    sides - k,
                    [layout.second_bottom_state],
                    np.column_stack([pairs, spares]).ravel(),
                    np.column_stack([sides, sides + k]).ravel(),
                    [layout.bottom_state],
                ]
            ),
            numerators=np.concatenate(
                [
                    ones,
                    mdp.transition_numerator[behind],
                    ones.repeat(first),
                    np.tile([1, 1, 2], n),
                    ones.repeat(2 * k + 1),
                ]
            ),
            denominators=denominators,
            levels=np.repeat([1, 2, 3], [1, 1 + first, first]).astype(np.int32),
        )

    def distributions(self) -> Distributions:
        """Distributions that OLIVE's program constrains, with their levels.

        In order: {s0}; each {C_j}; each pair {x_i^0, x_i^1}, half each; but in
        `paper` each {X_i}; in `all-levels` {bottom}. In `forced` {s0}; what [solve]
        leads to; what each try and [rest] lead to; what is behind these. No
        distribution over literal states behind a clause is among them: it would tell
        the members of the family apart.
        """
        return self._distributions

    def distribution_name(self, index: int) -> str:
        """Name of a distribution: "s0", "C3", "x1^0, x1^1", "X1", "bottom"."""
        return self.name_of(self._distributions[index])

    def name_of(self, distribution: Distribution) -> str:
        """Name of any distribution over the family's states, by these states."""
        return ", ".join(self.layout.state_name(int(s)) for s in distribution.states)

    @cached_property
    def _program(self) -> OliveProgram:
        return OliveProgram(self.mdp(), self._distributions, upper=self.ranges())

    def program(self, mdp: TabularMDP | None = None) -> OliveProgram:
        """OLIVE's program over the family: tolerance 0, values in their ranges.

        The members of the family all give this same program; it is written
        with the all-zero one, or with what `chain` makes of that.
        """
        if mdp is None:
            return self._program
        return OliveProgram(mdp, self._distributions, upper=self.ranges())

    def declared_sizes(self) -> Sizes:
        """Exact size as a function of n, m and how clauses repeat variables."""
        inner = clause_transitions(self.clauses)
        return declared_sizes(self.variant, self.n_variables, self.n_clauses, inner)

    def measured_sizes(self) -> Sizes:
        """Size counted in the arrays and the list of distributions."""
        mdp = self.mdp()
        return Sizes(
            mdp.n_states, mdp.n_actions, mdp.n_transitions, len(self.distributions())
        )


@dataclass(frozen=True)
class Instance:
    """A formula together with the family of its 3-SAT form."""

    formula: Formula  # The formula as read. It has no hard clauses.
    family: Family  # The family of MDPs of its 3-SAT form, ``family.three_sat``
    used: Used | None = None  # what the form is of, if variables are unused

    @classmethod
    def of(
        cls,
        source: Formula | CNF | WCNF,
        variant: Variant | str = Variant.PAPER,
        penalty: Fraction | int | None = None,
    ) -> Instance:
        """Bring a formula to 3-SAT form and build its family."""
        formula = as_formula(source)
        if formula.hard is not None and formula.hard.any():
            count = int(formula.hard.sum())
            clauses = "1 hard clause" if count == 1 else f"{count} hard clauses"
            raise ValueError(
                f"{clauses}: the family is defined for soft clauses only; "
                "olivine.reduction.formula.prepare gives them weights"
            )
        used = without_unused(formula)
        clauses_of = formula if used is None else used.formula
        return cls(formula, Family(clauses_of.three_sat(), variant, penalty), used)

    def restrict(self, assignment: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Bring an assignment of the 3-SAT form back to the formula as read."""
        values = self.family.three_sat.restrict(assignment)
        return values if self.used is None else self.used.extend(values)


def as_assignment(values: ArrayLike, n_variables: int) -> NDArray[np.bool_]:
    """Turn n truth values (booleans or 0 and 1) into a boolean array, or ValueError."""
    array = np.asarray(values)
    if array.shape != (n_variables,):
        raise ValueError(
            f"expected {n_variables} truth values, got an array of shape {array.shape}"
        )
    if array.dtype != np.bool_ and not np.isin(array, (0, 1)).all():
        raise ValueError("truth values must be booleans or 0 and 1")
    return array.astype(np.bool_)


def _checked_weights(
    three_sat: ThreeSat, n_clauses: int, parts: int
) -> tuple[NDArray[np.int64] | None, int]:
    if three_sat.weights is None:
        return None, n_clauses
    weights = np.asarray(three_sat.weights, dtype=np.int64)
    if weights.shape != (n_clauses,):
        raise ValueError(f"{n_clauses} clauses but weights of shape {weights.shape}")
    if int(weights.min()) < 1:
        raise ValueError(f"clause weights must be positive, got {weights.min()}")
    total = exact_sum(weights)
    # The chances of [solve] are ratios of 64-bit integers.
    if total > MAX_TOTAL_WEIGHT // parts:
        share = "" if parts == 1 else f" / {parts}"
        raise ValueError(
            f"the clause weights of the 3-SAT form add up to {total}; the family "
            f"holds at most (2**63 - 1){share} = {MAX_TOTAL_WEIGHT // parts}"
        )
    return weights, total


def _check_literals(clauses: NDArray[np.int32], n_variables: int) -> None:
    if clauses.shape != (len(clauses), 3):
        raise ValueError(f"clauses must have shape (m, 3), got {clauses.shape}")
    # Compared on both sides: abs(-2**31) is negative in int32.
    bad = (clauses == 0) | (clauses > n_variables) | (clauses < -n_variables)
    if bad.any():
        j = int(np.flatnonzero(bad.any(axis=1))[0])
        raise ValueError(
            f"clause {j + 1} has a literal outside 1..{n_variables}: "
            f"{clauses[j].tolist()}"
        )
