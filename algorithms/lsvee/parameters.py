"""What a run of LSVEE needs to know.

`LsveeTheorem` (in `theorem`) has the constants of its theorem, `LsveePractical`
(in `practical`) is free; the algorithm takes either, for both are
`LsveeParameters`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from olivine.algorithms.learning.parameters import check_count, check_unit, ratio_up


@dataclass(frozen=True)
class Sizes:
    """What one call of DFS-learn from outside samples.

    Attributes
    ----------
    n_test
        Observations of a consensus test.
    n_train
        Tuples of an elimination.
    slack
        Functions stay whose empirical risk exceeds the least by at most this.
    accuracy
        How far V̂ of a test may be from its mean in the good event (Hoeffding).
    rate
        ln(4N/δ₂)/n_train, which Bernstein's inequality for risks is stated in.
    """

    n_test: int
    n_train: int
    slack: Fraction
    accuracy: Fraction
    rate: Fraction

    def __post_init__(self) -> None:
        """Check ranges; ValueError names the argument."""
        check_count("n_test", self.n_test)
        check_count("n_train", self.n_train)
        if self.slack < 0:
            raise ValueError(f"slack: {self.slack} is negative")


@dataclass(frozen=True, kw_only=True)
class LsveeParameters:
    """What a run of LSVEE needs to know.

    Attributes
    ----------
    eps, delta
        ε and δ, in (0, 1).
    M, K, H
        Bound on the hidden states of a level, actions, levels.
    N
        Number of functions.
    first, on_demand
        Sizes of the first DFS-learn, and of those on demand.
    n_exp, n_eval
        n_2 and n_1: paths explored after a rejected policy (the first n_exp of
        the n_eval trajectories), and trajectories of an evaluation.
    max_eliminations
        Most states that one call of DFS-learn from outside may learn (M H by
        the analysis); a run that needs more has left the good event and fails.
    constant_tolerance
        Tolerance of the consensus test at every level; None: the formula.
    max_iterations
        Policies tried at most; None: M H.
    repeat_paths
        Whether exploration on demand learns a path again that it has learned
        before. LSVEE does; its analysis needs only new states.
    version
        ``"theorem"``, ``"paper"`` (the same) or ``"practical"``.
    """

    eps: Fraction
    delta: Fraction
    M: int
    K: int
    H: int
    N: int
    first: Sizes
    on_demand: Sizes
    n_exp: int
    n_eval: int
    max_eliminations: int
    constant_tolerance: Fraction | None = None
    max_iterations: int | None = None
    repeat_paths: bool = True
    version: str = "practical"

    def __post_init__(self) -> None:
        """Check ranges; ValueError names the argument."""
        check_unit("epsilon", self.eps)
        check_unit("delta", self.delta)
        for name in ("M", "K", "H", "N", "n_exp", "n_eval", "max_eliminations"):
            check_count(name, getattr(self, name))
        if self.n_eval < self.n_exp:
            raise ValueError(
                f"n_eval: {self.n_eval} is below n_exp = {self.n_exp}, but the paths "
                "explored are the first n_exp of the n_eval trajectories"
            )
        if not isinstance(self.repeat_paths, bool):
            raise ValueError(
                f"repeat_paths: {self.repeat_paths!r} is not true or false"
            )
        if self.max_iterations is not None:
            check_count("max_iterations", self.max_iterations)
        if self.constant_tolerance is not None and self.constant_tolerance < 0:
            raise ValueError(f"tolerance: {self.constant_tolerance} is negative")

    @property
    def iterations(self) -> int:
        """Policies tried at most: M H, for each rejection learns a state."""
        return self.M * self.H if self.max_iterations is None else self.max_iterations

    @property
    def phi_squared(self) -> Fraction:
        """φ², rational where φ is not."""
        return self.eps**2 / (320**2 * self.H**4 * self.K)

    @property
    def phi(self) -> Fraction:
        """φ, rounded down to a rational at a relative 2^-64."""
        return root_down(self.phi_squared)

    def tolerance(self, level: int) -> Fraction:
        """Largest difference of values that is a consensus, below a state of a level.

        Parameters
        ----------
        level
            Of the state from which DFS-learn may descend, 0..H; its children
            are tested. 0 stands for a test of the root that is never made, and
            at level H nothing is left to test: 0.

        Raises
        ------
        ValueError
            For another level.
        """
        if not 0 <= level <= self.H:
            raise ValueError(f"level: {level} is not in 0..{self.H}")
        if level == self.H:
            return Fraction(0)
        if self.constant_tolerance is not None:
            return self.constant_tolerance
        return (self.H - level - Fraction(1, 4)) * self.eps / (16 * self.H**2)

    @property
    def trajectory_bound(self) -> int:
        """Trajectories at most, in the good event.

        The first DFS-learn and all descents learn each of at most 1 + M(H-1)
        states once; every rejected policy calls DFS-learn (H-1) n_exp times; and
        there is the estimate V̂*.
        """
        costs = [self.K * s.n_test + s.n_train for s in (self.first, self.on_demand)]
        states, calls = 1 + self.M * (self.H - 1), (self.H - 1) * self.n_exp
        learning = states * max(costs) + self.iterations * calls * costs[1]
        return learning + (self.iterations + 1) * self.n_eval

    def to_json(self) -> dict[str, Any]:
        """All of them; accuracies as floats, sizes as integers."""
        return {
            "version": self.version,
            "epsilon": float(self.eps),
            "delta": float(self.delta),
            "M": self.M,
            "K": self.K,
            "H": self.H,
            "N": self.N,
            "phi": math.sqrt(self.phi_squared),
            "tolerance_1": float(self.tolerance(1)),
            "n_test": self.first.n_test,
            "n_train": self.first.n_train,
            "slack": float(self.first.slack),
            "n_test_on_demand": self.on_demand.n_test,
            "n_train_on_demand": self.on_demand.n_train,
            "slack_on_demand": float(self.on_demand.slack),
            "n_exp": self.n_exp,
            "n_eval": self.n_eval,
            "iterations": self.iterations,
        }


def root_down(value: Fraction) -> Fraction:
    """Root of a rational from 0 on, rounded down at a relative 2^-64 or better."""
    if value == 0:
        return Fraction(0)
    bits = 64 + max(0, value.denominator.bit_length() - value.numerator.bit_length())
    return Fraction(math.isqrt((value * 4**bits).__floor__()), 2**bits)


def rational_up(value: float) -> Fraction:
    """Rational a little above a logarithm, as sample sizes are rounded."""
    return Fraction(ratio_up(value, Fraction(1, 2**48)), 2**48)


def logarithm(value: Fraction) -> float:
    """Natural logarithm of a rational, however large."""
    return math.log(value.numerator) - math.log(value.denominator)


__all__ = ["LsveeParameters", "Sizes", "logarithm", "rational_up", "root_down"]
