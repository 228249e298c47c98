"""What an engine may answer, in one vocabulary for all engines.

Some engines mislabel their results (a time-limited incumbent called optimal, an
unbounded program called infeasible). Every engine here translates into these types, and
values are dropped whenever the status does not vouch for them.
"""

from __future__ import annotations

import enum
from fractions import Fraction
from numbers import Real
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def check_limit(limit: float | None, what: str = "time limit") -> None:
    """Refuse a limit that is negative or no number."""
    if limit is not None and not (isinstance(limit, Real) and limit >= 0):
        raise ValueError(f"{what} {limit!r:.60} is negative or no number")


class Status(enum.Enum):
    """Status of a linear or mixed-integer linear program.

    With ``exact=False`` it is the word of one engine; only with ``exact=True`` a proof.
    """

    OPTIMAL = "optimal"
    FEASIBLE = "feasible"
    """A solution was found; its optimality was not proved."""
    INFEASIBLE = "infeasible"
    INFEASIBLE_OR_UNBOUNDED = "infeasible-or-unbounded"
    UNKNOWN = "unknown"
    """A limit was reached, the engine died, or it gave no usable answer."""


class SatStatus(enum.Enum):
    """Status of a SAT or MaxSAT call."""

    SATISFIABLE = "satisfiable"
    UNSATISFIABLE = "unsatisfiable"
    UNKNOWN = "unknown"


class LinearOutcome(NamedTuple):
    """Result of a linear or mixed-integer linear program.

    With `exact` its status, objective and values were confirmed in exact arithmetic:
    FEASIBLE then means that the point meets every bound, row and integrality, OPTIMAL
    that no point is better, INFEASIBLE that there is none.
    """

    status: Status
    # Of `values`, if OPTIMAL or FEASIBLE; Fractions if `exact`, else floats
    objective: Fraction | float | None = None
    values: tuple[Fraction, ...] | tuple[float, ...] | None = None
    seconds: float = 0.0  # wall time, process start included
    engine: str = ""
    # On the optimum, in the model's sense and with its constant: a float is the
    # engine's word, a Fraction was proved
    bound: Fraction | float | None = None
    nodes: int | None = None  # of branch and bound
    exact: bool = False
    reason: str = ""  # of UNKNOWN and an engine's FEASIBLE: what went wrong
    # For linear programs, one a row (`olivine.solvers.lp`); a proof if `exact`
    multipliers: tuple[Fraction, ...] | tuple[float, ...] | None = None


class Answer(NamedTuple):
    """What an engine said of an integer form, in the form's sense."""

    status: Status
    values: tuple[float | None, ...] | None = None  # None: not known to the engine
    bound: float | None = None
    nodes: int | None = None
    reason: str = ""


class SatOutcome(NamedTuple):
    """Result of a SAT call."""

    status: SatStatus
    model: NDArray[np.bool_] | None  # shape (n,), checked against the clauses
    seconds: float  # wall time, process start included
    engine: str
    proof: tuple[str, ...] | None = None  # lines of DRAT, if asked for; not checked
    reason: str = ""  # of UNKNOWN: the limit reached or what went wrong


class MaxSatOutcome(NamedTuple):
    """Result of a MaxSAT call.

    SATISFIABLE when the optimum was found, UNSATISFIABLE when the hard clauses have no
    model, else UNKNOWN.
    """

    status: SatStatus
    # Weight that `model` falsifies, counted: the least known, None without a model
    cost: int | None
    model: NDArray[np.bool_] | None  # shape (n,)
    seconds: float
    engine: str
    reason: str = ""
    lower: int = 0  # no assignment that satisfies the hard clauses falsifies less
