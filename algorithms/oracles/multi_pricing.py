"""CSC calls on a weighted sum of data sets, and what they prove.

One call finds a policy that is nearly best for weights λ, and a certified
lower bound on min_π Σ_j λ_j (cost_j(π) - U_j). A positive bound proves that no
mixture of policies meets every limit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..classes.policies import MixedPolicy
from ..classes.protocols import Policy, PolicyClass
from ..exact.data import EmpiricalMeasure
from .multi_results import (
    InfeasibilityCertificate,
    MultiResult,
    MultiStatus,
)
from .multi_tables import ExactTables, FloatTables, Problem
from .results import CscResult, summation_bound

ROUNDING_SHARE = 1 / 64
"""Share of ε_feas that rounding may take before costs are added up exactly."""

ACCURACY_SHARE = 1 / 8
"""Share of ε_feas that is asked of every CSC call."""


class CscOracle(Protocol):
    """A CSC oracle, called as `olivine.algorithms.oracles.csc.csc` is."""

    def __call__(
        self,
        policy_class: Any,
        /,
        data: EmpiricalMeasure,
        costs: ArrayLike,
        *,
        epsilon_sub: float,
    ) -> CscResult:
        """Solve CSC."""


@dataclass(frozen=True, eq=False)
class Priced:
    """A policy found for some weights."""

    policy: Policy  # The policy
    key: bytes  # Its actions at the observations of the problem, as bytes
    excess: NDArray[Any]  # cost_j(π) - U_j, shape (J,): float64, or Fractions
    # Lower bound on the weighted excess over the class, rounding included
    bound: float | Fraction = -np.inf
    # The weights it was found for; None if it was only measured
    weights: NDArray[Any] | None = None


class Pricing:
    """The CSC oracle on weighted sums of the data sets; it counts.

    `tables`: Float tables, where their rounding is small against ε_feas, or exact ones.
    `accuracy`: ε_sub of every call. `calls, operations`: CSC calls so far, and basic
    operations, theirs included.
    """

    def __init__(
        self,
        policy_class: PolicyClass,
        problem: Problem,
        oracle: CscOracle,
        epsilon_feas: float,
    ) -> None:
        self._policy_class = policy_class
        self._oracle = oracle
        self.problem = problem
        self.epsilon_feas = epsilon_feas
        self.accuracy = epsilon_feas * ACCURACY_SHARE
        self.tables: FloatTables | ExactTables = problem.rationals
        if not problem.has_fractions:
            floats = problem.floats
            if floats.error <= epsilon_feas * ROUNDING_SHARE:
                self.tables = floats
        self.calls = 0
        self.operations = problem.rows * problem.n_actions

    @property
    def is_exact(self) -> bool:
        """Whether costs are added up in rationals."""
        return isinstance(self.tables, ExactTables)

    def go_exact(self) -> None:
        """Add up in rationals from now on."""
        self.tables = self.problem.rationals

    def price(self, weights: NDArray[Any]) -> Priced:
        """Find a policy of nearly least weighted excess: one CSC call.

        `weights`: λ ≥ 0, float64 or Fractions, shape (J,); they sum to 1, or nearly.
        Rounded to float64 where costs are.
        """
        if not self.is_exact:
            weights = weights.astype(np.float64)
        costs = self.tables.combined(weights)
        found = self._oracle(
            self._policy_class, self.problem.measure, costs, epsilon_sub=self.accuracy
        )
        self.calls += 1
        self.operations += found.operations + 2 * self.tables.operations
        limit = self.tables.combined_limit(weights)
        bound: float | Fraction
        if self.is_exact:
            cost = found.exact_cost
            if cost is None:
                cost = Fraction(found.cost)
            bound = cost - Fraction(found.suboptimality) - limit
        else:
            # Weights that sum to a little more than 1 are allowed for.
            rounding = 1.01 * self.tables.error
            bound = float(found.cost - found.suboptimality - limit) - rounding
        return replace(self.evaluate(found.policy), bound=bound, weights=weights)

    def evaluate(self, policy: Policy) -> Priced:
        """Measure a policy on every data set."""
        actions = np.asarray(policy(self.problem.measure.observations), dtype=np.int64)
        return Priced(policy, actions.tobytes(), self.tables.excess(actions))

    def mixture_excess(
        self, members: Sequence[Priced], weights: Sequence[Fraction]
    ) -> tuple[NDArray[Any], float | Fraction]:
        """Excess of a mixture, and a certified bound on the largest."""
        if self.is_exact:
            total: NDArray[Any] = np.zeros(len(self.problem), dtype=object)
            for member, weight in zip(members, weights, strict=True):
                total = total + weight * member.excess
            return total, max(total.tolist())
        shares = np.array([float(w) for w in weights])
        floats = np.stack([m.excess for m in members])
        excess = shares @ floats
        terms = len(members) + 4
        size = max(1.0, float(np.abs(floats).max()))
        error = self.tables.error * 1.01 + summation_bound(terms, size)
        return excess, float(excess.max()) + error

    # --------------------------------------------------------------- answers

    def feasible(
        self,
        members: Sequence[Priced],
        weights: Sequence[Fraction],
        method: str,
        *,
        reason: str = "",
        **more: Any,
    ) -> MultiResult:
        """Answer with a mixture.

        FEASIBLE if ε_feas is certified, else UNKNOWN for the reason given.
        """
        kept = [i for i, w in enumerate(weights) if w > 0]
        members, weights = [members[i] for i in kept], [weights[i] for i in kept]
        excess, worst = self.mixture_excess(members, weights)
        within = worst <= self.epsilon_feas
        status = MultiStatus.FEASIBLE if within else MultiStatus.UNKNOWN
        violation = max(worst, 0)
        costs = np.array(
            [float(e + u) for e, u in zip(excess, self.problem.limits, strict=True)]
        )
        mixed = MixedPolicy(
            tuple(m.policy for m in members), tuple(weights), self.problem.n_actions
        )
        return self._answer(
            (status, mixed, costs, _rounded_up(violation), None),
            method,
            exact_violation=Fraction(violation) if self.is_exact else None,
            reason="" if within else reason,
            **more,
        )

    def infeasible(self, found: Priced, method: str, **more: Any) -> MultiResult:
        """Answer that there is none, which the bound of `found` proves."""
        if found.weights is None or not found.bound > 0:
            raise ValueError("found: its bound proves nothing")
        rational = tuple(Fraction(w) for w in found.weights.tolist())
        proof = InfeasibilityCertificate(rational, float(found.bound))
        none = MultiStatus.INFEASIBLE, None, None, 0.0, proof
        return self._answer(none, method, **more)

    def none(
        self, status: MultiStatus, method: str, *, proved: bool, **more: Any
    ) -> MultiResult:
        """Answer without a policy and without weights that prove anything."""
        violation = 0.0 if status is MultiStatus.INFEASIBLE else np.inf
        given = status, None, None, violation, None
        return self._answer(given, method, proved=proved, operations=None, **more)

    def _answer(self, found: tuple[Any, ...], method: str, **more: Any) -> MultiResult:
        counted: dict[str, Any] = {
            "call_bound": None,
            "operations": self.operations,
            "proved": True,
        }
        status, policy, costs, violation, certificate = found
        return MultiResult(
            status,
            policy,
            costs,
            violation,
            certificate,
            epsilon_feas=self.epsilon_feas,
            calls=self.calls,
            method=method,
            **counted | more,
        )


def _rounded_up(value: float | Fraction) -> float:
    """Least float that is not below, or the one after it."""
    rounded = float(value)
    return float(np.nextafter(rounded, np.inf)) if rounded < value else rounded
