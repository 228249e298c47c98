"""Parameters of VALOR and its relatives: from the theorem, or free.

`TheoremParameters` computes Table 1 of the paper (THEORY 6 for the corrected
versions of other algorithms): sample sizes are exact Python integers, rounded
up, accuracies are rationals. `PracticalParameters` are whatever one likes.
Algorithms take either, for both are `Parameters`.

>>> p = TheoremParameters(0.2, 0.1, M=3, K=3, H=4, log_G=math.log(120), log_Pi=5)
>>> p.n_exp, p.T_max
(247, 2967)
>>> p.phi(4) == 6 * p.eps_stat + 2 * p.eps_sub + p.eps_feas
True

A formula of one's own: ``register_formula("name", formula)``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

Version = Literal["theorem", "paper"]
Number = int | float | Fraction

VALOR = "valor"
CONSTRAINED = "valor-constrained"


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
        if self.max_iterations is not None:
            check_count("max_iterations", self.max_iterations)
        if self.slack is not None and self.slack < 0:
            raise ValueError(f"slack: {self.slack} is negative")

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
        """Return the proof's own sum, H T n_train + K H T n_test + M H n_eval."""
        calls = self.H * self.T_max
        train = -(-self.n_train // self.K) * self.K if self.balanced else self.n_train
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
            "n_exp": self.n_exp,
            "n_eval": self.n_eval,
            "T_max": self.T_max,
            "iterations": self.iterations,
        }


@dataclass(frozen=True)
class Problem:
    """What a formula is given: accuracies, sizes, logarithms of class sizes."""

    eps: Fraction
    delta: Fraction
    M: int
    K: int
    H: int
    log_values: float
    log_policies: float
    version: Version

    def log(self, product: Number, *more: float) -> float:
        """ln(product / δ) plus further logarithms."""
        return math.log(product) - _log(self.delta) + sum(more)

    @property
    def n_exp(self) -> int:
        """8 ln(4MH/δ)/ε, rounded up."""
        return ratio_up(8 * self.log(4 * self.M * self.H), self.eps)

    @property
    def n_eval(self) -> int:
        """32 ln(8MH/δ)/ε², rounded up."""
        return ratio_up(32 * self.log(8 * self.M * self.H), self.eps**2)


Formula = Callable[[Problem], dict[str, Any]]
"""Gives the fields of `Parameters` that depend on the algorithm."""


def _local_values(problem: Problem, accuracy: Fraction, calls: int) -> dict[str, Any]:
    """Table 1 for a given accuracy, T_max included."""
    p = problem
    tests = p.log(12 * p.K * p.H * calls, p.log_values)
    trains = p.log(12 * p.H * calls, p.log_values, p.log_policies)
    return {
        "eps_stat": accuracy,
        "eps_sub": accuracy,
        "eps_feas": accuracy,
        "n_test": ratio_up(tests, 2 * accuracy**2),
        "n_train": ratio_up(16 * p.K * trains, accuracy**2),
        "n_exp": p.n_exp,
        "n_eval": p.n_eval,
        "T_max": calls,
    }


def _valor(problem: Problem) -> dict[str, Any]:
    """ε_stat = ε/(2⁶·7·H²·T_max), T_max = M H n_exp + M."""
    calls = problem.M * problem.H * problem.n_exp + problem.M
    accuracy = problem.eps / (2**6 * 7 * problem.H**2 * calls)
    return _local_values(problem, accuracy, calls)


def _constrained(problem: Problem) -> dict[str, Any]:
    """ε_stat = ε/(2¹⁰H²), the rest alike."""
    calls = problem.M * problem.H * problem.n_exp + problem.M
    accuracy = problem.eps / (2**10 * problem.H**2)
    return _local_values(problem, accuracy, calls)


_FORMULAS: dict[str, Formula] = {VALOR: _valor, CONSTRAINED: _constrained}


def register_formula(algorithm: str, formula: Formula) -> None:
    """Add the constants of another algorithm.

    Raises
    ------
    ValueError
        If it has a formula already.
    """
    if _FORMULAS.setdefault(algorithm, formula) is not formula:
        raise ValueError(f"algorithm: {algorithm!r} has a formula already")


def known() -> tuple[str, ...]:
    """Names of the algorithms that have constants."""
    return tuple(_FORMULAS)


