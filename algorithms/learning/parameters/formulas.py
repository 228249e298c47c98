"""The constants of each algorithm's theorem, by name.

VALOR's and its constrained form's are here (paper, Table 1 and its counterpart in
the appendix); other algorithms register theirs with `register_formula`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from olivine.algorithms.exact.numbers import (
    Number,
    check_count,
    check_unit,
    log,
    ratio_up,
    rational,
)
from olivine.algorithms.learning.parameters.names import CONSTRAINED, VALOR

Version = Literal["theorem", "paper"]


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

    @classmethod
    def checked(
        cls,
        eps: Number,
        delta: Number,
        M: int,
        K: int,
        H: int,
        log_G: float,
        log_Pi: float,
        version: Version,
    ) -> Problem:
        """Make one of a theorem's arguments; ValueError names one out of range."""
        accuracy, chance = rational(eps), rational(delta)
        check_unit("epsilon", accuracy)
        check_unit("delta", chance)
        for name, value in (("M", M), ("K", K), ("H", H)):
            check_count(name, value)
        for name, size in (("log_G", log_G), ("log_Pi", log_Pi)):
            if not 0 <= size < math.inf:
                raise ValueError(f"{name}: {size} is not finite and at least 0")
        if version not in ("theorem", "paper"):
            raise ValueError(f"version: {version!r} is not 'theorem' or 'paper'")
        return cls(accuracy, chance, M, K, H, log_G, log_Pi, version)

    def log(self, product: Number, *more: float) -> float:
        """ln(product / δ) plus further logarithms."""
        return math.log(product) - log(self.delta) + sum(more)

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


def formula_of(algorithm: str) -> Formula:
    """Return the formula of an algorithm.

    Raises
    ------
    ValueError
        If it has none.
    """
    if algorithm not in _FORMULAS:
        names = ", ".join(_FORMULAS)
        raise ValueError(f"algorithm: no constants for {algorithm!r} ({names})")
    return _FORMULAS[algorithm]
