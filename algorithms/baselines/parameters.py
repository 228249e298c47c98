"""Sample sizes of the baselines: sufficient ones, or free.

The paper prints none. Those derived in docs/baselines.md, by Hoeffding's inequality and
a union bound over the classes, are not the best known.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ..exact.arrays import (
    Number,
    check_count,
    check_type,
    check_unit,
    ratio_up,
    rational,
)
from ..learning.parameters import (
    PacParameters,
    Parameters,
    ProblemSize,
    count,
    flag,
    positive,
    without_none,
)
from ..learning.problem import Problem

PSDP, FQI, BACKUP, RMAX = "psdp", "fqi", "backup", "rmax"
BATCH = (PSDP, FQI, BACKUP)


@dataclass(frozen=True, kw_only=True)
class BatchParameters(Parameters):
    """Constants of PSDP, fitted Q iteration or Bellman backups."""

    M: int = count()
    # Trajectories of a data set: of a level, or (backup) of each state
    n: int = count("trajectories a level", practical=lambda p: 400 * p.K)
    eps_sub: Fraction = positive(
        "optimality asked of the oracles",
        practical=lambda p: min(p.eps / 16, Fraction(1, 10**4)),
    )
    # For backup: whether ĝ_h is fitted to n further trajectories of each state, with
    # actions π̂_h(x), instead of to those that chose π̂_h, weighted by K 1{a = π̂_h(x)}
    on_policy: bool = flag(
        "whether values are fitted to trajectories of their own", default=False
    )
    # For backup: whether n trajectories of each state *and action* are drawn
    per_action: bool = flag(
        "whether each action is sampled n times in each state", default=False
    )

    def agree(self) -> None:
        """Refuse another algorithm, and choices that it does not have."""
        if self.algorithm not in BATCH:
            raise ValueError(f"algorithm: {self.algorithm!r} is none of {BATCH}")
        for name in ("on_policy", "per_action"):
            if getattr(self, name) and self.algorithm != BACKUP:
                raise ValueError(f"{name}: {self.algorithm} has no such choice")
        if self.on_policy and self.per_action:
            raise ValueError("per_action: not together with on_policy")

    @property
    def trajectory_bound(self) -> int:
        """H n; for backup M H n, twice (K times) that with on_policy (per_action)."""
        if self.algorithm != BACKUP:
            return self.H * self.n
        times = self.K if self.per_action else 2 if self.on_policy else 1
        return times * self.M * self.H * self.n

    @property
    def call_bounds(self) -> dict[str, int]:
        """Calls of each oracle, exactly: H csc, K H ls, or H of each."""
        if self.algorithm == PSDP:
            return {"csc": self.H, "ls": 0}
        if self.algorithm == FQI:
            return {"csc": 0, "ls": self.K * self.H}
        return {"csc": self.H, "ls": self.H}

    def to_json(self) -> dict[str, Any]:
        """All of them; accuracies as floats, sizes as integers."""
        chosen = [n for n in ("on_policy", "per_action") if getattr(self, n)]
        return super().to_json() | dict.fromkeys(chosen, True)


def check_batch(
    problem: Problem,
    parameters: BatchParameters,
    algorithm: str,
    *,
    deterministic: bool = False,
) -> None:
    """Refuse parameters of another algorithm; the rest as `Problem.check`."""
    check_type("parameters", parameters, BatchParameters, "BatchParameters")
    if parameters.algorithm != algorithm:
        raise ValueError(f"parameters: of {parameters.algorithm}, not of {algorithm}")
    problem.check(parameters, algorithm, deterministic=deterministic)


def theorem_parameters(
    algorithm: str,
    eps: Number,
    delta: Number,
    *,
    M: int,
    K: int,
    H: int,
    log_G: float = 0.0,
    log_Pi: float = 0.0,
) -> BatchParameters:
    """Compute sizes that are enough under completeness.

    Parameters
    ----------
    algorithm
        ``"psdp"``, ``"fqi"`` or ``"backup"``.
    eps, delta, M, K, H
        As for `BatchParameters`; floats stand for their decimal digits.
    log_G, log_Pi
        ln |G| with g² beside g (``log_size(squared=True)``), not for psdp; ln |Π|, not
        for fqi.

    Raises
    ------
    ValueError
        For an argument out of range or another algorithm.
    """
    accuracy, chance = rational(eps), rational(delta)
    ProblemSize(algorithm, accuracy, chance, M, K, H, log_G, log_Pi, "theorem")
    if algorithm == PSDP:
        factor = concentrability(K, H)
        union = log_over(4 * H, chance) + log_Pi
        n, eps_sub = _draws(K, union, accuracy / (4 * factor)), accuracy / (2 * factor)
    elif algorithm == FQI:
        tau = (accuracy / propagation(K, H)) ** 2
        union = log_over(4 * H * K, chance) + log_G
        n, eps_sub = _draws(6 * K, union, tau / 4), tau / 2
    elif algorithm == BACKUP:
        square = (accuracy / (2 * H**2)) ** 2
        union = log_over(8 * M * H, chance) + log_G + log_Pi
        n, eps_sub = _draws(6 * K, union, square / (8 * M)), square / (4 * M)
    else:
        raise ValueError(f"algorithm: {algorithm!r} is none of {', '.join(BATCH)}")
    return BatchParameters(
        algorithm=algorithm,
        eps=accuracy,
        delta=chance,
        M=M,
        K=K,
        H=H,
        n=n,
        eps_sub=eps_sub,
        version="theorem",
    )


def practical_parameters(
    algorithm: str, eps: Number, delta: Number, **chosen: Any
) -> BatchParameters:
    """Free parameters; by default n = 400K and ε_sub as VALOR's."""
    given = {"eps": rational(eps), "delta": rational(delta)}
    chosen = without_none(chosen, "n", "eps_sub")
    fields = BatchParameters.filled(given, chosen)
    return BatchParameters(algorithm=algorithm, **fields)


