"""Gymnasium ids of this package (extra ``rl``), registered by the import.

>>> import gymnasium  # doctest: +SKIP
>>> gymnasium.make("olivine.rl:olivine/grid-v0", rows=4)  # doctest: +SKIP
"""

from .reduction.environments import (
    make_family,
    make_process,
    register_envs,
    to_gymnasium,
)

__all__ = ["make_family", "make_process", "register_envs", "to_gymnasium"]

register_envs()
