"""Exact numbers of a graph as text: "1/3" in files, Fraction in memory.

Neither JSON nor GraphML knows rationals. Only the attributes that
`olivine.reduction.family.graph` defines as rationals are converted, so that a user's
own attribute that happens to read "1/2" stays a string.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

NODE_RATIONALS = frozenset({"reward"})
EDGE_RATIONALS = frozenset({"probability"})
GRAPH_RATIONALS = frozenset({"penalty", "reward_lower", "reward_upper"})


def encode(attributes: dict[str, Any]) -> dict[str, Any]:
    """Copy attributes with every Fraction turned into a string."""
    return {
        name: str(value) if isinstance(value, Fraction) else value
        for name, value in attributes.items()
    }


def decode(
    attributes: dict[str, Any], rationals: frozenset[str], where: str
) -> dict[str, Any]:
    """Copy attributes with the named ones turned into Fractions.

    A string is read as Fraction reads it ("1/3", "0.25", "1e-3"); a float
    stands for the decimal that it is printed as, so 0.1 is 1/10.
    """
    decoded = dict(attributes)
    for name in rationals & attributes.keys():
        value = attributes[name]
        try:
            if isinstance(value, bool) or not isinstance(value, str | int | float):
                raise ValueError
            decoded[name] = Fraction(repr(value) if isinstance(value, float) else value)
        except (ValueError, ZeroDivisionError):
            raise ValueError(f"{where}: {name} is {value!r}, no number") from None
    return decoded