@dataclass(frozen=True, kw_only=True)
class RmaxParameters(PacParameters):
    """Constants of R-max."""

    # Most observations of a level (of features: hidden states), actions, levels
    X: int = count()
    K: int = count()
    H: int = count()
    # Visits after which a pair is known
    m: int = count("visits that make a pair known", practical=20)
    # Episodes of a batch; between two batches the model is planned anew
    n: int = count(
        "episodes of a batch", practical=lambda p: max(20, math.ceil(8 / p.eps))
    )
    # None: no run needs more than `batches`
    max_batches: int | None = count(
        "batches after which the run fails", default=None, shown="batches"
    )

    @property
    def pairs(self) -> int:
        """N = X K H, a bound on the pairs of an observation and an action."""
        return self.X * self.K * self.H

    @property
    def patience(self) -> Fraction:
        """Most visits to unknown pairs in a batch that ends the run, n ε/4."""
        return self.n * self.eps / 4

    @property
    def batches(self) -> int:
        """Most batches: each but the last has more than n ε/4 visits to unknown pairs.

        N pairs are unknown for at most m - 1 + n visits each.
        """
        needed = math.floor(self.pairs * (self.m - 1 + self.n) / self.patience) + 1
        if self.max_batches is None:
            return needed
        return min(needed, self.max_batches)

    @property
    def trajectory_bound(self) -> int:
        """Episodes at most."""
        return self.batches * self.n

    @property
    def call_bounds(self) -> dict[str, int]:
        """No oracle is called."""
        return {"csc": 0, "ls": 0}


def rmax_theorem(
    eps: Number, delta: Number, *, X: int, K: int, H: int
) -> RmaxParameters:
    """Compute m = n = 64H²(X ln 2 + ln(8XKH/δ))/ε²; ValueError out of range.

    The test that ends a run errs with probability at most δ/2 over all batches if n ≥
    16 ln(2T/δ)/ε, T ≤ 8N/ε + 1 batches; this n is.
    """
    accuracy, chance = rational(eps), rational(delta)
    check_unit("epsilon", accuracy)
    check_unit("delta", chance)
    X, K, H = check_count("X", X), check_count("K", K), check_count("H", H)
    union = X * math.log(2) + log_over(8 * X * K * H, chance)
    m = ratio_up(64 * H**2 * union, accuracy**2)
    return RmaxParameters(
        eps=accuracy, delta=chance, X=X, K=K, H=H, m=m, n=m, version="theorem"
    )


def rmax_practical(eps: Number, delta: Number, **chosen: Any) -> RmaxParameters:
    """Free parameters; by default m = 20 and batches of 20 episodes or 8/ε."""
    given = {"eps": rational(eps), "delta": rational(delta)}
    chosen = without_none(chosen, "n")
    return RmaxParameters(**RmaxParameters.filled(given, chosen))


def concentrability(K: int, H: int) -> int:
    """Σ_h K^(h-1): what the levels' gaps under uniform roll-in are multiplied by.

    >>> concentrability(2, 3)
    7
    """
    return sum(K**h for h in range(H))


def propagation(K: int, H: int) -> int:
    """Return B ≥ 2 Σ_h h K^(h/2), the square roots rounded up.

    >>> propagation(4, 2)
    20
    """
    return 2 * sum(h * (math.isqrt(K**h - 1) + 1) for h in range(1, H + 1))


def _draws(width: int, union: float, deviation: Fraction) -> int:
    """Hoeffding: draws of a variable with a range for deviation at most so much."""
    return ratio_up(width**2 * union, 2 * deviation**2)


def log_over(product: int, delta: Fraction) -> float:
    """ln(product / δ), for δ however small."""
    return math.log(product) + math.log(delta.denominator) - math.log(delta.numerator)
