"""Sample sizes of the baselines that go backwards: sufficient ones, or free.

None of the baselines is in the paper, so there are no constants "as printed".
The sufficient sizes are derived here, by Hoeffding's inequality and a union bound
over the classes; they are not the best known. Notation: Σ_h runs over h = 1..H, L is
the logarithm in the union bound, and "tabular log sizes" are those of the 0/1
functions at which linear functionals attain their suprema.

PSDP. Uniform actions reach whatever a policy reaches with at least K^-(h-1) of its
probability: action by action, 1/K against at most 1. So for a class that holds the
greedy policy of every π_{h+1:H} (policy completeness), V* - V^π̂ ≤ Σ_h K^(h-1) gap_h,
gap_h being the loss of π̂_h at level h under uniform roll-in. With C = Σ_h K^(h-1) it is
enough that gap_h ≤ 2 dev + ε_sub ≤ ε/C: dev = ε/(4C), ε_sub = ε/(2C), and returns
weighted by K lie in [0, K]: n = K² L/(2 dev²), L = ln(4H|Π|/δ).

Fitted Q iteration. If every clipped backup of a Q-function of level h+1 is in the
class (completeness; T Q clipped to [0,1], in a convex class), then
V* - V^π̂ ≤ 2 Σ_h h √(K^h τ), where τ bounds the squared error of each of the K
regressions of a level. With B ≥ 2 Σ_h h K^(h/2): τ = ε²/B², dev = τ/4, ε_sub = τ/2;
weighted losses lie in a range of 6K: n = 36K² L/(2 dev²), L = ln(4HK|G|/δ), g² and
g being counted as free of each other.

Bellman backups. They sample every state, so no K^H: V* - V^π̂ ≤ H p + H(H-1) v, where
p bounds the loss of π̂_h and v the error of ĝ_h against r + ĝ_{h+1}(x') under π̂_h, in
any state. Where the best backup of every g, clipped to [0, 1], is in the classes
(policy-value completeness, or clipped), what π̂_h loses adds to the squared error of
ĝ_h; so each of the two gets half of v², over at most M states: v = ε/(2H²),
dev = v²/(8M), ε_sub = v²/(4M) (then p ≤ v²/2 < ε/(2H)); ranges up to 6K;
n = 36K² L/(2 dev²), L = ln(8MH|G||Π|/δ). Without completeness no size polynomial in H
is enough (paper, appendix Additional Barriers, theorem on Bellman backups).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from olivine.algorithms.learning.parameters import (
    Number,
    check_count,
    check_unit,
    ratio_up,
    rational,
)

PSDP, FQI, BACKUP = "psdp", "fqi", "backup"
BATCH = (PSDP, FQI, BACKUP)


@dataclass(frozen=True, kw_only=True)
class BatchParameters:
    """Constants of PSDP, fitted Q iteration or Bellman backups.

    Attributes
    ----------
    algorithm
        ``"psdp"``, ``"fqi"`` or ``"backup"``.
    eps, delta
        ε and δ, in (0, 1).
    M, K, H
        Bound on the hidden states of a level, actions, levels.
    n
        Trajectories of a data set: of a level, or (backup) of each state.
    eps_sub
        Optimality asked of the oracles, positive.
    on_policy
        For backup: whether ĝ_h is fitted to n further trajectories of each state,
        with actions π̂_h(x), instead of to those that chose π̂_h, weighted by
        K 1{a = π̂_h(x)}.
    per_action
        For backup: whether n trajectories of each state *and action* are drawn, so
        that "given a = π(x)" is an average over exactly n.
    version
        ``"theorem"`` or ``"practical"``.
    """

    algorithm: str
    eps: Fraction
    delta: Fraction
    M: int
    K: int
    H: int
    n: int
    eps_sub: Fraction
    on_policy: bool = False
    per_action: bool = False
    version: str = "practical"

    def __post_init__(self) -> None:
        """Check ranges; ValueError names the argument."""
        if self.algorithm not in BATCH:
            raise ValueError(f"algorithm: {self.algorithm!r} is none of {BATCH}")
        check_unit("epsilon", self.eps)
        check_unit("delta", self.delta)
        for name in ("M", "K", "H", "n"):
            check_count(name, getattr(self, name))
        if not self.eps_sub > 0:
            raise ValueError(f"eps_sub: {self.eps_sub} is not positive")
        for name in ("on_policy", "per_action"):
            chosen = getattr(self, name)
            if not isinstance(chosen, bool):
                raise ValueError(f"{name}: {chosen!r} is not true or false")
            if chosen and self.algorithm != BACKUP:
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
        found = {
            "version": self.version,
            "epsilon": float(self.eps),
            "delta": float(self.delta),
            "M": self.M,
            "K": self.K,
            "H": self.H,
            "n": self.n,
            "eps_sub": float(self.eps_sub),
        }
        chosen = [n for n in ("on_policy", "per_action") if getattr(self, n)]
        return found | dict.fromkeys(chosen, True)


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
    """Compute sizes that are enough under completeness (see the module).

    Parameters
    ----------
    algorithm
        ``"psdp"``, ``"fqi"`` or ``"backup"``.
    eps, delta
        ε and δ in (0, 1); floats stand for their decimal digits.
    M, K, H
        As for `BatchParameters`.
    log_G
        ln |G| with g² beside g (``log_size(squared=True)``); not for psdp.
    log_Pi
        ln |Π|; not for fqi.

    Raises
    ------
    ValueError
        For an argument out of range or another algorithm.
    """
    accuracy, chance = rational(eps), rational(delta)
    check_sizes(accuracy, chance, {"M": M, "K": K, "H": H})
    for name, size in (("log_G", log_G), ("log_Pi", log_Pi)):
        if not 0 <= size < math.inf:
            raise ValueError(f"{name}: {size} is not finite and at least 0")
    if algorithm == PSDP:
        reach = concentrability(K, H)
        union = log_over(4 * H, chance) + log_Pi
        n, eps_sub = _draws(K, union, accuracy / (4 * reach)), accuracy / (2 * reach)
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
    algorithm: str,
    eps: Number,
    delta: Number,
    *,
    M: int,
    K: int,
    H: int,
    n: int | None = None,
    eps_sub: Number | None = None,
    on_policy: bool = False,
    per_action: bool = False,
) -> BatchParameters:
    """Free parameters; by default n = 400K and ε_sub as VALOR's.

    Raises
    ------
    ValueError
        For a value out of range.
    """
    accuracy = rational(eps)
    check_count("K", K)
    if eps_sub is None:
        eps_sub = min(abs(accuracy) / 16, Fraction(1, 10**4)) or Fraction(1)
    return BatchParameters(
        algorithm=algorithm,
        eps=accuracy,
        delta=rational(delta),
        M=M,
        K=K,
        H=H,
        n=400 * K if n is None else n,
        eps_sub=rational(eps_sub, "eps_sub"),
        on_policy=on_policy,
        per_action=per_action,
    )


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
    roots = (h * _root_up(K**h) for h in range(1, H + 1))
    return 2 * sum(roots)


def _root_up(number: int) -> int:
    root = math.isqrt(number)
    return root if root * root == number else root + 1


def _draws(width: int, union: float, deviation: Fraction) -> int:
    """Hoeffding: draws of a variable with a range for deviation at most so much."""
    return ratio_up(width**2 * union, 2 * deviation**2)


def log_over(product: int, delta: Fraction) -> float:
    """ln(product / δ), for δ however small."""
    return math.log(product) + math.log(delta.denominator) - math.log(delta.numerator)


def check_sizes(eps: Fraction, delta: Fraction, sizes: dict[str, int]) -> None:
    """Refuse ε and δ outside (0, 1) and sizes below 1 with a ValueError."""
    check_unit("epsilon", eps)
    check_unit("delta", delta)
    for name, value in sizes.items():
        check_count(name, value)
