"""Costs of a policy on several data sets, as linear functions of its table.

With z(x, a) = 1 where π(x) = a, on the S distinct observations of all data sets,

    cost_j(π) = Σ_{x,a} M_j(x, a) z(x, a),   M_j(x, a) = Σ_{i: x_i = x} p_i c_i(a),

so a weighted sum of the data sets is one CSC problem on S observations, which `Pricing`
asks the CSC oracle. In float64 with a stated error, or in rationals.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_matrix

from ..classes.protocols import MixedPolicy, Policy, PolicyClass
from ..exact.arrays import object_array
from ..exact.data import EmpiricalMeasure
from . import (
    CscResult,
    Number,
    group_costs,
    group_costs_exactly,
    largest_group,
    magnitude,
    scaled_integers,
    summation_bound,
    support,
)
from .csc import check_costs


@dataclass(frozen=True, eq=False)
class ClassificationSet:
    """A data set with a limit: E_D[c(π(x))] ≤ U."""

    # D: observations and their weights; other columns are not looked at
    data: EmpiricalMeasure
    costs: ArrayLike  # c, shape (n, K): finite reals, or Fractions
    limit: Number  # U, finite


class MultiStatus(enum.Enum):
    """What is known of a multi-data-set problem."""

    FEASIBLE = "feasible"
    """A policy within ε_feas of every limit was found."""
    INFEASIBLE = "infeasible"
    """No policy meets every limit."""
    UNKNOWN = "unknown"
    """A limit on calls or time was reached, or the CSC oracle fell short."""


@dataclass(frozen=True)
class InfeasibilityCertificate:
    """Weights that prove no policy, and no mixture, meets every limit."""

    weights: tuple[Fraction, ...]  # λ ≥ 0, one a data set, not all 0
    # Certified positive lower bound on Σ_j λ_j (cost_j(π) - U_j) over the class
    margin: float


@dataclass(frozen=True, eq=False)
class MultiResult:
    """Result of multi-data-set classification."""

    status: MultiStatus
    method: str  # Which method gave the answer
    epsilon_feas: float  # What was asked for
    calls: int  # CSC calls made
    # Basic operations, CSC calls included; None where an engine is involved
    operations: int | None
    # The mixture found; with UNKNOWN the best one known, if any; None when infeasible
    policy: MixedPolicy | None = None
    # Its average cost on each data set, float64, shape (J,); None without policy
    costs: NDArray[np.float64] | None = None
    # Certified bound on the largest excess of a cost over its limit, at least 0; 0 when
    # infeasible, infinite without policy and certificate
    violation: float = 0.0
    # Proof of infeasibility, where there is one
    certificate: InfeasibilityCertificate | None = None
    # Whether the status is proved. Only the infeasibility of a deterministic problem
    # with a feasible mixture can be an engine's unproved word.
    proved: bool = True
    # Most CSC calls that the method's theorem allows; None without one
    call_bound: int | None = None
    # Branch-and-bound nodes of the deterministic form, else None
    nodes: int | None = None
    # The violation as a rational, where costs were added up exactly
    exact_violation: Fraction | None = None
    reason: str = ""  # For UNKNOWN: why

    @property
    def feasible(self) -> bool:
        """Whether a policy within ε_feas was found."""
        return self.status is MultiStatus.FEASIBLE

    @property
    def honoured(self) -> bool:
        """Whether the contract was kept, by proof: ε_feas, or infeasible."""
        known = self.status is not MultiStatus.UNKNOWN
        return known and self.proved and self.violation <= self.epsilon_feas

    def to_json(self) -> dict[str, Any]:
        """Numbers of the result, without policy and weights."""
        return {
            "status": self.status.value,
            "method": self.method,
            "members": None if self.policy is None else len(self.policy),
            "violation": None if np.isinf(self.violation) else self.violation,
            "proved": self.proved,
            "calls": self.calls,
            "call_bound": self.call_bound,
            "operations": self.operations,
            "nodes": self.nodes,
        }


class Problem:
    """Checked data sets over a class, grouped by observation.

    `sets` are without rows of weight 0, `measure` has each of the S distinct
    observations once, `groups` the index there of each row. Raises ValueError if there
    is no set, or one is bad; names the set, the argument, the row.
    """

    def __init__(
        self, policy_class: PolicyClass, sets: Sequence[ClassificationSet]
    ) -> None:
        if not sets:
            raise ValueError("sets: none")
        self.n_actions = policy_class.n_actions
        self.limits: list[Fraction] = []
        kept: list[tuple[EmpiricalMeasure, NDArray[Any]]] = []
        for j, item in enumerate(sets):
            try:
                policy_class.admit(item.data.observations)
                costs = check_costs(item.costs, len(item.data), self.n_actions)
                self.limits.append(_limit(item))
            except ValueError as error:
                raise ValueError(f"sets, number {j}: {error}") from None
            kept.append(_weighted_rows(item.data, costs))
        self.data = tuple(data for data, _ in kept)
        self.costs = tuple(costs for _, costs in kept)
        kinds = {data.observations.shape[1:] for data in self.data}
        if len(kinds) > 1:
            raise ValueError("sets: observations differ in kind")
        every = np.concatenate([data.observations for data in self.data])
        distinct, where = support(EmpiricalMeasure(every))
        self.measure = EmpiricalMeasure(distinct)
        ends = np.cumsum([len(data) for data in self.data])[:-1]
        self.groups: list[NDArray[np.int64]] = np.split(where, ends)

    def __len__(self) -> int:
        return len(self.data)

    @property
    def rows(self) -> int:
        """Rows of all data sets together."""
        return sum(map(len, self.data))

    @property
    def has_fractions(self) -> bool:
        """Whether some costs were given as Fractions."""
        return any(costs.dtype == object for costs in self.costs)

    @property
    def is_disjoint(self) -> bool:
        """Whether no observation is in two data sets."""
        total = sum(len(np.unique(g)) for g in self.groups)
        return total == len(self.measure)

    @cached_property
    def spread(self) -> float:
        """R ≥ max_j (cost_j(π) - U_j) - min_j (cost_j(π) - U_j) for every π."""
        pairs = list(zip(self.costs, self.limits, strict=True))
        high = max(float(Fraction(costs.max()) - limit) for costs, limit in pairs)
        low = min(float(Fraction(costs.min()) - limit) for costs, limit in pairs)
        return (high - low) * (1 + 1e-12)

    @property
    def magnitude(self) -> float:
        """Largest absolute cost or limit."""
        costs = max(map(magnitude, self.costs))
        return max(costs, *(abs(float(u)) for u in self.limits))

    @cached_property
    def floats(self) -> FloatTables:
        """The tables in float64."""
        return FloatTables(self)

    @cached_property
    def rationals(self) -> ExactTables:
        """The tables in rationals."""
        return ExactTables(self)


def _limit(item: ClassificationSet) -> Fraction:
    try:
        return Fraction(item.limit)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"limit: {item.limit} is no finite number") from None


def _weighted_rows(
    data: EmpiricalMeasure, costs: NDArray[Any]
) -> tuple[EmpiricalMeasure, NDArray[Any]]:
    used = np.asarray(data.weights != 0, dtype=np.bool_)
    if used.all():
        return data, costs
    kept = EmpiricalMeasure(data.observations[used], weights=data.weights[used])
    return kept, costs[used]


class FloatTables:
    """The matrix M, of shape (J, S K), in float64.

    `error` bounds the rounding of `excess`, and of a `combined` cost less the combined
    limits, for all policies and weights; `operations` is of one such call.
    """

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        k, size, count = problem.n_actions, len(problem.measure), len(problem)
        indices, entries = [], []
        lengths = np.zeros(count + 1, dtype=np.int64)
        busiest = 0
        items = zip(problem.data, problem.costs, problem.groups, strict=True)
        for j, (data, costs, groups) in enumerate(items):
            seen, inverse = support(EmpiricalMeasure(groups))
            reals = np.asarray(costs, dtype=np.float64)
            table = group_costs(inverse, len(seen), data, reals)
            indices.append((seen[:, None] * k + np.arange(k)).ravel())
            entries.append(table.ravel())
            lengths[j + 1] = table.size
            busiest = max(busiest, largest_group(inverse))
        self._matrix = csr_matrix(
            (np.concatenate(entries), np.concatenate(indices), np.cumsum(lengths)),
            shape=(count, size * k),
        )
        self._transposed = self._matrix.T.tocsr()
        self.limits = np.array([float(u) for u in problem.limits])
        terms = busiest + size + count + 16
        self.error = summation_bound(terms, 2 * problem.magnitude)
        self.operations = int(self._matrix.nnz)

    def excess(self, actions: NDArray[np.int64]) -> NDArray[np.float64]:
        """cost_j(π) - U_j, shape (J,), for the actions at the S observations."""
        k = self._problem.n_actions
        chosen = np.zeros(len(actions) * k)
        chosen[np.arange(len(actions)) * k + actions] = 1
        found: NDArray[np.float64] = self._matrix @ chosen - self.limits
        return found

    def combined(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Costs (S, K) whose average over `measure` is Σ_j λ_j cost_j(π)."""
        k, size = self._problem.n_actions, len(self._problem.measure)
        found: NDArray[np.float64] = size * (self._transposed @ weights)
        return found.reshape(size, k)

    def combined_limit(self, weights: NDArray[np.float64]) -> float:
        """Σ_j λ_j U_j."""
        return float(weights @ self.limits)


