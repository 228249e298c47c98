"""Feature maps φ: observations → R^d, shared by the linear classes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from olivine.algorithms.classes.protocols import Observations
from olivine.algorithms.classes.tabular import check_codes
from olivine.algorithms.exact.columns import check_observations, check_reals, frozen

FeatureSource = int | ArrayLike | Callable[[Any], Any]


class FeatureMap:
    """A map from observations to R^d.

    Parameters
    ----------
    source
        An integer d: observations are their own features, shape (n, d). A
        float array of shape (|X|, d): row x holds the features of code x. A
        callable: it maps n observations to an array (n, d), d being given by
        ``dimension``.
    dimension
        d, for a callable only.

    Raises
    ------
    ValueError
        For NaN or infinite features, or a missing or needless dimension.
    """

    def __init__(self, source: FeatureSource, dimension: int | None = None) -> None:
        self._function: Callable[[Any], Any] | None = None
        self.table: NDArray[np.float64] | None = None
        if callable(source):
            if dimension is None or dimension < 1:
                raise ValueError(f"dimension: {dimension} for a callable feature map")
            self._function, self.dimension = source, dimension
            return
        if dimension is not None:
            raise ValueError("dimension: given by the features already")
        if isinstance(source, int):
            if source < 1:
                raise ValueError(f"features: dimension {source} is below 1")
            self.dimension = source
            return
        table = np.asarray(source, dtype=np.float64)
        if table.ndim != 2 or table.size == 0:
            raise ValueError(f"features: expected shape (|X|, d), got {table.shape}")
        self.table = frozen(check_reals(table, "features", table.shape))
        self.dimension = table.shape[1]

    def admit(self, observations: Any, name: str = "observations") -> Observations:
        """Observations that have features, or ValueError naming argument and row."""
        if self.table is not None:
            return check_codes(observations, len(self.table), name)
        admitted = check_observations(observations, name)
        if self._function is None and admitted.shape[1:] != (self.dimension,):
            raise ValueError(
                f"{name}: expected shape (n, {self.dimension}), got {admitted.shape}"
            )
        return admitted

    def __call__(self, observations: Observations) -> NDArray[np.float64]:
        """Features of n observations, float64, shape (n, d).

        Raises
        ------
        ValueError
            For observations without features, or if a callable returns
            another shape, NaN or infinity.
        """
        admitted = self.admit(observations)
        if self.table is not None:
            return self.table[admitted]
        if self._function is None:
            return np.asarray(admitted, dtype=np.float64)
        shape = (len(admitted), self.dimension)
        return check_reals(self._function(admitted), "features", shape)
