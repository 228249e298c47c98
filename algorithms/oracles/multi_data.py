"""Costs of a policy on several data sets, as linear functions of its table.

With z(x, a) = 1 where π(x) = a, on the S distinct observations of all data sets,

    cost_j(π) = Σ_{x,a} M_j(x, a) z(x, a),   M_j(x, a) = Σ_{i: x_i = x} p_i c_i(a),

so a weighted sum of the data sets is one CSC problem on S observations. In float64 with
a stated error, or in rationals.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_matrix

from ..classes.protocols import MixedPolicy, PolicyClass
from ..exact.arrays import object_array
from ..exact.data import EmpiricalMeasure
from .csc import check_costs
from .results import Number, largest_group, magnitude, scaled_integers, summation_bound


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

    status: MultiStatus  # See `MultiStatus`
    # The mixture found; with UNKNOWN the best one known, if any; None when infeasible
    policy: MixedPolicy | None
    # Its average cost on each data set, float64, shape (J,); None without policy
    costs: NDArray[np.float64] | None
    # Certified bound on the largest excess of a cost over its limit, at least 0; 0 when
    # infeasible, infinite without policy and certificate
    violation: float
    # Proof of infeasibility, where there is one
    certificate: InfeasibilityCertificate | None
    # Whether the status is proved. Only the infeasibility of a deterministic problem
    # with a feasible mixture can be an engine's unproved word.
    proved: bool
    epsilon_feas: float  # What was asked for
    calls: int  # CSC calls made
    # Most CSC calls that the method's theorem allows; None without one
    call_bound: int | None
    # Basic operations, CSC calls included; None where an engine is involved
    operations: int | None
    method: str  # Which method gave the answer
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
        stacked = np.concatenate([data.observations for data in self.data])
        if stacked.ndim == 1:
            distinct, where = np.unique(stacked, return_inverse=True)
        else:  # feature vectors are not compared
            distinct, where = stacked, np.arange(len(stacked))
        self.measure = EmpiricalMeasure(distinct)
        ends = np.cumsum([len(data) for data in self.data])[:-1]
        self.groups: list[NDArray[np.int64]] = np.split(where.reshape(-1), ends)

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
        pairs = zip(self.costs, self.limits, strict=True)
        highs, lows = [], []
        for costs, limit in pairs:
            highs.append(float(Fraction(costs.max()) - limit))
            lows.append(float(Fraction(costs.min()) - limit))
        return (max(highs) - min(lows)) * (1 + 1e-12)

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
            seen, inverse = np.unique(groups, return_inverse=True)
            n = len(data)
            walk = csr_matrix(
                (data.probabilities, (inverse.reshape(-1), np.arange(n))),
                shape=(len(seen), n),
            )
            table = walk @ np.asarray(costs, dtype=np.float64)
            indices.append((seen[:, None] * k + np.arange(k)).ravel())
            entries.append(table.ravel())
            lengths[j + 1] = table.size
            busiest = max(busiest, largest_group(inverse.reshape(-1)))
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
            integers, unit = scaled_integers(costs)
            seen, inverse = np.unique(groups, return_inverse=True)
            table = np.zeros((len(seen), k), dtype=object)
            weighted = data.weights.astype(object)[:, None] * integers
            np.add.at(table, inverse.reshape(-1), weighted)
            places = (seen[:, None] * k + np.arange(k)).ravel()
            self._rows.append((places, table.ravel(), unit / data.total_weight))
        self.operations = sum(len(places) for places, _, _ in self._rows)

    def excess(self, actions: NDArray[np.int64]) -> NDArray[Any]:
        """cost_j(π) - U_j as Fractions, object array of shape (J,)."""
        k = self._problem.n_actions
        chosen = np.zeros(len(actions) * k, dtype=np.bool_)
        chosen[np.arange(len(actions)) * k + actions] = True
        found = []
        for (places, numbers, unit), limit in zip(
            self._rows, self._problem.limits, strict=True
        ):
            found.append(sum(numbers[chosen[places]].tolist()) * unit - limit)
        return object_array(found)

    def combined(self, weights: NDArray[Any]) -> NDArray[Any]:
        """As in `FloatTables`, for Fractions (or floats, taken as they are)."""
        k, size = self._problem.n_actions, len(self._problem.measure)
        scales = [
            Fraction(w) * unit
            for w, (_, _, unit) in zip(weights, self._rows, strict=True)
        ]
        factors, common = scaled_integers(object_array(scales))
        total = np.zeros(size * k, dtype=object)
        for factor, (places, numbers, _) in zip(
            factors.tolist(), self._rows, strict=True
        ):
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
