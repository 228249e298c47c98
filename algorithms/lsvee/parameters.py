"""Parameters of LSVEE: those of its theorem, or free."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ..exact.arrays import Number, check_count, log, ratio_up, rational
from ..learning.parameters import (
    MetaAlgParameters,
    ProblemSize,
    Version,
    count,
    flag,
    margin,
    without_none,
)

LSVEE = "lsvee"


@dataclass(frozen=True)
class Sizes:
    """What one call of DFS-learn from outside samples."""

    n_test: int  # Observations of a consensus test
    n_train: int  # Tuples of an elimination
    # Functions stay whose empirical risk exceeds the least by at most this
    slack: Fraction
    # How far V̂ of a test may be from its mean in the good event (Hoeffding)
    accuracy: Fraction
    # ln(4N/δ₂)/n_train, which Bernstein's inequality for risks is stated in
    rate: Fraction

    def __post_init__(self) -> None:
        for name in ("n_test", "n_train"):
            object.__setattr__(self, name, check_count(name, getattr(self, name)))
        if self.slack < 0:
            raise ValueError(f"slack: {self.slack} is negative")


@dataclass(frozen=True, kw_only=True)
class LsveeParameters(MetaAlgParameters):
    """What a run of LSVEE needs to know."""

    algorithm: str = LSVEE
    N: int = count()  # Number of functions
    # first, on_demand: sizes of the first DFS-learn, and of those on demand
    first: Sizes
    on_demand: Sizes
    # Most states that a call of DFS-learn may learn (M H in the good event)
    max_eliminations: int = count(
        "states that one call of DFS-learn may learn",
        practical=lambda p: 10 * p.M * p.H,
        shown="",
    )
    # Tolerance of the consensus test at every level; None: the formula
    constant_tolerance: Fraction | None = margin(
        default=None, practical=lambda p: p.eps / 4, label="tolerance", shown=""
    )
    max_iterations: int | None = count(
        "policies tried", default=None, shown="iterations", place=4
    )
    repeat_paths: bool = flag(
        "whether learned paths are learned again on demand",
        default=True,
        practical=False,
    )

    @classmethod
    def settings(cls) -> dict[str, str]:
        """Say what ``--set`` may choose: also sizes, of all calls."""
        return super().settings() | {
            "n_test": "draws of a consensus test",
            "n_train": "draws of an elimination",
            "slack": "excess risk with which functions stay",
            "tolerance": "largest difference of values that is a consensus",
        }

    @property
    def phi_squared(self) -> Fraction:
        """φ², rational where φ is not."""
        return _phi_squared(self.eps, self.K, self.H)

    @property
    def phi(self) -> Fraction:
        """φ, rounded down to a rational at a relative 2^-64."""
        return root_down(self.phi_squared)

    def tolerance(self, level: int) -> Fraction:
        """Largest difference that is a consensus below level 0..H; at H it is 0."""
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

        The first DFS-learn and all descents learn each of 1 + M(H-1) states once;
        rejected policies call DFS-learn (H-1) n_exp times each; and there is the
        estimate V̂*.
        """
        costs = [self.K * s.n_test + s.n_train for s in (self.first, self.on_demand)]
        states, calls = 1 + self.M * (self.H - 1), (self.H - 1) * self.n_exp
        learning = states * max(costs) + self.iterations * calls * costs[1]
        return learning + (self.iterations + 1) * self.n_eval

    def to_json(self) -> dict[str, Any]:
        """All of them; accuracies as floats, sizes as integers."""
        found = super().to_json()
        last = {name: found.pop(name) for name in ("n_exp", "n_eval", "iterations")}
        found["phi"] = math.sqrt(self.phi_squared)
        found["tolerance_1"] = float(self.tolerance(1))
        for sizes, when in ((self.first, ""), (self.on_demand, "_on_demand")):
            found[f"n_test{when}"] = sizes.n_test
            found[f"n_train{when}"] = sizes.n_train
            found[f"slack{when}"] = float(sizes.slack)
        return found | last


