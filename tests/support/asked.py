"""What the check of a claim asks of the program, and whether it looks at the answers.

A row of tests/recorded so notices a smaller instance, fewer draws or another constant,
where the claim itself holds for all of them. An answer that is altered a little must
refute the claims whose rows name it.
"""

import contextlib
import dataclasses
import functools
import pkgutil
import signal
import sys
from collections.abc import Callable, Iterator
from enum import Enum
from fractions import Fraction
from hashlib import sha256
from importlib import import_module
from inspect import isgeneratorfunction
from types import FunctionType
from typing import Any

import numpy as np
import pytest
from olivine import algorithms, reduction, solvers
from olivine.claims import Claim, samples

_METHODS = FunctionType, property, functools.cached_property
CHOSEN_BY_ENGINES = "solve_lp", "solve_milp", "maximise", "pair", "satisfied"
SIZES = "shape", "n_variables", "n_clauses", "n_actions", "horizon"


class Asked:
    """Calls by claims of functions, methods and properties, by their names.

    A digest is of the numbers, names and shapes of arrays that are given and answered:
    what engines choose freely is not in it. Runs that an earlier entry made are
    forgotten. The call with the number `nth` of the answer `target` is altered.
    """

    def __init__(self, patch: Any, target: str = "", nth: int = 0) -> None:
        self.numbers: dict[str, int] = {}
        self._target, self._nth = target, nth
        self._calls: dict[str, list[Any]] = {}
        self._generators: list[np.random.Generator] = []
        samples.forget()
        patch.setattr(np.random, "default_rng", self._made(np.random.default_rng))
        function = target.partition(" ")[0]
        wrapped: dict[int, Any] = {}
        for owner, name, found in _callables():
            code = _code(found)
            if not target or getattr(code, "__qualname__", "") == function:
                make = self._wrapped
                wrapped.setdefault(id(found), make(found, isinstance(owner, type)))
                patch.setattr(owner, name, wrapped[id(found)])

    def _made(self, make: Callable[..., Any]) -> Callable[..., Any]:
        def default_rng(*arguments: Any) -> Any:
            made = make(*arguments)
            if _from_claims():
                self._generators.append(made)
            return made

        return default_rng

    def _wrapped(self, found: Any, method: bool) -> Any:
        code = _code(found)
        if isinstance(found, functools.cached_property):

            def keep(owner: Any, value: Any) -> None:
                vars(owner)[found.attrname] = value

            return property(self._call(code, method, found.__get__), keep)
        call = self._call(code, method, code)
        return property(call) if isinstance(found, property) else call

    def _call(
        self, named: Any, method: bool, run: Callable[..., Any]
    ) -> Callable[..., Any]:
        @functools.wraps(named)
        def call(*args: Any, **kwargs: Any) -> Any:
            value = run(*args, **kwargs)
            if method and not _from_claims():
                return value
            if self._target:
                return self._given(value)
            self._count(named.__qualname__, [*args, *kwargs.items()], value)
            return value

        return call

    def _count(self, name: str, given: list[Any], value: Any) -> None:
        count = self._calls.setdefault(name, [0, sha256()])
        count[0] += 1
        if name.rpartition(".")[2] not in CHOSEN_BY_ENGINES:
            count[1].update(plain([*given, value]).encode())
        for target in _targets(name, value):
            self.numbers[target] = count[0]

    def _given(self, value: Any) -> Any:
        self._nth -= 1
        if self._nth:
            return value
        _, _, field = self._target.partition(" ")
        other = altered(getattr(value, field, None) if field else value)
        if other is None:
            return value
        return dataclasses.replace(value, **{field: other}) if field else other

    def summary(self, counts: bool) -> dict[str, str]:
        """Number of calls and digest, by function; the generators as they end."""
        digits = 0 if counts else 8
        calls = {
            k: f"{n} {h.hexdigest()[:digits]}" for k, (n, h) in self._calls.items()
        }
        states = [repr(g.bit_generator.state) for g in self._generators]
        drawn = sha256("".join(states).encode()).hexdigest()[:8]
        return calls | {"random": f"{len(states)} {drawn}"}


def _code(found: Any) -> Any:
    return getattr(found, "fget", None) or getattr(found, "func", None) or found


