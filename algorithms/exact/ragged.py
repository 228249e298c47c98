"""Ragged arrays (offsets into flat arrays) and the overflow guard around them.

Exact arithmetic on large MDPs runs on integers over one common denominator.
It uses int64 where a bound proved beforehand rules overflow out, and Python
integers (numpy's object type) everywhere else; both go through the same code.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

IntArray = NDArray[Any]
"""An int64 array, or an object array of Python integers."""

_INT64_LIMIT = 2**62  # a factor 2 below the type's own limit


def fits_int64(bound: int) -> bool:
    """Whether every integer of absolute value up to `bound` may use int64."""
    return bound < _INT64_LIMIT


def integers(values: IntArray, *, exact: bool) -> IntArray:
    """Give `values` as int64, or as Python integers when `exact` is true.

    The caller decides by `fits_int64` on a bound of all that it will compute.
    """
    return values.astype(object if exact else np.int64, copy=False)


def integer_array(values: Iterable[int]) -> IntArray:
    """Array of integers: int64 if all fit with room to spare, else object."""
    listed = [int(v) for v in values]
    bound = max(map(abs, listed), default=0)
    return np.array(listed, dtype=np.int64 if fits_int64(bound) else object)


def magnitude(values: IntArray) -> int:
    """Largest absolute value in an integer array, 0 if empty."""
    if not values.size:
        return 0
    return max(abs(int(values.max())), abs(int(values.min())))


def as_integers(name: str, values: ArrayLike, dtype: type[Any]) -> IntArray:
    """Convert to a one-dimensional array of an integer type, losing nothing.

    Raises
    ------
    ValueError
        If `values` are not integers, do not fit the type, or are not
        one-dimensional.
    """
    array = np.asarray(values)
    if array.ndim != 1:
        raise ValueError(f"{name} has shape {array.shape}; it must be one-dimensional")
    if array.size == 0:
        return array.astype(dtype)
    if array.dtype.kind not in "iu":
        raise ValueError(f"{name} has type {array.dtype}; it must hold integers")
    limits = np.iinfo(dtype)
    if int(array.min()) < limits.min or int(array.max()) > limits.max:
        raise ValueError(f"{name} does not fit {np.dtype(dtype).name}")
    return array.astype(dtype, copy=False)


def segment_sums(values: IntArray, offsets: NDArray[np.int64]) -> IntArray:
    """Sum ``values[offsets[i]:offsets[i+1]]`` for each i; empty segments give 0.

    Parameters
    ----------
    values
        Shape (N,), int64 or object.
    offsets
        Shape (k+1,), nondecreasing, from 0 to N.
    """
    sums = np.zeros(len(offsets) - 1, dtype=values.dtype)
    filled = offsets[:-1] < offsets[1:]
    if filled.any():
        # reduceat over the starts of the filled segments: an empty segment
        # would wrongly yield the element at its start
        sums[filled] = np.add.reduceat(values, offsets[:-1][filled])
    return sums


def gather(
    offsets: NDArray[np.int64], rows: NDArray[Any]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Select rows of a ragged array.

    Returns
    -------
    index, row_offsets
        ``flat[index]`` are the selected rows laid end to end, and
        ``row_offsets``, shape (len(rows)+1,), their bounds.
    """
    starts = offsets[rows]
    lengths = offsets[rows + 1] - starts
    bounds = np.zeros(len(rows) + 1, dtype=np.int64)
    np.cumsum(lengths, out=bounds[1:])
    index = np.repeat(starts - bounds[:-1], lengths)
    index += np.arange(bounds[-1], dtype=np.int64)
    return index, bounds


def distinct(values: IntArray) -> IntArray:
    """Distinct values of an array of integers, sorted.

    For arrays with few of them: numpy's `unique` sets up a hash table for as
    many as there are entries, which takes ten times as long on a fresh one.
    """
    ordered = np.sort(values)
    new = np.ones(len(ordered), dtype=np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=new[1:])
    found: IntArray = ordered[new]
    return found


def lcm_of(values: IntArray) -> int:
    """Least common multiple of positive integers; 1 if there are none."""
    return math.lcm(1, *(int(v) for v in distinct(values)))