class TheoremParameters(Parameters):
    """The theorem's own constants.

    Parameters
    ----------
    eps, delta
        ε and δ in (0, 1); floats stand for their decimal digits (0.1 is 1/10).
    M, K, H
        As for `Parameters`.
    log_G, log_Pi
        ln |G| and ln |Π|, not negative; for tabular classes |X_h| ln 2 and
        |X_h| ln K of the largest level (``classes.log_size()``), which is
        enough because only linear functionals of g are estimated.
    algorithm
        ``"valor"``, ``"valor-constrained"``, or what has been registered.
    version
        ``"theorem"``: corrected where an erratum applies; ``"paper"``.
        For VALOR both have the same constants.

    Raises
    ------
    ValueError
        For an argument out of range or an unknown algorithm.
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
        algorithm: str = VALOR,
        version: Version = "theorem",
    ) -> None:
        accuracy, chance = rational(eps), rational(delta)
        check_unit("epsilon", accuracy)
        check_unit("delta", chance)
        for name, value in (("M", M), ("K", K), ("H", H)):
            check_count(name, value)
        for name, size in (("log_G", log_G), ("log_Pi", log_Pi)):
            if not 0 <= size < math.inf:
                raise ValueError(f"{name}: {size} is not finite and at least 0")
        if algorithm not in _FORMULAS:
            known = ", ".join(_FORMULAS)
            raise ValueError(f"algorithm: no constants for {algorithm!r} ({known})")
        if version not in ("theorem", "paper"):
            raise ValueError(f"version: {version!r} is not 'theorem' or 'paper'")
        problem = Problem(accuracy, chance, M, K, H, log_G, log_Pi, version)
        super().__init__(
            algorithm=algorithm,
            eps=accuracy,
            delta=chance,
            M=M,
            K=K,
            H=H,
            version=version,
            **_FORMULAS[algorithm](problem),
        )


class PracticalParameters(Parameters):
    """Free parameters, with defaults that suit small problems.

    By default φ is one constant, ε/2 (levels far from the end need not be
    coarser), actions are taken equally often in a data set, values are clipped,
    paths with data are not explored again, and infeasible programs are dealt with
    instead of ending the run.

    Parameters
    ----------
    eps, delta, M, K, H
        As for `TheoremParameters`.
    algorithm
        Which algorithm they are for.
    **chosen
        Any field of `Parameters`.

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
        algorithm: str = VALOR,
        **chosen: Any,
    ) -> None:
        accuracy = rational(eps)
        check_unit("epsilon", accuracy)
        n_exp = chosen.pop("n_exp", 10)
        fields: dict[str, Any] = {
            "eps_stat": accuracy / 16,
            "eps_sub": min(accuracy / 16, Fraction(1, 10**4)),
            "eps_feas": Fraction(1, 10**6),
            "n_test": 100,
            "n_train": 100 * K,
            "n_exp": n_exp,
            "n_eval": max(n_exp, ratio_up(8.0, accuracy**2)),
            "T_max": M * H * n_exp + M,
            "slack": accuracy / 2,
            "repeat_paths": False,
            "balanced": True,
            "clip": True,
            "fall_back": True,
        }
        for name, value in chosen.items():
            exact = name.startswith("eps_") or (name == "slack" and value is not None)
            chosen[name] = rational(value) if exact else value
        super().__init__(
            algorithm=algorithm,
            eps=accuracy,
            delta=rational(delta),
            M=M,
            K=K,
            H=H,
            **fields | chosen,
        )


def rational(value: Number) -> Fraction:
    """Rational that a number's decimal digits stand for (0.1 is 1/10).

    Raises
    ------
    ValueError
        For NaN, infinity or no number.
    """
    if isinstance(value, Fraction):
        return value
    try:
        return Fraction(str(value))
    except ValueError:
        raise ValueError(f"{value!r} is no finite number") from None


def ratio_up(numerator: float, denominator: Fraction) -> int:
    """Quotient rounded up to an integer, never below the true one.

    The numerator, a float that logarithms left a few roundings off, is moved up
    by a relative 2^-48 first.
    """
    return math.ceil(Fraction(numerator * (1 + 2**-48)) / denominator)


def check_unit(name: str, value: Fraction) -> None:
    """Refuse what is not in (0, 1) with a ValueError."""
    if not 0 < value < 1:
        raise ValueError(f"{name}: {float(value)} is not in (0, 1)")


def check_count(name: str, value: Any) -> None:
    """Refuse what is no positive integer with a ValueError."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(f"{name}: {value!r} is no positive integer")


def _log(value: Fraction) -> float:
    return math.log(value.numerator) - math.log(value.denominator)
