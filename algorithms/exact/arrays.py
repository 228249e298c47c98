"""Numbers and arrays, checked: rationals of digits, data columns, exact integer sums.

Sums are int64 where a bound rules overflow out, else Python integers (object).
"""

import math
from collections.abc import Callable, Collection, Iterable, Sequence
from fractions import Fraction
from functools import cache, wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from threadpoolctl import ThreadpoolController

Number = int | float | Fraction


def rational(value: Number, name: str | None = None) -> Fraction:
    """Rational that a number's decimal digits stand for (0.1 is 1/10)."""
    if isinstance(value, Fraction):
        return value
    try:
        return Fraction(str(value))
    except ValueError:
        place = "" if name is None else f"{name}: "
        raise ValueError(f"{place}{value!r} is no finite number") from None


def weighted_sum(weights: Iterable[int], values: Iterable[Fraction]) -> Fraction:
    """Sum of integer multiples of rationals, over their common denominator."""
    pairs = zip(weights, values, strict=True)
    terms = [(w, *v.as_integer_ratio()) for w, v in pairs if w]
    unit = math.lcm(*{d for _, _, d in terms})
    return Fraction(sum([w * n * (unit // d) for w, n, d in terms]), unit)


def ratio_up(numerator: float, denominator: Fraction) -> int:
    """Quotient rounded up to an integer, after a relative 2^-48 for roundings."""
    return math.ceil(Fraction(numerator * (1 + 2**-48)) / denominator)


def check_unit(name: str, value: Fraction) -> None:
    """Refuse what is not in (0, 1) with a ValueError."""
    if not 0 < value < 1:
        raise ValueError(f"{name}: {float(value)} is not in (0, 1)")


def as_rational(what: str, value: Any) -> Fraction:
    """Give an integer or Fraction as a Fraction; floats and booleans are refused."""
    if isinstance(value, np.integer):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, Fraction | int):
        raise ValueError(f"{what} {value!r} is neither Fraction nor integer")
    return Fraction(value)


def check_count(
    name: str, value: Any, *, least: int = 1, most: int | None = None
) -> int:
    """Return an integer, numpy's too, as an int; ValueError outside `least`..`most`."""
    if isinstance(value, np.integer):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        what = "positive integer" if least == 1 else f"integer of at least {least}"
        raise ValueError(f"{name}: {value!r:.60} is no {what}")
    if most is not None and value > most:
        raise ValueError(f"{name}: {value} is not in {least}..{most}")
    return value


def check_type(name: str, value: Any, kind: Any, expected: str) -> None:
    """Refuse a value of another type with a TypeError that says what is expected."""
    if not isinstance(value, kind):
        raise TypeError(f"{name}: {value!r:.60} is no {expected}")


def check_choice(what: str, value: object, known: Collection[str]) -> None:
    """Refuse, with a ValueError, what is none of those known."""
    if value not in known:
        raise ValueError(f"unknown {what} {value!r}: choose from {', '.join(known)}")


def check_positive(name: str, value: Any) -> float:
    """Return a finite positive number as a float, else ValueError."""
    good = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
    if not good or not 0 < value < float("inf"):
        raise ValueError(f"{name}: {value!r:.60} is no positive number")
    return float(value)


def check_flag(name: str, value: Any) -> None:
    """Refuse what is neither true nor false with a ValueError."""
    if not isinstance(value, bool):
        raise ValueError(f"{name}: {value!r} is neither true nor false")


def log(value: Fraction) -> float:
    """Logarithm of a positive rational, however small."""
    return math.log(value.numerator) - math.log(value.denominator)


MOST_NUMBERS = 10**7  # Entries of an environment's largest table


def check_sizes(least: int, **sizes: int) -> None:
    """Refuse an option outside `least`..`MOST_NUMBERS`, whatever the others are."""
    for name, value in sizes.items():
        if value < least:
            raise ValueError(f"{name}: {value} is below {least}")
        if value > MOST_NUMBERS:
            raise ValueError(f"{name}: {value} is not in {least}..{MOST_NUMBERS}")


def check_table(numbers: int, most: int = MOST_NUMBERS, **sizes: int) -> None:
    """Refuse a table of too many numbers; the largest option is to blame."""
    if numbers <= most:
        return
    blamed = max(sizes, key=sizes.__getitem__)
    others = ", ".join(f"{k} = {v}" for k, v in sizes.items() if k != blamed)
    raise ValueError(
        f"{blamed}: {sizes[blamed]} with {others} makes a table of {numbers} "
        f"numbers, more than {most}"
    )


END = -1  # Code of a next observation where the episode ended: every value is 0 there

INT64_MAX = 2**63 - 1


def reject(name: str, bad: NDArray[np.bool_], what: str) -> None:
    """Raise for the first row where ``bad`` is true."""
    rows = bad if bad.ndim == 1 else bad.any(axis=tuple(range(1, bad.ndim)))
    if rows.any():
        raise ValueError(f"{name}, row {int(np.argmax(rows))}: {what}")


def check_actions(
    actions: ArrayLike, n_actions: int, name: str = "actions"
) -> NDArray[np.int64]:
    """Integers in 0..K-1 of any shape, or ValueError naming argument and row."""
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
    """int64 codes (n,) or float64 features (n, d), or ValueError naming the row."""
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
    """Float64 array of this shape, all finite, or ValueError naming the row."""
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
    if array.dtype != np.int64:
        if array.dtype == np.float64 and not isinstance(values, np.ndarray):
            array = np.array(values, dtype=object)  # some were beyond 64 bits
        if array.dtype == np.bool_ or not np.issubdtype(array.dtype, np.integer):
            for row, value in enumerate(array.tolist()):
                if isinstance(value, bool) or not isinstance(value, int):
                    raise ValueError(
                        f"{name}, row {row}: {value!r} is no integer count"
                    )
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


IntArray = NDArray[Any]  # An int64 array, or an object array of Python integers

_INT64_LIMIT = 2**62  # a factor 2 below the type's own limit


def fits_int64(bound: int) -> bool:
    """Whether every integer of absolute value up to `bound` may use int64."""
    return bound < _INT64_LIMIT


def integers(values: IntArray, *, exact: bool) -> IntArray:
    """Give `values` as int64, or as Python integers when `exact` is true."""
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
    """One-dimensional array of an integer type, nothing lost; else ValueError."""
    array = np.asarray(values)
    if array.ndim != 1:
        raise ValueError(f"{name} has shape {array.shape}; it must be one-dimensional")
    if array.size == 0:
        return array.astype(dtype)
    if array.dtype.kind not in "iu":
        raise ValueError(f"{name} has type {array.dtype}; it must hold integers")
    if array.dtype == dtype:
        return array
    limits = np.iinfo(dtype)
    if int(array.min()) < limits.min or int(array.max()) > limits.max:
        raise ValueError(f"{name} does not fit {np.dtype(dtype).name}")
    return array.astype(dtype, copy=False)


def segment_sums(values: IntArray, offsets: NDArray[np.int64]) -> IntArray:
    """Sum ``values[offsets[i]:offsets[i+1]]`` for each i; empty segments give 0."""
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
    """Select rows of a ragged array: the rows end to end, and their bounds."""
    starts = offsets[rows]
    lengths = offsets[rows + 1] - starts
    bounds = np.zeros(len(rows) + 1, dtype=np.int64)
    np.cumsum(lengths, out=bounds[1:])
    index = np.repeat(starts - bounds[:-1], lengths)
    index += np.arange(bounds[-1], dtype=np.int64)
    return index, bounds


def distinct(values: IntArray) -> IntArray:
    """Distinct integers, sorted; ten times as fast as numpy's `unique` for few."""
    ordered = np.sort(values)
    new = np.ones(len(ordered), dtype=np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=new[1:])
    found: IntArray = ordered[new]
    return found


def lcm_of(values: IntArray) -> int:
    """Least common multiple of positive integers; 1 if there are none."""
    return math.lcm(1, *(int(v) for v in distinct(values)))


_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


def single_threaded(
    function: Callable[_Arguments, _Result],
) -> Callable[_Arguments, _Result]:
    """Run a function with one BLAS thread (of the whole process); restored after it."""

    @wraps(function)
    def limited(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _Result:
        with _controller().limit(limits=1, user_api="blas"):
            return function(*args, **kwargs)

    return limited


@cache
def _controller() -> ThreadpoolController:
    """Look for the BLAS libraries, loaded by now, once: it takes a millisecond."""
    return ThreadpoolController()
