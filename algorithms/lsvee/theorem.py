"""Constants of LSVEE's theorem.

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
        version: str = "theorem",
    ) -> None:
        accuracy, chance = rational(eps), rational(delta)
        check_unit("epsilon", accuracy)
        check_unit("delta", chance)
        for name, count in (("M", M), ("K", K), ("H", H), ("N", N)):
            check_count(name, count)
        if version not in ("theorem", "paper"):
            raise ValueError(f"version: {version!r} is not 'theorem' or 'paper'")
        n_exp = ratio_up(8 * logarithm(6 * M * H / chance), accuracy)
        square = accuracy**2 / (320**2 * H**4 * K)

        phi = root_down(square)

        def sizes(share: Fraction) -> Sizes:
            tests = 2 * logarithm(2 * N * (2 * M * K * H) / share)
            fits = logarithm(4 * N * (2 * M * H) / share)
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
            n_eval=ratio_up(32 * logarithm(12 * M * H / chance), accuracy**2),
            max_eliminations=M * H,
            version=version,
        )
