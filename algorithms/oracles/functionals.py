"""Linear functionals Σ_i α_i g(x_i) of a value function, and constraints on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..classes.protocols import Observations, ValueFunction
from ..exact.arrays import END, check_observations, check_reals, frozen
from ..exact.data import EmpiricalMeasure, Field
from .results import scaled_integers

Number = int | float | Fraction


class Functional:
    """The functional g ↦ Σ_i α_i g(x_i), α (n,) finite reals or Fractions."""

    def __init__(
        self, observations: ArrayLike, coefficients: ArrayLike | Sequence[Fraction]
    ) -> None:
        self.observations: Observations = frozen(check_observations(observations))
        given = np.asarray(coefficients)
        shape = (len(self.observations),)
        self.coefficients = frozen(check_reals(given, "coefficients", shape))
        self._given: NDArray[Any] = (
            given if given.dtype == object else self.coefficients
        )
        self._rational: tuple[NDArray[Any], Fraction] | None = None

    @classmethod
    def expectation(
        cls, data: EmpiricalMeasure, *, field: Field = "observations"
    ) -> Functional:
        """E_D[g(x)], or E_D[g(x')], exactly; g is 0 where the episode ended."""
        column = getattr(data, field)
        if column is None:
            raise ValueError(f"{field}: this measure has none")
        kept: Any = slice(None) if column.ndim == 2 else column != END
        functional = cls(column[kept], data.probabilities[kept])
        integers = data.weights[kept].astype(object)
        functional._rational = (integers, Fraction(1, data.total_weight))
        return functional

    def __len__(self) -> int:
        return len(self.observations)

    def __call__(self, function: ValueFunction) -> float:
        """Value of the functional at a function."""
        return float(np.dot(self.coefficients, function(self.observations)))

    @property
    def size(self) -> float:
        """Σ_i |α_i|: the functional's largest value on functions into [-1, 1]."""
        return float(np.abs(self.coefficients).sum())

    @property
    def rational(self) -> tuple[NDArray[Any], Fraction]:
        """Coefficients as Python integers (object array) times a rational."""
        if self._rational is None:
            self._rational = scaled_integers(self._given)
        return self._rational

    def minus(self, other: Functional) -> Functional:
        """Subtract exactly; ValueError if one has codes, the other features."""
        if self.observations.shape[1:] != other.observations.shape[1:]:
            raise ValueError("functionals: observations differ in kind")
        points = np.concatenate([self.observations, other.observations])
        joined = Functional(
            points, np.concatenate([self.coefficients, -other.coefficients])
        )
        (a, unit_a), (b, unit_b) = self.rational, other.rational
        unit = Fraction(1, unit_a.denominator * unit_b.denominator)
        integers = np.concatenate([a * int(unit_a / unit), -b * int(unit_b / unit)])
        joined._rational = (integers, unit)
        return joined


@dataclass(frozen=True)
class Constraint:
    """The constraint ``lower <= functional(g) <= upper``."""

    functional: Functional  # The left-hand side
    # lower, upper: finite numbers, or None for no limit; at least one is given
    lower: Number | None = None
    upper: Number | None = None

    def __post_init__(self) -> None:
        if self.lower is None and self.upper is None:
            raise ValueError("constraint: neither a lower nor an upper limit")
        for name, limit in (("lower", self.lower), ("upper", self.upper)):
            if limit is not None and not np.isfinite(float(limit)):
                raise ValueError(f"{name}: {limit} is NaN or infinite")

    @classmethod
    def near(
        cls, functional: Functional, value: Number, tolerance: Number
    ) -> Constraint:
        """|functional(g) - value| ≤ tolerance; limits are rational, not rounded."""
        middle, radius = Fraction(value), Fraction(tolerance)
        return cls(functional, middle - radius, middle + radius)

    @property
    def interval(self) -> tuple[float, float]:
        """Limits as floats, infinite where there is none."""
        lower = -np.inf if self.lower is None else float(self.lower)
        upper = np.inf if self.upper is None else float(self.upper)
        return lower, upper
