"""Oracles.

Each oracle's definition against enumeration, and that the oracles of tabular classes
are polynomial: operations are counted, answers compared with independent ones in exact
arithmetic, and exponents fitted over doubling sizes. Problems are drawn with seed 0.
"""

import functools
import itertools
from collections.abc import Callable
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linprog

from ..algorithms.classes import FinitePolicyClass, FiniteValueClass, LinearValueClass
from ..algorithms.classes.finite import (
    TabularPolicy,
    TabularPolicyClass,
    TabularValue,
    TabularValueClass,
)
from ..algorithms.exact.arrays import check_reals, object_array
from ..algorithms.exact.data import EmpiricalMeasure
from ..algorithms.oracles import (
    Constraint,
    CscResult,
    Functional,
    LeastSquaresResult,
    check_accuracy,
    exact_cost,
    exact_loss,
    fitted_exponent,
    least_loss,
    random_csc,
    random_least_squares,
    random_lp,
    scaled_integers,
)
from ..algorithms.oracles.csc import check_costs, csc, importance_costs
from ..algorithms.oracles.least_squares import least_squares
from ..algorithms.oracles.ledger import count_operations
from ..algorithms.oracles.lp import LpStatus, lp
from ..algorithms.oracles.multi import ClassificationSet, MultiStatus, multi
from . import DRAWN, EXACT, EXHAUSTIVE, Evidence, Refuted, claim, claims_of
from .ellipsoid import ellipsoid_lp

WALK_CONSTANT = 10
"""Entries of arrays that one walk takes, over nK + K|X| for CSC, 3n + |X| for LS."""

CSC_CONSTANT = 3
"""c with operations ≤ c n K |X|."""

LS_CONSTANT = 9
"""c with operations ≤ c n |X|."""

setting = claims_of("paper, section Setting, Function Classes and Optimization Oracles")
appendix = claims_of(
    "paper, appendix Additional Notation and Definitions, Additional Oracles"
)

_ACCURACY = 1e-6
_PROBLEMS = 20


@setting("oracle-csc", "(cost-sensitive classification)", EXHAUSTIVE)
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


@appendix("oracle-ls", "(least squares)", EXHAUSTIVE)
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


@setting("oracle-lp", "(linear programs on value functions)", EXHAUSTIVE)
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


