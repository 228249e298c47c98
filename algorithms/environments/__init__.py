"""Contextual decision processes: `make` one by name, or `from_lists` of your own.

>>> make("random-finite", 0, states=3, actions=3, horizon=4).horizon
4
"""

import difflib
import inspect
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..exact.arrays import INT64_MAX, check_type
from ..exact.multinomial import generator
from .check import as_environment
from .finite_makers import from_lists, random_finite, tabular
from .protocol import Environment
from .worlds import diabolical_lock, grid, lock, lock_gaussian

__all__ = ["from_lists", "make", "names", "register"]

Factory = Callable[..., Environment]  # Takes a Generator, then options as keywords

_FACTORIES: dict[str, Factory] = {
    "random-finite": random_finite,
    "tabular": tabular,
    "lock": lock,
    "lock-gaussian": lock_gaussian,
    "diabolical-lock": diabolical_lock,
    "grid": grid,
}


def register(name: str, factory: Factory) -> None:
    """Add an environment, made by ``factory(rng, **options)``, under a free name."""
    if _FACTORIES.setdefault(name, factory) is not factory:
        raise ValueError(f"environment {name!r}: registered already")


def names() -> list[str]:
    """Names of all environments, in order of registration."""
    return list(_FACTORIES)


def options(name: str) -> dict[str, Any]:
    """Options of an environment with their defaults, ValueError as for `make`."""
    parameters = inspect.signature(_factory(name)).parameters.values()
    return {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY}


def make(name: str, seed: int | np.random.Generator = 0, **chosen: Any) -> Environment:
    """Make an environment.

    Parameters
    ----------
    name
        One of `names()`.
    seed
        Fixes everything random about the environment (not its samples); an
        integer or a Generator.
    **chosen
        Options, see `options`.

    Raises
    ------
    ValueError
        For an unknown name or option (the message suggests the nearest one),
        or a value out of range.
    """
    factory = _factory(name)
    known = options(name)
    for option in chosen:
        if option not in known:
            raise ValueError(
                f"environment {name!r}: unknown option {option!r}"
                f"{_suggestion(option, known)}; there are {', '.join(known)}"
            )
    for option, value in chosen.items():
        chosen[option] = _converted(name, option, value, known[option])
    call = f"environment {name!r}"
    return as_environment(factory(generator(seed), **chosen), call)


def _factory(name: str) -> Factory:
    check_type("name", name, str, "name of an environment")
    if name not in _FACTORIES:
        raise ValueError(
            f"unknown environment {name!r}{_suggestion(name, _FACTORIES)}; there are "
            f"{', '.join(_FACTORIES)}"
        )
    return _FACTORIES[name]


def _suggestion(word: str, known: Any) -> str:
    near = difflib.get_close_matches(word, list(known), 1, 0.5)
    return f", did you mean {near[0]!r}?" if near else ""


def _converted(name: str, option: str, value: Any, default: Any) -> Any:
    """Give the value the default's type: a count stays a count, a flag a flag."""
    value = value.item() if isinstance(value, np.generic) else value
    given = f"environment {name!r}: {option}={value!r}"
    if isinstance(default, bool):
        if not isinstance(value, bool):
            raise ValueError(f"{given} is neither true nor false")
        return value
    if not isinstance(default, (int, float)):
        return value  # none or a word: its factory knows what goes
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError(f"{given} is no number")
    if isinstance(default, int):
        if not math.isfinite(value) or value != int(value):
            raise ValueError(f"{given} is no integer")
        if abs(value) > INT64_MAX:
            raise ValueError(f"{given} is beyond 64 bits")
    return type(default)(value)
