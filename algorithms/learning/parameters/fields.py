"""All constants of a run of MetaAlg, and what follows from them."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from olivine.algorithms.exact.numbers import check_count, check_flag, check_unit
from olivine.algorithms.learning.parameters.names import CONSTRAINED


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """What a run of MetaAlg with dfslearn needs to know.

    Attributes
    ----------
    algorithm
        Which algorithm they are for.
    eps, delta
        ε and δ, in (0, 1).
    M, K, H
        Bound on the hidden states of a level, actions, levels.
    eps_stat, eps_sub, eps_feas
        Statistical accuracy and those asked of the oracles, positive.
    n_test, n_train
        Draws of a consensus test and of a stored data set.
    n_exp, n_eval
        Paths explored on demand (the first n_exp of the n_eval trajectories,
        so n_exp ≤ n_eval, erratum 12), and trajectories of an evaluation.
    T_max
        Bound on the dfslearn calls of a level in event E; a run that exceeds
        it has left that event and fails.
    max_iterations
        Iterations of MetaAlg; None: M H.
    slack
        φ of every level, where it is not the formula's; None: the formula.
    repeat_paths
        Whether exploration on demand runs dfslearn again at a path that has a
        data set. The paper does; its analysis needs only new states.
    balanced
        Whether each action is taken equally often in a stored data set (n_train
        rounded up to a multiple of K) instead of drawn uniformly: the same
        expectations with less noise, but not what the theorem analyses.
    n_fresh
        Fresh trajectories on which Ṽ is measured: the path, and then the policy
        that was best on the data set. None: Ṽ is its value on the data set itself.
        The paper does that. It is a maximum, too high by a share of about
        √(dK/n_train) where policies have d parameters an action, and the excess adds
        up over levels; a theorem's n_train makes it negligible.
    clip
        Whether Ṽ is clipped to [0, 1], where V* lies. The paper does not.
    fall_back
        What to do when a consensus program or the constrained policy step is
        infeasible, which cannot happen in event E. False: fail. True: double φ
        of that level until it is feasible, or take the pooled policy step.
    version
        ``"theorem"``, ``"paper"`` (constants as printed) or ``"practical"``.
    """

    algorithm: str
    eps: Fraction
    delta: Fraction
    M: int
    K: int
    H: int
    eps_stat: Fraction
    eps_sub: Fraction
    eps_feas: Fraction
    n_test: int
    n_train: int
    n_exp: int
    n_eval: int
    T_max: int
    max_iterations: int | None = None
    slack: Fraction | None = None
    repeat_paths: bool = True
    balanced: bool = False
    n_fresh: int | None = None
    clip: bool = False
    fall_back: bool = False
    version: str = "practical"

    def __post_init__(self) -> None:
        """Check ranges; ValueError names the argument."""
        check_unit("epsilon", self.eps)
        check_unit("delta", self.delta)
        for name in ("M", "K", "H", "n_test", "n_train", "n_exp", "n_eval", "T_max"):
            check_count(name, getattr(self, name))
        for name in ("eps_stat", "eps_sub", "eps_feas"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name}: {getattr(self, name)} is not positive")
        if self.n_eval < self.n_exp:
            raise ValueError(
                f"n_eval: {self.n_eval} is below n_exp = {self.n_exp}, but the paths "
                "explored are the first n_exp of the n_eval trajectories"
            )
        for name in ("repeat_paths", "balanced", "clip", "fall_back"):
            check_flag(name, getattr(self, name))
        for name in ("max_iterations", "n_fresh"):
            if getattr(self, name) is not None:
                check_count(name, getattr(self, name))
        if self.slack is not None and self.slack < 0:
            raise ValueError(f"slack: {self.slack} is negative")
        if self.slack == 0 and self.fall_back:
            raise ValueError(
                "slack: 0 stays 0 however often it is doubled, which is what fall_back "
                "does where a program is infeasible; take a positive one, or "
                "fall_back=False"
            )

    @property
    def iterations(self) -> int:
        """Iterations of MetaAlg at most (M H; the printed M K is erratum 9)."""
        return self.M * self.H if self.max_iterations is None else self.max_iterations

    def phi(self, level: int) -> Fraction:
        """φ_h = (H-h+1)(6ε_stat + 2ε_sub + ε_feas), for h = 1..H+1.

        Raises
        ------
        ValueError
            For another level.
        """
        if not 1 <= level <= self.H + 1:
            raise ValueError(f"level: {level} is not in 1..{self.H + 1}")
        if self.slack is not None:
            return self.slack if level <= self.H else Fraction(0)
        step = 6 * self.eps_stat + 2 * self.eps_sub + self.eps_feas
        return (self.H - level + 1) * step

    def consensus(self, level: int, scale: int = 1) -> Fraction:
        """Largest V_opt - V_pes that is a consensus, φ being scaled so far."""
        slack = 2 * scale * self.phi(level)
        return slack + 4 * self.eps_stat + 2 * self.eps_feas

    @property
    def trajectory_bound(self) -> int:
        """Return the proof's own sum, H T n_train + K H T n_test + M H n_eval.

        Fresh trajectories, which the proof does not know, come on top.
        """
        calls = self.H * self.T_max
        train = -(-self.n_train // self.K) * self.K if self.balanced else self.n_train
        train += self.n_fresh or 0
        learning = calls * train + self.K * calls * self.n_test
        return learning + self.iterations * self.n_eval

    @property
    def call_bounds(self) -> dict[str, int]:
        """Most calls of each oracle: of csc, lp and multi.

        Two programs a consensus test, H policies a policy step, up to M H
        steps. Version ``"paper"`` counts as printed (erratum 10): T_max H K
        programs and M H policies.
        """
        tests, calls = self.T_max * self.H * self.K, self.T_max * self.H
        if self.version == "paper":
            lp, steps = tests, self.iterations
        else:
            lp, steps = 2 * tests, self.iterations * self.H
        if self.algorithm == CONSTRAINED:
            pooled = steps if self.fall_back else 0
            return {"csc": calls + pooled, "lp": lp, "multi": steps}
        return {"csc": calls + steps, "lp": lp, "multi": 0}

    def to_json(self) -> dict[str, Any]:
        """All of them; accuracies as floats, sizes as integers."""
        return {
            "version": self.version,
            "epsilon": float(self.eps),
            "delta": float(self.delta),
            "M": self.M,
            "K": self.K,
            "H": self.H,
            "eps_stat": float(self.eps_stat),
            "eps_sub": float(self.eps_sub),
            "eps_feas": float(self.eps_feas),
            "phi_1": float(self.phi(1)),
            "n_test": self.n_test,
            "n_train": self.n_train,
            "n_fresh": self.n_fresh,
            "n_exp": self.n_exp,
            "n_eval": self.n_eval,
            "T_max": self.T_max,
            "iterations": self.iterations,
        }
