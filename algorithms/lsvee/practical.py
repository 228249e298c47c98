"""Parameters of LSVEE of one's own choice."""

from __future__ import annotations

from fractions import Fraction

from olivine.algorithms.learning.parameters import (
    Number,
    check_count,
    check_unit,
    ratio_up,
    rational,
)
from olivine.algorithms.lsvee.parameters import (
    LsveeParameters,
    Sizes,
    logarithm,
    rational_up,
    root_down,
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
        tests = rational_up(logarithm(2 * N * (4 * M * K * H) / chance))
        fits = rational_up(logarithm(4 * N * (4 * M * H) / chance))
        sizes = Sizes(
            n_test,
            n_train,
            accuracy**2 / 16 if slack is None else _number("slack", slack),
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
                accuracy / 4 if tolerance is None else _number("tolerance", tolerance)
            ),
            max_iterations=max_iterations,
            repeat_paths=repeat_paths,
        )


def _number(name: str, value: Number) -> Fraction:
    try:
        return rational(value)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None
