"""Constants of LSVEE: those of its theorem, or free.

The paper of LSVEE (Krishnamurthy, Agarwal, Langford 2016) is not part of what
this project was built from, and its constants are recalled. With |p| = h-1:

====================  ======================================================
φ                     ε/(320 H² √K)
tolerance at level h  20 (H-|p|-5/4) √K φ = (H-h-1/4) ε/(16 H²)
n_test                2 ln(2N/δ₁)/φ²
n_train               24 ln(4N/δ₂)/φ²
slack                 2φ² + 22 ln(4N/δ₂)/n_train
n_eval                32 ln(12MH/δ)/ε² (n_1)
n_exp                 8 ln(6MH/δ)/ε (n_2)
accept                within ε/2 of V̂*
====================  ======================================================

How δ is divided is not among what was recalled with certainty; here the first
DFS-learn gets δ/2 and each of the at most M H · H n_exp calls on demand
δ/(6 M H² n_exp), which is δ/6 for them, and n_eval and n_exp leave δ/6 each.
Inside a call, δ₁ = δ'/(2MKH) for each consensus test and δ₂ = δ'/(2MH) for each
elimination: a call learns at most M H states, with K tests each.

That these constants suffice was derived anew: see the claims ``lsvee-...`` and
docs/lsvee.md. Hoeffding makes every V̂ of a test accurate to φ/2. Bernstein
(variance of the excess loss at most 9 times its mean, range 5) keeps Q* and
leaves only functions whose Bellman errors have a root mean square of 5φ/2, so
that values of survivors differ by 5√Kφ more than those one level below,
and a tolerance that grows by 20√Kφ a level lets learned states pass the test.

N is the size of the class at the start, whatever has been eliminated since.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from algorithms.parameters import (
    Number,
    check_count,
    check_unit,
    ratio_up,
    rational,
)


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


class LsveeTheorem(LsveeParameters):
    """The theorem's constants, as recalled (see the module).

    Parameters
    ----------
    eps, delta
        ε and δ in (0, 1); floats stand for their decimal digits.
    M, K, H
        As for `LsveeParameters`.
    N
        Number of functions, ``len(functions)``.
    version
        ``"theorem"`` or ``"paper"``: the same constants.

    Raises
    ------
    ValueError
        For an argument out of range.

    Examples
    --------
    >>> p = LsveeTheorem(0.3, 0.1, M=2, K=2, H=3, N=64)
    >>> p.n_exp, p.n_eval, f"{p.first.n_train:.1e}", f"{p.trajectory_bound:.1e}"
    (157, 2340, '4.9e+10', '1.3e+14')
    """

    def __init__(
        self,
        eps: Number,
        delta: Number,
        M: int,
        K: int,
        H: int,
        N: int,
        version: str = "theorem",
    ) -> None:
        accuracy, chance = rational(eps), rational(delta)
        check_unit("epsilon", accuracy)
        check_unit("delta", chance)
        for name, count in (("M", M), ("K", K), ("H", H), ("N", N)):
            check_count(name, count)
        if version not in ("theorem", "paper"):
            raise ValueError(f"version: {version!r} is not 'theorem' or 'paper'")
        n_exp = ratio_up(8 * _log(6 * M * H / chance), accuracy)
        square = accuracy**2 / (320**2 * H**4 * K)

        phi = root_down(square)

        def sizes(share: Fraction) -> Sizes:
            tests = 2 * _log(2 * N * (2 * M * K * H) / share)
            fits = _log(4 * N * (2 * M * H) / share)
            n_train = ratio_up(24 * fits, square)
            rate = _up(fits) / n_train
            slack = 2 * square + 22 * rate
            return Sizes(ratio_up(tests, square), n_train, slack, phi / 2, rate)

        super().__init__(
            eps=accuracy,
            delta=chance,
            M=M,
            K=K,
            H=H,
            N=N,
            first=sizes(chance / 2),
            on_demand=sizes(chance / (6 * M * H**2 * n_exp)),
            n_exp=n_exp,
            n_eval=ratio_up(32 * _log(12 * M * H / chance), accuracy**2),
            max_eliminations=M * H,
            version=version,
        )


class LsveePractical(LsveeParameters):
    """Free parameters, with defaults that suit small problems.

    Parameters
    ----------
    eps, delta, M, K, H, N
        As for `LsveeTheorem`.
    n_test, n_train, slack
        Sizes, the same for the first call and on demand; by default 400, 1000 K
        and ε²/16.
    tolerance
        Of the consensus test at every level; by default ε/4.
    n_exp, n_eval
        By default 10 and 8/ε².
    max_eliminations
        By default 10 M H: with few draws a state may be learned more than once.
    max_iterations, repeat_paths
        As for `LsveeParameters`; paths are not repeated by default.

    Raises
    ------
    ValueError
        For a value out of range, or n_eval below n_exp.
    """

    def __init__(
        self,
        eps: Number,
        delta: Number,
        M: int,
        K: int,
        H: int,
        N: int,
        *,
        n_test: int = 400,
        n_train: int | None = None,
        slack: Number | None = None,
        tolerance: Number | None = None,
        n_exp: int = 10,
        n_eval: int | None = None,
        max_eliminations: int | None = None,
        max_iterations: int | None = None,
        repeat_paths: bool = False,
    ) -> None:
        accuracy = rational(eps)
        check_unit("epsilon", accuracy)
        for name, count in (("M", M), ("K", K), ("H", H), ("N", N)):
            check_count(name, count)
        check_count("n_exp", n_exp)
        chance = rational(delta)
        check_unit("delta", chance)
        if n_train is None:
            n_train = 1000 * K
        for name, count in (("n_test", n_test), ("n_train", n_train)):
            check_count(name, count)
        # Both bounds with δ/2 divided over one test, or fit, of each state.
        tests = _up(_log(2 * N * (4 * M * K * H) / chance))
        fits = _up(_log(4 * N * (4 * M * H) / chance))
        sizes = Sizes(
            n_test,
            n_train,
            accuracy**2 / 16 if slack is None else rational(slack),
            root_down(tests / (2 * n_test)),
            fits / n_train,
        )
        if n_eval is None:
            n_eval = max(n_exp, ratio_up(8.0, accuracy**2))
        super().__init__(
            eps=accuracy,
            delta=chance,
            M=M,
            K=K,
            H=H,
            N=N,
            first=sizes,
            on_demand=sizes,
            n_exp=n_exp,
            n_eval=n_eval,
            max_eliminations=(
                10 * M * H if max_eliminations is None else max_eliminations
            ),
            constant_tolerance=(
                accuracy / 4 if tolerance is None else rational(tolerance)
            ),
            max_iterations=max_iterations,
            repeat_paths=repeat_paths,
        )


def root_down(value: Fraction) -> Fraction:
    """Root of a rational from 0 on, rounded down at a relative 2^-64 or better."""
    if value == 0:
        return Fraction(0)
    bits = 64 + max(0, value.denominator.bit_length() - value.numerator.bit_length())
    return Fraction(math.isqrt((value * 4**bits).__floor__()), 2**bits)


def _up(value: float) -> Fraction:
    """Rational a little above a logarithm, as sample sizes are rounded."""
    return Fraction(ratio_up(value, Fraction(1, 2**48)), 2**48)


def _log(value: Fraction) -> float:
    """Natural logarithm of a rational, however large."""
    return math.log(value.numerator) - math.log(value.denominator)


__all__ = ["LsveeParameters", "LsveePractical", "LsveeTheorem", "Sizes", "root_down"]
