"""Sizes of R-max: sufficient ones, or free.

V* - V^π̂ ≤ 2H dev + p, dev being the error of a known pair in reward plus next
value and p the chance to meet an unknown pair. dev = ε/(4H), and p ≤ ε/2 by a test on
each batch: it stops once visits to unknown pairs are at most nε/4, so batches are at
most 4N(m+n)/(nε) + 1, N = X K H pairs. With batches of n = m a pair becomes known after
m to 2m visits, and by the maximal form of Hoeffding's inequality
m = 4L/dev² = 64H² L/ε², L = X ln 2 + ln(8N/δ).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from olivine.algorithms.baselines.parameters import check_sizes, log_over
from olivine.algorithms.learning.parameters import (
    Number,
    check_count,
    check_unit,
    ratio_up,
    rational,
)

RMAX = "rmax"


@dataclass(frozen=True, kw_only=True)
class RmaxParameters:
    """Constants of R-max.

    Attributes
    ----------
    eps, delta
        ε and δ, in (0, 1).
    X, K, H
        Largest number of observations of a level (hidden states where observations
        are features), actions, levels.
    m
        Visits after which a pair is known.
    n
        Episodes of a batch; between two batches the model is planned anew.
    max_batches
        Batches after which the run fails; None: no run needs more than
        `batches`.
    version
        ``"theorem"`` or ``"practical"``.
    """

    eps: Fraction
    delta: Fraction
    X: int
    K: int
    H: int
    m: int
    n: int
    max_batches: int | None = None
    version: str = "practical"

    def __post_init__(self) -> None:
        """Check ranges; ValueError names the argument."""
        check_unit("epsilon", self.eps)
        check_unit("delta", self.delta)
        for name in ("X", "K", "H", "m", "n"):
            check_count(name, getattr(self, name))
        if self.max_batches is not None:
            check_count("max_batches", self.max_batches)

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
        """Most batches of a run.

        Each but the last visits unknown pairs more than n ε/4 times, and N pairs are
        unknown for at most m - 1 + n visits each.
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

    def to_json(self) -> dict[str, Any]:
        """All of them; accuracies as floats, sizes as integers."""
        return {
            "version": self.version,
            "epsilon": float(self.eps),
            "delta": float(self.delta),
            "X": self.X,
            "K": self.K,
            "H": self.H,
            "m": self.m,
            "n": self.n,
            "batches": self.batches,
        }


def rmax_theorem(
    eps: Number, delta: Number, *, X: int, K: int, H: int
) -> RmaxParameters:
    """Compute m = n = 64H²(X ln 2 + ln(8XKH/δ))/ε²; see the module.

    The test that ends a run errs with probability at most δ/2 over all batches if
    n ≥ 16 ln(2T/δ)/ε, T ≤ 8N/ε + 1 batches; this n is.

    Raises
    ------
    ValueError
        For an argument out of range.
    """
    accuracy, chance = rational(eps), rational(delta)
    check_sizes(accuracy, chance, {"X": X, "K": K, "H": H})
    union = X * math.log(2) + log_over(8 * X * K * H, chance)
    m = ratio_up(64 * H**2 * union, accuracy**2)
    return RmaxParameters(
        eps=accuracy, delta=chance, X=X, K=K, H=H, m=m, n=m, version="theorem"
    )


def rmax_practical(
    eps: Number,
    delta: Number,
    *,
    X: int,
    K: int,
    H: int,
    m: int = 20,
    n: int | None = None,
    max_batches: int | None = None,
) -> RmaxParameters:
    """Free parameters; by default m = 20 and batches of 20 episodes or 8/ε.

    Raises
    ------
    ValueError
        For a value out of range.
    """
    accuracy = rational(eps)
    check_unit("epsilon", accuracy)
    return RmaxParameters(
        eps=accuracy,
        delta=rational(delta),
        X=X,
        K=K,
        H=H,
        m=m,
        n=max(20, math.ceil(8 / accuracy)) if n is None else n,
        max_batches=max_batches,
    )