class LsveeTheorem(LsveeParameters):
    """The theorem's constants, as recalled (docs/lsvee.md derives that they suffice).

    ====================  ======================================================
    φ                     ε/(320 H² √K)
    tolerance at level h  20 (H-|p|-5/4) √K φ = (H-h-1/4) ε/(16 H²), |p| = h-1
    n_test                2 ln(2N/δ₁)/φ²
    n_train               24 ln(4N/δ₂)/φ²
    slack                 2φ² + 22 ln(4N/δ₂)/n_train
    n_eval                32 ln(12MH/δ)/ε² (n_1)
    n_exp                 8 ln(6MH/δ)/ε (n_2)
    ====================  ======================================================

    The first DFS-learn gets δ' = δ/2 and each of the at most M H · H n_exp calls on
    demand δ/(6 M H² n_exp); inside a call, δ₁ = δ'/(2MKH) per consensus test and δ₂ =
    δ'/(2MH) per elimination. N is the size of the class at the start.

    Floats stand for their decimal digits; N is ``len(functions)``. The versions
    ``"theorem"`` and ``"paper"`` are the same. ValueError for an argument out of range.

    >>> p = LsveeTheorem(0.3, 0.1, M=2, K=2, H=3, N=64)
    >>> p.n_exp, p.n_eval, f"{p.first.n_train:.1e}", f"{p.trajectory_bound:.1e}"
    (157, 2340, '4.9e+10', '2.0e+14')
    """

    def __init__(
        self,
        eps: Number,
        delta: Number,
        M: int,
        K: int,
        H: int,
        N: int,
        version: Version = "theorem",
    ) -> None:
        problem = ProblemSize(
            LSVEE, rational(eps), rational(delta), M, K, H, 0.0, 0.0, version
        )
        N = check_count("N", N)
        accuracy, chance = problem.eps, problem.delta
        n_exp = ratio_up(8 * log(6 * M * H / chance), accuracy)
        square = _phi_squared(accuracy, K, H)
        phi = root_down(square)

        def sizes(share: Fraction) -> Sizes:
            tests = 2 * log(2 * N * (2 * M * K * H) / share)
            fits = log(4 * N * (2 * M * H) / share)
            n_train = ratio_up(24 * fits, square)
            rate = rational_up(fits) / n_train
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
            n_eval=ratio_up(32 * log(12 * M * H / chance), accuracy**2),
            max_eliminations=M * H,
            version=version,
        )


class LsveePractical(LsveeParameters):
    """Free constants of LSVEE.

    By default n_test, n_train and slack are 400, 1000 K and ε²/16, also on demand, the
    tolerance is ε/4, and a call of DFS-learn may learn 10 M H, as with few draws a
    state may be learned more than once. Raises ValueError out of range, or for n_eval
    below n_exp.
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
        **chosen: Any,
    ) -> None:
        chosen["constant_tolerance"] = tolerance
        optional = "constant_tolerance", "n_eval", "max_eliminations"
        chosen = without_none(chosen, *optional)
        given = {"eps": rational(eps), "delta": rational(delta)}
        values = self.filled(given | {"M": M, "K": K, "H": H, "N": N}, chosen)
        if n_train is None:
            n_train = 1000 * K
        for name, draws in (("n_test", n_test), ("n_train", n_train)):
            check_count(name, draws)
        # Both bounds with δ/2 divided over one test, or fit, of each state.
        accuracy, chance = values["eps"], values["delta"]
        tests = rational_up(log(2 * N * (4 * M * K * H) / chance))
        fits = rational_up(log(4 * N * (4 * M * H) / chance))
        sizes = Sizes(
            n_test,
            n_train,
            accuracy**2 / 16 if slack is None else rational(slack, "slack"),
            root_down(tests / (2 * n_test)),
            fits / n_train,
        )
        super().__init__(first=sizes, on_demand=sizes, **values)


def _phi_squared(eps: Fraction, K: int, H: int) -> Fraction:
    return eps**2 / (320**2 * H**4 * K)


def root_down(value: Fraction) -> Fraction:
    """Root of a rational from 0 on, rounded down at a relative 2^-64 or better."""
    if value == 0:
        return Fraction(0)
    bits = 64 + max(0, value.denominator.bit_length() - value.numerator.bit_length())
    return Fraction(math.isqrt((value * 4**bits).__floor__()), 2**bits)


def rational_up(value: float) -> Fraction:
    """Rational a little above a logarithm, as sample sizes are rounded."""
    return Fraction(ratio_up(value, Fraction(1, 2**48)), 2**48)
