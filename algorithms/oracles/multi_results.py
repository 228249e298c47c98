"""Input and output of the multi-data-set oracle."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..classes.policies import MixedPolicy
from ..exact.data import EmpiricalMeasure
from .functionals import Number


@dataclass(frozen=True, eq=False)
class ClassificationSet:
    """A data set with a limit: E_D[c(π(x))] ≤ U."""

    # D: observations and their weights; other columns are not looked at
    data: EmpiricalMeasure
    costs: ArrayLike  # c, shape (n, K): finite reals, or Fractions
    limit: Number  # U, finite


class MultiStatus(enum.Enum):
    """What is known of a multi-data-set problem."""

    FEASIBLE = "feasible"
    """A policy within ε_feas of every limit was found."""
    INFEASIBLE = "infeasible"
    """No policy meets every limit."""
    UNKNOWN = "unknown"
    """A limit on calls or time was reached, or the CSC oracle fell short."""


@dataclass(frozen=True)
class InfeasibilityCertificate:
    """Weights that prove no policy, and no mixture, meets every limit."""

    weights: tuple[Fraction, ...]  # λ ≥ 0, one a data set, not all 0
    # A certified lower bound, positive, on the least of Σ_j λ_j (cost_j(π) - U_j) over
    # the class
    margin: float


@dataclass(frozen=True)
class MultiResult:
    """Result of multi-data-set classification."""

    status: MultiStatus  # See `MultiStatus`
    # The mixture found (of one member, for a deterministic answer); with UNKNOWN the
    # best one known, if any; None when infeasible
    policy: MixedPolicy | None
    # Its average cost on each data set, float64, shape (J,); None without policy
    costs: NDArray[np.float64] | None
    # Certified bound on the largest excess of a cost over its limit, at least 0; 0 when
    # infeasible, infinite without policy and certificate
    violation: float
    # Proof of infeasibility, where there is one
    certificate: InfeasibilityCertificate | None
    # Whether the status is proved. Only the infeasibility of a deterministic problem
    # with a feasible mixture can be an engine's unproved word.
    proved: bool
    epsilon_feas: float  # What was asked for
    calls: int  # CSC calls made
    # Most CSC calls that the method's theorem allows; None without one
    call_bound: int | None
    # Basic operations, CSC calls included; None where an engine is involved
    operations: int | None
    method: str  # Which method gave the answer
    # Branch-and-bound nodes of the deterministic form, else None
    nodes: int | None = None
    # The violation as a rational, where costs were added up exactly
    exact_violation: Fraction | None = None
    reason: str = ""  # For UNKNOWN: why

    @property
    def feasible(self) -> bool:
        """Whether a policy within ε_feas was found."""
        return self.status is MultiStatus.FEASIBLE

    @property
    def honoured(self) -> bool:
        """Whether the contract was kept, by proof: ε_feas, or infeasible."""
        known = self.status is not MultiStatus.UNKNOWN
        return known and self.proved and self.violation <= self.epsilon_feas

    def to_json(self) -> dict[str, Any]:
        """Numbers of the result, without policy and weights."""
        return {
            "status": self.status.value,
            "method": self.method,
            "members": None if self.policy is None else len(self.policy),
            "violation": None if np.isinf(self.violation) else self.violation,
            "proved": self.proved,
            "calls": self.calls,
            "call_bound": self.call_bound,
            "operations": self.operations,
            "nodes": self.nodes,
        }
