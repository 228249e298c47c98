"""Rationals of decimal digits, rounding up, and checks of ranges and sizes."""

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np

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


def check_count(name: str, value: Any, *, least: int = 1) -> int:
    """Return an integer, numpy's too, as an int; ValueError if below `least`."""
    if isinstance(value, np.integer):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        what = "positive integer" if least == 1 else f"integer of at least {least}"
        raise ValueError(f"{name}: {value!r} is no {what}")
    return value


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
