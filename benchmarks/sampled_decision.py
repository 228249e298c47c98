"""Deciding a formula from data: the hard program over data sets of n draws.

OLIVE never sees exact expectations. Here each distribution of the hard program is a
data set of n tuples, drawn on a member M_y with uniform actions, and the program over
them (`olive_program.sampled_program`) is asked for the least tolerance φ̂ at which
g(s0) = 1 is feasible. At a tolerance φ it calls the formula satisfiable exactly if φ̂ ≤
φ, so one trial tells at which tolerances the decision *survives* sampling.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike
from olivine.algorithms.exact.data import EmpiricalMeasure
from olivine.algorithms.exact.multinomial import RecordedSeed
from olivine.algorithms.olive.run import TabularEnvironment
from olivine.algorithms.olive_program.optimisers import LeastTolerance, least_tolerance
from olivine.algorithms.olive_program.sampled_program import (
    SampledConstraint,
    SampledProgram,
)
from olivine.reduction.family.family import Family
from olivine.reduction.program.tolerance import tolerance_ceiling


@dataclass(frozen=True)
class Survival:
    """Trials of the decision from data sets of one size."""

    satisfiable: bool  # The truth
    n: int  # Draws in each data set
    ceiling: Fraction  # No tolerance above this was looked for
    # What each trial found. Of a satisfiable formula a tolerance is exact and proves
    # survival there; of an unsatisfiable one that nothing smaller will do is the
    # engine's word.
    trials: tuple[LeastTolerance, ...]
    seed: RecordedSeed | None = None  # The generator of the data before the first draw

    def survivors(self, tolerance: Fraction) -> tuple[int, int]:
        """Count the trials whose decision survives, and those that were decided."""
        if tolerance > self.ceiling:
            raise ValueError(f"tolerance {tolerance} is above {self.ceiling}")
        decided = [t for t in self.trials if not t.reason]
        feasible = [
            t.tolerance is not None and t.tolerance <= tolerance for t in decided
        ]
        return sum(f == self.satisfiable for f in feasible), len(decided)

    def interval(
        self, tolerance: Fraction, confidence: float = 0.95
    ) -> tuple[float, float]:
        """Clopper–Pearson interval for the probability of survival."""
        from scipy.stats import binomtest  # slow to load

        if not 0 < confidence < 1:
            raise ValueError(f"confidence {confidence} is not in (0, 1)")
        survived, total = self.survivors(tolerance)
        if not total:
            return 0.0, 1.0
        found = binomtest(survived, total).proportion_ci(confidence)  # "exact"
        return float(found.low), float(found.high)


def sampled_program(
    family: Family, y: ArrayLike | None, n: int, rng: np.random.Generator
) -> SampledProgram:
    """Write the hard program over data sets of n draws from the member M_y."""
    mdp = family.mdp(y)
    environment = TabularEnvironment(mdp)
    constraints = [
        SampledConstraint.of(
            environment.data_over(d.probabilities(), n, rng), mdp.action_counts, d.level
        )
        for d in family.distributions()
    ]
    starts = EmpiricalMeasure([family.start])
    return SampledProgram(mdp.action_counts, starts, constraints)


def survival(
    family: Family,
    y: ArrayLike | None,
    n: int,
    trials: int,
    rng: np.random.Generator,
    *,
    satisfiable: bool,
    time_limit: float | None = None,
) -> Survival:
    """Draw data sets and find the least tolerance of each trial."""
    if trials < 1:
        raise ValueError(f"{trials} trials: expected at least 1")
    ceiling = 2 * tolerance_ceiling(family.parameters)
    seed = RecordedSeed.of(rng)
    found = tuple(
        least_tolerance(
            sampled_program(family, y, n, rng), 1, ceiling, time_limit=time_limit
        )
        for _ in range(trials)
    )
    return Survival(satisfiable, n, ceiling, found, seed)
