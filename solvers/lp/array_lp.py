"""Linear programs from arrays: HiGHS kept between solves, answers in floats.

The companion of `olivine.solvers.lp.lp` for large float matrices, where a rational a
coefficient would cost more than the solve. Nothing here is proved; what comes
back with the values are multipliers, from which the caller can compute bounds
of its own (`olivine.solvers.lp.duality` says how).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import highspy
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from ..outcome import Status
from . import highs as engine


@dataclass(frozen=True)
class ArrayOutcome:
    """What HiGHS says of a program."""

    status: Status  # Its verdict, within its tolerances
    values: NDArray[np.float64] | None  # float64, shape (columns,); None unless OPTIMAL
    # Shadow prices of the rows, float64: the rate at which the optimum grows with a
    # row's limit; None unless OPTIMAL
    multipliers: NDArray[np.float64] | None
    iterations: int  # Simplex iterations of this solve


class ArrayLp:
    """A linear program over a box whose rows only grow in number.

    `lower, upper`: finite bounds of the columns, shape (columns,).
    """

    def __init__(self, lower: NDArray[Any], upper: NDArray[Any]) -> None:
        self._highs = engine.new_highs()
        # HiGHS drops coefficients below 1e-9, the weight of one draw in 10^9.
        engine.set_options(self._highs, small_matrix_value=1e-12)
        size = len(lower)
        none = np.zeros(0, dtype=np.int32)
        _demand(
            self._highs.addCols(
                size, np.zeros(size), lower, upper, 0, none, none, np.zeros(0)
            )
        )
        self._columns = np.arange(size, dtype=np.int32)

    def add_rows(
        self, matrix: csr_matrix, lower: NDArray[Any], upper: NDArray[Any]
    ) -> None:
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
        status = engine.run(self._highs)
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
