"""Rounding bounds of float sums, and the same sums in integers.

Oracles return an accuracy they achieved. In float64 that includes rounding,
bounded here a priori; where the bound exceeds the accuracy asked for, the sums
are done over, in integers.

The bound: a sum of k terms each with a relative error of a few units is within
(k + 4) u Σ|terms| of the truth, u = 2^-53 (Higham 2002, section 4.2; the
factor 1.01 covers higher orders for k up to 10^13).
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

UNIT = 2.0**-53


def summation_bound(terms: int, magnitude: float) -> float:
    """Bound the error of a float64 sum.

    Parameters
    ----------
    terms
        Largest number of terms in one sum; each term may be a product of two
        rounded factors.
    magnitude
        Bound on the sum of the terms' absolute values.
    """
    return 1.01 * (terms + 4) * UNIT * magnitude


def check_accuracy(name: str, value: float) -> None:
    """Refuse an accuracy that is not positive and finite.

    Raises
    ------
    ValueError
    """
    if not 0 < value < math.inf:
        raise ValueError(f"{name}: {value} is not positive and finite")


def scaled_integers(values: NDArray[Any]) -> tuple[NDArray[Any], Fraction]:
    """Write an array as integers times one positive rational, exactly.

    Parameters
    ----------
    values
        Finite floats, or Fractions and integers (object array); any shape.

    Returns
    -------
    integers, scale
        Object array of Python integers of the same shape; values = integers ·
        scale.
    """
    if values.dtype == object:
        flat = [Fraction(v) for v in values.ravel().tolist()]
        denominator = math.lcm(*(v.denominator for v in flat))
        numbers = [int(v * denominator) for v in flat]
        return _shaped(numbers, values.shape), Fraction(1, denominator)
    mantissas, exponents = np.frexp(np.asarray(values, dtype=np.float64))
    whole = np.ldexp(mantissas, 53).astype(np.int64)
    nonzero = whole != 0
    least = int(exponents[nonzero].min()) if nonzero.any() else 53
    shifts = np.where(nonzero, exponents - least, 0)
    pairs = zip(whole.ravel().tolist(), shifts.ravel().tolist(), strict=True)
    numbers = [w << s for w, s in pairs]
    return _shaped(numbers, values.shape), Fraction(2) ** (least - 53)


def _shaped(numbers: list[int], shape: tuple[int, ...]) -> NDArray[Any]:
    array = np.empty(len(numbers), dtype=object)
    array[:] = numbers
    return array.reshape(shape)
