"""Parameters of one's own choice, with defaults that suit small problems."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from olivine.algorithms.exact.numbers import (
    Number,
    check_count,
    check_unit,
    ratio_up,
    rational,
)
from olivine.algorithms.learning.parameters.fields import Parameters
from olivine.algorithms.learning.parameters.names import VALOR


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
        for name, value in (("M", M), ("K", K), ("H", H), ("n_exp", n_exp)):
            check_count(name, value)
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
            chosen[name] = rational(value, name) if exact else value
        super().__init__(
            algorithm=algorithm,
            eps=accuracy,
            delta=rational(delta),
            M=M,
            K=K,
            H=H,
            **fields | chosen,
        )
