"""HiGHS in this process: silent, from arrays, its answers in our vocabulary.

Undone here: it prints a banner to file descriptor 1 when its first object is made,
whatever its options say; and its thread pool keeps the size of the first run, fails
every run that asks for another size, and hangs in a forked child.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import highspy
import numpy as np
from numpy.typing import NDArray

from ..model import LinearModel, Row, integer_row
from ..outcome import Status
from .simplex import Basis

TOLERANCE = 1e-9
"""Feasibility, optimality and integrality tolerance asked of engines."""

_LARGEST_PLAIN = 2**30

ScaledRow = tuple[NDArray[np.float64], float, float, float]
"""Entries, low, high and scale: ``low ≤ entries·x ≤ high`` is a row times the scale,
which is positive."""

_banner_lock = threading.Lock()
_banner_due = True


def new_highs(*, threads: int = 1) -> highspy.Highs:
    """Make a silent solver with tight tolerances and no gaps."""
    with _without_banner():
        highs = highspy.Highs()
    set_options(
        highs,
        output_flag=False,
        threads=threads,
        primal_feasibility_tolerance=TOLERANCE,
        dual_feasibility_tolerance=TOLERANCE,
        mip_feasibility_tolerance=TOLERANCE,
        mip_rel_gap=0.0,
        mip_abs_gap=0.0,
    )
    return highs


def set_options(highs: highspy.Highs, **options: bool | int | float | str) -> None:
    """Set options by name."""
    for name, value in options.items():
        if highs.setOptionValue(name, value) != highspy.HighsStatus.kOk:
            raise ValueError(f"HiGHS refuses option {name} = {value!r}")


def forget_threads(*, wait: bool = False) -> None:
    """Give up the process's thread pool, so that the next run makes its own."""
    highspy.Highs.resetGlobalScheduler(wait)


def demand(status: highspy.HighsStatus) -> None:
    """Insist that a change of the program was taken."""
    if status == highspy.HighsStatus.kError:
        raise RuntimeError("HiGHS refused a change of the program")


def load(
    highs: highspy.Highs,
    model: LinearModel,
    scaled: Callable[[Row], ScaledRow] | None = None,
) -> list[float]:
    """Give an empty solver a model's linear relaxation, to be minimised."""
    variables, rows = model.variables, model.rows
    none = np.zeros(0, dtype=np.int32)
    lower = np.array([float(v.lower) for v in variables])
    upper = np.array([float(v.upper) for v in variables])
    costs = costs_of(model)
    demand(
        highs.addCols(len(variables), costs, lower, upper, 0, none, none, np.zeros(0))
    )
    parts = [(scaled or float_row)(row) for row in rows]
    starts = np.cumsum([0, *(len(row.indices) for row in rows)], dtype=np.int32)
    demand(
        highs.addRows(
            len(rows),
            np.array([low for _, low, _, _ in parts]),
            np.array([high for _, _, high, _ in parts]),
            int(starts[-1]),
            starts[:-1],
            np.array([j for row in rows for j in row.indices], dtype=np.int32),
            np.concatenate([np.zeros(0), *(entries for entries, _, _, _ in parts)]),
        )
    )
    return [scale for _, _, _, scale in parts]


def costs_of(model: LinearModel) -> NDArray[np.float64]:
    """Costs of a minimisation, which a maximisation is turned into."""
    costs = np.zeros(len(model.variables))
    for j, cost in model.objective.items():
        costs[j] = -cost if model.maximise else cost
    return costs


def float_row(row: Row) -> ScaledRow:
    """Scale a row for floating point, to integers where they are not large."""
    ints, rhs = integer_row(row)
    largest = max(1, abs(rhs), *map(abs, ints))
    divisor = largest if largest > _LARGEST_PLAIN else 1
    entries, right = [a / divisor for a in ints], rhs / divisor
    scale = 1.0
    if ints:
        first = row.coefficients[0]
        scale = ints[0] * first.denominator / (first.numerator * divisor)
    return sided(row, entries, right, scale)


def sided(row: Row, entries: list[float], right: float, scale: float) -> ScaledRow:
    """Make a scaled row of its entries and right-hand side."""
    low = -highspy.kHighsInf if row.sense == "<=" else right
    high = highspy.kHighsInf if row.sense == ">=" else right
    return np.array(entries, dtype=np.float64), low, high, scale


def run(highs: highspy.Highs) -> Status:
    """Run the engine and translate its verdict."""
    if highs.run() == highspy.HighsStatus.kError:
        # Most likely someone else in this process ran it with another number
        # of threads; a second error shows in the verdict.
        forget_threads(wait=True)
        highs.run()
    return status_of(highs)


