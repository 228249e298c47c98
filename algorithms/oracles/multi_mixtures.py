"""Multi-data-set classification by mixtures: two ways to run CSC calls.

Column generation keeps a linear program over the policies found so far, whose dual
weighs the data sets; multiplicative weights go by how much those policies exceed the
limits. Either asks for the best policy for its weights and stops on a certificate: a
mixture within ε_feas, or weights that prove infeasibility. docs/oracles.md bounds the
calls.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_matrix

from ...solvers.lp.highs import ArrayLp
from ...solvers.lp.lp import LpSession
from ...solvers.model.model import LinearModel
from ..classes.protocols import MixedPolicy, Policy, PolicyClass
from ..exact.data import EmpiricalMeasure
from .multi_data import (
    ExactTables,
    FloatTables,
    InfeasibilityCertificate,
    MultiResult,
    MultiStatus,
    Problem,
)
from .results import CscResult, summation_bound

ROUNDING_SHARE = 1 / 64
"""Share of ε_feas that rounding may take before costs are added up exactly."""

ACCURACY_SHARE = 1 / 8  # share of ε_feas that is asked of every CSC call


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
    rounded = float(value)
    return float(np.nextafter(rounded, np.inf)) if rounded < value else rounded


WEIGHTS = "multiplicative-weights"


def round_bound(
    n_sets: int, spread: float, epsilon_feas: float, accuracy: float
) -> int:
    """Bound the rounds, a CSC call each, that reach ε_feas if it can be."""
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

SMOOTHING = 0.7  # share of the best weights so far in the weights of the next CSC call


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

    Weights priced lie between the program's and those of the best bound so far (Wentges
    1997): several times fewer calls. A policy known already is followed by a call with
    the program's own weights.
    """

    def __init__(self, pricing: Pricing, max_calls: int) -> None:
        self._pricing, self._max_calls = pricing, max_calls
        self._members: list[Priced] = []
        self._keys: set[bytes] = set()
        self._magnitude = 2 * (1 + Fraction(pricing.problem.magnitude))
        self._in_rationals = False
        self._master = self._new_master()

    def run(self) -> MultiResult:
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
        self._pricing.go_exact()
        self._in_rationals = True
        self._master = self._new_master()
        members, self._members, self._keys = self._members, [], set()
        for member in members:
            self._add(self._pricing.evaluate(member.policy))