@setting(
    "oracle-lp-linear", "(for linear G this reduces to a linear program in R^d)", DRAWN
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


@appendix(
    "oracle-multi", "(multi data set classification; it generalises CSC)", EXHAUSTIVE
)
def _multi() -> str:
    """With one data set a policy of cost at most U + ε_feas is found where U is the
    least cost that CSC finds, and proved not to exist for a U below it by more than
    ε_feas; with several, a policy that keeps all limits is never missed."""
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


SOURCE = "paper, Proposition oracles tabular easy (appendix, its proof)"
_SEED = 0
_FINE = 1e-9


@claim(
    "policy-optimisation-is-csc",
    "paper, Computational and Sample Complexity of VALOR (first reduction)",
    EXHAUSTIVE,
)
def _policy_optimisation_is_csc() -> str:
    """Maximising V_D(π; {V_a}) = E_D[K 1{π(x) = a}(r + V_a)] is one CSC call: on the
    data (x, -[K 1{a = a_i} y_i]_a) with y = r + V_a the cost of any policy is exactly
    -V_D(π; {V_a}), so the oracle's policy maximises V_D."""
    rng = np.random.default_rng(_SEED)
    compared = 0
    for n, size, k in itertools.product((1, 4, 9), (1, 2, 4), (1, 2, 3)):
        xs, taken = rng.integers(size, size=n), rng.integers(k, size=n)
        rewards = object_array([Fraction(int(v), 6) for v in rng.integers(0, 7, n)])
        futures = object_array([Fraction(int(v), 7) for v in rng.integers(0, 8, k)])
        data = EmpiricalMeasure(xs, weights=rng.integers(1, 5, n))
        costs = importance_costs(taken, rewards + futures[taken], k)
        worth = []
        for table in itertools.product(range(k), repeat=size):
            chosen = np.array(table)[xs] == taken
            gains = data.weights * k * chosen * (rewards + futures[taken])
            worth.append(Fraction(gains.sum()) / data.total_weight)
            cost = exact_cost(TabularPolicy(np.array(table)), data, costs)
            if cost != -worth[-1]:
                raise Refuted(f"π = {table}: cost {cost}, V_D {worth[-1]}")
        found = csc(TabularPolicyClass(size, k), data, costs, epsilon_sub=_FINE)
        best = exact_cost(found.policy, data, costs)
        if best + max(worth) > Fraction(_FINE):
            raise Refuted(f"n={n} |X|={size} K={k}: {best}, {max(worth)}")
        compared += len(worth)
    return f"{compared} policies on 27 weighted data sets, exactly; CSC finds the best"


def _exponents(
    operations: Callable[[dict[str, int]], int], sizes: dict[str, int]
) -> tuple[float, str]:
    """Fit the exponent of the operations in each size; the largest, and all as text."""
    grown = (8, 16, 32, 64)
    slopes = {
        axis: fitted_exponent(grown, [operations(sizes | {axis: v}) for v in grown])
        for axis in sizes
    }
    text = ", ".join(f"{axis}: {slope:.2f}" for axis, slope in slopes.items())
    return max(slopes.values()), text


@claim(
    "tabular-csc-is-polynomial",
    SOURCE,
    EXHAUSTIVE,
    statement="For Π = (X → A), cost-sensitive classification takes O(n K |X|) "
    f"operations (at most {CSC_CONSTANT} n K |X| for the proof's own procedure) and "
    f"with one walk through the data at most {WALK_CONSTANT} (n K + K |X|), counted at "
    "the arrays; both return an optimal policy.",
)
def _csc_is_polynomial() -> Evidence:
    rng = np.random.default_rng(_SEED)
    compared = 0
    for n, size, k in itertools.product((1, 3, 8), (1, 2, 4), (1, 2, 3)):
        problem = random_csc(rng, n, size, k)
        policies = TabularPolicyClass(size, k)
        arguments = (policies, problem.data, problem.costs)
        plain = plain_csc(*arguments, epsilon_sub=_FINE)
        solve = functools.partial(csc, policies, epsilon_sub=_FINE)
        fast = count_operations(solve, problem.data, problem.costs)
        tables = map(np.array, itertools.product(range(k), repeat=size))
        given = problem.data, problem.costs
        best = min(exact_cost(TabularPolicy(table), *given) for table in tables)
        limit, walk = CSC_CONSTANT * n * k * size, WALK_CONSTANT * (n * k + k * size)
        for policy, done, most in (
            (plain.policy, plain.operations, limit),
            (fast.result.policy, fast.operations, walk),
        ):
            lost = exact_cost(policy, *given) - best
            if lost > Fraction(_FINE) or not 0 < done <= most:
                raise Refuted(f"n={n} |X|={size} K={k}: {lost} lost, {done} of {most}")
        compared += k**size

    def operations(sizes: dict[str, int]) -> int:
        problem = random_csc(rng, *sizes.values())
        policies = TabularPolicyClass(sizes["|X|"], sizes["K"])
        arguments = policies, problem.data, problem.costs
        return plain_csc(*arguments, epsilon_sub=0.1).operations

    largest, text = _exponents(operations, {"n": 24, "|X|": 6, "K": 3})
    return Evidence(
        largest <= 1 + 1e-9,
        f"27 problems against all {compared} policies, none loses more than "
        f"{_FINE:g}; exponents of the operations over 8..64 by {text} "
        f"(seed {_SEED})",
    )


@claim(
    "tabular-ls-is-polynomial",
    SOURCE,
    EXACT,
    "21",
    statement="For G = (X → [0, 1]), least squares takes O(n |X|) operations (at "
    f"most {LS_CONSTANT} n |X|), and at most {WALK_CONSTANT} (3 n + |X|), counted at "
    "the arrays, with one walk through the data. The "
    "best value at an observation is the mean of its targets clipped to [0, 1]; the "
    "printed proof gives the mean, which is no member of G where targets leave [0, 1].",
)
def _ls_is_polynomial() -> Evidence:
    rng = np.random.default_rng(_SEED)
    problems, outside = 0, 0
    for n, size in itertools.product((1, 4, 16, 64), (1, 3, 9)):
        problem = random_least_squares(rng, n, size)
        values = TabularValueClass(size)
        best = least_loss(problem.data, problem.targets)
        arguments = (values, problem.data, problem.targets)
        plain = plain_least_squares(*arguments, epsilon_sub=_FINE)
        solve = functools.partial(least_squares, values, epsilon_sub=_FINE)
        fast = count_operations(solve, problem.data, problem.targets)
        for function, done, most in (
            (plain.function, plain.operations, LS_CONSTANT * n * size),
            (fast.result.function, fast.operations, WALK_CONSTANT * (3 * n + size)),
        ):
            lost = exact_loss(function, problem.data, problem.targets) - best
            if lost > Fraction(_FINE) or not 0 < done <= most:
                raise Refuted(f"n={n} |X|={size}: {lost} lost, {done} of {most}")
        problems += 1
        fitted = fast.result.function(problem.data.observations)
        outside += int(((fitted == 0) | (fitted == 1)).any())

    def operations(sizes: dict[str, int]) -> int:
        problem = random_least_squares(rng, *sizes.values())
        arguments = TabularValueClass(sizes["|X|"]), problem.data, problem.targets
        return plain_least_squares(*arguments, epsilon_sub=0.1).operations

    largest, text = _exponents(operations, {"n": 24, "|X|": 6})
    return Evidence(
        largest <= 1 + 1e-9 and outside > 0,
        f"{problems} problems against the optimum in rationals, {outside} of them "
        f"with a mean clipped, none loses more than {_FINE:g}; exponents by {text} "
        f"(seed {_SEED})",
    )


@claim("tabular-lp-is-polynomial", SOURCE, EXACT, "22")
def _lp_is_polynomial() -> Evidence:
    """For G = (X → [0, 1]), the central-cut ellipsoid method, started from the ball
    around the cube and run on the constraints relaxed by ε_feas, returns a function
    within ε_sub and ε_feas, or that there is none, in at most 2(N+1)(ln V_N + N
    ln(√N/2t)) + 2 iterations (rounding apart), N = |X|, t = min(1, ε_feas/max‖A_j‖₁,
    ε_sub/‖o‖₁), V_N the volume of the unit ball: polynomial in N and ln(1/ε). Printed:
    an upper bound on the smallest ellipsoid's volume; what it takes is a lower bound,
    t^N, on the volume of the good answers."""
    rng = np.random.default_rng(_SEED)
    off = 0.01
    rounds, share = [], 0.0
    sizes = (2, 4, 8, 16)
    for size in sizes:
        problem, values = random_lp(rng, size, 3), TabularValueClass(size)
        program = values, problem.objective, problem.constraints
        found = ellipsoid_lp(*program, epsilon_sub=off, epsilon_feas=off)
        best = lp(*program, epsilon_sub=1e-9, epsilon_feas=1e-9, exact=True)
        if found.value is None or best.value is None:
            raise Refuted(f"|X|={size}: a feasible program is called infeasible")
        share = max(share, found.iterations / found.iteration_bound)
        kept = found.violation <= off and share <= 1
        if not kept or found.value < best.value - off:
            raise Refuted(f"|X|={size}: {found} against {best.value}")
        rounds.append(found.iterations)
    slope = fitted_exponent(sizes, rounds)
    return Evidence(
        slope <= 3,
        f"iterations {rounds} at |X| = {list(sizes)}, at most {share:.2f} of the "
        f"bound, exponent {slope:.2f} (the bound's is 2, times ln N); values within "
        f"ε_sub of the optimum in rationals (seed {_SEED})",
    )


def plain_csc(
    policy_class: TabularPolicyClass,
    data: EmpiricalMeasure,
    costs: ArrayLike,
    *,
    epsilon_sub: float,
) -> CscResult:
    """Find the best tabular policy as in the proof.

    Parameters, errors and ties are those of `olivine.algorithms.oracles.csc.csc`. An
    operation is one comparison or one multiplication with addition.
    """
    check_accuracy("epsilon_sub", epsilon_sub)
    codes = policy_class.admit(data.observations).tolist()
    table, scale = scaled_integers(
        check_costs(costs, len(data), policy_class.n_actions)
    )
    vectors, weights = table.tolist(), data.weights.tolist()
    operations, total, actions = 0, 0, []
    for x in range(policy_class.n_observations):
        sums = [0] * policy_class.n_actions
        for code, weight, vector in zip(codes, weights, vectors, strict=True):
            operations += 1
            if code == x:
                for a, cost in enumerate(vector):
                    sums[a] += weight * cost
                    operations += 1
        best = 0
        for a in range(1, len(sums)):
            operations += 1
            if sums[a] < sums[best]:
                best = a
        actions.append(best)
        total += sums[best]
        operations += 1
    cost = Fraction(total) * scale / data.total_weight
    policy = TabularPolicy(np.array(actions, dtype=np.int64))
    return CscResult(policy, float(cost), 0.0, epsilon_sub, operations, cost)


def plain_least_squares(
    value_class: TabularValueClass,
    data: EmpiricalMeasure,
    targets: ArrayLike,
    *,
    epsilon_sub: float,
) -> LeastSquaresResult:
    """Fit a tabular value function as in the proof.

    Parameters and errors are those of
    `olivine.algorithms.oracles.least_squares.least_squares`, without importances.
    """
    check_accuracy("epsilon_sub", epsilon_sub)
    codes = value_class.admit(data.observations).tolist()
    wanted, unit = scaled_integers(check_reals(targets, "targets", (len(data),)))
    numbers, weights = wanted.tolist(), data.weights.tolist()
    operations, values = 0, []
    for x in range(value_class.n_observations):
        mass = moment = 0
        for code, weight, number in zip(codes, weights, numbers, strict=True):
            operations += 1
            if code == x:
                mass += weight
                moment += weight * number
                operations += 2
        mean = Fraction(moment, mass) * unit if mass else Fraction(0)
        values.append(min(max(mean, Fraction(0)), Fraction(1)))
        operations += 4
    errors = (
        weight * (values[code] - number * unit) ** 2
        for code, weight, number in zip(codes, weights, numbers, strict=True)
    )
    loss = sum(errors, Fraction(0)) / data.total_weight
    operations += 2 * len(data)
    function = TabularValue.from_fractions(values)
    return LeastSquaresResult(function, float(loss), 0.0, epsilon_sub, operations)
