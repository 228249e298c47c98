"""Constants of the two-sample algorithm: as printed, as corrected, or free.

The theorem's proof needs three accuracies of a data set: τ for means of value
functions, τ_V for values of policies, τ_L for squared losses. As printed, τ_V is
set for sums over M data sets and τ_L for sums over T_max of them; the algorithm
sums policy values over the learned sets (up to T_max) and losses over the val sets
(up to M). Version ``"theorem"`` exchanges the two (erratum 15), which gives the
proof's own last line; ``"paper"`` has the constants as printed.

n_train = 16K(2/τ_L² + 1/τ_V²) ln(12 H T_max |G|²|Π|/δ) is as printed in both. The
squared losses K 1{π(x)=a}(g(x) - r - g'(x'))² have variance up to 16K, not 4K
(erratum 16), for r + g' reaches 2; the term with τ_V leaves room for that, since
1/τ_V² = (18 T_max)²/τ_L² with the corrected constants.

Sizes of tabular classes: squared losses are not linear in g. They are affine in
each pair (g(x), g(x)²), and such pairs lie in the triangle with corners (0, 0),
(1/2, 0), (1, 1), at one of which a supremum is attained; there a loss is at most 4
in absolute value. So 3^|X_h| functions are enough, and
``log_size(squared=True)``, 2|X_h| ln 2, is more than that.

Our oracles are not perfect, as the paper assumes them to be, but asked for
accuracies far below those of the data: `oracle_share` of each of them, which the
error terms here include.

>>> p = TwoSampleTheoremParameters(0.3, 0.1, M=2, K=2, H=3, log_G=5.5, log_Pi=3)
>>> p.n_exp, p.T_max, p.n_train > 10**24
(147, 2652, True)
>>> p.policy_bound <= p.eps / 8 and p.estimate_bound <= p.eps / 8
True
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from olivine.algorithms.learning.parameters import (
    Number,
    Problem,
    Version,
    check_count,
    check_unit,
    ratio_up,
    rational,
)
from olivine.algorithms.two_sample.fields import TWO_SAMPLE, TwoSampleParameters

__all__ = [
    "TWO_SAMPLE",
    "TwoSampleParameters",
    "TwoSamplePracticalParameters",
    "TwoSampleTheoremParameters",
]


class TwoSampleTheoremParameters(TwoSampleParameters):
    """The theorem's own constants.

    Parameters
    ----------
    eps, delta
        ε and δ in (0, 1); floats stand for their decimal digits (0.1 is 1/10).
    M, K, H
        As for `TwoSampleParameters`.
    log_G, log_Pi
        ln |G| and ln |Π|, not negative: ``log_size(squared=True)`` and
        ``log_size()`` of the classes.
    algorithm
        Only ``"two-sample"``; there so that the constructor is that of
        `olivine.algorithms.learning.parameters.TheoremParameters`.
    version
        ``"theorem"``: corrected; ``"paper"``: as printed.

    Raises
    ------
    ValueError
        For an argument out of range.
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
        algorithm: str = TWO_SAMPLE,
        version: Version = "theorem",
    ) -> None:
        problem = Problem.checked(eps, delta, M, K, H, log_G, log_Pi, version)
        if algorithm != TWO_SAMPLE:
            raise ValueError(f"algorithm: {algorithm!r} is not {TWO_SAMPLE!r}")
        calls = M * (K + 1) * (1 + H * problem.n_exp)
        policies, losses = (M, calls) if version == "paper" else (calls, M)
        tau_v = problem.eps**2 / (2**8 * 3**4 * M * policies * H**4)
        tau_l = problem.eps**2 / (2**7 * 3**2 * H**4 * losses)
        inside = problem.log(12 * H * calls, 2 * log_G, log_Pi)
        super().__init__(
            eps=problem.eps,
            delta=problem.delta,
            M=M,
            K=K,
            H=H,
            tau=problem.eps / (2**6 * 3 * H**2),
            tau_V=tau_v,
            tau_L=tau_l,
            n_train=ratio_up(16 * K * inside, 1 / (2 / tau_l**2 + 1 / tau_v**2)),
            n_exp=problem.n_exp,
            n_eval=problem.n_eval,
            T_max=calls,
            version=version,
        )


class TwoSamplePracticalParameters(TwoSampleParameters):
    """Free parameters, with defaults that suit small problems.

    By default τ is 1/8 (so data sets count as different from 1/4 on), actions are
    taken equally often in a data set, and paths explored on demand are not
    explored again.

    Parameters
    ----------
    eps, delta, M, K, H
        As for `TwoSampleTheoremParameters`.
    **chosen
        Any field of `TwoSampleParameters`.

    Raises
    ------
    ValueError
        For a value out of range, or n_eval below n_exp.
    """

    def __init__(
        self, eps: Number, delta: Number, M: int, K: int, H: int, **chosen: Any
    ) -> None:
        accuracy = rational(eps)
        check_unit("epsilon", accuracy)
        for name, value in (("M", M), ("K", K), ("H", H)):
            check_count(name, value)
        n_exp = chosen.pop("n_exp", 10)
        check_count("n_exp", n_exp)
        for name in ("tau", "tau_V", "tau_L", "oracle_share"):
            if name in chosen:
                chosen[name] = rational(chosen[name], name)
        fields: dict[str, Any] = {
            "tau": Fraction(1, 8),
            "tau_V": accuracy / 16,
            "tau_L": accuracy / 16,
            "n_train": 200 * K,
            "n_exp": n_exp,
            "n_eval": max(n_exp, ratio_up(8.0, accuracy**2)),
            "T_max": M * (K + 1) * (1 + H * n_exp),
            "repeat_paths": False,
            "balanced": True,
        }
        super().__init__(
            eps=accuracy,
            delta=rational(delta),
            M=M,
            K=K,
            H=H,
            **fields | chosen,
        )
