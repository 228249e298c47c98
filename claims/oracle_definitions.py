"""Claims about what the paper's oracles are: each definition against enumeration."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from ..algorithms.classes import (
    FinitePolicyClass,
    FiniteValueClass,
    LinearValueClass,
)
from ..algorithms.oracles.csc import csc
from ..algorithms.oracles.functionals import Constraint, Functional
from ..algorithms.oracles.least_squares import least_squares
from ..algorithms.oracles.lp import LpStatus, lp
from ..algorithms.oracles.multi import ClassificationSet, MultiStatus, multi
from ..algorithms.oracles.problems import (
    exact_cost,
    exact_loss,
    random_csc,
    random_least_squares,
)
from .claim import EXHAUSTIVE, Evidence, Refuted, claim

SETTING = "paper, section Setting, Function Classes and Optimization Oracles"
APPENDIX = "paper, appendix Additional Notation and Definitions, Additional Oracles"

_ACCURACY = 1e-6
_PROBLEMS = 20


@claim("oracle-csc", f"{SETTING} (cost-sensitive classification)", EXHAUSTIVE)
def _csc() -> Evidence:
    """The CSC oracle returns a policy of Π whose average cost is within ε_sub of the
    least in Π."""
    rng, worst = np.random.default_rng(0), Fraction(-1)
    for _ in range(_PROBLEMS):
        p = random_csc(rng, 6, 4, 3)
        policies = FinitePolicyClass(rng.integers(3, size=(9, 4)), 3)
        found = csc(policies, p.data, p.costs, epsilon_sub=_ACCURACY).policy
        costs = [exact_cost(m, p.data, p.costs) for m in policies.members]
        worst = max(worst, exact_cost(found, p.data, p.costs) - min(costs))
        if not any(np.array_equal(found(_CODES), m(_CODES)) for m in policies.members):
            raise Refuted("not a policy of Π")
    return Evidence(
        worst <= Fraction(_ACCURACY), f"{_PROBLEMS} problems, off by {float(worst):.1g}"
    )


_CODES = np.arange(4)


@claim("oracle-ls", f"{APPENDIX} (least squares)", EXHAUSTIVE)
def _ls() -> Evidence:
    """The LS oracle returns a function of G whose average squared error is within ε_sub
    of the least in G."""
    rng, worst = np.random.default_rng(0), Fraction(-1)
    for _ in range(_PROBLEMS):
        p = random_least_squares(rng, 6, 4)
        values = FiniteValueClass(rng.random((9, 4)))
        found = least_squares(values, p.data, p.targets, epsilon_sub=_ACCURACY)
        losses = [exact_loss(m, p.data, p.targets) for m in values.members]
        worst = max(worst, exact_loss(found.function, p.data, p.targets) - min(losses))
        members = values.evaluate_all(_CODES).tolist()
        if found.function(_CODES).tolist() not in members:
            raise Refuted("not a function of G")
    return Evidence(
        worst <= Fraction(_ACCURACY), f"{_PROBLEMS} problems, off by {float(worst):.1g}"
    )


def _at_most(coefficients: NDArray[np.float64], limit: float) -> Constraint:
    codes = np.arange(len(coefficients))
    return Constraint(Functional(codes, coefficients), upper=float(limit))


@claim("oracle-lp", f"{SETTING} (linear programs on value functions)", EXHAUSTIVE)
def _lp() -> Evidence:
    """The LP oracle returns a function of G that violates no constraint by more than
    ε_feas and is at most ε_sub worse than the best that violates none; it says so where
    none is feasible."""
    rng, infeasible = np.random.default_rng(0), 0
    for number in range(_PROBLEMS):
        values = FiniteValueClass(rng.random((9, 4)))
        table = values.evaluate_all(_CODES)
        rows, target = rng.random((3, 4)), rng.random(4)
        reached = table @ rows.T
        limits = np.quantile(reached, 0.6, axis=0)
        if number % 4 == 0:
            limits[0] = reached[:, 0].min() - 0.1  # nothing meets it
        kept = table[(reached <= limits).all(axis=1)]
        upwards = bool(number % 2)
        found = lp(
            values,
            Functional(_CODES, target),
            [_at_most(a, u) for a, u in zip(rows, limits, strict=True)],
            maximise=upwards,
            epsilon_sub=_ACCURACY,
            epsilon_feas=_ACCURACY,
        )
        if found.function is None:
            infeasible += 1
            if len(kept) or found.status is not LpStatus.INFEASIBLE:
                raise Refuted(f"problem {number}: {found.status}")
            continue
        got = found.function(_CODES)
        over = float((rows @ got - limits).max())
        sign = 1 if upwards else -1
        best = max((sign * float(g @ target) for g in kept), default=-np.inf)
        # Rounding of these sums themselves is below 1e-12.
        if max(over, best - sign * float(got @ target)) > _ACCURACY + 1e-12:
            raise Refuted(f"problem {number}: over {over}")
    return Evidence(
        0 < infeasible < _PROBLEMS,
        f"{_PROBLEMS} problems, half of them to minimise, {infeasible} infeasible",
    )


@claim(
    "oracle-lp-linear",
    f"{SETTING} (for linear G this reduces to a linear program in R^d)",
    EXHAUSTIVE,
)
def _linear() -> Evidence:
    """For g(x) = ⟨θ, φ(x)⟩ the LP oracle's optimum is that of the linear program over θ
    in R^d (|θ_i| bounded, values in [0, 1])."""
    rng, worst = np.random.default_rng(0), 0.0
    for _ in range(_PROBLEMS):
        features, bound = rng.random((5, 3)), 4.0
        row, target = rng.random(5), rng.uniform(-1, 1, 5)
        found = lp(
            LinearValueClass(features, bound=bound),
            Functional(np.arange(5), target),
            [_at_most(row, 1.0)],
            epsilon_sub=_ACCURACY,
            epsilon_feas=_ACCURACY,
        )
        matrix = np.vstack([row @ features, features, -features])
        right = np.concatenate([[1.0], np.ones(5), np.zeros(5)])
        direct = linprog(
            -(target @ features), A_ub=matrix, b_ub=right, bounds=[(-bound, bound)] * 3
        )
        worst = max(worst, abs(float(found.value or 0.0) + float(direct.fun)))
    return Evidence(
        worst <= 1e-5,
        f"{_PROBLEMS} programs in R^3, optima "
        + ("equal within 1e-5" if worst <= 1e-5 else f"differ by {worst:.1g}"),
    )


@claim(
    "oracle-multi",
    f"{APPENDIX} (multi data set classification; it generalises CSC)",
    EXHAUSTIVE,
)
def _multi() -> str:
    """With one data set a policy of cost at most U + ε_feas is found where U is the
    least cost that CSC finds, and proved not to exist for a U below it by more than
    ε_feas; with several, no policy is missed that meets all limits."""
    rng, met = np.random.default_rng(0), 0
    for number in range(_PROBLEMS):
        p, other = random_csc(rng, 6, 4, 3), random_csc(rng, 6, 4, 3)
        policies = FinitePolicyClass(rng.integers(3, size=(9, 4)), 3)
        least = csc(policies, p.data, p.costs, epsilon_sub=_ACCURACY).cost
        for limit, status in (
            (least, MultiStatus.FEASIBLE),
            (least - 0.01, MultiStatus.INFEASIBLE),
        ):
            single = [ClassificationSet(p.data, p.costs, limit)]
            found = multi(policies, single, epsilon_feas=_ACCURACY)
            if found.status is not status:
                raise Refuted(f"problem {number}: {found.status}")
        member = policies.members[int(rng.integers(9))]
        sets = [
            ClassificationSet(d.data, d.costs, exact_cost(member, d.data, d.costs))
            for d in (p, other)
        ]
        found = multi(policies, sets, epsilon_feas=_ACCURACY)
        if found.status is not MultiStatus.FEASIBLE or found.violation > _ACCURACY:
            raise Refuted(f"problem {number}: {found.status}")
        met += 1
    return f"{2 * met} problems with one data set, {met} with two"
