"""Classes that differ by level, and the singleton past the last one.

The paper writes G_h and Π_h for the class at level h = 1..H and lets G_{H+1}
be the singleton {x ↦ 0}.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from olivine.algorithms.classes.finite import zero_class
from olivine.algorithms.classes.protocols import (
    Observations,
    PolicyClass,
    ValueClass,
    check_level,
)


class ValueClassByLevel:
    """G_1, …, G_H and G_{H+1} = {0}.

    Parameters
    ----------
    classes
        One class a level, at least one.

    Raises
    ------
    ValueError
        If there is none.
    """

    def __init__(self, classes: Sequence[ValueClass]) -> None:
        if not classes:
            raise ValueError("classes: none")
        self.classes = tuple(classes)

    @classmethod
    def stationary(cls, value_class: ValueClass, horizon: int) -> ValueClassByLevel:
        """Return the same class at each of ``horizon`` levels."""
        return cls([value_class] * horizon)

    @property
    def horizon(self) -> int:
        """H."""
        return len(self.classes)

    def at_level(self, level: int) -> ValueClass:
        """Return G_level; level H+1 is {x ↦ 0}.

        Raises
        ------
        ValueError
            For a level outside 1..H+1.
        """
        check_level(level, self.horizon + 1)
        if level == self.horizon + 1:
            return zero_class()
        return self.classes[level - 1]

    def admit(self, observations: Any, name: str = "observations") -> Observations:
        """Refuse: which observations are admitted depends on the level.

        Raises
        ------
        ValueError
        """
        raise ValueError("value_class: pick a level with at_level first")

    def log_size(
        self,
        *,
        resolution: float | None = None,
        points: int | None = None,
        squared: bool = False,
    ) -> float:
        """Return the largest of the levels' log sizes."""
        return max(
            c.log_size(resolution=resolution, points=points, squared=squared)
            for c in self.classes
        )


class PolicyClassByLevel:
    """Π_1, …, Π_H.

    Parameters
    ----------
    classes
        One class a level, at least one, all with the same number of actions.

    Raises
    ------
    ValueError
        If there is none or action counts differ.
    """

    def __init__(self, classes: Sequence[PolicyClass]) -> None:
        if not classes:
            raise ValueError("classes: none")
        counts = [c.n_actions for c in classes]
        if len(set(counts)) > 1:
            raise ValueError(f"classes: action counts differ: {counts}")
        self.classes = tuple(classes)
        self.n_actions = counts[0]

    @classmethod
    def stationary(cls, policy_class: PolicyClass, horizon: int) -> PolicyClassByLevel:
        """Return the same class at each of ``horizon`` levels."""
        return cls([policy_class] * horizon)

    @property
    def horizon(self) -> int:
        """H."""
        return len(self.classes)

    def at_level(self, level: int) -> PolicyClass:
        """Return Π_level.

        Raises
        ------
        ValueError
            For a level outside 1..H.
        """
        check_level(level, self.horizon)
        return self.classes[level - 1]

    def admit(self, observations: Any, name: str = "observations") -> Observations:
        """Refuse: which observations are admitted depends on the level.

        Raises
        ------
        ValueError
        """
        raise ValueError("policy_class: pick a level with at_level first")

    def log_size(self, *, points: int | None = None) -> float:
        """Return the largest of the levels' log sizes."""
        return max(c.log_size(points=points) for c in self.classes)
