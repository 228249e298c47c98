"""How probable the backup barrier's failure is, exactly or enclosed.

The wrong function is taken at x_{H,b} exactly if the mean of n rewards Ber(1/2) is at
least 1/2 + Δ_H/2: a binomial tail P[S ≥ k], S ~ Bin(n, 1/2), k = ⌈n/2 + n Δ_H/2⌉. Up to
`EXACT_DRAWS` it is computed in integers; beyond, the theorem of Berry and Esseen
encloses it: for fair coins the distribution of (S - n/2)/√(n/4) is within 0.4748/√n of
the normal one (constant of Shevtsova 2011; the third absolute moment of a fair ±1 coin
is 1). That it is at least 1/4 for every n ≤ 1/(8 Δ_H²) is proved in docs/barriers.md.

>>> from olivine.algorithms.barriers.backup import BackupBarrier
>>> failure_probability(BackupBarrier(3, Fraction(1, 4)), 2).exact
Fraction(1, 4)
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction

from .backup import BackupBarrier, Ties

EXACT_DRAWS = 10**5
"""Largest n for which the tail is added up in integers."""

_BERRY_ESSEEN = 0.4748
_ROUNDING = 1e-12


@dataclass(frozen=True)
class Probability:
    """A probability, exact or enclosed."""

    # lower, upper: bounds in [0, 1]; equal up to float64 where it is exact
    lower: float
    upper: float
    # The probability as a rational, or None
    exact: Fraction | None = field(default=None, repr=False)

    @property
    def middle(self) -> float:
        """Middle of the bounds."""
        return (self.lower + self.upper) / 2

    def at_least(self, value: Fraction) -> bool | None:
        """Whether it is at least a value; None where the bounds cannot tell."""
        if self.exact is not None:
            return self.exact >= value
        if self.lower >= value:
            return True
        return False if self.upper < value else None


def failure_probability(
    barrier: BackupBarrier, n: int, ties: Ties = "against"
) -> Probability:
    """Probability that the Bellman backup takes b with n samples from every state."""
    if isinstance(n, bool) or not isinstance(n, int) or n < 1:
        raise ValueError(f"n: {n!r} is no integer of at least 1")
    if ties == "against":
        return fair_tail(n, math.ceil(n * barrier.threshold))
    tied_chain = barrier.ratio == 2 and barrier.H > 1
    if tied_chain or barrier.excess(1) == barrier.epsilon:
        return Probability(0.0, 0.0, Fraction(0))
    return fair_tail(n, math.floor(n * barrier.threshold) + 1)


def fair_tail(n: int, k: int) -> Probability:
    """P[S ≥ k] for S ~ Bin(n, 1/2): exact up to `EXACT_DRAWS`, else enclosed."""
    if n <= EXACT_DRAWS:
        exact = exact_fair_tail(n, k)
        return Probability(float(exact), float(exact), exact)
    # (k - n/2)/√(n/4), the numerator exact before it is rounded.
    standardised = (2 * k - n) / math.sqrt(n)
    tail = math.erfc(standardised / math.sqrt(2)) / 2
    width = _BERRY_ESSEEN / math.sqrt(n) + _ROUNDING
    return Probability(max(0.0, tail - width), min(1.0, tail + width))


def exact_fair_tail(n: int, k: int) -> Fraction:
    """P[S ≥ k] for S ~ Bin(n, 1/2), as a rational; k any integer."""
    if k <= 0:
        return Fraction(1)
    if k > n:
        return Fraction(0)
    if 2 * k <= n:  # P[S ≥ k] = 1 - P[S ≥ n - k + 1]
        return 1 - exact_fair_tail(n, n - k + 1)
    # Add up whichever side of k is shorter: [k, n], or from the middle to k - 1.
    middle = (n + 1) // 2
    if n - k < k - middle:
        return Fraction(_sum_of_binomials(n, k, n), 2**n)
    upper = 2 ** (n - 1)
    if n % 2 == 0:  # half of 1 plus the middle one lies at n/2 and above
        upper += math.comb(n, n // 2) // 2
    return Fraction(upper - _sum_of_binomials(n, middle, k - 1), 2**n)


def _sum_of_binomials(n: int, first: int, last: int) -> int:
    if last < first:
        return 0
    total, term = 0, math.comb(n, first)
    for i in range(first, last + 1):
        total += term
        term = term * (n - i) // (i + 1)
    return total


def slud_bound(barrier: BackupBarrier, n: int) -> float:
    """Right-hand side as printed: 1 - Φ(n Δ_H/2 / √(n/4)), no lower bound in truth."""
    shift = n * float(barrier.excess(barrier.H)) / 2
    return math.erfc(shift / math.sqrt(n / 4) / math.sqrt(2)) / 2
