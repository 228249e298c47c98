"""The parameters of OLIVE's theorem (Jiang et al. 2017), recalled.

The constants are quoted from memory of "Contextual Decision Processes with Low
Bellman Rank are PAC-Learnable" (ICML 2017); the paper that this project is about
does not print them. Natural logarithms.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class OliveParameters:
    """What a run of sampled OLIVE needs to know.

    Attributes
    ----------
    tolerance
        φ, on the estimated average Bellman errors of the pairs kept.
    stop
        OLIVE stops when the estimated errors add up to at most this.
    n_est, n_eval, n_train
        Trajectories for the predicted values (once), for the errors of a round,
        and for a constraint.
    max_rounds
        Rounds after which the run has failed; None for no limit.
    """

    tolerance: Fraction
    stop: Fraction
    n_est: int
    n_eval: int
    n_train: int
    max_rounds: int | None = None

    def __post_init__(self) -> None:
        if self.tolerance < 0 or self.stop < 0:
            raise ValueError("tolerance and stop must not be negative")
        if min(self.n_est, self.n_eval, self.n_train) < 1:
            raise ValueError("a data set needs at least one trajectory")


def theorem_parameters(
    epsilon: float,
    delta: float,
    *,
    horizon: int,
    n_actions: int,
    rank: int,
    log_size: float,
    norm_bound: float | None = None,
) -> OliveParameters:
    """Compute the recalled parameters.

    φ = ε/(12 H √M); stop at 5ε/8; with L = ln(6 H √M ζ / ε),
    n_est = 32 ln(6N/δ)/ε², n_eval = 288 H² ln(12 H² M L/δ)/ε²,
    n = 4608 H² M K ln(12 N H M L/δ)/ε²; at most M H L / ln(5/3) rounds, and one
    to stop.

    Parameters
    ----------
    epsilon, delta
        Accuracy and failure probability, in (0, 1).
    horizon, n_actions
        H and K.
    rank
        M, a bound on the Bellman rank; the number of states of a level will do.
    log_size
        ln N, N the number of pairs (g, π). Estimated errors are affine in g, so
        for tabular values ln 2 a state, plus ln K a state for policies.
    norm_bound
        ζ; 2√M by default, right for M hidden states.

    Raises
    ------
    ValueError
        If a parameter is out of range.
    """
    if not 0 < epsilon < 1 or not 0 < delta < 1:
        raise ValueError(f"epsilon {epsilon} and delta {delta} must lie in (0, 1)")
    if min(horizon, n_actions, rank) < 1 or log_size < 0:
        raise ValueError("horizon, n_actions, rank must be positive, log_size >= 0")
    h, k, m = horizon, n_actions, rank
    zeta = 2 * math.sqrt(m) if norm_bound is None else norm_bound
    length = math.log(6 * h * math.sqrt(m) * zeta / epsilon)
    log_delta = math.log(1 / delta)

    def size(factor: float, inside: float, log_n: float) -> int:
        return math.ceil(factor * (math.log(inside) + log_n + log_delta) / epsilon**2)

    return OliveParameters(
        tolerance=_rational(epsilon / (12 * h * math.sqrt(m))),
        stop=_rational(5 * epsilon / 8),
        n_est=size(32, 6, log_size),
        n_eval=size(288 * h**2, 12 * h**2 * m * length, 0.0),
        n_train=size(4608 * h**2 * m * k, 12 * h * m * length, log_size),
        max_rounds=math.ceil(m * h * length / math.log(5 / 3)) + 1,
    )


def tabular_log_size(n_states: int, n_actions: int) -> float:
    """Compute ln |G| + ln |Π| of the tabular classes; see `theorem_parameters`."""
    return n_states * (math.log(2) + math.log(n_actions))


def _rational(value: float) -> Fraction:
    """Round to a fraction that keeps the programs' numbers small."""
    return Fraction(value).limit_denominator(10**6)
