"""The tabular CSC and LS oracles as the proof has them, operations counted.

Proof of Proposition "oracles tabular easy": for each observation x of X walk
through all n examples, add up those with x_i = x, and decide. That is n |X|
comparisons whatever the data, and O(n K |X|) operations in all; the oracles in
`csc` and `least_squares` walk through the data once. These are here to be
counted and compared with, in exact integers, one operation after the other.

Two slips of the printed proof do no harm: the summed vector is that of c_i(a)
over a, where it prints c_i(π(x)); and the mean of the targets has to be clipped
to [0, 1] (see `least_squares`).
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from ...algorithms.classes.tabular import (
    TabularPolicy,
    TabularPolicyClass,
    TabularValue,
    TabularValueClass,
)
from ...algorithms.exact.arrays import check_reals
from ...algorithms.exact.data import EmpiricalMeasure
from ...algorithms.oracles.csc import check_costs
from ...algorithms.oracles.results import (
    CscResult,
    LeastSquaresResult,
    check_accuracy,
    scaled_integers,
)

CSC_CONSTANT = 3
"""c with operations ≤ c n K |X|."""

LS_CONSTANT = 9
"""c with operations ≤ c n |X|."""


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
