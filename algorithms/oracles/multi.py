"""The multi-data-set classification oracle (paper, appendix "Additional oracles").

Given data sets D_j with costs c_j and limits U_j, find a policy whose average cost on
each is at most U_j + ε_feas, if some policy of Π is within U_j on each. For one
deterministic tabular policy that is NP-hard (`olivine.reduction.multi`) though
CSC is easy. CSC calls give a finite mixture of policies, in which costs and values are
linear (docs/errata.md, 7): ``multiplicative-weights``, with the theorem's bound on
calls, or ``column-generation``, of few policies, any ε_feas. ``disjoint`` finds one
tabular policy where no observation is in two sets, ``deterministic`` one policy by MILP
or enumeration, for contrast. ``auto`` is disjoint where that applies, else column
generation. Infeasible comes with weights λ for which even the best policy exceeds the
weighted limits.

>>> from olivine.algorithms.classes import TabularPolicyClass
>>> data = EmpiricalMeasure([0])
>>> sets = [ClassificationSet(data, [[0, 1]], 0.5),
...         ClassificationSet(data, [[1, 0]], 0.5)]
>>> found = multi(TabularPolicyClass(1, 2), sets, epsilon_feas=1e-6)
>>> found.status.value, found.policy(data.observations).tolist()
('feasible', [[0.5, 0.5]])
>>> multi(TabularPolicyClass(1, 2), sets, epsilon_feas=1e-6,
...       method="deterministic").status.value
'infeasible'
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from ...solvers.lp import LpSession
from ...solvers.lp.highs import ArrayLp
from ...solvers.model import LinearModel, Row, integer_row
from ...solvers.outcome import Status
from ..classes.finite import FinitePolicyClass, TabularPolicy, TabularPolicyClass
from ..classes.protocols import PolicyClass
from ..exact.data import EmpiricalMeasure
from . import check_accuracy
from .csc import csc
from .ledger import oracle
from .multi_data import (
    ClassificationSet,
    CscOracle,
    InfeasibilityCertificate,
    MultiResult,
    MultiStatus,
    Priced,
    Pricing,
    Problem,
)

__all__ = [
    "METHODS",
    "ClassificationSet",
    "EmpiricalMeasure",
    "InfeasibilityCertificate",
    "Method",
    "MultiResult",
    "MultiStatus",
    "multi",
    "round_bound",
]

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


class FloatMaster:
    """The dual program, growing, in HiGHS.

    `add` takes a policy by its excesses, shape (J,); `solve` gives mixture weights (sum
    1) and λ, None where the engine fails.
    """

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
    """The same in rationals."""

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


class ColumnGeneration:
    """A run of column generation: the policies found so far, and the program over them.

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
        """Run until a certificate ends it, or the limit is reached."""
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
        mixed = SMOOTHING * best.astype(np.float64)
        mixed += (1 - SMOOTHING) * weights.astype(np.float64)
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

    def _new_master(self) -> FloatMaster | ExactMaster:
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


METHOD = "deterministic"

_FEW_DIGITS = 10**6


def deterministic(
    policy_class: Any, pricing: Pricing, max_calls: int, time_limit: float | None
) -> MultiResult:
    """Find one policy within ε_feas of every limit, tabular or finite."""
    if not isinstance(policy_class, TabularPolicyClass | FinitePolicyClass):
        raise ValueError(
            f"method: no deterministic form for {type(policy_class).__name__}"
        )
    relaxed = ColumnGeneration(pricing, max_calls).run()
    if relaxed.status is MultiStatus.INFEASIBLE:
        return replace(relaxed, method=METHOD, nodes=0)
    if relaxed.policy is not None:
        for member in relaxed.policy.members:
            answer = _single(pricing, pricing.evaluate(member), nodes=0)
            if answer.feasible:
                return answer
    if isinstance(policy_class, FinitePolicyClass):
        return _enumerate(policy_class, pricing)
    return _by_milp(policy_class, pricing, time_limit)


def _single(pricing: Pricing, found: Priced, **more: Any) -> MultiResult:
    one = [Fraction(1)]
    return pricing.feasible([found], one, METHOD, operations=None, **more)


def _enumerate(policy_class: FinitePolicyClass, pricing: Pricing) -> MultiResult:
    for policy in policy_class.members:
        member: Any = policy
        answer = _single(pricing, pricing.evaluate(member), nodes=0)
        if answer.feasible:
            return answer
    return pricing.none(MultiStatus.INFEASIBLE, METHOD, proved=True, nodes=0)


def deterministic_model(
    policy_class: TabularPolicyClass, pricing: Pricing
) -> LinearModel:
    """Write the problem as a MILP: a binary z(x, a), in the order x K + a.

    Coefficients of many digits, which no engine could hold, are rounded to multiples of
    ε_feas / (2 S), S observations, and limits move up by ε_feas / 2: policies within
    the limits stay feasible, and feasible ones are within ε_feas.
    """
    k, size = policy_class.n_actions, len(pricing.problem.measure)
    model = LinearModel("multi-data-set classification", maximise=False)
    for x in pricing.problem.measure.observations.tolist():
        for a in range(k):
            model.add_variable(f"π({x},{a})", 0, 1, integer=True)
    for s in range(size):
        model.add_row([s * k + a for a in range(k)], [1] * k, "==", 1)
    tolerance = Fraction(pricing.epsilon_feas)
    step = tolerance / (2 * size)
    tables = pricing.problem.rationals
    limits = zip(tables.coefficients(), pricing.problem.limits, strict=True)
    for j, ((places, numbers), limit) in enumerate(limits):
        row = Row("", tuple(places), tuple(numbers), "<=", limit)
        integers, side = integer_row(row)
        if max(abs(side), *map(abs, integers)) > _FEW_DIGITS:
            numbers = [round(v / step) * step for v in numbers]
            limit = math.floor((limit + tolerance / 2) / step) * step
        model.add_row(places, numbers, "<=", limit, f"data set {j + 1}")
    return model


