"""The ledger of oracle calls, and the guard that keeps algorithms oracle-efficient.

"Oracle-efficient" (paper, section 2) bounds oracle calls and basic operations. A
`Ledger` records every oracle call and evaluation of a function inside it.

>>> import numpy as np
>>> from olivine.algorithms.classes import TabularPolicyClass
>>> from olivine.algorithms.exact.data import EmpiricalMeasure
>>> from olivine.algorithms.oracles.csc import csc
>>> with Ledger() as ledger:
...     found = csc(TabularPolicyClass(2, 3), EmpiricalMeasure([0, 1]),
...                 [[1, 0, 2], [0, 0, 1]], epsilon_sub=1e-6)
...     evaluate(found.policy, np.array([1, 0])).tolist()
[0, 1]
>>> ledger.calls["csc"], ledger.evaluations
(1, 1)

An algorithm gets ``guard(policy_class)``: oracles see through the guard, other code
gets an error, and the ledger remembers the attempt.
"""

from __future__ import annotations

import functools
import time
from collections import Counter
from collections.abc import Callable, Sized
from contextvars import ContextVar, Token
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Any, ParamSpec, Protocol, TypeVar

from ..classes.protocols import Observations

KINDS = ("csc", "lp", "ls", "multi")
"""Kinds that every record names; a new kind is what a file gives to `oracle`."""


@dataclass(frozen=True)
class Call:
    """One oracle call."""

    kind: str  # Which oracle
    rows: int  # Size of the input: rows of all data and functionals it was given
    # Basic operations that the oracle reports; None where an engine counts none
    operations: int | None
    seconds: float  # Wall time
    # Whether the accuracies asked for were achieved, by the oracle's own certificate
    honoured: bool
    # The oracle that made the call (a "multi" calls "csc"); None: the algorithm
    inside: str | None


@dataclass
class Ledger:
    """Record of oracle calls and evaluations, a context manager; they nest."""

    # Oracle calls in order of completion
    entries: list[Call] = field(default_factory=list)
    # Evaluations of functions outside of oracles, and of observations by them
    evaluations: int = 0
    evaluated_rows: int = 0
    # Attempts to get at a guarded class in another way, as messages
    touches: list[str] = field(default_factory=list)
    _tokens: list[Token[tuple[Ledger, ...]]] = field(default_factory=list, repr=False)

    def __enter__(self) -> Ledger:
        self._tokens.append(_open_ledgers.set((*_open_ledgers.get(), self)))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        _open_ledgers.reset(self._tokens.pop())

    @property
    def calls(self) -> Counter[str]:
        """Number of calls a kind, those made by other oracles left out."""
        return Counter(e.kind for e in self.entries if e.inside is None)

    @property
    def inner_calls(self) -> Counter[str]:
        """Number of calls a kind that oracles made to each other."""
        return Counter(e.kind for e in self.entries if e.inside is not None)

    @property
    def operations(self) -> int:
        """Operations reported by the calls of the algorithm itself."""
        return sum(e.operations or 0 for e in self.entries if e.inside is None)

    @property
    def seconds(self) -> float:
        """Wall time of the calls of the algorithm itself."""
        return sum(e.seconds for e in self.entries if e.inside is None)


_open_ledgers: ContextVar[tuple[Ledger, ...]] = ContextVar("open_ledgers", default=())
_running: ContextVar[str | None] = ContextVar("running_oracle", default=None)


class OracleResult(Protocol):
    """What the ledger reads off a result of an oracle."""

    @property
    def operations(self) -> int | None:
        """Basic operations, or None."""

    @property
    def honoured(self) -> bool:
        """Whether the accuracies asked for were achieved."""


P = ParamSpec("P")
R = TypeVar("R", bound=OracleResult)


