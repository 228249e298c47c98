"""The backup barrier: where Bellman backups need 4^H samples a state.

Two chains of H states: a's last state pays Ber(1/2 + ε), b's Ber(1/2). The class holds
g* and one wrong function, right everywhere but on chain b: g_bad(x_{h,b}) = 1/2 + Δ_h
with Δ_h = Δ_1 / ρ^{h-1}. ρ = 2 and Δ_1 = ε is the paper's construction (appendix
"Additional Barriers"); below 2 no tie is left to an adversary (docs/barriers.md).
`failure_probability` says exactly how often backups must fail; `replay` follows them
by hand, from the mean reward at x_{H,b}, which decides everything; `simulate` runs them
many times, and `run_valor` VALOR on the same classes.

>>> barrier = BackupBarrier(3, Fraction(1, 4))
>>> [str(barrier.excess(h)) for h in (1, 2, 3)], str(barrier.sample_limit)
(['1/4', '1/8', '1/16'], '32')
>>> barrier.environment().truth.optimal_value
Fraction(3, 4)
>>> replay(barrier, Fraction(17, 32)).taken
('tie', 'tie', 'tie')
>>> replay(barrier, Fraction(1, 2)).action, replay(barrier, Fraction(9, 16)).action
(0, 1)
>>> barrier = BackupBarrier(6, Fraction(1, 4))
>>> found = simulate(barrier, 2000, 20, np.random.default_rng(0))
>>> found.failures > 0, all(loss in (0, Fraction(1, 4)) for loss in found.losses)
(True, True)
>>> run_valor(barrier, np.random.default_rng(0)).trajectories < 10_000
True
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from ..baselines.backwards import BACKUP, backup, practical_parameters
from ..classes import (
    FinitePolicyClass,
    FiniteValueClass,
    PolicyClassByLevel,
    ValueClassByLevel,
)
from ..environments import from_lists
from ..environments.finite import FiniteEnvironment
from ..exact.arrays import check_count
from ..exact.multinomial import RecordedSeed
from ..learning.problem import LearningResult, Problem
from ..valor.algorithm import valor
from ..valor.parameters import PracticalParameters, TheoremParameters, ValorParameters

HALF = Fraction(1, 2)
A, B = 0, 1  # actions at the start, and codes of the two states of a level

Ties = Literal["against", "for"]
"""Whom ties favour, by the order of the classes: oracles take the first member."""

TIES: tuple[Ties, ...] = ("against", "for")

_LEAST_EXCESS = Fraction(1, 2**40)


@dataclass(frozen=True)
class BackupBarrier:
    """The construction."""

    H: int  # Length of the chains, at least 1; the environment has H + 1 levels
    epsilon: Fraction  # ε, what choosing b loses, in (0, 1/2]
    ratio: Fraction = Fraction(2)  # ρ in (1, 2]; 2 is the paper's
    # Δ_1 in [ε, 1/2]; by default ε if ρ = 2 (the paper's), else half way between
    first_excess: Fraction | None = None

    def __post_init__(self) -> None:
        if isinstance(self.H, bool) or not isinstance(self.H, int) or self.H < 1:
            raise ValueError(f"H: {self.H!r} is no integer of at least 1")
        put = object.__setattr__
        put(self, "epsilon", Fraction(self.epsilon))
        put(self, "ratio", Fraction(self.ratio))
        if not 0 < self.epsilon <= HALF:
            raise ValueError(
                f"epsilon: {self.epsilon} is not in (0, 1/2]; Ber(1/2 + epsilon) is "
                "a law only there"
            )
        if not 1 < self.ratio <= 2:
            raise ValueError(f"ratio: {self.ratio} is not in (1, 2]")
        if self.first_excess is None:
            middle = (self.epsilon + HALF) / 2
            put(self, "first_excess", self.epsilon if self.ratio == 2 else middle)
        first = Fraction(self.excess(1))
        if not self.epsilon <= first <= HALF:
            raise ValueError(f"first_excess: {first} is not in [{self.epsilon}, 1/2]")
        if self.ratio < 2 and first == self.epsilon:
            raise ValueError(
                f"first_excess: must exceed epsilon = {self.epsilon} where the ratio "
                "is below 2 (without ties), so epsilon must be below 1/2"
            )

    def excess(self, h: int) -> Fraction:
        """Δ_h = g_bad(x_{h,b}) - g*(x_{h,b}), for h = 1..H."""
        if not 1 <= h <= self.H:
            raise ValueError(f"h: {h} is not in 1..{self.H}")
        first = self.epsilon if self.first_excess is None else self.first_excess
        return Fraction(first) / self.ratio ** (h - 1)

    @property
    def threshold(self) -> Fraction:
        """Mean reward at x_{H,b} from which on g_bad fits best: 1/2 + Δ_H/2."""
        return HALF + self.excess(self.H) / 2

    @property
    def sample_limit(self) -> Fraction:
        """1/(8 Δ_H²), below which g_bad is taken with probability 1/4 or more."""
        return 1 / (8 * self.excess(self.H) ** 2)

    @property
    def has_ties(self) -> bool:
        """Whether the failure needs ties to be broken against the algorithm."""
        return self.ratio == 2 or self.first_excess == self.epsilon

    def environment(self) -> FiniteEnvironment:
        """Make the environment; observations are the states themselves."""
        idle = [0, 0]
        levels: list[Any] = [[("x0", {"x0": 1}, {"x0": idle}, ["a1", "b1"])]]
        for h in range(1, self.H + 1):
            states = []
            for chain, chance in (("a", HALF + self.epsilon), ("b", HALF)):
                name, ahead = f"{chain}{h}", f"{chain}{h + 1}"
                last = h == self.H
                paid = [{1: chance, 0: 1 - chance}] * 2 if last else idle
                following = [] if last else [ahead, ahead]
                states.append((name, {name: 1}, {name: paid}, following))
            levels.append(states)
        return from_lists(levels, "backup-barrier")

    def values(self, ties: Ties = "against") -> ValueClassByLevel:
        """G: g_bad and g*, favoured first. Codes a = 0, b = 1; alike at the start."""
        best = HALF + self.epsilon
        levels = [FiniteValueClass(np.array([[best], [best]], dtype=object))]
        for h in range(1, self.H + 1):
            bad, good = [best, HALF + self.excess(h)], [best, HALF]
            members = [bad, good] if _against(ties) else [good, bad]
            levels.append(FiniteValueClass(np.array(members, dtype=object)))
        return ValueClassByLevel(levels)

    def policies(self, ties: Ties = "against") -> PolicyClassByLevel:
        """Π: the two policies, which differ at the start only."""
        start = [[B], [A]] if _against(ties) else [[A], [B]]
        chains = [FinitePolicyClass([[0, 0]], 2)] * self.H
        return PolicyClassByLevel([FinitePolicyClass(start, 2), *chains])

    def instance(self, ties: Ties = "against") -> Problem:
        """Give the environment with both classes."""
        return Problem(self.environment(), self.values(ties), self.policies(ties))

    def check_floats(self) -> None:
        """Refuse parameters (ties, small Δ_H) at which float64 is not good enough."""
        if not self.has_ties:
            if self.excess(self.H) < _LEAST_EXCESS:
                raise ValueError(
                    f"H: {self.H} is too large, the excess at the last level is "
                    f"{float(self.excess(self.H)):.3g}, below 2^-40: rounding would "
                    "decide"
                )
            return
        if not _is_float(HALF + self.epsilon):
            raise ValueError(
                f"epsilon: {self.epsilon} is no fraction over a power of 2, so float64 "
                "would break ties by rounding; take such a one, or a ratio below 2"
            )
        if not all(_is_float(HALF + self.excess(h)) for h in range(1, self.H + 1)):
            raise ValueError(
                f"H: {self.H} is too large, float64 does not hold 1/2 + "
                f"epsilon/{self.ratio}^{self.H - 1}: rounding would break ties"
            )


def _is_float(value: Fraction) -> bool:
    return Fraction(float(value)) == value


def _against(ties: Ties) -> bool:
    if ties not in TIES:
        raise ValueError(f"ties: {ties!r} is none of {', '.join(TIES)}")
    return ties == "against"


EXACT_DRAWS = 10**5  # largest n for which the tail is added up in integers

_BERRY_ESSEEN = 0.4748
_ROUNDING = 1e-12


@dataclass(frozen=True)
class Probability:
    """A probability, exact or enclosed."""

    # lower, upper: bounds in [0, 1]; equal up to float64 where it is exact
    lower: float
    upper: float
    # The probability as a rational, or None
    exact: Fraction | None = field(default=None, repr=False)

    @property
    def middle(self) -> float:
        """Middle of the bounds."""
        return (self.lower + self.upper) / 2

    def at_least(self, value: Fraction) -> bool | None:
        """Whether it is at least a value; None where the bounds cannot tell."""
        if self.exact is not None:
            return self.exact >= value
        if self.lower >= value:
            return True
        return False if self.upper < value else None


def failure_probability(
    barrier: BackupBarrier, n: int, ties: Ties = "against"
) -> Probability:
    """Probability that the Bellman backup takes b with n samples from every state."""
    if isinstance(n, bool) or not isinstance(n, int) or n < 1:
        raise ValueError(f"n: {n!r} is no integer of at least 1")
    if ties == "against":
        return fair_tail(n, math.ceil(n * barrier.threshold))
    tied_chain = barrier.ratio == 2 and barrier.H > 1
    if tied_chain or barrier.excess(1) == barrier.epsilon:
        return Probability(0.0, 0.0, Fraction(0))
    return fair_tail(n, math.floor(n * barrier.threshold) + 1)


def fair_tail(n: int, k: int) -> Probability:
    """P[S ≥ k] for S ~ Bin(n, 1/2): exact up to `EXACT_DRAWS`, else enclosed."""
    if n <= EXACT_DRAWS:
        exact = exact_fair_tail(n, k)
        return Probability(float(exact), float(exact), exact)
    # (k - n/2)/√(n/4), the numerator exact before it is rounded.
    standardised = (2 * k - n) / math.sqrt(n)
    tail = math.erfc(standardised / math.sqrt(2)) / 2
    width = _BERRY_ESSEEN / math.sqrt(n) + _ROUNDING
    return Probability(max(0.0, tail - width), min(1.0, tail + width))


def exact_fair_tail(n: int, k: int) -> Fraction:
    """P[S ≥ k] for S ~ Bin(n, 1/2), as a rational; k any integer."""
    if k <= 0:
        return Fraction(1)
    if k > n:
        return Fraction(0)
    if 2 * k <= n:  # P[S ≥ k] = 1 - P[S ≥ n - k + 1]
        return 1 - exact_fair_tail(n, n - k + 1)
    # Add up whichever side of k is shorter: [k, n], or from the middle to k - 1.
    middle = (n + 1) // 2
    if n - k < k - middle:
        return Fraction(_sum_of_binomials(n, k, n), 2**n)
    upper = 2 ** (n - 1)
    if n % 2 == 0:  # half of 1 plus the middle one lies at n/2 and above
        upper += math.comb(n, n // 2) // 2
    return Fraction(upper - _sum_of_binomials(n, middle, k - 1), 2**n)


def _sum_of_binomials(n: int, first: int, last: int) -> int:
    if last < first:
        return 0
    total, term = 0, math.comb(n, first)
    for i in range(first, last + 1):
        total += term
        term = term * (n - i) // (i + 1)
    return total


def slud_bound(barrier: BackupBarrier, n: int) -> float:
    """Right-hand side as printed: 1 - Φ(n Δ_H/2 / √(n/4)), no lower bound in truth."""
    shift = n * float(barrier.excess(barrier.H)) / 2
    return math.erfc(shift / math.sqrt(n / 4) / math.sqrt(2)) / 2


Loss = Callable[[Fraction, Fraction], Fraction]
"""Loss of a prediction against a target, the prediction first."""

Taken = Literal["good", "bad", "tie"]


def square(prediction: Fraction, target: Fraction) -> Fraction:
    """(g - y)²."""
    return (prediction - target) ** 2


def absolute(prediction: Fraction, target: Fraction) -> Fraction:
    """|g - y|."""
    return abs(prediction - target)


@dataclass(frozen=True)
class Replay:
    """The course of a Bellman backup."""

    # Which function fits best at x_{h,b}, h = 1..H; ties go to whom they favour
    taken: tuple[Taken, ...]
    value: Fraction  # ĝ_1(x_{1,b})
    # Whether b seems better at the start ("bad"), worse ("good"), or neither
    start: Taken
    action: int  # The action taken at the start


def replay(
    barrier: BackupBarrier, mean: Fraction, ties: Ties = "against", loss: Loss = square
) -> Replay:
    """Follow the recursion from a mean in [0, 1]."""
    if not 0 <= mean <= 1:
        raise ValueError(f"mean: {mean} is not in [0, 1]")
    targets = [(mean, Fraction(1)), (1 - mean, Fraction(0))]
    taken: list[Taken] = []
    value = HALF
    for h in range(barrier.H, 0, -1):
        bad, good = HALF + barrier.excess(h), HALF
        excess = sum(
            (p * (loss(bad, y) - loss(good, y)) for p, y in targets), Fraction(0)
        )
        taken.insert(0, _taken(-excess))
        value = bad if _is_bad(taken[0], ties) else good
        targets = [(Fraction(1), value)]
    start = _taken(value - (HALF + barrier.epsilon))
    return Replay(tuple(taken), value, start, B if _is_bad(start, ties) else A)


def _taken(advantage: Fraction) -> Taken:
    if advantage == 0:
        return "tie"
    return "bad" if advantage > 0 else "good"


def _is_bad(taken: Taken, ties: Ties) -> bool:
    return taken == "bad" or (taken == "tie" and ties == "against")


Kind = Literal["practical", "theorem"]
VALOR_KINDS: tuple[Kind, ...] = ("practical", "theorem")

DELTA = Fraction(1, 10)
_EXACTLY = Fraction(1, 10**20)
"""ε_sub at which the oracles compare sums in rationals: ties are ties."""


@dataclass(frozen=True)
class Simulated:
    """Runs of the Bellman backup algorithm."""

    n: int  # Samples of each state and action
    losses: tuple[Fraction, ...]  # V* - V^π̂ of each run
    trajectories: int  # Of one run
    seed: RecordedSeed  # The generator before the first run

    @property
    def runs(self) -> int:
        """Number of runs."""
        return len(self.losses)

    @property
    def failures(self) -> int:
        """Runs whose policy is worse than optimal (then by ε)."""
        return sum(loss > 0 for loss in self.losses)

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Clopper and Pearson's interval for the probability of failure."""
        return clopper_pearson(self.failures, self.runs, confidence)


