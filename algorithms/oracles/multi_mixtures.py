"""Multi-data-set classification by mixtures: two ways to run CSC calls.

Column generation keeps a linear program over the policies found so far, whose dual
weighs the data sets; multiplicative weights weigh them by how much the policies so far
exceed the limits. Either asks the CSC oracle for the best policy for its weights, and
stops on a certificate: a mixture within ε_feas of every limit, or weights for which
even the best policy exceeds the weighted limits. What bounds the calls is in
docs/oracles.md.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from ...solvers.lp.array_lp import ArrayLp
from ...solvers.lp.lp import LpSession
from ...solvers.model.model import LinearModel
from .multi_pricing import Priced, Pricing
from .multi_results import MultiResult

WEIGHTS = "multiplicative-weights"


def round_bound(
    n_sets: int, spread: float, epsilon_feas: float, accuracy: float
) -> int:
    """Bound the rounds, one CSC call each, after which ε_feas is reached if it can be.

    Raises ValueError if δ is not below ε_feas.
    """
    if not 0 <= accuracy < epsilon_feas:
        raise ValueError(f"accuracy: {accuracy} is not in [0, {epsilon_feas})")
    ratio = spread / (epsilon_feas - accuracy)
    return max(1, math.ceil(ratio * ratio * math.log(n_sets) / 2))


def multiplicative_weights(pricing: Pricing, max_calls: int) -> MultiResult:
    """Run until a certificate ends it, or the bound or the limit is reached."""
    count, spread = len(pricing.problem), pricing.problem.spread
    rounds = round_bound(count, spread, pricing.epsilon_feas, pricing.accuracy)
    rate = 0.0
    if count > 1 and spread > 0:
        rate = math.sqrt(8 * math.log(count) / rounds) / spread
    total: NDArray[Any] = np.zeros(count, dtype=object if pricing.is_exact else float)
    members: dict[bytes, Priced] = {}
    times: dict[bytes, int] = {}
    done = min(rounds, max_calls)
    for t in range(1, done + 1):
        weights = _weights(rate * total.astype(np.float64))
        found = pricing.price(weights)
        if found.bound > 0:
            return pricing.infeasible(found, WEIGHTS, call_bound=rounds)
        total = total + found.excess
        members.setdefault(found.key, found)
        times[found.key] = times.get(found.key, 0) + 1
        if t < done and float(max(total)) / t > pricing.epsilon_feas:
            continue
        reason = "the CSC oracle did not honour its accuracy"
        if t == max_calls < rounds:
            reason = f"limit of {max_calls} CSC calls; the theorem allows {rounds}"
        answer = pricing.feasible(
            list(members.values()),
            [Fraction(n, t) for n in times.values()],
            WEIGHTS,
            call_bound=rounds,
            reason=reason,
        )
        if answer.feasible:
            break
    return answer


def _weights(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    raised = np.exp(scores - scores.max())
    found: NDArray[np.float64] = raised / raised.sum()
    return found


COLUMNS = "column-generation"

SMOOTHING = 0.7
"""Share of the best weights so far in the weights of the next CSC call."""


class Master(Protocol):
    """The dual program, growing."""

    def add(self, excess: NDArray[Any]) -> None:
        """Add a policy by its excesses, shape (J,)."""

    def solve(self) -> tuple[list[Fraction], NDArray[Any]] | None:
        """Mixture weights (sum 1) and λ; None where the engine fails."""


class FloatMaster:
    """The program in HiGHS, kept between solves."""

    def __init__(self, n_sets: int, magnitude: float) -> None:
        self._scale = magnitude or 1.0
        lower = np.r_[np.zeros(n_sets), -1.0]
        self._lp = ArrayLp(lower, np.ones(n_sets + 1))
        ones = csr_matrix(np.r_[np.ones(n_sets), 0.0][None, :])
        self._lp.add_rows(ones, np.ones(1), np.ones(1))
        self._costs = np.r_[np.zeros(n_sets), 1.0]

    def add(self, excess: NDArray[Any]) -> None:
        """Add a policy."""
        row = np.r_[excess.astype(np.float64) / self._scale, -1.0]
        self._lp.add_rows(csr_matrix(row[None, :]), np.zeros(1), np.full(1, np.inf))

    def solve(self) -> tuple[list[Fraction], NDArray[Any]] | None:
        """Solve; weights are the multipliers, negative ones cut off."""
        outcome = self._lp.solve(self._costs, maximise=True)
        if outcome.values is None or outcome.multipliers is None:
            return None
        shares = np.maximum(-outcome.multipliers[1:], 0)
        weights = np.maximum(outcome.values[:-1], 0)
        if shares.sum() <= 0 or weights.sum() <= 0:
            return None
        rational = [Fraction(w) for w in shares.tolist()]
        total = sum(rational)
        return [w / total for w in rational], weights / weights.sum()


class ExactMaster:
    """The program in rationals."""

    def __init__(self, n_sets: int, magnitude: Fraction) -> None:
        model = LinearModel("weights of data sets", maximise=True)
        self._weights = [model.add_variable(f"λ{j}", 0, 1) for j in range(n_sets)]
        self._value = model.add_variable("s", -magnitude, magnitude)
        model.add_row(self._weights, [1] * n_sets, "==", 1)
        model.set_objective([self._value], [1], maximise=True)
        self._session = LpSession(model)

    def add(self, excess: NDArray[Any]) -> None:
        """Add a policy."""
        indices = [*self._weights, self._value]
        coefficients = [*map(Fraction, excess.tolist()), Fraction(-1)]
        self._session.add_row(indices, coefficients, ">=", 0)

    def solve(self) -> tuple[list[Fraction], NDArray[Any]] | None:
        """Solve exactly; the multipliers of the policies sum to 1 in size."""
        outcome = self._session.solve(exact=True)
        if outcome.values is None or outcome.multipliers is None:
            return None
        shares = [abs(Fraction(y)) for y in outcome.multipliers[1:]]
        total = sum(shares)
        values = [Fraction(v) for v in outcome.values[:-1]]
        weights: NDArray[Any] = np.array(values, dtype=object)
        return [w / total for w in shares], weights


def column_generation(pricing: Pricing, max_calls: int) -> MultiResult:
    """Run until a certificate ends it, or the limit is reached."""
    return _Run(pricing, max_calls).run()


class _Run:
    """One run: the policies found so far, and the program over them.

    The weights priced are not those of the program but between them and the
    ones with the best bound so far (Wentges 1997), which keeps λ from jumping
    about: several times fewer calls for many data sets. A policy that was known
    already is then followed by a call with the program's own weights.
    """

    def __init__(self, pricing: Pricing, max_calls: int) -> None:
        self._pricing, self._max_calls = pricing, max_calls
        self._members: list[Priced] = []
        self._keys: set[bytes] = set()
        self._magnitude = 2 * (1 + Fraction(pricing.problem.magnitude))
        self._in_rationals = False
        self._master = self._new_master()

    def run(self) -> MultiResult:
        """Alternate the program and the CSC oracle."""
        count = len(self._pricing.problem)
        best = found = self._pricing.price(np.full(count, 1 / count))
        at_optimum = False
        while True:
            if found.bound > 0:
                return self._pricing.infeasible(found, COLUMNS, operations=None)
            if found.bound > best.bound:
                best = found
            known = found.key in self._keys
            reason = ""
            if not known:
                self._add(found)
            elif at_optimum and self._in_rationals:
                reason = "the CSC oracle did not honour its accuracy"
            elif at_optimum:
                self._go_exact()
            if self._pricing.calls >= self._max_calls:
                reason = reason or f"limit of {self._max_calls} CSC calls"
            shares, weights = self._solve()
            answer = self._pricing.feasible(
                self._members, shares, COLUMNS, operations=None, reason=reason
            )
            if answer.feasible or reason:
                return answer
            at_optimum = known or best.weights is None
            if not at_optimum and best.weights is not None:
                weights = self._between(best.weights, weights)
            found = self._pricing.price(weights)

    def _between(self, best: NDArray[Any], weights: NDArray[Any]) -> NDArray[Any]:
        near = best.astype(np.float64)
        mixed = SMOOTHING * near + (1 - SMOOTHING) * weights.astype(np.float64)
        found: NDArray[np.float64] = mixed / mixed.sum()
        return found

    def _solve(self) -> tuple[list[Fraction], NDArray[Any]]:
        solved = self._master.solve()
        if solved is None and not self._in_rationals:
            self._go_exact()
            solved = self._master.solve()
        if solved is None:
            raise RuntimeError("a feasible, bounded linear program has no solution")
        return solved

    def _add(self, found: Priced) -> None:
        self._members.append(found)
        self._keys.add(found.key)
        self._master.add(found.excess)

    def _new_master(self) -> Master:
        count = len(self._pricing.problem)
        if self._in_rationals:
            return ExactMaster(count, self._magnitude)
        return FloatMaster(count, float(self._magnitude))

    def _go_exact(self) -> None:
        """Measure the policies again in rationals, and pose the program anew."""
        self._pricing.go_exact()
        self._in_rationals = True
        self._master = self._new_master()
        members, self._members, self._keys = self._members, [], set()
        for member in members:
            self._add(self._pricing.evaluate(member.policy))
