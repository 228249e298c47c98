"""Costs of a policy on several data sets, as linear functions of its table.

A policy enters only through its actions at the S distinct observations of all
data sets together. With z(x, a) = 1 where π(x) = a,

    cost_j(π) = Σ_{x,a} M_j(x, a) z(x, a),   M_j(x, a) = Σ_{i: x_i = x} p_i c_i(a),

so the data are walked through once, and a weighted sum of the data sets is one
CSC problem on S observations. In float64 with a stated error, or in rationals.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from ..classes.protocols import PolicyClass
from ..exact.arrays import object_array
from ..exact.data import EmpiricalMeasure
from .csc import check_costs
from .csc_enumerated import largest_group, magnitude
from .multi_results import ClassificationSet
from .results import scaled_integers, summation_bound


class Problem:
    """Checked data sets over a class, grouped by observation.

    Raises ValueError if there is none, or one is bad; names the set, the argument, the
    row. `sets`: As given, without rows of weight 0. `measure`: Every distinct
    observation once; S of them. `n_actions`: K. `groups`: For each data set, the index
    in `measure` of each row's observation. `limits`: The U_j as Fractions.
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
        """Return J, the number of data sets."""
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
    """Leave rows of weight 0 out: their observations do not count."""
    used = np.asarray(data.weights != 0, dtype=np.bool_)
    if used.all():
        return data, costs
    kept = EmpiricalMeasure(data.observations[used], weights=data.weights[used])
    return kept, costs[used]


class FloatTables:
    """The matrix M, of shape (J, S K), in float64.

    `error`: Bound on the rounding error of `excess`, and of a `combined` cost less the
    combined limits, for every policy and weights that sum to 1. `operations`: Basic
    operations that one `excess` or `combined` takes.
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
