"""All constants of a run of the two-sample algorithm, and what its analysis claims."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from olivine.algorithms.learning.parameters import check_count, check_flag, check_unit

TWO_SAMPLE = "two-sample"

_ROOT_BITS = 256


@dataclass(frozen=True, kw_only=True)
class TwoSampleParameters:
    """All constants of a run.

    Attributes
    ----------
    eps, delta
        ε and δ, in (0, 1).
    M, K, H
        Bound on the hidden states of a level, actions, levels.
    tau, tau_V, tau_L
        τ, τ_V, τ_L, positive: accuracies of a data set. The identity test
        compares with 2τ; the other two appear in the analysis and in what is
        asked of the oracles.
    n_train
        Draws of a data set.
    n_exp, n_eval
        Paths explored on demand (the first n_exp of the n_eval trajectories,
        so n_exp ≤ n_eval), and trajectories of an evaluation.
    T_max
        Bound on the dfslearn calls of a level in event E; a run that exceeds it
        has left that event and fails.
    oracle_share
        What oracles may be off by, as a share of τ (LP), τ_V (CSC) and τ_L (LS).
    max_iterations
        Iterations of MetaAlg; None: M H.
    repeat_paths
        Whether exploration on demand runs dfslearn again at a path that was
        explored on demand before. The paper does.
    balanced
        Whether each action is taken equally often in a data set (n_train rounded
        up to a multiple of K) instead of drawn uniformly.
    version
        ``"theorem"``, ``"paper"`` (constants as printed) or ``"practical"``.
    algorithm
        Name of the algorithm.
    """

    eps: Fraction
    delta: Fraction
    M: int
    K: int
    H: int
    tau: Fraction
    tau_V: Fraction  # noqa: N815
    tau_L: Fraction  # noqa: N815
    n_train: int
    n_exp: int
    n_eval: int
    T_max: int
    oracle_share: Fraction = Fraction(1, 2**10)
    max_iterations: int | None = None
    repeat_paths: bool = True
    balanced: bool = False
    version: str = "practical"
    algorithm: str = TWO_SAMPLE

    def __post_init__(self) -> None:
        """Check ranges; ValueError names the argument."""
        check_unit("epsilon", self.eps)
        check_unit("delta", self.delta)
        for name in ("M", "K", "H", "n_train", "n_exp", "n_eval", "T_max"):
            check_count(name, getattr(self, name))
        for name in ("tau", "tau_V", "tau_L", "oracle_share"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name}: {getattr(self, name)} is not positive")
        for name in ("repeat_paths", "balanced"):
            check_flag(name, getattr(self, name))
        if self.n_eval < self.n_exp:
            raise ValueError(
                f"n_eval: {self.n_eval} is below n_exp = {self.n_exp}, but the paths "
                "explored are the first n_exp of the n_eval trajectories"
            )
        if self.max_iterations is not None:
            check_count("max_iterations", self.max_iterations)

    @property
    def iterations(self) -> int:
        """Iterations of MetaAlg at most (M H; the printed M K is erratum 9)."""
        return self.M * self.H if self.max_iterations is None else self.max_iterations

    @property
    def visits(self) -> int:
        """Most dfslearn calls of a level in event E.

        M K by recursion, which descends once below each state; on demand, in each
        iteration, n_exp paths of the level and K children of n_exp paths. T_max is no
        less at the theorem's constants.
        """
        on_demand = self.iterations * self.n_exp * (self.K + 1)
        return self.M * self.K + on_demand

    @property
    def trajectory_bound(self) -> int:
        """Return the proof's own sum, H T_max n_train + M H n_eval."""
        train = -(-self.n_train // self.K) * self.K if self.balanced else self.n_train
        return self.H * self.T_max * train + self.iterations * self.n_eval

    @property
    def call_bounds(self) -> dict[str, int]:
        """Most calls of each oracle: of csc, ls and lp.

        H policies and H regressions an iteration. The identity test compares
        with at most M data sets (in event E), each by two programs; a level has
        at most T_max tests.
        """
        steps = self.iterations * self.H
        return {"csc": steps, "ls": steps, "lp": 2 * self.M * self.T_max * self.H}

    # ------------------------------------------------- what the analysis claims

    @property
    def policy_step(self) -> Fraction:
        """2ε_V: largest loss of π̂_h in a learned state against ĝ_{h+1}.

        ε_V = T_max τ_V, and T_max oracle_share τ_V for the oracle.
        """
        return self.T_max * self.tau_V * (2 + self.oracle_share)

    @property
    def level_error(self) -> Fraction:
        """2ε_V + √(4M ε_V + 2ε_L) + 8τ: error that a level adds, rounded up.

        ε_L = M τ_L. (The proof counts 2ε_V for each of M val states under the
        root; as val states are learned states, 2ε_V for all of them together
        would do.)
        """
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

    def to_json(self) -> dict[str, Any]:
        """All of them; accuracies as floats, sizes as integers."""
        return {
            "version": self.version,
            "epsilon": float(self.eps),
            "delta": float(self.delta),
            "M": self.M,
            "K": self.K,
            "H": self.H,
            "tau": float(self.tau),
            "tau_V": float(self.tau_V),
            "tau_L": float(self.tau_L),
            "oracle_share": float(self.oracle_share),
            "n_train": self.n_train,
            "n_exp": self.n_exp,
            "n_eval": self.n_eval,
            "T_max": self.T_max,
            "iterations": self.iterations,
        }


def _root_up(square: Fraction) -> Fraction:
    """Square root, rounded up to a multiple of 2^-256 at the most."""
    shift = 4**_ROOT_BITS
    scaled = -(-square.numerator * shift // square.denominator)
    return Fraction(math.isqrt(scaled) + 1, 2**_ROOT_BITS)
