"""Parameters of VALOR and of its constrained form (paper, Table 1 and appendix).

>>> import math
>>> p = TheoremParameters(0.2, 0.1, M=3, K=3, H=4, log_G=math.log(120), log_Pi=5)
>>> p.n_exp, p.T_max
(247, 2967)
>>> p.phi(4) == 6 * p.eps_stat + 2 * p.eps_sub + p.eps_feas
True
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ..environments.protocol import Environment
from ..exact.arrays import Number, check_unit, ratio_up, rational
from ..learning.parameters import (
    ByChoice,
    ByTheorem,
    DfsParameters,
    ProblemSize,
    count,
    flag,
    margin,
    positive,
)

VALOR = "valor"
CONSTRAINED = "valor-constrained"

MOST_CUTS = 12
"""Times a frugal consensus test cuts off what varies too much."""


@dataclass(frozen=True, kw_only=True)
class ValorParameters(DfsParameters):
    """What a run of VALOR needs to know."""

    algorithms = (VALOR, CONSTRAINED)

    eps_stat: Fraction = positive(
        "statistical accuracy", practical=lambda p: p.eps / 16
    )
    eps_sub: Fraction = positive(
        "optimality asked of the oracles",
        practical=lambda p: min(p.eps / 16, Fraction(1, 10**4)),
    )
    eps_feas: Fraction = positive(
        "feasibility asked of the oracles", practical=Fraction(1, 10**6)
    )
    # None: the formula, which is coarser the farther a level is from the end.
    slack: Fraction | None = margin(
        "φ of every level", default=None, practical=lambda p: p.eps / 2, shown="phi_1"
    )
    n_test: int = count("draws of a consensus test", practical=100)
    T_max: int = count(
        "dfslearn calls of a level",
        practical=lambda p: p.M * p.H * p.n_exp + p.M,
        place=3,
    )
    # Ṽ on the data set itself, as in the paper, is a maximum: too high by a share of
    # about √(dK/n_train) where policies have d parameters per action, and the excess
    # adds up over levels. A theorem's n_train makes it negligible.
    n_fresh: int | None = count(
        "fresh trajectories to measure a learned value on", default=None, place=1
    )
    clip: bool = flag(
        "whether learned values are clipped to [0, 1]", default=False, practical=True
    )
    # Where a program is infeasible: fail, or double φ, or take the pooled step.
    fall_back: bool = flag(
        "whether to go on where a program is infeasible", default=False, practical=True
    )

    @classmethod
    def constants(cls, problem: ProblemSize) -> dict[str, Any]:
        """ε_stat = ε/(2⁶·7·H²·T_max), constrained ε/(2¹⁰H²); T_max = MH n_exp + M."""
        p = problem
        calls = p.M * p.H * p.n_exp + p.M
        share = 2**10 if p.algorithm == CONSTRAINED else 2**6 * 7 * calls
        accuracy = p.eps / (share * p.H**2)
        tests = p.log(12 * p.K * p.H * calls, p.log_values)
        trains = p.log(12 * p.H * calls, p.log_values, p.log_policies)
        return dict.fromkeys(("eps_stat", "eps_sub", "eps_feas"), accuracy) | {
            "n_test": ratio_up(tests, 2 * accuracy**2),
            "n_train": ratio_up(16 * p.K * trains, accuracy**2),
            "n_exp": p.n_exp,
            "n_eval": p.n_eval,
            "T_max": calls,
        }

    def agree(self) -> None:
        """Refuse also a slack that no doubling makes larger."""
        super().agree()
        if self.slack == 0 and self.fall_back:
            raise ValueError(
                "slack: 0 stays 0 however often it is doubled, which is what fall_back "
                "does where a program is infeasible; take a positive one, or "
                "fall_back=False"
            )

    def phi(self, level: int) -> Fraction:
        """φ_h = (H-h+1)(6ε_stat + 2ε_sub + ε_feas), for h = 1..H+1."""
        if not 1 <= level <= self.H + 1:
            raise ValueError(f"level: {level} is not in 1..{self.H + 1}")
        if self.slack is not None:
            return self.slack if level <= self.H else Fraction(0)
        step = 6 * self.eps_stat + 2 * self.eps_sub + self.eps_feas
        return (self.H - level + 1) * step

    @property
    def phi_1(self) -> Fraction:
        """φ of the first level."""
        return self.phi(1)

    def consensus(self, level: int, scale: int = 1) -> Fraction:
        """Largest V_opt - V_pes that is a consensus, φ being scaled so far."""
        slack = 2 * scale * self.phi(level)
        return slack + 4 * self.eps_stat + 2 * self.eps_feas

    @property
    def trajectory_bound(self) -> int:
        """H T n_train + K H T n_test + M H n_eval, as in the proof, and fresh ones."""
        calls = self.H * self.T_max
        learning = calls * (self.rows + (self.n_fresh or 0) + self.K * self.n_test)
        return learning + self.iterations * self.n_eval

    @property
    def call_bounds(self) -> dict[str, int]:
        """Most calls of csc, lp, multi; ``"paper"`` as printed (docs/errata.md, 10)."""
        tests, calls = self.T_max * self.H * self.K, self.T_max * self.H
        if self.version == "paper":
            lp, steps = tests, self.iterations
        else:
            lp, steps = 2 * tests, self.iterations * self.H
        if self.algorithm == CONSTRAINED:
            pooled = steps if self.fall_back else 0
            return {"csc": calls + pooled, "lp": lp, "multi": steps}
        return {"csc": calls + steps, "lp": lp, "multi": 0}


class TheoremParameters(ByTheorem, ValorParameters):
    """The constants of VALOR's theorem, or of its constrained form's."""


class PracticalParameters(ByChoice, ValorParameters):
    """Free constants of VALOR.

    By default φ is ε/2 at all levels, actions are taken equally often, values are
    clipped, no path is explored twice, and infeasible programs do not end the run.
    """


def linear_defaults(environment: Environment, eps: Number) -> dict[str, Any]:
    """Fields of `PracticalParameters` for linear classes of d features a level.

    8H/ε² fresh trajectories leave Ṽ a standard error of at most ε/√(32H); 80 rows per
    parameter are enough for a policy, and n_train = 2 n_test = 4.5 d²/ε² for a
    consensus (ε_stat = ε/6; docs/valor.md).
    """
    accuracy = rational(eps)
    check_unit("epsilon", accuracy)
    d, k = dimension(environment), environment.n_actions
    n_train = max(80 * d * k, ratio_up(4.5 * d**2, accuracy**2))
    return {
        "eps_stat": accuracy / 6,
        "n_train": n_train,
        "n_test": -(-n_train // 2),
        "n_fresh": ratio_up(8.0 * environment.horizon, accuracy**2),
    }


def dimension(environment: Environment) -> int:
    """Largest number of features at a level; ValueError without features."""
    sizes = []
    for h in range(1, environment.horizon + 1):
        size = environment.space(h).dimension
        if size is None:
            if environment.features is None:
                raise ValueError(f"{environment.name!r} has no features")
            size = environment.features[h - 1].shape[1]
        sizes.append(size)
    return max(sizes)


@dataclass(frozen=True, kw_only=True)
class FrugalFields(ValorParameters):
    """What a run with few samples needs to know; sizes are the most drawn."""

    version: str = "frugal"
    n_first: int = count("draws of an action at the first look", practical=24)
    n_fresh: int = count(
        "most fresh trajectories to measure a learned value on",
        practical=lambda p: ratio_up(4.0 * p.H, p.eps**2),
        place=1,
    )
    leeway: Fraction = positive(
        "what a consensus allows beyond 2φ",
        practical=lambda p: 4 * p.eps_stat + 2 * p.eps_feas,
    )
    # g* must satisfy it: a deviation over all learned states of a level. None: any.
    spread: Fraction | None = positive(
        "largest standard deviation of a value function at one state", default=None
    )

    def agree(self) -> None:
        """Refuse also a first look that has no halves, and actions as they come."""
        super().agree()
        if not self.balanced:
            raise ValueError("balanced: False, but here each action weighs the same")
        if self.n_first < 2:
            raise ValueError(f"n_first: {self.n_first} draws have no two halves")

    def consensus(self, level: int, scale: int = 1) -> Fraction:
        """Largest V_opt - V_pes that is a consensus, φ being scaled so far."""
        return 2 * scale * self.phi(level) + self.leeway

    def fresh(self, variance: float) -> int:
        """Fresh trajectories for a standard error of ε/√(16H), 2√H/ε at least.

        1/4 beside the sum of squares: a few equal returns do not prove variance 0.
        """
        times = 16 * self.H / float(self.eps) ** 2
        half = variance * times / 2
        return math.ceil(half + math.sqrt(half**2 + times / 4))

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
        """As for the paper's form, but four programs per look, and with each cut."""
        tests, rounds = self.T_max * self.H * self.K, 1 + MOST_CUTS
        return super().call_bounds | {"lp": 4 * tests * self.looks * rounds}


class FrugalParameters(ByChoice, FrugalFields):
    """Free constants of VALOR with few samples, by default the practical ones."""


def frugal_defaults(environment: Environment, eps: Number) -> dict[str, Any]:
    """Fields of `FrugalParameters` for linear classes, beyond its own defaults.

    At a first look 3/2 rows of an action per feature, at most 20 per parameter of a
    policy; a test may draw as much as `linear_defaults` does. Of the same 5ε/3 that a
    consensus is there, φ has less and noise more (docs/valor.md).
    """
    known = linear_defaults(environment, eps)
    d = dimension(environment)
    accuracy = rational(eps)
    return {
        "slack": accuracy / 6,
        "leeway": 4 * accuracy / 3,
        "spread": accuracy / 3,
        "n_first": 2 * -(-3 * d // 4),
        "n_train": 20 * d * environment.n_actions,
        "n_test": known["n_test"],
    }
