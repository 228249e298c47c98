"""Parameters of the two-sample algorithm: as printed, as corrected, or free.

>>> p = TwoSampleTheoremParameters(0.3, 0.1, M=2, K=2, H=3, log_G=5.5, log_Pi=3)
>>> p.n_exp, p.T_max, p.n_train > 10**24
(147, 2652, True)
>>> p.policy_bound <= p.eps / 8 and p.estimate_bound <= p.eps / 8
True
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ..exact.arrays import ratio_up
from ..learning.parameters import (
    ByChoice,
    ByTheorem,
    DfsParameters,
    ProblemSize,
    count,
    flag,
    positive,
)

TWO_SAMPLE = "two-sample"

_ROOT_BITS = 256


@dataclass(frozen=True, kw_only=True)
class TwoSampleParameters(DfsParameters):
    """What a run of the two-sample algorithm needs to know."""

    algorithms = (TWO_SAMPLE,)

    algorithm: str = TWO_SAMPLE
    tau: Fraction = positive(
        "accuracy of means; the identity test compares with 2τ",
        practical=Fraction(1, 8),
    )
    tau_V: Fraction = positive(  # noqa: N815
        "accuracy of policy values", practical=lambda p: p.eps / 16
    )
    tau_L: Fraction = positive(  # noqa: N815
        "accuracy of squared losses", practical=lambda p: p.eps / 16
    )
    # Of τ for the LP oracle, of τ_V for CSC, of τ_L for LS.
    oracle_share: Fraction = positive(
        "what oracles may be off by, as a share of these", default=Fraction(1, 2**10)
    )
    n_train: int = count("draws of a data set", practical=lambda p: 200 * p.K, place=1)
    T_max: int = count(
        "dfslearn calls of a level",
        practical=lambda p: p.M * (p.K + 1) * (1 + p.H * p.n_exp),
        place=3,
    )
    repeat_paths: bool = flag(
        "whether paths explored on demand are explored again",
        default=True,
        practical=False,
    )

    @classmethod
    def constants(cls, problem: ProblemSize) -> dict[str, Any]:
        """Compute what the theorem prescribes; log |G| is that for squared losses.

        As printed τ_V is set for sums over M data sets, τ_L over T_max; policy values
        are summed over the learned sets (up to T_max) and losses over the val sets (up
        to M): exchanged, they give the proof's own last line (docs/errata.md, 15).
        """
        p = problem
        calls = p.M * (p.K + 1) * (1 + p.H * p.n_exp)
        policies, losses = (p.M, calls) if p.version == "paper" else (calls, p.M)
        tau_v = p.eps**2 / (2**8 * 3**4 * p.M * policies * p.H**4)
        tau_l = p.eps**2 / (2**7 * 3**2 * p.H**4 * losses)
        inside = p.log(12 * p.H * calls, 2 * p.log_values, p.log_policies)
        return {
            "tau": p.eps / (2**6 * 3 * p.H**2),
            "tau_V": tau_v,
            "tau_L": tau_l,
            "n_train": ratio_up(16 * p.K * inside, 1 / (2 / tau_l**2 + 1 / tau_v**2)),
            "n_exp": p.n_exp,
            "n_eval": p.n_eval,
            "T_max": calls,
        }

    @property
    def visits(self) -> int:
        """Most dfslearn calls of a level in event E, no more than the theorem's T_max.

        M K by recursion; on demand, by iteration, n_exp paths and K children of n_exp.
        """
        on_demand = self.iterations * self.n_exp * (self.K + 1)
        return self.M * self.K + on_demand

    @property
    def trajectory_bound(self) -> int:
        """Return the proof's own sum, H T_max n_train + M H n_eval."""
        return self.H * self.T_max * self.rows + self.iterations * self.n_eval

    @property
    def call_bounds(self) -> dict[str, int]:
        """Most calls of csc, ls, lp: T_max tests a level, M data sets, two LPs each."""
        steps = self.iterations * self.H
        return {"csc": steps, "ls": steps, "lp": 2 * self.M * self.T_max * self.H}

    @property
    def policy_step(self) -> Fraction:
        """2ε_V, ε_V = T_max τ_V: largest loss of π̂_h in a learned state."""
        return self.T_max * self.tau_V * (2 + self.oracle_share)

    @property
    def level_error(self) -> Fraction:
        """2ε_V + √(4M ε_V + 2ε_L) + 8τ, ε_L = M τ_L: error of a level, rounded up."""
        losses = self.M * self.tau_L * (2 + self.oracle_share)
        root = _root_up(2 * self.M * self.policy_step + losses)
        return self.policy_step + root + self.tau * (8 + 2 * self.oracle_share)

    def value_bound(self, level: int) -> Fraction:
        """Bound |E_s[ĝ_h] - E_s[g*]| in a state that was reached (h = level)."""
        return (self.H + 1 - level) * self.level_error

    def loss_bound(self, level: int) -> Fraction:
        """Bound V*(s) - Q*(s, π̂_h) in a learned state (h = level)."""
        return self.policy_step + 2 * (self.H - level) * self.level_error

    @property
    def policy_bound(self) -> Fraction:
        """Bound V* - V^π̂ - p_ul: 2H ε_V + H²(2ε_V + √(4M ε_V + 2ε_L) + 8τ)."""
        return self.H * self.policy_step + self.H**2 * self.level_error

    @property
    def estimate_bound(self) -> Fraction:
        """Bound |V̂* - V*|: that of E_s[ĝ_1] in the start state, and τ."""
        return self.value_bound(1) + self.tau


class TwoSampleTheoremParameters(ByTheorem, TwoSampleParameters):
    """The theorem's constants, of ``log_size(squared=True)`` and ``log_size()``."""


class TwoSamplePracticalParameters(ByChoice, TwoSampleParameters):
    """Free constants: by default τ is 1/8, actions are balanced, no path twice."""


def _root_up(square: Fraction) -> Fraction:
    """Square root, rounded up to a multiple of 2^-256 at the most."""
    shift = 4**_ROOT_BITS
    scaled = -(-square.numerator * shift // square.denominator)
    return Fraction(math.isqrt(scaled) + 1, 2**_ROOT_BITS)
