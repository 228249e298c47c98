"""Claims about the oracles: Proposition "oracles tabular easy", its three parts.

Each check runs the oracle as the proof has it, counts its operations against the
bound, compares the answer with an independent one in exact arithmetic, and fits
the exponent over doubling sizes. Problems are drawn with seed 0.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from ..algorithms.classes.tabular import (
    TabularPolicy,
    TabularPolicyClass,
    TabularValueClass,
)
from ..algorithms.exact.arrays import object_array
from ..algorithms.exact.data import EmpiricalMeasure
from ..algorithms.oracles.csc import csc, importance_costs
from ..algorithms.oracles.ellipsoid import ellipsoid_lp
from ..algorithms.oracles.least_squares import least_squares
from ..algorithms.oracles.lp import lp
from ..algorithms.oracles.problems import (
    exact_cost,
    exact_loss,
    fitted_exponent,
    least_loss,
    random_csc,
    random_least_squares,
    random_lp,
)
from .claim import EXACT, EXHAUSTIVE, Evidence, Refuted, claim
from .support.plain_oracles import (
    CSC_CONSTANT,
    LS_CONSTANT,
    plain_csc,
    plain_least_squares,
)

SOURCE = "paper, Proposition oracles tabular easy (appendix, its proof)"
_SEED = 0
_ACCURACY = 1e-9


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
        found = csc(TabularPolicyClass(size, k), data, costs, epsilon_sub=_ACCURACY)
        best = exact_cost(found.policy, data, costs)
        if best + max(worth) > Fraction(_ACCURACY):
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
    "n K + K |X| with one walk through the data; both return an optimal policy.",
)
def _csc_is_polynomial() -> Evidence:
    rng = np.random.default_rng(_SEED)
    compared = 0
    for n, size, k in itertools.product((1, 3, 8), (1, 2, 4), (1, 2, 3)):
        problem = random_csc(rng, n, size, k)
        policies = TabularPolicyClass(size, k)
        arguments = (policies, problem.data, problem.costs)
        plain = plain_csc(*arguments, epsilon_sub=_ACCURACY)
        fast = csc(*arguments, epsilon_sub=_ACCURACY)
        tables = map(np.array, itertools.product(range(k), repeat=size))
        given = problem.data, problem.costs
        best = min(exact_cost(TabularPolicy(table), *given) for table in tables)
        limits = CSC_CONSTANT * n * k * size, n * k + k * size
        for found, limit in zip((plain, fast), limits, strict=True):
            lost = exact_cost(found.policy, *given) - best
            if lost > Fraction(_ACCURACY) or found.operations > limit:
                raise Refuted(f"n={n} |X|={size} K={k}: {found}, {limit=}")
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
        f"{_ACCURACY:g}; exponents of the operations over 8..64 by {text} "
        f"(seed {_SEED})",
    )


@claim(
    "tabular-ls-is-polynomial",
    SOURCE,
    EXACT,
    erratum="21",
    statement="For G = (X → [0, 1]), least squares takes O(n |X|) operations (at "
    f"most {LS_CONSTANT} n |X|), and 3 n + |X| with one walk through the data. The "
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
        plain = plain_least_squares(*arguments, epsilon_sub=_ACCURACY)
        fast = least_squares(*arguments, epsilon_sub=_ACCURACY)
        for found, limit in ((plain, LS_CONSTANT * n * size), (fast, 3 * n + size)):
            lost = exact_loss(found.function, problem.data, problem.targets) - best
            if lost > Fraction(_ACCURACY) or found.operations > limit:
                raise Refuted(f"n={n} |X|={size}: {found}, {limit=}")
        problems += 1
        fitted = fast.function(problem.data.observations)
        outside += int(((fitted == 0) | (fitted == 1)).any())

    def operations(sizes: dict[str, int]) -> int:
        problem = random_least_squares(rng, *sizes.values())
        arguments = TabularValueClass(sizes["|X|"]), problem.data, problem.targets
        return plain_least_squares(*arguments, epsilon_sub=0.1).operations

    largest, text = _exponents(operations, {"n": 24, "|X|": 6})
    return Evidence(
        largest <= 1 + 1e-9 and outside > 0,
        f"{problems} problems against the optimum in rationals, {outside} of them "
        f"with a mean clipped, none loses more than {_ACCURACY:g}; exponents by {text} "
        f"(seed {_SEED})",
    )


@claim("tabular-lp-is-polynomial", SOURCE, EXACT, erratum="22")
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
