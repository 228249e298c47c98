"""The parameters of OLIVE: of its theorem (Jiang et al. 2017, recalled), or free.

The paper that this project is about prints none, so there is no version "as printed".
Checked by going through the proof: with predicted values off by ε/8 at most, a round's
errors by ε/(8H), and constraints by φ,

- (V*, π*) meets every constraint, so the optimum is at least V* − ε/8;
- a run that stops loses at most 5ε/8 + ε/8 + 2·ε/8 = ε;
- a run that goes on has an error of at least 5ε/(8H) − ε/(8H) = ε/(2H) at the level
  chosen, where pairs left have at most 2φ: a factor 3√M, which a volume argument turns
  into at most M ln(ζ/(2φ))/ln(5/3) rounds per level.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ..exact.arrays import rational
from ..learning.parameters import Declared, declared

_LARGEST = 1e60  # of M and 1/ε: sizes go with at most M ζ²/ε⁴ and must stay floats


def _check_margin(name: str, value: Any) -> None:
    if value < 0:
        raise ValueError(f"{name}: {value} must not be negative")


def _check_draws(name: str, n: Any) -> None:
    if isinstance(n, bool) or not isinstance(n, int) or n < 1:
        raise ValueError(f"{name}: {n!r}, but a data set needs at least one trajectory")


def _check_limit(name: str, limit: Any) -> None:
    if not isinstance(limit, int) or limit < 0:
        raise ValueError(f"{name}: {limit!r} is no number of rounds")


@dataclass(frozen=True)
class OliveParameters(Declared):
    """Parameters of sampled OLIVE; `stop` ends a run, `max_rounds` None: no limit."""

    tolerance: Fraction = declared(
        _check_margin,
        "φ of every constraint",
        exact=True,
        practical=lambda p: p.eps / (6 * p.H),
    )
    stop: Fraction = declared(
        _check_margin,
        "stop where the estimated errors add up to this",
        exact=True,
        practical=lambda p: p.eps / 2,
    )
    n_est: int = declared(
        _check_draws,
        "trajectories for the predicted values",
        practical=lambda p: math.ceil(64 / p.eps**2),
    )
    n_eval: int = declared(
        _check_draws,
        "trajectories for the errors of a round",
        practical=lambda p: math.ceil(16 * p.H**2 / p.eps**2),
    )
    n_train: int = declared(
        _check_draws,
        "trajectories for a constraint",
        practical=lambda p: math.ceil(
            4 * p.K / (p.tolerance or p.eps / (6 * p.H)) ** 2
        ),
    )
    max_rounds: int | None = declared(
        _check_limit,
        "rounds after which the run has failed",
        default=None,
        practical=lambda p: math.ceil(p.H * p.rounds) + 1,
    )

    def trajectory_bound(self, levels: int = 1) -> int | None:
        """Trajectories at most, a round adding `levels` constraints; None: no limit."""
        if self.max_rounds is None:
            return None
        trained = levels * self.n_train * self.max_rounds
        return self.n_est + self.max_rounds * self.n_eval + trained


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
    """Compute the recalled parameters; ValueError if one is out of range.

    φ = ε/(12 H √M); stop at 5ε/8; with L = ln(6 H √M ζ / ε), n_est = 32 ln(6N/δ)/ε²,
    n_eval = 288 H² ln(12 H² M L/δ)/ε², n = 4608 H² M K ln(12 N H M L/δ)/ε²; at most M H
    L / ln(5/3) rounds, and one to stop. `rank`: M, at most the states of a level.
    `log_size`: ln N, N pairs (g, π): tabular, ln 2 + ln K per state. `norm_bound`: ζ;
    by default 2√M, right for M hidden states.
    """
    if not 0 < epsilon < 1 or not 0 < delta < 1:
        raise ValueError(f"epsilon {epsilon} and delta {delta} must lie in (0, 1)")
    if epsilon < 1 / _LARGEST or rank > _LARGEST:
        raise ValueError(
            f"epsilon, M: not in {1 / _LARGEST:g}..1 and 1..{_LARGEST:g}, where floats "
            "count trajectories"
        )
    if min(horizon, n_actions, rank) < 1 or log_size < 0:
        raise ValueError("horizon, n_actions, rank must be positive, log_size >= 0")
    h, k, m = horizon, n_actions, rank
    rounds = rounds_of_a_level(epsilon, horizon=h, rank=m, norm_bound=norm_bound)
    length = rounds * math.log(5 / 3) / m
    log_delta = math.log(1 / delta)

    def size(factor: float, inside: float, log_n: float) -> int:
        return math.ceil(factor * (math.log(inside) + log_n + log_delta) / epsilon**2)

    return OliveParameters(
        tolerance=_rational(epsilon / (12 * h * math.sqrt(m))),
        stop=_rational(5 * epsilon / 8),
        n_est=size(32, 6, log_size),
        n_eval=size(288 * h**2, 12 * h**2 * m * length, 0.0),
        n_train=size(4608 * h**2 * m * k, 12 * h * m * length, log_size),
        max_rounds=math.ceil(h * rounds) + 1,
    )


def rounds_of_a_level(
    epsilon: float, *, horizon: int, rank: int, norm_bound: float | None = None
) -> float:
    """M L / ln(5/3), the theorem's bound on the rounds that choose one level."""
    zeta = 2 * math.sqrt(rank) if norm_bound is None else norm_bound
    length = math.log(6 * horizon * math.sqrt(rank) * zeta / epsilon)
    return rank * length / math.log(5 / 3)


def practical_parameters(
    epsilon: float, *, horizon: int, n_actions: int, rank: int, **chosen: Any
) -> OliveParameters:
    """Free parameters, with defaults that suit small problems; `chosen`: any field.

    φ = ε/(6H); stop at ε/2, which leaves the other half for the estimates; n_est =
    64/ε², n_eval = 16 H²/ε² (errors are then off by about ε/(8H)), n = 4K/φ² (a
    standard error of a quarter of φ for (V*, π*)); the theorem's limit on the rounds.
    """
    accuracy = rational(epsilon)
    if not 0 < accuracy < 1 or min(horizon, n_actions, rank) < 1:
        raise ValueError(
            f"epsilon {epsilon} must lie in (0, 1), horizon, n_actions and rank be "
            "positive"
        )
    rounds = rounds_of_a_level(epsilon, horizon=horizon, rank=rank)
    given = {"eps": accuracy, "H": horizon, "K": n_actions, "rounds": rounds}
    fields = OliveParameters.filled(given, chosen)
    return OliveParameters(**{k: v for k, v in fields.items() if k not in given})


def trajectory_bound(
    epsilon: float, delta: float, M: int, K: int, H: int, log_size: float
) -> int:
    """Trajectories that the theorem promises are enough: O(M² H³ K ln(N/δ)/ε²)."""
    found = theorem_parameters(
        epsilon, delta, horizon=H, n_actions=K, rank=M, log_size=log_size
    ).trajectory_bound()
    if found is None:
        raise AssertionError("the theorem limits the rounds")
    return found


def tabular_log_size(n_states: int, n_actions: int) -> float:
    """Compute ln |G| + ln |Π| of the tabular classes; see `theorem_parameters`."""
    return n_states * (math.log(2) + math.log(n_actions))


def _rational(value: float) -> Fraction:
    """Round by 2e-6 at most, never to 0, which keeps the programs' numbers small."""
    return Fraction(value).limit_denominator(10**6 * max(1, math.ceil(0.001 / value)))
