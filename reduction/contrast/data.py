"""Data from a member of the family, as the oracles of VALOR get it.

One data set of tuples (x, a, r, x'), states and actions drawn uniformly (an action
beyond a state's own stands for one of them again, so that all states have the same K),
and for each clause a small one of the literal states behind it. CSC gets
importance-weighted costs -K 1{π(x) = a} (r + V(x')), V the member's optimal values; LS
regresses r + V(x') on x; LP maximises the mean of g over all literal states, given its
mean on the data behind each clause.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...algorithms.classes.finite import TabularPolicyClass, TabularValueClass
from ...algorithms.exact.data import EmpiricalMeasure
from ...algorithms.mdp.tabular import TabularMDP
from ...algorithms.oracles import Constraint, CscResult, Functional, LeastSquaresResult
from ...algorithms.oracles.csc import csc, importance_costs
from ...algorithms.oracles.least_squares import least_squares
from ...algorithms.oracles.lp import LpResult, lp
from ..family.family import Family

ACCURACY = 1e-6
DRAWS_PER_ACTION = 4
DRAWS_PER_CLAUSE = 32
RADIUS = 0.01
"""φ in the LP's constraints."""


@dataclass(frozen=True, eq=False)
class OracleData:
    """The three problems."""

    n_states: int
    n_actions: int  # K
    data: EmpiricalMeasure  # Tuples (x, a, r, x')
    costs: NDArray[np.float64]  # for CSC, shape (n, K)
    targets: NDArray[np.float64]  # for LS, shape (n,)
    objective: Functional  # for LP, as the constraints
    constraints: tuple[Constraint, ...]

    def csc(self) -> CscResult:
        """Ask the CSC oracle."""
        policies = TabularPolicyClass(self.n_states, self.n_actions)
        return csc(policies, self.data, self.costs, epsilon_sub=ACCURACY)

    def least_squares(self) -> LeastSquaresResult:
        """Ask the LS oracle."""
        values = TabularValueClass(self.n_states)
        return least_squares(values, self.data, self.targets, epsilon_sub=ACCURACY)

    def lp(self) -> LpResult:
        """Ask the LP oracle."""
        values = TabularValueClass(self.n_states)
        return lp(
            values,
            self.objective,
            self.constraints,
            epsilon_sub=ACCURACY,
            epsilon_feas=ACCURACY,
        )


def oracle_data(family: Family, rng: np.random.Generator) -> OracleData:
    """Draw a member and data from it."""
    mdp = family.mdp(rng.random(family.n_variables) < 0.5)
    values = mdp.optimal_values()
    table = np.array([float(values.value(s)) for s in range(mdp.n_states)])
    k = int(mdp.action_counts.max())
    n = DRAWS_PER_ACTION * mdp.n_actions
    states = rng.integers(0, mdp.n_states, n)
    actions = rng.integers(0, k, n)
    own = mdp.action_offset[states] + actions % mdp.action_counts[states]
    rewards = np.array([float(r) for r in mdp.reward_table])[mdp.reward_index[own]]
    following = _successors(mdp, own, rng)
    returns = rewards + np.where(following >= 0, table[following], 0.0)
    data = EmpiricalMeasure(
        states, actions=actions, rewards=rewards, next_observations=following
    )
    return OracleData(
        n_states=mdp.n_states,
        n_actions=k,
        data=data,
        costs=importance_costs(actions, returns, k),
        targets=returns,
        objective=_literal_states(family),
        constraints=_behind_clauses(family, mdp, table, rng),
    )


def _successors(
    mdp: TabularMDP, actions: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Draw a successor of each action; -1 where the episode ends."""
    first = mdp.transition_offset[actions]
    counts = mdp.transition_offset[actions + 1] - first
    ends = counts == 0
    wholes = np.repeat(mdp.transition_denominator, np.diff(mdp.transition_offset))
    shares = mdp.transition_numerator / wholes
    # One running sum over all transitions; each action owns a unit of it.
    heights = np.cumsum(shares)
    start = np.where(first > 0, heights[np.maximum(first - 1, 0)], 0.0)
    where = np.searchsorted(heights, start + rng.random(len(actions)), side="right")
    last = first + np.maximum(counts - 1, 0)
    chosen = mdp.transition_target[np.clip(where, first, last) % len(shares)]
    return np.where(ends, -1, chosen).astype(np.int64)


def _literal_states(family: Family) -> Functional:
    first = family.layout.first_literal_state
    states = first + np.arange(2 * family.n_variables)
    return Functional.expectation(EmpiricalMeasure(states))


def _behind_clauses(
    family: Family,
    mdp: TabularMDP,
    table: NDArray[np.float64],
    rng: np.random.Generator,
) -> tuple[Constraint, ...]:
    """|E_D[g] - E_D[V]| ≤ φ, D the literal states that C_j's actions lead to."""
    found = []
    for j in range(family.n_clauses):
        own = mdp.actions(family.clause_state(j))
        actions = rng.integers(own.start, own.stop, DRAWS_PER_CLAUSE)
        states = _successors(mdp, actions, rng)
        data = EmpiricalMeasure(states).merged()
        mean = data.expectation(table[data.observations])
        found.append(Constraint.near(Functional.expectation(data), mean, RADIUS))
    return tuple(found)
