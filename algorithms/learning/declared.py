"""Parameters of the algorithms, each declared once.

A declaration (`count`, `positive`, `margin`, `flag`, `unit`) says what a parameter
means, what it must be, how JSON shows it and its practical default. The checks,
`to_json`, the settings of ``olivine learn --set`` and their help follow from it. What
a theorem prescribes is a table beside the declarations, ``constants`` of the class.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from types import SimpleNamespace
from typing import Any

import numpy as np

from ..exact.numbers import (
    check_count,
    check_flag,
    check_unit,
    rational,
)

_NONE = object()
"""No practical default."""


@dataclass(frozen=True)
class Declaration:
    """What is known of a parameter."""

    # Raises ValueError for a name and a value out of range
    check: Callable[[str, Any], Any]
    meaning: str = ""  # Help of the setting; "" where it is none
    exact: bool = False  # Whether it is a rational, given by decimal digits
    optional: bool = False  # Whether None is a value
    # Practical default, or a function of what is declared before it
    practical: Any = _NONE
    label: str | None = None  # What messages and JSON call it; None: its own name
    # Attribute that JSON shows for it, "" for none; None: itself
    shown: str | None = None
    place: int = 0  # Where JSON shows it: lower places first, equal ones as declared


def declared(
    check: Callable[[str, Any], Any],
    meaning: str = "",
    default: Any = MISSING,
    **more: Any,
) -> Any:
    """Declare a parameter with a check of its own; ``more`` as in `Declaration`."""
    declaration = Declaration(check, meaning, optional=default is None, **more)
    return field(default=default, metadata={"declared": declaration})


def count(meaning: str = "", *, default: Any = MISSING, **more: Any) -> Any:
    """Declare a positive integer; ``more`` as in `Declaration`."""
    return declared(check_count, meaning, default, **more)


def flag(meaning: str = "", *, default: bool, **more: Any) -> Any:
    """Declare a choice, which JSON does not show."""
    return declared(check_flag, meaning, default, **{"shown": "", **more})


def positive(meaning: str = "", *, default: Any = MISSING, **more: Any) -> Any:
    """Declare a positive rational."""
    return declared(_check_positive, meaning, default, exact=True, **more)


def margin(meaning: str = "", *, default: Any = MISSING, **more: Any) -> Any:
    """Declare a rational that is not negative."""
    return declared(_check_margin, meaning, default, exact=True, **more)


def unit(label: str) -> Any:
    """Declare a rational in (0, 1)."""
    return declared(check_unit, "", MISSING, exact=True, label=label)


def _check_positive(name: str, value: Any) -> None:
    if not value > 0:
        raise ValueError(f"{name}: {value} is not positive")


def _check_margin(name: str, value: Any) -> None:
    if value < 0:
        raise ValueError(f"{name}: {value} is negative")


def without_none(chosen: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """Leave out parameters of these names whose None stands for the default."""
    return {k: v for k, v in chosen.items() if v is not None or k not in names}


@dataclass(frozen=True, kw_only=True)
class Declared:
    """Base of classes of declared parameters."""

    @classmethod
    def declarations(cls) -> dict[str, Declaration]:
        """Give the declarations by the name of the parameter."""
        found = {f.name: f.metadata.get("declared") for f in fields(cls)}
        return {name: entry for name, entry in found.items() if entry}

    @classmethod
    def settings(cls) -> dict[str, str]:
        """Say what ``--set`` may choose, with the meaning of each."""
        known = cls.declarations().items()
        return {name: entry.meaning for name, entry in known if entry.meaning}

    def __post_init__(self) -> None:
        """Check ranges, then relations; ValueError names the argument."""
        for name, entry in self.declarations().items():
            value = _check(name, getattr(self, name), entry)
            object.__setattr__(self, name, value)
        self.agree()

    def agree(self) -> None:
        """Refuse parameters that do not go together with a ValueError."""

    @classmethod
    def filled(cls, given: Mapping[str, Any], chosen: Mapping[str, Any]) -> Any:
        """Give all parameters, the practical default where nothing is chosen.

        Raises ValueError for a value out of range.
        """
        values = dict(given) | dict(chosen)
        for name, entry in cls.declarations().items():
            if name in values:
                value = values[name]
                if entry.exact and not (entry.optional and value is None):
                    value = rational(value, entry.label or name)
            elif entry.practical is _NONE:
                continue
            elif callable(entry.practical):
                value = entry.practical(SimpleNamespace(**values))
            else:
                value = entry.practical
            values[name] = _check(name, value, entry)
        return values

    def to_json(self) -> dict[str, Any]:
        """All of them; accuracies as floats, sizes as integers."""
        found = {}
        known = self.declarations().items()
        for name, d in sorted(known, key=lambda pair: pair[1].place):
            if d.shown != "":
                value = getattr(self, d.shown or name)
                key = d.shown or d.label or name
                found[key] = float(value) if d.exact else value
        return found


def _check(name: str, value: Any, entry: Declaration) -> Any:
    """Return a parameter, numpy's numbers as Python's, or raise ValueError."""
    if isinstance(value, np.generic):
        value = value.item()
    if not (entry.optional and value is None):
        entry.check(entry.label or name, value)
    return value
