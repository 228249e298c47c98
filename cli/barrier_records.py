"""What ``olivine barrier average`` and ``square-loss`` find out, as JSON values.

Rationals are strings.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from olivine.algorithms.barriers.average import AverageBarrier, run_all
from olivine.algorithms.barriers.backup_runs import clopper_pearson
from olivine.algorithms.barriers.square_loss import ALWAYS_B, SquareLossBarrier
from olivine.algorithms.exact.numbers import check_count

CONFIDENCE = 0.95
# A share of simulations contradicts the exact probability only beyond this.
BEYOND_DOUBT = 1 - 1e-9
MOST_RUNS = 100_000


def check_runs(runs: int) -> None:
    """Refuse a number of runs that would take days.

    Raises
    ------
    ValueError
        With the range.
    """
    check_count("--runs", runs)
    if runs > MOST_RUNS:
        raise ValueError(f"--runs: {runs} is not in 1..{MOST_RUNS}")


def average(*, seed: int, contexts: int = 8) -> dict[str, Any]:
    """Run the barrier of average constraints.

    Raises
    ------
    ValueError
        For a number of contexts out of range.
    """
    barrier = AverageBarrier(contexts)
    found = run_all(barrier, np.random.default_rng(seed))
    contradictions = []
    if found["average constraints"].value != Fraction(1, 2):
        contradictions.append("average: exploration did not stop at 1/2")
    best = barrier.environment().truth.optimal_value
    return {
        "contexts": contexts,
        "balanced_policies": barrier.n_balanced,
        "policies": 2**contexts,
        "optimal_value": str(best),
        "algorithms": {
            name: {
                "value": str(run.value),
                "promised": str(run.promised),
                "rounds": run.rounds,
                "trajectories": run.trajectories,
                "calls": run.calls,
            }
            for name, run in found.items()
        },
        "contradictions": contradictions,
    }


def square_loss(
    *,
    seed: int,
    epsilon: Fraction = Fraction(1, 16),
    samples: Sequence[int] = (100, 10**4, 10**6, 10**8),
    runs: int = 200,
) -> dict[str, Any]:
    """Compute the square-loss barrier, and sample it where floats allow.

    Raises
    ------
    ValueError
        For a parameter out of range.
    """
    barrier = SquareLossBarrier(epsilon)
    check_runs(runs)
    for n in samples:
        barrier.bad_fits_better(n)  # refuses what is out of range
    functions = {
        name: {
            "values": [str(v) for v in g],
            "square_loss": str(barrier.square_loss(g, ALWAYS_B)),
            "bias": str(barrier.bias(g)),
            "bias_float": float(barrier.bias(g)),
        }
        for name, g in barrier.functions.items()
    }
    losses = [barrier.square_loss(g, ALWAYS_B) for g in barrier.functions.values()]
    contradictions = []
    if losses != [0, epsilon, epsilon]:
        contradictions.append(f"square-loss: the losses are {losses}")
    rows, reason = _fits(barrier, samples, runs, seed, contradictions)
    return {
        "epsilon": str(epsilon),
        "optimal_value": str(barrier.value((0, 0))),
        "value": str(barrier.value(ALWAYS_B)),
        "functions": functions,
        "rows": rows,
        "not_sampled": reason,
        "contradictions": contradictions,
    }


def _fits(
    barrier: Any,
    samples: Sequence[int],
    runs: int,
    seed: int,
    contradictions: list[str],
) -> tuple[list[dict[str, Any]], str]:
    """How often the LS oracle prefers g_bad to g*; or why it was not asked."""
    reason = barrier.why_not_sampled
    if reason:
        return [], reason
    rows = []
    for n in samples:
        rng = np.random.default_rng([seed, n])
        bad = barrier.count_bad_fits(n, runs, rng)
        chance = barrier.bad_fits_better(n)
        low, high = clopper_pearson(bad, runs, BEYOND_DOUBT)
        if not low - 1e-9 <= chance <= high + 1e-9:
            contradictions.append(
                f"square-loss, n = {n}: g_bad fitted better in {bad} of {runs} data "
                f"sets, where the probability is {chance}"
            )
        rows.append(
            {
                "n": n,
                "probability": chance,
                "runs": runs,
                "bad_fits": bad,
                "interval": [
                    round(v, 6) for v in clopper_pearson(bad, runs, CONFIDENCE)
                ],
            }
        )
    return rows, ""