def oracle(
    kind: str, rows: Callable[..., int], function: str
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Make a function, whose first argument is the class, an oracle.

    It is recorded, and sees through guards.

    Parameters
    ----------
    kind
        Kind of call, "csc" say: what ledgers and records count it as.
    rows
        Computes the size of the input from the function's arguments.
    function
        Field of the (dataclass) result with the function found; guarded if the class
        was.
    """

    def decorate(solve: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(solve)
        def recorded(*args: P.args, **kwargs: P.kwargs) -> R:
            guarded = _guards(args[0])
            given = (unguard(args[0]), *args[1:])
            inside = _running.get()
            token = _running.set(kind)
            start = time.perf_counter()
            try:
                result = solve(*given, **kwargs)
            finally:
                _running.reset(token)
            seconds = time.perf_counter() - start
            if _open_ledgers.get():
                size = rows(*given, **kwargs)
                call = Call(
                    kind, size, result.operations, seconds, result.honoured, inside
                )
                for ledger in _open_ledgers.get():
                    ledger.entries.append(call)
            found = getattr(result, function)
            if guarded and found is not None:
                changed: dict[str, Any] = {function: GuardedFunction(found)}
                return replace(result, **changed)  # type: ignore[type-var]
            return result

        return recorded

    return decorate


def data_rows(target: Any, data: Sized, *args: Any, **kwargs: Any) -> int:
    """Size of the input of an oracle whose second argument is its data."""
    return len(data)


def _guards(target: Any) -> bool:
    """Whether functions found for a class, or a program over one, are guarded."""
    return isinstance(target, OracleOnly) or bool(
        getattr(target, "guards_function", False)
    )


def evaluate(function: Callable[[Observations], Any], observations: Any) -> Any:
    """Evaluate a function, guarded or not, on n observations, and count it."""
    for ledger in _open_ledgers.get():
        ledger.evaluations += 1
        ledger.evaluated_rows += len(observations)
    if isinstance(function, GuardedFunction):
        function = unguard(function)
    return function(observations)


_ALLOWED = frozenset({"at_level", "log_size", "n_actions", "horizon", "__class__"})


class OracleOnly:
    """A class of functions of which only levels, sizes and K can be seen."""

    __slots__ = ("_guarded",)

    def __init__(self, guarded: Any) -> None:
        object.__setattr__(self, "_guarded", guarded)

    def __getattribute__(self, name: str) -> Any:
        """Give what algorithms may know; note in open ledgers, and refuse, the rest."""
        if name not in _ALLOWED:
            raise AttributeError(_touched(f"class attribute {name!r}"))
        if name == "__class__":
            return OracleOnly
        value = getattr(object.__getattribute__(self, "_guarded"), name)
        if name == "at_level":
            return lambda level: guard(value(level))
        return value


class GuardedFunction:
    """A member of a guarded class: it can be evaluated, and nothing else."""

    __slots__ = ("_guarded",)

    def __init__(self, guarded: Any) -> None:
        object.__setattr__(self, "_guarded", guarded)

    def __call__(self, observations: Observations, /) -> Any:
        """Evaluate, counted as by `evaluate`."""
        return evaluate(self, observations)

    def __getattribute__(self, name: str) -> Any:
        """Note the attempt in open ledgers, and refuse it."""
        if name == "__class__":
            return GuardedFunction
        raise AttributeError(_touched(f"function attribute {name!r}"))


def guard(function_class: Any) -> Any:
    """Wrap a class so that only oracles and evaluation get at it."""
    if isinstance(function_class, OracleOnly):
        return function_class
    return OracleOnly(function_class)


def unguard(guarded: Any) -> Any:
    """Unwrap a guarded class or function, for oracles and after a run; others stay."""
    if isinstance(guarded, OracleOnly | GuardedFunction):
        return object.__getattribute__(guarded, "_guarded")
    return guarded


def _touched(what: str) -> str:
    message = f"{what} read outside of oracles and evaluation"
    for ledger in _open_ledgers.get():
        ledger.touches.append(message)
    return message
