"""Parameters of the global policy algorithm: printed, corrected, or free.

>>> p = GlobalPolicyTheoremParameters(0.3, 0.1, 2, 2, 3, 4.0, 4.0)
>>> p.phi(1) == p.eps == p.guarantee, p.T_max
(True, 72)
>>> printed = GlobalPolicyTheoremParameters(0.3, 0.1, 2, 2, 3, 4.0, 4.0,
...                                         version="paper")
>>> printed.phi(1) / printed.eps
Fraction(11, 6)
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ..exact.arrays import ratio_up
from ..learning.parameters import (
    ByChoice,
    ByTheorem,
    Parameters,
    ProblemSize,
    count,
    flag,
    margin,
    positive,
)

GLOBAL_POLICY = "global-policy"


@dataclass(frozen=True, kw_only=True)
class GlobalPolicyParameters(Parameters):
    """What a run of the global policy algorithm needs to know."""

    algorithms = (GLOBAL_POLICY,)

    algorithm: str = GLOBAL_POLICY
    tau_val: Fraction = positive(
        "statistical accuracy of tests", practical=lambda p: p.eps / 16
    )
    tau_pol: Fraction = positive(
        "statistical accuracy of training sets", practical=lambda p: p.eps / 16
    )
    eps_sub: Fraction = positive(
        "optimality asked of the oracles",
        practical=lambda p: min(p.eps / 16, Fraction(1, 10**4)),
    )
    eps_feas: Fraction = positive(
        "feasibility asked of the oracles", practical=Fraction(1, 10**6)
    )
    # None: the formula.
    slack: Fraction | None = margin(
        "φ of every level", default=None, practical=lambda p: p.eps / 4, shown="phi_1"
    )
    n_test: int = count("draws of D and of each D'_q", practical=100)
    n_train: int = count("draws of each D_q", practical=lambda p: 100 * p.K)
    # A run that exceeds it has left the event of the deviation bounds and fails.
    T_max: int = count(
        "calls of dfslearn, and of TestLearned",
        practical=lambda p: 3 * p.M**2 * p.H * p.K,
    )
    # Where a program is infeasible, which cannot happen in that event: fail, or take
    # the paths for different states, or the policy that is best on the average.
    fall_back: bool = flag(
        "whether to go on where a program is infeasible", default=False, practical=True
    )

    @classmethod
    def constants(cls, problem: ProblemSize) -> dict[str, Any]:
        """τ_pol = τ_val = (1 - 2⁻¹⁰) ε/(12H) and ε_sub = ε_feas = ε/(2¹²H).

        As printed τ = ε/(6H); then φ_1 = 11ε/6, where the sum must be at most ε, and a
        policy within 2τ_pol of V̂(q) on the data set is within 4τ_pol of the best one,
        not 3 (docs/global-policy.md). For tabular classes ln |G| is |X| ln 2.
        """
        p = problem
        oracles = p.eps / (2**12 * p.H)
        if p.version == "paper":
            tau = p.eps / (6 * p.H)
        else:
            tau = (p.eps / p.H - 4 * oracles) / 12
        calls = 3 * p.M**2 * p.H * p.K
        logarithm = p.log(16 * calls * p.M, p.log_policies, p.log_values)
        return {
            "tau_val": tau,
            "tau_pol": tau,
            "eps_sub": oracles,
            "eps_feas": oracles,
            "n_test": ratio_up(logarithm, 2 * tau**2),
            "n_train": ratio_up(16 * p.K * logarithm, tau**2),
            "T_max": calls,
        }

    def phi(self, level: int) -> Fraction:
        """φ_h: what the policy may lose at learned states of a level 1..H+1."""
        if not 1 <= level <= self.H + 1:
            raise ValueError(f"level: {level} is not in 1..{self.H + 1}")
        if self.slack is not None:
            return self.slack if level <= self.H else Fraction(0)
        if self.version == "paper":
            step = 8 * self.tau_val + 3 * self.tau_pol
        else:
            step = 8 * self.tau_val + 4 * self.tau_pol
            step += 2 * self.eps_sub + 2 * self.eps_feas
        return (self.H - level + 1) * step

    @property
    def phi_1(self) -> Fraction:
        """φ of the first level."""
        return self.phi(1)

    def excess(self, level: int) -> Fraction:
        """φ_h + 2τ_val: how far E_D'[g] may exceed the mean return on D'."""
        return self.phi(level) + 2 * self.tau_val

    def identity(self, level: int) -> Fraction:
        """φ_h + 4τ_val (+ ε_feas, not printed): room of V_opt over the mean return."""
        error = Fraction(0) if self.version == "paper" else self.eps_feas
        return self.phi(level) + 4 * self.tau_val + error

    @property
    def fit_loss(self) -> Fraction:
        """Most that π̂_h loses on a learned state, given π̂_{h+1:H} (corrected)."""
        return 4 * self.tau_pol + self.eps_sub + self.eps_feas

    def tested_loss(self, level: int) -> Fraction:
        """Most that π̂_{h:H} loses on a state for which TestLearned is true."""
        return self.identity(level) + 4 * self.tau_val + self.eps_sub

    @property
    def guarantee(self) -> Fraction | None:
        """Most that the policy returned loses; None where nothing is proved.

        By induction from the last level: a learned state loses what its pruned children
        do, and `fit_loss`; a test at h rests on learned states losing at most φ_h.
        """
        loss = self.fit_loss
        for level in range(self.H - 1, 0, -1):
            if loss > self.phi(level + 1):
                return None
            loss = self.tested_loss(level + 1) + self.fit_loss
        return loss

    @property
    def trajectory_bound(self) -> int:
        """Return the proof's own sum, (1+M) T_max n_test + M² H n_train."""
        tests = (1 + self.M) * self.T_max * self.n_test
        return tests + self.M**2 * self.H * self.n_train

    @property
    def call_bounds(self) -> dict[str, int]:
        """Most calls of each oracle (the paper gives no counts).

        An LP for each learned path of a test; CSC for all, then multi, for each new
        one.
        """
        fits = self.M * self.H
        pooled = fits if self.fall_back else 0
        return {"csc": self.M * fits + pooled, "lp": self.M * self.T_max, "multi": fits}


class GlobalPolicyTheoremParameters(ByTheorem, GlobalPolicyParameters):
    """The constants of the theorem, corrected or as printed."""


class GlobalPolicyPracticalParameters(ByChoice, GlobalPolicyParameters):
    """Free constants: by default φ = ε/4, accuracies ε/16, no failure if infeasible.

    A state that passes TestLearned then loses at most 3ε/4.
    """
