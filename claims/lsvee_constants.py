"""Claims about LSVEE's constants: whether they suffice, and what they cost.

The constants are recalled, so that they suffice is computed here rather than
believed; docs/lsvee.md has the argument.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from ..algorithms.lsvee.parameters import LsveeTheorem, Sizes
from ..algorithms.valor.parameters import CONSTRAINED, VALOR, TheoremParameters
from .claim import EXACT, Evidence, claim
from .lsvee import ANALYSIS

COMPARED = "paper, section VALOR, after the PAC bound"
_DELTA = Fraction(1, 10)


@claim(
    "lsvee-exponents",
    f"{COMPARED} (VALOR is worse in M, H and ε; its constrained form better)",
    EXACT,
)
def _exponents() -> Evidence:
    """Up to logarithms the trajectories grow like M H⁶K²/ε³ for LSVEE, M³H⁸K/ε⁵ for
    VALOR and M H⁶K/ε³ for its constrained form: VALOR is worse in M, H and ε, and the
    constrained form better by a factor of K, which its larger constants eat up for
    small K."""
    wanted = {
        "lsvee": {"M": 1, "H": 6, "K": 2, "eps": 3},
        VALOR: {"M": 3, "H": 8, "K": 1, "eps": 5},
        CONSTRAINED: {"M": 1, "H": 6, "K": 1, "eps": 3},
    }
    worst = 0.0
    for name, exponents in wanted.items():
        for variable, exponent in exponents.items():
            worst = max(worst, abs(_slope(name, variable) - exponent))
    counts = (2, 1024)
    smaller = [
        k for k in counts if _bound(CONSTRAINED, {"K": k}) < _bound("lsvee", {"K": k})
    ]
    return Evidence(
        worst < 0.1 and smaller == [1024],
        f"slopes from 10^40 to 10^41 differ from the exponents by {worst:.2f} at most; "
        f"of K in {counts} the constrained bound is smaller for {smaller}",
    )


def _bound(name: str, changed: dict[str, Any]) -> int:
    """Trajectories at ε = 0.3, δ = 0.1, M = 2, K = 2, H = 3, 64 functions."""
    p = {"eps": Fraction(3, 10), "M": 2, "K": 2, "H": 3} | changed
    if name == "lsvee":
        made = LsveeTheorem(p["eps"], _DELTA, p["M"], p["K"], p["H"], 64)
        return made.trajectory_bound
    log_size = math.log(64)
    return TheoremParameters(
        p["eps"], _DELTA, p["M"], p["K"], p["H"], log_size, log_size, name
    ).trajectory_bound


def _slope(name: str, variable: str) -> float:
    """Decimal logarithm of how the bound grows when a variable does, tenfold."""
    bounds = []
    for size in (10**40, 10**41):
        value = Fraction(1, size) if variable == "eps" else size
        bounds.append(_bound(name, {variable: value}))
    return math.log10(bounds[1]) - math.log10(bounds[0])


@claim("lsvee-constants", f"{ANALYSIS} (do the constants suffice?)", EXACT)
def _constants() -> Evidence:
    """With tests accurate to φ/2 and Bernstein's inequality (variance of the excess
    loss at most 9 times its mean, range 5), the recalled n_test, n_train and slack keep
    Q* and bound the errors of survivors by 5φ/2; the tolerance then passes learned
    states; acceptance within ε/2 loses at most ε, and a rejected policy meets an
    unlearned state with probability at least ε/8. Failure probabilities, with n_2 paths
    that must find that state, add up to at most δ."""
    made = [
        LsveeTheorem(eps, _DELTA, m, k, h, n)
        for eps in (0.5, 0.05)
        for m, k, h, n in ((1, 1, 1, 1), (2, 2, 3, 64), (1, 3, 2, 5), (9, 4, 9, 10**6))
    ]
    calls = [(p, sizes) for p in made for sizes in (p.first, p.on_demand)]
    margins = [_margins(p, sizes) for p, sizes in calls]
    # In units of ε: accuracy of values at the start, of the policy, of estimates.
    checks = []
    for h in range(1, 200):
        start = (Fraction(h) - Fraction(1, 4)) / (16 * h**2)
        policy = Fraction(3 * h, 320 * h**2)
        # V* ≤ V^f + start and V^f ≤ V̂* + 1/8, V̂* ≤ V̂ + 1/2, V̂ ≤ V^π + 1/8
        checks.append(start + Fraction(1, 8) + Fraction(1, 2) + Fraction(1, 8) <= 1)
        # rejected: V^π ≤ V̂ + 1/8 < V̂* - 1/2 + 1/8 ≤ V^f0 - 1/4 ≤ V^f + start - 1/4
        checks.append(Fraction(1, 4) - start - policy >= Fraction(1, 8))
    failures = [_failure(p) / float(_DELTA) for p in made]
    good = min(min(m) for m in margins) > 0 and all(checks)
    least = [float(min(m[i] for m in margins)) for i in range(3)]
    return Evidence(
        good and max(failures) <= 1 + 1e-9,
        f"sizes of {len(calls)} calls: slack {least[0]:.2f}φ² beyond what Q* needs; "
        f"errors of 5φ/2 show as {least[1]:.2f}φ² more than survivors may have; the "
        f"tolerance exceeds what must pass by {least[2]:.2f}√Kφ; H up to 199; failure "
        f"at most {max(failures):.3f} δ",
    )


def _margins(p: LsveeTheorem, sizes: Sizes) -> tuple[Fraction, Fraction, Fraction]:
    """Compute what the sizes of a call leave over; roots are rounded against them."""
    phi = 2 * sizes.accuracy
    rate, slack = sizes.rate / phi**2, sizes.slack / phi**2
    excess = Fraction(1, 4)  # of Q*, from V̂ being off by φ/2
    optimal = excess + _root_up(18 * excess * rate) + Fraction(5, 3) * rate
    # The least an empirical excess can be: min over e of e - √(18 e rate) - 5/3 rate.
    keeps = slack - (optimal + Fraction(9, 2) * rate + Fraction(5, 3) * rate)
    largest = Fraction(25, 4)
    shown = largest - _root_up(18 * largest * rate) - Fraction(5, 3) * rate
    step = p.eps / (16 * p.H**2) / (_root_up(Fraction(p.K)) * phi)
    return keeps, shown - (optimal + slack), Fraction(3, 4) * step - 6


def _failure(p: LsveeTheorem) -> float:
    """Union bound over everything that must not happen."""

    def call(sizes: Any) -> float:
        """One call of DFS-learn from outside: M H K tests, M H eliminations."""
        tests = p.K * 2 * p.N * math.exp(-2 * sizes.n_test * float(sizes.accuracy) ** 2)
        fits = 4 * p.N * math.exp(-sizes.n_train * float(sizes.rate))
        return p.M * p.H * (tests + fits)

    rejected = p.M * (p.H - 1)
    accuracy = float(p.eps) / 8
    on_demand = rejected * (p.H - 1) * p.n_exp * call(p.on_demand)
    missed = rejected * (1 - accuracy) ** p.n_exp
    # V̂* and one evaluation more than there are rejections
    estimates = (rejected + 2) * 2 * math.exp(-2 * p.n_eval * accuracy**2)
    return call(p.first) + on_demand + missed + estimates


def _root_up(value: Fraction) -> Fraction:
    bits = 2**40
    return Fraction(math.isqrt(math.ceil(value * bits**2)) + 1, bits)
