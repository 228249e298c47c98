"""Constants of the global policy algorithm: printed, corrected, or free.

The paper (proof of the theorem) sets τ_pol = τ_val = ε/(6H) and
φ_h = (H-h+1)(8τ_val + 3τ_pol), which gives φ_1 = 11ε/6. Two things are wrong:

- the sum must be at most ε;
- a policy that is within 2τ_pol of V̂(q) *on the data set* is within 4τ_pol of the
  best one, not 3: V̂(q) ≥ Q(q, ⋆) - τ_pol, and Q(q, π̂) is τ_pol less than the average
  on the data set in the worst case. With 3 not even φ_h bounds what is lost at level h,
  so g* may be infeasible (`olivine.cli.ledger.support.global_policy_adversary` reaches
  the bound, also against ε/(11H)).

Corrected: φ_h = (H-h+1)(8τ_val + 4τ_pol + 2ε_sub + 2ε_feas), and φ_1 = ε. The paper
lets oracles be exact; here each may err by ε/(2¹²H), so that
τ_pol = τ_val = (1 - 2⁻¹⁰) ε/(12H).

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

from olivine.algorithms.learning.parameters import (
    Number,
    Problem,
    Version,
    check_count,
    check_flag,
    check_unit,
    ratio_up,
    rational,
)

GLOBAL_POLICY = "global-policy"


@dataclass(frozen=True, kw_only=True)
class GlobalPolicyParameters:
    """What a run of the global policy algorithm needs to know.

    Attributes
    ----------
    eps, delta
        ε and δ, in (0, 1).
    M, K, H
        Bound on the hidden states of a level, actions, levels.
    tau_val, tau_pol
        Statistical accuracies of tests and of training sets, positive.
    eps_sub, eps_feas
        Accuracies asked of the oracles, positive.
    n_test, n_train
        Draws of D and of each D'_q, and of each D_q.
    T_max
        Bound on the dfslearn calls, and on the TestLearned calls, of a run in the
        event of the deviation bounds; a run that exceeds it has left it and fails.
    slack
        φ of every level, where it is not the formula's; None: the formula.
    fall_back
        What to do when a program is infeasible, which cannot happen in that event.
        False: fail. True: take the paths for different states, or the policy that
        is best on the average over the data sets.
    version
        ``"theorem"`` (corrected), ``"paper"`` (as printed) or ``"practical"``.
    algorithm
        Name of the algorithm.
    """

    eps: Fraction
    delta: Fraction
    M: int
    K: int
    H: int
    tau_val: Fraction
    tau_pol: Fraction
    eps_sub: Fraction
    eps_feas: Fraction
    n_test: int
    n_train: int
    T_max: int
    slack: Fraction | None = None
    fall_back: bool = False
    version: str = "practical"
    algorithm: str = GLOBAL_POLICY

    def __post_init__(self) -> None:
        """Check ranges; ValueError names the argument."""
        check_unit("epsilon", self.eps)
        check_unit("delta", self.delta)
        for name in ("M", "K", "H", "n_test", "n_train", "T_max"):
            check_count(name, getattr(self, name))
        for name in ("tau_val", "tau_pol", "eps_sub", "eps_feas"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name}: {getattr(self, name)} is not positive")
        if self.slack is not None and self.slack < 0:
            raise ValueError(f"slack: {self.slack} is negative")
        check_flag("fall_back", self.fall_back)

    def phi(self, level: int) -> Fraction:
        """φ_h: what the policy may lose at learned states of a level 1..H+1.

        Raises
        ------
        ValueError
            For another level.
        """
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

    def excess(self, level: int) -> Fraction:
        """φ_h + 2τ_val: how far E_D'[g] may exceed the mean return on D'."""
        return self.phi(level) + 2 * self.tau_val

    def identity(self, level: int) -> Fraction:
        """φ_h + 4τ_val: how far V_opt may exceed the mean return on D'.

        Except in the printed version the LP oracle's ε_feas is added, so that a
        path to a learned state still passes.
        """
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

        By induction from the last level: a learned state loses what its pruned
        children do, and `fit_loss`. A test at level h rests on learned states there
        losing at most φ_h. Level 1 is never tested against anything.
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

        A program for each learned path of a test; a CSC call for each learned path
        whenever a level gets a new one; then one multi-data-set call.
        """
        fits = self.M * self.H
        pooled = fits if self.fall_back else 0
        return {"csc": self.M * fits + pooled, "lp": self.M * self.T_max, "multi": fits}

    def to_json(self) -> dict[str, Any]:
        """All of them; accuracies as floats, sizes as integers."""
        return {
            "version": self.version,
            "epsilon": float(self.eps),
            "delta": float(self.delta),
            "M": self.M,
            "K": self.K,
            "H": self.H,
            "tau_val": float(self.tau_val),
            "tau_pol": float(self.tau_pol),
            "eps_sub": float(self.eps_sub),
            "eps_feas": float(self.eps_feas),
            "phi_1": float(self.phi(1)),
            "n_test": self.n_test,
            "n_train": self.n_train,
            "T_max": self.T_max,
        }