def simulate(
    barrier: BackupBarrier,
    n: int,
    runs: int,
    rng: np.random.Generator,
    ties: Ties = "against",
) -> Simulated:
    """Run Bellman backups often, on n samples of each state and action."""
    check_count("n", n)
    check_count("runs", runs)
    barrier.check_floats()
    made, seed = barrier.instance(ties), RecordedSeed.of(rng)
    environment = made.environment
    parameters = practical_parameters(
        BACKUP,
        barrier.epsilon,
        DELTA,
        M=environment.max_states,
        K=environment.n_actions,
        H=environment.horizon,
        n=n,
        eps_sub=_EXACTLY,
        per_action=True,
    )
    losses, trajectories = [], 0
    truth = environment.truth
    for _ in range(runs):
        result = backup(environment, made.values, made.policies, parameters, rng)
        policies = result.policies or ()
        losses.append(truth.optimal_value - truth.policy_value(policies))
        trajectories = result.trajectories
    return Simulated(n, tuple(losses), trajectories, seed)


def valor_parameters(
    barrier: BackupBarrier, kind: Kind = "practical"
) -> ValorParameters:
    """Parameters of VALOR for accuracy ε/2, below what action b loses."""
    made = barrier.instance()
    sizes = made.environment.max_states, 2, made.environment.horizon
    accuracy = barrier.epsilon / 2
    if kind == "practical":
        return PracticalParameters(accuracy, DELTA, *sizes)
    return TheoremParameters(
        accuracy, DELTA, *sizes, made.values.log_size(), made.policies.log_size()
    )


def run_valor(
    barrier: BackupBarrier, rng: np.random.Generator, kind: Kind = "practical"
) -> LearningResult:
    """Run VALOR on the same environment and classes, for accuracy ε/2."""
    made = barrier.instance()
    return valor(
        made.environment,
        made.values,
        made.policies,
        valor_parameters(barrier, kind),
        rng,
    )


def clopper_pearson(
    successes: int, total: int, confidence: float = 0.95
) -> tuple[float, float]:
    """Exact two-sided interval for a probability after so many successes."""
    from scipy.stats import beta

    if total < 1 or not 0 <= successes <= total:
        raise ValueError(f"successes: {successes} of {total} is impossible")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence: {confidence} is not in (0, 1)")
    tail, missed = (1 - confidence) / 2, total - successes
    low = float(beta.ppf(tail, successes, missed + 1)) if successes else 0.0
    high = float(beta.ppf(1 - tail, successes + 1, missed)) if missed else 1.0
    return low, high
