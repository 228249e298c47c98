"""Contextual decision processes: `protocol` says what one is.

`make` gets one by name, `from_lists` builds one of your own.
"""

from .finite_lists import from_lists
from .registry import make, names, register

__all__ = ["from_lists", "make", "names", "register"]
