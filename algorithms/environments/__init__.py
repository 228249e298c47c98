"""Contextual decision processes: `make` one by name, or `from_lists` of your own."""

from .finite_makers import from_lists
from .registry import make, names, register

__all__ = ["from_lists", "make", "names", "register"]