class GlobalPolicyTheoremParameters(GlobalPolicyParameters):
    """The theorem's own constants; the constructor is `TheoremParameters`'s.

    Parameters
    ----------
    eps, delta
        ε and δ in (0, 1); floats stand for their decimal digits (0.1 is 1/10).
    M, K, H
        As for `GlobalPolicyParameters`.
    log_G, log_Pi
        ln |G| and ln |Π|, not negative; for tabular classes |X_h| ln 2 and
        |X_h| ln K of the largest level (``classes.log_size()``), which is enough
        because only linear functionals of g are estimated.
    algorithm
        ``"global-policy"``.
    version
        ``"theorem"``: corrected; ``"paper"``: as printed.

    Raises
    ------
    ValueError
        For an argument out of range, or another algorithm.
    """

    def __init__(
        self,
        eps: Number,
        delta: Number,
        M: int,
        K: int,
        H: int,
        log_G: float,
        log_Pi: float,
        algorithm: str = GLOBAL_POLICY,
        version: Version = "theorem",
    ) -> None:
        problem = Problem.checked(eps, delta, M, K, H, log_G, log_Pi, version)
        if algorithm != GLOBAL_POLICY:
            raise ValueError(f"algorithm: {algorithm!r} is not {GLOBAL_POLICY!r}")
        oracles = problem.eps / (2**12 * H)
        if version == "paper":
            tau = problem.eps / (6 * H)
        else:
            tau = (problem.eps / H - 4 * oracles) / 12
        calls = 3 * M**2 * H * K
        logarithm = problem.log(16 * calls * M, log_Pi, log_G)
        super().__init__(
            eps=problem.eps,
            delta=problem.delta,
            M=M,
            K=K,
            H=H,
            tau_val=tau,
            tau_pol=tau,
            eps_sub=oracles,
            eps_feas=oracles,
            n_test=ratio_up(logarithm, 2 * tau**2),
            n_train=ratio_up(16 * K * logarithm, tau**2),
            T_max=calls,
            version=version,
        )


class GlobalPolicyPracticalParameters(GlobalPolicyParameters):
    """Free parameters, with defaults that suit small problems.

    By default φ is one constant, ε/4, accuracies are ε/16 (a state for which
    TestLearned is true then loses at most 3ε/4), T_max is the theorem's, and infeasible
    programs are dealt with instead of ending the run.

    Parameters
    ----------
    eps, delta, M, K, H
        As for `GlobalPolicyTheoremParameters`.
    **chosen
        Any other field of `GlobalPolicyParameters`.

    Raises
    ------
    ValueError
        For a value out of range.
    """

    def __init__(
        self, eps: Number, delta: Number, M: int, K: int, H: int, **chosen: Any
    ) -> None:
        accuracy = rational(eps)
        check_unit("epsilon", accuracy)
        for name, value in (("M", M), ("K", K), ("H", H)):
            check_count(name, value)
        fields: dict[str, Any] = {
            "tau_val": accuracy / 16,
            "tau_pol": accuracy / 16,
            "eps_sub": min(accuracy / 16, Fraction(1, 10**4)),
            "eps_feas": Fraction(1, 10**6),
            "n_test": 100,
            "n_train": 100 * K,
            "T_max": 3 * M**2 * H * K,
            "slack": accuracy / 4,
            "fall_back": True,
        }
        for name, value in chosen.items():
            exact = name.startswith(("eps_", "tau_"))
            exact = exact or (name == "slack" and value is not None)
            chosen[name] = rational(value, name) if exact else value
        super().__init__(
            eps=accuracy,
            delta=rational(delta),
            M=M,
            K=K,
            H=H,
            **fields | chosen,
        )