def _from_claims() -> bool:
    caller = sys._getframe(2).f_globals.get("__name__")
    return str(caller).startswith("olivine.claims")


@functools.cache
def _load() -> None:
    """Import what a check may import, so that its classes are known before it runs."""
    for floor in (algorithms, reduction, solvers):
        name = f"{floor.__name__}."
        for module in pkgutil.walk_packages(floor.__path__, name):
            import_module(module.name)


def _callables() -> Iterator[tuple[Any, str, Any]]:
    """Functions that modules of claims name, and what classes of the program have."""
    _load()
    for title, module in [*sys.modules.items()]:
        if not title.startswith("olivine."):
            continue
        ours = title.startswith("olivine.claims")
        for name, found in [*vars(module).items()]:
            home = str(getattr(found, "__module__", ""))
            if isinstance(found, type):
                if home == title and not issubclass(found, Enum | Exception):
                    yield from _methods(found, ours)
            elif ours and home.startswith("olivine.") and _answers(found):
                yield module, name, found


def _answers(found: Any) -> bool:
    return isinstance(found, FunctionType) and not isgeneratorfunction(found)


def _methods(owner: type, private: bool) -> Iterator[tuple[Any, str, Any]]:
    for name, found in [*vars(owner).items()]:
        named = not name.startswith("__" if private else "_")
        if named and isinstance(found, _METHODS):
            yield owner, name, found


def _targets(name: str, value: Any) -> Iterator[str]:
    if altered(value) is not None:
        yield name
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        for field in dataclasses.fields(value):
            if field.init and altered(getattr(value, field.name)) is not None:
                yield f"{name} {field.name}"


def altered(value: Any) -> Any:
    """Give a value of the same kind that is a little off; None if there is none."""
    if isinstance(value, bool | np.bool_):
        return not value
    if isinstance(value, int | Fraction | np.integer) and not isinstance(value, Enum):
        return value + 1
    if isinstance(value, float | np.floating):
        return value + 0.01
    if isinstance(value, str):
        return f"{value}?"
    if isinstance(value, np.ndarray) and value.size:
        other = value.copy()
        last = altered(value.flat[-1])
        other.flat[-1] = value.flat[-1] if last is None else last
        return other
    if isinstance(value, list | tuple) and not hasattr(value, "_fields"):
        for i, item in enumerate(value):
            if (other := altered(item)) is not None:
                return type(value)([*value[:i], other, *value[i + 1 :]])
    if isinstance(value, dict):
        for key, item in value.items():
            if (other := altered(item)) is not None:
                return value | {key: other}
    return None


def plain(value: Any) -> str:
    """Write numbers, names and shapes; of anything else its type."""
    if value is None or isinstance(value, bool | int | str | Fraction | Enum):
        return str(value)
    if isinstance(value, np.bool_ | np.integer):
        return str(value.item())
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(plain, value))}]"
    if isinstance(value, np.ndarray) and value.dtype.kind in "biO" and value.size < 99:
        return f"{value.shape} {plain(value.tolist())}"
    sizes = [str(getattr(value, name)) for name in SIZES if hasattr(value, name)]
    return f"{type(value).__name__} {' '.join(sizes)}"


def is_noticed(entry: Claim, answer: str) -> bool:
    """Whether a check refutes its claim with one answer altered."""
    target, _, nth = answer.rpartition(" ")
    with pytest.MonkeyPatch.context() as patch:
        Asked(patch, target, int(nth))
        try:
            return not entry.check().holds
        except Exception:
            return False
        finally:
            samples.forget()


def to_be_noticed(entry: Claim) -> dict[str, list[str]]:
    """First and last answers of functions that are noticed in 0.3 CPU seconds."""
    with pytest.MonkeyPatch.context() as patch:
        asked = Asked(patch)
        with contextlib.suppress(Exception):  # of a child that is out of time
            _within(5, entry.check)
    answers = [f"{t} {n}" for t, last in asked.numbers.items() for n in {1, last}]
    found = [a for a in answers if _within(0.3, lambda a=a: is_noticed(entry, a))]
    return {"answers": sorted(found)}


def _within(seconds: float, run: Callable[[], Any]) -> Any:
    def stop(*_: Any) -> None:
        raise SystemExit

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        return run()
    except SystemExit:
        return None
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