def status_of(highs: highspy.Highs) -> Status:
    """Translate the verdict on the last run.

    A point counts as feasible only when the engine says so of the point itself.
    """
    verdict = highspy.HighsModelStatus
    status = highs.getModelStatus()
    if status == verdict.kOptimal:
        return Status.OPTIMAL
    if status == verdict.kInfeasible:
        return Status.INFEASIBLE
    if status in (verdict.kUnbounded, verdict.kUnboundedOrInfeasible):
        return Status.INFEASIBLE_OR_UNBOUNDED
    feasible = int(highspy.SolutionStatus.kSolutionStatusFeasible)
    if int(highs.getInfo().primal_solution_status) == feasible:
        return Status.FEASIBLE
    return Status.UNKNOWN


def verdict(highs: highspy.Highs) -> str:
    """Name the engine's own status of the last run, for a reason."""
    return f"HiGHS: {highs.modelStatusToString(highs.getModelStatus())}"


def basis_of(highs: highspy.Highs) -> Basis | None:
    """Read the basis that the last run ended with, or None if it has none."""
    basis = highs.getBasis()
    if not basis.valid:
        return None
    status = highspy.HighsBasisStatus
    columns, rows = list(basis.col_status), list(basis.row_status)
    return Basis(
        tuple(j for j, s in enumerate(columns) if s == status.kBasic),
        tuple(i for i, s in enumerate(rows) if s != status.kBasic),
        frozenset(j for j, s in enumerate(columns) if s == status.kUpper),
        frozenset(i for i, s in enumerate(rows) if s == status.kUpper),
    )


@contextlib.contextmanager
def _without_banner() -> Iterator[None]:
    global _banner_due
    with _banner_lock:
        try:
            saved = os.dup(1) if _banner_due else None
        except OSError:  # closed: nothing to keep clean
            saved = None
        if saved is None:
            yield
            return
        null = os.open(os.devnull, os.O_WRONLY)
        try:
            os.dup2(null, 1)
            yield
        finally:
            os.dup2(saved, 1)
            os.close(saved)
            os.close(null)
        _banner_due = False


@dataclass(frozen=True, eq=False)
class ArrayOutcome:
    """What HiGHS says of a program."""

    status: Status  # Its verdict, within its tolerances
    values: NDArray[np.float64] | None  # float64, shape (columns,); None unless OPTIMAL
    # Shadow prices: the rate at which the optimum grows with a row's limit; if OPTIMAL
    multipliers: NDArray[np.float64] | None
    iterations: int  # Simplex iterations of this solve


class ArrayLp:
    """A linear program over a box whose rows only grow in number, answers in floats.

    For large float matrices, where a rational a coefficient would cost more than the
    solve. Nothing is proved. `lower, upper`: finite bounds of the columns, shape
    (columns,).
    """

    def __init__(self, lower: NDArray[Any], upper: NDArray[Any]) -> None:
        self._highs = new_highs()
        # HiGHS drops coefficients below 1e-9, the weight of one draw in 10^9.
        set_options(self._highs, small_matrix_value=1e-12)
        size = len(lower)
        none = np.zeros(0, dtype=np.int32)
        _demand(
            self._highs.addCols(
                size, np.zeros(size), lower, upper, 0, none, none, np.zeros(0)
            )
        )
        self._columns = np.arange(size, dtype=np.int32)

    def add_rows(self, matrix: Any, lower: NDArray[Any], upper: NDArray[Any]) -> None:
        """Add the rows ``lower <= matrix @ x <= upper``; infinite sides are free."""
        _demand(
            self._highs.addRows(
                matrix.shape[0],
                lower,
                upper,
                matrix.nnz,
                matrix.indptr[:-1].astype(np.int32, copy=False),
                matrix.indices.astype(np.int32, copy=False),
                matrix.data,
            )
        )

    def solve(self, costs: NDArray[Any], *, maximise: bool) -> ArrayOutcome:
        """Optimise ``costs @ x``, from the last basis if there is one."""
        sign = -1.0 if maximise else 1.0
        _demand(
            self._highs.changeColsCost(len(self._columns), self._columns, sign * costs)
        )
        status = run(self._highs)
        iterations = int(self._highs.getInfo().simplex_iteration_count)
        if status is not Status.OPTIMAL:
            return ArrayOutcome(status, None, None, max(iterations, 0))
        solution = self._highs.getSolution()
        return ArrayOutcome(
            status,
            np.array(solution.col_value, dtype=np.float64),
            sign * np.array(solution.row_dual, dtype=np.float64),
            max(iterations, 0),
        )


def _demand(status: highspy.HighsStatus) -> None:
    """Fail loudly where HiGHS refuses or changes data: a caller's bug."""
    if status == highspy.HighsStatus.kError:
        raise ValueError("HiGHS refuses the data of a linear program")
