"""What the check of a claim asks of the program: how many calls, of which size.

A row of tests/recorded so notices a smaller instance, fewer draws or another constant,
where the claim itself holds for all of them.
"""

import functools
import sys
from collections.abc import Callable
from enum import Enum
from fractions import Fraction
from hashlib import sha256
from types import FunctionType
from typing import Any

import numpy as np
from olivine.claims import samples

_CACHED = type(functools.cache(len))
_KEEPING = samples.made_once(len).__code__
SIZES = ("shape", "n_variables", "n_clauses", "n_actions", "horizon")


class Asked:
    """Calls of claims into the floors below, by the name of the function.

    A digest is of the numbers, names and shapes of arrays that a function is given:
    what engines choose freely is not in it. Calls inside a cached function are not
    counted, for an earlier entry may have made them.
    """

    def __init__(self, patch: Any) -> None:
        self._calls: dict[str, list[Any]] = {}
        self._inside = False
        self._generators: list[np.random.Generator] = []
        patch.setattr(np.random, "default_rng", self._made(np.random.default_rng))
        wrapped: dict[Any, Any] = {}
        modules = [m for n, m in sys.modules.items() if n.startswith("olivine.claims")]
        for module in modules:
            for name, found in [*vars(module).items()]:
                if self._of_interest(found):
                    wrapper = wrapped.setdefault(found, self._wrapped(found))
                    patch.setattr(module, name, wrapper)

    @staticmethod
    def _of_interest(found: Any) -> bool:
        home = str(getattr(found, "__module__", None))
        if not home.startswith("olivine."):
            return False
        if isinstance(found, _CACHED) or getattr(found, "__code__", 0) is _KEEPING:
            return True
        return isinstance(found, FunctionType) and "olivine.claims" not in home

    def _made(self, make: Callable[..., Any]) -> Callable[..., Any]:
        def default_rng(*arguments: Any) -> Any:
            made = make(*arguments)
            caller = sys._getframe(1).f_globals["__name__"]
            if not self._inside and caller.startswith("olivine.claims"):
                self._generators.append(made)
            return made

        return default_rng

    def _wrapped(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            if not self._inside:
                count = self._calls.setdefault(function.__name__, [0, sha256()])
                count[0] += 1
                count[1].update(plain([*args, *kwargs.items()]).encode())
            outer, self._inside = self._inside, True
            try:
                return function(*args, **kwargs)
            finally:
                self._inside = outer

        return call

    def summary(self) -> dict[str, str]:
        """Number of calls and digest, by function; the generators as they end."""
        calls = {k: f"{n} {h.hexdigest()[:8]}" for k, (n, h) in self._calls.items()}
        states = [repr(g.bit_generator.state) for g in self._generators]
        drawn = sha256("".join(states).encode()).hexdigest()[:8]
        return calls | {"random": f"{len(states)} {drawn}"}


def plain(value: Any) -> str:
    """Write numbers, names and shapes; of anything else its type."""
    if value is None or isinstance(value, bool | int | str | Fraction | Enum):
        return str(value)
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(plain, value))}]"
    sizes = [str(getattr(value, name)) for name in SIZES if hasattr(value, name)]
    return f"{type(value).__name__} {' '.join(sizes)}"
