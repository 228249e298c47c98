"""Instances and runs that only claims and their tests need."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...algorithms.classes import (
    FiniteValueClass,
    PolicyClassByLevel,
    ValueClassByLevel,
)
from ...algorithms.environments.finite_lists import Instance, from_lists
from ...algorithms.environments.protocol import Environment


def known_values(environment: Environment) -> ValueClassByLevel:
    """G_h = {g*} at every level: nothing is as easy to mistake for a learned state.

    Whatever is asked of a value function at a learned state, at others it stays g*.
    """
    levels = range(1, environment.horizon + 1)
    return ValueClassByLevel(
        [FiniteValueClass([environment.truth.values(h).tolist()]) for h in levels]
    )


def instance(
    name: str,
    levels: Sequence[Any],
    values: Sequence[Any] | None,
    policies: Sequence[Any],
) -> Instance:
    """Make an instance of lists: levels as `from_lists` takes them, G_h and Π_h.

    Without values G_h = {g*}.
    """
    environment = from_lists(levels, name)
    known = known_values(environment) if values is None else ValueClassByLevel(values)
    return Instance(environment, known, PolicyClassByLevel(policies))
