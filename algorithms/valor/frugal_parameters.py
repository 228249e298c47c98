"""Parameters of VALOR with few samples (`olivine.algorithms.valor.frugal`).

>>> p = FrugalParameters(0.3, 0.1, M=3, K=4, H=5)
>>> p.version, p.n_first, p.n_pilot, p.n_fresh
('frugal', 24, 30, 445)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from ..environments.protocol import Environment
from ..exact.numbers import Number, ratio_up
from ..learning.declared import count
from ..learning.parameters import ByChoice
from .parameters import (
    ValorParameters,
    dimension,
    linear_defaults,
)


@dataclass(frozen=True, kw_only=True)
class FrugalFields(ValorParameters):
    """What a run with few samples needs to know.

    n_train, n_test and n_fresh, and a learned state's 2 n_test observations, are the
    most that may be drawn; runs stop as soon as less is enough.
    """

    version: str = "frugal"
    n_first: int = count("draws of an action at the first look", practical=24)
    n_fresh: int = count(
        "most fresh trajectories to measure a learned value on",
        practical=lambda p: ratio_up(8.0 * p.H, p.eps**2),
        place=1,
    )

    def agree(self) -> None:
        """Refuse also a first look that has no halves, and actions as they come."""
        super().agree()
        if not self.balanced:
            raise ValueError("balanced: False, but here each action weighs the same")
        if self.n_first < 2:
            raise ValueError(f"n_first: {self.n_first} draws have no two halves")

    @property
    def n_pilot(self) -> int:
        """Fresh trajectories at least, 4√H/ε: enough where all returns are the same."""
        return min(self.n_fresh, math.ceil(4 * math.sqrt(self.H) / self.eps))

    @property
    def looks(self) -> int:
        """Most looks of a test: sizes on the grid, two a doubling, up to n_test."""
        doublings = math.log2(max(1.0, self.n_test / self.n_first))
        return 2 * math.ceil(doublings) + 1

    @property
    def trajectory_bound(self) -> int:
        """Most trajectories: each call may fill what belongs to its path."""
        rows = max(self.n_first, self.n_test, self.rows // self.K)
        call = self.K * rows + 2 * self.n_test + self.n_fresh
        return self.H * self.T_max * call + self.iterations * self.n_eval

    @property
    def call_bounds(self) -> dict[str, int]:
        """As for the paper's form, but four programs per look."""
        tests = self.T_max * self.H * self.K
        return super().call_bounds | {"lp": 4 * tests * self.looks}


class FrugalParameters(ByChoice, FrugalFields):
    """Free constants of VALOR with few samples, by default the practical ones."""


def frugal_defaults(environment: Environment, eps: Number) -> dict[str, Any]:
    """Fields of `FrugalParameters` for linear classes, beyond its own defaults.

    Four rows per feature at a first look of an action, 20 per parameter of a policy
    at most; a test may draw as much as `linear_defaults` does, whose ε_stat it has.

    Parameters
    ----------
    environment
        With features: d is the largest number of them at a level.
    eps
        ε, in (0, 1).

    Raises
    ------
    ValueError
        For ε outside (0, 1), or an environment without features.
    """
    known = linear_defaults(environment, eps)
    d = dimension(environment)
    return {
        "eps_stat": known["eps_stat"],
        "n_first": 4 * d,
        "n_train": 20 * d * environment.n_actions,
        "n_test": known["n_test"],
    }