class ExactTables:
    """The same in rationals: object arrays of Fractions, no error."""

    error = 0.0

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        # Row j: positions x K + a, integers there, and their common unit.
        self._rows: list[tuple[NDArray[np.int64], NDArray[Any], Fraction]] = []
        k = problem.n_actions
        items = zip(problem.data, problem.costs, problem.groups, strict=True)
        for data, costs, groups in items:
            seen, inverse = support(EmpiricalMeasure(groups))
            table, unit = group_costs_exactly(inverse, len(seen), data, costs)
            places = (seen[:, None] * k + np.arange(k)).ravel()
            self._rows.append((places, table.ravel(), unit))
        self.operations = sum(len(places) for places, _, _ in self._rows)

    def excess(self, actions: NDArray[np.int64]) -> NDArray[Any]:
        """cost_j(π) - U_j as Fractions, object array of shape (J,)."""
        k = self._problem.n_actions
        chosen = np.zeros(len(actions) * k, dtype=np.bool_)
        chosen[np.arange(len(actions)) * k + actions] = True
        rows = zip(self._rows, self._problem.limits, strict=True)
        return object_array(
            [
                sum(numbers[chosen[places]].tolist()) * unit - limit
                for (places, numbers, unit), limit in rows
            ]
        )

    def combined(self, weights: NDArray[Any]) -> NDArray[Any]:
        """As in `FloatTables`, for Fractions (or floats, taken as they are)."""
        k, size = self._problem.n_actions, len(self._problem.measure)
        rows = zip(weights, self._rows, strict=True)
        scales = [Fraction(w) * unit for w, (_, _, unit) in rows]
        factors, common = scaled_integers(object_array(scales))
        total = np.zeros(size * k, dtype=object)
        pairs = zip(factors.tolist(), self._rows, strict=True)
        for factor, (places, numbers, _) in pairs:
            if factor:
                total[places] += factor * numbers
        costs = [Fraction(size * v) * common for v in total.tolist()]
        return object_array(costs).reshape(size, k)

    def combined_limit(self, weights: NDArray[Any]) -> Fraction:
        """Σ_j λ_j U_j."""
        pairs = zip(weights, self._problem.limits, strict=True)
        return sum((Fraction(w) * u for w, u in pairs), Fraction(0))

    def coefficients(self) -> list[tuple[list[int], list[Fraction]]]:
        """Positions x K + a and M_j there, a pair a data set."""
        return [
            (places.tolist(), [v * unit for v in numbers.tolist()])
            for places, numbers, unit in self._rows
        ]


