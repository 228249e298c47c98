"""Classes G_h and Π_h by level h = 1..H, and the singleton G_{H+1} = {x ↦ 0}."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .finite import zero_class
from .protocols import Observations, PolicyClass, ValueClass, check_level


class _ByLevel:
    classes: tuple[Any, ...]
    _kind: str

    @property
    def horizon(self) -> int:
        return len(self.classes)

    def admit(self, observations: Any, name: str = "observations") -> Observations:
        raise ValueError(f"{self._kind}: pick a level with at_level first")


class ValueClassByLevel(_ByLevel):
    """G_1, …, G_H, one class a level, and G_{H+1} = {0}."""

    _kind = "value_class"

    def __init__(self, classes: Sequence[ValueClass]) -> None:
        if not classes:
            raise ValueError("classes: none")
        self.classes: tuple[ValueClass, ...] = tuple(classes)

    @classmethod
    def stationary(cls, value_class: ValueClass, horizon: int) -> ValueClassByLevel:
        """Return the same class at each of ``horizon`` levels."""
        return cls([value_class] * horizon)

    def at_level(self, level: int) -> ValueClass:
        """Return G_level, level H+1 being {x ↦ 0}; ValueError for another one."""
        check_level(level, self.horizon + 1)
        return self.classes[level - 1] if level <= self.horizon else zero_class()

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


class PolicyClassByLevel(_ByLevel):
    """Π_1, …, Π_H, one class a level, all with the same number of actions."""

    _kind = "policy_class"

    def __init__(self, classes: Sequence[PolicyClass]) -> None:
        if not classes:
            raise ValueError("classes: none")
        counts = [c.n_actions for c in classes]
        if len(set(counts)) > 1:
            raise ValueError(f"classes: action counts differ: {counts}")
        self.classes: tuple[PolicyClass, ...] = tuple(classes)
        self.n_actions = counts[0]

    @classmethod
    def stationary(cls, policy_class: PolicyClass, horizon: int) -> PolicyClassByLevel:
        """Return the same class at each of ``horizon`` levels."""
        return cls([policy_class] * horizon)

    def at_level(self, level: int) -> PolicyClass:
        """Return Π_level; ValueError for a level outside 1..H."""
        check_level(level, self.horizon)
        return self.classes[level - 1]

    def log_size(self, *, points: int | None = None) -> float:
        """Return the largest of the levels' log sizes."""
        return max(c.log_size(points=points) for c in self.classes)
