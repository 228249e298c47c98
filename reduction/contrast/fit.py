"""Growth laws fitted to measurements, some of them cut off by a limit.

With y = ln of what was measured, a power law is y = a + b ln n, an exponential y = a +
b n, with normal errors. A measurement that a limit cut off says only that y is at least
so much (the Tobit model, Tobin 1958): leaving it out, or taking the limit for the
value, would make growth look slower than it is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Law = Literal["power", "exponential"]

MIN_SIZES = 3
_LEAST_SIGMA = 1e-3


@dataclass(frozen=True)
class Fit:
    """A fitted growth law."""

    law: Law  # "power": exp(intercept) n^slope; "exponential": exp(intercept + slope n)
    slope: float  # of the line through the logarithms
    intercept: float
    error: float  # Standard error of the slope
    deviation: float  # Standard deviation of ln y about the line
    first: int  # range of n it is fitted on
    last: int
    points: int  # number of measurements
    censored: int  # how many of them a limit cut off

    def __call__(self, n: NDArray[Any]) -> NDArray[np.float64]:
        """Values of the law."""
        x = np.log(n) if self.law == "power" else n
        values: NDArray[np.float64] = np.exp(self.intercept + self.slope * x)
        return values

    @property
    def doubling(self) -> float | None:
        """Variables that double an exponential; None where it does not grow."""
        if self.law == "power" or self.slope <= 0:
            return None
        return math.log(2) / self.slope

    @property
    def is_clear(self) -> bool:
        """Whether there is a law to speak of: an exponential must clearly grow."""
        return self.law == "power" or 0 < self.slope >= 2 * self.error

    def describe(self) -> str:
        """Say the law in a few characters, with a standard error."""
        if self.law == "power":
            return f"n to the {self.slope:.2f} ± {self.error:.2f}"
        if self.doubling is None or not self.is_clear:
            return "no clear growth"
        error = self.doubling * self.error / self.slope
        return f"×2 every {self.doubling:.1f} ± {error:.1f} variables"

    def to_json(self) -> dict[str, Any]:
        """One object."""
        return vars(self) | {"doubling": self.doubling}


def fit(
    law: Law,
    sizes: Sequence[int],
    values: Sequence[float],
    censored: Sequence[bool],
    *,
    floor: float = 0.0,
) -> Fit | None:
    """Fit a law by maximum likelihood."""
    n, y = np.array(sizes), np.array(values, dtype=np.float64)
    cut = np.array(censored, dtype=np.bool_)
    below = [s for s in np.unique(n) if np.median(y[n == s]) <= floor]
    kept = (n > max(below, default=-1)) & (y > 0)
    n, y, cut = n[kept], np.log(y[kept]), cut[kept]
    if len(np.unique(n)) < MIN_SIZES or len(np.unique(n[~cut])) < 2:
        return None
    x = np.log(n) if law == "power" else n.astype(np.float64)
    slope, intercept, deviation = _tobit(x, y, cut)
    # As if nothing were cut off, and so a little too small where much is.
    error = deviation / math.sqrt(float(((x - x.mean()) ** 2).sum()))
    return Fit(
        law,
        slope,
        intercept,
        error,
        deviation,
        int(n.min()),
        int(n.max()),
        len(n),
        int(cut.sum()),
    )


def _tobit(
    x: NDArray[np.float64], y: NDArray[np.float64], cut: NDArray[np.bool_]
) -> tuple[float, float, float]:
    """Slope, intercept and deviation of greatest likelihood."""
    centre = x.mean()
    slope, middle = np.polyfit(x - centre, y, 1)
    spread = max(float(np.std(y - middle - slope * (x - centre))), _LEAST_SIGMA)
    if cut.any():
        from scipy.optimize import minimize
        from scipy.stats import norm

        def loss(point: NDArray[np.float64]) -> float:
            sigma = math.exp(point[2])
            z = (y - point[1] - point[0] * (x - centre)) / sigma
            seen = norm.logpdf(z[~cut]) - point[2]
            return -float(seen.sum() + norm.logsf(z[cut]).sum())

        start = np.array([slope, middle, math.log(spread)])
        least = math.log(_LEAST_SIGMA)
        bounds = [(None, None), (None, None), (least, None)]
        found = minimize(loss, start, method="L-BFGS-B", bounds=bounds)
        slope, middle, spread = found.x[0], found.x[1], math.exp(found.x[2])
    return float(slope), float(middle - slope * centre), float(spread)