ROUNDING_SHARE = 1 / 64
"""Share of ε_feas that rounding may take before costs are added up exactly."""

ACCURACY_SHARE = 1 / 8  # share of ε_feas that is asked of every CSC call


CscOracle = Callable[..., CscResult]  # called as `csc` is


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
    """The CSC oracle on weighted sums of data sets; counts calls and operations."""

    def __init__(
        self,
        policy_class: PolicyClass,
        problem: Problem,
        oracle: CscOracle,
        epsilon_feas: float,
    ) -> None:
        self._policy_class = policy_class
        self._oracle = oracle
        self.problem, self.epsilon_feas = problem, epsilon_feas
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
        """Find a policy of nearly least excess for weights λ (J,): one CSC call."""
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
            cost = Fraction(found.cost) if cost is None else cost
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

    def feasible(
        self,
        members: Sequence[Priced],
        weights: Sequence[Fraction],
        method: str,
        *,
        reason: str = "",
        **more: Any,
    ) -> MultiResult:
        """Answer with a mixture: FEASIBLE if ε_feas is certified, else UNKNOWN."""
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
            status,
            method,
            policy=mixed,
            costs=costs,
            violation=_rounded_up(violation),
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
        return self._answer(MultiStatus.INFEASIBLE, method, certificate=proof, **more)

    def none(
        self, status: MultiStatus, method: str, *, proved: bool, **more: Any
    ) -> MultiResult:
        """Answer without a policy and without weights that prove anything."""
        violation = 0.0 if status is MultiStatus.INFEASIBLE else np.inf
        more |= {"violation": violation, "proved": proved, "operations": None}
        return self._answer(status, method, **more)

    def _answer(self, status: MultiStatus, method: str, **more: Any) -> MultiResult:
        more = {"operations": self.operations} | more
        return MultiResult(status, method, self.epsilon_feas, self.calls, **more)


def _rounded_up(value: float | Fraction) -> float:
    rounded = float(value)
    return float(np.nextafter(rounded, np.inf)) if rounded < value else rounded
