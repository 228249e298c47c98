"""The backup barrier, run: Bellman backups that fail, and VALOR that does not.

`simulate` runs Bellman backups many times (`backup` says exactly how often they must
fail), `run_valor` VALOR on the same classes. `replay` follows the backups by hand, in
rationals, from the mean reward at x_{H,b}, which decides everything (docs/barriers.md).

>>> barrier = BackupBarrier(3, Fraction(1, 4))
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

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np

from ..baselines.backwards import backup
from ..baselines.parameters import BACKUP, practical_parameters
from ..exact.arrays import check_count
from ..exact.multinomial import RecordedSeed
from ..learning.problem import LearningResult
from ..valor.algorithm import valor
from ..valor.parameters import PracticalParameters, TheoremParameters, ValorParameters
from .backup import HALF, A, B, BackupBarrier, Ties

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
