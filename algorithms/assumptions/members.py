"""Is a function in a class? Exactly, for tabular and for enumerated finite classes.

Only the observable codes count (see `hidden`). A finite class that was given in
Fractions is compared exactly. One that was given in floats stands for numbers
that round to them: a wanted value is rounded before it is compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from olivine.algorithms.assumptions.hidden import HiddenModel
from olivine.algorithms.assumptions.result import Counterexample
from olivine.algorithms.classes import (
    FinitePolicyClass,
    FiniteValueClass,
    PolicyClass,
    TabularPolicyClass,
    TabularValue,
    TabularValueClass,
    ValueClass,
)

Given = tuple[tuple[int, tuple[Any, ...]], ...]


class Values:
    """G_h on the observable codes of level h.

    Parameters
    ----------
    model
        The hidden model.
    value_class
        G.
    level
        h, 1..H.

    Attributes
    ----------
    kind
        ``"tabular"``, ``"finite"``, or the name of any other class.
    """

    def __init__(self, model: HiddenModel, value_class: ValueClass, level: int) -> None:
        self._model, self._level = model, level
        self._class = value_class.at_level(level)
        self._codes = self._class.admit(model.codes(level))
        self.kind = _kind(self._class, TabularValueClass, FiniteValueClass)

    @cached_property
    def _exact(self) -> bool:
        assert isinstance(self._class, FiniteValueClass)
        return all(
            isinstance(m, TabularValue) and m.exact is not None
            for m in self._class.members
        )

    @cached_property
    def rows(self) -> list[tuple[Fraction, ...]]:
        """Members without repetition (a finite class): floats as they are."""
        found: dict[tuple[Fraction, ...], None] = {}
        assert isinstance(self._class, FiniteValueClass)
        for member in self._class.members:
            if isinstance(member, TabularValue) and member.exact is not None:
                row = tuple(member.exact[x] for x in self._codes)
            else:
                row = tuple(map(Fraction, member(self._codes).tolist()))
            found[row] = None
        return list(found)

    @cached_property
    def _set(self) -> frozenset[tuple[Any, ...]]:
        return frozenset(self.rows)

    def _rounded(self, wanted: Sequence[Fraction]) -> tuple[Fraction, ...]:
        if self._exact:
            return tuple(wanted)
        return tuple(Fraction(float(v)) for v in wanted)

    def lacks(
        self, wanted: Sequence[Fraction], given: Given = ()
    ) -> Counterexample | None:
        """Show that a function is not in the class; None if it is.

        Only for tabular and finite classes.
        """
        if self.kind == "tabular":
            bad = [i for i, v in enumerate(wanted) if not 0 <= v <= 1]
            return self._example(wanted, bad[0], None, given) if bad else None
        target = self._rounded(wanted)
        if target in self._set:
            return None
        nearest = max(
            self.rows,
            key=lambda row: sum(u == v for u, v in zip(row, target, strict=True)),
        )
        wrong = [u != v for u, v in zip(nearest, target, strict=True)].index(True)
        value = nearest[wrong] if self._exact else float(nearest[wrong])
        return self._example(wanted, wrong, value, given)

    def _example(
        self, wanted: Sequence[Fraction], row: int, nearest: Any, given: Given
    ) -> Counterexample:
        return _example(
            self._model, "value", self._level, tuple(wanted), row, nearest, given
        )


class Policies:
    """Π_h on the observable codes of level h; parameters and kind as `Values`."""

    def __init__(
        self, model: HiddenModel, policy_class: PolicyClass, level: int
    ) -> None:
        self._model, self._level = model, level
        self._class = policy_class.at_level(level)
        self._codes = self._class.admit(model.codes(level))
        self.kind = _kind(self._class, TabularPolicyClass, FinitePolicyClass)

    @cached_property
    def rows(self) -> NDArray[np.int64]:
        """Members without repetition (a finite class), shape (members, codes)."""
        assert isinstance(self._class, FinitePolicyClass)
        table = self._class.evaluate_all(self._codes)
        _, first = np.unique(table, axis=0, return_index=True)
        return np.asarray(table[np.sort(first)], dtype=np.int64)

    def lacks(
        self, allowed: NDArray[np.bool_], given: Given = ()
    ) -> Counterexample | None:
        """Show that no policy stays within allowed actions; None if one does.

        Parameters
        ----------
        allowed
            Shape (codes, K), some action allowed at each code.
        """
        if self.kind == "tabular":
            return None
        within = allowed[np.arange(len(allowed)), self.rows]
        counts = within.sum(axis=1)
        nearest = int(counts.argmax())
        if counts[nearest] == len(allowed):
            return None
        row = int(within[nearest].argmin())
        wanted = tuple(tuple(np.flatnonzero(a).tolist()) for a in allowed)
        action = int(self.rows[nearest, row])
        return _example(self._model, "policy", self._level, wanted, row, action, given)


def _kind(of: Any, tabular: type, finite: type) -> str:
    if isinstance(of, tabular):
        return "tabular"
    return "finite" if isinstance(of, finite) else type(of).__name__


def _example(
    model: HiddenModel,
    missing: Any,
    level: int,
    wanted: tuple[Any, ...],
    row: int,
    nearest: Any,
    given: Given,
) -> Counterexample:
    return Counterexample(
        missing,
        level,
        tuple(model.codes(level).tolist()),
        wanted,
        int(model.codes(level)[row]),
        model.states(level)[int(model.owner(level)[row])],
        nearest,
        given,
    )
