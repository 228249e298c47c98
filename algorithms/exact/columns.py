"""Checked columns of data: observations, reals, counts; exact integer sums.

Every check names the argument and the first bad row in its ValueError.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

END = -1
"""Code of a next observation where the episode ended: every value is 0 there."""

INT64_MAX = 2**63 - 1


def reject(name: str, bad: NDArray[np.bool_], what: str) -> None:
    """Raise for the first row where ``bad`` is true."""
    rows = bad if bad.ndim == 1 else bad.any(axis=tuple(range(1, bad.ndim)))
    if rows.any():
        raise ValueError(f"{name}, row {int(np.argmax(rows))}: {what}")


def check_actions(
    actions: ArrayLike, n_actions: int, name: str = "actions"
) -> NDArray[np.int64]:
    """Integers in 0..K-1 of any shape, or ValueError naming argument and row.

    A negative index would be one from the end.
    """
    array = np.asarray(actions)
    if not array.size:
        return array.astype(np.int64)
    if not np.issubdtype(array.dtype, np.integer):
        raise ValueError(f"{name}: expected integers, got {array.dtype}")
    outside = (array < 0) | (array >= n_actions)
    reject(name, outside, f"no action in 0..{n_actions - 1}")
    return array.astype(np.int64, copy=False)


def check_observations(
    values: ArrayLike, name: str = "observations", *, allow_end: bool = False
) -> NDArray[Any]:
    """Bring observations into one of the two forms, or refuse them.

    Parameters
    ----------
    values
        Integers of shape (n,), or floats of shape (n, d).
    name
        The argument's name in messages.
    allow_end
        Whether the code `END` may occur.

    Returns
    -------
    int64 array of shape (n,) or float64 array of shape (n, d).

    Raises
    ------
    ValueError
        For another shape or type, a negative code, NaN or infinity; the
        message names the argument and the row.
    """
    array = np.asarray(values)
    if array.size == 0 and array.ndim == 1:
        array = array.astype(np.int64)
    if array.ndim == 1 and np.issubdtype(array.dtype, np.integer):
        if array.size and int(array.max()) > INT64_MAX:
            reject(name, array > INT64_MAX, "code beyond 64 bits")
        codes = array.astype(np.int64, copy=False)
        least = END if allow_end else 0
        if codes.size and int(codes.min()) < least:
            reject(name, codes < least, "negative code")
        return codes
    if array.ndim == 2 and np.issubdtype(array.dtype, np.floating):
        features = array.astype(np.float64, copy=False)
        finite = np.isfinite(features)
        if not finite.all():
            reject(name, ~finite, "NaN or infinite feature")
        return features
    raise ValueError(
        f"{name}: expected integer codes of shape (n,) or float features of shape "
        f"(n, d), got {array.dtype} of shape {array.shape}"
    )


def check_reals(values: ArrayLike, name: str, shape: tuple[int, ...]) -> NDArray[Any]:
    """Float64 array of the given shape without NaN or infinity, or ValueError.

    The message names the argument and the first bad row.
    """
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{name}: not real numbers ({error})") from None
    if array.shape != shape:
        raise ValueError(f"{name}: expected shape {shape}, got {array.shape}")
    finite = np.isfinite(array)
    if not finite.all():
        reject(name, ~finite, "NaN or infinite")
    return array


def exact_sum(values: NDArray[Any]) -> int:
    """Sum of integers (int64 or object), never overflowing."""
    if values.dtype == object:
        return int(sum(values.tolist()))
    high, low = values >> 32, values & 0xFFFFFFFF
    return (int(high.sum()) << 32) + int(low.sum())


def check_counts(values: ArrayLike, name: str, size: int) -> NDArray[Any]:
    """Non-negative integers as int64 if they fit, else as Python integers."""
    array = np.asarray(values)
    if array.shape != (size,):
        raise ValueError(f"{name}: expected shape ({size},), got {array.shape}")
    if array.dtype == np.float64 and not isinstance(values, np.ndarray):
        array = np.array(values, dtype=object)  # some were beyond 64 bits
    if array.dtype == np.bool_ or not np.issubdtype(array.dtype, np.integer):
        for row, value in enumerate(array.tolist()):
            if isinstance(value, bool) or not isinstance(value, int):
                raise ValueError(f"{name}, row {row}: {value!r} is no integer count")
        array = array.astype(object)
    reject(name, np.asarray(array < 0, dtype=np.bool_), "negative weight")
    if array.dtype == np.int64:
        return array
    fits = size == 0 or int(array.max()) <= INT64_MAX
    return array.astype(np.int64 if fits else object)


def group_sums(weights: Any, groups: Any, n_groups: int, total: int) -> NDArray[Any]:
    """Exact sums of integer weights by group."""
    if total > INT64_MAX:
        sums: NDArray[Any] = np.zeros(n_groups, dtype=object)
        np.add.at(sums, groups, weights.astype(object))
        return sums
    sums = np.zeros(n_groups, dtype=np.int64)
    np.add.at(sums, groups, weights.astype(np.int64))
    return sums


def object_array(values: Sequence[Any]) -> NDArray[Any]:
    """One-dimensional object array of the values as they are."""
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """Read-only view of an array."""
    view = array.view()
    view.flags.writeable = False
    return view
