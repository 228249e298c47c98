"""Contextual decision processes: see `protocol` for what one is, `make` to get one."""

from algorithms.environments.registry import make, names, register

__all__ = ["make", "names", "register"]
