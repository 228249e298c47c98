"""What an engine may answer, in one vocabulary for all engines.

Engines differ in how they name their results and some mislabel them (a
time-limited incumbent called optimal, an unbounded program called
infeasible). Every engine of this package translates into the types here, and
values are dropped whenever the status does not vouch for them.
"""

from __future__ import annotations

import enum
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Status(enum.Enum):
    """Status of a linear or mixed-integer linear program.

    A status that comes with ``exact=False`` is the word of one engine, and
    engines err: CBC has called a feasible program infeasible. Only a status
    with ``exact=True`` is a proof.
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

    Attributes
    ----------
    status
        What the engine vouches for.
    objective
        Objective value of `values`; None unless `status` is OPTIMAL or
        FEASIBLE. A `Fraction` exactly when `exact` is true, else a float.
    values
        One value a variable in the order of the model, or None. Fractions
        exactly when `exact` is true, else floats.
    bound
        Bound on the optimum, in the model's own sense and with its constant,
        or None: a lower bound where it minimises, an upper one where it
        maximises. A float is the engine's word; a `Fraction` was proved.
    nodes
        Branch-and-bound nodes, or None for a linear program.
    seconds
        Wall time of the engine, process start included.
    engine
        Name of the engine.
    exact
        Whether `status`, `objective` and `values` were confirmed in exact arithmetic:
        FEASIBLE then means that the point meets every bound, row and integrality,
        OPTIMAL that no point is better, INFEASIBLE that there is none.
    multipliers
        For linear programs, one multiplier a row (see `olivine.solvers.lp.duality`):
        they prove optimality or infeasibility when `exact` is true; floats
        that an engine proposes otherwise; None where there are none.
    reason
        For UNKNOWN, and FEASIBLE of an engine: the limit reached or what went
        wrong; otherwise "".
    """

    status: Status
    objective: Fraction | float | None = None
    values: tuple[Fraction, ...] | tuple[float, ...] | None = None
    seconds: float = 0.0
    engine: str = ""
    bound: Fraction | float | None = None
    nodes: int | None = None
    exact: bool = False
    reason: str = ""
    multipliers: tuple[Fraction, ...] | tuple[float, ...] | None = None


class Answer(NamedTuple):
    """What an engine said of an integer form, in the form's sense.

    Attributes
    ----------
    values
        One a variable of the form, None where the engine does not know it; or
        None altogether.
    """

    status: Status
    values: tuple[float | None, ...] | None = None
    bound: float | None = None
    nodes: int | None = None
    reason: str = ""


class SatOutcome(NamedTuple):
    """Result of a SAT call.

    Attributes
    ----------
    status
        SATISFIABLE, UNSATISFIABLE or UNKNOWN.
    model
        Boolean array of length n (entry i-1 is variable i) when SATISFIABLE,
        else None. It has been checked against the clauses.
    proof
        Lines of a DRAT proof when one was asked for and the answer is
        UNSATISFIABLE, else None. Not checked here.
    seconds
        Wall time, process start included.
    engine
        Name of the engine.
    reason
        For UNKNOWN: the limit reached or what went wrong; otherwise "".
    """

    status: SatStatus
    model: NDArray[np.bool_] | None
    seconds: float
    engine: str
    proof: tuple[str, ...] | None = None
    reason: str = ""


class MaxSatOutcome(NamedTuple):
    """Result of a MaxSAT call.

    Attributes
    ----------
    status
        SATISFIABLE when the optimum was found, UNSATISFIABLE when the hard clauses have
        no model (so never where every clause is soft), else UNKNOWN.
    cost
        Total weight (number, when unweighted) of the clauses that `model` falsifies,
        counted; the least there is when SATISFIABLE, the least known when UNKNOWN.
        None where no model is known.
    model
        Boolean array of length n that attains `cost`, or None.
    seconds, engine, reason
        As in `SatOutcome`.
    lower
        Each assignment that satisfies the hard clauses falsifies at least this weight.
    """

    status: SatStatus
    cost: int | None
    model: NDArray[np.bool_] | None
    seconds: float
    engine: str
    reason: str = ""
    lower: int = 0
