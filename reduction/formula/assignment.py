"""Truth assignments as boolean arrays, and what they make true."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


def checked_assignment(assignment: ArrayLike, n_variables: int) -> NDArray[np.bool_]:
    """Array of n booleans; entry i-1 is variable i.

    Raises
    ------
    ValueError
        If there are not `n_variables` entries or they are not booleans.
    """
    values = np.asarray(assignment)
    if values.shape != (n_variables,):
        raise ValueError(
            f"assignment of shape {values.shape} where {n_variables} variables "
            f"need ({n_variables},)"
        )
    if values.dtype != np.bool_ and n_variables:
        raise ValueError(f"assignment of {values.dtype} where booleans are needed")
    checked: NDArray[np.bool_] = values.astype(np.bool_, copy=False)
    return checked


def literal_truth(
    literals: NDArray[np.int32], assignment: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Truth of each literal (nonzero, of the assignment's variables); same shape."""
    if not literals.size:
        return np.zeros(literals.shape, dtype=np.bool_)
    return np.asarray(assignment[np.abs(literals) - 1] == (literals > 0))