def _by_milp(
    policy_class: TabularPolicyClass, pricing: Pricing, time_limit: float | None
) -> MultiResult:
    from ...solvers.milp.milp import solve_milp  # loads PuLP

    model = deterministic_model(policy_class, pricing)
    outcome = solve_milp(model, time_limit=time_limit)
    nodes = outcome.nodes or 0
    if outcome.status is Status.INFEASIBLE:
        none = MultiStatus.INFEASIBLE
        return pricing.none(none, METHOD, proved=False, nodes=nodes)
    if outcome.values is None:
        return pricing.none(
            MultiStatus.UNKNOWN,
            METHOD,
            proved=False,
            nodes=nodes,
            reason=outcome.reason or outcome.status.value,
        )
    size, k = len(pricing.problem.measure), policy_class.n_actions
    chosen = np.array(outcome.values, dtype=np.float64).reshape(size, k).argmax(axis=1)
    actions = np.zeros(policy_class.n_observations, dtype=np.int64)
    actions[pricing.problem.measure.observations] = chosen
    found = pricing.evaluate(TabularPolicy(actions))
    return _single(
        pricing, found, nodes=nodes, reason="the engine's policy exceeds ε_feas"
    )


Method = Literal[
    "auto", "multiplicative-weights", "column-generation", "disjoint", "deterministic"
]
METHODS: tuple[Method, ...] = Method.__args__  # type: ignore[attr-defined]


def _rows(
    policy_class: PolicyClass, sets: Sequence[ClassificationSet], **options: object
) -> int:
    return sum(len(item.data) for item in sets)


@oracle("multi", rows=_rows, function="policy")
def multi(
    policy_class: PolicyClass,
    /,
    sets: Sequence[ClassificationSet],
    *,
    epsilon_feas: float,
    method: Method = "auto",
    csc_oracle: CscOracle = csc,
    max_calls: int = 100_000,
    time_limit: float | None = None,
) -> MultiResult:
    """Find a policy of low cost on several data sets.

    Parameters
    ----------
    policy_class
        Π.
    sets
        Data sets with costs and limits, at least one.
    epsilon_feas
        Violation allowed of each limit, positive.
    method
        See the module.
    csc_oracle
        Called as `csc`: with yours, the oracle works for any class yours works for.
    max_calls
        Limit on CSC calls.
    time_limit
        Seconds for the MILP of ``deterministic``.

    Returns
    -------
    MultiResult
        A mixture (of one policy, where the method is deterministic), the violation it
        is certified to achieve, or a proof that there is none.

    Raises
    ------
    ValueError
        If there is no data set or one is bad (names its number, the argument and the
        row), an accuracy or limit is not positive, or the method is unknown or does not
        fit.
    """
    check_accuracy("epsilon_feas", epsilon_feas)
    if max_calls < 1:
        raise ValueError(f"max_calls: {max_calls} is not positive")
    if method not in METHODS:
        raise ValueError(f"method: unknown {method!r}; choose from {METHODS}")
    problem = Problem(policy_class, sets)
    pricing = Pricing(policy_class, problem, csc_oracle, epsilon_feas)
    tabular = isinstance(policy_class, TabularPolicyClass)
    if method == "auto":
        separate = tabular and problem.is_disjoint
        method = "disjoint" if separate else "column-generation"
    if method == "disjoint":
        if not tabular:
            raise ValueError("method: disjoint needs a tabular class")
        if not problem.is_disjoint:
            raise ValueError("method: disjoint, but an observation is in two sets")
        return solve_disjoint(pricing)
    if method == "deterministic":
        return deterministic(policy_class, pricing, max_calls, time_limit)
    if method == "multiplicative-weights":
        return multiplicative_weights(pricing, max_calls)
    return ColumnGeneration(pricing, max_calls).run()


def solve_disjoint(pricing: Pricing) -> MultiResult:
    """Solve the tabular problem without shared observations: one CSC call.

    Equal weights give the best for each set; a call on a set alone proves a failure.
    """
    count = len(pricing.problem)
    found = pricing.price(np.full(count, 1 / count))
    one = [Fraction(1)]
    answer = pricing.feasible([found], one, "disjoint", reason="rounding")
    if answer.feasible:
        return answer
    alone = np.zeros(count)
    alone[int(np.argmax(found.excess))] = 1
    again = pricing.price(alone)
    if again.bound > 0:
        return pricing.infeasible(again, "disjoint")
    # Nothing was certain: the best for equal weights was not best for the set.
    return ColumnGeneration(pricing, pricing.calls + 100 * count).run()
