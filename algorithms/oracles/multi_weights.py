"""Multi-data-set classification by multiplicative weights over CSC calls.

Each round weights the data sets by how much the policies found so far exceed
their limits, λ_j ∝ exp(η Σ_t (cost_j(π_t) - U_j)), and asks the CSC oracle for
the best policy for these weights. If even the best one exceeds the weighted
limits, λ proves the problem infeasible. Otherwise the uniform mixture of the
policies found approaches feasibility:

    max_j avg_t (cost_j(π_t) - U_j) ≤ δ + ln J / (η T) + η R² / 8

where δ is the accuracy of the CSC calls and R bounds the spread of the excesses
of one policy over the data sets (Hedge with Hoeffding's lemma; Cesa-Bianchi and
Lugosi 2006, Theorem 2.2; the use for feasibility: Arora, Hazan and Kale 2012,
section 3.2, after Plotkin, Shmoys and Tardos 1995). With
η = √(8 ln J / T) / R, after

    T = ⌈R² ln J / (2 (ε_feas - δ)²)⌉

rounds the mixture is within ε_feas: `round_bound`. In practice it is much
earlier, and the run stops when a certificate says so, either way. The mixture
is one of policies of the class: a single policy of it need not exist, and for
tabular classes to find one is NP-hard (`olivine.reduction.multi.hardness`).
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from olivine.algorithms.oracles.multi_pricing import Priced, Pricing
from olivine.algorithms.oracles.multi_results import MultiResult

METHOD = "multiplicative-weights"


def round_bound(
    n_sets: int, spread: float, epsilon_feas: float, accuracy: float
) -> int:
    """Bound the rounds, one CSC call each, after which ε_feas is reached if it can be.

    Parameters
    ----------
    n_sets
        J, at least 1.
    spread
        R.
    epsilon_feas
        Violation allowed.
    accuracy
        δ < ε_feas, suboptimality of the CSC calls.

    Raises
    ------
    ValueError
        If δ is not below ε_feas.
    """
    if not 0 <= accuracy < epsilon_feas:
        raise ValueError(f"accuracy: {accuracy} is not in [0, {epsilon_feas})")
    ratio = spread / (epsilon_feas - accuracy)
    return max(1, math.ceil(ratio * ratio * math.log(n_sets) / 2))


def multiplicative_weights(pricing: Pricing, max_calls: int) -> MultiResult:
    """Run until a certificate ends it, or the bound or the limit is reached.

    Parameters
    ----------
    pricing
        The CSC oracle on the data sets.
    max_calls
        Limit on CSC calls.

    Returns
    -------
    MultiResult
        UNKNOWN where `max_calls` was too little, or where the CSC oracle did not
        honour its accuracy (classes for which CSC is NP-hard).
    """
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
            return pricing.infeasible(found, METHOD, call_bound=rounds)
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
            METHOD,
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
